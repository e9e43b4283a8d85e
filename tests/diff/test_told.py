"""What may be told of the people behind a diff: two trees count the same people."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

from steadytree.core.observed import Observed
from steadytree.core.space import FeatureSpace
from steadytree.core.words import PAGE, PLAIN
from steadytree.diff import TreeDiff, diff_trees
from steadytree.diff.told import ToldDiff
from steadytree.readers import as_tree
from tests.diff.trees import NEW, OLD, build, rows, seen, stairs, steps
from tests.report import samples


def moved(by: float, *, outcomes: int = 0) -> TreeDiff:
    """A threshold at 49.5 that moves past so many of 100 people, so many of them ill."""
    X = np.arange(100.0)[:, None]
    y = np.where(X[:, 0] > 49, "ill", "well")
    for start in (0, 90):
        y[start : start + 8] = "ill" if start == 0 else "well"
    between = np.arange(50, 50 + int(by))
    y[between] = "well"
    y[between[:outcomes]] = "ill"
    space = FeatureSpace.from_data(X, y)
    old = as_tree(DecisionTreeClassifier(max_depth=1).fit(X, X[:, 0] > 49.5), space=None)
    old = old.replace(classes=("ill", "well"), label=1 - old.label, observed=None)
    new = old.replace(threshold=old.threshold + by)
    return diff_trees(old, new, X, y=y, space=space)


@pytest.mark.parametrize(
    ("by", "outcomes", "exact"), [(3, 0, False), (10, 0, True), (10, 2, False), (20, 10, True)]
)
def test_people_between_two_thresholds_are_not_counted_by_subtraction(
    by: int, outcomes: int, exact: bool
) -> None:
    diff = moved(by, outcomes=outcomes)
    told = diff.told(5)
    assert all(rule.exact is exact for side in ("old", "new") for rule in told.rules[side])
    for text in (diff.to_text(), diff.to_markdown()):
        numbers = [int(n) for n in re.findall(r"(\d+) of (\d+) \(", text) for n in n]
        assert bool(numbers) is exact


def test_a_mask_of_one_person_hides_nothing() -> None:
    diff = moved(3)
    assert all(rule.exact for side in ("old", "new") for rule in diff.told(1).rules[side])
    assert "of rows" in diff.to_text(min_cell=1)
    assert "--no-masking" not in diff.to_text(min_cell=1)
    assert "--no-masking" in diff.to_text()


@pytest.mark.parametrize("kind", ["retraining", "mixed_diff", "multiclass_diff", "regression_diff"])
def test_what_is_told_is_true(kind: str) -> None:
    result = getattr(samples, kind)()
    diff = getattr(result, "diff", result)
    told = ToldDiff(diff, 5)
    for change in diff.rules:
        for side in ("old", "new"):
            rule = getattr(change, side)
            if rule is None:
                continue
            one = told.told(rule, side)
            assert one is not None
            if one.rows is not None:
                assert one.rows.holds(rule.rows / diff.n_rows)
            if one.rate is not None:
                assert one.rate.holds(rule.outcomes / rule.rows)
            if one.exact:
                assert not 0 < rule.rows < 5


def test_styles_differ_in_words_only() -> None:
    told = samples.retraining().diff.told(5)
    assert told.in_style(PLAIN) is told
    page = told.in_style(PAGE)
    assert page.rules is told.rules
    assert "25.5\u202f%" in page.leaves["new"].predicted
    assert "25.5 %" in told.leaves["new"].predicted


def test_json_of_a_masked_rule_holds_no_count() -> None:
    diff = moved(3)
    halves = [rule[side] for rule in diff.to_dict()["rules"] for side in ("old", "new")]
    for half in halves:
        assert half["rows"] is half["outcomes"] is half["outcome_rate"] is None
        assert half["told"]["rows"]
    assert all(rule["share_in_both"] is None for rule in diff.to_dict()["rules"])
    assert all(split["share"] is None for split in diff.to_dict()["splits"])
    assert diff.to_dict()["flips"] is None
    assert diff.to_dict(min_cell=1)["flips"] == 0.03


def test_numbers_that_may_be_told_are_written_out() -> None:
    """100 people: 50 and 50 before, 60 and 40 now; those well as they were made up above."""
    diff = moved(10)
    written = {
        (change.number, side): (told.rows_words(rule, side), told.observed_words(rule, side))
        for told in [diff.told(5)]
        for change in diff.rules
        for side, rule in (("old", change.old), ("new", change.new))
        if rule is not None
    }
    assert written == {
        (1, "old"): ("50 (50 %)", "42 of 50 (84 %)"),
        (2, "old"): ("50 (50 %)", "18 of 50 (36 %)"),
        (1, "new"): ("60 (60 %)", "52 of 60 (87 %)"),
        (2, "new"): ("40 (40 %)", "8 of 40 (20 %)"),
    }
    few = moved(3)
    rule = few.rules[0].old
    assert rule is not None
    assert few.told(5).rows_words(rule, "old") == "40–60 %"
    assert few.told(5).observed_words(rule, "old") is None
    assert few.told(1).rows_words(rule, "old") == "50 (50 %)"


def test_what_a_leaf_predicts_is_written_or_hidden() -> None:
    tree = build(OLD)
    (first, *_), told = diff_trees(tree, tree).rules, diff_trees(tree, tree).told(5)
    assert first.new is not None
    assert told.predicted_words(first.new, "new") == "10.0 %"
    # Three people stand behind the first rule, 97 behind the others.
    weight = np.where(np.arange(tree.n_nodes) == first.new.leaf, 3, 97)
    few = tree.replace(weight=weight)
    assert diff_trees(few, few).told(5).predicted_words(first.new, "new") == "hidden"


def test_a_predicted_response_is_a_number() -> None:
    cut = steps([5.5]).replace(classes=None, value=[[3.0], [1.25], [20.5]], label=None)
    space = FeatureSpace(lower=[0], upper=[10], response_range=(0, 30))
    diff = diff_trees(cut, cut, space=space)
    words = [diff.told(5).predicted_words(rule.new, "new") for rule in diff.rules if rule.new]
    assert words == ["1.25", "20.5"]


def test_two_trees_or_the_same_rows_counted_again_tell_nothing_of_training() -> None:
    """One tree alone shows what it was trained on; a second count could be subtracted."""
    tree = seen(build(OLD), [(20, 100), (60, 80), (10, 100), (90, 100)])
    leaf = int(tree.leaves[0])
    other = tree.replace(threshold=tree.threshold)
    counted = {
        "alone": diff_trees(tree, tree).told(5),
        "two": diff_trees(tree, other).told(5),
        "two, few": diff_trees(tree, other).told(2),
        "two, no mask": diff_trees(tree, other).told(1),
        "rows": diff_trees(tree, tree, rows(0)).told(5),
    }
    assert {name: told.leaves["new"].observed[leaf] for name, told in counted.items()} == {
        "alone": "20 of 100",
        "two": None,
        "two, few": None,
        "two, no mask": "20 of 100",
        "rows": None,
    }


EIGHT = range(20, 100, 10)


def test_six_rules_at_least_are_told_as_ranges_the_smallest_first() -> None:
    """The total would tell the only one; three people went from the fifth rule to the fourth."""
    told = stairs(EIGHT, {3: 3}).told(5)
    for side in ("old", "new"):
        assert [rule.exact for rule in told.rules[side]] == [False] * 6 + [True] * 2
    assert [r.rows.words(PLAIN) for r in told.rules["old"] if r.rows is not None] == [
        *("4–6 %", "6–8 %", "8–10 %", "10–12 %", "12–14 %", "14–16 %")
    ]
    last = stairs(EIGHT, {6: 3}).told(5)
    assert [rule.exact for rule in last.rules["old"]] == [False] * 5 + [True, True, False]
    assert [rule.exact for rule in last.rules["new"]] == [False] * 5 + [True, False, True]


def test_rows_at_several_rules_are_as_rough_as_the_roughest() -> None:
    diff = stairs(EIGHT, {3: 3}, beyond=[500.0])
    told = diff.told(5)

    def at(*numbers: int) -> str:
        return told.rows_at([diff.rules[number - 1] for number in numbers])

    assert at() == "0 of 440"
    assert at(7, 8) == "170 of 440"
    assert at(1) == "4–6 %"
    assert at(1, 7) == "22–25 %"  # 80 of 440 are 18.2 %
    assert at(1, 9) == "4–6 %"  # nobody follows the ninth
    assert diff_trees(diff.old, diff.new, space=diff.space).told(5).rows_at(diff.rules) == ""


def test_changed_decisions_are_not_split_by_subtraction() -> None:
    """13 decisions change: ten of them counted exactly by two large rules, so the other three."""
    ten = range(20, 120, 10)
    for past, exact in (({0: 3}, 4), ({8: 10}, 10), ({0: 3, 8: 10}, 0)):
        diff = stairs(ten, past)
        assert round(diff.flips * diff.n_rows) == sum(past.values())
        for side in ("old", "new"):
            assert sum(rule.exact for rule in diff.told(5).rules[side]) == exact


@pytest.mark.parametrize(("ill", "exact"), [(4, False), (40, True)])
def test_what_is_known_of_all_rows_is_not_told_of_the_only_rule(ill: int, exact: bool) -> None:
    X = np.arange(100.0)[:, None]
    y = np.where(X[:, 0] < ill, "yes", "no")
    tree = steps([])
    diff = diff_trees(tree, tree, X, y=y, space=FeatureSpace.from_data(X, y))
    (rule,) = diff.told(5).rules["new"]
    assert rule.exact is exact
    assert rule.rows is None
    assert rule.rate is None


def test_a_class_that_no_row_has() -> None:
    diff = diff_trees(build(OLD), build(NEW), rows(3), y=["no"] * 200)
    assert "Of 200 rows, fewer than 5 get another decision." in diff.to_text()
    assert diff.to_dict()["n_rows"] == 200


SIZES, HITS = (28, 98, 119, 129, 136), (4, 33, 103, 43, 92)


def steadied(strength: float) -> TreeDiff:
    """A tree on its own 510 rows; the first leaf's share counts so many people more, all ill."""
    tree = steps(np.cumsum(SIZES)[:-1] - 0.5)
    counts = np.zeros((tree.n_nodes, 2, 2))
    for leaf, n, hits in zip(tree.leaves, SIZES, HITS, strict=True):
        counts[leaf, 1] = n - hits, hits
    counts[0] = counts.sum(axis=0)
    strengths = np.where(np.arange(tree.n_nodes) == tree.leaves[0], strength, 0.0)
    by = np.tile([0.0, 1.0], (tree.n_nodes, 1))
    observed = Observed(counts, counts, by, strengths)
    value = np.nan_to_num(observed.predicted(), nan=0.5)
    tree = tree.replace(observed=observed, value=value, label=None)
    X = np.arange(510.0)[:, None]
    y = np.concatenate([["yes"] * h + ["no"] * (n - h) for n, h in zip(SIZES, HITS, strict=True)])
    return diff_trees(tree, tree, X, y=y, space=FeatureSpace.from_data(X, y))


