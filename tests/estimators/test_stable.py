"""Candidates: their settings, distances and objectives, the choice, and its honest estimate."""

from __future__ import annotations

import html
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.metrics import get_scorer, roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from research.paper.data import load_case_study
from steadytree.distance import distance_bound, pairwise_tree_distances
from steadytree.estimators import (
    StableTreeClassifier,
    StableTreeRegressor,
    TreeClassifier,
    TreeRegressor,
)
from steadytree.estimators.results import (
    base_and_grid,
    candidate_table,
    honest_estimate,
    mean_distances,
    ranked,
)
from steadytree.estimators.selection import pareto_mask, select_candidate
from steadytree.estimators.stable import split_share
from steadytree.exceptions import InputError, SteadyTreeWarning, UnsupportedModelError
from steadytree.growing.collections import Collection
from steadytree.plugins import as_tree
from steadytree.tree.printing import tree_text
from steadytree.tree.space import FeatureSpace
from steadytree.tree.tree import Tree
from tests.estimators.samples import GRID, small, three_columns

# -- Section 3.1, formula by formula --------------------------------------------------


def test_collections_are_bootstraps_times_settings(fitted: StableTreeClassifier) -> None:
    assert len(fitted.reference_trees_) == len(fitted.candidates_) == 3 * 6
    assert fitted.results_["bootstrap"].tolist() == [b for b in range(3) for _ in range(6)]
    settings = fitted.results_[["param_max_depth", "param_min_samples_leaf"]].drop_duplicates()
    assert len(settings) == 6
    # X0 holds half of X, and X holds X0 (the holdout is a quarter of all rows).
    assert fitted.candidates_[0].weight[0] == 569 - 142
    assert fitted.reference_trees_[0].weight[0] == fitted.first_batch_indices_.size
    assert abs(fitted.first_batch_indices_.size - 427 / 2) <= 1


def test_scores_are_the_papers_alpha_b(
    cancer: tuple[pd.DataFrame, pd.Series], fitted: StableTreeClassifier
) -> None:
    X, y = cancer
    held = fitted.holdout_indices_
    for score, tree in zip(fitted.scores_, fitted.candidates_, strict=True):
        shares = tree.predict_proba(X.iloc[held])[:, 1]
        assert np.isclose(score, roc_auc_score(y.iloc[held], shares))


def test_the_frontier_and_the_choice_follow_the_definitions(fitted: StableTreeClassifier) -> None:
    points = np.column_stack([fitted.mean_distances_, fitted.scores_])
    np.testing.assert_array_equal(fitted.pareto_mask_, pareto_mask(points, [False, True]))
    close = fitted.pareto_mask_ & (fitted.scores_ >= 0.98 * fitted.scores_.max())
    assert fitted.mean_distances_[fitted.best_index_] == fitted.mean_distances_[close].min()
    assert close[fitted.best_index_]
    assert fitted.results_["chosen"].to_numpy().nonzero()[0].tolist() == [fitted.best_index_]


def test_the_chosen_tree_predicts(
    cancer: tuple[pd.DataFrame, pd.Series], fitted: StableTreeClassifier
) -> None:
    X, y = cancer
    chosen = fitted.candidates_[fitted.best_index_]
    assert isinstance(fitted.best_estimator_, TreeClassifier)
    assert fitted.to_tree() is chosen
    np.testing.assert_array_equal(fitted.predict(X), chosen.predict(X))
    np.testing.assert_array_equal(fitted.predict_proba(X), chosen.predict_proba(X))
    np.testing.assert_array_equal(fitted.apply(X), chosen.apply(X))
    np.testing.assert_array_equal(fitted.feature_importances_, chosen.feature_importances())
    assert fitted.score(X, y) > 0.9
    assert fitted.best_params_["max_depth"] in (2, 3, 5)
    assert fitted.rules() == str(chosen)
    assert html.escape(tree_text(chosen)) in fitted._repr_html_()


# -- batches and holdouts ---------------------------------------------------------------


