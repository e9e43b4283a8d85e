"""One-hot columns become category sets again, with the same predictions."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import steadytree as st
from steadytree.exceptions import InputError
from tests.golden import build

COLOURS = ("blue", "green", "red")
GROUP = {"colour": [f"colour_{c}" for c in COLOURS]}


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
    tree = st.as_tree(fitted, one_hot=GROUP)
    assert tree.feature_names == ("age", "colour")
    assert tree.categories == (None, COLOURS)
    np.testing.assert_array_equal(tree.apply(raw), fitted.apply(coded))
    np.testing.assert_array_equal(tree.predict(raw), fitted.predict(coded))
    # A category nobody has seen has no column set: all zeros.
    unknown = raw.assign(colour="violet")
    np.testing.assert_array_equal(
        tree.apply(unknown), fitted.apply(coded.assign(**dict.fromkeys(GROUP["colour"], 0.0)))
    )


def test_categories_with_their_own_values() -> None:
    raw, coded, y = table(1)
    codes = {"blue": 10, "green": 20, "red": 30}
    fitted = DecisionTreeClassifier(max_depth=4, random_state=0).fit(coded, y)
    tree = st.as_tree(fitted, one_hot={"shade": {f"colour_{c}": n for c, n in codes.items()}})
    numbered = raw.assign(shade=raw["colour"].map(codes)).drop(columns="colour")
    np.testing.assert_array_equal(tree.predict(numbered), fitted.predict(coded))


def test_groups_of_the_space_are_recombined_by_themselves() -> None:
    raw, coded, y = table(2)
    space = st.FeatureSpace.from_data(
        raw, y, one_hot={"colour": {f"colour_{c}": c for c in COLOURS}}
    )
    a = DecisionTreeClassifier(max_depth=3, random_state=0).fit(coded, y)
    b = DecisionTreeClassifier(max_depth=4, random_state=0).fit(coded[::2], y[::2])
    combined = [st.as_tree(model, one_hot=GROUP) for model in (a, b)]
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
    trees = [st.as_tree(tree, one_hot=GROUP) for tree in (red, red_or_blue)]
    # not red {b, g} - {g}: 1/3; {r} = {r}; {b} alone: w = 1/3
    assert st.tree_distance(*trees, space=space) == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("threshold", "left"), [(0.5, (0, 1)), (-0.5, ()), (1.0, (0, 1, 2)), (0.0, (0, 1))]
)
def test_any_threshold_on_a_column(threshold: float, left: tuple[int, ...]) -> None:
    names = ("colour_blue", "colour_green", "colour_red")
    tree = st.as_tree(build((2, threshold, "no", "yes"), 3, feature_names=names), one_hot=GROUP)
    assert tree.left_categories[0] == left


BAD: list[tuple[Any, str]] = [
    (
        {"colour": ["colour_black"]},
        "expected the columns of one-hot group 'colour' among the tree's features, "
        "got ['colour_black'], which it does not have",
    ),
    ({"colour": "colour_red"}, "expected a list of columns for one-hot group 'colour'"),
    ({"colour": []}, "expected distinct categories in one-hot group 'colour', got []"),
    (
        {"colour": {"colour_red": "x", "colour_blue": "x"}},
        "expected distinct categories in one-hot group 'colour', got ['x', 'x']",
    ),
    (
        {"a": ["colour_red"], "b": ["colour_red"]},
        "expected 'colour_red' in one one-hot group, got it in two",
    ),
    ({"age": ["colour_red"]}, "expected a new name for the one-hot group, got 'age', a column"),
]


@pytest.mark.parametrize(("groups", "message"), BAD)
def test_bad_groups(groups: Any, message: str) -> None:
    _, coded, y = table(0)
    fitted = DecisionTreeClassifier(max_depth=2, random_state=0).fit(coded, y)
    with pytest.raises(InputError, match="^" + re.escape(message)):
        st.as_tree(fitted, one_hot=groups)


def test_names_are_needed() -> None:
    with pytest.raises(InputError, match="expected a tree with feature names to recombine"):
        st.as_tree(build((0, 0.5, "no", "yes")), one_hot=GROUP)
