"""One tree of a forest, a bag, a search or a threshold, as the model around it uses it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    RandomizedSearchCV,
    TunedThresholdClassifierCV,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

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
        BaggingClassifier(TREE, 3, max_features=0.6, random_state=seed),
        BaggingRegressor(DecisionTreeRegressor(max_depth=depth), 2, random_state=seed),
        ExtraTreesClassifier(2, max_depth=depth, random_state=seed),
        RandomForestRegressor(2, max_depth=depth, random_state=seed),
    )
    model = kinds[seed % 6]
    model.fit(table, labels if hasattr(model, "predict_proba") else table.iloc[:, 0])
    at = int(rng.integers(2))
    return _case(model, model.estimators_[at], seed, at)


def _case(model: Any, member: Any, seed: int, at: int | None = None) -> Case:
    rows = probe_rows(st.as_tree(model, tree_index=at), seed=seed, missing=False)
    mine: Any = rows
    if at is not None:
        mine = rows.to_numpy()
        if hasattr(model, "estimators_features_"):
            mine = mine[:, model.estimators_features_[at]]
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


@pytest.mark.parametrize("kind", [RandomForestClassifier, BaggingClassifier])
def test_a_forest_of_one_tree_is_that_tree(kind: Any) -> None:
    forest = kind(n_estimators=1, random_state=0).fit(X, LABELS)
    tree = st.as_tree(forest)
    np.testing.assert_array_equal(tree.predict(X), forest.predict(X))
    np.testing.assert_array_equal(tree.predict_proba(X), forest.predict_proba(X))


def test_a_bag_of_pipelines_on_some_of_the_columns() -> None:
    bag = BaggingClassifier(
        make_pipeline(StandardScaler(), TREE), 4, max_features=3, random_state=0
    ).fit(X, LABELS)
    rows = X.to_numpy()
    for at, (member, columns) in enumerate(
        zip(bag.estimators_, bag.estimators_features_, strict=True)
    ):
        tree = st.as_tree(bag, tree_index=at)
        assert tree.used_features <= set(columns.tolist())
        np.testing.assert_array_equal(tree.predict_proba(X), member.predict_proba(rows[:, columns]))


def test_a_member_that_never_met_a_class() -> None:
    labels = LABELS.astype(object).copy()
    labels[:2] = "rare"
    bag = BaggingClassifier(TREE, 8, max_samples=0.05, random_state=0).fit(X, labels)
    for at in range(8):
        tree = st.as_tree(bag, tree_index=at)
        assert tree.classes == ("ill", "rare", "well")
        # The bag's own words: shares of the members, spread over all classes.
        alone = BaggingClassifier(TREE, 1)
        alone.__dict__ |= {**bag.__dict__, "n_estimators": 1}
        alone.estimators_ = bag.estimators_[at : at + 1]
        alone.estimators_features_ = bag.estimators_features_[at : at + 1]
        np.testing.assert_array_equal(tree.predict_proba(X), alone.predict_proba(X))


def test_searches_are_their_best_model() -> None:
    grid = GridSearchCV(
        make_pipeline(StandardScaler(), TREE), {"decisiontreeclassifier__max_depth": [1, 2]}
    )
    grid.fit(X, LABELS)
    np.testing.assert_array_equal(st.as_tree(grid).predict(X), grid.predict(X))
    drawn = RandomizedSearchCV(TREE, {"max_depth": [1, 2, 3]}, n_iter=2, random_state=0)
    drawn.fit(X, LABELS)
    assert st.as_tree(drawn) == st.as_tree(drawn.best_estimator_)
    forests = GridSearchCV(RandomForestClassifier(2), {"max_depth": [1, 2]}, cv=2).fit(X, LABELS)
    assert st.as_tree(forests, tree_index=1).depth <= 2
    with pytest.raises(NotFittedTreeError, match="GridSearchCV before fit"):
        st.as_tree(GridSearchCV(TREE, {"max_depth": [1]}))
    with pytest.raises(NotFittedTreeError, match="refit=False; set refit=True"):
        st.as_tree(GridSearchCV(TREE, {"max_depth": [1]}, refit=False, cv=2).fit(X, LABELS))


def test_a_transformed_response_is_told_in_its_own_units() -> None:
    table, response = X.iloc[:, 1:], X.iloc[:, 0] * 1000
    inner = DecisionTreeRegressor(max_depth=4, random_state=0)
    for options in (
        {"func": np.log1p, "inverse_func": np.expm1},
        {"transformer": StandardScaler()},
        {},
    ):
        for regressor in (inner, make_pipeline(StandardScaler(), inner)):
            model = TransformedTargetRegressor(regressor, **options).fit(table, response)
            tree = st.as_tree(model)
            np.testing.assert_array_equal(tree.predict(table), model.predict(table))
            assert tree.observed is None
    with pytest.raises(NotFittedTreeError, match="TransformedTargetRegressor before fit"):
        st.as_tree(TransformedTargetRegressor(inner))
    mixing = TransformedTargetRegressor(
        inner, func=np.asarray, inverse_func=np.cumsum, check_inverse=False
    )
    with pytest.raises(UnsupportedModelError, match="from several rows or columns"):
        st.as_tree(mixing.fit(table, response))
    huge = TransformedTargetRegressor(
        inner, func=np.asarray, inverse_func=np.exp, check_inverse=False
    )
    with pytest.raises(UnsupportedModelError, match="expected finite responses, got inf"):
        st.as_tree(huge.fit(table, response))


def test_ensembles_of_other_kinds_are_refused() -> None:
    boosted = AdaBoostClassifier(n_estimators=2).fit(X, LABELS)
    with pytest.raises(UnsupportedModelError, match="a model of many trees; pass one of its"):
        st.as_tree(boosted)
    with pytest.raises(NotFittedTreeError, match="RandomForestRegressor before fit"):
        st.as_tree(RandomForestRegressor())


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
