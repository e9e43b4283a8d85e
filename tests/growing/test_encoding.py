"""Columns for scikit-learn from mixed data, and trees over them in the original features."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from steadytree.growing.fitting import ColumnEncoder
from steadytree.tree.space import FeatureSpace
from tests.growing.mixed import mixed_table, space_of


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
    assert not encoder.is_trivial
    columns = encoder.transform(np.array([[0.25, 2.0, 0.0], [0.5, np.nan, 1.0]]))
    assert columns.dtype == np.float32
    assert columns.tolist() == [[0.25, 0, 0, 1, 0, 0], [0.5, 0, 0, 0, 1, 1]]
    assert ColumnEncoder(three_features(missing=False)).n_columns == 5


def test_numbers_pass_as_they_are():
    X = np.array([[0.1, np.nan], [2.0, 3.0]])
    encoder = ColumnEncoder(FeatureSpace.from_data(X))
    assert encoder.is_trivial
    np.testing.assert_array_equal(encoder.transform(X), X.astype(np.float32))


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


def test_classes_the_model_never_met_have_no_share():
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    encoder = ColumnEncoder(FeatureSpace.from_data(X))
    model = DecisionTreeClassifier().fit(encoder.transform(X), ["a", "a", "c", "c"])
    tree = encoder.to_tree(model, classes=("a", "b", "c"))
    assert tree.classes == ("a", "b", "c")
    assert tree.value[tree.leaves].tolist() == [[1, 0, 0], [0, 0, 1]]


def test_ordered_categories_are_their_position_in_the_order():
    space = three_features(missing=True).replace(ordered=[False, True, True])
    encoder = ColumnEncoder(space)
    # Of two categories one column says all, ordered or not.
    assert encoder.column_feature.tolist() == [0, 1, 2]
    assert encoder.column_category.tolist() == [-2, -2, 1]
    assert not encoder.is_trivial
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
