from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from sklearn.datasets import load_diabetes
from sklearn.model_selection import ParameterGrid
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier

from steadytree.growing.collections import draw_bootstrap, grow_collections
from steadytree.growing.fitting import TrainingData
from steadytree.tree.tree import Tree
from tests.growing.samples import ReadsFrames, same_rules, training_data


def grow(data: TrainingData, grid: Any = None, **options: Any) -> list[Any]:
    every = np.arange(len(data.rows.y))
    learner = options.pop("estimator", None)
    if learner is None:
        learner = DecisionTreeRegressor() if data.classes is None else DecisionTreeClassifier()
    options.setdefault("n_bootstraps", 2)
    options.setdefault("seeds", np.arange(2 * options["n_bootstraps"]).reshape(2, -1))
    settings = list(ParameterGrid(grid or {"max_depth": [2, 3, 5], "min_samples_leaf": [3, 20]}))
    return grow_collections(learner, data, [every[::2], every], settings, **options)


# -- the grid ------------------------------------------------------------------------


def test_every_bootstrap_has_every_setting_in_order(cancer: TrainingData) -> None:
    grid = {"max_depth": [5, 2], "min_samples_leaf": [20]}
    first, second = grow(cancer, grid, n_bootstraps=3)
    assert len(first.trees) == len(second.trees) == 6
    assert second.bootstrap.tolist() == [0, 0, 1, 1, 2, 2]
    assert second.setting.tolist() == [0, 1] * 3
    for collection in (first, second):
        depths = [tree.depth for tree in collection.trees]
        assert all(depth <= 2 for depth in depths[1::2])
        assert max(depths[::2]) > 2


def test_batches_are_grown_on_their_own_rows(cancer: TrainingData) -> None:
    first, second = grow(cancer)
    assert not first.in_bag[:, 1::2].any()
    assert second.in_bag[:, 1::2].any()
    for tree, rows in ((first.trees[0], 285), (second.trees[0], 569)):
        assert tree.weight is not None
        assert tree.weight[0] == rows
        assert tree.metadata["n_training_rows"] == rows


# -- nested growth -------------------------------------------------------------------


def test_cut_trees_are_the_top_of_the_deepest(cancer: TrainingData) -> None:
    grid = {"max_depth": [None, 1, 3, 6], "min_samples_leaf": [3]}
    _, second = grow(cancer, grid, n_bootstraps=1)
    deepest, one, three, six = second.trees
    for tree, depth in ((one, 1), (three, 3), (six, 6)):
        assert tree.depth == min(depth, deepest.depth)
        assert same_rules(tree, deepest.truncate(depth))


def test_a_depth_the_tree_never_reaches_shares_the_object(cancer: TrainingData) -> None:
    _, second = grow(cancer, {"max_depth": [11, 12], "min_samples_leaf": [50]}, n_bootstraps=1)
    assert second.trees[0] is second.trees[1]


def gain(tree: Tree, node: int) -> float:
    assert tree.weight is not None
    assert tree.impurity is not None
    total = tree.weight * tree.impurity
    return total[node] - total[tree.children_left[node]] - total[tree.children_right[node]]


def assert_first_difference_ties(a: Tree, b: Tree) -> None:
    """Where two trees on the same rows part, either split gains as much."""
    shorter = min(a.n_nodes, b.n_nodes)
    differs = (a.feature[:shorter] != b.feature[:shorter]) | ~np.isclose(
        a.threshold[:shorter], b.threshold[:shorter], equal_nan=True
    )
    # Nodes are numbered from the root downwards, left first: up to here they agree.
    node = int(np.flatnonzero(differs)[0])
    assert np.isclose(gain(a, node), gain(b, node))


@pytest.mark.parametrize("kind", ["classification", "regression"])
def test_nested_growth_differs_only_where_gains_tie(cancer: TrainingData, kind: str) -> None:
    data = cancer
    if kind == "regression":
        data = training_data(*load_diabetes(return_X_y=True), regression=True)
    grid = {"max_depth": [2, 3, 4, 6], "min_samples_leaf": [3, 10, 30]}
    nested = grow(data, grid, nested=True)
    separate = grow(data, grid, nested=False)
    equal = []
    for ours, theirs in zip(nested, separate, strict=True):
        for a, b in zip(ours.trees, theirs.trees, strict=True):
            equal.append(same_rules(a, b))
            if not equal[-1]:
                assert_first_difference_ties(a, b)
    # Ties are broken anew in every separate fit, so that some trees do differ.
    assert 0.25 < np.mean(equal) < 1


