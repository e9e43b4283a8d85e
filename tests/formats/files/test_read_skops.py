"""Files of skops: models that predict as before, and hostile ones refused before they are made."""

from __future__ import annotations

import io
import json
import os
import sys
import time
import zipfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from random import Random
from types import FunctionType
from typing import Any

import numpy as np
import pytest
import sklearn
import skops.io
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from sklearn.feature_selection import SelectFromModel, SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    KFold,
    TunedThresholdClassifierCV,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier

import steadytree as st
from steadytree.exceptions import (
    MissingDependencyError,
    SteadyTreeError,
    TreeFormatError,
)
from steadytree.formats.files.read_skops import TRUSTED
from steadytree.plugins import load_model
from tests.formats.boosted import assert_refused, outcome, probes, table
from tests.formats.contract import Case
from tests.formats.mutations import damage


def small(seed: int = 0, kind: Any = DecisionTreeClassifier, depth: int = 3) -> Any:
    frame = table(seed, categories=False)
    y = outcome(frame, "binary", seed)
    return kind(max_depth=depth, random_state=seed).fit(frame, y)


def save(model: Any, path: Path) -> Path:
    skops.io.dump(model, path)
    return path


def make_case(seed: int, folder: Path) -> Case:
    """Save a tree, a threshold around one, or boosting of one tree."""
    frame = table(seed, categories=seed % 5 == 4)
    kind = ("multiclass", "regression", "binary", "regression", "binary")[seed % 5]
    y = outcome(frame, kind, seed)
    model: Any = (
        DecisionTreeClassifier(max_depth=2 + seed % 4, random_state=seed),
        DecisionTreeRegressor(max_depth=2 + seed % 4, random_state=seed),
        FixedThresholdClassifier(DecisionTreeClassifier(max_depth=3), threshold=0.3),
        HistGradientBoostingRegressor(max_iter=1, loss=("squared_error", "poisson")[seed % 2]),
        HistGradientBoostingClassifier(max_iter=1),
    )[seed % 5]
    model.fit(frame, y)
    path = save(model, folder / f"{seed}.skops")
    rows = probes(st.as_tree(model), frame, seed)
    shares = model.predict_proba(rows) if hasattr(model, "classes_") else None
    return Case(path, rows, model.predict(rows), shares)


def sample_files(folder: Path) -> list[Path]:
    boosted = table(1)
    return [
        save(small(), folder / "tree.skops"),
        save(
            HistGradientBoostingClassifier(max_iter=1, max_leaf_nodes=4).fit(
                boosted, outcome(boosted, "binary", 1)
            ),
            folder / "boosted.skops",
        ),
    ]


TREE = DecisionTreeClassifier(max_depth=3, random_state=0)
COLUMNS = ColumnTransformer(
    [
        ("n", make_pipeline(SimpleImputer(), StandardScaler()), ["age", "visits"]),
        ("c", OneHotEncoder(min_frequency=3), ["colour"]),
    ]
)
NUMBERS = ColumnTransformer([("log", FunctionTransformer(np.log1p), ["income"])])


AROUND: dict[str, Any] = {
    "select": make_pipeline(COLUMNS, SelectKBest(k=4), TREE),
    "select from model": make_pipeline(
        COLUMNS, SelectFromModel(RandomForestClassifier(5, random_state=0)), TREE
    ),
    "log": make_pipeline(NUMBERS, TREE),
    "boosting": make_pipeline(COLUMNS, HistGradientBoostingClassifier(max_iter=1)),
    "search": GridSearchCV(
        make_pipeline(COLUMNS, TREE), {"decisiontreeclassifier__max_depth": [1, 2]}, cv=2
    ),
    "score": GridSearchCV(make_pipeline(COLUMNS, TREE), {}, scoring="f1", cv=KFold(3)),
    "threshold": TunedThresholdClassifierCV(make_pipeline(COLUMNS, TREE), cv=3),
    "forest": RandomForestClassifier(n_estimators=1, max_depth=3, random_state=0),
    "extra": ExtraTreeClassifier(max_depth=3, random_state=0),
}


@pytest.mark.parametrize("name", AROUND)
def test_a_file_and_its_model_are_one_tree(name: str, tmp_path: Path) -> None:
    frame, model = table(2), AROUND[name]
    y = outcome(frame, "binary", 2)
    frame["colour"] = frame["colour"].astype(object).fillna("none")
    if name in ("forest", "extra"):
        frame = frame[["age", "visits"]]
    model.fit(frame, y)
    path = save(model, tmp_path / "model.skops").rename(tmp_path / "unnamed")
    assert st.as_tree(path) == st.as_tree(model)
    np.testing.assert_array_equal(st.as_tree(path).predict(frame), model.predict(frame))
    assert type(load_model(path)) is type(model)
    np.testing.assert_array_equal(load_model(path).predict(frame), model.predict(frame))


