"""What may be told of the people behind a diff: two trees count the same people."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

from steadytree.core.space import FeatureSpace
from steadytree.core.words import PAGE, PLAIN
from steadytree.diff import TreeDiff, diff_trees
from steadytree.diff.told import ToldDiff
from steadytree.readers import as_tree
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
    assert "23.7\u202f%" in page.leaves["new"].predicted
    assert "23.7 %" in told.leaves["new"].predicted


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