def test_the_users_own_first_batch(cancer: tuple[pd.DataFrame, pd.Series]) -> None:
    X, y = cancer
    early = np.arange(len(y)) < 200
    model = small().fit(X, y, first_batch=early)
    assert early[model.first_batch_indices_].all()
    held = set(model.holdout_indices_.tolist())
    expected = [i for i in range(200) if i not in held]
    assert model.first_batch_indices_.tolist() == expected
    # The holdout has the same mix of early and late rows.
    assert abs(early[model.holdout_indices_].mean() - early.mean()) < 0.01


def test_out_of_bag_scores_use_the_rows_each_bootstrap_left_out(
    cancer: tuple[pd.DataFrame, pd.Series],
) -> None:
    model = small(holdout="oob").fit(*cancer)
    assert model.holdout_indices_.size == 0
    assert model.candidates_[0].weight[0] == 569
    by_scorer = small(holdout="oob", scoring=get_scorer("roc_auc")).fit(*cancer)
    np.testing.assert_allclose(model.scores_, by_scorer.scores_)
    # In-bag scores would be far higher for trees this deep.
    X, y = cancer
    in_sample = [roc_auc_score(y, t.predict_proba(X)[:, 1]) for t in model.candidates_]
    assert np.mean(in_sample) > np.mean(model.scores_) + 0.01


def test_the_users_own_holdout(cancer: tuple[pd.DataFrame, pd.Series]) -> None:
    X, y = cancer
    model = small().fit(X[:400], y[:400], X_val=X[400:], y_val=y[400:])
    shares = [t.predict_proba(X[400:])[:, 1] for t in model.candidates_]
    expected = [roc_auc_score(y[400:], s) for s in shares]
    np.testing.assert_allclose(model.scores_, expected)
    assert model.candidates_[0].weight[0] == 400


# -- scores ------------------------------------------------------------------------------


# -- weights and thresholds ---------------------------------------------------------------


def test_sample_weights_count_in_growing_and_scoring(
    cancer: tuple[pd.DataFrame, pd.Series],
) -> None:
    X, y = cancer
    weights = np.random.default_rng(0).uniform(0.1, 3, len(y))
    model = small().fit(X, y, weights)
    held = model.holdout_indices_
    shares = model.candidates_[0].predict_proba(X.iloc[held])[:, 1]
    expected = roc_auc_score(y.iloc[held], shares, sample_weight=weights[held])
    assert np.isclose(model.scores_[0], expected)
    assert model.candidates_[0].weight[0] != 427
    by_scorer = small(scoring=get_scorer("roc_auc")).fit(X, y, weights)
    np.testing.assert_allclose(by_scorer.scores_, model.scores_)
    # A weight common to all rows changes nothing.
    twice = small().fit(X, y, np.full(len(y), 2.0))
    np.testing.assert_array_equal(twice.predict(X), small().fit(X, y).predict(X))


# -- real mixed data, regression, several classes -----------------------------------------


@pytest.mark.parametrize(("name", "least"), [("support2", 0.7), ("nasscds", 0.6)])
def test_raw_mixed_data_end_to_end(name: str, least: float) -> None:
    study = load_case_study(name)
    X, y = study.X[:4000], study.y[:4000]
    assert study.categorical
    model = small(decision_threshold="prevalence", param_grid={"max_depth": [4, 6]}).fit(X, y)
    assert roc_auc_score(study.y[4000:], model.predict_proba(study.X[4000:])[:, 1]) > least
    tree = model.to_tree()
    assert tree.feature_names == tuple(X.columns)
    assert model.feature_names_in_.tolist() == list(X.columns)
    used = {tree.feature_names[j] for t in model.candidates_ for j in t.feature if j >= 0}
    assert used & set(study.categorical)
    assert 0 < model.results_["mean_dissimilarity"].min() < 1
    assert X.columns[tree.feature[0]] in model.rules().splitlines()[0]


def test_regression_end_to_end() -> None:
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    options = {"param_grid": GRID, "n_bootstraps": 3, "random_state": 0}
    model = StableTreeRegressor(**options).fit(X, y)
    held = model.holdout_indices_
    scorer = get_scorer("r2")
    expected = [
        scorer(TreeRegressor(tree), X.iloc[held], y.iloc[held]) for tree in model.candidates_
    ]
    np.testing.assert_allclose(model.scores_, expected)
    assert model.score(X, y) > 0.2
    assert model.feature_space_.response_range == (y.min(), y.max())
    by_scorer = StableTreeRegressor(scoring=get_scorer("r2"), **options).fit(X, y)
    np.testing.assert_allclose(by_scorer.scores_, model.scores_)
    assert np.isclose(by_scorer.score_estimate_, model.score_estimate_)
    ratio = by_scorer.results_["selection_score_se"] / model.results_["selection_score_se"]
    assert ratio.between(0.3, 3).all()
    oob = StableTreeRegressor(holdout="oob", **options).fit(X, y)
    assert oob.score_estimate_ > 0.1


