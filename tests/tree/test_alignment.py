"""Trees and spaces are matched by name; where that fails the error names the culprits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import steadytree as st
from steadytree.exceptions import FeatureAlignmentError, InputError
from steadytree.tree.alignment import align_classes, align_tree, common_space
from tests.golden import UNIT, build
from tests.wording import refuses

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


# -- one-hot columns become category sets again, with the same predictions --------


COLOURS = ("blue", "green", "red")
GROUPED = st.FeatureSpace(
    lower=[-9, 0],
    upper=[9, 0],
    categories=(None, COLOURS),
    names=("age", "colour"),
    one_hot={"colour": {f"colour_{c}": c for c in COLOURS}},
)


def table(seed: int, n: int = 300) -> tuple[pd.DataFrame, pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    raw = pd.DataFrame({"age": rng.normal(size=n), "colour": rng.choice(COLOURS, n)})
    coded = pd.get_dummies(raw, columns=["colour"], dtype=float)
    y = (raw["colour"].isin(["red", "blue"]) ^ (raw["age"] > 0.3)) ^ (rng.random(n) < 0.1)
    return raw, coded, y.to_numpy()


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("model", [DecisionTreeClassifier, DecisionTreeRegressor])
def test_predictions_stay_the_same(seed: int, model: Any) -> None:
    raw, coded, y = table(seed)
    fitted = model(max_depth=5, random_state=0).fit(coded, y)
    tree = st.as_tree(fitted, space=GROUPED)
    assert tree.feature_names == ("age", "colour")
    assert tree.categories == (None, COLOURS)
    np.testing.assert_array_equal(tree.apply(raw), fitted.apply(coded))
    np.testing.assert_array_equal(tree.predict(raw), fitted.predict(coded))
    # A category nobody has seen has no column set: all zeros.
    unknown = raw.assign(colour="violet")
    np.testing.assert_array_equal(
        tree.apply(unknown), fitted.apply(coded.assign(**{f"colour_{c}": 0.0 for c in COLOURS}))
    )


def test_categories_with_their_own_values() -> None:
    raw, coded, y = table(1)
    codes = {"blue": 10, "green": 20, "red": 30}
    fitted = DecisionTreeClassifier(max_depth=4, random_state=0).fit(coded, y)
    shades = {f"colour_{c}": n for c, n in codes.items()}
    names, lists = ("age", "shade"), (None, tuple(codes.values()))
    space = GROUPED.replace(names=names, categories=lists, one_hot={"shade": shades})
    numbered = raw.assign(shade=raw["colour"].map(codes)).drop(columns="colour")
    tree = st.as_tree(fitted, space=space)
    np.testing.assert_array_equal(tree.predict(numbered), fitted.predict(coded))


def test_groups_of_the_space_are_recombined_by_themselves() -> None:
    raw, coded, y = table(2)
    space = st.FeatureSpace.from_data(
        raw, y, one_hot={"colour": {f"colour_{c}": c for c in COLOURS}}
    )
    a = DecisionTreeClassifier(max_depth=3, random_state=0).fit(coded, y)
    b = DecisionTreeClassifier(max_depth=4, random_state=0).fit(coded[::2], y[::2])
    combined = [st.as_tree(model, space=GROUPED) for model in (a, b)]
    assert st.as_tree(a, space=space).feature_names == ("age", "colour")
    distance = st.tree_distance(a, b, space=space)
    assert distance == pytest.approx(st.tree_distance(*combined, space=space), rel=1e-12)
    assert distance > 0


def test_recombined_sets_are_as_close_as_they_should_be() -> None:
    """{red} against {red, blue}: one category of three, not two unrelated columns."""
    names = ("colour_blue", "colour_green", "colour_red")
    red = build((2, 0.5, "no", "yes"), 3, feature_names=names)
    red_or_blue = build((2, 0.5, (0, 0.5, "no", "yes"), "yes"), 3, feature_names=names)
    space = st.FeatureSpace(
        lower=np.array([0.0]), upper=np.array([0.0]), categories=(COLOURS,), names=("colour",)
    )
    trees = [st.as_tree(tree, space=GROUPED) for tree in (red, red_or_blue)]
    # not red {b, g} - {g}: 1/3; {r} = {r}; {b} alone: w = 1/3
    assert st.tree_distance(*trees, space=space) == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("threshold", "left"), [(0.5, (0, 1)), (-0.5, ()), (1.0, (0, 1, 2)), (0.0, (0, 1))]
)
def test_any_threshold_on_a_column(threshold: float, left: tuple[int, ...]) -> None:
    names = ("colour_blue", "colour_green", "colour_red")
    tree = st.as_tree(build((2, threshold, "no", "yes"), 3, feature_names=names), space=GROUPED)
    assert tree.left_categories[0] == left


@pytest.mark.parametrize(
    "groups",
    [
        {"colour": {"colour_red": "x", "colour_blue": "x"}},
        {"a": {"colour_red": "red"}, "b": {"colour_red": "red"}},
    ],
)
def test_bad_groups(groups: Any) -> None:
    with pytest.raises(InputError, match="expected one-hot groups of distinct columns and cat"):
        GROUPED.replace(one_hot=groups)


def test_a_tree_over_other_one_hot_columns_is_refused() -> None:
    tree = build((0, 0.5, "no", "yes"), 1, feature_names=("colour_red",))
    with refuses(InputError, "tree: one-hot columns are lacking"):
        st.as_tree(tree, space=GROUPED)
    both = build((0, 0.5, "no", "yes"), 4, feature_names=(*GROUPED.one_hot["colour"], "colour"))
    with refuses(InputError, "tree: one-hot columns beside the feature"):
        st.as_tree(both, space=GROUPED)
    unnamed = build((0, 0.5, "no", "yes"))
    assert st.as_tree(unnamed, space=GROUPED).n_features == 2