# -- types that a file may name -------------------------------------------------------------------


@pytest.mark.parametrize("loader", TRUSTED)
def test_every_type_exists(loader: str) -> None:
    for name in TRUSTED[loader]:
        module, _, attribute = name.rpartition(".")
        if attribute == "NoneType" or name in ("numpy.ma.core.MaskedArray", "numpy.bool"):
            continue  # as older versions of numpy and skops write them
        if "successive_halving" in name:
            import_module("sklearn.experimental.enable_halving_search_cv")
        found = getattr(import_module(module), attribute)
        is_function = isinstance(found, (FunctionType, np.ufunc))
        assert is_function == (loader == "FunctionNode"), name


def test_nothing_that_runs_what_it_is_given() -> None:
    assert not {"MethodNode", "OperatorFuncNode", "ConstructorFromReduceNode"} & set(TRUSTED)
    names = {name for group in TRUSTED.values() for name in group}
    assert {name.partition(".")[0] for name in names} == {
        *("builtins", "collections", "functools", "numpy", "sklearn")
    }
    assert not names & {"builtins.eval", "builtins.exec", "builtins.getattr", "builtins.type"}


# -- what is refused ------------------------------------------------------------------------------


class Harmful:
    def __setstate__(self, state: Any) -> None:
        os.mkdir(state["where"])


def test_a_type_that_is_not_needed_is_named_and_not_made(tmp_path: Path) -> None:
    model = small()
    model.extra_ = Harmful()
    model.extra_.where = str(tmp_path / "made")
    path = save(model, tmp_path / "model.skops")
    with pytest.raises(TreeFormatError, match=r"got 'tests\.formats.*\.Harmful'"):
        st.as_tree(path)
    assert not (tmp_path / "made").exists()
    X = np.arange(20.0)[:, None]
    other = save(LogisticRegression().fit(X, X[:, 0] > 9), tmp_path / "model.skops")
    with pytest.raises(TreeFormatError, match="LogisticRegression"):
        st.as_tree(other)


