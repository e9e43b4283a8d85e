"""Every clause of a plan: where it holds, where it breaks, and where it cannot be judged."""

from __future__ import annotations

import json
import math
import re
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

from steadytree.diff.comparison import compare
from steadytree.estimators import DistilledTreeClassifier, TreeClassifier
from steadytree.evaluation.locks import keeps_locks, resolve_locks
from steadytree.evaluation.plan import LIMITS, ChangePlan
from steadytree.evaluation.plan_check import (
    VERDICTS,
    ChangeMeasures,
    PlanFault,
    ScoreMeasures,
    changed_columns,
    check_plan,
    count_events,
    unknown_shares,
)
from steadytree.evaluation.scores import wilson
from steadytree.exceptions import InputError, OneDecisionWarning, PlanError, SteadyTreeWarning
from steadytree.formats.rules.read_rules import tree_from_rules
from steadytree.growing.nodes import split_of
from steadytree.plugins import as_tree
from steadytree.retraining import retrain
from steadytree.tree.space import FeatureSpace
from steadytree.tree.tree import Tree
from tests.diff.trees import COLOURS, SPACE, Leaf, Split, build
from tests.growing.mixed import mixed_table
from tests.report.samples import mixed_diff
from tests.retraining.conftest import QUICK

HELD, BROKEN, NOT_JUDGED = VERDICTS
N = 1000


def share(hits: int, n: int = N) -> Any:
    return np.arange(n) < hits


def score(change: float, half: float, *, events: int = 200, **scores: Any) -> ScoreMeasures:
    known: dict[str, Any] = {"name": "AUC", "old": 0.8, "new": 0.8 + change, **scores}
    return ScoreMeasures(
        **known, change=change, low=change - half, high=change + half, events=events
    )


def measures(**given: Any) -> ChangeMeasures:
    known: dict[str, Any] = {
        "dissimilarity": 0.1,
        "n_leaves": 8,
        "used": {"age", "sex"},
        "keeps": lambda item: item == "root",
        "changed": share(20),
        "moves": np.where(share(20), 0.2, 0.0),
        "score": lambda rows: score(0.02, 0.01),
    }
    return ChangeMeasures(**{**known, **given})


