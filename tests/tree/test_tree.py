"""Trees are checked when built, never change, and predict as their rules say."""

from __future__ import annotations

import copy
import math
import pickle
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as hs
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import steadytree as st
from steadytree._io import MAX_DEPTH
from steadytree.exceptions import InputError, TreeFormatError
from steadytree.tree.checks import check_shape_of_tree
from steadytree.tree.decision import Decision
from steadytree.tree.observed import Observed
from steadytree.tree.tree import Tree, build_trees
from tests.golden import build
from tests.strategies import (
    Kind,
    examples,
    random_rows,
    random_space,
    random_tree,
    shuffled_copy,
    tree_collections,
)
from tests.wording import refuses

STUMP: dict[str, Any] = {
    "children_left": [1, -1, -1],
    "children_right": [2, -1, -1],
    "feature": [0, -1, -1],
    "threshold": [0.5, math.nan, math.nan],
    "value": [[0.5, 0.5], [1.0, 0.0], [0.0, 1.0]],
    "n_features": 2,
    "classes": ("no", "yes"),
}


def stump(**changes: Any) -> st.Tree:
    return st.Tree(**{**STUMP, **changes})


# -- checks -----------------------------------------------------------------------

BAD: dict[str, dict[str, Any]] = {
    "empty": {"children_left": [], "children_right": []},
    "cycle": {
        "children_left": [1, 3, -1, 1, -1],
        "children_right": [2, 4, -1, 4, -1],
        "feature": [0, 0, -1, 0, -1],
        "threshold": [0.5] * 5,
        "value": [[0.5, 0.5]] * 5,
    },
    "cycle apart from the root": {
        "children_left": [-1, 2, 1],
        "children_right": [-1, 3, 4],
        "feature": [-1, 0, 0],
    },
    "a loop the root never meets": {
        "children_left": [-1, 2, 1, -1, -1],
        "children_right": [-1, 3, 4, -1, -1],
        "feature": [-1, 0, 0, -1, -1],
        "threshold": [0.5] * 5,
        "value": [[0.5, 0.5]] * 5,
    },
    "back to the root": {
        "children_left": [1, 0, -1],
        "children_right": [2, 2, -1],
        "feature": [0, 0, -1],
    },
    "two parents": {"children_left": [1, -1, -1], "children_right": [1, -1, -1]},
    "unreachable": {"children_left": [-1, -1, -1], "children_right": [-1, -1, -1]},
    "one child": {"children_right": [-1, -1, -1]},
    "child out of range": {"children_right": [7, -1, -1]},
    "child below -1": {"children_left": [-5, -1, -1]},
    "feature out of range": {"feature": [2, -1, -1]},
    "no feature": {"feature": [-1, -1, -1]},
    "NaN threshold": {"threshold": [math.nan] * 3},
    "lengths": {"threshold": [0.5]},
    "text for numbers": {"threshold": ["a", "b", "c"]},
    "value shape": {"value": [[0.5, 0.5]]},
    "NaN value": {"value": [[0.5, 0.5], [math.nan, 0.0], [0.0, 1.0]]},
    "shares": {"value": [[0.5, 0.5], [1.0, 0.5], [0.0, 1.0]]},
    "negative shares": {"value": [[0.5, 0.5], [1.5, -0.5], [0.0, 1.0]]},
    "weight": {"weight": [1.0, -1.0, 2.0]},
    "names": {"feature_names": ("a", "a")},
    "number of names": {"feature_names": ("a",)},
    "classes": {"classes": ("no", "no")},
    "number of classes": {"classes": ("no",)},
    "no classes": {"classes": None},
    "label": {"label": [0, 0, 2]},
    "labels": {"label": [0, 0]},
    "decision threshold": {"decision": 1.5},
    "precision": {"precision": "float16"},
    "category lists": {"categories": (None,)},
    "no categories": {"categories": (None, ())},
    "the same category twice": {"categories": (None, ("a", "a"))},
    "set for a numeric feature": {"left_categories": ((0,), None, None)},
    "threshold for a categorical feature": {"categories": (("a", "b"), None)},
    "category code": {"categories": (("a", "b"), None), "left_categories": ((2,), None, None)},
    "labels of responses": {"classes": None, "value": [[1.0], [2.0], [3.0]], "label": [0, 1, 0]},
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_tree_is_refused_with_the_reason(name: str) -> None:
    with refuses(TreeFormatError, f"tree: bad, {name}"):
        stump(**BAD[name])


def test_a_tree_does_not_change() -> None:
    given = np.array([0.5, math.nan, math.nan])
    tree = stump(threshold=given, metadata={"who": "me"})
    given[0] = 99.0
    assert tree.threshold[0] == 0.5
    with pytest.raises(ValueError, match="read-only"):
        tree.threshold[0] = 1.0
    with pytest.raises(AttributeError):
        tree.n_features = 7  # type: ignore[misc]
    with pytest.raises(TypeError):
        tree.metadata["who"] = "you"  # type: ignore[index]


# -- labels -----------------------------------------------------------------------


def test_labels_follow_the_largest_share_and_ties_go_to_the_first_class() -> None:
    tree = stump()
    assert tree.label.tolist() == [0, 0, 1]
    assert tree.predict([[0.0, 0.0], [1.0, 0.0]]).tolist() == ["no", "yes"]


def test_a_decision_threshold_labels_where_the_share_reaches_it() -> None:
    tree = stump(value=[[0.9, 0.1], [0.95, 0.05], [0.8, 0.2]]).relabelled(0.2)
    assert tree.label.tolist() == [0, 0, 1]
    np.testing.assert_array_equal(tree.predict_proba([[0.0, 0.0]]), [[0.95, 0.05]])
    assert tree.relabelled(0.05).label.tolist() == [1, 1, 1]  # type: ignore[union-attr]
    with pytest.raises(InputError, match="expected two classes for a decision_threshold, got 3"):
        Decision(threshold=0.5).labels(np.full((1, 3), 1 / 3))


def test_a_label_kept_against_the_share_is_marked() -> None:
    tree = stump(label=[0, 1, 1])
    assert tree.kept_against_share.tolist() == [False, True, False]
    assert tree.predict([[0.0, 0.0]]).tolist() == ["yes"]
    assert tree.predict_proba([[0.0, 0.0]]).tolist() == [[1.0, 0.0]]
    assert tree.replace(metadata={}).kept_against_share.tolist() == [False, True, False]
    assert not tree.relabelled(None).kept_against_share.any()


# -- prediction -------------------------------------------------------------------


def walk(tree: st.Tree, row: list[Any]) -> int:
    """The leaf of one row of plain values, one question at a time."""
    node = 0
    while tree.children_left[node] >= 0:
        j = int(tree.feature[node])
        cats, value = tree.categories[j], row[j]
        assert tree.missing_left is not None
        if value is None or (cats is not None and value not in cats):
            left = bool(tree.missing_left[node])
        elif cats is not None:
            codes = tree.left_categories[node]
            assert codes is not None
            left = cats.index(value) in codes
        else:
            left = value <= tree.threshold[node]
        node = int(tree.children_left[node] if left else tree.children_right[node])
    return node


@pytest.mark.parametrize("seed", range(40))
def test_apply_answers_every_question(seed: int) -> None:
    rng = Random(seed)
    space = random_space(rng, Kind(outside=True))
    tree = random_tree(rng, space, Kind(outside=True), max_leaves=12)
    rows = random_rows(rng, space, 50)
    table = np.array(rows, dtype=object).reshape(50, -1)
    leaves = [walk(tree, row) for row in rows]
    assert tree.apply(table).tolist() == leaves
    assert tree.classes is not None
    assert tree.predict(table).tolist() == [tree.classes[tree.label[leaf]] for leaf in leaves]


def test_float32_trees_round_what_they_compare() -> None:
    threshold = float(np.float32(0.1))  # above 0.1 itself
    above = np.nextafter(threshold, 1)
    double, single = stump(threshold=[threshold, 0, 0]), None
    single = double.replace(precision="float32")
    assert double.predict([[above, 0]]).tolist() == ["yes"]
    assert single.predict([[above, 0]]).tolist() == ["no"]
    # A number too large for float32 is an infinity to it, and still larger.
    assert single.predict([[1e300, 0], [-1e300, 0]]).tolist() == ["yes", "no"]


def test_labels_of_several_types_stay_what_they_are() -> None:
    for classes in (("1", 1), (True, 5), ("a", 2.5)):
        tree = build((0, 0.5, *classes), classes=classes)
        found = tree.predict([[0.0, 0.0], [1.0, 0.0]]).tolist()
        assert found == list(classes)
        assert [type(c) for c in found] == [type(c) for c in classes]


def test_a_single_leaf_and_an_empty_table() -> None:
    leaf = build("no")
    assert leaf.depth == 0
    assert leaf.leaves.tolist() == [0]
    assert leaf.predict(np.zeros((3, 2))).tolist() == ["no"] * 3
    assert stump().apply(np.zeros((0, 2))).shape == (0,)


def test_probabilities_of_a_regression_tree_are_refused() -> None:
    tree = build((0, 0.5, 1.0, 2.0), classes=None)
    assert tree.predict([[0.0, 0.0], [1.0, 0.0]]).tolist() == [1.0, 2.0]
    with pytest.raises(InputError, match="expected a classification tree for predict_proba"):
        tree.predict_proba([[0.0, 0.0]])


# -- derived trees ----------------------------------------------------------------


@pytest.mark.parametrize("depth", range(7))
def test_truncate_makes_leaves_of_the_nodes_at_that_depth(depth: int) -> None:
    X, y = load_breast_cancer(return_X_y=True)
    model = DecisionTreeClassifier(max_depth=5, random_state=0).fit(X, y)
    tree = st.as_tree(model)
    cut = tree.truncate(depth)
    assert cut.depth == min(depth, 5)
    visited = model.decision_path(X).toarray().astype(bool)
    for row in range(0, len(X), 10):
        nodes = np.flatnonzero(visited[row])
        nodes = nodes[np.argsort(tree.node_depth[nodes])]
        last = nodes[min(depth, len(nodes) - 1)]
        np.testing.assert_array_equal(cut.predict_proba(X[row : row + 1])[0], tree.value[last])


def test_truncate_refuses_a_negative_depth() -> None:
    with pytest.raises(InputError, match="expected max_depth >= 0, got -1"):
        stump().truncate(-1)


def test_prune_at_keeps_labels_and_drops_what_is_below() -> None:
    tree = build((0, 0.5, (1, 0.5, "no", "yes"), "yes"))
    cut = tree.prune_at([1])
    assert cut.n_leaves == 2
    assert cut.predict([[0.2, 0.9], [0.9, 0.9]]).tolist() == ["no", "yes"]
    assert tree.prune_at() == tree


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_feature_importances_of_a_classifier(criterion: str) -> None:
    X, y = load_iris(return_X_y=True)
    model = DecisionTreeClassifier(criterion=criterion, random_state=0).fit(X, y)
    tree = st.as_tree(model)
    np.testing.assert_allclose(tree.feature_importances(), model.feature_importances_, rtol=1e-9)
    if criterion == "gini":  # the same from the shares alone
        np.testing.assert_allclose(
            tree.replace(impurity=None).feature_importances(), model.feature_importances_, rtol=1e-9
        )


def test_feature_importances_of_a_regressor() -> None:
    X, y = load_diabetes(return_X_y=True)
    model = DecisionTreeRegressor(max_depth=5, random_state=0).fit(X, y)
    tree = st.as_tree(model)
    np.testing.assert_allclose(tree.feature_importances(), model.feature_importances_, rtol=1e-9)
    # Without stored impurities the node values give the same: between children is what counts.
    bare = tree.replace(impurity=None).feature_importances()
    np.testing.assert_allclose(bare, model.feature_importances_, rtol=1e-9)


def test_feature_importances_of_a_single_leaf_are_zero() -> None:
    assert build("no").feature_importances().tolist() == [0.0, 0.0]


def test_a_tree_is_written_in_the_space_it_is_compared_in() -> None:
    space = st.FeatureSpace(
        lower=np.array([0.0, 0.0]),
        upper=np.array([1.0, 0.0]),
        categories=(None, ("a", "b", "c")),
        can_be_missing=np.array([False, True]),
        names=("x", "colour"),
    )
    # It met only "c" and "a", in that order, and sends missing values left.
    tree = st.Tree(
        children_left=[1, -1, -1],
        children_right=[2, -1, -1],
        feature=[0, -1, -1],
        threshold=[np.nan] * 3,
        left_categories=((0,), None, None),
        missing_left=[True, False, False],
        value=np.array([[1.0], [1.0], [1.0]]),
        n_features=1,
        feature_names=("colour",),
        categories=(("c", "a"),),
        classes=("yes",),
    )
    seen = tree.in_space(space, ("no", "yes"))
    assert seen.feature_names == ("x", "colour")
    assert seen.left_categories[0] == (1, 2)  # "c", and "b" which travels with missing
    assert seen.missing_left[0]
    assert seen.classes == ("no", "yes")
    assert seen.predict(pd.DataFrame({"x": [0.1], "colour": ["a"]})).tolist() == ["yes"]
    np.testing.assert_array_equal(seen.value[:, 0], 0)


# -- identity ---------------------------------------------------------------------


@examples(40)
@given(tree_collections(2))
def test_copies_are_equal_and_others_are_not(
    collection: tuple[st.FeatureSpace, list[st.Tree]],
) -> None:
    _, (a, b) = collection
    assert pickle.loads(pickle.dumps(a)) == a
    assert copy.deepcopy(a) == a
    assert (a == b) == (str(a.__reduce__()) == str(b.__reduce__()))
    assert a != "a tree"


def test_preorder_and_depths() -> None:
    tree = build((0, 0.5, (1, 0.5, "no", "yes"), "yes"))
    assert tree.preorder.tolist() == [0, 1, 2, 3, 4]
    assert tree.node_depth.tolist() == [0, 1, 2, 2, 1]
    assert tree.leaves.tolist() == [2, 3, 4]
    assert repr(tree) == "Tree(3 leaves, depth 2, 2 features, 2 classes)"
    assert tree.feature_labels == ("x0", "x1")


# -- categories never met -----------------------------------------------------------


def test_a_category_never_met_can_go_another_way_than_a_missing_value(tmp_path: Path) -> None:
    fields: dict[str, Any] = {
        "children_left": [1, -1, -1],
        "children_right": [2, -1, -1],
        "feature": [0, -1, -1],
        "threshold": [np.nan] * 3,
        "left_categories": ((0,), None, None),
        "value": [[1.5], [1.0], [2.0]],
        "n_features": 1,
        "categories": (("red", "blue"),),
        "feature_names": ("colour",),
        "missing_left": [True, False, False],
    }
    frame = pd.DataFrame({"colour": ["red", "blue", "pink", None]})
    together = st.Tree(**fields)
    assert together.predict(frame).tolist() == [1, 2, 1, 1]
    assert not together.tells_unseen_from_missing
    apart = st.Tree(**fields, unseen_left=[False, False, False])
    assert apart.predict(frame).tolist() == [1, 2, 2, 1]
    assert apart.tells_unseen_from_missing
    # A wider space makes it a category like any other, and it still goes the same way.
    space = st.FeatureSpace.from_data(frame)
    assert apart.in_space(space).predict(frame).tolist() == [1, 2, 2, 1]
    assert together.in_space(space).predict(frame).tolist() == [1, 2, 1, 1]
    for tree in (apart, together, apart.prune_at()):
        path = st.save_tree(tree, tmp_path / "tree.json")
        assert st.load_tree(path) == tree
        assert st.load_tree(path).predict(frame).tolist() == tree.predict(frame).tolist()


# -- arrays that are no tree are refused, the first bad node named ----------------


def chain(depth: int) -> dict[str, Any]:
    """A tree that goes down one side for so many levels."""
    n = 2 * depth + 1
    split = np.arange(n) % 2 == 0
    split[-1] = False
    at = np.arange(n)
    return {
        "children_left": np.where(split, at + 1, -1),
        "children_right": np.where(split, at + 2, -1),
        "feature": np.where(split, 0, -1),
        "threshold": np.zeros(n),
        "value": np.tile([1.0, 0.0], (n, 1)),
        "n_features": 1,
        "classes": (0, 1),
    }


def test_depth_is_bounded() -> None:
    assert st.Tree(**chain(MAX_DEPTH)).depth == MAX_DEPTH
    with pytest.raises(TreeFormatError, match=f"expected at most {MAX_DEPTH} levels, got a deeper"):
        st.Tree(**chain(MAX_DEPTH + 1))
    with pytest.raises(TreeFormatError, match="expected at most 1000 levels"):
        st.Tree(**chain(300_000))


@pytest.mark.parametrize("seed", range(20))
def test_any_numbering_of_a_tree_is_accepted(seed: int) -> None:
    rng = np.random.default_rng(seed)
    left, right = [-1], [-1]
    for _ in range(rng.integers(0, 12)):
        leaf = int(rng.choice(np.flatnonzero(np.array(left) == -1)))
        left[leaf], right[leaf] = len(left), len(left) + 1
        left += [-1, -1]
        right += [-1, -1]
    order = np.concatenate([[0], 1 + rng.permutation(len(left) - 1)])  # the root stays first
    place = np.argsort(order)

    def renumbered(side: list[int]) -> np.ndarray:
        old = np.array(side)[order]
        return np.where(old < 0, -1, place[old]).astype(np.int32)

    leaf = check_shape_of_tree(renumbered(left), renumbered(right))
    np.testing.assert_array_equal(leaf, np.array(left)[order] == -1)


# -- trees built together are those built one by one, and so are the complaints ---


NODES = (
    "children_left", "children_right", "feature", "threshold", "value", "weight",
    "missing_left", "label", "impurity",
)  # fmt: skip


def together(trees: list[Tree]) -> tuple[Any, ...]:
    """The arguments that give these trees."""
    first = np.cumsum([0, *(tree.n_nodes for tree in trees)])
    nodes = {name: np.concatenate([getattr(tree, name) for tree in trees]) for name in NODES}
    shared = {
        "n_features": trees[0].n_features,
        "classes": trees[0].classes,
        "feature_names": trees[0].feature_names,
        "precision": "float32",
    }
    return (
        first,
        nodes,
        shared,
        [{"observed": None, "metadata": {"k": k}} for k in range(len(trees))],
    )


def one_by_one(first: Any, nodes: Any, shared: Any, own: Any) -> list[Tree]:
    parts = [slice(*ends) for ends in pairwise(first.tolist())]
    return [
        Tree(**{name: column[part] for name, column in nodes.items()}, **shared, **fields)
        for part, fields in zip(parts, own, strict=True)
    ]


@examples(80)
@given(hs.randoms(use_true_random=False), hs.booleans(), hs.booleans())
def test_the_same_trees_as_one_by_one(rng: Random, regression: bool, shuffled: bool) -> None:
    kind = Kind(categorical=False, regression=regression)
    space = random_space(rng, kind)
    trees = [random_tree(rng, space, kind, max_leaves=9) for _ in range(4)]
    if shuffled:  # children need not come after their parents
        trees = [shuffled_copy(rng, tree, space) for tree in trees]
        names = sorted(trees[0].feature_names or ())
        trees = [tree.replace(feature_names=names) for tree in trees]
    arguments = together(trees)
    built = build_trees(*arguments)
    assert built == one_by_one(*arguments)
    for tree in built:
        assert tree == tree.replace()  # passes every check
        for name in NODES:
            assert not getattr(tree, name).flags.writeable
        assert tree.metadata["k"] in range(4)


@pytest.mark.parametrize(
    ("name", "at", "wrong", "words"),
    [
        ("children_left", 0, 9, "expected a child in"),
        ("children_left", 0, 0, "got a cycle or two parents"),
        ("children_right", 0, 1, "got a cycle or two parents"),
        ("children_right", 1, 2, "expected two children or none"),
        ("feature", 0, 3, "expected feature in"),
        ("threshold", 0, np.nan, "expected a threshold"),
        ("value", 1, [0.7, 0.7], "expected class shares"),
        ("value", 1, [np.inf, 0.0], "expected finite values"),
        ("weight", 2, -1.0, "expected a weight"),
        ("label", 2, 2, "expected a label"),
    ],
)
def test_what_is_wrong_is_said_as_for_one_tree(name: str, at: int, wrong: Any, words: str) -> None:
    good = Tree(
        children_left=np.array([1, -1, -1]),
        children_right=np.array([2, -1, -1]),
        feature=np.array([0, -1, -1]),
        threshold=np.array([0.5, np.nan, np.nan]),
        value=np.array([[0.5, 0.5], [1.0, 0.0], [0.0, 1.0]]),
        n_features=2,
        classes=("no", "yes"),
    )
    first, nodes, shared, own = together([good, good])
    assert build_trees(first, nodes, shared, own) == one_by_one(first, nodes, shared, own)
    nodes[name][3 + at] = wrong
    with pytest.raises(TreeFormatError, match=words):
        build_trees(first, nodes, shared, own)


# -- impurity of nodes and importance of features, against scikit-learn -----------


# -- what was observed is counted once, and predictions follow from it ------------


TWO = Observed(
    counts=np.array([[[6, 2], [1, 3]], [[0, 0], [0, 0]]]),
    weighted=np.array([[[12, 4], [2, 6]], [[0, 0], [0, 0]]]),
    steadied_by=np.array([[0.5, 0.5], [0.9, 0.1]]),
    strength=np.array([4.0, 0.0]),
)


def test_rows_and_rates() -> None:
    assert TWO.rows().tolist() == [12, 0]
    assert (TWO.rows("old").tolist(), TWO.rows("new").tolist()) == ([8, 0], [4, 0])
    assert TWO.rate()[0].tolist() == [7 / 12, 5 / 12]
    assert TWO.rate("new")[0].tolist() == [0.25, 0.75]
    assert np.isnan(TWO.rate()[1]).all()
    assert TWO.outcomes(1).tolist() == [5, 0]


def test_predictions_follow_from_the_weighted_rows() -> None:
    np.testing.assert_allclose(TWO.predicted()[0], [(14 + 2) / 28, (10 + 2) / 28])
    assert np.isnan(TWO.predicted()[1]).all()
    half = Observed(TWO.counts, TWO.weighted, TWO.steadied_by, TWO.strength, 0.5)
    np.testing.assert_allclose(half.predicted()[0], [(6 + 2 + 2) / 20, (2 + 6 + 2) / 20])
    assert half != TWO


def test_a_response() -> None:
    sums = np.array([[4.0, 10.0], [1.0, -2.0]])
    seen = Observed.plain(sums, sums, classifier=False)
    assert seen.rows("new").tolist() == [4, 1]
    assert seen.rate()[:, 0].tolist() == [2.5, -2.0]
    np.testing.assert_array_equal(seen.predicted(), seen.rate())


def test_some_nodes_and_further_classes() -> None:
    assert TWO.take(np.array([1])).rows().tolist() == [0]
    more = TWO.with_classes(np.array([0, 2]), 3)
    assert more.rate()[0].tolist() == [7 / 12, 0, 5 / 12]
    assert TWO.take(np.array([0, 1])) == TWO


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(TreeFormatError, match="shape"):
        Observed(np.zeros((1, 3, 2)), np.zeros((1, 3, 2)), np.zeros((1, 2)), np.zeros(1))
    with pytest.raises(TreeFormatError, match="one entry per node"):
        Observed(np.zeros((1, 2, 2)), np.zeros((1, 2, 2)), np.zeros((2, 2)), np.zeros(1))
    with pytest.raises(TreeFormatError, match="rows >= 0"):
        Observed(np.full((1, 2, 2), -1.0), np.zeros((1, 2, 2)), np.zeros((1, 2)), np.zeros(1))
    with pytest.raises(TreeFormatError, match="old_share"):
        Observed(np.zeros((1, 2, 2)), np.zeros((1, 2, 2)), np.zeros((1, 2)), np.zeros(1), 2.0)
