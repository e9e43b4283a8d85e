from __future__ import annotations

import html
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.metrics import get_scorer, make_scorer, roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from research.paper.data import load_case_study
from steadytree.estimators import (
    DistilledTreeClassifier,
    StableTreeClassifier,
    StableTreeRegressor,
    TreeClassifier,
)
from steadytree.estimators.selection import pareto_mask
from steadytree.exceptions import InputError, SteadyTreeWarning
from steadytree.tree.printing import tree_text
from tests.estimators.samples import GRID, small, three_columns
from tests.modules import require_library

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


@pytest.mark.parametrize("select", ["tolerance", "balanced", "score", "distance"])
def test_rules_trade_score_for_distance(
    cancer: tuple[pd.DataFrame, pd.Series], select: str, fitted: StableTreeClassifier
) -> None:
    model = small(select=select).fit(*cancer)
    on = model.results_[model.pareto_mask_]
    chosen = model.results_.loc[model.best_index_]
    expected = {
        "tolerance": fitted.results_.loc[fitted.best_index_, "mean_distance"],
        "balanced": on.loc[(on["selection_score"] - on["mean_dissimilarity"]).idxmax()],
        "score": on["selection_score"].max(),
        "distance": on["mean_distance"].min(),
    }[select]
    got = {
        "tolerance": chosen["mean_distance"],
        "balanced": chosen,
        "score": chosen["selection_score"],
        "distance": chosen["mean_distance"],
    }[select]
    if select == "balanced":
        assert got.name == expected.name
    else:
        assert got == expected


def test_a_callable_chooses_from_the_results(cancer: tuple[pd.DataFrame, pd.Series]) -> None:
    def smallest(results: pd.DataFrame) -> int:
        return int(results["n_leaves"].argmin())

    model = small(select=smallest).fit(*cancer)
    assert model.to_tree().n_leaves == min(t.n_leaves for t in model.candidates_)
    with pytest.raises(InputError, match=r"a whole number, got 0\.5 of type float"):
        small(select=lambda results: 0.5).fit(*cancer)
    with pytest.raises(InputError, match=r"a position in \[0, 18\), got 18"):
        small(select=len).fit(*cancer)


# -- batches and holdouts ---------------------------------------------------------------


@pytest.mark.parametrize("as_positions", [False, True])
def test_the_users_own_first_batch(
    cancer: tuple[pd.DataFrame, pd.Series], as_positions: bool
) -> None:
    X, y = cancer
    early = np.arange(len(y)) < 200
    given = np.flatnonzero(early) if as_positions else early
    model = small().fit(X, y, first_batch=given)
    assert early[model.first_batch_indices_].all()
    held = set(model.holdout_indices_.tolist())
    expected = [i for i in range(200) if i not in held]
    assert model.first_batch_indices_.tolist() == expected
    # The holdout has the same mix of early and late rows.
    assert abs(early[model.holdout_indices_].mean() - early.mean()) < 0.01


def test_shares_are_stratified(cancer: tuple[pd.DataFrame, pd.Series]) -> None:
    X, y = cancer
    model = small(first_batch=0.3, holdout=0.2).fit(X, y)
    held, first = model.holdout_indices_, model.first_batch_indices_
    assert abs(held.size - 0.2 * 569) < 1
    assert abs(first.size - 0.3 * (569 - held.size)) < 1
    for rows in (held, first):
        assert abs(y.iloc[rows].mean() - y.mean()) < 0.01
    assert not set(held) & set(first)


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


def test_any_scorer_and_its_names(cancer: tuple[pd.DataFrame, pd.Series]) -> None:
    X, y = cancer
    for scoring in (
        "accuracy",
        "neg_log_loss",
        make_scorer(roc_auc_score, response_method="predict"),
    ):
        model = small(scoring=scoring).fit(X, y)
        scorer = get_scorer(scoring)
        held = model.holdout_indices_
        expected = [
            scorer(TreeClassifier(t), X.iloc[held], y.iloc[held]) for t in model.candidates_
        ]
        np.testing.assert_allclose(model.scores_, expected)
        assert (model.results_["selection_score_se"] >= 0).all()


def test_a_scorer_may_look_at_columns(cancer: tuple[pd.DataFrame, pd.Series]) -> None:
    def right_on_large(estimator: Any, X: pd.DataFrame, y: Any) -> float:
        large = (X["mean radius"] > 12).to_numpy()
        return float(np.mean(estimator.predict(X[large]) == np.asarray(y)[large]))

    X, y = cancer
    model = small(scoring=right_on_large).fit(X, y)
    held = model.holdout_indices_
    chosen = model.best_estimator_
    assert np.isclose(model.selection_score_, right_on_large(chosen, X.iloc[held], y.iloc[held]))


