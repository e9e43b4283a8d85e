"""One tree of a forest, a search or a threshold, as the model around it uses it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    TunedThresholdClassifierCV,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import steadytree as st
from steadytree.exceptions import InputError, NotFittedTreeError, UnsupportedModelError
from steadytree.tree.decision import Decision
from tests.foreign import probe_rows
from tests.formats.contract import Case

X, Y = load_breast_cancer(return_X_y=True, as_frame=True)
X = X.iloc[:, :6]
LABELS = np.array(["ill", "well"])[Y]
TREE = DecisionTreeClassifier(max_depth=3, random_state=0)


def make_case(seed: int, folder: Path) -> Case:
    """Make a model around trees, and what the tree that is read says itself."""
    rng = np.random.default_rng(seed)
    take = rng.choice(len(X), 200)
    table, labels = X.iloc[take], LABELS[take]
    if seed % 3 == 0:
        labels = np.where(rng.random(200) < 0.2, "maybe", labels)
    depth = int(rng.integers(1, 6))
    if seed % 5 < 2:
        search = GridSearchCV(TREE, {"max_depth": [1, depth + 1]}, cv=2)
        return _case(search.fit(table, labels), search, seed)
    kinds: tuple[Any, ...] = (
        RandomForestClassifier(3, max_depth=depth, random_state=seed),
        ExtraTreesRegressor(3, max_depth=depth, random_state=seed),
        ExtraTreesClassifier(2, max_depth=depth, random_state=seed),
        RandomForestRegressor(2, max_depth=depth, random_state=seed),
    )
    model = kinds[seed % 4]
    model.fit(table, labels if hasattr(model, "predict_proba") else table.iloc[:, 0])
    at = int(rng.integers(2))
    return _case(model, model.estimators_[at], seed, at)


def _case(model: Any, member: Any, seed: int, at: int | None = None) -> Case:
    rows = probe_rows(st.as_tree(model, tree_index=at), seed=seed, missing=False)
    mine: Any = rows if at is None else rows.to_numpy()
    if not hasattr(model, "predict_proba"):
        return Case(model, rows, member.predict(mine), options={"tree_index": at})
    shares = member.predict_proba(mine)
    expected = model.classes_[shares.argmax(axis=1)]
    return Case(model, rows, expected, shares, options={"tree_index": at})


def test_a_forest_asks_which_tree() -> None:
    forest = RandomForestClassifier(3, max_depth=2, random_state=0).fit(X, LABELS)
    with pytest.raises(UnsupportedModelError, match="a RandomForestClassifier of 3; pass tree_ind"):
        st.as_tree(forest)
    with pytest.raises(InputError, match="expected tree_index below 3"):
        st.as_tree(forest, tree_index=3)
    tree = st.as_tree(forest, tree_index=2)
    assert tree.classes == ("ill", "well")
    assert tree.feature_names == tuple(X.columns)
    assert tree.metadata["source"] == (
        "scikit-learn DecisionTreeClassifier 2 of a RandomForestClassifier"
    )
    assert st.as_tree(forest, tree_index=-1) == tree
    for kind in (RandomForestClassifier, RandomForestRegressor):
        one = kind(n_estimators=1, max_depth=3, random_state=0).fit(X, LABELS == "ill")
        np.testing.assert_array_equal(st.as_tree(one).predict(X), one.predict(X))
    with pytest.raises(NotFittedTreeError, match="RandomForestRegressor before fit"):
        st.as_tree(RandomForestRegressor())
    bag = BaggingClassifier(TREE, 3).fit(X, LABELS)
    with pytest.raises(UnsupportedModelError, match="a model of many trees; pass one of its"):
        st.as_tree(bag)


def test_searches_are_their_best_model() -> None:
    grid = GridSearchCV(
        make_pipeline(StandardScaler(), TREE), {"decisiontreeclassifier__max_depth": [1, 2]}
    )
    grid.fit(X, LABELS)
    np.testing.assert_array_equal(st.as_tree(grid).predict(X), grid.predict(X))
    forests = GridSearchCV(RandomForestClassifier(2), {"max_depth": [1, 2]}, cv=2).fit(X, LABELS)
    assert st.as_tree(forests, tree_index=1).depth <= 2
    with pytest.raises(NotFittedTreeError, match="GridSearchCV before fit"):
        st.as_tree(GridSearchCV(TREE, {"max_depth": [1]}))
    with pytest.raises(NotFittedTreeError, match="refit=False; set refit=True"):
        st.as_tree(GridSearchCV(TREE, {"max_depth": [1]}, refit=False, cv=2).fit(X, LABELS))


@pytest.mark.parametrize("pos_label", [None, 0, 1])
def test_a_threshold_around_a_tree_is_its_policy(pos_label: Any) -> None:
    y, base = Y, TREE
    fixed = FixedThresholdClassifier(base, threshold=0.1, pos_label=pos_label).fit(X, y)
    tree = st.as_tree(fixed)
    np.testing.assert_array_equal(tree.predict(X), fixed.predict(X))
    assert tree.decision == Decision(
        threshold=0.1, positive=1 if pos_label is None else pos_label, origin=type(fixed).__name__
    )
    tuned = TunedThresholdClassifierCV(base, cv=3).fit(X, y)
    np.testing.assert_array_equal(st.as_tree(tuned).predict(X), tuned.predict(X))
    assert st.as_tree(tuned).decision_threshold == tuned.best_threshold_
    with pytest.raises(NotFittedTreeError, match="before fit"):
        st.as_tree(FixedThresholdClassifier(base))
