"""What the distance functions take: options, spaces and models, and how bad ones are refused."""

from __future__ import annotations

import math
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
from tests.wording import refuses

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "tree_distance": st.tree_distance,
    "match_paths": st.match_paths,
    "pairwise_tree_distances": lambda a, b, **options: st.pairwise_tree_distances(
        [a], [b], **options
    ),
}


@pytest.fixture(params=FUNCTIONS)
def function(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Each function in turn: they take the same options."""
    return FUNCTIONS[request.param]


# -- options ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("negative weight", {"label_weight": -1.0}),
        ("weight in words", {"label_weight": "heavy"}),
        ("balanced without a depth", {"label_weight": "balanced"}),
        ("bound without a depth", {"normalize": "bound"}),
        ("deeper than the depth given", {"normalize": "bound", "max_depth": 0}),
        ("half a depth", {"max_depth": 2.5}),
        ("relative of the paper's", {"normalize": "relative"}),
        ("unknown variant", {"variant": "exact"}),
        ("unknown outcome", {"outcome": "entropy"}),
        ("unknown normalisation", {"normalize": "max"}),
    ],
)
def test_options_that_make_no_sense(
    function: Callable[..., Any], name: str, options: dict[str, Any]
) -> None:
    with refuses(InputError, f"distance: {name}"):
        function(MID_1, MID_2, space=UNIT, **options)


@pytest.mark.parametrize("weight", [math.nan, math.inf, None, [1.0], True, 5e-324, 1e-7, 1.1e6])
def test_a_label_weight_keeps_labels_and_features_their_digits(weight: Any) -> None:
    for ask in (
        lambda: st.tree_distance(MID_1, MID_2, space=UNIT, label_weight=weight),
        lambda: st.distance_bound(3, weight),
    ):
        with pytest.raises(InputError, match="expected label_weight to be 0, a number from 1e-06"):
            ask()
    assert st.distance_bound(0, 1e-6) == 1e-6
    assert st.distance_bound(0, 1e6) == 1e6


@pytest.mark.parametrize("depth", [-1, True, "deep", math.inf, math.nan, 1001, 10**400])
def test_a_depth_is_a_whole_number_whose_bound_a_float_can_hold(depth: Any) -> None:
    for ask in (
        lambda: st.tree_distance(MID_1, MID_2, space=UNIT, max_depth=depth),
        lambda: st.distance_bound(depth),
    ):
        with pytest.raises(InputError, match="expected max_depth to be a whole number from 0 to"):
            ask()
    assert math.isfinite(st.distance_bound(1000, 1e6))


def test_balanced_is_twice_the_depth() -> None:
    a, b = build((0, 0.5, "no", "no")), build((0, 0.5, "yes", "no"))
    for depth in (1, 4):
        balanced = st.tree_distance(a, b, space=UNIT, label_weight="balanced", max_depth=depth)
        assert balanced == st.tree_distance(a, b, space=UNIT, label_weight=2.0 * depth)
    assert st.tree_distance(a, b, space=UNIT, label_weight="balanced", max_depth=1) == 2.0


def test_the_bound() -> None:
    assert st.distance_bound(0) == 1.0
    assert st.distance_bound(4) == 144.0
    assert st.distance_bound(12, 24) == 2**12 * 48
    assert st.distance_bound(3, 0.0) == 48.0


def test_the_bound_of_the_pair_would_invert_rankings() -> None:
    """Why max_depth is asked for: each pair over its own depth turns the order round."""
    deep_a = build((0, 0.5, (1, 0.5, (0, 0.25, "no", "yes"), "no"), "yes"))
    deep_b = build((1, 0.4, (0, 0.4, (1, 0.2, "yes", "no"), "yes"), "no"))
    shallow, deep = (
        st.tree_distance(a, b, space=UNIT) for a, b in ((MID_1, MID_2), (deep_a, deep_b))
    )
    assert shallow < deep
    assert shallow / st.distance_bound(1) > deep / st.distance_bound(3)


# -- spaces and features --------------------------------------------------------------------


def named(names: tuple[str, ...], cut: Any = 0.5) -> st.Tree:
    return build((0, cut, "no", "yes"), feature_names=names)


WIDE = UNIT.replace(upper=np.array([2.0, 1.0]))
NUMBERS = (build((0, 0.3, 1.0, 2.0), classes=None), build((0, 0.6, 1.0, 2.0), classes=None))
COLOURS = st.FeatureSpace.from_data(pd.DataFrame({"a": ["x", "y"], "b": [0.0, 1.0]}))


@pytest.mark.parametrize(
    ("name", "a", "b", "space"),
    [
        ("no space", MID_1, MID_2, None),
        ("two spaces", MID_1.replace(space=UNIT), MID_2.replace(space=WIDE), None),
        ("an array as the space", MID_1, MID_2, np.zeros((3, 2))),
        ("no response range", *NUMBERS, UNIT),
        (
            "another feature",
            named(("age", "weight")),
            named(("age", "height")),
            UNIT.replace(names=("age", "weight")),
        ),
        ("more features", MID_1, build((0, 0.5, "no", "yes"), 3), UNIT),
        ("numeric against categorical", named(("a", "b")), named(("a", "b")), COLOURS),
        (
            "an unknown class",
            MID_1,
            build((0, 0.5, "no", "perhaps"), classes=("no", "perhaps")),
            UNIT.replace(classes=("no", "yes")),
        ),
        ("no class in common", MID_1, build((0, 0.5, 0, 1), classes=(0, 1)), UNIT),
        ("classes against numbers", MID_1, NUMBERS[0], RESPONSE),
    ],
)
def test_trees_and_spaces_that_do_not_go_together(
    function: Callable[..., Any], name: str, a: st.Tree, b: st.Tree, space: Any
) -> None:
    with refuses(FeatureAlignmentError, f"distance: {name}"):
        function(a, b, space=space)


def test_an_unnamed_space_takes_the_names_of_the_first_tree() -> None:
    with pytest.raises(FeatureAlignmentError, match="got a tree with 'height' as well"):
        st.tree_distance(named(("age", "weight")), named(("age", "height")), space=UNIT)


@pytest.mark.parametrize("outcome", ["distribution", "impurity"])
def test_outcomes_of_regression(function: Callable[..., Any], outcome: str) -> None:
    with pytest.raises(InputError, match=f"for regression trees, got '{outcome}'"):
        function(*NUMBERS, space=RESPONSE, outcome=outcome)


def test_columns_in_another_order_are_not_mixed_up() -> None:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    turned = X[X.columns[::-1]]
    space = st.FeatureSpace.from_data(X)
    a = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    b = DecisionTreeClassifier(max_depth=3, random_state=1).fit(turned, y)
    truth = st.tree_distance(a, b, space=space)
    for other in (turned, X.to_numpy()):  # without names it follows the first tree
        found = st.tree_distance(a, b, space=st.FeatureSpace.from_data(other))
        assert found == pytest.approx(truth, rel=1e-12)
    # The same rules, found again under their names.
    tree = st.as_tree(a)
    order = [tree.feature_names.index(n) for n in turned.columns]  # type: ignore[union-attr]
    moved = tree.replace(
        feature=np.where(tree.feature >= 0, np.argsort(order)[tree.feature], -1),
        feature_names=tuple(turned.columns),
        label=tree.label,
    )
    np.testing.assert_array_equal(moved.predict(turned), tree.predict(X))
    assert st.tree_distance(tree, moved, space=space) == 0.0


def test_classes_in_another_order_and_classes_that_one_tree_lacks() -> None:
    turned = build((0, 0.5, "no", "yes"), classes=("yes", "no"))
    for outcome in ("label", "distribution", "impurity"):
        assert st.tree_distance(MID_1, turned, space=UNIT, outcome=outcome) == 0.0
    three = build((0, 0.5, "no", "perhaps"), classes=("no", "perhaps", "yes"))
    assert st.tree_distance(MID_1, three, space=UNIT) == pytest.approx(1.0)
    assert st.tree_distance(three, MID_1, space=UNIT) == pytest.approx(1.0)


# -- models ---------------------------------------------------------------------------------


def test_models_that_are_no_tree(function: Callable[..., Any], tmp_path: Path) -> None:
    X, y = load_iris(return_X_y=True)
    good = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    forest = RandomForestClassifier(n_estimators=2, random_state=0).fit(X, y)
    for a, b, error, message in (
        (good, DecisionTreeClassifier(), NotFittedTreeError, "DecisionTreeClassifier before fit"),
        (DecisionTreeRegressor(), good, NotFittedTreeError, "DecisionTreeRegressor before fit"),
        (forest, good, UnsupportedModelError, "RandomForestClassifier of 2; pass tree_index="),
        (good, None, UnsupportedModelError, "got NoneType"),
        (good, str(tmp_path / "none.json"), TreeFormatError, "got No such file"),
    ):
        with pytest.raises(error, match=message):
            function(a, b, space=st.FeatureSpace.from_data(X, y))


def test_lists_of_trees() -> None:
    for single in (MID_1, "tree.json", 3):
        with pytest.raises(InputError, match="expected a list of trees as A, got"):
            st.pairwise_tree_distances(single, space=UNIT)  # type: ignore[arg-type]
    with refuses(InputError, "distance: a tree for a list"):
        st.pairwise_tree_distances([MID_1], MID_2, space=UNIT)  # type: ignore[arg-type]
    assert st.pairwise_tree_distances([], space=UNIT).shape == (0, 0)
    assert st.pairwise_tree_distances([MID_1], [], space=UNIT).shape == (1, 0)
    assert st.pairwise_tree_distances([], [MID_1, MID_2], space=UNIT).shape == (0, 2)
    matrix = st.pairwise_tree_distances((tree for tree in (MID_1, MID_2)), space=UNIT)  # type: ignore[arg-type]
    np.testing.assert_allclose(matrix, [[0.0, 1.0], [1.0, 0.0]])
