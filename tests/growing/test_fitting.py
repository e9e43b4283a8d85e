"""One tree on some rows of mixed data: columns, repeats, weights, learners of every kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from steadytree.estimators import DistilledTreeRegressor
from steadytree.exceptions import InputError, UnsupportedModelError
from steadytree.growing.collections import draw_bootstrap
from steadytree.growing.fitting import ColumnEncoder, TrainingData, fit_by_weight, fit_tree
from steadytree.plugins import as_tree
from steadytree.tree.space import FeatureSpace
from tests.growing.mixed import mixed_table, space_of
from tests.growing.samples import ReadsFrames, same_rules, training_data


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


def test_with_weights_a_leaf_holds_the_weight_of_its_least_size() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = (X[:, 0] > 0).astype(int)
    weights = np.where(y == 1, 1e-6, 1.0)
    data = training_data(X, y, weights=weights)
    tree = fit_tree(DecisionTreeClassifier(min_samples_leaf=10), data, np.arange(200))
    assert tree.weight is not None
    assert tree.weight[tree.leaves].min() >= 10 / 200 * weights.sum() * 0.999


def test_a_search_over_trees_gives_its_best_tree(mixed: tuple[pd.DataFrame, np.ndarray]) -> None:
    X, y = mixed
    search = GridSearchCV(DecisionTreeClassifier(), {"max_depth": [1, 3]}, cv=3)
    tree = fit_tree(search, training_data(X, y), np.arange(len(y)))
    assert tree.depth == 3
    assert tree.feature_names == tuple(X.columns)
    assert tree.classes == ("setosa", "versicolor", "virginica")


@pytest.mark.parametrize(
    ("learner", "weights", "error", "message"),
    [
        (DecisionTreeClassifier(class_weight={"rose": 2.0}), None, InputError, "got .'rose'. as"),
        (ReadsFrames(), np.linspace(1, 2, 150), InputError, "whose fit takes sample_weight"),
        (GaussianNB(), None, UnsupportedModelError, "got GaussianNB"),
        (DistilledTreeRegressor(n_estimators=5), None, InputError, "estimator for classification"),
    ],
)
def test_learners_that_do_not_suit_are_refused(
    mixed: tuple[pd.DataFrame, np.ndarray], learner: Any, weights: Any, error: Any, message: str
) -> None:
    X, y = mixed
    if not isinstance(learner, ReadsFrames):
        X = X[["sepal_length", "petal_length"]]
    y = np.unique(y, return_inverse=True)[1] if "Regressor" in repr(learner) else y
    with pytest.raises(error, match=message):
        fit_tree(learner, training_data(X, y, weights=weights), np.arange(150))


def test_outcomes_are_checked_and_coded(mixed: tuple[pd.DataFrame, np.ndarray]) -> None:
    X, y = mixed
    data = TrainingData.from_table(X, y, task="classification", weight=np.ones(len(y)))
    assert data.class_list == ("setosa", "versicolor", "virginica")
    assert data.classes is not None
    np.testing.assert_array_equal(data.classes[data.rows.y], y)
    assert data.rows.weight is None  # weights of 1 say nothing
    assert data.columns.shape == (len(y), len(data.encoder.column_feature))
    with pytest.raises(InputError, match=r"two classes in y with a positive sample weight, got 1"):
        TrainingData.from_table(
            X, y, task="classification", weight=(y == "setosa").astype(np.float64)
        )
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        TrainingData.from_table(X, y[:-1], task="classification")


def test_where_weights_count_something_else_rows_are_repeated(cancer: TrainingData) -> None:
    rows = draw_bootstrap(np.arange(569), cancer.rows.y, seed=1).rows
    for options in ({"min_samples_leaf": 0.05}, {"min_samples_split": 60}, {"criterion": "gini"}):
        learner = DecisionTreeClassifier(max_depth=3, **options)
        by_weight = fit_by_weight(learner, cancer, rows, decision=0.3)
        plain = fit_tree(learner, cancer, rows, decision=0.3)
        if "criterion" not in options:
            assert by_weight == plain
        assert by_weight.decision_threshold == 0.3
        assert by_weight.metadata["n_training_rows"] == rows.size
    assert learner.random_state is None  # the copy was seeded


# -- columns for scikit-learn, and the way back --------------------------------------------


def three_features(*, missing: bool) -> FeatureSpace:
    """A number, a colour of three, and yes or no."""
    return FeatureSpace(
        lower=np.zeros(3),
        upper=np.array([1.0, 0.0, 0.0]),
        categories=(None, ("red", "green", "blue"), ("no", "yes")),
        can_be_missing=np.array([False, missing, False]),
        names=("x", "colour", "smokes"),
    )


def test_a_column_per_category_and_one_for_two():
    encoder = ColumnEncoder(three_features(missing=True))
    assert encoder.column_feature.tolist() == [0, 1, 1, 1, 1, 2]
    assert encoder.column_category.tolist() == [-2, 0, 1, 2, -1, 1]
    columns = encoder.transform(np.array([[0.25, 2.0, 0.0], [0.5, np.nan, 1.0]]))
    assert columns.dtype == np.float32
    assert columns.tolist() == [[0.25, 0, 0, 1, 0, 0], [0.5, 0, 0, 0, 1, 1]]
    assert len(ColumnEncoder(three_features(missing=False)).column_feature) == 5


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (0, (0, 0.5, None, True)),
        (2, (1, (0, 2), True)),  # "is green": the others and missing go left
        (4, (1, (0, 1, 2), False)),  # "is missing": every colour goes left
        (5, (2, (0,), True)),
    ],
)
def test_a_split_on_a_column_is_one_on_its_feature(column, expected):
    feature, threshold, left, missing_left = ColumnEncoder(three_features(missing=True)).split(
        column, 0.5, True
    )
    if left is None:
        assert (feature, threshold, left, missing_left) == expected
    else:
        assert (feature, left, missing_left) == expected
        assert np.isnan(threshold)


@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
def test_the_tree_predicts_what_scikit_learn_predicts(task):
    X, y = mixed_table(300, 4, task=task)
    space = space_of(X, y, task)
    coded = space.encode(X)
    encoder = ColumnEncoder(space)
    columns = encoder.transform(coded)
    model = (DecisionTreeRegressor if task == "regression" else DecisionTreeClassifier)(
        max_depth=5, random_state=0
    ).fit(columns, y)
    tree = encoder.to_tree(model, metadata={"origin": "test"})
    assert tree.feature_names == ("age", "dose", "colour", "noise")
    assert any(left is not None for left in tree.left_categories)
    expected = model.predict(columns)[:, None]
    if task != "regression":
        expected = model.predict_proba(columns)
    np.testing.assert_allclose(tree.value[tree.apply_coded(coded)], expected)
    np.testing.assert_array_equal(tree.apply_coded(coded), model.apply(columns))
    assert tree.metadata == {"n_training_rows": 300, "origin": "test"}


def test_ordered_categories_are_their_position_in_the_order():
    space = three_features(missing=True).replace(ordered=[False, True, True])
    encoder = ColumnEncoder(space)
    # Of two categories one column says all, ordered or not.
    assert encoder.column_feature.tolist() == [0, 1, 2]
    assert encoder.column_category.tolist() == [-2, -2, 1]
    columns = encoder.transform(np.array([[0.25, 2.0, 0.0], [0.5, np.nan, 1.0]]))
    np.testing.assert_array_equal(columns, np.float32([[0.25, 2, 0], [0.5, np.nan, 1]]))
    for threshold, left in ((0.5, (0,)), (1.5, (0, 1)), (np.inf, (0, 1, 2)), (-np.inf, ())):
        assert encoder.split(1, threshold, False)[2:] == (left, False)


@pytest.mark.parametrize("task", ["binary", "regression"])
def test_a_tree_over_positions_predicts_what_scikit_learn_predicts(task):
    X, y = mixed_table(300, 4, task=task)
    order = pd.CategoricalDtype(["green", "red", "blue", "grey"], ordered=True)
    X["colour"] = X["colour"].astype(order)
    X.loc[::9, "colour"] = np.nan
    space = space_of(X, y, task)
    coded = space.encode(X)
    encoder = ColumnEncoder(space)
    kind = DecisionTreeRegressor if task == "regression" else DecisionTreeClassifier
    model = kind(max_depth=5, random_state=0).fit(encoder.transform(coded), y)
    tree = encoder.to_tree(model)
    sets = [s for s in tree.left_categories if s is not None]
    assert len(sets) >= 3
    assert all(s == tuple(range(len(s))) for s in sets)
    np.testing.assert_array_equal(tree.predict(X), model.predict(encoder.transform(coded)))