# -- other learners -----------------------------------------------------------------------


# -- the scikit-learn world ---------------------------------------------------------------


def test_results_do_not_depend_on_n_jobs(cancer: tuple[pd.DataFrame, pd.Series]) -> None:
    one, two = small(n_jobs=1).fit(*cancer), small(n_jobs=2).fit(*cancer)
    pd.testing.assert_frame_equal(one.results_, two.results_)
    assert one.to_tree() == two.to_tree()
    assert one.score_estimate_ == two.score_estimate_


def test_clone_pickle_and_search(
    cancer: tuple[pd.DataFrame, pd.Series], fitted: StableTreeClassifier
) -> None:
    X, y = cancer
    loaded = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(loaded.predict(X), fitted.predict(X))
    pd.testing.assert_frame_equal(loaded.results_, fitted.results_)
    assert not hasattr(clone(fitted), "results_")
    light = small(param_grid={"max_depth": [2, 3]}, n_bootstraps=2)
    search = GridSearchCV(light, {"tolerance": [0.0, 0.5], "variant": ["metric"]}, cv=2)
    assert search.fit(X, y).best_score_ > 0.85
    pipeline = make_pipeline("passthrough", light)
    assert (cross_val_score(pipeline, X, y, cv=2) > 0.85).all()


def test_metadata_are_routed(cancer: tuple[pd.DataFrame, pd.Series]) -> None:
    X, y = cancer
    weights = np.random.default_rng(0).uniform(0.5, 2, len(y))
    early = np.arange(len(y)) % 3 == 0
    light = small(param_grid={"max_depth": [2]}, n_bootstraps=1)
    with sklearn.config_context(enable_metadata_routing=True):
        light.set_fit_request(sample_weight=True, first_batch=True)
        light.set_score_request(sample_weight=True)
        found = cross_validate(
            light,
            X,
            y,
            params={"sample_weight": weights, "first_batch": early},
            cv=2,
            return_estimator=True,
            return_indices=True,
        )
    for model, train in zip(found["estimator"], found["indices"]["train"], strict=True):
        assert early[train][model.first_batch_indices_].all()
        assert model.candidates_[0].weight[0] != round(model.candidates_[0].weight[0])