def members_of(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def written(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return out.getvalue()


def npy(array: Any) -> bytes:
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def number(value: Any) -> dict[str, Any]:
    return {
        "__class__": "str",
        "__module__": "builtins",
        "__loader__": "JsonNode",
        "content": json.dumps(value),
    }


def change_nodes(key: str, at: int, value: int) -> Callable[[Any, dict[str, bytes]], None]:
    def edit(tree: Any, members: dict[str, bytes]) -> None:
        name = tree["content"]["content"]["nodes"]["file"]
        nodes = np.load(io.BytesIO(members[name]))
        nodes[key][at] = value
        members[name] = npy(nodes)

    return edit


def change_state(key: str, value: Any) -> Callable[[Any, dict[str, bytes]], None]:
    return lambda tree, members: tree["content"]["content"].update({key: value})


def change_argument(at: int, value: Any) -> Callable[[Any, dict[str, bytes]], None]:
    return lambda tree, members: tree["__reduce__"]["args"]["content"].__setitem__(at, value)


def announce(shape: str) -> Callable[[Any, dict[str, bytes]], None]:
    def edit(tree: Any, members: dict[str, bytes]) -> None:
        name = tree["content"]["content"]["values"]["file"]
        header = b"{'descr': '<f8', 'fortran_order': False, 'shape': %s, }" % shape.encode()
        members[name] = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(8)

    return edit


@pytest.mark.parametrize(
    ("edit", "match"),
    [
        (change_state("node_count", number(10**9)), "a table of 1000000000 nodes"),
        (change_state("node_count", number("3")), "a tree as skops writes it"),
        (change_state("nodes", number(3)), "a tree as skops writes it|in the archive, got none"),
        (change_argument(2, number(10**8)), "classes of 100000000 outputs"),
        (change_argument(0, number(1)), "expected feature in"),
        (change_argument(0, number(-5)), "1 to 200,000 features"),
        (change_nodes("left_child", 0, 10**6), "expected a child in"),
        (change_nodes("left_child", 0, 2**40), "expected a child in"),
        (change_nodes("right_child", 0, 0), "a cycle or two parents"),
        (change_nodes("feature", 0, 10**6), "expected feature in"),
        (announce("(1000000000000, 1, 2)"), "expected an array of numpy"),
        (announce("(-5, 1, 2)"), "expected an array of numpy"),
        (announce("(" + "1," * 2000 + ")"), "expected an array of numpy"),
        (announce("__import__('os')"), "expected an array of numpy"),
    ],
)
def test_trees_that_native_code_would_stumble_over(
    edit: Callable[[Any, dict[str, bytes]], None], match: str, tmp_path: Path
) -> None:
    path = save(small(), tmp_path / "model.skops")
    members = members_of(path)
    schema = json.loads(members["schema.json"])
    tree = schema["content"]["content"]["tree_"]
    edit(tree, members)
    members["schema.json"] = json.dumps(schema).encode()
    assert_refused(path, written(members), match)


def test_a_reference_does_not_replace_what_was_checked(tmp_path: Path) -> None:
    path = save(small(), tmp_path / "model.skops")
    members = members_of(path)
    schema = json.loads(members["schema.json"])
    content = schema["content"]["content"]
    right = content["tree_"]["content"]["content"]["node_count"]
    # Met first, and with the same number: skops would take it for the right one.
    content["criterion"] = {**number(10**9), "__id__": right["__id__"]}
    members["schema.json"] = json.dumps(schema).encode()
    path.write_bytes(written(members))
    assert st.as_tree(path) == st.as_tree(small())


def change_schema(path: Path, **changes: Any) -> bytes:
    members = members_of(path)
    schema = {**json.loads(members["schema.json"]), **changes}
    return written({**members, "schema.json": json.dumps(schema).encode()})


def test_archives_that_are_none(tmp_path: Path) -> None:
    path = save(small(), tmp_path / "model.skops")
    content, members = path.read_bytes(), members_of(path)
    version = {"_sklearn_version": sklearn.__version__}
    nested: Any = number(1)
    for _ in range(220):
        kind = {"__class__": "list", "__module__": "builtins", "__loader__": "ListNode"}
        nested = {**kind, "content": [nested]}
    half = {**version, "tree_": 3, "n_outputs_": 1}
    changed = [
        *((change_schema(path, protocol=p), "protocol 1 or newer") for p in (0, None, "2")),
        (change_schema(path, protocol=999), "that skops can load"),
        (change_schema(path, __loader__="MethodNode"), "MethodNode"),
        (change_schema(path, content=number(version)), "got DecisionTreeClassifier before fit"),
        (change_schema(path, content=number(half)), "a whole DecisionTree"),
        (change_schema(path, content=nested), "that skops can load|a whole|before"),
    ]
    for broken, match in (
        (content[: len(content) // 2], "expected a zip archive"),
        (b"", "expected a zip archive"),
        (written({"a.npy": b""}), "an archive without"),
        (written({"schema.json": b"[]"}), "got list"),
        (written({"schema.json": members["schema.json"]}), "in the archive, got"),
        *changed,
    ):
        assert_refused(path, broken, match)


def test_without_skops_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = save(small(), tmp_path / "model.skops")
    monkeypatch.setitem(sys.modules, "skops.io", None)
    with pytest.raises(
        MissingDependencyError, match=r"Reading a .skops file .*steadytree\[skops\]"
    ):
        st.as_tree(path)


def test_bombs_are_weighed_before_they_are_opened(tmp_path: Path) -> None:
    path = tmp_path / "bomb.skops"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in "abc":
            archive.writestr(name, bytes(100 * 2**20))
    started = time.perf_counter()
    with pytest.raises(TreeFormatError, match="268,435,456 bytes together, got 3 of 314,572,800"):
        st.as_tree(path)
    nested = b'{"protocol": 2, "content": ' + b"[" * 10_000_000
    assert_refused(path, written({"schema.json": nested}), "nested too deeply")
    assert time.perf_counter() - started < 3


def test_damaged_members_in_a_sound_archive(tmp_path: Path) -> None:
    """The checksums of an archive hide damage from the fuzz run; here they are right again."""
    rng = Random(0)
    found = set()
    for path in sample_files(tmp_path):
        members = members_of(path)
        for _ in range(150):
            name = rng.choice(["schema.json", *members])
            path.write_bytes(written({**members, name: damage(members[name], rng)}))
            try:
                found.add(type(st.as_tree(path)))
            except SteadyTreeError as error:
                found.add(type(error))
    assert {st.Tree, TreeFormatError} <= found
