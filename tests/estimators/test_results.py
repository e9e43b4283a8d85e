"""Candidates: their settings, distances and objectives, the choice, and its honest estimate."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from steadytree.distance import distance_bound, pairwise_tree_distances
from steadytree.estimators import StableTreeClassifier, StableTreeRegressor
from steadytree.estimators.results import (
    Objective,
    base_and_grid,
    candidate_table,
    honest_estimate,
    largest_depth,
    mean_distances,
    ranked,
)
from steadytree.estimators.selection import pareto_mask, select_candidate
from steadytree.exceptions import InputError, SteadyTreeWarning, UnsupportedModelError
from steadytree.growing.collections import Collection
from steadytree.plugins import as_tree
from steadytree.tree.space import FeatureSpace
from steadytree.tree.tree import Tree
from tests.estimators.samples import small, three_columns
from tests.modules import require_library


@pytest.mark.parametrize("variant", ["paper", "metric", "cover"])
def test_mean_distances_are_the_papers_d_b(
    cancer: tuple[pd.DataFrame, pd.Series], variant: str
) -> None:
    model = small(variant=variant, label_weight=2.0).fit(*cancer)
    space = model.feature_space_
    pairs = {"space": space, "variant": variant, "label_weight": 2.0}
    d = pairwise_tree_distances(model.candidates_, model.reference_trees_, **pairs)
    np.testing.assert_allclose(model.mean_distances_, d.mean(axis=1))
    np.testing.assert_allclose(model.results_["mean_distance"], d.mean(axis=1))
    assert model.max_depth_ == 5
    np.testing.assert_allclose(
        model.results_["mean_distance_of_bound"], d.mean(axis=1) / distance_bound(5, 2.0)
    )
    relative = pairwise_tree_distances(
        model.candidates_,
        model.reference_trees_,
        space=space,
        variant="metric",
        label_weight=2.0,
        normalize="relative",
    )
    np.testing.assert_allclose(model.results_["mean_dissimilarity"], relative.mean(axis=1))


def test_results_are_readable(fitted: StableTreeClassifier) -> None:
    assert fitted.results_.columns.tolist() == [
        "bootstrap",
        "param_max_depth",
        "param_min_samples_leaf",
        "mean_distance",
        "mean_distance_of_bound",
        "mean_dissimilarity",
        "selection_score",
        "selection_score_se",
        "n_leaves",
        "depth",
        "on_frontier",
        "chosen",
    ]
    assert fitted.results_["param_max_depth"].dtype.kind == "i"
    assert fitted.results_["mean_dissimilarity"].between(0, 1).all()
    assert fitted.results_["selection_score_se"].between(0.001, 0.2).all()
    for i, tree in enumerate(fitted.candidates_):
        assert fitted.results_["n_leaves"][i] == tree.n_leaves
        assert fitted.results_["depth"][i] == tree.depth


def test_more_objectives(cancer: tuple[pd.DataFrame, pd.Series]) -> None:
    def features_used(tree: Tree) -> float:
        return len(set(tree.feature[tree.feature >= 0].tolist()))

    objectives = ("distance", "score", "n_leaves", features_used)
    model = small(objectives=objectives).fit(*cancer)
    results = model.results_
    assert results["features_used"].tolist() == [features_used(t) for t in model.candidates_]
    points = results[["mean_distance", "selection_score", "n_leaves", "features_used"]]
    expected = pareto_mask(points.to_numpy(), [False, True, False, False])
    np.testing.assert_array_equal(model.pareto_mask_, expected)
    assert model.pareto_mask_.sum() >= small().fit(*cancer).pareto_mask_.sum()


def test_pure_noise_is_called_noise() -> None:
    """The selection score is the best of many, the estimate stays near one half."""
    estimates, chosen_by = [], []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(400, 8)), rng.integers(0, 2, 400)
        for holdout in (0.25, "oob"):
            model = small(random_state=seed, select="score", holdout=holdout).fit(X, y)
            assert model.selection_score_ == model.scores_.max()
            estimates.append(model.score_estimate_)
            chosen_by.append(model.selection_score_)
    assert abs(np.mean(estimates) - 0.5) < 0.03
    assert np.mean(chosen_by) > 0.55


def test_too_few_rows_for_two_folds_give_no_estimate() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = np.zeros(60, dtype=int)
    y[:4] = 1
    model = small(holdout=0.25, param_grid={"max_depth": [2]}).fit(X, y)
    assert np.isnan(model.score_estimate_)
    assert np.isfinite(model.selection_score_)


def test_an_unlimited_depth_is_bounded_by_the_deepest_tree(
    cancer: tuple[pd.DataFrame, pd.Series],
) -> None:
    model = small(param_grid={"max_depth": [None, 2]}, label_weight="balanced").fit(*cancer)
    trees = (*model.candidates_, *model.reference_trees_)
    assert model.max_depth_ == max(tree.depth for tree in trees)
    assert (model.results_["mean_distance_of_bound"] < 1).all()


def test_a_base_estimator_that_is_not_a_tree() -> None:
    data = three_columns()
    with pytest.raises(
        UnsupportedModelError, match="expected a base estimator that grows one tree, got GaussianNB"
    ):
        small(estimator=GaussianNB(), param_grid={}).fit(*data)
    with pytest.raises(InputError, match="for classification, got DecisionTreeRegressor"):
        small(estimator=DecisionTreeRegressor()).fit(*data)
    with pytest.raises(InputError, match="for regression, got DecisionTreeClassifier"):
        StableTreeRegressor(DecisionTreeClassifier()).fit(*data)
    with pytest.raises(
        InputError, match="expected estimator to be a scikit-learn tree, got 'cart'"
    ):
        small(estimator="cart").fit(*data)
    with pytest.raises(InputError, match=r"pass an instance such as DecisionTreeClassifier\(\)"):
        small(estimator=DecisionTreeClassifier).fit(*data)


def test_leaves_larger_than_the_data_are_a_warning() -> None:
    with pytest.warns(SteadyTreeWarning, match=r"at least 100 rows, .* got 45: .* 30, 50 cannot"):
        model = small(param_grid={"min_samples_leaf": [3, 30, 50]}).fit(*three_columns())
    assert model.results_["n_leaves"].min() == 1


@pytest.fixture(scope="module")
def trees() -> list[Tree]:
    X, y = three_columns()
    return [
        as_tree(
            DecisionTreeClassifier(max_depth=d, random_state=d).fit(X, y),
            space=FeatureSpace.from_data(X, y),
        )
        for d in (1, 2, 3)
    ]


def test_repeated_trees_count_as_often_as_they_occur(trees: list[Tree]) -> None:
    one, two, three = trees
    space = FeatureSpace.from_data(*three_columns())
    candidates, references = [one, three, one], [two, two, two, three]
    found = mean_distances(
        candidates, references, space=space, variant="paper", label_weight=1.0, max_depth=3
    )
    expected = pairwise_tree_distances(candidates, references, space=space).mean(axis=1)
    np.testing.assert_allclose(found["mean_distance"], expected)
    np.testing.assert_allclose(found["mean_distance_of_bound"], expected / distance_bound(3, 1.0))


def test_the_largest_depth_is_the_grids_or_the_deepest_trees(trees: list[Tree]) -> None:
    base = DecisionTreeClassifier(max_depth=4)
    assert largest_depth(base, [{"max_depth": 2}, {"max_depth": 7}], trees) == 7
    assert largest_depth(base, [{"min_samples_leaf": 5}], trees) == 4
    assert largest_depth(base, [{"max_depth": 9}, {"max_depth": None}], trees) == 3


def table_of(
    trees: list[Tree], distances: list[float], objectives: tuple[Objective, ...]
) -> pd.DataFrame:
    d, n = np.array(distances), len(trees)
    collection = Collection(trees, np.arange(n), np.zeros(n, dtype=int), np.zeros((n, 1), bool))
    means = pd.DataFrame(
        {"mean_distance": d, "mean_distance_of_bound": d / 10, "mean_dissimilarity": d / 20}
    )
    return candidate_table(collection, [{"max_depth": 3}], means, objectives)


def test_a_candidate_without_a_score_is_never_chosen(trees: list[Tree]) -> None:
    score = np.array([np.nan, 0.8, 0.9])
    objectives = ("distance", "score")
    results = ranked(table_of(trees, [1.0, 2.0, 3.0], objectives), objectives, score)
    assert results["on_frontier"].tolist() == [False, True, True]
    assert select_candidate(results, "distance") == 1
    # Not even where the score is no objective.
    objectives = ("distance", "n_leaves")
    by_size = ranked(table_of(trees, [1.0, 2.0, 3.0], objectives), objectives, score)
    assert by_size["on_frontier"].tolist() == [False, True, False]


def test_the_estimate_scores_each_folds_own_choice() -> None:
    # Without fold 0 the first is the best, without fold 1 the last; fold 2 has no scores.
    without = np.array([[0.9, 0.1, np.nan], [0.5, 0.5, np.nan], [0.1, 0.9, np.nan]])
    asked = []

    def evaluate(i: int, fold: int) -> float:
        asked.append((i, fold))
        return (0.6, 0.0, 0.8)[i]

    mean, error = honest_estimate(np.argmax, without, evaluate)
    assert asked == [(0, 0), (2, 1)]
    # Two scores, and a third of the rows in a fold: sd times the root of 1/2 + 1/2.
    assert (mean, error) == pytest.approx((0.7, np.std([0.6, 0.8], ddof=1)))
    assert np.isnan(honest_estimate(np.argmax, without[:, :1], evaluate)).all()
    assert len(asked) == 2


def test_the_papers_grid_is_for_learners_that_have_all_of_it() -> None:
    base, grid = base_and_grid(None, None, task="regression")
    assert isinstance(base, DecisionTreeRegressor)
    assert len(grid) == 50
    _, unknown = base_and_grid(GaussianNB(), None, task="classification")
    assert unknown == [{}]
    _, one = base_and_grid(DecisionTreeClassifier(), [{"max_depth": [4]}], task="classification")
    assert one == [{"max_depth": 4}]


def test_a_solver_without_a_grid_is_tried_as_it_is() -> None:
    """It has a depth alone, and would never end at depth 12."""
    solver = require_library("pycontree").ConTree(max_depth=2)
    _, tried = base_and_grid(solver, None, task="classification")
    assert tried == [{}]
