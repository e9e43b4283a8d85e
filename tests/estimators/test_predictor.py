"""Parameters checked before anything takes time, and tables of every kind read alike."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.inspection import permutation_importance
from sklearn.metrics import get_scorer
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import check_is_fitted

from research.paper.data import load_case_study
from steadytree.estimators import (
    StableTreeClassifier,
    StableTreeRegressor,
    TreeClassifier,
    TreeRegressor,
)
from steadytree.estimators.distilled import DistilledTreeClassifier, DistilledTreeRegressor
from steadytree.exceptions import (
    FeatureAlignmentError,
    InputError,
    OneDecisionWarning,
)
from steadytree.plugins import as_tree
from steadytree.tree.space import FeatureSpace
from steadytree.tree.tree import Tree
from tests.estimators.samples import small, three_columns
from tests.growing.mixed import mixed_table


@pytest.fixture(scope="module")
def iris() -> tuple[pd.DataFrame, pd.Series, Any]:
    X, y = load_iris(return_X_y=True, as_frame=True)
    return X, y, DecisionTreeClassifier(random_state=0).fit(X, y)


@pytest.fixture(scope="module")
def coloured() -> Tree:
    """Two splits: colour in {red, blue} or missing, then x <= 0.5."""
    return Tree(
        children_left=[1, -1, 3, -1, -1],
        children_right=[2, -1, 4, -1, -1],
        feature=[0, -1, 1, -1, -1],
        threshold=[np.nan, np.nan, 0.5, np.nan, np.nan],
        left_categories=((0, 2), None, None, None, None),
        missing_left=[True, False, False, False, False],
        value=np.array([[0.5, 0.5], [0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.1, 0.9]]),
        weight=np.array([10.0, 4, 6, 2, 4]),
        n_features=2,
        feature_names=("colour", "x"),
        categories=(("red", "green", "blue"), None),
        classes=("no", "yes"),
    )


def test_a_classifier_predicts_as_scikit_learn_does(iris: tuple[Any, Any, Any]) -> None:
    X, y, model = iris
    ours = TreeClassifier(model)
    np.testing.assert_array_equal(ours.predict(X), model.predict(X))
    np.testing.assert_allclose(ours.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(ours.apply(X), model.apply(X))
    assert (ours.decision_path(X) != model.decision_path(X)).nnz == 0
    assert ours.decision_path(X).shape == model.decision_path(X).shape
    np.testing.assert_allclose(ours.feature_importances_, model.feature_importances_)
    assert ours.score(X, y) == model.score(X, y)
    assert (ours.get_depth(), ours.get_n_leaves()) == (model.get_depth(), model.get_n_leaves())


def test_a_regressor_predicts_as_scikit_learn_does() -> None:
    X, y = load_diabetes(return_X_y=True)
    model = DecisionTreeRegressor(max_depth=4, random_state=0).fit(X, y)
    ours = TreeRegressor(as_tree(model))
    np.testing.assert_allclose(ours.predict(X), model.predict(X))
    np.testing.assert_allclose(ours.feature_importances_, model.feature_importances_)
    assert np.isclose(ours.score(X, y), model.score(X, y))
    assert (ours.decision_path(X) != model.decision_path(X)).nnz == 0


def test_it_has_the_attributes_of_a_fitted_estimator(iris: tuple[Any, Any, Any]) -> None:
    X, _, model = iris
    ours = TreeClassifier(model)
    check_is_fitted(ours)
    assert is_classifier(ours)
    assert is_regressor(TreeRegressor(None))
    assert ours.classes_.tolist() == [0, 1, 2]
    assert ours.n_classes_ == 3
    assert ours.n_features_in_ == 4
    assert ours.feature_names_in_.tolist() == X.columns.tolist()
    unnamed = TreeClassifier(DecisionTreeClassifier().fit(X.to_numpy(), model.predict(X)))
    assert not hasattr(unnamed, "feature_names_in_")


def test_it_works_in_pipelines_scorers_and_inspection(iris: tuple[Any, Any, Any]) -> None:
    X, y, model = iris
    ours = TreeClassifier(model)
    pipeline = make_pipeline("passthrough", ours)
    assert pipeline.score(X, y) == model.score(X, y)
    assert get_scorer("roc_auc_ovr")(ours, X, y) == get_scorer("roc_auc_ovr")(model, X, y)
    # Every fold scores the finished tree: fit does not train it again.
    np.testing.assert_array_equal(cross_val_score(ours, X, y, cv=3), [1.0, 1.0, 1.0])
    found = permutation_importance(ours, X, y, n_repeats=2, random_state=0)
    assert found.importances_mean.argmax() in (2, 3)


def test_fit_leaves_the_tree_as_it_is(iris: tuple[Any, Any, Any]) -> None:
    X, y, model = iris
    ours = TreeClassifier(model)
    before = ours.to_tree()
    assert ours.fit(X, 2 - y) is ours
    assert ours.to_tree() is before


def test_clone_copy_and_pickle(iris: tuple[Any, Any, Any], coloured: Tree) -> None:
    X, _, model = iris
    for tree, data in ((model, X), (coloured, pd.DataFrame({"colour": ["red"], "x": [0.1]}))):
        ours = TreeClassifier(tree)
        again = clone(ours)
        assert again is not ours
        assert again.get_params()["tree"] is tree
        loaded = pickle.loads(pickle.dumps(ours))
        for other in (again, loaded):
            np.testing.assert_array_equal(other.predict(data), ours.predict(data))


def test_a_new_tree_by_set_params_is_read(iris: tuple[Any, Any, Any]) -> None:
    X, y, model = iris
    ours = TreeClassifier(model)
    assert ours.get_depth() == 5
    ours.set_params(tree=DecisionTreeClassifier(max_depth=1).fit(X, y))
    assert ours.get_depth() == 1


def test_frames_are_read_by_name(coloured: Tree) -> None:
    ours = TreeClassifier(coloured)
    data = pd.DataFrame({"x": [0.1, 0.9, 0.1], "other": 1, "colour": ["red", "green", "green"]})
    assert ours.predict(data).tolist() == ["no", "yes", "no"]
    assert ours.apply(data).tolist() == [1, 4, 3]
    with pytest.raises(FeatureAlignmentError, match=r"without \['colour'\]"):
        ours.predict(data[["x"]])
    with pytest.raises(FeatureAlignmentError, match="expected 2 columns, got 3"):
        ours.predict(np.zeros((1, 3)))


def test_missing_and_unseen_categories_follow_the_missing_direction(coloured: Tree) -> None:
    data = pd.DataFrame({"colour": [None, "purple"], "x": [0.9, 0.9]})
    assert TreeClassifier(coloured).apply(data).tolist() == [1, 1]


def test_rules_in_words(coloured: Tree) -> None:
    ours = TreeClassifier(coloured)
    assert ours.rules() == str(coloured)
    assert "colour is red or blue: no (predicts yes 10.0 %)" in ours.rules()
    assert ours.rules(shares=False).splitlines()[0] == "|-- colour is red or blue: no"
    # Without a space too: what the rules say is all there.
    bare = ours.rules(style="list").splitlines()
    assert bare[0] == "colour is red or blue: no (predicts yes 10.0 %)"
    assert ours.rules(style="list", shares=False).splitlines()[0] == "colour is red or blue: no"
    space = FeatureSpace(
        lower=np.array([0.0, 0.0]),
        upper=np.array([0.0, 1.0]),
        categories=coloured.categories,
        names=coloured.feature_names,
    )
    lines = TreeClassifier(as_tree(coloured, space=space)).rules(style="list").splitlines()
    assert len(lines) == 3
    assert lines[1].startswith("colour is green and x <= 0.5: no")
    with pytest.raises(InputError, match=r"expected style .* got 'table'"):
        ours.rules(style="table")


def test_a_tree_for_the_other_task_is_refused(iris: tuple[Any, Any, Any]) -> None:
    X, y, model = iris
    with pytest.raises(InputError, match="got a classification tree; use TreeClassifier"):
        TreeRegressor(model).predict(X)
    with pytest.raises(InputError, match="got a regression tree; use TreeRegressor"):
        TreeClassifier(DecisionTreeRegressor().fit(X, y)).fit(X, y)


def test_class_weights_count(cancer: tuple[pd.DataFrame, pd.Series]) -> None:
    X, y = cancer
    plain = small(scoring="accuracy").fit(X, y)
    balanced = small(scoring="accuracy", class_weight="balanced").fit(X, y)
    heavy = small(scoring="accuracy", class_weight={0: 50.0, 1: 1.0}).fit(X, y)
    assert np.allclose(balanced.candidates_[0].value[0], 0.5, atol=0.05)
    assert heavy.predict(X).mean() < plain.predict(X).mean()
    held = heavy.holdout_indices_
    rows = np.where(y.iloc[held] == 0, 50.0, 1.0)
    right = heavy.candidates_[0].predict(X.iloc[held]) == y.iloc[held]
    assert np.isclose(heavy.scores_[0], np.average(right, weights=rows))


def test_the_decision_threshold_labels_every_tree(cancer: tuple[pd.DataFrame, pd.Series]) -> None:
    X, y = cancer
    rare = y.where(np.arange(len(y)) % 4 == 0, 0)  # one in six
    model = small(decision_threshold="prevalence").fit(X, rare)
    assert np.isclose(model.decision_threshold_, rare.mean())
    for tree in (*model.candidates_, *model.reference_trees_):
        assert tree.decision_threshold == model.decision_threshold_
        np.testing.assert_array_equal(tree.label, tree.value[:, 1] >= rare.mean())
    shares = model.predict_proba(X)[:, 1]
    np.testing.assert_array_equal(model.predict(X), shares >= rare.mean())
    with pytest.warns(OneDecisionWarning, match='decides "0" .*: "1" needs a risk of 70 %'):
        assert small(decision_threshold=0.7).fit(X, rare).decision_threshold_ == 0.7
    with pytest.raises(InputError, match="expected two classes for a decision_threshold"):
        small(decision_threshold=0.5).fit(*load_iris(return_X_y=True))
    with pytest.raises(InputError, match=r"expected decision_threshold in \[0, 1\], got 2"):
        small(decision_threshold=2).fit(X, rare)


def test_polars_and_pandas_give_the_same_model() -> None:
    polars = pytest.importorskip("polars")
    study = load_case_study("support2")
    X, y = study.X[:1500].reset_index(drop=True), study.y[:1500].to_numpy()
    for column in study.categorical:
        X[column] = X[column].astype(object).where(X[column].notna(), None)
    one = small(param_grid={"max_depth": [4]}).fit(X, y)
    other = small(param_grid={"max_depth": [4]}).fit(polars.from_pandas(X), y)
    assert one.rules() == other.rules()
    np.testing.assert_array_equal(one.predict(X), other.predict(polars.from_pandas(X)))


def test_a_column_without_values() -> None:
    X, y = three_columns()
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(b=np.nan, d=None)
    for model in (small(), DistilledTreeClassifier(n_estimators=5, random_state=0)):
        model.fit(frame, y)
        assert not model.to_tree().used_features & {1, 3}
        assert set(model.predict(frame)) <= set(y)


@pytest.mark.parametrize(
    ("dtype", "classes"),
    [("Int64", (0, 1)), ("boolean", (False, True)), ("UInt8", (0, 1)), ("Float64", (0.0, 1.0))],
)
def test_nullable_outcomes_keep_their_type(dtype: str, classes: tuple[object, ...]) -> None:
    X, y = three_columns()
    outcome = pd.Series(y).astype(dtype)
    model = small().fit(X, outcome)
    assert model.to_tree().classes == classes
    assert [type(c) for c in model.to_tree().classes] == [type(c) for c in classes]
    assert type(model.predict(X[:1]).tolist()[0]) is type(classes[0])
    with pytest.raises(InputError, match="expected an outcome in every row of y, got 1 missing"):
        small().fit(X, outcome.where(np.arange(len(y)) > 0))


def test_infinite_and_huge_numbers_are_refused() -> None:
    X, y = three_columns()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame.loc[3, "b"] = np.inf
    with pytest.raises(InputError, match="expected finite numbers in 'b'"):
        small().fit(frame, y)
    model = small().fit(X, y)
    X[0, 1] = 1e300
    with pytest.raises(InputError, match=r"got infinity or larger ones in \['x1'\]"):
        model.predict(X)


# -- distilled trees as scikit-learn estimators --

QUICK = {"n_estimators": 10, "random_state": 0}
WHY = "bootstraps draw rows, not weights: scikit-learn exempts its own forests too"


@pytest.mark.filterwarnings("ignore::steadytree.exceptions.OneDecisionWarning")
@parametrize_with_checks(
    [DistilledTreeClassifier(n_estimators=10), DistilledTreeRegressor(n_estimators=10)],
    expected_failed_checks=lambda estimator: {"check_sample_weight_equivalence_on_dense_data": WHY},
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def test_knobs_limit_the_tree():
    X, y = load_breast_cancer(return_X_y=True)
    model = DistilledTreeClassifier(max_leaf_nodes=5, max_depth=2, **QUICK).fit(X, y)
    assert model.get_n_leaves() <= 4
    assert model.get_depth() <= 2
    default = DistilledTreeClassifier(**QUICK).fit(X, y)
    assert 6 <= default.n_leaves_ <= 16
    assert as_tree(default) is default.tree_
    assert default.tree_.space is default.feature_space_
    assert default.feature_importances_.sum() == pytest.approx(1)


def test_the_first_tree_is_one_to_show():
    X, y = mixed_table(2000, 0)
    tree = DistilledTreeClassifier(**QUICK).fit(X, y).tree_
    assert 6 <= tree.n_leaves <= 16
    assert tree.depth <= 5
    leaves = tree.feature < 0
    assert tree.observed.rows()[leaves].min() >= 20
    small = DistilledTreeClassifier(**QUICK).fit(X[:60], y[:60]).tree_
    assert small.n_leaves > 1
    with pytest.raises(InputError, match="whole number >= 2 or None, got 'auto'"):
        DistilledTreeClassifier(max_leaf_nodes="auto").fit(X, y)


def test_mixed_frames_and_unseen_categories():
    X, y = mixed_table(400, 0)
    model = DistilledTreeClassifier(decision_threshold="prevalence", **QUICK).fit(X, y)
    assert model.tree_.decision_threshold == pytest.approx(y.mean())
    odd = X.head(5).assign(colour="violet")
    missing = X.head(5).assign(colour=None)
    np.testing.assert_array_equal(model.predict_proba(odd), model.predict_proba(missing))
    assert "colour is" in model.rules()


def test_same_seed_same_tree_whatever_the_jobs():
    X, y = mixed_table(300, 0)
    one = DistilledTreeClassifier(**QUICK).fit(X, y)
    two = DistilledTreeClassifier(n_jobs=2, **QUICK).fit(X, y)
    assert one.tree_ == two.tree_
    again = pickle.loads(pickle.dumps(one))
    np.testing.assert_array_equal(again.predict(X), one.predict(X))
    other = clone(one).set_params(random_state=1).fit(X, y)
    assert other.tree_ != one.tree_


@pytest.mark.parametrize(
    ("knob", "value"),
    [("max_depth", 0), ("min_samples_leaf", 0.5), ("n_estimators", 0), ("max_leaf_nodes", 1)],
)
def test_bad_knobs(knob, value):
    X, y = mixed_table(50, 0)
    with pytest.raises(InputError, match=knob):
        DistilledTreeClassifier(**{**QUICK, knob: value}).fit(X, y)


# -- scikit-learn's own checks --

GRID = {"max_depth": [2, 5], "min_samples_leaf": [1, 3]}


def expected_failures(estimator: Any) -> dict[str, str]:
    # A bootstrap draws rows, not weight; scikit-learn exempts its own forests for the same reason.
    return {
        "check_sample_weight_equivalence_on_dense_data": "a row of weight 2 is drawn as one row",
    }


@pytest.mark.filterwarnings("ignore::steadytree.exceptions.SteadyTreeWarning")
@parametrize_with_checks(
    [
        StableTreeClassifier(param_grid=GRID, n_bootstraps=2),
        StableTreeClassifier(
            param_grid=GRID, n_bootstraps=2, holdout="oob", variant="metric", select="balanced"
        ),
        StableTreeRegressor(param_grid=GRID, n_bootstraps=2),
        StableTreeRegressor(param_grid=GRID, n_bootstraps=2, holdout="oob", select="score"),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_accepts_stable_trees(estimator: Any, check: Any) -> None:
    check(estimator)
