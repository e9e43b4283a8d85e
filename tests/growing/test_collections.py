from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.model_selection import GridSearchCV, ParameterGrid
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier

from steadytree.core.rows import CodedRows
from steadytree.core.space import FeatureSpace
from steadytree.core.tree import Tree
from steadytree.estimators import DistilledTreeRegressor
from steadytree.exceptions import InputError, UnsupportedModelError
from steadytree.growing.collections import draw_bootstrap, grow_collections
from steadytree.growing.fitting import TrainingData, fit_by_weight, fit_tree
from steadytree.readers import as_tree


def training_data(X: Any, y: Any, *, regression: bool = False, weights: Any = None) -> TrainingData:
    task = "regression" if regression else "classification"
    space = FeatureSpace.from_data(X, y, task=task)
    classes, codes = (None, np.asarray(y)) if regression else np.unique(y, return_inverse=True)
    rows = CodedRows(space.encode(X), codes, weights, table=X)
    return TrainingData.from_rows(rows, space=space, classes=classes)


@pytest.fixture(scope="module")
def cancer() -> TrainingData:
    return training_data(*load_breast_cancer(return_X_y=True))


@pytest.fixture(scope="module")
def mixed() -> tuple[pd.DataFrame, np.ndarray]:
    """Iris with a category made from a length, a boolean, a string and missing values."""
    X, y = load_iris(return_X_y=True, as_frame=True)
    X.columns = ["sepal_length", "sepal_width", "petal_length", "petal_width"]
    X["size"] = pd.cut(X["petal_length"], [0, 2, 4.5, 5.5, 9], labels=["s", "m", "l", "xl"])
    X["wide"] = X["sepal_width"] > 3
    X["word"] = np.where(X["petal_width"] > 1.5, "broad", "narrow")
    X.loc[::7, "petal_width"] = np.nan
    X.loc[::5, "size"] = np.nan
    return X, y.map({0: "setosa", 1: "versicolor", 2: "virginica"}).to_numpy()


def grow(data: TrainingData, grid: Any = None, **options: Any) -> list[Any]:
    every = np.arange(len(data.rows.y))
    learner = options.pop("estimator", None)
    if learner is None:
        learner = DecisionTreeRegressor() if data.classes is None else DecisionTreeClassifier()
    options.setdefault("n_bootstraps", 2)
    options.setdefault("seeds", np.arange(2 * options["n_bootstraps"]).reshape(2, -1))
    settings = list(ParameterGrid(grid or {"max_depth": [2, 3, 5], "min_samples_leaf": [3, 20]}))
    return grow_collections(learner, data, [every[::2], every], settings, **options)


def same_rules(a: Tree, b: Tree) -> bool:
    return (
        np.array_equal(a.children_left, b.children_left)
        and np.array_equal(a.feature, b.feature)
        and np.allclose(a.threshold, b.threshold, equal_nan=True)
        and a.left_categories == b.left_categories
    )


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


def test_nested_growth_differs_only_where_gains_tie(cancer: TrainingData) -> None:
    grid = {"max_depth": [2, 3, 4, 6], "min_samples_leaf": [3, 10, 30]}
    nested = grow(cancer, grid, n_bootstraps=3, nested=True)
    separate = grow(cancer, grid, n_bootstraps=3, nested=False)
    equal = []
    for ours, theirs in zip(nested, separate, strict=True):
        for a, b in zip(ours.trees, theirs.trees, strict=True):
            equal.append(same_rules(a, b))
            if equal[-1]:
                continue
            shorter = min(a.n_nodes, b.n_nodes)
            differs = (a.feature[:shorter] != b.feature[:shorter]) | ~np.isclose(
                a.threshold[:shorter], b.threshold[:shorter], equal_nan=True
            )
            # Nodes are numbered from the root downwards, left first: up to here they agree.
            node = int(np.flatnonzero(differs)[0])
            assert np.isclose(gain(a, node), gain(b, node))
    assert np.mean(equal) > 0.5


@pytest.mark.parametrize("leaf", [1, 3, 10, 50])
def test_counting_repeats_by_weight_gives_the_same_tree(leaf: int) -> None:
    # Continuous noise as the only features: no two gains tie.
    rng = np.random.default_rng(leaf)
    X = rng.normal(size=(300, 5))
    y = (X[:, 0] + rng.normal(size=300) > 0).astype(int)
    data = training_data(X, y)
    rows = draw_bootstrap(np.arange(300), y, seed=leaf).rows
    learner = DecisionTreeClassifier(max_depth=6, min_samples_leaf=leaf)
    ours = fit_by_weight(learner, data, rows, seed=4)
    plain = fit_tree(learner, data, rows, seed=4)
    theirs = as_tree(
        DecisionTreeClassifier(max_depth=6, min_samples_leaf=leaf, random_state=4).fit(
            X[rows], y[rows]
        )
    )
    for tree in (ours, plain):
        assert same_rules(tree, theirs)
        np.testing.assert_allclose(tree.value, theirs.value)
        np.testing.assert_allclose(tree.weight, theirs.weight)


