"""Trees and spaces are matched by name; where that fails the error names the culprits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import steadytree as st
from steadytree.exceptions import FeatureAlignmentError
from steadytree.tree.alignment import align_classes, align_tree, common_space
from tests.golden import UNIT, build

AB = UNIT.replace(names=("a", "b"))


def test_features_by_name() -> None:
    tree = build((0, 0.5, "no", "yes"), feature_names=("b", "a"))
    assert align_tree(tree, AB).feature.tolist() == [1, -1, -1]
    # Without names on one side, by position.
    assert align_tree(tree, UNIT).feature.tolist() == [0, -1, -1]
    unnamed = build((0, 0.5, "no", "yes"))
    assert align_tree(unnamed, AB).feature.tolist() == [0, -1, -1]


def test_a_tree_over_some_of_the_features() -> None:
    tree = build((0, 0.5, "no", "yes"), 1, feature_names=("b",))
    assert align_tree(tree, AB).feature.tolist() == [1, -1, -1]
    with pytest.raises(FeatureAlignmentError, match="expected a tree over 2 features like the spa"):
        align_tree(build((0, 0.5, "no", "yes"), 1), AB)


def test_a_tree_over_other_features() -> None:
    tree = build((0, 0.5, "no", "yes"), feature_names=("a", "weight"))
    with pytest.raises(
        FeatureAlignmentError,
        match="expected features of the space 'a', 'b', got a tree with 'weight' as well",
    ):
        align_tree(tree, AB)


def test_long_lists_are_cut_short() -> None:
    names = tuple(f"n{i}" for i in range(50))
    tree = build("no", 50, feature_names=names)
    with pytest.raises(FeatureAlignmentError, match=r"'n7' and 42 more as well"):
        align_tree(tree, AB)


def test_categories_by_value() -> None:
    space = st.FeatureSpace(
        lower=np.array([0.0]),
        upper=np.array([0.0]),
        categories=(("red", "green", "blue"),),
        can_be_missing=np.array([True]),
    )
    tree = build((0, (0,), "no", "yes", False), 1, categories=(("blue", "red"),))
    assert align_tree(tree, space).left_mask[0] == 0b0100
    # "green", which the tree has never met, travels with missing values (bit 3).
    tree = build((0, (0,), "no", "yes", True), 1, categories=(("blue", "red"),))
    assert align_tree(tree, space).left_mask[0] == 0b1110
    strange = build((0, (0,), "no", "yes"), 1, categories=(("violet", "red"),))
    with pytest.raises(
        FeatureAlignmentError,
        match="expected categories 'red', 'green', 'blue' of feature 'x0', "
        "got a tree that knows 'violet' as well",
    ):
        align_tree(strange, space)


def test_numeric_here_categorical_there() -> None:
    space = st.FeatureSpace(
        lower=np.array([0.0]), upper=np.array([0.0]), categories=(("red", "green"),)
    )
    with pytest.raises(
        FeatureAlignmentError,
        match="expected feature 'x0' to be categorical as in the space, "
        "got a tree that treats it as numeric",
    ):
        align_tree(build((0, 0.5, "no", "yes"), 1), space)
    tree = build((0, (0,), "no", "yes"), 1, categories=(("red", "green"),))
    with pytest.raises(FeatureAlignmentError, match="expected feature 'a' to be numeric"):
        align_tree(
            tree, st.FeatureSpace(lower=np.array([0.0]), upper=np.array([1.0]), names=("a",))
        )


def classes(*names: Any) -> st.Tree:
    return build((0, 0.5, names[0], names[-1]), classes=names)


def test_classes() -> None:
    assert align_classes([classes(0, 1), classes(1, 0)], UNIT) == (0, 1)
    assert align_classes([classes(0, 1), classes(1, 2)], UNIT) == (0, 1, 2)
    assert align_classes([classes(0, 1)], UNIT.replace(classes=(2, 1, 0))) == (2, 1, 0)
    assert align_classes([build(1.0, classes=None)], UNIT) is None
    with pytest.raises(FeatureAlignmentError, match="expected classes 0, 1 as in the space, got a"):
        align_classes([classes(0, 1), classes(1, 2)], UNIT.replace(classes=(0, 1)))
    with pytest.raises(FeatureAlignmentError, match="expected trees with classes in common, got 0"):
        align_classes([classes(0, 1), classes("no", "yes")], UNIT)
    with pytest.raises(FeatureAlignmentError, match="got classification and regression together"):
        align_classes([classes(0, 1), build(1.0, classes=None)], UNIT)


def test_the_space_stored_with_the_trees() -> None:
    bare = build((0, 0.5, "no", "yes"))
    with pytest.raises(
        FeatureAlignmentError,
        match=r"expected space=\.\.\., got none, .* pass space=FeatureSpace\.from_data",
    ):
        common_space([bare, bare], None)
    stored = bare.replace(space=UNIT)
    assert common_space([bare, stored], None) is UNIT
    other = bare.replace(space=UNIT.replace(upper=np.array([2.0, 1.0])))
    with pytest.raises(FeatureAlignmentError, match="got trees with different stored spaces"):
        common_space([stored, other], None)
    assert common_space([stored, other], UNIT) is UNIT
    # Distances between sets do not ask for an order.
    categories: dict[str, Any] = {"categories": (("a", "b", "c"), None)}
    plain, ordered = (
        bare.replace(space=UNIT.replace(**categories, ordered=flags))
        for flags in ([False, False], [True, False])
    )
    assert common_space([plain, ordered], None) is plain.space
    with pytest.raises(
        FeatureAlignmentError, match="expected space to be a FeatureSpace, got list"
    ):
        common_space([bare], [0, 1])  # type: ignore[arg-type]


def test_an_unnamed_space_takes_the_names_of_the_trees() -> None:
    named = build((0, 0.5, "no", "yes"), feature_names=("a", "b"))
    assert common_space([build("no"), named], UNIT).names == ("a", "b")
