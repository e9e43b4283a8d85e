"""Nested conditions laid flat, and nested dictionaries: what a person writes, and what is wrong."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

import steadytree as st
from steadytree.exceptions import TreeFormatError
from steadytree.formats.files import nested_files
from steadytree.tree import nested
from steadytree.tree.decision import Decision
from steadytree.tree.nested import Branch, JsonObject, Leaf, Node, build_tree, read_scalars
from tests.foreign import probe_rows, random_tree
from tests.wording import refuses

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


def read(content: Any) -> st.Tree:
    return st.as_tree(content)


# -- conditions, laid flat --------------------------------------------------------


def test_parents_come_first_and_left_before_right() -> None:
    inner = Branch(
        feature=1, left=Leaf([1.0]), right=Leaf([2.0], 3.0), threshold=0, missing_left=False
    )
    root = Branch(feature=0, left=inner, right=Leaf([5.0]), threshold=1, missing_left=True)
    tree = build_tree(root, n_features=2)
    assert tree.children_left.tolist() == [1, 2, -1, -1, -1]
    assert tree.children_right.tolist() == [4, 3, -1, -1, -1]
    assert tree.missing_left.tolist() == [True, False, False, False, False]
    assert not tree.tells_unseen_from_missing
    # Sums and weighted means of what lies below.
    assert tree.weight.tolist() == [5, 4, 1, 3, 1]
    np.testing.assert_allclose(tree.value[:2, 0], [2.4, 1.75])
    assert tree.predict([[2, 0], [0, 1]]).tolist() == [5.0, 2.0]


def test_labels_that_are_given_stay_and_others_follow_their_shares() -> None:
    sides = {"left": Leaf([0.9, 0.1], label=1), "right": Leaf([0.8, 0.2])}
    root = Branch(feature=0, threshold=0, missing_left=True, **sides)
    assert build_tree(root, n_features=1, classes=("a", "b")).label.tolist() == [0, 1, 0]


def test_a_part_may_stand_in_several_places_within_bounds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(nested, "MAX_NODES", 10_000)
    node: Node = Leaf([0.0])
    for n_levels in range(1, 61):  # 2 to the 60th leaves
        node = Branch(feature=0, left=node, right=node, threshold=0, missing_left=True)
        if n_levels == 3:
            assert build_tree(node, n_features=1).n_leaves == 8
    with refuses(TreeFormatError, "tree: conditions with too many nodes"):
        build_tree(node, n_features=1)


# -- nested dictionaries ----------------------------------------------------------


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


def test_a_response() -> None:
    tree = read({"feature": "x", "threshold": "inf", "left": {"value": 1}, "right": {"value": 2.5}})
    assert tree.classes is None
    assert tree.predict([[7.0], [np.nan]]).tolist() == [1.0, 1.0]
    assert read({"value": 3}).n_features == 0


def test_columns_and_classes_in_an_order_of_ones_own() -> None:
    tree = read({"features": ["colour", "age", "size"], "classes": ["yes", "no"], "tree": BY_HAND})
    assert tree.feature_names == ("colour", "age", "size")
    assert tree.classes == ("yes", "no")
    row = pd.DataFrame({"age": [1], "colour": ["red"]})
    assert tree.predict_proba(row)[0].tolist() == [0.1, 0.9]


def test_classes_that_are_no_text() -> None:
    leaves = {"left": {"shares": {"0": 0.2, "1": 0.8}}, "right": {"shares": {"0": 1.0}}}
    tree = read({"classes": [0, 1], "tree": {"feature": "a", "threshold": 0, **leaves}})
    assert tree.predict([[-1], [1]]).tolist() == [1, 0]
    flags = read(
        {"feature": "a", "threshold": 0, "left": {"label": True}, "right": {"label": False}}
    )
    assert flags.classes == (False, True)


@pytest.mark.filterwarnings("ignore::steadytree.exceptions.OneDecisionWarning")
def test_a_label_kept_against_its_share_and_a_threshold() -> None:
    leaf = {"shares": {"no": 0.6, "yes": 0.4}}
    top = {"decision_threshold": 0.3, "tree": leaf}
    assert read(top).predict(np.zeros((1, 0))).tolist() == ["yes"]
    assert read({**top, "tree": {**leaf, "label": "no"}}).kept_against_share.tolist() == [True]
    assert read({**top, "positive": "no"}).decision.positive == "no"
    weighted = read({"class_weight": [1, 3], "tree": leaf})
    assert weighted.predict(np.zeros((1, 0))).tolist() == ["yes"]


@pytest.mark.filterwarnings("ignore::steadytree.exceptions.OneDecisionWarning")
def test_values_of_numpy_are_plain_values() -> None:
    condition = {
        "feature": np.str_("x"),
        "threshold": np.float32(0.5),
        "left": {"shares": {"a": np.float64(0.25), "b": 0.75}, "weight": np.int64(3)},
        "right": {"label": np.str_("b")},
    }
    assert read({"tree": condition, "classes": np.array(["a", "b"])}).classes == ("a", "b")


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


def test_policies_there_and_back() -> None:
    tree = random_tree(1).replace(decision=Decision(threshold=0.3, resolved=0), label=None)
    back = read(st.export_tree(tree, "dict"))
    assert back.decision == tree.decision
    weighted = random_tree(3, kind="multiclass").replace(
        decision=Decision(class_weight=(1, 2, 3)), label=None
    )
    assert read(st.export_tree(weighted, "dict")).decision == weighted.decision
    whole = random_tree(4, kind="regression", depth=0).replace(classes=None)
    assert read(st.export_tree(whole, "dict")).n_leaves == 1


LEAF = {"label": "a"}


def split(*but: str, **changes: Any) -> dict[str, Any]:
    whole = {"feature": "x", "threshold": 1, "left": LEAF, "right": {"label": "b"}, **changes}
    return {name: entry for name, entry in whole.items() if name not in but}


def by_set(categories: Any) -> dict[str, Any]:
    return split("threshold", categories=categories)


def around(**changes: Any) -> dict[str, Any]:
    return {"tree": split(), **changes}


WRONG: dict[str, Any] = {
    "side": split(left=3),
    "side below": split(right=split(left="no")),
    "misspelt": split(treshold=1),
    "misspelt around": around(colour=1),
    "no side": split("left"),
    "no feature": split("feature"),
    "neither": split("threshold"),
    "both": split(categories=["a"]),
    "threshold of text": split(threshold="high"),
    "threshold of a flag": split(threshold=True),
    "threshold NaN": split(threshold=float("nan")),
    "threshold huge": split(threshold=10**400),
    "missing": split(missing="up"),
    "missing as list": split(missing=["left"]),
    "feature by half": split(feature=1.5),
    "feature null": split(feature=None),
    "names and numbers": split(left=split(feature=0)),
    "weight": split(weight=-1),
    "weight infinite": split(left={"label": "a", "weight": "inf"}),
    "value beside classes": split(left={"value": 1}),
    "nothing": split(left={}),
    "value and label": split(left={"value": 1, "label": "a"}, right={"value": 2}),
    "label null": split(left={"label": None}),
    "label as list": split(left={"label": ["a"]}),
    "shares in sum": split(left={"shares": {"a": 0.5}}),
    "shares negative": split(left={"shares": {"a": 2, "b": -1}}),
    "shares as list": split(left={"shares": [1, 0]}),
    "shares of text": split(left={"shares": "all"}),
    "share of text": split(left={"shares": {"a": "most"}}),
    "shares without classes": {"shares": [0.5, 0.5]},
    "value infinite": {"value": "inf"},
    "value null": {"value": None},
    "another class": around(classes=["b"]),
    "classes of text": around(classes="ab"),
    "classes twice": around(classes=["a", "a", "b"]),
    "class null": around(classes=[None]),
    "classes of responses": {"tree": {"value": 1}, "classes": ["a"]},
    "threshold of responses": {"tree": {"value": 1}, "decision_threshold": 0.5},
    "decision threshold": around(decision_threshold=2),
    "class weight": around(class_weight=3),
    "class weight of one": around(class_weight=[1]),
    "positive": around(positive="c"),
    "precision": around(precision="float16"),
    "precision as number": around(precision=32),
    "features of text": around(features="x"),
    "feature unknown": around(features=["y"]),
    "feature as number": around(features=["x", 3]),
    "feature misspelt": around(features=[{"nom": "x"}]),
    "name as number": around(features=[{"name": 3}]),
    "names twice": around(features=["x", "x"]),
    "categories of text": around(features=[{"name": "x", "categories": "ab"}]),
    "number of a category": around(features=[{"name": "x", "categories": ["a"]}]),
    "number among categories": split(left=by_set(["u"])),
    "category list of text": by_set("red"),
    "category as list": by_set([[1]]),
    "no category": by_set([]),
}


@pytest.mark.parametrize("name", WRONG)
def test_errors_say_where(name: str) -> None:
    with refuses(TreeFormatError, f"tree: nested, {name}"):
        read(WRONG[name])


def test_a_node_below_itself_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nested_files, "MAX_NODES", 10_000)
    endless = split()
    endless["left"] = endless
    with refuses(TreeFormatError, "tree: nested, a node below itself"):
        read(endless)
    shared: dict[str, Any] = split()
    for _ in range(25):  # written out, two to the power of 25 nodes
        shared = split(left=shared, right=shared)
    with pytest.raises(TreeFormatError, match="at most 10,000 nodes"):
        read(shared)


def test_too_many_categories() -> None:
    with refuses(TreeFormatError, "tree: nested, too many categories"):
        read(by_set(list(range(250_001))))


# -- entries of a stranger's JSON -------------------------------------------------


def test_entries_of_every_kind() -> None:
    entries = {"a": {"b": [{"c": 1.5}]}, "n": 3, "z": None, "f": [1, "inf"], "t": [True]}
    top = JsonObject(entries, "")
    assert top.part("a").parts("b")[0].number("c") == 1.5
    assert top.whole("n", 4) == 3
    assert top.get("z", str, optional=True) is None
    assert top.floats("f") == [1.0, math.inf]
    assert top.bools("t") == [True]
    assert top.ints("n", [1, 2]) == [1, 2]
    assert read_scalars(["a", 1, True, {"float": "inf"}], "c") == ["a", 1, True, math.inf]


@pytest.mark.parametrize(
    ("name", "ask"),
    [
        ("no entry", lambda top: top.get("q", int)),
        ("no part", lambda top: top.part("n")),
        ("no parts", lambda top: top.parts("l")),
        ("infinite", lambda top: top.number("big")),
        ("a flag", lambda top: top.number("flag")),
        ("beyond", lambda top: top.whole("n", 3)),
        ("null", lambda top: top.floats("l")),
        ("large", lambda top: top.ints("l", [2**31])),
        ("no flag", lambda top: top.bools("l")),
        ("scalar", lambda top: read_scalars([{"float": "x"}], "c")),
        ("scalar list", lambda top: read_scalars([{"float": []}], "c")),
        ("no object", lambda top: JsonObject([], "")),
    ],
)
def test_entries_of_another_kind(name: str, ask: Any) -> None:
    top = JsonObject({"n": 3, "l": [None], "big": math.inf, "flag": True}, "top.")
    with refuses(TreeFormatError, f"tree: entry, {name}"):
        ask(top)