def test_the_estimate_agrees_with_fresh_rows_on_real_signal() -> None:
    study = load_case_study("support2")
    X, y = study.X[["scoma", "age", "crea", "meanbp", "pafi", "hday"]], study.y
    model = small(holdout=0.4).fit(X[:3000], y[:3000])
    fresh = roc_auc_score(y[3000:], model.predict_proba(X[3000:])[:, 1])
    assert abs(model.score_estimate_ - fresh) < 3 * model.score_estimate_se_ + 0.02
    assert 0 < model.score_estimate_se_ < 0.1


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


def test_rows_of_no_weight_are_never_grown_on(cancer: tuple[pd.DataFrame, pd.Series]) -> None:
    X, y = cancer
    weights = np.ones(len(y))
    weights[::2] = 0
    model = small(holdout="oob").fit(X, y, weights)
    assert model.candidates_[0].metadata["n_training_rows"] == (weights > 0).sum()


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
        scorer(DecisionTreeFrom(tree), X.iloc[held], y.iloc[held]) for tree in model.candidates_
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


class DecisionTreeFrom(DecisionTreeRegressor):
    """A scikit-learn regressor that predicts with one of our trees."""

    def __init__(self, tree: Any = None) -> None:
        self.tree = tree

    def predict(self, X: Any, check_input: bool = True) -> Any:
        return self.tree.predict(X)


def test_several_classes_end_to_end() -> None:
    X, y = load_wine(return_X_y=True, as_frame=True)
    names = np.array(["barolo", "grignolino", "barbera"])[y]
    model = small().fit(X, names)
    assert model.classes_.tolist() == ["barbera", "barolo", "grignolino"]
    assert model.score(X, names) > 0.8
    by_scorer = small(scoring=get_scorer("roc_auc_ovr")).fit(X, names)
    np.testing.assert_allclose(by_scorer.scores_, model.scores_)
    assert model.predict_proba(X).shape == (len(X), 3)
    assert small(holdout="oob").fit(*load_iris(return_X_y=True)).score_estimate_ > 0.9


# -- other learners -----------------------------------------------------------------------


def test_a_distilled_tree_as_base(cancer: tuple[pd.DataFrame, pd.Series]) -> None:
    base = DistilledTreeClassifier(n_estimators=10, n_copies=1)
    model = StableTreeClassifier(base, {"max_depth": [2, 4]}, n_bootstraps=1, random_state=0).fit(
        *cancer
    )
    assert len(model.candidates_) == 2
    assert model.score(*cancer) > 0.85


def _optimal_base(name: str) -> tuple[Any, Any]:
    """Return a solver and its grid."""
    from gosdt import GOSDTClassifier, ThresholdGuessBinarizer

    guess = ThresholdGuessBinarizer(n_estimators=5, max_depth=1, column_elimination=False)
    if name == "gosdt":
        solver = GOSDTClassifier(regularization=0.05, depth_budget=2)
        return make_pipeline(guess, solver), None
    library = require_library(name)
    if name == "licketysplit":
        grid = {"licketysplitclassifier__depth_budget": [1, 2]}
        return make_pipeline(guess, library.LicketySPLITClassifier()), grid
    if name == "pystreed":
        return library.STreeDClassifier(n_thresholds=3), {"max_depth": [1, 2]}
    return library.ConTree(), {"max_depth": [1, 2]}


@pytest.mark.parametrize("name", ["pystreed", "pycontree", "gosdt", "licketysplit"])
@pytest.mark.parametrize("labels", [(0, 1), ("benign", "malignant"), (-1, 1)])
def test_optimal_trees_as_base(
    name: str, labels: tuple[Any, Any], cancer: tuple[pd.DataFrame, pd.Series]
) -> None:
    base, grid = _optimal_base(name)
    X, y = cancer[0].iloc[:150, :3], np.array(labels)[cancer[1].to_numpy()[:150]]
    model = StableTreeClassifier(base, grid, n_bootstraps=2, random_state=0).fit(X, y)
    tree = model.to_tree()
    assert tree.classes == labels
    assert tree.feature_names == tuple(X.columns)
    assert 1 <= tree.depth <= 2
    assert model.score(X, y) > 0.75
    np.testing.assert_array_equal(model.predict(X), tree.predict(X))


def test_an_optimal_regression_tree_as_base(cancer: tuple[pd.DataFrame, pd.Series]) -> None:
    X, y = cancer[0].iloc[:150, :2], cancer[0].iloc[:150, 3]
    base = require_library("pystreed").STreeDRegressor(max_depth=2, n_thresholds=3)
    model = StableTreeRegressor(base, n_bootstraps=2, random_state=0).fit(X, y)
    assert model.best_params_ == {}
    assert model.score(X, y) > 0.3


