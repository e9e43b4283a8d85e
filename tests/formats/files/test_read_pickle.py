"""Pickle and joblib files: refused before they run, read where the user allows it."""

from __future__ import annotations

import pickle
import sys
import types
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import steadytree as st
from steadytree.exceptions import TreeFormatError, UnsupportedModelError
from steadytree.plugins import load_model
from tests.formats.boosted import outcome, probes, table
from tests.formats.contract import Case


def make_case(seed: int, folder: Path) -> Case:
    """Save a tree by pickle or by joblib, plain or compressed."""
    frame = table(seed, categories=False)
    kind, task = (
        (DecisionTreeClassifier, "binary"),
        (DecisionTreeRegressor, "regression"),
    )[seed % 2]
    model: Any = kind(max_depth=2 + seed % 4, random_state=seed)
    model.fit(frame, outcome(frame, task, seed))
    path = folder / f"{seed}{('.pkl', '.joblib', '.joblib.gz', '')[seed % 4]}"
    if seed % 4 in (0, 3):
        path.write_bytes(pickle.dumps(model, protocol=2 + seed % 4 if seed % 4 == 3 else 4))
    else:
        joblib.dump(model, path)
    rows = probes(st.as_tree(model), frame, seed)
    shares = model.predict_proba(rows) if task == "binary" else None
    options = {"allow_pickle": True}
    return Case(path, rows, model.predict(rows), shares, model.apply(rows), options)


class Payload:
    def __init__(self, where: Path) -> None:
        self.where = where

    def __reduce__(self) -> Any:
        return Path.mkdir, (self.where,)


@pytest.mark.parametrize("name", ["model.pkl", "model.pickle", "model.joblib", "model", "m.json"])
def test_a_payload_does_not_run(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(pickle.dumps(Payload(tmp_path / "ran")))
    with pytest.raises(TreeFormatError) as caught:
        st.as_tree(path)
    if name != "m.json":  # by its name one of ours, and no JSON
        assert "runs whatever code its author put into it" in str(caught.value)
        assert "allow_pickle=True" in str(caught.value)
        assert "--allow-pickle" in str(caught.value)
    with pytest.raises(TreeFormatError):
        load_model(path)
    assert not (tmp_path / "ran").exists()


def test_the_same_model_by_every_route(tmp_path: Path) -> None:
    model = DecisionTreeClassifier(max_depth=2, random_state=0)
    model.fit([[0.0], [1.0], [2.0]], ["a", "b", "a"])
    path = tmp_path / "model.pkl"
    path.write_bytes(pickle.dumps(model))
    assert st.as_tree(path, allow_pickle=True) == st.as_tree(model)
    assert type(load_model(path, allow_pickle=True)) is DecisionTreeClassifier
    tree = tmp_path / "tree.pkl"
    tree.write_bytes(pickle.dumps(st.as_tree(model)))
    assert st.as_tree(tree, allow_pickle=True) == st.as_tree(model)
    # A model file of another kind needs no pickle, whatever its name.
    assert st.as_tree(st.save_tree(st.as_tree(model), tree)) == st.as_tree(model)


def test_pickles_that_cannot_be_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model.pkl"
    content = pickle.dumps(DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1]))
    for broken in (content[: len(content) // 2], b"", b"hello", b"\x80\x04\x95\xff" * 50):
        path.write_bytes(broken)
        with pytest.raises(TreeFormatError, match="expected a whole pickle"):
            st.as_tree(path, allow_pickle=True)
    path.write_bytes(pickle.dumps({"model": "?", "columns": np.arange(3)}))
    with pytest.raises(UnsupportedModelError, match="got dict"):
        st.as_tree(path, allow_pickle=True)
    module = types.ModuleType("package_for_a_test")
    exec("class Model:\n    pass", module.__dict__)
    monkeypatch.setitem(sys.modules, "package_for_a_test", module)
    path.write_bytes(pickle.dumps(module.Model()))
    monkeypatch.delitem(sys.modules, "package_for_a_test")
    with pytest.raises(TreeFormatError, match="one that needs 'package_for_a_test'; install it"):
        st.as_tree(path, allow_pickle=True)