CLAUSES: dict[str, tuple[dict[str, Any], dict[str, Any], str, str]] = {
    # what is asked, what is measured, the verdict, and words of the clause
    "few changed": ({"max_flips": 0.05}, {}, HELD, "decision 2.0 %, at most 5.0 %: held"),
    "many changed": ({"max_flips": 0.01}, {}, BROKEN, "decision 2.0 %, at most 1.0 %: broken"),
    "perhaps many changed": ({"max_flips": 0.02}, {}, BROKEN, "it could be as much as 3.1 %)"),
    "99 rows changed": (
        {"max_flips": 0.5},
        {"changed": share(0, 99)},
        NOT_JUDGED,
        "not judged (99 rows, at least 100 are needed)",
    ),
    "no row": ({"max_flips": 0.5}, {"changed": share(0, 0)}, NOT_JUDGED, "unknown, at most"),
    "nobody can be decided otherwise": (
        {"max_flips": 0.0},
        {"changed": share(0, 9), "same_decisions": True},
        HELD,
        "",
    ),
    "few moved": ({"max_moved_5": 0.05, "max_moved_10": 0.05}, {}, HELD, "over 5 points 2.0 %"),
    "many moved": ({"max_moved_5": 0.01, "max_moved_10": 0.01}, {}, BROKEN, "10 points 2.0 %"),
    "too few rows moved": (
        {"max_moved_5": 1.0, "max_moved_10": 1.0},
        {"moves": np.zeros(99)},
        NOT_JUDGED,
        "99 rows",
    ),
    "a small change": ({"max_dissimilarity": 0.1}, {}, HELD, "dissimilarity 10.0 %, at most 10.0"),
    "a large change": ({"max_dissimilarity": 0.0999}, {}, BROKEN, "dissimilarity 10.0 %"),
    "another yardstick": (
        {"max_dissimilarity": 0.5},
        {"faults": [PlanFault("the new tree brought its own space", {"dissimilarity"})]},
        NOT_JUDGED,
        "not judged (the new tree brought its own space)",
    ),
    "few leaves": ({"max_leaves": 8}, {}, HELD, "leaves 8, at most 8: held"),
    "many leaves": ({"max_leaves": 7}, {}, BROKEN, "leaves 8, at most 7: broken"),
    "leaves learnt from broken rows": (
        {"max_leaves": 8},
        {"faults": [PlanFault.of_column("age", "is empty in these rows", {"n_leaves"})]},
        NOT_JUDGED,
        "column 'age' is empty in these rows",
    ),
    "a better score": ({"min_score_change": 0.0}, {}, HELD, "change of the score +0.020"),
    "a worse score": ({"min_score_change": 0.03}, {}, BROKEN, "at least +0.030: broken"),
    "perhaps a worse score": (
        {"min_score_change": 0.0},
        {"score": lambda rows: score(0.02, 0.03)},
        BROKEN,
        "it could be as little as -0.010",
    ),
    "a score of 19 events": (
        {"min_score_change": -1},
        {"score": lambda rows: score(0.0, 0.0, events=19)},
        NOT_JUDGED,
        "19 events, at least 20 are needed",
    ),
    "no folds": (
        {"min_score_change": -1},
        {"score": lambda rows: score(math.nan, math.nan)},
        NOT_JUDGED,
        "change of the score unknown, at least -1.000: not judged (no rows were left out",
    ),
    "outcomes turned round": (
        {"min_score_change": 0.0, "min_gain": 0.1},
        {"score": lambda rows: score(0.147, 0.02, old=0.2, new=0.347)},
        NOT_JUDGED,
        "both trees predict worse than chance (AUC 0.200 and 0.347)",
    ),
    "responses worse than their mean": (
        {"min_score_change": 0.0},
        {"score": lambda rows: score(0.1, 0.02, name="R2", old=-0.4, new=-0.3)},
        NOT_JUDGED,
        "worse than chance (R2 -0.400 and -0.300)",
    ),
    "a gain": ({"min_gain": 0.02}, {}, HELD, "gain in the score +0.020, at least +0.020: held"),
    "no gain": ({"min_gain": 0.03}, {}, BROKEN, "gain in the score +0.020, at least +0.030"),
    "a gain on few events": (
        {"min_gain": 0.01},
        {"score": lambda rows: score(0.5, 0.1, events=2)},
        NOT_JUDGED,
        "2 events",
    ),
    "what is locked stays": ({"locked": "root"}, {}, HELD, "locked 'root': held"),
    "what is locked went": ({"locked": "age"}, {}, BROKEN, "locked 'age': broken"),
    "what is forbidden is not used": ({"forbid": "race"}, {}, HELD, "forbid 'race': held"),
    "what is forbidden is used": ({"forbid": "sex"}, {}, BROKEN, "forbid 'sex': broken"),
}


@pytest.mark.parametrize("name", CLAUSES)
def test_a_clause_holds_breaks_or_cannot_be_judged(name: str) -> None:
    asked, measured, verdict, words = CLAUSES[name]
    check = check_plan(ChangePlan(**asked), measures(**measured))
    assert {clause.verdict for clause in check.clauses} == {verdict}
    assert len(check.clauses) == len(asked)
    assert words in check.to_text()
    assert check.held is bool(check) is (verdict == HELD)
    assert check.not_held == (() if check.held else check.clauses)
    content = json.loads(json.dumps(check.to_dict(), allow_nan=False))
    assert content["held"] is check.held
    assert [c["text"] for c in content["clauses"]] == check.to_text().splitlines()
    if check.held:
        check.raise_if_not_held()
    else:
        with pytest.raises(PlanError, match=r"expected every clause .* to hold, got .*; keep the"):
            check.raise_if_not_held()


def test_every_limit_has_every_verdict_that_it_can_have() -> None:
    """A limit that is added must be added to the table above."""
    seen: dict[str, set[str]] = {}
    for asked, _, verdict, _ in CLAUSES.values():
        for name in asked:
            seen.setdefault(name, set()).add(verdict)
    assert set(seen) == {*LIMITS, "locked", "forbid"}
    for name, verdicts in seen.items():
        full = {HELD, BROKEN} if name in ("locked", "forbid") else set(VERDICTS)
        assert verdicts == full, name


def test_a_share_has_the_interval_of_the_table_of_flips() -> None:
    (clause,) = check_plan(ChangePlan(max_flips=0.05), measures()).clauses
    assert (clause.low, clause.high) == wilson(20, N)
    assert (clause.measured, clause.n) == (0.02, N)
    # A limit that people type holds to its last digit.
    exact = replace(measures(), dissimilarity=0.1 + 0.2)
    assert check_plan(ChangePlan(max_dissimilarity=0.3), exact).held