# -- bad input ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (np.zeros(120, dtype=bool), "expected the first batch to hold some of the 120 .* got none"),
        (np.ones(120, dtype=bool), "expected the first batch to leave some of the 120 .* got all"),
        (np.ones(9, dtype=bool), r"got bool of shape \(9,\); a share"),
        (np.array([3, 120]), r"a mask of 120 rows, got int64 of shape \(2,\)"),
        (0.5, r"got float64 of shape \(\); a share is a parameter"),
    ],
)
def test_a_first_batch_that_cannot_be(rows: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        small().fit(*three_columns(), first_batch=rows)


def test_a_holdout_without_a_class() -> None:
    X, y = three_columns()
    with pytest.raises(
        InputError, match=r"expected every class in the holdout, got no row of \[1\]"
    ):
        small().fit(X, y, X_val=X[y == 0], y_val=y[y == 0])
    y = np.zeros(120, dtype=int)
    y[0] = 1  # a single row stays in training
    with pytest.raises(InputError, match=r'no row of \[1\]; use a larger holdout, holdout="oob"'):
        small().fit(X, y)
    with pytest.raises(InputError, match=r"classes \[0, 1\] in y_val, got unseen 2; a class"):
        small().fit(*three_columns(), X_val=X[:3], y_val=[0, 1, 2])
    with pytest.raises(InputError, match="expected X_val and y_val together, got X_val alone"):
        small().fit(*three_columns(), X_val=X)


def test_a_class_with_a_single_row_is_warned_about() -> None:
    X, y = three_columns()
    y = y.copy()
    y[7] = 2
    with pytest.warns(SteadyTreeWarning, match=r"got a single row of \[2\]"):
        model = small(param_grid={"max_depth": [2]}).fit(X, y)
    assert model.classes_.tolist() == [0, 1, 2]
    assert np.isfinite(model.selection_score_)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_bootstraps": 0}, "expected n_bootstraps to be a whole number >= 1, got 0"),
        ({"n_bootstraps": 2.5}, "expected n_bootstraps .* got 2.5"),
        ({"first_batch": 1.0}, "expected first_batch to be a share between 0 and 1 .* got 1.0"),
        ({"first_batch": [1, 2]}, r"rows go to fit\(first_batch=...\)\), got \[1, 2\]"),
        ({"holdout": 0.0}, 'expected holdout to be a share between 0 and 1 or "oob", got 0.0'),
        ({"holdout": "test"}, "expected holdout .* got 'test'"),
        ({"select": "best"}, "expected select to be one of .* or a callable, got 'best'"),
        ({"tolerance": -0.1}, "expected tolerance >= 0, got -0.1"),
        ({"objectives": ("score",)}, "expected objectives to be two or more of"),
        ({"objectives": "score"}, "expected objectives to be two or more of"),
        ({"objectives": ("score", "beauty")}, "expected objectives to be two or more of"),
        ({"objectives": ("score", "score")}, "expected objectives to be two or more of"),
        ({"variant": "best"}, "expected variant to be one of"),
        ({"param_grid": []}, "expected param_grid to hold at least one setting"),
        ({"decision_threshold": "mean"}, 'expected a number, "prevalence", a Decision or None'),
    ],
)
def test_settings_that_cannot_be(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        small(**options).fit(*three_columns())


@given(
    st.lists(st.integers(0, 3), min_size=2, max_size=80),
    st.floats(0.05, 0.95),
    st.integers(0, 2**31),
)
def test_a_stratified_share_keeps_every_class_on_both_sides(
    labels: list[int], share: float, seed: int
) -> None:
    y = np.array(labels)
    rows = np.arange(100, 100 + y.size)
    drawn, rest = split_share(rows, y, share, np.random.default_rng(seed))
    assert sorted([*drawn, *rest]) == rows.tolist()
    for label in np.unique(y):
        size, taken = (y == label).sum(), (y[drawn - 100] == label).sum()
        if size == 1:
            assert taken == 0
        else:
            assert 1 <= taken <= size - 1
            assert abs(taken - share * size) <= 1


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
    model = small(objectives=("distance", "score", "n_leaves", "depth")).fit(*cancer)
    points = model.results_[["mean_distance", "selection_score", "n_leaves", "depth"]]
    expected = pareto_mask(points.to_numpy(), [False, True, False, False])
    np.testing.assert_array_equal(model.pareto_mask_, expected)
    assert model.pareto_mask_.sum() >= small().fit(*cancer).pareto_mask_.sum()


def test_too_few_rows_for_two_folds_give_no_estimate() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = np.zeros(60, dtype=int)
    y[:4] = 1
    model = small(holdout=0.25, param_grid={"max_depth": [2]}).fit(X, y)
    assert np.isnan(model.score_estimate_)
    assert np.isfinite(model.selection_score_)


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


def table_of(trees: list[Tree], distances: list[float]) -> pd.DataFrame:
    d, n = np.array(distances), len(trees)
    collection = Collection(trees, np.arange(n), np.zeros(n, dtype=int), np.zeros((n, 1), bool))
    means = pd.DataFrame(
        {"mean_distance": d, "mean_distance_of_bound": d / 10, "mean_dissimilarity": d / 20}
    )
    return candidate_table(collection, [{"max_depth": 3}], means)


def test_a_candidate_without_a_score_is_never_chosen(trees: list[Tree]) -> None:
    score = np.array([np.nan, 0.8, 0.9])
    objectives = ("distance", "score")
    results = ranked(table_of(trees, [1.0, 2.0, 3.0]), objectives, score)
    assert results["on_frontier"].tolist() == [False, True, True]
    assert select_candidate(results, "distance") == 1
    # Not even where the score is no objective.
    objectives = ("distance", "n_leaves")
    by_size = ranked(table_of(trees, [1.0, 2.0, 3.0]), objectives, score)
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