def test_regression_trees_grow_nested_too() -> None:
    X, y = load_diabetes(return_X_y=True)
    data = training_data(X, y, regression=True)
    nested = grow(data, n_bootstraps=2)
    separate = grow(data, n_bootstraps=2, nested=False)
    for ours, theirs in zip(nested, separate, strict=True):
        assert not ours.trees[0].is_classifier
        same = [same_rules(a, b) for a, b in zip(ours.trees, theirs.trees, strict=True)]
        assert np.mean(same) > 0.8


@pytest.mark.parametrize(
    "fixed", [{"max_leaf_nodes": [4]}, {"ccp_alpha": [0.02]}], ids=["leaf nodes", "pruning"]
)
def test_settings_that_cannot_be_cut_are_fitted_one_by_one(
    cancer: TrainingData, fixed: dict[str, list[Any]]
) -> None:
    grid = {"max_depth": [2, 4], **fixed}
    nested, separate = (grow(cancer, grid, nested=flag) for flag in (True, False))
    for ours, theirs in zip(nested, separate, strict=True):
        assert all(a == b for a, b in zip(ours.trees, theirs.trees, strict=True))


def test_a_limit_on_the_estimator_itself_counts_too(cancer: TrainingData) -> None:
    learner = DecisionTreeClassifier(max_leaf_nodes=4)
    _, second = grow(cancer, {"max_depth": [2, 12]}, estimator=learner)
    assert max(tree.n_leaves for tree in second.trees) == 4


def test_randomised_trees_are_fitted_one_by_one(cancer: TrainingData) -> None:
    nested, separate = (
        grow(cancer, {"max_depth": [2, 4]}, estimator=ExtraTreeClassifier(), nested=flag)
        for flag in (True, False)
    )
    assert all(a == b for a, b in zip(nested[1].trees, separate[1].trees, strict=True))


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


def test_a_bootstrap_that_loses_a_class_is_drawn_again() -> None:
    y = np.zeros(200, dtype=int)
    y[0] = 1
    for seed in range(30):
        assert 0 in draw_bootstrap(np.arange(200), y, seed).rows


def test_out_of_bag_rows_keep_every_class() -> None:
    y = np.zeros(200, dtype=int)
    y[:2] = 1
    for seed in range(30):
        drawn = draw_bootstrap(np.arange(200), y, seed, keep_out_of_bag=True).rows
        assert 0 < np.isin([0, 1], drawn).sum() < 2


def test_a_class_that_cannot_be_kept_stays_in_the_class_list() -> None:
    # One row cannot be both in the bag and out of it; the draw is then taken as it is.
    y = np.array([0] * 40 + [1] * 40 + [2])
    drawn = draw_bootstrap(np.arange(81), y, seed=3, keep_out_of_bag=True)
    X = np.random.default_rng(0).normal(size=(81, 2))
    data = training_data(X, y)
    without = drawn.rows[y[drawn.rows] != 2]
    tree = fit_tree(DecisionTreeClassifier(max_depth=2), data, without)
    assert tree.classes == (0, 1, 2)
    assert (tree.value[:, 2] == 0).all()


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


@pytest.mark.parametrize(
    "make",
    [
        lambda: DecisionTreeClassifier(max_depth=3, class_weight={"setosa": 5.0, "virginica": 1.0}),
        lambda: DecisionTreeClassifier(max_depth=3, class_weight="balanced"),
    ],
)
def test_class_weights_of_the_estimator_speak_of_the_users_labels(
    mixed: tuple[pd.DataFrame, np.ndarray], make: Callable[[], Any]
) -> None:
    X, y = mixed
    numbers = X[["sepal_length", "sepal_width", "petal_length"]].to_numpy()
    rows = np.arange(len(y))
    ours = fit_tree(make(), training_data(numbers, y), rows)
    theirs = as_tree(make().set_params(random_state=0).fit(numbers.astype(np.float32), y))
    assert same_rules(ours, theirs)
    np.testing.assert_allclose(ours.value, theirs.value)


def test_weights_of_unknown_classes_are_refused(mixed: tuple[pd.DataFrame, np.ndarray]) -> None:
    X, y = mixed
    learner = DecisionTreeClassifier(class_weight={"rose": 2.0})
    with pytest.raises(InputError, match=r"got \['rose'\] as well"):
        fit_tree(learner, training_data(X, y), np.arange(len(y)))