def test_growth_options_of_the_base_are_kept(cancer: tuple[pd.DataFrame, pd.Series]) -> None:
    model = small(estimator=DecisionTreeClassifier(criterion="entropy", max_features=3)).fit(
        *cancer
    )
    assert model.to_tree().impurity[0] > 0.9  # entropy of 37 % against 63 %


# -- the scikit-learn world ---------------------------------------------------------------


def test_results_do_not_depend_on_n_jobs(cancer: tuple[pd.DataFrame, pd.Series]) -> None:
    one, two = small(n_jobs=1).fit(*cancer), small(n_jobs=2).fit(*cancer)
    pd.testing.assert_frame_equal(one.results_, two.results_)
    assert one.to_tree() == two.to_tree()
    assert one.score_estimate_ == two.score_estimate_


def test_seeds_decide_everything(cancer: tuple[pd.DataFrame, pd.Series]) -> None:
    again, other = small().fit(*cancer), small(random_state=1).fit(*cancer)
    pd.testing.assert_frame_equal(again.results_, small().fit(*cancer).results_)
    assert not np.allclose(again.scores_, other.scores_)


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


def test_it_must_be_fitted_first(cancer: tuple[pd.DataFrame, pd.Series]) -> None:
    model = small()
    for use in (model.predict, model.apply, model.decision_path):
        with pytest.raises(NotFittedError):
            use(cancer[0])
    with pytest.raises(NotFittedError):
        model.to_tree()
    assert not hasattr(model, "feature_importances_")
    assert "StableTreeClassifier" in model._repr_html_()


def test_progress_goes_to_standard_error(
    cancer: tuple[pd.DataFrame, pd.Series], capsys: pytest.CaptureFixture[str]
) -> None:
    small(param_grid={"max_depth": [2]}, n_bootstraps=2, verbose=1).fit(*cancer)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "Growing trees: 4 of 4" in shown.err
    assert "Scoring trees: 2 of 2" in shown.err
    small(param_grid={"max_depth": [2]}, n_bootstraps=2).fit(*cancer)
    assert capsys.readouterr().err == ""


# -- bad input ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (np.zeros(120, dtype=bool), "expected the first batch to hold some of the 120 .* got none"),
        (np.ones(120, dtype=bool), "expected the first batch to leave some of the 120 .* got all"),
        (np.arange(120), "to leave some of the 120 training rows for later, got all of them"),
        (np.array([], dtype=int), "to hold some of the 120 training rows, got none"),
        (np.ones(9, dtype=bool), "expected a first_batch mask of 120 rows, got 9"),
        (np.array([3, 120]), r"expected first_batch row positions in \[0, 120\), got 3 to 120"),
        (np.array([0.5, 1.0]), "a mask or row positions, got values of type float64"),
        (0.5, "a mask or row positions, got shape .*; a share is a parameter of the estimator"),
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


def test_a_scorer_that_fails() -> None:
    def broken(estimator: Any, X: Any, y: Any) -> float:
        raise RuntimeError("no such luck")

    with pytest.raises(InputError, match=r"scoring=broken to score .* RuntimeError: no such luck"):
        small(scoring=broken).fit(*three_columns())
    with pytest.raises(InputError, match="to return one number, got 'good'"):
        small(scoring=lambda estimator, X, y: "good").fit(*three_columns())
    with pytest.raises(InputError, match=r"to return one number, got \{\}"):
        small(scoring=lambda estimator, X, y: {}).fit(*three_columns())
    with pytest.raises(InputError, match="expected at least one candidate with a score, got none"):
        small(scoring=lambda estimator, X, y: np.nan).fit(*three_columns())
    with pytest.raises(
        InputError, match="expected scoring to be a scikit-learn scorer, got 'best'"
    ):
        small(scoring="best").fit(*three_columns())
    with pytest.raises(InputError, match=r"expected scoring .* got 3"):
        small(scoring=3).fit(*three_columns())


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
        ({"objectives": ("score", "beauty")}, "expected objectives from .* got 'beauty'"),
        ({"objectives": ("score", "score")}, "expected distinct objectives"),
        ({"objectives": ("score", lambda tree: None)}, "to return a number, got None"),
        ({"variant": "best"}, "expected variant to be one of"),
        ({"param_grid": []}, "expected param_grid to hold at least one setting"),
        ({"decision_threshold": "mean"}, 'expected a number, "prevalence", a Decision or None'),
    ],
)
def test_settings_that_cannot_be(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        small(**options).fit(*three_columns())
