"""What the distance functions take: options, spaces and models, and how bad ones are refused."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import steadytree as st
from steadytree.exceptions import (
    FeatureAlignmentError,
    InputError,
    NotFittedTreeError,
    TreeFormatError,
    UnsupportedModelError,
)
from tests.golden import MID_1, MID_2, RESPONSE, UNIT, build

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "tree_distance": st.tree_distance,
    "match_paths": st.match_paths,
    "pairwise_tree_distances": lambda a, b, **options: st.pairwise_tree_distances(
        [a], [b], **options
    ),
}


@pytest.fixture(params=FUNCTIONS)
def function(request: pytest.FixtureRequest) -> Callable[..., Any]:
    return FUNCTIONS[request.param]


OPTIONS: list[tuple[dict[str, Any], str]] = [
    ({"label_weight": -1.0}, "expected label_weight to be a number >= 0, got -1.0"),
    ({"label_weight": math.nan}, "expected label_weight to be a number >= 0, got nan"),
    ({"label_weight": math.inf}, "expected label_weight to be a number >= 0, got inf"),
    ({"label_weight": None}, "expected label_weight to be a number >= 0, got None"),
    ({"label_weight": [1.0]}, "expected label_weight to be a number >= 0, got [1.0]"),
    (
        {"label_weight": "heavy"},
        "expected label_weight to be a number >= 0 or \"balanced\", got 'heavy'",
    ),
    (
        {"label_weight": "balanced"},
        'expected max_depth with label_weight="balanced" (it is 2 * max_depth), got none',
    ),
    (
        {"normalize": "bound"},
        'expected max_depth with normalize="bound", got none; pass the largest depth your trees',
    ),
    (
        {"normalize": "bound", "max_depth": 0},
        "expected trees of depth at most max_depth=0, got one of depth 1; raise max_depth",
    ),
    ({"max_depth": -1}, "expected max_depth to be a whole number >= 0, got -1"),
    ({"max_depth": 2.5}, "expected max_depth to be a whole number >= 0, got 2.5"),
    ({"max_depth": True}, "expected max_depth to be a whole number >= 0, got True"),
    ({"max_depth": "deep"}, "expected max_depth to be a whole number >= 0, got 'deep'"),
    ({"max_depth": math.inf}, "expected max_depth to be a whole number >= 0, got inf"),
    (
        {"normalize": "relative"},
        'expected variant="metric" with normalize="relative", got variant=\'paper\'',
    ),
    (
        {"normalize": "relative", "variant": "cover"},
        'expected variant="metric" with normalize="relative", got variant=\'cover\'',
    ),
    (
        {"variant": "exact"},
        "expected variant to be one of ['paper', 'metric', 'cover'], got 'exact'",
    ),
    (
        {"outcome": "entropy"},
        "expected outcome to be one of ['label', 'distribution', 'impurity'], got 'entropy'",
    ),
    (
        {"normalize": "max"},
        "expected normalize to be one of [None, 'bound', 'relative'], got 'max'",
    ),
]


@pytest.mark.parametrize(("options", "message"), OPTIONS)
def test_options(function: Callable[..., Any], options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match="^" + re.escape(message)):
        function(MID_1, MID_2, space=UNIT, **options)


def test_a_depth_without_a_bound_is_refused_before_any_model_is_read(
    function: Callable[..., Any], tmp_path: Path
) -> None:
    nowhere = tmp_path / "none.json"
    with pytest.raises(InputError, match="expected max_depth of at most 1000 for a bound"):
        function(nowhere, nowhere, normalize="bound", max_depth=1001)


def test_the_deepest_tree_counts_for_the_bound(function: Callable[..., Any]) -> None:
    deep = build((0, 0.5, "no", (1, 0.5, "no", "yes")))
    for pair in ((MID_1, deep), (deep, MID_1)):
        with pytest.raises(InputError, match="depth at most max_depth=1, got one of depth 2"):
            function(*pair, space=UNIT, normalize="bound", max_depth=1)
        function(*pair, space=UNIT, normalize="bound", max_depth=2)


# -- spaces -----------------------------------------------------------------------


def test_no_space(function: Callable[..., Any]) -> None:
    with pytest.raises(
        FeatureAlignmentError,
        match=r"expected space=\.\.\., got none, and none is stored with the trees: a tree carries "
        r"thresholds, not ranges; pass space=FeatureSpace\.from_data\(X_reference\)",
    ):
        function(MID_1, MID_2)


def test_different_stored_spaces(function: Callable[..., Any]) -> None:
    wide = UNIT.replace(upper=np.array([2.0, 1.0]))
    with pytest.raises(FeatureAlignmentError, match="distances over different spaces must not be"):
        function(MID_1.replace(space=UNIT), MID_2.replace(space=wide))


def test_something_else_as_a_space(function: Callable[..., Any]) -> None:
    with pytest.raises(
        FeatureAlignmentError, match="expected space to be a FeatureSpace, got ndar"
    ):
        function(MID_1, MID_2, space=np.zeros((3, 2)))


@pytest.mark.parametrize(
    ("lower", "upper", "message"),
    [
        ([1.0, 0.0], [0.0, 1.0], r"expected lower <= upper for 'x0', got \[1.0, 0.0\]"),
        ([math.nan, 0.0], [1.0, 1.0], r"expected finite bounds for 'x0', got \[nan, 1.0\]"),
    ],
)
def test_a_space_that_makes_no_sense(lower: Any, upper: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        st.tree_distance(MID_1, MID_2, space=st.FeatureSpace(lower=lower, upper=upper))


def test_regression_without_a_response_range(function: Callable[..., Any]) -> None:
    trees = [build((0, t, 1.0, 2.0), classes=None) for t in (0.3, 0.6)]
    with pytest.raises(FeatureAlignmentError, match="expected a space with a response range for"):
        function(*trees, space=UNIT)


# -- features ---------------------------------------------------------------------


def test_trees_over_different_features(function: Callable[..., Any]) -> None:
    a = build((0, 0.5, "no", "yes"), feature_names=("age", "weight"))
    b = build((0, 0.5, "no", "yes"), feature_names=("age", "height"))
    with pytest.raises(
        FeatureAlignmentError,
        match="expected features of the space 'age', 'weight', got a tree with 'height' as well",
    ):
        function(a, b, space=UNIT.replace(names=("age", "weight")))
    # An unnamed space takes the names of the first tree, and still nothing is mixed up.
    with pytest.raises(FeatureAlignmentError, match="got a tree with 'height' as well"):
        function(a, b, space=UNIT)


def test_trees_over_different_numbers_of_features(function: Callable[..., Any]) -> None:
    with pytest.raises(
        FeatureAlignmentError,
        match="expected a tree over 2 features like the space, got one over 3",
    ):
        function(MID_1, build((0, 0.5, "no", "yes"), 3), space=UNIT)


def test_columns_in_another_order_are_not_mixed_up() -> None:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    turned = X[X.columns[::-1]]
    a = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    b = DecisionTreeClassifier(max_depth=3, random_state=1).fit(turned, y)
    truth = st.tree_distance(
        a,
        DecisionTreeClassifier(max_depth=3, random_state=1).fit(turned, y),
        space=st.FeatureSpace.from_data(X),
    )
    for space in (
        st.FeatureSpace.from_data(X),
        st.FeatureSpace.from_data(turned),
        st.FeatureSpace.from_data(X.to_numpy()),  # no names: it follows the first tree
    ):
        assert st.tree_distance(a, b, space=space) == pytest.approx(truth, rel=1e-12)
    pair = st.match_paths(a, b, space=st.FeatureSpace.from_data(X)).pairs[0]
    names = {part.name for part in pair.parts}
    assert names <= set(X.columns)
    # The same rules, found again under their names.
    tree = st.as_tree(a)
    order = [tree.feature_names.index(n) for n in turned.columns]  # type: ignore[union-attr]
    moved = tree.replace(
        feature=np.where(tree.feature >= 0, np.argsort(order)[tree.feature], -1),
        feature_names=tuple(turned.columns),
        label=tree.label,
    )
    np.testing.assert_array_equal(moved.predict(turned), tree.predict(X))
    assert st.tree_distance(tree, moved, space=st.FeatureSpace.from_data(X)) == 0.0


def test_numeric_against_categorical(function: Callable[..., Any]) -> None:
    frame = pd.DataFrame({"a": ["x", "y"], "b": [0.0, 1.0]})
    tree = build((0, 0.5, "no", "yes"), feature_names=("a", "b"))
    with pytest.raises(FeatureAlignmentError, match="expected feature 'a' to be categorical as in"):
        function(tree, tree, space=st.FeatureSpace.from_data(frame))


# -- outcomes ---------------------------------------------------------------------


def test_unknown_classes(function: Callable[..., Any]) -> None:
    other = build((0, 0.5, "no", "perhaps"), classes=("no", "perhaps"))
    with pytest.raises(
        FeatureAlignmentError,
        match="expected classes 'no', 'yes' as in the space, got a tree with 'perhaps'",
    ):
        function(MID_1, other, space=UNIT.replace(classes=("no", "yes")))
    strange = build((0, 0.5, 0, 1), classes=(0, 1))
    with pytest.raises(
        FeatureAlignmentError,
        match="expected trees with classes in common, got 'no', 'yes' and 0, 1",
    ):
        function(MID_1, strange, space=UNIT)


def test_classes_in_another_order_are_not_mixed_up() -> None:
    turned = build((0, 0.5, "no", "yes"), classes=("yes", "no"))
    for outcome in ("label", "distribution", "impurity"):
        assert st.tree_distance(MID_1, turned, space=UNIT, outcome=outcome) == 0.0


def test_a_class_one_tree_has_never_met() -> None:
    three = build((0, 0.5, "no", "perhaps"), classes=("no", "perhaps", "yes"))
    assert st.tree_distance(MID_1, three, space=UNIT) == pytest.approx(1.0)
    assert st.tree_distance(three, MID_1, space=UNIT) == pytest.approx(1.0)


def test_classification_against_regression(function: Callable[..., Any]) -> None:
    with pytest.raises(
        FeatureAlignmentError, match="got classification and regression together; compare like"
    ):
        function(MID_1, build((0, 0.5, 1.0, 2.0), classes=None), space=RESPONSE)


@pytest.mark.parametrize("outcome", ["distribution", "impurity"])
def test_outcomes_of_regression(function: Callable[..., Any], outcome: str) -> None:
    tree = build((0, 0.5, 1.0, 2.0), classes=None)
    with pytest.raises(
        InputError, match=f"expected outcome=\"label\" for regression trees, got '{outcome}'"
    ):
        function(tree, tree, space=RESPONSE, outcome=outcome)


# -- models -----------------------------------------------------------------------


def test_models_that_are_no_tree(function: Callable[..., Any], tmp_path: Path) -> None:
    X, y = load_iris(return_X_y=True)
    space = st.FeatureSpace.from_data(X, y)
    good = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    with pytest.raises(NotFittedTreeError, match="got DecisionTreeClassifier before fit; call fit"):
        function(good, DecisionTreeClassifier(), space=space)
    with pytest.raises(NotFittedTreeError, match="got DecisionTreeRegressor before fit"):
        function(DecisionTreeRegressor(), good, space=space)
    forest = RandomForestClassifier(n_estimators=2, random_state=0).fit(X, y)
    with pytest.raises(
        UnsupportedModelError,
        match="RandomForestClassifier of 2; pass tree_index=",
    ):
        function(forest, good, space=space)
    with pytest.raises(UnsupportedModelError, match="got NoneType"):
        function(good, None, space=space)
    with pytest.raises(TreeFormatError, match="expected a readable tree file, got No such file"):
        function(good, str(tmp_path / "none.json"), space=space)


def test_balanced_is_twice_the_depth() -> None:
    a, b = build((0, 0.5, "no", "no")), build((0, 0.5, "yes", "no"))
    for depth in (1, 4):
        balanced = st.tree_distance(a, b, space=UNIT, label_weight="balanced", max_depth=depth)
        assert balanced == st.tree_distance(a, b, space=UNIT, label_weight=2.0 * depth)
    assert st.tree_distance(a, b, space=UNIT, label_weight="balanced", max_depth=1) == 2.0
