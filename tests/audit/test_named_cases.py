"""Three cases that once went wrong in front of users, on the very data they went wrong on."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

import steadytree as st
from tests.audit.by_hand import rows_at_nodes, wilson
from tests.audit.sets import SETS, make_case


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield


def leaf_of_the_insured(tree: Any) -> int:
    """The leaf of the rule "mortgage insurance was denied", which must be one rule."""
    for node in np.flatnonzero(tree.children_left < 0):
        above = np.flatnonzero((tree.children_left == node) | (tree.children_right == node))[0]
        if tree.feature_names[tree.feature[above]] == "insurance_yes":
            return int(node)
    pytest.fail("the rule on insurance is gone")


@pytest.mark.parametrize("old_rows", [False, True])
def test_mortgages_refused_insurance_stay_within_what_was_observed(old_rows: bool) -> None:
    case = make_case("mortgage")  # in the order of the file, 1,428 rows deploy and 952 arrive
    denied = [
        ((y == "yes") & (X["insurance_yes"] == 1)).sum() / (X["insurance_yes"] == 1).sum()
        for X, y in ((case.X_old, case.y_old), (case.X_new, case.y_new))
    ]
    assert np.round(denied, 3).tolist() == [0.919, 0.909]
    model: Any = DecisionTreeClassifier(max_depth=3, min_samples_leaf=20, random_state=0)
    model.fit(case.X_old, case.y_old)
    old = {"old": (case.X_old, case.y_old)} if old_rows else {}
    told = []
    for _ in range(3):  # fed back with the same rows, as it once fell to 22 %
        result = st.retrain(
            *(model, case.X_new, case.y_new),
            **old,
            n_folds=0,
            search=st.SearchOptions(n_estimators=10, copies=1),
            random_state=0,
        )
        model, tree = result.tree, result.trees["re-estimate"]
        node = leaf_of_the_insured(tree)
        counts = tree.observed.counts[node]
        assert counts[1].tolist() == [1, 10]
        assert counts[0].tolist() == ([3, 34] if old_rows else [0, 0])
        assert tree.classes[tree.label[node]] == "yes"
        told.append(float(tree.value[node, 1]))
    assert told[1:] == told[:1] * 2
    n = 48 if old_rows else 11
    low, high = wilson((44 if old_rows else 10) / n, n, 0.95)
    assert low - 1e-9 <= told[0] <= high + 1e-9
    assert told[0] > 0.8  # not 50.5 %, then 28.9 %, then 22.0 %


def test_a_leaf_of_churners_only_says_so() -> None:
    case = make_case("churn", 2500)
    parts = (case.X_old, case.y_old), (case.X_new, case.y_new)
    pure = 0
    for tree in case.retrain(search=st.SearchOptions(n_estimators=20)).trees.values():
        if tree.observed is None:
            continue
        reached = [rows_at_nodes(tree, X) for X, _ in parts]
        for node in np.flatnonzero(tree.children_left < 0):
            found = np.concatenate(
                [
                    (y == "yes").to_numpy()[at[node]]
                    for at, (_, y) in zip(reached, parts, strict=True)
                ]
            )
            if len(found) >= 20 and found.all():
                pure += 1
                assert tree.value[node, 1] >= wilson(1.0, len(found), 0.95)[0] - 1e-9
                assert tree.value[node, 1] > 0.8
                assert tree.classes[tree.label[node]] == "yes"
    assert pure > 0  # there are such leaves, so that something was asked


@pytest.mark.parametrize("name", ["penguins", "hawks"])
def test_no_leaf_of_one_or_two_birds(name: str) -> None:
    case = make_case(name)
    model = st.DistilledTreeClassifier(min_samples_leaf=8, n_estimators=20, random_state=0)
    model.fit(case.X_old, case.y_old)
    old = {"old": (case.X_old, case.y_old)} if SETS[name].old_rows else {}
    result = st.retrain(
        *(model, case.X_new, case.y_new),
        **old,
        **{
            "n_folds": 0,
            "search": st.SearchOptions(n_estimators=20, min_samples_leaf=8),
            "random_state": 0,
        },
    )
    for name_of_tree, tree in result.trees.items():
        birds = [len(rows) for rows in rows_at_nodes(tree, case.X_new)]
        if old:
            birds = np.add(birds, [len(rows) for rows in rows_at_nodes(tree, case.X_old)]).tolist()
        ends = [n for n, left in zip(birds, tree.children_left, strict=True) if left < 0]
        # Without old rows a deployed leaf may meet few of the new birds; no fresh leaf does.
        if old or name_of_tree == "from scratch":
            assert min(ends) >= 8, name_of_tree