def test_with_weights_a_leaf_holds_the_weight_of_its_least_size() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = (X[:, 0] > 0).astype(int)
    weights = np.where(y == 1, 1e-6, 1.0)
    data = training_data(X, y, weights=weights)
    tree = fit_tree(DecisionTreeClassifier(min_samples_leaf=10), data, np.arange(200))
    assert tree.weight is not None
    assert tree.weight[tree.leaves].min() >= 10 / 200 * weights.sum() * 0.999


# -- other estimators ----------------------------------------------------------------


class ReadsFrames:
    """Splits on whether a word is "broad"; takes no weights."""

    _estimator_type = "classifier"

    def __init__(self, word: str = "broad") -> None:
        self.word = word

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {"word": self.word}

    def set_params(self, **params: Any) -> ReadsFrames:
        self.word = params.get("word", self.word)
        return self

    def fit(self, X: pd.DataFrame, y: np.ndarray) -> ReadsFrames:
        known = sorted(X["word"].unique())
        is_word = (X["word"] == self.word).to_numpy()
        classes, codes = np.unique(y, return_inverse=True)
        shares = [
            np.bincount(codes[part], minlength=len(classes)) / max(part.sum(), 1)
            for part in (np.ones_like(is_word), is_word, ~is_word)
        ]
        self.tree = Tree(
            children_left=[1, -1, -1],
            children_right=[2, -1, -1],
            feature=[0, -1, -1],
            threshold=[np.nan] * 3,
            left_categories=((known.index(self.word),), None, None),
            missing_left=[True, False, False],
            value=np.array(shares),
            n_features=1,
            feature_names=("word",),
            categories=(tuple(known),),
            classes=tuple(classes.tolist()),
        )
        return self

    def to_tree(self) -> Tree:
        return self.tree


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


def test_an_estimator_without_sample_weight_refuses_weights(
    mixed: tuple[pd.DataFrame, np.ndarray],
) -> None:
    X, y = mixed
    data = training_data(X, y, weights=np.linspace(1, 2, len(y)))
    with pytest.raises(InputError, match="expected a base estimator whose fit takes sample_weight"):
        fit_tree(ReadsFrames(), data, np.arange(len(y)))


def test_a_search_over_trees_gives_its_best_tree(mixed: tuple[pd.DataFrame, np.ndarray]) -> None:
    X, y = mixed
    search = GridSearchCV(DecisionTreeClassifier(), {"max_depth": [1, 3]}, cv=3)
    tree = fit_tree(search, training_data(X, y), np.arange(len(y)))
    assert tree.depth == 3
    assert tree.feature_names == tuple(X.columns)
    assert tree.classes == ("setosa", "versicolor", "virginica")


def test_what_is_not_a_tree_is_refused(cancer: TrainingData) -> None:
    with pytest.raises(UnsupportedModelError, match="got GaussianNB"):
        fit_tree(GaussianNB(), cancer, np.arange(569))


def test_a_tree_is_written_in_the_space_it_is_compared_in() -> None:
    space = FeatureSpace(
        lower=np.array([0.0, 0.0]),
        upper=np.array([1.0, 0.0]),
        categories=(None, ("a", "b", "c")),
        can_be_missing=np.array([False, True]),
        names=("x", "colour"),
    )
    # It met only "c" and "a", in that order, and sends missing values left.
    tree = Tree(
        children_left=[1, -1, -1],
        children_right=[2, -1, -1],
        feature=[0, -1, -1],
        threshold=[np.nan] * 3,
        left_categories=((0,), None, None),
        missing_left=[True, False, False],
        value=np.array([[1.0], [1.0], [1.0]]),
        n_features=1,
        feature_names=("colour",),
        categories=(("c", "a"),),
        classes=("yes",),
    )
    seen = tree.in_space(space, ("no", "yes"))
    assert seen.feature_names == ("x", "colour")
    assert seen.left_categories[0] == (1, 2)  # "c", and "b" which travels with missing
    assert seen.missing_left[0]
    assert seen.classes == ("no", "yes")
    assert seen.predict(pd.DataFrame({"x": [0.1], "colour": ["a"]})).tolist() == ["yes"]
    np.testing.assert_array_equal(seen.value[:, 0], 0)


def test_a_learner_for_the_other_task_is_refused(cancer: TrainingData) -> None:
    with pytest.raises(InputError, match="expected a base estimator for classification"):
        fit_tree(DistilledTreeRegressor(n_estimators=5), cancer, np.arange(569))
