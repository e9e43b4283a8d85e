"""Tree files: bit for bit there and back, and never a crash on a damaged one."""

from __future__ import annotations

import copy
import json
import math
from importlib.resources import files
from pathlib import Path
from random import Random
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as hs
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

import steadytree as st
from steadytree.exceptions import InputError, SteadyTreeWarning, TreeFormatError
from steadytree.tree.decision import Decision
from steadytree.tree.json import (
    FORMAT_VERSION,
    tree_from_dict,
    tree_to_dict,
)
from tests.golden import build
from tests.strategies import Kind, examples, random_space, random_tree, tree_collections
from tests.wording import refuses, warns

NUMBERS = hs.floats(allow_nan=False)


def tree_json_schema() -> dict[str, Any]:
    """The JSON Schema of the file format, as shipped in the package."""
    text = files("steadytree.tree").joinpath("tree.schema.json").read_text(encoding="utf-8")
    return dict(json.loads(text))


def rich_tree(seed: int = 0, *, regression: bool = False) -> st.Tree:
    """A tree that uses every field of the format."""
    rng = Random(seed)
    kind = Kind(regression=regression)
    space = random_space(rng, kind, n_features=6)
    tree = random_tree(rng, space, kind, n_leaves=8)
    return tree.replace(
        space=space.replace(one_hot={"g": {"g_1": 1, "g_2": "two"}}),
        impurity=np.linspace(0, 0.5, tree.n_nodes),
        metadata={"note": "für Ärzte", "list": [1, 2.5, None, {"deep": True}]},
        label=tree.label,
    )


def same_bits(a: st.Tree, b: st.Tree) -> bool:
    columns = ("threshold", "value", "weight", "impurity", "children_left", "feature", "label")
    for name in columns:
        x, y = getattr(a, name), getattr(b, name)
        if (x is None) != (y is None) or (x is not None and x.tobytes() != y.tobytes()):
            return False
    types_a, types_b = (
        [[type(v) for v in c or ()] for c in (*t.categories, t.classes)] for t in (a, b)
    )
    return types_a == types_b and a == b


# -- there and back ---------------------------------------------------------------


@examples(100)
@given(tree_collections(1, max_leaves=12), hs.data())
def test_round_trip_bit_for_bit(
    tmp_path_factory: pytest.TempPathFactory,
    collection: tuple[st.FeatureSpace, list[st.Tree]],
    data: hs.DataObject,
) -> None:
    space, (tree,) = collection
    numeric = np.isfinite(tree.threshold)
    threshold = tree.threshold.copy()
    threshold[numeric] = data.draw(
        hs.lists(NUMBERS, min_size=int(numeric.sum()), max_size=int(numeric.sum()))
    )
    names = tuple(
        data.draw(
            hs.lists(
                hs.text(max_size=5),
                min_size=tree.n_features,
                max_size=tree.n_features,
                unique=True,
            )
        )
    )
    tree = tree.replace(
        threshold=threshold,
        feature_names=names,
        space=space.replace(names=names),
        metadata={
            "words": data.draw(hs.text(max_size=8)),
            "number": data.draw(NUMBERS.filter(math.isfinite)),
        },
        label=tree.label,
    )
    path = tmp_path_factory.mktemp("tree") / "tree.json"
    assert st.save_tree(tree, path) == path
    again = st.load_tree(path)
    assert same_bits(tree, again)
    assert again.space == tree.space
    assert dict(again.metadata) == dict(tree.metadata)
    json.loads(path.read_text(encoding="utf-8"), parse_constant=pytest.fail)


@pytest.mark.parametrize("regression", [False, True])
def test_every_field_survives(tmp_path: Path, regression: bool) -> None:
    for seed in range(20):
        tree = rich_tree(seed, regression=regression)
        assert same_bits(st.load_tree(st.save_tree(tree, tmp_path / "tree.json")), tree)


def test_special_numbers(tmp_path: Path) -> None:
    tree = build(
        (0, math.inf, (1, -math.inf, "no", "yes"), (0, -0.0, "no", (1, 5e-324, "no", "yes"))),
    )
    tree = tree.replace(
        impurity=[math.nan, math.inf, -math.inf, 0.1 + 0.2, -0.0, 1e308] + [0.0] * 3,
        label=tree.label,
    )
    again = st.load_tree(st.save_tree(tree, tmp_path / "tree.json"))
    assert again.threshold.tobytes() == tree.threshold.tobytes()
    assert again.impurity is not None
    assert tree.impurity is not None
    assert again.impurity.tobytes() == tree.impurity.tobytes()


