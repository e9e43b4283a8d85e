"""Trees as nested dictionaries: what a person writes, and what may be wrong with it."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

import steadytree as st
from steadytree._io import MAX_NODES
from steadytree.exceptions import TreeFormatError
from steadytree.tree.decision import Decision
from tests.foreign import probe_rows, random_tree

BY_HAND: dict[str, Any] = {
    "feature": "age",
    "threshold": 50,
    "missing": "right",
    "left": {"label": "no", "shares": {"no": 0.9, "yes": 0.1}, "weight": 120},
    "right": {
        "feature": "colour",
        "categories": ["red", "blue"],
        "unseen": "right",
        "left": {"label": "yes"},
        "right": {"label": "no"},
    },
}


def read(content: Any, **options: Any) -> st.Tree:
    return st.Tree.from_nested_dict(content, **options)


def test_what_a_person_writes() -> None:
    tree = read(BY_HAND)
    assert tree.feature_names == ("age", "colour")
    assert tree.classes == ("no", "yes")
    assert tree.categories == (None, ("red", "blue"))
    rows = pd.DataFrame(
        {"age": [50, 51, np.nan, np.nan, 60], "colour": ["red", "blue", "blue", "grey", None]}
    )
    # A side that says nothing of missing values sends them with the heavier one, here the left.
    assert tree.predict(rows).tolist() == ["no", "yes", "yes", "no", "yes"]
    np.testing.assert_allclose(tree.predict_proba(rows)[0], [0.9, 0.1])
    assert tree.weight.tolist() == [122, 120, 2, 1, 1]


def test_a_response_and_features_by_number() -> None:
    tree = read({"feature": 2, "threshold": "inf", "left": {"value": 1}, "right": {"value": 2.5}})
    assert tree.n_features == 3
    assert tree.feature_names is None
    assert tree.classes is None
    assert tree.predict([[0, 0, 7.0], [0, 0, np.nan]]).tolist() == [1.0, 1.0]
    assert read({"value": 3}).n_features == 0


def test_columns_and_classes_in_an_order_of_ones_own() -> None:
    tree = read(BY_HAND, feature_names=["colour", "age", "size"], classes=["yes", "no"])
    assert tree.feature_names == ("colour", "age", "size")
    assert tree.classes == ("yes", "no")
    assert tree.predict_proba(pd.DataFrame({"age": [1], "colour": ["red"]}))[0].tolist() == [
        0.1,
        0.9,
    ]


def test_classes_that_are_no_text() -> None:
    leaves = {"left": {"shares": [0.2, 0.8]}, "right": {"shares": {"0": 1.0}}}
    tree = read({"classes": [0, 1], "tree": {"feature": "a", "threshold": 0, **leaves}})
    assert tree.predict([[-1], [1]]).tolist() == [1, 0]
    flags = read(
        {"feature": "a", "threshold": 0, "left": {"label": True}, "right": {"label": False}}
    )
    assert flags.classes == (False, True)


def test_a_label_kept_against_its_share_and_a_threshold() -> None:
    leaf = {"shares": {"no": 0.6, "yes": 0.4}}
    top = {"decision_threshold": 0.3, "tree": leaf}
    assert read(top).predict(np.zeros((1, 0))).tolist() == ["yes"]
    assert read({**top, "tree": {**leaf, "label": "no"}}).kept_against_share.tolist() == [True]
    assert read({**top, "positive": "no"}).decision.positive == "no"
    weighted = read({"class_weight": [1, 3], "tree": leaf})
    assert weighted.predict(np.zeros((1, 0))).tolist() == ["yes"]


def test_values_of_numpy_are_plain_values() -> None:
    tree = read(
        {
            "feature": np.int64(0),
            "threshold": np.float32(0.5),
            "left": {"shares": np.array([0.25, 0.75]), "weight": np.int64(3)},
            "right": {"label": np.str_("b")},
        },
        classes=np.array(["a", "b"]),
    )
    assert tree.classes == ("a", "b")


@pytest.mark.parametrize("kind", ["binary", "multiclass", "regression"])
@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_there_and_back(kind: str, precision: str) -> None:
    for seed in range(6):
        tree = random_tree(seed, kind=kind, precision=precision, kept_labels=kind != "regression")
        back = read(json.loads(json.dumps(st.export_tree(tree, "dict"), allow_nan=False)))
        rows = probe_rows(tree, 2_000, seed)
        np.testing.assert_array_equal(back.predict(rows), tree.predict(rows))
        np.testing.assert_array_equal(back.value[back.apply(rows)], tree.value[tree.apply(rows)])
        np.testing.assert_array_equal(back.weight[back.apply(rows)], tree.weight[tree.apply(rows)])
        assert back.categories == tree.categories
        assert back.precision == precision


def test_policies_and_unnamed_columns_there_and_back() -> None:
    tree = random_tree(1).replace(decision=Decision(threshold=0.3, resolved=0), label=None)
    back = read(st.export_tree(tree, "dict"))
    assert back.decision == tree.decision
    unnamed = random_tree(2).replace(feature_names=None)
    again = read(st.export_tree(unnamed, "dict"))
    assert again.feature_names is None
    assert again.n_features == unnamed.n_features
    weighted = random_tree(3, kind="multiclass").replace(
        decision=Decision(class_weight=(1, 2, 3)), label=None
    )
    assert read(st.export_tree(weighted, "dict")).decision == weighted.decision
    whole = random_tree(4, kind="regression", depth=0).replace(classes=None)
    assert read(st.export_tree(whole, "dict")).n_leaves == 1


LEAF = {"label": "a"}


def split(**changes: Any) -> dict[str, Any]:
    return {"feature": "x", "threshold": 1, "left": LEAF, "right": {"label": "b"}, **changes}


def without(name: str) -> dict[str, Any]:
    return {k: v for k, v in split().items() if k != name}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([], "root: expected a condition or a leaf, got a list"),
        (None, "root: expected a condition or a leaf, got null"),
        (split(left=3), "root.left: expected a condition or a leaf, got a whole number"),
        (
            split(right=split(left="no")),
            "root.right.left: expected a condition or a leaf, got text",
        ),
        (split(treshold=1), "root: expected entries among .* got 'treshold' as well"),
        ({"tree": LEAF, "colour": 1}, "the tree: expected entries among .* got 'colour'"),
        (without("left"), "root: expected the entry 'left' in a condition, got none"),
        (without("feature"), "root: expected the entry 'feature'"),
        (without("threshold"), "root: expected a threshold or categories, got neither"),
        (split(categories=["a"]), "root: expected a threshold or categories, got both"),
        (split(threshold="high"), "root: expected a number as threshold, got 'high'"),
        (split(threshold=True), "root: expected a number as threshold"),
        (split(threshold=float("nan")), "root: expected a number as threshold, got NaN"),
        (split(threshold=10**400), "root: expected a number as threshold, got a huge one"),
        (split(missing="up"), 'root: expected "left" or "right" as missing, got \'up\''),
        (split(missing=["left"]), 'root: expected "left" or "right" as missing, got a list'),
        (split(unseen="left"), "root: expected no unseen categories of a number"),
        (split(feature=1.5), "root: expected the name or number of a feature, got 1.5"),
        (split(feature=None), "root: expected the name or number of a feature, got null"),
        (split(feature=-1), r"root: expected a feature in \[0, 200000\), got -1"),
        (split(feature=10**9), r"root: expected a feature in \[0, 200000\)"),
        (split(left=split(feature=0)), "expected features that are all names or all numbers"),
        (split(weight=-1), "root: expected a weight of 0 or more, got -1"),
        (split(left={"label": "a", "weight": "inf"}), "root.left: expected a weight of 0 or more"),
        (split(left={"value": 1}), "expected leaves of one kind, got a value beside classes"),
        (split(left={}), "root.left: expected a value, or shares or a label, got"),
        (split(left={"value": 1, "label": "a"}), "root.left: expected a value, or shares or a"),
        (split(left={"label": None}), "root.left: expected shares or a label, got neither"),
        (split(left={"label": ["a"]}), r"root.left.label\[0\]: expected text or a number"),
        (
            split(left={"shares": {"a": 0.5}}),
            "root.left: expected shares of 0 or more that sum to 1",
        ),
        (split(left={"shares": {"a": 2, "b": -1}}), "root.left: expected shares of 0 or more"),
        (split(left={"shares": [1, 0, 0]}), "root.left: expected one share for each of 1 classes"),
        (split(left={"shares": "all"}), "root.left: expected one share for each"),
        (
            split(left={"shares": {"a": "most"}}),
            "root.left: expected a number as share, got 'most'",
        ),
        ({"shares": [0.5, 0.5]}, "root: expected classes by name where there is no list"),
        ({"value": "inf"}, "root: expected a finite value, got inf"),
        ({"value": None}, "root: expected a number as value, got null"),
        ({"tree": LEAF, "classes": ["b"]}, "root: expected one of the classes 'b', got 'a'"),
        ({"tree": LEAF, "classes": "ab"}, "classes: expected a list, got text"),
        ({"tree": LEAF, "classes": ["a", "a"]}, "expected 2 distinct classes"),
        ({"tree": LEAF, "classes": [None]}, r"classes\[0\]: expected text or a number, got null"),
        ({"tree": {"value": 1}, "classes": ["a"]}, "classes: expected none beside leaves"),
        ({"tree": {"value": 1}, "decision_threshold": 0.5}, "expected no decision threshold"),
        ({"tree": split(), "decision_threshold": 2}, r"expected decision_threshold in \[0, 1\]"),
        ({"tree": split(), "class_weight": 3}, "decision: "),
        ({"tree": split(), "class_weight": [1]}, "expected 2 class weights"),
        ({"tree": split(), "positive": "c"}, "positive: expected one of the classes 'a', 'b'"),
        ({"tree": split(), "precision": "float16"}, "expected precision 'float32' or 'float64'"),
        ({"tree": split(), "precision": 32}, "precision: expected text, got a whole number"),
        ({"tree": split(), "features": "x"}, "features: expected a list, got text"),
        ({"tree": split(), "features": ["y"]}, "root: expected one of the features 'y', got 'x'"),
        (
            {"tree": split(), "features": ["x", {}]},
            "features: expected a name for each or for none",
        ),
        ({"tree": split(), "features": ["x", 3]}, r"features\[1\]: expected a name or an object"),
        ({"tree": split(), "features": [{"nom": "x"}]}, r"features\[0\]: expected entries among"),
        ({"tree": split(), "features": [{"name": 3}]}, r"features\[0\].name: expected text"),
        ({"tree": split(), "features": ["x", "x"]}, "expected 2 distinct feature names"),
        (
            {"tree": split(), "features": [{"name": "x", "categories": "ab"}]},
            r"features\[0\].categories: expected a list, got text",
        ),
        (
            {"tree": split(), "features": [{"name": "x", "categories": ["a"]}]},
            "root: expected categories: the feature has some",
        ),
        (
            {"tree": split(feature=3), "features": [{}]},
            r"root: expected a feature in \[0, 1\), got 3",
        ),
        (
            split(left={k: v for k, v in split(categories=["u"]).items() if k != "threshold"}),
            "root: expected categories, as in other conditions on the feature, got a number",
        ),
        (
            {k: v for k, v in split(categories="red").items() if k != "threshold"},
            "root: expected a list of categories, got text",
        ),
        (
            {k: v for k, v in split(categories=[[1]]).items() if k != "threshold"},
            r"root.categories\[0\]: expected text or a number, got a list",
        ),
        (
            {k: v for k, v in split(categories=[]).items() if k != "threshold"},
            "root: expected at least one category",
        ),
    ],
)
def test_errors_say_where(content: Any, message: str) -> None:
    with pytest.raises(TreeFormatError, match=message):
        read(content)


def test_a_node_below_itself_is_found() -> None:
    endless = split()
    endless["left"] = endless
    with pytest.raises(TreeFormatError, match="is a node below itself"):
        read(endless)
    shared: dict[str, Any] = split()
    for _ in range(25):  # written out, two to the power of 25 nodes
        shared = split(left=shared, right=shared)
    with pytest.raises(TreeFormatError, match=f"at most {MAX_NODES:,} nodes"):
        read(shared)


def test_too_many_features_and_categories() -> None:
    with pytest.raises(TreeFormatError, match="at most 1,000,000, got 1,000,001"):
        read({"tree": LEAF, "features": [{}] * 1_000_001})
    many = {**split(categories=list(range(250_001)))}
    del many["threshold"]
    with pytest.raises(TreeFormatError, match="root: expected at most 250,000 categories"):
        read(many)
