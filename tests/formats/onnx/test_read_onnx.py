"""ONNX models of other exporters, by hand and of our own, against onnxruntime."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from skl2onnx import to_onnx
from sklearn.ensemble import RandomForestClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import steadytree as st
from steadytree.exceptions import (
    InputError,
    MissingDependencyError,
    TreeFormatError,
    UnsupportedModelError,
)
from steadytree.tree.branches import build_tree
from steadytree.tree.nested import Branch, Leaf
from tests.foreign import probe_rows, random_tree
from tests.formats.contract import Case
from tests.formats.odd_trees import bushy, chain, marked_tree, nasty_tree
from tests.formats.onnx.test_write_onnx import MISSING, feed

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


@pytest.mark.parametrize(
    ("model", "why"),
    [
        (stump(2, [0.7, 0.3, 0.2, 0.8], [0, 1, 0, 1]), r"2 classes with weights for \[0, 1\]"),
        (stump(2, [0.7, 0.2], [1, 1]), r"2 classes with weights for \[1\]"),
        (stump(2, [0.7, -0.2], [0, 0]), "expected scores that are class shares"),
        (stump(3, [1, 2, 3, 4, 5, 6], [0, 1, 2] * 2), "expected scores that are class shares"),
        (
            stump(3, [0, 0, 1, 0, 1, 0], [0, 1, 2] * 2, post_transform="LOGISTIC"),
            "got others with post_transform='LOGISTIC'",
        ),
        (with_attributes(random_ensemble(0), post_transform="LOGISTIC"), "one target and post_tr"),
        (with_attributes(random_ensemble(0), n_targets=2), "one target and post_transform='NONE'"),
    ],
)
def test_scores_that_are_refused(model: Any, why: str) -> None:
    with pytest.raises(UnsupportedModelError, match=why):
        st.as_tree(model)


@pytest.mark.parametrize("seed", range(6))
def test_sets_of_any_whole_numbers(seed: int) -> None:
    model = new_ensemble(seed, among=(-3, -1, 0, 2, 40, 100))
    X = np.random.default_rng(seed).choice([-3, -2, -1, 0, 1, 2, 3, 40, 41, 100, np.nan], (3000, 3))
    found = session(model).run(None, {"X": X.astype(np.float32)})[0][:, 0]
    np.testing.assert_array_equal(st.as_tree(model).predict(X), found)


def test_sets_of_other_than_whole_numbers_are_refused() -> None:
    values = numpy_helper.from_array(np.array([0.5, np.nan, 1, np.nan], np.float32))
    model = with_attributes(new_ensemble(2), membership_values=values)
    with pytest.raises(UnsupportedModelError, match="expected whole numbers in membership"):
        st.as_tree(model)
    few = numpy_helper.from_array(np.array([1, np.nan], np.float32))
    with pytest.raises(TreeFormatError, match="expected 2 sets of membership_values, got 1"):
        st.as_tree(with_attributes(new_ensemble(2), membership_values=few))


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


def test_operators_around_the_tree_are_refused_by_name() -> None:
    X = np.random.default_rng(0).normal(size=(60, 3)).astype(np.float32)
    from sklearn.pipeline import make_pipeline

    scaled = make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=2)).fit(
        X, X[:, 0] > 0
    )
    with pytest.raises(UnsupportedModelError, match="got the ONNX operator Scaler before it"):
        st.as_tree(to_onnx(scaled, X[:1]))
    behind = random_ensemble(0)
    behind.graph.node.append(helper.make_node("Neg", ["y"], ["z"]))
    with pytest.raises(UnsupportedModelError, match="got the ONNX operator Neg behind it"):
        st.as_tree(behind)
    cut = random_ensemble(0)
    cut.graph.node.append(helper.make_node("Cast", ["y"], ["z"], to=TensorProto.INT64))
    cut.graph.output[0].name = "z"
    with pytest.raises(UnsupportedModelError, match="Cast to whole numbers or text behind it"):
        st.as_tree(cut)
    twice = random_ensemble(0)
    twice.graph.node.append(twice.graph.node[0])
    with pytest.raises(UnsupportedModelError, match="got the ONNX operator a second Tree"):
        st.as_tree(twice)
    none = model_of(
        [helper.make_node("Neg", ["X"], ["y"])],
        [("X", TensorProto.FLOAT, [None, 3])],
        [("y", TensorProto.FLOAT, [None, 3])],
    )
    with pytest.raises(UnsupportedModelError, match="got the ONNX operator Neg before it"):
        st.as_tree(none)


def cyclic() -> Any:
    return with_attributes(random_ensemble(0), nodes_truenodeids=[0] * 200)


def changed(name: str, at: int, value: Any) -> Any:
    model = random_ensemble(0)
    attribute = next(a for a in model.graph.node[0].attribute if a.name == name)
    values = list(attribute.ints or attribute.floats or attribute.strings)
    values[at] = value
    return with_attributes(model, **{name: values})


def test_trees_that_are_none() -> None:
    yes = [a for a in random_ensemble(0).graph.node[0].attribute if a.name == "nodes_truenodeids"]
    inner = next(i for i, v in enumerate(yes[0].ints) if v > 0 and i > 0)
    for model, why in (
        (changed("nodes_truenodeids", inner, 0), "a child; a cycle"),
        (changed("nodes_truenodeids", 0, 10**6), "expected two children among the nodes"),
        (changed("nodes_falsenodeids", 0, -3), "expected two children among the nodes"),
        (changed("nodes_values", 0, float("nan")), "expected a threshold, got NaN"),
        (changed("nodes_featureids", 0, 99), "expected a feature below 3, got 99"),
        (changed("nodes_featureids", 0, -1), "expected a feature below 3, got -1"),
        (changed("nodes_modes", 0, b"BRANCH_SOON"), "expected a mode of"),
        (changed("nodes_nodeids", 1, 0), "expected each node once"),
        (changed("target_ids", 0, 5), "targets below 1, got .* and target 5"),
        (changed("target_nodeids", 0, 0), "expected weights of leaves"),
        (changed("target_weights", 0, float("inf")), "expected finite numbers in target_weights"),
        (with_attributes(random_ensemble(0), nodes_values=[1.0]), "numbers in nodes_values, got"),
        (with_attributes(random_ensemble(0), nodes_treeids=None), "expected nodes in"),
        (with_attributes(random_ensemble(0), nodes_modes=3), "expected a list as nodes_modes"),
        (with_attributes(random_ensemble(0), nodes_values=3), "numbers in nodes_values, got"),
        (with_attributes(random_ensemble(0), n_targets="a"), "a whole number as n_targets"),
        (with_attributes(random_ensemble(0, 2), classlabels_strings=1.5), "list as classlabels"),
        (with_attributes(new_ensemble(0), tree_roots=[77]), "expected roots below 15"),
        (with_attributes(new_ensemble(0), nodes_truenodeids=[0] * 15), "cycle or two parents"),
        (with_attributes(new_ensemble(0), nodes_falsenodeids=[-1] * 15), "a child that is there"),
    ):
        with pytest.raises(TreeFormatError, match=why):
            st.as_tree(model)


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


def test_an_operator_without_output() -> None:
    model = random_ensemble(0)
    model.graph.node.insert(0, helper.make_node("Identity", ["X"], []))
    with pytest.raises(TreeFormatError, match="expected an output of Identity, got none"):
        st.as_tree(model)


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