@pytest.mark.parametrize(
    "values",
    [("a", "b"), (1, 2), (0.5, math.inf), (True, False), ("1", 1), (-1, 2**80), ("", "\u2028")],
)
def test_classes_and_categories_of_any_type(tmp_path: Path, values: tuple[Any, ...]) -> None:
    tree = build((0, (1,), values[0], values[1]), 1, classes=values, categories=(values,))
    again = st.load_tree(st.save_tree(tree, tmp_path / "tree.json"))
    assert again.classes == values
    assert again.categories == (values,)
    assert [type(c) for c in again.classes] == [type(v) for v in values]


def test_decisions_and_what_was_observed(tmp_path: Path) -> None:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = DecisionTreeClassifier(max_depth=3, class_weight={0: 1, 1: 3}, random_state=0)
    policy = Decision(threshold=0.3, positive=0, class_weight=(1, 3), origin="costs")
    tree = st.as_tree(model.fit(X, y), policy)
    path = st.save_tree(tree, tmp_path / "tree.json")
    again = st.load_tree(path)
    assert again == tree
    assert again.decision == policy
    assert again.observed is not None
    assert again.observed.rows()[0] == len(y)
    content = json.loads(path.read_text())
    content["nodes"]["observed"]["counts"] = [["x"]]
    with pytest.raises(TreeFormatError, match=r"nodes\.observed\.counts: expected numbers"):
        tree_from_dict(content)
    # Files of before hold neither.
    del content["nodes"]["observed"], content["decision"]
    early = tree_from_dict(content)
    assert (early.observed, early.decision) == (None, Decision(threshold=0.3, positive=1))


def test_a_fitted_model_with_its_space(tmp_path: Path) -> None:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = DecisionTreeClassifier(max_depth=6, random_state=0).fit(X, y)
    space = st.FeatureSpace.from_data(X, y)
    path = st.save_tree(st.as_tree(model, 0.37, space=space), tmp_path / "tree.json")
    again = st.load_tree(path)
    assert again.space == space
    assert again.decision_threshold == 0.37
    np.testing.assert_array_equal(again.apply(X), model.apply(X))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    # The space travels with the tree, so nothing else is needed.
    assert st.tree_distance(path, again) == 0.0


def test_the_file_says_who_wrote_it(tmp_path: Path) -> None:
    content = json.loads(st.save_tree(rich_tree(), tmp_path / "tree.json").read_text("utf-8"))
    assert content["written_with"]["steadytree"] == st.__version__
    assert {"python", "numpy", "scikit-learn"} <= set(content["written_with"])
    assert content["version"] == FORMAT_VERSION


@pytest.mark.parametrize("regression", [False, True])
def test_what_is_written_meets_the_schema(regression: bool) -> None:
    schema = tree_json_schema()
    checker = jsonschema.Draft202012Validator
    checker.check_schema(schema)
    assert schema["title"] == f"steadytree-tree, versions 1 to {FORMAT_VERSION}"
    assert schema["properties"]["version"]["enum"] == [*range(1, FORMAT_VERSION + 1)]
    for seed in range(20):
        checker(schema).validate(tree_to_dict(rich_tree(seed, regression=regression)))
    content = tree_to_dict(rich_tree())
    content["nodes"]["threshold"][0] = "infinite"
    assert not checker(schema).is_valid(content)


# -- refusing to write ------------------------------------------------------------


def test_categories_that_json_cannot_hold_are_named_as_such(tmp_path: Path) -> None:
    tree = build((0, (0,), "no", "yes"), n_features=1, categories=((b"a", b"b"),))
    with pytest.raises(InputError, match=r"^expected classes and categories that are text, .*b'a'"):
        st.save_tree(tree, tmp_path / "tree.json")


def test_what_json_cannot_hold_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "tree.json"
    with pytest.raises(InputError, match="expected metadata that JSON can hold"):
        st.save_tree(build("no", metadata={"when": object()}), path)
    with pytest.raises(InputError, match="expected metadata that JSON can hold"):
        st.save_tree(build("no", metadata={"x": math.nan}), path)
    with pytest.raises(InputError, match="expected metadata that JSON can hold"):
        st.save_tree(build("no", metadata={"x": "\ud800"}), path)
    with pytest.raises(InputError, match="expected classes and categories that are text"):
        st.save_tree(build("no", classes=("no", ("a", "tuple"))), path)
    with pytest.raises(
        InputError, match="expected a Tree, got str; convert the model with as_tree"
    ):
        st.save_tree("model", path)  # type: ignore[arg-type]
    assert not path.exists()


# -- damaged files ----------------------------------------------------------------


def load_text(tmp_path: Path, text: str) -> st.Tree:
    path = tmp_path / "tree.json"
    path.write_text(text, encoding="utf-8")
    return st.load_tree(path)


def refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(TreeFormatError, match=message) as info:
        load_text(tmp_path, text)
    assert "tree.json" in str(info.value)