def test_a_prediction_and_a_rate_together_do_not_tell_a_few_people() -> None:
    """4 of 28 are ill: "5–6 % of 510", "< 20 %", and "20–40 %" with three people more.

    Each tells little, but 3, 4 or 5 people are all that fit the three of them.
    """
    fit = {
        ill
        for n in range(511)
        for ill in range(n + 1)
        if 0.05 <= n / 510 < 0.06
        if ill < 0.2 * n
        if ill + 3 >= 0.2 * (n + 3) and ill <= 0.4 * (n + 3)
    }
    assert fit == {3, 4, 5}
    plain = steadied(0).told(5).rules["new"][0]
    assert plain.rows is not None
    assert plain.rate is not None
    assert (plain.rows.words(PLAIN), plain.rate.words(PLAIN)) == ("5–6 %", "< 20 %")
    rough = steadied(3).told(5).rules["new"][0]
    assert rough.rows is not None
    assert (rough.rows.words(PLAIN), rough.rate, rough.widen) == ("4–6 %", None, 2)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_whatever_the_rows_no_leaf_of_few_people_is_told_exactly(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(120, 2)).round(1)
    y = np.where(X[:, 0] + rng.normal(size=120) > 0.7, "ill", "well")
    space = FeatureSpace.from_data(X, y)
    model = DecisionTreeClassifier(max_leaf_nodes=4, min_samples_leaf=3, random_state=0)
    old, new = (as_tree(model.fit(X[:n], y[:n]), space=space) for n in (70, 120))
    diff = diff_trees(old, new, X, y=y, space=space)
    told = diff.told(5)
    rows = np.asarray(diff.crossed).sum(axis=2)
    for i, one in enumerate(told.rules["old"]):
        assert not (one.exact and ((rows[i] > 0) & (rows[i] < 5)).any())
    for j, two in enumerate(told.rules["new"]):
        assert not (two.exact and ((rows[:, j] > 0) & (rows[:, j] < 5)).any())