@pytest.mark.parametrize(
    ("learner", "fixed"),
    [
        (DecisionTreeClassifier(), {"max_leaf_nodes": [4]}),
        (DecisionTreeClassifier(), {"ccp_alpha": [0.02]}),
        (DecisionTreeClassifier(max_leaf_nodes=4), {}),
        (ExtraTreeClassifier(), {}),
    ],
)
def test_settings_that_cannot_be_cut_are_fitted_one_by_one(
    cancer: TrainingData, learner: Any, fixed: dict[str, list[Any]]
) -> None:
    grid = {"max_depth": [2, 4], **fixed}
    nested, separate = (
        grow(cancer, grid, estimator=learner, nested=flag) for flag in (True, False)
    )
    for ours, theirs in zip(nested, separate, strict=True):
        assert all(a == b for a, b in zip(ours.trees, theirs.trees, strict=True))


def test_settings_fitted_one_by_one_have_seeds_of_their_own(cancer: TrainingData) -> None:
    same = [{"max_depth": 6, "min_samples_leaf": 3}] * 8
    every = np.arange(len(cancer.rows.y))
    options: dict[str, Any] = {"n_bootstraps": 1, "seeds": np.array([[4]])}
    learner = DecisionTreeClassifier()
    (separate,) = grow_collections(learner, cancer, [every], same, nested=False, **options)
    # One bootstrap, one setting: only the ties among equal gains can tell the trees apart.
    assert len({tree.threshold.tobytes() for tree in separate.trees}) > 1
    (nested,) = grow_collections(learner, cancer, [every], same, **options)
    assert all(tree is nested.trees[0] for tree in nested.trees)
    (fewer,) = grow_collections(learner, cancer, [every], same[:3], nested=False, **options)
    assert all(a == b for a, b in zip(fewer.trees, separate.trees[:3], strict=True))


# -- bootstraps and seeds ------------------------------------------------------------


def test_results_do_not_depend_on_jobs_or_backend(cancer: TrainingData) -> None:
    one = grow(cancer, n_jobs=1)
    two = grow(cancer, n_jobs=2)
    with parallel_config(backend="loky", n_jobs=2):
        processes = grow(cancer, n_jobs=None)
    for other in (two, processes):
        for a, b in zip(one, other, strict=True):
            assert all(s == t for s, t in zip(a.trees, b.trees, strict=True))
            np.testing.assert_array_equal(a.in_bag, b.in_bag)


def test_a_bootstrap_draws_uniformly_with_replacement() -> None:
    rows = np.arange(100, 400)
    counts = np.zeros(400)
    for seed in range(200):
        drawn = draw_bootstrap(rows, None, seed).rows
        assert drawn.size == rows.size
        counts += np.bincount(drawn, minlength=400)
    assert counts[:100].sum() == 0
    # 200 draws of each row on average; a Poisson count stays within five deviations.
    assert np.abs(counts[100:] - 200).max() < 5 * np.sqrt(200)


@pytest.mark.parametrize("keep_out_of_bag", [False, True])
def test_a_bootstrap_that_loses_a_class_is_drawn_again(keep_out_of_bag: bool) -> None:
    y = np.zeros(200, dtype=int)
    y[: 1 + keep_out_of_bag] = 1
    for seed in range(30):
        drawn = draw_bootstrap(np.arange(200), y, seed, keep_out_of_bag=keep_out_of_bag).rows
        there = np.isin(np.flatnonzero(y), drawn)
        assert there.any()
        assert not (keep_out_of_bag and there.all())


# -- mixed data ----------------------------------------------------------------------


def test_mixed_data_become_trees_over_the_original_columns(
    mixed: tuple[pd.DataFrame, np.ndarray],
) -> None:
    X, y = mixed
    data = training_data(X, y)
    _, second = grow(data, {"max_depth": [3], "min_samples_leaf": [3]}, n_bootstraps=6)
    used = {tree.feature_names[j] for tree in second.trees for j in tree.feature if j >= 0}
    assert used & {"size", "word"}
    for tree in second.trees:
        assert tree.feature_names == tuple(X.columns)
        assert tree.classes == ("setosa", "versicolor", "virginica")
        assert np.mean(tree.predict(X) == y) > 0.85


# -- other estimators ----------------------------------------------------------------


def test_any_estimator_with_a_tree_is_grown_on_the_users_table(
    mixed: tuple[pd.DataFrame, np.ndarray],
) -> None:
    X, y = mixed
    data = training_data(X, y)
    _, second = grow(data, {"word": ["broad", "narrow"]}, estimator=ReadsFrames(), n_bootstraps=2)
    broad, narrow = second.trees[:2]
    assert broad.feature_names == tuple(X.columns)
    assert broad.left_categories[0] == (0,)
    assert narrow.left_categories[0] == (1,)
    assert broad.space is data.space
