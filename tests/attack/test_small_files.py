"""Small files must not ask for long work, and whatever is wrong with one is said in a few words."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import steadytree as st
from steadytree._io import MAX_TEXT, MAX_UNLISTED_FEATURES
from steadytree.exceptions import InputError, TreeFormatError
from steadytree.tree.json import tree_to_dict

LONGEST_MESSAGE = 3_000


def stump() -> dict[str, Any]:
    """Return the content of a tree file with everything in it that a file can have."""
    tree = st.Tree(
        children_left=[1, -1, -1],
        children_right=[2, -1, -1],
        feature=[0, -1, -1],
        threshold=[0.5, 0, 0],
        value=[[0.5, 0.5], [0.9, 0.1], [0.2, 0.8]],
        classes=("no", "yes"),
        feature_names=("age", "colour"),
        categories=(None, ("red", "blue")),
        n_features=2,
        space=st.FeatureSpace(
            lower=[0.0, 0.0],
            upper=[1.0, 1.0],
            names=("age", "colour"),
            categories=(None, ("red", "blue")),
            classes=("no", "yes"),
        ),
        metadata={"note": "kept"},
    )
    return json.loads(json.dumps(tree_to_dict(tree)))


def without_lists(n_features: int) -> str:
    content = stump() | {"n_features": n_features, "feature_names": None, "categories": []}
    return json.dumps(content | {"space": None, "metadata": {}})


def test_a_few_bytes_that_declare_millions_of_features(tmp_path: Path) -> None:
    """What a file counts without listing it is kept in bounds, and everything done with it."""
    path = tmp_path / "tree.json"
    path.write_text(without_lists(2_000_000), encoding="utf-8")
    with pytest.raises(TreeFormatError, match=r"or 0 to 200,000 features, got 2000000"):
        st.as_tree(path)
    path.write_text(without_lists(MAX_UNLISTED_FEATURES), encoding="utf-8")
    st.as_tree(path)  # imports are not counted
    tracemalloc.start()
    try:
        tree = st.as_tree(path)
        assert "age" not in str(tree)
        assert tracemalloc.get_traced_memory()[1] < 64 * 2**20
    finally:
        tracemalloc.stop()


def test_listed_features_may_be_many(tmp_path: Path) -> None:
    names = [f"f{j}" for j in range(MAX_UNLISTED_FEATURES + 1)]
    content = stump() | {"n_features": len(names), "feature_names": names, "space": None}
    path = tmp_path / "tree.json"
    path.write_text(json.dumps(content | {"categories": []}), encoding="utf-8")
    assert st.load_tree(path).n_features == len(names)


LONG = "x" * 2_000_000
CHANGES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "long name": lambda c: c["feature_names"].__setitem__(0, LONG),
    "long category": lambda c: c["categories"][1].__setitem__(0, LONG),
    "long class": lambda c: c["classes"].__setitem__(0, LONG),
    "long format": lambda c: c.update(format=LONG),
    "long task": lambda c: c.update(task=LONG),
    "long precision": lambda c: c.update(precision=LONG),
    "long threshold": lambda c: c["nodes"].update(threshold=[LONG, 0, 0]),
    "long group": lambda c: c["space"].update(one_hot={LONG: 1}),
    "long origin of none": lambda c: c["decision"].update(origin=LONG, positive=7),
    "same name a lot": lambda c: c.update(feature_names=["a"] * 100_000),
    "same category a lot": lambda c: c["categories"].__setitem__(1, ["a"] * 100_000),
    "too many classes": lambda c: c.update(classes=[f"class {k}" for k in range(50_000)]),
    "codes": lambda c: c["nodes"].update(left_categories=[[9] * 100_000, None, None]),
    "big version": lambda c: c.update(version=10**4000),
    "big count": lambda c: c.update(n_features=10**4000),
    "big threshold": lambda c: c["nodes"].update(threshold=[10**4000, 0, 0]),
    "big bound": lambda c: c["space"]["bounds"].__setitem__(0, [0, 10**400]),
    "big label": lambda c: c["nodes"].update(label=[10**4000, 0, 0]),
    "big share": lambda c: c["nodes"]["value"].__setitem__(0, [10**400, 0]),
    "big positive": lambda c: c["decision"].update(positive=10**4000),
    "infinite share": lambda c: c["nodes"]["value"].__setitem__(0, ["inf", 0]),
    "NaN threshold": lambda c: c["nodes"].update(threshold=["nan", 0, 0]),
    "infinite bound": lambda c: c["space"]["bounds"].__setitem__(0, [0, "inf"]),
    "one feature twice": lambda c: c.update(feature_names=["a", "a"]),
    "one class twice": lambda c: c.update(classes=["a", "a"]),
    "one class as two kinds": lambda c: c.update(classes=[1, True]),
    "one category twice": lambda c: c["categories"].__setitem__(1, ["red", "red"]),
    "names of the space twice": lambda c: c["space"].update(names=["a", "a"]),
}


@pytest.mark.parametrize("what", CHANGES)
def test_whatever_is_wrong_is_said_in_a_few_words(what: str, tmp_path: Path) -> None:
    content = stump()
    CHANGES[what](content)
    path = tmp_path / "tree.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(TreeFormatError, match="expected") as error:
        st.as_tree(path)
    assert len(str(error.value)) < LONGEST_MESSAGE


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"task"', '"task": "regression", "task"', "once, got 'task' twice"),
        ('"kept"', '{"a": 1, "a": 2}', "once, got 'a' twice"),
        ('"age"', r'"\ud800"', "whole characters"),
        ('"kept"', r'"\udc00"', "whole characters"),
        ('"kept"', "1e400", "double precision, got 1e400"),
        ("[0.5, NaN, NaN]", "[1e999, 0, 0]", "double precision, got 1e999"),
        ('"kept"', "NaN", "the invalid JSON number NaN"),
        ('"kept"', "9" * 5000, "expected JSON of a model"),
        ('"kept"', "[" * 600 + "]" * 600, "at most 500 levels"),
    ],
    ids=map(str, range(9)),
)
def test_json_that_others_read_otherwise(old: str, new: str, message: str, tmp_path: Path) -> None:
    text = json.dumps(stump()).replace('[0.5, "nan", "nan"]', "[0.5, NaN, NaN]")
    assert old in text
    path = tmp_path / "tree.json"
    path.write_text(text.replace(old, new, 1).replace("NaN, NaN]", "0, 0]"), encoding="utf-8")
    with pytest.raises(TreeFormatError, match=message) as error:
        st.as_tree(path)
    assert len(str(error.value)) < LONGEST_MESSAGE


def deep(levels: int) -> dict[str, Any]:
    inner: dict[str, Any] = {}
    for _ in range(levels):
        inner = {"a": inner}
    return inner


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        (deep(100_000), "expected metadata of at most 500 levels"),
        ({"a": [10**5000]}, "expected metadata that JSON can hold"),
        ({"a": "\ud800"}, "expected metadata that JSON can hold"),
        ({"a": float("inf")}, "expected metadata that JSON can hold"),
        ({"a": object()}, "expected metadata that JSON can hold"),
        ({"a": {1: "x", "1": "y"}}, "names that differ as text"),
    ],
    ids=map(str, range(6)),
)
def test_what_could_not_be_read_again_is_not_written(
    metadata: dict[str, Any], message: str, tmp_path: Path
) -> None:
    tree = st.as_tree({"value": 1.0}).replace(metadata=metadata)
    with pytest.raises(InputError, match=message) as error:
        st.save_tree(tree, tmp_path / "tree.json")
    assert len(str(error.value)) < LONGEST_MESSAGE
    assert not list(tmp_path.iterdir())


def test_metadata_as_deep_as_allowed_comes_back(tmp_path: Path) -> None:
    tree = st.as_tree({"value": 1.0}).replace(metadata=deep(490))
    assert st.load_tree(st.save_tree(tree, tmp_path / "tree.json")) == tree


@pytest.mark.parametrize("name", ["\ud800", "y" * (MAX_TEXT + 1)])
def test_names_that_no_file_could_hold(name: str) -> None:
    with pytest.raises(InputError, match="expected feature names"):
        st.FeatureSpace(lower=[0.0], upper=[1.0], names=(name,))
    with pytest.raises(InputError, match="expected classes"):
        st.as_tree({"label": name})


def show(*arguments: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "steadytree", "show", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        **options,
    )


def test_the_command_line_opens_no_pipe_and_no_device(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in ("/dev/zero", "/dev/stdin", tmp_path / "pipe", tmp_path):
        done = show(path, stdin=subprocess.PIPE)
        assert done.returncode == 2
        assert "expected a readable tree file, got a" in done.stderr
        assert len(done.stderr) < LONGEST_MESSAGE
