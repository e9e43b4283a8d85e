"""ONNX models that we write, run by onnxruntime."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.tree import DecisionTreeClassifier

import steadytree as st
from steadytree.exceptions import InputError, MissingDependencyError, UnsupportedModelError
from tests.foreign import probe_rows, random_tree

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


def test_refusals() -> None:
    tree = random_tree(0)
    with pytest.raises(InputError, match="missing_text that is no category, got ''"):
        st.export_tree(tree, "onnx")
    with pytest.raises(UnsupportedModelError, match=r"got categories in \['colour', 'size'"):
        st.export_tree(tree, "onnx", missing_text=MISSING, columns=False)
    with pytest.raises(InputError, match="expected input_type 'float' or 'double', got 'half'"):
        st.export_tree(tree, "onnx", missing_text=MISSING, input_type="half")
    mixed = tree.replace(
        categories=(None, None, None, ("a", 1, "c", "d", "e"), *tree.categories[4:])
    )
    with pytest.raises(UnsupportedModelError, match=r"all text, or all numbers .* in 'colour'"):
        st.export_tree(mixed, "onnx", missing_text=MISSING)
    huge = tree.replace(categories=(*tree.categories[:4], (1, 2, 3, 2**53 + 1), (False, True)))
    with pytest.raises(UnsupportedModelError, match="in 'size' for ONNX, got 9007199254740993"):
        st.export_tree(huge, "onnx", missing_text=MISSING)
    large = tree.replace(categories=(*tree.categories[:4], (1, 2, 3, 2**24 + 1), (False, True)))
    with pytest.raises(
        UnsupportedModelError, match=r"single precision .* got others in \['size'\]"
    ):
        st.export_tree(large, "onnx", missing_text=MISSING, input_type="float")
    with pytest.raises(UnsupportedModelError, match=r"expected classes .* got \['no', 1\]"):
        st.export_tree(tree.replace(classes=("no", 1)), "onnx", missing_text=MISSING)
    wide = random_tree(0, kind="regression", categorical=False)
    with pytest.raises(UnsupportedModelError, match="responses that single precision holds"):
        st.export_tree(wide.replace(value=wide.value * 1e300), "onnx", input_type="float")


def test_without_onnx(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(MissingDependencyError, match=r"writing ONNX .* 'steadytree\[onnx\]'"):
        st.export_tree(random_tree(0, categorical=False), "onnx")