def test_a_file_cut_off_anywhere(tmp_path: Path) -> None:
    text = json.dumps(tree_to_dict(rich_tree()))
    for cut in range(0, len(text) - 1, max(1, len(text) // 400)):
        refused(tmp_path, text[:cut], "expected JSON, got .* at line 1, column")


def changed(**changes: Any) -> str:
    """A tree file with some entries replaced; a dotted name reaches inside."""
    content = tree_to_dict(rich_tree())
    for dotted, value in changes.items():
        *way, last = dotted.split("__")
        inner = content
        for name in way:
            inner = inner[name]
        inner[last] = value
    return json.dumps(content)


DAMAGED: dict[str, str] = {
    "not JSON": "hello",
    "a list": "[]",
    "null": "null",
    "an empty object": "{}",
    "another format": '{"format": "xgboost"}',
    "newer": changed(version=FORMAT_VERSION + 1),
    "version 0": changed(version=0),
    "version as text": changed(version="1"),
    "version as flag": changed(version=True),
    "task": changed(task="ranking"),
    "no classes": changed(classes=None),
    "regression with classes": changed(task="regression"),
    "nodes": changed(nodes=[]),
    "no such child": changed(nodes__children_left=[9999] + [-1] * 14),
    "text": changed(nodes__children_left=["a"]),
    "fraction": changed(nodes__feature=[0.5]),
    "huge index": changed(nodes__feature=[2**40]),
    "huge number": changed(nodes__threshold=[10**400]),
    "huge share": changed(nodes__value=[[10**400]]),
    "flag": changed(nodes__missing_left=[1]),
    "not a number": changed(nodes__weight=["many"]),
    "ragged": changed(nodes__value=[[1.0], [0.5, 0.5]]),
    "no rows": changed(nodes__value=[]),
    "count": changed(n_features=-1),
    "large count": changed(n_features=10**12),
    "names": changed(feature_names=["a", 1]),
    "class": changed(classes=[None, 1]),
    "bounds": changed(space__bounds=[[0.0]] * 6),
    "range": changed(space__response_range=[1.0]),
    "wrong range": changed(space__response_range=[2.0, 1.0]),
    "threshold": changed(decision_threshold="half"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_file_is_refused_with_what_and_where(tmp_path: Path, name: str) -> None:
    with refuses(TreeFormatError, f"tree: damaged file, {name}"):
        load_text(tmp_path, DAMAGED[name])


def test_a_cycle_in_a_file(tmp_path: Path) -> None:
    content = tree_to_dict(build((0, 0.5, (1, 0.5, "no", "yes"), "yes")))
    content["nodes"]["children_left"][1] = 0
    refused(
        tmp_path,
        json.dumps(content),
        "node 0: expected one way to reach it from the root, got a cycle",
    )


def test_invalid_numbers_of_other_writers(tmp_path: Path) -> None:
    for word in ("NaN", "Infinity", "-Infinity"):
        text = changed().replace('"version": 4', f'"version": {word}')
        refused(tmp_path, text, f"got the invalid JSON number {word}")
    refused(tmp_path, changed().replace('"version": 4', '"version": ' + "9" * 5000), "expected")
    refused(tmp_path, changed(nodes__weight=[1]).replace("[1]", "[1e999]"), "expected")


def test_deep_chains(tmp_path: Path) -> None:
    deep = 50_000
    n = 2 * deep + 1
    content = tree_to_dict(build("no"))
    split = [i % 2 == 0 and i < n - 1 for i in range(n)]
    content["nodes"] = {
        "children_left": [i + 1 if s else -1 for i, s in enumerate(split)],
        "children_right": [i + 2 if s else -1 for i, s in enumerate(split)],
        "feature": [0 if s else -1 for s in split],
        "threshold": [0.5] * n,
        "left_categories": [None] * n,
        "missing_left": [True] * n,
        "value": [[1.0, 0.0]] * n,
        "weight": [1.0] * n,
        "label": [0] * n,
        "impurity": None,
    }
    refused(tmp_path, json.dumps(content), "expected at most 1000 levels, got a deeper tree")
    million = 2_000_001
    content["nodes"]["children_left"] = [i + 1 if i % 2 == 0 else -1 for i in range(million)]
    refused(tmp_path, json.dumps(content), "nodes: expected at most 1,000,000 nodes")


def test_deeply_nested_json(tmp_path: Path) -> None:
    for nested in ("[" * 200_000, "[" * 200_000 + "]" * 200_000, '{"a":' * 100_000):
        refused(tmp_path, nested, "expected")
    inside = changed().replace('"note"', '"deep": ' + "[" * 50_000 + "]" * 50_000 + ', "note"')
    refused(tmp_path, inside, "expected")


def test_other_bytes(tmp_path: Path) -> None:
    path = tmp_path / "tree.json"
    path.write_bytes(b"\x80\x04\x95pickle")
    with pytest.raises(TreeFormatError, match="expected JSON in UTF-8, got other bytes at 0"):
        st.load_tree(path)
    path.write_bytes(np.random.default_rng(0).bytes(3000))
    with pytest.raises(TreeFormatError):
        st.load_tree(path)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(TreeFormatError, match="expected a readable tree file, got No such file"):
        st.load_tree(tmp_path / "none.json")
    with pytest.raises(TreeFormatError, match="expected a readable tree file, got a folder"):
        st.load_tree(tmp_path)


def places(value: Any, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a JSON document."""
    found = [way] if way else []
    if isinstance(value, dict):
        for key, inner in value.items():
            found += places(inner, (*way, key))
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            found += places(inner, (*way, i))
    return found


ODD: list[Any] = [
    None, True, False, 0, -1, 1, 7, 2**31, -(2**63), 10**400, 0.5, -0.0, 1e308, "", "x", "inf",
    "nan", "-inf", [], {}, [[]], [None], [0, 0], [-1] * 15, {"float": "inf"}, {"float": []},
    {"float": {}}, [[1.0, 0.0]] * 15, ["a"] * 6, [True] * 15, {"a": {"b": 1}}, "\ud800",
]  # fmt: skip


@pytest.mark.parametrize("seed", range(8))
def test_random_damage_gives_a_tree_or_a_format_error(seed: int) -> None:
    rng = Random(seed)
    original = tree_to_dict(rich_tree(seed, regression=seed % 2 == 1))
    where = places(original)
    read = 0
    for _ in range(500):
        content = copy.deepcopy(original)
        for _ in range(rng.choice([1, 1, 2, 4])):
            *way, last = rng.choice(where)
            inner: Any = content
            try:
                for step in way:
                    inner = inner[step]
                action = rng.random()
                if action < 0.1:
                    del inner[last]
                elif action < 0.2 and isinstance(inner, list):
                    inner.append(copy.deepcopy(rng.choice(ODD)))
                else:
                    inner[last] = copy.deepcopy(rng.choice(ODD))
            except (KeyError, IndexError, TypeError):
                continue  # an earlier change has taken this place away
        try:
            tree = tree_from_dict(json.loads(json.dumps(content)))
        except TreeFormatError:
            continue
        read += 1
        str(tree)
        assert tree.apply(np.full((2, tree.n_features), np.nan)).shape == (2,)
    assert 0 < read < 500


STORED = Path(__file__).parent / "stored"


@pytest.mark.parametrize("version", range(1, FORMAT_VERSION + 1))
def test_files_of_every_version_are_read(version: int) -> None:
    """Each was written by the steadytree of its day; they hold the same tree as far as it goes."""
    path = STORED / f"version_{version}.json"
    content = json.loads(path.read_text("utf-8"))
    assert content["version"] == version
    jsonschema.validate(content, tree_json_schema())
    if version == 2:
        assert "knots" in content["space"]
        with warns(SteadyTreeWarning, "tree: knots of an old file are left out"):
            tree = st.load_tree(path)
    else:
        tree = st.load_tree(path)
    assert tree.space is not None
    assert tree.space.ordered.tolist() == [False, False, False, version > 1]
    assert tree.tells_unseen_from_missing == (version > 2)
    now = st.load_tree(STORED / f"version_{FORMAT_VERSION}.json")
    names = ("feature_names", "categories", "classes", "decision", "metadata")
    assert [getattr(tree, name) for name in names] == [getattr(now, name) for name in names]
    assert tree.threshold.tobytes() == now.threshold.tobytes()
    assert tree.left_categories == now.left_categories
    np.testing.assert_array_equal(tree.value, now.value)
    np.testing.assert_array_equal(tree.space.upper, now.space.upper)  # type: ignore[union-attr]


def test_orders_survive_the_file(tmp_path: Path) -> None:
    space = st.FeatureSpace(
        lower=[0, 0],
        upper=[0, 1],
        categories=(("low", "medium", "high"), None),
        classes=("no", "yes"),
        ordered=[True, False],
    )
    tree = build((0, (0, 1), "no", "yes"), categories=space.categories).replace(space=space)
    path = st.save_tree(tree, tmp_path / "tree.json")
    again = st.load_tree(path)
    assert again == tree
    assert again.space is not None
    assert again.space.ordered.tolist() == [True, False]
    content = json.loads(path.read_text())
    content["space"]["ordered"] = [True, "yes"]
    with pytest.raises(TreeFormatError, match=r"space\.ordered\[1\]: expected true or false"):
        tree_from_dict(content)
