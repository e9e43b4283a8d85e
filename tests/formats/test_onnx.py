"""ONNX models of other exporters, by hand and of our own, against onnxruntime."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pandas as pd
import pytest
from onnx import TensorProto, helper, numpy_helper
from skl2onnx import to_onnx
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import steadytree as st
from steadytree.exceptions import (
    InputError,
    MissingDependencyError,
    TreeFormatError,
    UnsupportedModelError,
)
from steadytree.formats.onnx.onnx_trees import encoder_codes
from steadytree.tree.nested import Branch, Leaf, build_tree
from tests.foreign import probe_rows, random_tree
from tests.formats.contract import Case
from tests.formats.odd_trees import bushy, chain, marked_tree, nasty_tree
from tests.wording import refuses

MISSING = "(missing)"


def feed(tree: st.Tree, rows: pd.DataFrame, dtype: Any, missing_text: str = MISSING) -> Any:
    """The rows as the inputs of a model with one per column."""
    columns = {}
    for name, cats in zip(tree.feature_labels, tree.categories, strict=True):
        values = rows[name].to_numpy(dtype=object)
        if cats is not None and isinstance(cats[0], str):
            cells = np.array([missing_text if v is None else v for v in values], dtype=object)
        else:
            other = {"neither": 2.0, None: np.nan}
            cells = np.array([other.get(v, v) for v in values], dtype=dtype)
        columns[name] = cells.reshape(-1, 1)
    return columns


def evaluate(model: bytes, inputs: Any) -> dict[str, Any]:
    onnx.checker.check_model(onnx.load_from_string(model), full_check=True)
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, inputs), strict=True))


def run(tree: st.Tree, rows: pd.DataFrame, folder: Path) -> tuple[Any, Any]:
    path = st.export_tree(tree, "onnx", folder / "tree.onnx", columns=True, missing_text=MISSING)
    dtype = np.float32 if tree.precision == "float32" else np.float64
    with np.errstate(over="ignore"):
        found = evaluate(path.read_bytes(), feed(tree, rows, dtype))
    if not tree.is_classifier:
        return found["variable"][:, 0], None
    return found["label"], found["probabilities"]


@pytest.mark.parametrize("input_type", ["float", "double"])
@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("columns", [False, True])
def test_either_type_of_number_is_exact(precision: str, input_type: str, columns: bool) -> None:
    for seed in range(3):
        tree = random_tree(seed, categorical=False, precision=precision, kept_labels=True)
        rows = probe_rows(tree, 4000, seed, singles=input_type == "float")
        rows.iloc[:4, 0] = [np.inf, -np.inf, 1e300, -1e300]
        dtype = np.float32 if input_type == "float" else np.float64
        with np.errstate(over="ignore"):
            table = rows.to_numpy().astype(dtype)
        inputs = {"X": table}
        if columns:
            inputs = {name: table[:, [j]] for j, name in enumerate(tree.feature_labels)}
        found = evaluate(
            st.export_tree(tree, "onnx", input_type=input_type, columns=columns), inputs
        )
        expected = tree.predict(table.astype(np.float64))
        np.testing.assert_array_equal(found["label"], expected)
        shares = tree.predict_proba(table.astype(np.float64)).astype(dtype)
        np.testing.assert_array_equal(found["probabilities"], shares)


def test_a_scikit_learn_tree_with_missing_values() -> None:
    X, y = make_classification(600, 6, random_state=3)
    rng = np.random.default_rng(0)
    X[rng.random(X.shape) < 0.2] = np.nan
    model = DecisionTreeClassifier(max_depth=7, random_state=0).fit(X, y)
    found = evaluate(st.export_tree(st.as_tree(model), "onnx"), {"X": X.astype(np.float32)})
    np.testing.assert_array_equal(found["label"], model.predict(X))
    assert found["label"].dtype == np.int64


@pytest.mark.parametrize(
    "classes",
    [(False, True), (3, -7), ("é", ""), (0.5, 2.25)],
    ids=["bool", "int", "text", "float"],
)
def test_classes_keep_their_type(classes: tuple[Any, ...]) -> None:
    tree = random_tree(1, categorical=False).replace(classes=classes)
    rows = probe_rows(tree, 500)
    label = evaluate(st.export_tree(tree, "onnx"), {"X": rows.to_numpy()})["label"]
    assert label.tolist() == tree.predict(rows).tolist()
    assert {type(v) for v in label.tolist()} == {type(classes[0])}


def test_a_single_leaf() -> None:
    tree = random_tree(0).truncate(0)
    rows = probe_rows(tree, 7)
    found = evaluate(
        st.export_tree(tree, "onnx", missing_text=MISSING), feed(tree, rows, np.float64)
    )
    np.testing.assert_array_equal(found["label"], tree.predict(rows))
    text = tree.replace(n_features=1, feature_names=("colour",), categories=(("red", "blue"),))
    found = evaluate(
        st.export_tree(text, "onnx"), {"colour": np.array([["red"], ["none"]], dtype=object)}
    )
    assert found["label"].shape == (2,)


def test_names_of_features_are_kept_apart_from_our_own() -> None:
    tree = random_tree(3).replace(
        feature_names=("steadytree_table", "steadytree", "b", "steadytree__leaf", "d", "e")
    )
    rows = probe_rows(tree, 200)
    found = evaluate(
        st.export_tree(tree, "onnx", missing_text=MISSING), feed(tree, rows, np.float64)
    )
    np.testing.assert_array_equal(found["label"], tree.predict(rows))


def test_what_it_tells_beside() -> None:
    tree = random_tree(0, categorical=False)
    model = onnx.load_from_string(st.export_tree(tree, "onnx"))
    assert model.producer_name == "steadytree"
    told = {entry.key: json.loads(entry.value) for entry in model.metadata_props}
    assert told["steadytree"] == {
        "feature_names": list(tree.feature_names),
        "missing_text": "",
        "classes": ["no", "yes"],
        "categories": [None, None, None],
    }


def test_what_cannot_be_written_is_refused() -> None:
    tree = random_tree(0)
    sizes = [(*tree.categories[:4], (1, 2, 3, 2**power + 1), (False, True)) for power in (24, 53)]
    mixed = (None, None, None, ("a", 1, "c", "d", "e"), *tree.categories[4:])
    wide = random_tree(0, kind="regression", categorical=False)
    told = {"missing_text": MISSING}
    given: dict[str, tuple[Any, dict[str, Any]]] = {
        "a missing text that is a category": (tree, {}),
        "categories in one table": (tree, {**told, "columns": False}),
        "no such input type": (tree, {**told, "input_type": "half"}),
        "categories of several kinds": (tree.replace(categories=mixed), told),
        "a whole number beyond doubles": (tree.replace(categories=sizes[1]), told),
        "a whole number beyond singles": (
            tree.replace(categories=sizes[0]),
            {**told, "input_type": "float"},
        ),
        "classes of several kinds": (tree.replace(classes=("no", 1)), told),
        "a response beyond singles": (
            wide.replace(value=np.where(wide.value < 0, -1e300, 1e300)),
            {"input_type": "float"},
        ),
    }
    for name, (one, options) in given.items():
        with refuses(InputError, f"onnx: {name}"):
            st.export_tree(one, "onnx", **options)


ML = "ai.onnx.ml"
MODES = ("LEQ", "LT", "GTE", "GT", "EQ", "NEQ")


def session(model: Any) -> Any:
    content = model if isinstance(model, bytes) else model.SerializeToString()
    return onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])


def model_of(nodes: Any, inputs: Any, outputs: Any, ml: int = 3, tables: Any = ()) -> Any:
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes, "g", [info(*i) for i in inputs], [info(*o) for o in outputs], list(tables)
    )
    opsets = [helper.make_opsetid("", 15), helper.make_opsetid(ML, ml)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def random_ensemble(
    seed: int, labels: int = 0, modes: Any = MODES, double: bool = False, depth: int = 4
) -> Any:
    """An ensemble of one tree by hand: every mode, missing values either way."""
    rng = np.random.default_rng(seed)
    kind = np.float64 if double else np.float32
    rows: list[dict[str, Any]] = []
    leaves: list[int] = []

    def grow(level: int) -> int:
        at = len(rows)
        rows.append({})
        if level == depth or (level > 1 and rng.random() < 0.2):
            rows[at] = {"mode": "LEAF", "true": 0, "false": 0, "x": 0, "t": 0.0, "missing": 0}
            leaves.append(at)
            return at
        mode = modes[int(rng.integers(len(modes)))]
        t = float(kind(rng.integers(-3, 4) if rng.random() < 0.5 else rng.normal()))
        rows[at] = {
            "mode": f"BRANCH_{mode}",
            "x": int(rng.integers(3)),
            "t": t,
            "missing": int(rng.integers(2)),
            "true": grow(level + 1),
            "false": grow(level + 1),
        }
        return at

    grow(0)
    prefix = "class" if labels else "target"
    per_leaf = labels if labels > 2 else 1
    weights = rng.dirichlet(np.ones(max(labels, 2)), len(leaves))[:, :per_leaf].ravel().astype(kind)
    wide = "_as_tensor" if double else ""
    store = (lambda v: numpy_helper.from_array(np.array(v, kind))) if double else list
    more: dict[str, Any] = {"n_targets": 1}
    if labels:
        more = {"classlabels_strings": [f"c{k}" for k in range(labels)]}
    node = helper.make_node(
        "TreeEnsembleClassifier" if labels else "TreeEnsembleRegressor",
        ["X"],
        ["label", "scores"] if labels else ["y"],
        domain=ML,
        nodes_treeids=[0] * len(rows),
        nodes_nodeids=list(range(len(rows))),
        nodes_featureids=[r["x"] for r in rows],
        nodes_modes=[r["mode"] for r in rows],
        nodes_truenodeids=[r["true"] for r in rows],
        nodes_falsenodeids=[r["false"] for r in rows],
        nodes_missing_value_tracks_true=[r["missing"] for r in rows],
        **{
            f"nodes_values{wide}": store([r["t"] for r in rows]),
            f"{prefix}_weights{wide}": store([float(w) for w in weights]),
            f"{prefix}_treeids": [0] * weights.size,
            f"{prefix}_nodeids": np.repeat(leaves, per_leaf).tolist(),
            f"{prefix}_ids": list(range(per_leaf)) * len(leaves),
        },
        **more,
    )
    number = TensorProto.DOUBLE if double else TensorProto.FLOAT
    outputs: Any = [("y", TensorProto.FLOAT, [None, 1])]
    if labels:
        outputs = [
            ("label", TensorProto.STRING, [None]),
            ("scores", TensorProto.FLOAT, [None, labels]),
        ]
    return model_of([node], [("X", number, [None, 3])], outputs)


def new_ensemble(seed: int, among: Any = (0, 1, 2, 3)) -> Any:
    """A TreeEnsemble of opset 5, with sets of values."""
    rng = np.random.default_rng(seed)
    n = 15  # a full tree of depth 4
    modes = rng.integers(0, 7, n).astype(np.uint8)
    members: list[float] = []
    for _ in range(int((modes == 6).sum())):
        members += [*rng.choice(among, 3, replace=False).tolist(), np.nan]
    sides = []
    for side in (1, 2):
        to = [2 * i + side for i in range(n)]
        sides.append(([t if t < n else t - n for t in to], [int(t >= n) for t in to]))
    tensor = numpy_helper.from_array
    extra = {"membership_values": tensor(np.array(members, np.float32))} if members else {}
    node = helper.make_node(
        "TreeEnsemble",
        ["X"],
        ["y"],
        domain=ML,
        n_targets=1,
        aggregate_function=1,
        post_transform=0,
        tree_roots=[0],
        nodes_modes=tensor(modes),
        nodes_featureids=rng.integers(0, 3, n).tolist(),
        nodes_splits=tensor(rng.integers(-3, 4, n).astype(np.float32)),
        nodes_truenodeids=sides[0][0],
        nodes_trueleafs=sides[0][1],
        nodes_falsenodeids=sides[1][0],
        nodes_falseleafs=sides[1][1],
        nodes_missing_value_tracks_true=rng.integers(0, 2, n).tolist(),
        leaf_targetids=[0] * (n + 1),
        leaf_weights=tensor(rng.normal(size=n + 1).astype(np.float32)),
        **extra,
    )
    return model_of(
        [node], [("X", TensorProto.FLOAT, [None, 3])], [("y", TensorProto.FLOAT, [None, 1])], ml=5
    )


def case_by_hand(seed: int, model: Any, path: Path, double: bool = False, n: int = 10_000) -> Case:
    path.write_bytes(model.SerializeToString())
    tree = st.as_tree(path)
    rows = probe_rows(tree, n, seed, singles=not double).to_numpy().copy()
    rows[:200] = np.random.default_rng(seed).integers(-4, 5, (200, 3))
    rows[:3, 0] = [np.inf, -np.inf, -0.0]
    found = session(model).run(None, {"X": rows.astype(np.float64 if double else np.float32)})
    if len(found) == 1:
        # The operator gives singles, whatever its weights are.
        return Case(path, rows, found[0][:, 0], tolerance=1e-7 if double else 0)
    return Case(path, rows, found[0], found[1], tolerance=1e-7)


def make_case(seed: int, folder: Path) -> Case:
    path = folder / f"{seed}.onnx"
    how, turn = seed % 4, seed // 4
    if how == 0:
        return _case_of_skl2onnx(turn, path)
    if how == 1:
        labels, double = (0, 2, 3)[turn % 3], turn % 2 == 0
        return case_by_hand(seed, random_ensemble(seed, labels, double=double), path, double)
    if how == 2:
        return case_by_hand(seed, new_ensemble(seed), path)
    kind = ("binary", "multiclass", "regression")[turn % 3]
    single = turn % 2 == 1
    tree = random_tree(
        seed, kind=kind, precision="float32" if single else "float64", kept_labels=turn % 3 != 2
    )
    st.export_tree(tree, "onnx", path, missing_text=MISSING)
    rows = probe_rows(tree, 10_000, seed)
    with np.errstate(over="ignore"):
        inputs = feed(tree, rows, np.float32 if single else np.float64)
    found = session(path.read_bytes()).run(None, inputs)
    # For numbers, "neither" is any other number.
    rows = rows.replace({"has_car": {"neither": 2.0}})
    if kind == "regression":
        return Case(path, rows, found[0][:, 0], leaves=tree.apply(rows))
    return Case(path, rows, found[0], found[1], leaves=tree.apply(rows))


def _case_of_skl2onnx(turn: int, path: Path) -> Case:
    rng = np.random.default_rng(turn)
    X = rng.normal(size=(400, 4)).astype(np.float32)
    score = X[:, 0] * X[:, 1] + rng.normal(size=400)
    labels: Any = (score > 0, np.digitize(score, [-1, 1]), np.where(score > 0, "yes", "no"), score)
    y = labels[turn % 4]
    kind = DecisionTreeRegressor if turn % 4 == 3 else DecisionTreeClassifier
    model = kind(max_depth=int(rng.integers(1, 8)), random_state=turn).fit(X, y)
    # Singles: with doubles skl2onnx 1.20 writes models that onnxruntime does not load.
    sample = X[:1]
    options = {} if turn % 4 == 3 else {"zipmap": turn % 2 == 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        content = to_onnx(model, sample, options={id(model): options}).SerializeToString()
    path.write_bytes(content)
    rows = probe_rows(st.as_tree(path), 10_000, turn, missing=False, singles=True).to_numpy()
    found = session(content).run(None, {"X": rows.astype(sample.dtype)})
    if turn % 4 == 3:
        return Case(path, rows, found[0][:, 0])
    shares = found[1]
    if isinstance(shares, list):
        shares = np.array([list(row.values()) for row in shares])
    return Case(path, rows, found[0], shares, tolerance=1e-7)


def sample_files(folder: Path) -> list[Path]:
    paths = []
    for name, model in (
        ("hand", random_ensemble(0, 3)),
        ("wide", random_ensemble(1, 0, double=True)),
        ("new", new_ensemble(2)),
        ("own", st.export_tree(random_tree(3, depth=3), "onnx", missing_text=MISSING)),
    ):
        paths.append(folder / f"{name}.onnx")
        paths[-1].write_bytes(model if isinstance(model, bytes) else model.SerializeToString())
    return paths


@pytest.mark.parametrize("kind", ["binary", "multiclass", "regression"])
@pytest.mark.parametrize("seed", range(4))
def test_what_we_write_comes_back(seed: int, kind: str) -> None:
    labels = kind != "regression"
    tree = random_tree(seed, kind=kind, kept_labels=labels)
    back = st.as_tree(onnx.load_from_string(st.export_tree(tree, "onnx", missing_text=MISSING)))
    assert back.feature_names == tree.feature_names
    rows = probe_rows(tree, 2000, seed, fresh={"has_car": 2})
    np.testing.assert_array_equal(back.predict(rows), tree.predict(rows))
    # Without splits that decide nothing, it is the same tree.
    tree = random_tree(seed, kind=kind, categorical=False, missing=False, kept_labels=labels)
    back = st.as_tree(onnx.load_from_string(st.export_tree(tree, "onnx")))
    inner = tree.replace(value=back.value, label=back.label if labels else None)
    assert back.replace(metadata={}) == inner
    np.testing.assert_array_equal(back.value[back.leaves], tree.value[tree.leaves])
    np.testing.assert_array_equal(back.label[back.leaves], tree.label[tree.leaves])


def test_one_column_has_no_name() -> None:
    tree = st.as_tree(stump(2, [0.7, 0.2], [0, 0]))
    assert tree.feature_names is None
    own = build_tree(
        Branch(feature=0, left=Leaf([1.0]), right=Leaf([2.0]), threshold=1.0, missing_left=True),
        n_features=1,
    )
    assert (
        st.as_tree(onnx.load_from_string(st.export_tree(own, "onnx"))).replace(metadata={}) == own
    )


@pytest.mark.parametrize("make", [marked_tree, nasty_tree, lambda: chain(300), lambda: bushy(8)])
def test_odd_trees_come_back(make: Any) -> None:
    tree = make()
    back = st.as_tree(onnx.load_from_string(st.export_tree(tree, "onnx")))
    rows = probe_rows(tree, 2000)
    assert back.feature_names == tree.feature_names
    assert back.predict(rows.to_numpy(dtype=object)).tolist() == tree.predict(rows).tolist()


def with_attributes(model: Any, **changed: Any) -> Any:
    """A copy of a model whose tree operator has other attributes."""
    other = onnx.ModelProto()
    other.CopyFrom(model)
    node = next(n for n in other.graph.node if n.op_type.startswith("TreeEnsemble"))
    kept = [a for a in node.attribute if a.name not in changed]
    del node.attribute[:]
    node.attribute.extend(kept)
    node.attribute.extend(
        helper.make_attribute(name, value) for name, value in changed.items() if value is not None
    )
    return other


def stump(labels: int, weights: Any, ids: Any, trees: int = 1, **more: Any) -> Any:
    """Trees of one split each, with these weights at their leaves."""
    each = len(ids) // (2 * trees)
    node = helper.make_node(
        "TreeEnsembleClassifier",
        ["X"],
        ["label", "scores"],
        domain=ML,
        nodes_treeids=[t for t in range(trees) for _ in range(3)],
        nodes_nodeids=[0, 1, 2] * trees,
        nodes_featureids=[0] * 3 * trees,
        nodes_modes=["BRANCH_LEQ", "LEAF", "LEAF"] * trees,
        nodes_truenodeids=[1, 0, 0] * trees,
        nodes_falsenodeids=[2, 0, 0] * trees,
        nodes_values=[0.0] * 3 * trees,
        class_ids=ids,
        class_weights=[float(w) for w in weights],
        class_treeids=[t for t in range(trees) for _ in range(2 * each)],
        class_nodeids=[n for _ in range(trees) for n in (1, 2) for _ in range(each)],
        classlabels_int64s=list(range(10, 10 + labels)),
        **more,
    )
    return model_of(
        [node],
        [("X", TensorProto.FLOAT, [None, 1])],
        [("label", TensorProto.INT64, [None]), ("scores", TensorProto.FLOAT, [None, labels])],
    )


@pytest.mark.parametrize(
    "model",
    [
        stump(2, [0.7, 0.2], [0, 0]),
        stump(2, [0.5, 0.50001], [0, 0]),
        stump(2, [0.7, 0.2], [0, 0], post_transform="LOGISTIC"),
        stump(2, [0.7, -0.2], [0, 0], post_transform="LOGISTIC"),
        stump(2, [0.7, -0.2], [0, 0], post_transform="LOGISTIC", base_values=[-0.6]),
        stump(2, [0.7, 0.2], [0, 0], base_values=[0.25]),
        stump(3, [0.2, 0.2, 0.6, 0.4, 0.4, 0.2], [0, 1, 2, 0, 1, 2]),
        stump(3, [2, -1, 0.5, 0, 1, 1], [0, 1, 2, 0, 1, 2], post_transform="SOFTMAX"),
        stump(3, [2, -1, 0, 0.5, 1, 1], [0, 1, 2, 0, 1, 2], post_transform="SOFTMAX_ZERO"),
        stump(3, [-2, -1], [0, 1], post_transform="SOFTMAX"),
        stump(3, [-2, -1], [0, 1], post_transform="SOFTMAX", base_values=[0.0, 0.5, 0.1]),
    ],
)
def test_scores_become_what_onnxruntime_makes_of_them(model: Any) -> None:
    X = np.array([[-1.0], [1.0], [np.nan]])
    label, shares = session(model).run(None, {"X": X.astype(np.float32)})
    tree = st.as_tree(model)
    np.testing.assert_array_equal(tree.predict(X), label)
    np.testing.assert_allclose(tree.predict_proba(X), shares, atol=1e-6)


@pytest.mark.parametrize("seed", range(6))
def test_sets_of_any_whole_numbers(seed: int) -> None:
    model = new_ensemble(seed, among=(-3, -1, 0, 2, 40, 100))
    X = np.random.default_rng(seed).choice([-3, -2, -1, 0, 1, 2, 3, 40, 41, 100, np.nan], (3000, 3))
    found = session(model).run(None, {"X": X.astype(np.float32)})[0][:, 0]
    np.testing.assert_array_equal(st.as_tree(model).predict(X), found)


def test_one_tree_of_a_forest_and_of_a_boosted_model() -> None:
    X, y = np.random.default_rng(0).normal(size=(200, 3)).astype(np.float32), np.arange(200) % 3
    for labels in (y, y % 2):
        forest = RandomForestClassifier(4, max_depth=3, random_state=0).fit(X, labels)
        model = to_onnx(forest, X[:1], options={"zipmap": False})
        with pytest.raises(UnsupportedModelError, match="got an ONNX model of 4; pass tree_index"):
            st.as_tree(model)
        for index in range(4):
            tree = st.as_tree(model, tree_index=index)
            own = forest.estimators_[index].predict_proba(X)
            np.testing.assert_allclose(tree.predict_proba(X), own, atol=1e-6)
    boosted = stump(2, [0.7, -0.2, 0.5, 0.1], [0] * 4, trees=2, post_transform="LOGISTIC")
    tree = st.as_tree(boosted, tree_index=1)
    assert not tree.is_classifier
    np.testing.assert_allclose(tree.predict(np.array([[-1.0], [1.0]])), [0.5, 0.1], rtol=1e-6)
    several = stump(3, [1, 2, 3, 4, 5, 6] * 2, [0, 1, 2] * 4, trees=2)
    with pytest.raises(UnsupportedModelError, match="expected scores that are class shares"):
        st.as_tree(several, tree_index=0)
    with pytest.raises(InputError, match="expected tree_index below 2"):
        st.as_tree(boosted, tree_index=2)


def test_columns_of_several_types() -> None:
    """Doubles beside singles beside whole numbers and coded text: each in its own precision."""
    ensemble = random_ensemble(5, 3, double=True).graph.node[0]
    ensemble.input[0] = "table"
    cast = {"to": TensorProto.DOUBLE}
    nodes = [
        helper.make_node("Cast", ["b"], ["b2"], **cast),
        helper.make_node(
            "LabelEncoder",
            ["c"],
            ["c1"],
            domain=ML,
            keys_strings=["low", "middle", "high"],
            values_int64s=[-1, 0, 1],
            default_int64=7,
        ),
        helper.make_node("Cast", ["c1"], ["c2"], **cast),
        helper.make_node("Identity", ["a"], ["a2"]),
        helper.make_node("Concat", ["a2", "b2", "c2"], ["table"], axis=-1),
        ensemble,
        helper.make_node("Identity", ["label"], ["said"]),
    ]
    model = model_of(
        nodes,
        [
            ("a", TensorProto.DOUBLE, [None, 1]),
            ("b", TensorProto.FLOAT, [None, 1]),
            ("c", TensorProto.STRING, [None, 1]),
        ],
        [("said", TensorProto.STRING, [None]), ("scores", TensorProto.FLOAT, [None, 3])],
    )
    tree = st.as_tree(model)
    assert tree.feature_names == ("a", "b", "c")
    assert tree.categories == (None, None, ("low", "middle", "high"))
    assert tree.precision == "float64"
    rows = probe_rows(tree, 5000)
    rows["c"] = rows["c"].fillna("anything")
    with np.errstate(over="ignore"):
        single = rows[["b"]].to_numpy().astype(np.float32)
    inputs = {"a": rows[["a"]].to_numpy(), "b": single, "c": rows[["c"]].to_numpy(dtype=object)}
    said = session(model).run(None, inputs)[0]
    np.testing.assert_array_equal(tree.predict(rows), said)


def with_node(operator: str, source: str = "y", **given: Any) -> Any:
    """A model with one more operator, whose result is its output."""
    model = random_ensemble(0)
    model.graph.node.append(helper.make_node(operator, [source], ["z"], **given))
    model.graph.output[0].name = "z"
    return model


def with_entry(name: str, at: int, value: Any) -> Any:
    model = random_ensemble(0)
    attribute = next(a for a in model.graph.node[0].attribute if a.name == name)
    values = list(attribute.ints or attribute.floats or attribute.strings)
    values[at] = value
    return with_attributes(model, **{name: values})


def with_members(*values: float) -> Any:
    tensor = numpy_helper.from_array(np.array(values, np.float32))
    return with_attributes(new_ensemble(2), membership_values=tensor)


def scaled() -> Any:
    X = np.random.default_rng(0).normal(size=(60, 3)).astype(np.float32)
    tree = DecisionTreeClassifier(max_depth=2)
    return to_onnx(make_pipeline(StandardScaler(), tree).fit(X, X[:, 0] > 0), X[:1])


def second_tree() -> Any:
    model = random_ensemble(0)
    model.graph.node.append(model.graph.node[0])
    return model


def without_output() -> Any:
    model = random_ensemble(0)
    model.graph.node.insert(0, helper.make_node("Identity", ["X"], []))
    return model


def coded(to_text: bool) -> Any:
    codes = {"values_strings": ["a"]} if to_text else {"values_int64s": [1, 2]}
    node = helper.make_node("LabelEncoder", ["X"], ["z"], domain=ML, keys_int64s=[1], **codes)
    number = [("X", TensorProto.INT64, [None, 3])]
    return model_of([node], number, [("z", TensorProto.INT64, [None, 3])])


NAN = float("nan")
ONE, TWO, THREE = [0, 0], [0, 1, 0, 1], [0, 1, 2] * 2
INNER = next(
    i
    for a in random_ensemble(0).graph.node[0].attribute
    if a.name == "nodes_truenodeids"
    for i, v in enumerate(a.ints)
    if v > 0 and i > 0
)
UNSUPPORTED = {
    "two classes with two weights": lambda: stump(2, [0.7, 0.3, 0.2, 0.8], TWO),
    "weights of the second class": lambda: stump(2, [0.7, 0.2], [1, 1]),
    "one class": lambda: stump(1, [0.7, 0.2], ONE),
    "a share below zero": lambda: stump(2, [0.7, -0.2], ONE),
    "shares beyond one": lambda: stump(3, [1, 2, 3, 4, 5, 6], THREE),
    "three logistic scores": lambda: stump(3, [0, 0, 1, 0, 1, 0], THREE, post_transform="LOGISTIC"),
    "a logistic response": lambda: with_attributes(random_ensemble(0), post_transform="LOGISTIC"),
    "two responses": lambda: with_attributes(random_ensemble(0), n_targets=2),
    "a set of fractions": lambda: with_members(0.5, NAN, 1, NAN),
    "a scaler before": scaled,
    "a sign after": lambda: with_node("Neg"),
    "a sign beside": lambda: with_node("Neg", "X"),
    "a cut of the response": lambda: with_node("Cast", to=TensorProto.INT64),
    "two operators with trees": second_tree,
    "codes that are text": lambda: coded(to_text=True),
}
NO_FORMAT = {
    "too few sets": lambda: with_members(1, NAN),
    "an output beside the tree": lambda: with_node("Identity", "X"),
    "an operator without output": without_output,
    "leaves without weight": lambda: with_attributes(
        random_ensemble(0),
        **dict.fromkeys(f"target_{n}" for n in ("ids", "nodeids", "treeids", "weights")),
    ),
    "an encoder with too few keys": lambda: coded(to_text=False),
    "a cycle": lambda: with_entry("nodes_truenodeids", INNER, 0),
    "a child that is not there": lambda: with_entry("nodes_truenodeids", 0, 10**6),
    "a child before the first": lambda: with_entry("nodes_falsenodeids", 0, -3),
    "a threshold that is no number": lambda: with_entry("nodes_values", 0, NAN),
    "a feature too many": lambda: with_entry("nodes_featureids", 0, 99),
    "a feature before the first": lambda: with_entry("nodes_featureids", 0, -1),
    "no such mode": lambda: with_entry("nodes_modes", 0, b"BRANCH_SOON"),
    "a node twice": lambda: with_entry("nodes_nodeids", 1, 0),
    "no such target": lambda: with_entry("target_ids", 0, 5),
    "a weight of no leaf": lambda: with_entry("target_nodeids", 0, 0),
    "an infinite weight": lambda: with_entry("target_weights", 0, float("inf")),
    "too few thresholds": lambda: with_attributes(random_ensemble(0), nodes_values=[1.0]),
    "no nodes": lambda: with_attributes(random_ensemble(0), nodes_treeids=None),
    "modes that are no list": lambda: with_attributes(random_ensemble(0), nodes_modes=3),
    "thresholds that are no list": lambda: with_attributes(random_ensemble(0), nodes_values=3),
    "a number that is text": lambda: with_attributes(random_ensemble(0), n_targets="a"),
    "no such transform": lambda: with_attributes(random_ensemble(0), post_transform="TWICE"),
    "classes that are no list": lambda: with_attributes(
        random_ensemble(0, 2), classlabels_strings=1.5
    ),
    "no such root": lambda: with_attributes(new_ensemble(0), tree_roots=[77]),
    "two parents": lambda: with_attributes(new_ensemble(0), nodes_truenodeids=[0] * 15),
    "a leaf before the first": lambda: with_attributes(
        new_ensemble(0), nodes_falsenodeids=[-1] * 15
    ),
}


@pytest.mark.parametrize("name", [*UNSUPPORTED, *NO_FORMAT])
def test_what_cannot_be_read_is_refused_by_name(name: str) -> None:
    error = UnsupportedModelError if name in UNSUPPORTED else TreeFormatError
    with refuses(error, f"onnx: {name}"):
        st.as_tree((UNSUPPORTED | NO_FORMAT)[name]())


def test_files_that_are_none(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    for content in (b"", b"not protobuf at all", b"\xff" * 100, b"\x0a" * 10_000):
        path.write_bytes(content)
        with pytest.raises(InputError, match="expected an ONNX model"):
            st.as_tree(path)


def test_no_other_file_is_opened(tmp_path: Path) -> None:
    model = onnx.load_from_string(st.export_tree(random_tree(0, categorical=False), "onnx"))
    table = model.graph.initializer[1]
    table.ClearField("raw_data")
    table.data_location = TensorProto.EXTERNAL
    entry = table.external_data.add()
    entry.key, entry.value = "location", "/etc/passwd"
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    with pytest.raises(TreeFormatError, match="got one in another file"):
        st.as_tree(path)


@pytest.mark.parametrize(
    ("given", "codes"),
    [
        ({"classes_strings": ["a", "b"]}, (["a", "b"], [0, 1], -1.0, TensorProto.INT64)),
        ({"keys_strings": ["a"], "values_floats": [2.0]}, (["a"], [2.0], 0.0, TensorProto.FLOAT)),
        (
            {"keys_tensor": np.array([1.0]), "values_tensor": np.array([2.0])},
            ([1.0], [2.0], 0.0, TensorProto.DOUBLE),
        ),
    ],
)
def test_every_version_of_the_encoder(given: dict[str, Any], codes: Any) -> None:
    assert encoder_codes(given) == codes


def test_text_that_the_tree_does_not_look_at() -> None:
    model = random_ensemble(0)
    model.graph.input.append(helper.make_tensor_value_info("note", TensorProto.STRING, [None, 1]))
    tree = st.as_tree(model)
    rows = np.array([[0.5, 1.0, np.nan, "anything"]], dtype=object)
    assert tree.predict(rows) == st.as_tree(random_ensemble(0)).predict(rows[:, :3])


def test_metadata_of_a_stranger(tmp_path: Path) -> None:
    model = onnx.load_from_string(st.export_tree(random_tree(0, categorical=False), "onnx"))
    for value in (
        "[",
        "[1]",
        '{"classes": 5}',
        '{"classes": [[]]}',
        '{"categories": [3]}',
        '{"classes": ["no"]}',
    ):
        model.metadata_props[0].value = value
        with pytest.raises(TreeFormatError, match="expected"):
            st.as_tree(model)


def test_without_onnx(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = sample_files(tmp_path)[0]
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(MissingDependencyError, match=r"reading ONNX .* 'steadytree\[onnx\]'"):
        st.as_tree(path)
    with pytest.raises(MissingDependencyError, match=r"writing ONNX .* 'steadytree\[onnx\]'"):
        st.export_tree(random_tree(0, categorical=False), "onnx")
