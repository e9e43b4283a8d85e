from __future__ import annotations

import pickle
from pathlib import Path
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
from sklearn.utils.validation import check_is_fitted

from steadytree.estimators import TreeClassifier, TreeRegressor
from steadytree.exceptions import FeatureAlignmentError, InputError
from steadytree.plugins import as_tree
from steadytree.tree.json import save_tree
from steadytree.tree.space import FeatureSpace
from steadytree.tree.tree import Tree


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


def test_a_tree_file_is_a_tree(iris: tuple[Any, Any, Any], tmp_path: Path) -> None:
    X, _, model = iris
    save_tree(as_tree(model), tmp_path / "tree.json")
    np.testing.assert_array_equal(
        TreeClassifier(tmp_path / "tree.json").predict(X), model.predict(X)
    )


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


def test_labels_are_those_stored_with_the_leaves(coloured: Tree) -> None:
    # Leaf 3 says "yes" from a share of 0.4 on.
    eager = coloured.relabelled(0.4)
    data = pd.DataFrame({"colour": ["green"], "x": [0.1]})
    assert TreeClassifier(coloured).predict(data).tolist() == ["no"]
    assert TreeClassifier(eager).predict(data).tolist() == ["yes"]


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


def test_the_notebook_view_shows_the_rules(coloured: Tree) -> None:
    ours = TreeClassifier(coloured.replace(feature_names=("a<b", "x"), label=coloured.label))
    for shown in (ours._repr_html_(), ours._repr_mimebundle_()["text/html"]):
        assert "a&lt;b is red or blue" in shown
        assert "3 leaves" in shown


def test_a_tree_for_the_other_task_is_refused(iris: tuple[Any, Any, Any]) -> None:
    X, y, model = iris
    with pytest.raises(InputError, match="got a classification tree; use TreeClassifier"):
        TreeRegressor(model).predict(X)
    with pytest.raises(InputError, match="got a regression tree; use TreeRegressor"):
        TreeClassifier(DecisionTreeRegressor().fit(X, y)).fit(X, y)


def test_wide_data_and_a_single_leaf() -> None:
    X, _ = load_breast_cancer(return_X_y=True)
    stump = TreeClassifier(DecisionTreeClassifier(max_depth=1).fit(X, np.r_[np.zeros(568), 1]))
    leaf = TreeClassifier(stump.to_tree().truncate(0))
    assert leaf.decision_path(X).sum() == len(X)
    assert leaf.rules() == "always: 0.0 (predicts 1.0 0.2 %; observed 1 of 569)"
    assert set(leaf.apply(X)) == {0}