def test_a_tree_that_changes_nothing_holds_all_but_a_gain() -> None:
    same = measures(
        changed=share(0, 3),
        moves=np.zeros(3),
        dissimilarity=0.0,
        score=lambda rows: score(math.nan, math.nan),
        same_tree=True,
        faults=[PlanFault.of_column("age", "is empty")],
    )
    limits = {name: 0.0 for name in LIMITS if name.startswith("max_") and name != "max_leaves"}
    plan = ChangePlan(**limits, min_score_change=0.0, max_leaves=8, locked="root")
    assert check_plan(plan, same).held
    assert not check_plan(ChangePlan(min_gain=0.001), same).held


def test_limits_hold_in_every_group_of_a_column() -> None:
    table = pd.DataFrame({"sex": ["f"] * 500 + ["m"] * 450 + ["x"] * 50, "age": np.arange(N)})

    def of_rows(rows: Any) -> ScoreMeasures:
        return score(0.02, 0.01, events=len(rows) // 10)

    given = measures(table=table, score=of_rows)
    limits = {"max_flips": 0.05, "min_score_change": 0.0}
    check = check_plan(ChangePlan(per_group={"sex": limits}), given)
    assert [(c.name, c.group, c.verdict) for c in check.clauses] == [
        ("max_flips", "sex = f", BROKEN),
        ("max_flips", "sex = m", HELD),
        ("max_flips", "sex = x", NOT_JUDGED),
        ("min_score_change", "sex = f", HELD),
        ("min_score_change", "sex = m", HELD),
        ("min_score_change", "sex = x", NOT_JUDGED),
    ]
    first = check.clauses[0]
    assert (first.measured, first.n) == (20 / 500, 500)
    assert first.text.startswith("sex = f: rows with another decision 4.0 %, at most 5.0 %: broken")
    assert check.refusal().startswith("Where sex = f: rows with"), "its name as it is"
    quarters = check_plan(ChangePlan(per_group={"age": {"max_flips": 1.0}}), given)
    assert len(quarters.clauses) == 4
    with pytest.raises(InputError, match="got by='ward'"):
        check_plan(ChangePlan(per_group={"ward": {"max_flips": 1.0}}), given)


def test_a_column_can_be_accepted_by_name_and_nothing_else() -> None:
    faults = [PlanFault.of_column("age", "is empty"), PlanFault("another reason")]
    both = measures(faults=faults)
    one = measures(faults=faults[:1])
    plan = {"max_flips": 0.05, "min_score_change": 0.0, "max_leaves": 8}
    verdicts = [c.verdict for c in check_plan(ChangePlan(**plan), both).clauses]
    assert verdicts == [NOT_JUDGED, NOT_JUDGED, HELD]
    assert check_plan(ChangePlan(**plan, accept="age"), one).held
    assert not check_plan(ChangePlan(**plan, accept="sex"), one).held
    assert not check_plan(ChangePlan(**plan, accept="age"), both).held


def test_what_was_not_given_is_asked_for() -> None:
    bare = measures(changed=None, moves=None, score=None, table=None)
    assert check_plan(ChangePlan(max_leaves=8, max_dissimilarity=1.0), bare).held
    for limits, words in (
        ({"max_flips": 0.1}, "expected rows for max_flips, got none"),
        ({"max_moved_5": 0.1}, "expected rows for max_moved_5, got none"),
        ({"min_gain": 0.1}, "expected rows with outcomes for min_gain, got none"),
        ({"per_group": {"sex": {"max_flips": 0.1}}}, "rows for per_group.sex.max_flips, got none"),
    ):
        with pytest.raises(InputError, match=words):
            check_plan(ChangePlan(**limits), bare)


def test_events_are_rows_of_the_rarer_class() -> None:
    y = np.repeat([0, 1, 2], [50, 30, 4])
    assert count_events(y, classifier=True) == 34
    assert count_events(y[y < 2], classifier=True) == 30
    assert count_events(y[y == 0], classifier=True) == 0
    assert count_events(y[:0], classifier=True) == 0
    assert count_events(y, classifier=False) == 84


# -- rows that are not what the trees were made for are noticed, and only these --


@pytest.fixture(scope="module")
def cancer_tree():
    """A tree of one half of the rows, the other half, and the feature of its first split."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = DecisionTreeClassifier(max_depth=3, min_samples_leaf=10, random_state=0)
    tree = as_tree(model.fit(X[::2], y[::2]), space=FeatureSpace.from_data(X[::2]))
    return tree, X[1::2].reset_index(drop=True), int(tree.feature[0])


def found(tree, X):
    coded = tree.space.encode(X)
    return changed_columns([tree], tree.space, coded)


def test_rows_of_the_same_kind_are_not_suspected(cancer_tree):
    tree, X, _ = cancer_tree
    assert found(tree, X) == {}
    assert found(tree, X[:5]) == {}
    assert found(tree, X[:0]) == {}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda v: v * np.nan, "is empty in these rows"),
        (lambda v: v.where(v.index % 3 == 0), "is missing in 67% of these rows and never was"),
        (lambda v: v * 1000, "lies outside the known range in 100% of these rows: other units?"),
        (lambda v: v / 1000, "other units?"),
        (lambda v: v.where(v.index % 9 > 0, v * 1000), "outside the known range in 1\\d% of these"),
        (lambda v: v * 0 + v.quantile(0.05), "sends all of these rows to one side, where"),
        (lambda v: v * 0 - 999, "other units?|sends all of these rows to one side"),
        (lambda v: v * 3, "other units?|sends all of these rows to one side"),
    ],
)
def test_a_broken_column_is_noticed(cancer_tree, change, words):
    tree, X, j = cancer_tree
    name = X.columns[j]
    (at,), (said,) = zip(*found(tree, X.assign(**{name: change(X[name])})).items(), strict=True)
    assert at == j
    assert re.search(words.replace("?", r"\?"), said)


def test_a_column_that_no_tree_uses_may_be_anything(cancer_tree):
    tree, X, _ = cancer_tree
    unused = next(n for j, n in enumerate(X.columns) if j not in tree.used_features)
    assert found(tree, X.assign(**{unused: np.nan})) == {}


@pytest.mark.parametrize(
    ("stored", "words"),
    [(True, "has unknown categories in 100% of these"), (False, "sends all of these rows to one")],
)
def test_categories_under_other_names(stored, words):
    X, y = mixed_table(700, 0)
    X = X[["colour"]].copy()
    space = FeatureSpace.from_data(X, y)
    red = (X["colour"] == "red").to_numpy()
    tree = Tree(
        children_left=[1, -1, -1],
        children_right=[2, -1, -1],
        feature=[0, -1, -1],
        threshold=[np.nan] * 3,
        left_categories=((space.categories[0].index("red"),), None, None),
        value=[[0.5, 0.5], [1, 0], [0, 1]],
        weight=[len(X), red.sum(), (~red).sum()],
        classes=("no", "yes"),
        n_features=1,
        feature_names=("colour",),
        categories=space.categories,
        space=space.replace(classes=None) if stored else None,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert compare(tree, tree, X).changed_columns == {}
    copy = tree.replace(value=[[0.5, 0.5], [0.9, 0.1], [0, 1]])  # another tree, with the same rules
    codes = X["colour"].map({"red": 0, "green": 1, "blue": 2, "grey": 3})
    with (
        pytest.warns(SteadyTreeWarning, match=f"'colour' {words}"),
        pytest.warns(OneDecisionWarning, match='decides "yes" for all'),
    ):
        compared = compare(tree, copy, X.assign(colour=codes.astype(object)))
    assert set(compared.changed_columns) == {"colour"}
    assert not compared.check({"max_flips": 0.5}).held
    assert compared.check({"max_flips": 0.5, "accept": ["colour"]}).held
    assert compared.check({"max_dissimilarity": 0.5}).held  # not counted on rows


# -- by hand: "weight" runs from 0 to 200, "age" from 0 to 100 and may be missing ----------------

STUMP = Split(1, 0.5, Leaf(0, 0.1), Leaf(1, 0.9))
HEAVY, AGE, DOSE, COLOUR = 1, 0, 2, 3


def rows_with(feature: int, values: Any) -> np.ndarray:
    """Rows in which the other columns are what they always were."""
    values = np.asarray(values, dtype=float)
    coded = np.column_stack([np.linspace(5, 95, len(values))] * 5) / [1, 0.5, 100, 1, 1]
    coded[:, [3, 4]] = 0.0
    coded[:, feature] = values
    return coded


@pytest.mark.parametrize(
    ("feature", "gone", "told"),
    [
        (HEAVY, 20, "is empty in these rows"),
        (HEAVY, 11, "is missing in 55% of these rows and never was before"),
        (HEAVY, 10, None),
        (AGE, 11, None),  # it always could be
        (AGE, 20, "is empty in these rows"),
    ],
)
def test_a_column_that_is_missing_where_it_never_was(
    feature: int, gone: int, told: str | None
) -> None:
    values = np.linspace(5, 95, 20) * (2 if feature == HEAVY else 1)
    values[::-1][:gone] = np.nan
    tree = build(replace(STUMP, feature=feature, at=0.1))
    said = changed_columns([tree], SPACE, rows_with(feature, values))
    assert said == ({} if told is None else {feature: told})


@pytest.mark.parametrize(("share", "told"), [(0.5, None), (0.51, "51%")])
def test_more_than_half_unknown_categories_is_another_coding(
    share: float, told: str | None
) -> None:
    tree = build(Split(COLOUR, frozenset({0}), Leaf(0, 0.1), Leaf(1, 0.9)))
    coded = rows_with(COLOUR, [0, 1] * 10)
    said = changed_columns([tree], SPACE, coded, unknown={COLOUR: share})
    assert said == (
        {} if told is None else {COLOUR: f"has unknown categories in {told} of these rows"}
    )


def test_shares_of_unknown_categories_are_of_the_values_that_are_there() -> None:
    colours = ["red", "green", "pink", None, "grey", "red"]
    X = pd.DataFrame({"age": 1.0, "colour": colours, "site": pd.Series([None] * 6, dtype=object)})
    space = FeatureSpace(
        lower=np.zeros(4),
        upper=np.ones(4),
        categories=(None, COLOURS, ("arm", "leg"), ("yes", "no")),
        names=("age", "colour", "site", "smoker"),
    )
    coded = np.full((6, 4), np.nan)
    coded[:, 1] = [0, 1, np.nan, np.nan, np.nan, 0]
    # Numbers have no categories, nothing is known of a site, and there is no column of smokers.
    assert unknown_shares(X, space, coded, range(4)) == {1: 2 / 5}
    plain = np.column_stack([np.ones(6), np.array(colours, dtype=object)])
    assert unknown_shares(plain, space, coded, [0, 1]) == {1: 2 / 5}


def one_sided(root: Split, weight: list[float], coded: np.ndarray) -> dict[int, str]:
    tree = build(root)
    return changed_columns([tree.replace(weight=weight, label=tree.label)], SPACE, coded)


SIDE = "sends all of these rows to one side, where {} went to the other before"


@pytest.mark.parametrize(
    ("left", "right", "n", "told"),
    [
        (50, 50, 20, "50%"),  # a half: one in 2 ** 20 by chance, less than one in a million
        (50, 50, 19, None),
        (1, 9, 20, "90%"),
        (1, 9, 19, None),  # of so few rows nothing is said
        (80, 20, 20, None),  # 0.8 ** 20 is one in 87
        (80, 20, 62, "20%"),
        (95, 5, 1000, "5%"),
        (96, 4, 1000, None),  # a side that hardly anybody went to
    ],
)
def test_a_side_left_empty_is_noticed_where_chance_does_not_do_it(
    left: float, right: float, n: int, told: str | None
) -> None:
    coded = rows_with(HEAVY, np.linspace(30, 90, n))
    said = one_sided(STUMP, [left + right, left, right], coded)
    assert said == ({} if told is None else {HEAVY: SIDE.format(told)})


# -- what is locked stays; whatever condition a listing prints can be locked by its words --


def test_every_condition_of_the_listing_is_found() -> None:
    tree = mixed_diff().old
    space = tree.space
    assert space is not None
    lines = TreeClassifier(tree).rules().splitlines()
    conditions = [line.lstrip("| -").partition(": ")[0] for line in lines]
    assert sum("or missing" in text for text in conditions) >= 2
    inner = set(np.flatnonzero(~tree.is_leaf).tolist())
    found = [resolve_locks(text, tree, space) for text in conditions]
    assert set().union(*found) == inner


def test_what_is_not_printed_is_refused() -> None:
    tree = mixed_diff().old
    assert tree.space is not None
    assert resolve_locks("age <= 40 or missing", tree, tree.space) == {1}
    with pytest.raises(InputError, match="got 'age <= 41'"):
        resolve_locks("age <= 41", tree, tree.space)


@pytest.mark.parametrize("kind", ["root", "node", "feature", "condition", "rule"])
def test_locks(kind):
    X, y = mixed_table(700, 0)
    first = DistilledTreeClassifier(n_estimators=20, max_leaf_nodes=6, random_state=0)
    first.fit(X[:300], y[:300])
    tree = first.to_tree()
    root = first.rules().splitlines()[0].removeprefix("|-- ")
    rule = first.rules(style="list").splitlines()[0]
    feature = tree.feature_labels[tree.feature[0]]
    locked = {"root": "root", "node": 0, "feature": [feature], "condition": root, "rule": rule}
    result = retrain(
        first,
        X[300:],
        1 - y[300:],
        plan={"locked": locked[kind]},
        price=0.0,
        **{**QUICK, "n_folds": 0},
    )
    assert split_of(result.tree, 0) == split_of(result.deployed, 0)
    assert result.edits
    assert 0 in result.settings["locked_nodes"] or kind == "rule"


def rules(text: str) -> Tree:
    return tree_from_rules(f"classes: no, yes\ncategories of c: a, b, d\n{text}")


SMALL = FeatureSpace(
    lower=np.zeros(2),
    upper=np.array([5.0, 0.0]),
    names=("x", "c"),
    categories=(None, ("a", "b", "d")),
)
DEPLOYED = rules("""
x <= 1:
    c in a: no
    else: yes
else:
    x <= 2: yes
    else: no
""")


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("x <= 1: no\nelse: yes", {0}),
        ("x <= 1.5: no\nelse: yes", set()),
        ("c in a: no\nelse: yes", set()),
        ("no", set()),
        # The other side first, and other conditions around.
        ("x <= 1:\n    c in b, d: yes\n    else: no\nelse: no", {0, 1, 2, 3}),
        ("x <= 1:\n    c in a: yes\n    else: no\nelse: no", {0, 1}),
        ("x <= 1.5:\n    c in a: no\n    else: no\nelse: no", {1}),
        ("x <= 1: no\nelse:\n    x <= 2: no\n    else: no", {0, 4, 6}),
    ],
)
def test_a_tree_made_anew_keeps_what_it_has_in_its_place(text: str, kept: set[int]) -> None:
    start, tree = DEPLOYED.in_space(SMALL), rules(text).in_space(SMALL)
    held = {node for node in range(7) if keeps_locks(tree, start, [node], SMALL)}
    assert held == kept
    assert keeps_locks(start, start, range(7), SMALL)
    assert keeps_locks(tree, start, [], SMALL)


def uninformed():
    """Rows, and a tree of two leaves that learnt nothing from the first 300 of them."""
    X, y = mixed_table(700, 0)
    first = DistilledTreeClassifier(n_estimators=20, max_leaf_nodes=2, random_state=0)
    return X, y, first.fit(X[:300], np.random.default_rng(0).permutation(y[:300]))


@pytest.fixture(scope="module")
def locked_root():
    """Retrains a tree whose root, which is locked, tells nothing, beside two made anew."""
    X, y, first = uninformed()
    mine = DistilledTreeClassifier(n_estimators=20, random_state=0).fit(X[:300], y[:300])

    def run(**choice):
        plan = {"locked": "root", **choice.pop("plan", {})}
        given = {"plan": plan, "candidates": {"mine": mine}, **QUICK, **choice}
        return retrain(first, X[300:], y[300:], **given)

    return run


REBUILT = ["from scratch", "mine"]


def test_what_breaks_a_lock_is_there_for_comparison_only(locked_root):
    result = locked_root()
    table = result.frontier
    assert table.index[~table["keeps_locks"]].tolist() == REBUILT
    assert table["score"].idxmax() in REBUILT
    assert result.chosen not in REBUILT
    assert split_of(result.tree, 0) == split_of(result.deployed, 0)
    assert result.plan_check.held


def test_no_limit_is_held_by_breaking_a_lock(locked_root):
    gains = locked_root().frontier["score_change"]
    asked = float(gains.drop(REBUILT).max() + gains.max()) / 2
    assert gains.max() > asked
    result = locked_root(plan={"min_gain": asked})
    assert result.action == "keep"
    assert not result.plan_check.held
    assert result.forgone is not None
    assert not result.forgone.keeps_locks
    assert "It does not keep what is locked." in result.explain()


def test_rebuilding_is_not_advised_against_a_lock(locked_root):
    free = locked_root(plan={"locked": ()}, price=1e9)
    assert free.rebuild_advised
    assert "Consider rebuilding" in free.explain()
    locked = locked_root(price=1e9)
    assert not locked.rebuild_advised
    assert "Consider rebuilding" not in locked.explain()
