"""``steadytree export``: what it writes is what the Python call writes, options and all."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from sklearn.datasets import load_breast_cancer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import steadytree as st
from steadytree.plugins import WRITERS, save_like
from tests.cli.conftest import Files, Run
from tests.foreign import probe_rows


def test_to_standard_output_and_to_a_file(run: Run, files: Files, tmp_path: Path) -> None:
    tree = st.load_tree(files.tree)
    printed = run("export", files.tree, "--to", "sql")
    assert printed.code == 0
    assert printed.out.strip() == str(st.export_tree(tree, "sql")).strip()
    written = run("export", files.tree, "--out", tmp_path / "tree.sql", "--set", "dialect=duckdb")
    assert written.code == 0
    text = (tmp_path / "tree.sql").read_text(encoding="utf-8")
    assert text == st.export_tree(tree, "sql", dialect="duckdb")
    document = run("export", files.tree, "--to", "sql", "--json").document
    assert document["format"] == "sql"
    assert document["text"] == st.export_tree(tree, "sql")


@pytest.mark.parametrize("to", WRITERS)
def test_every_format_can_be_asked_for(run: Run, files: Files, tmp_path: Path, to: str) -> None:
    path = tmp_path / f"written{import_module(WRITERS[to]).SUFFIXES[0]}"
    done = run("export", files.tree, "--to", to, "--out", path)
    assert done.code == 0, done.err
    assert path.stat().st_size > 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "expected --to or --out, got neither"),
        (["--out", "tree.oak"], "expected a path that ends in one of"),
        (["--to", "sql", "--set", "dialect"], "expected OPTION=VALUE as --set"),
        (["--to", "sql", "--set", "colour=red"], "with an option of sql"),
        (["--to", "onnx"], "expected --out with --to onnx, which is no text"),
    ],
)
def test_what_is_wrong_is_said(run: Run, files: Files, arguments: list[str], message: str) -> None:
    failed = run("export", files.tree, *arguments)
    assert failed.code == 2
    assert message in failed.err


def test_other_libraries_files_are_shown_and_compared(
    run: Run, files: Files, tmp_path: Path
) -> None:
    """One tree by two routes: our file, and PMML written from it."""
    tree = st.load_tree(files.tree)
    path = tmp_path / "tree.pmml"
    st.export_tree(tree, "pmml", path)
    assert run("show", path, "-q", "--format", "rules").code == 0
    found = run("compare", files.tree, path, "--json").document
    # PMML compares doubles: a threshold of singles is told as the largest double that it lets by.
    assert found["distance"] == pytest.approx(0, abs=1e-6)
    assert found["dissimilarity"] == pytest.approx(0, abs=1e-6)


def test_a_pickle_is_opened_only_on_request(run: Run, files: Files, tmp_path: Path) -> None:
    path = tmp_path / "model.joblib"
    st.export_tree(st.load_tree(files.tree), "sklearn", path)
    refused = run("show", path)
    assert refused.code == 2
    assert "--allow-pickle" in refused.err
    assert run("show", path, "--allow-pickle").code == 0


@pytest.mark.parametrize("kind", ["churn.skops", "churn.joblib", "model.txt", "model.json"])
def test_a_file_of_the_same_kind_comes_back(run: Run, tmp_path: Path, kind: str) -> None:
    """The model in use is a file; its successor is a file that the same program loads."""
    table, y = load_breast_cancer(return_X_y=True, as_frame=True)
    path = save_like(
        _trained(kind, table.iloc[:, :5].set_axis(list("abcde"), axis=1), y), tmp_path / kind
    )
    tree = st.as_tree(path, allow_pickle=True)
    root = np.where(np.arange(tree.n_nodes) == 0, tree.threshold[0] * 1.25, tree.threshold)
    moved = tree.replace(threshold=root.astype(np.float32))
    st.save_tree(moved, tmp_path / "tree.json")
    new = path.with_stem("new")
    arguments = ("export", tmp_path / "tree.json", "--like", path, "--allow-pickle")
    done = run(*arguments, "--out", new)
    assert done.code == 0, done.err
    back = st.as_tree(new, allow_pickle=True)
    rows = probe_rows(moved, 2_000, singles=True)
    np.testing.assert_array_equal(back.predict(rows), moved.predict(rows))
    for wrong in ((), ("--out", new, "--to", "sql")):
        refused = run(*arguments, *wrong)
        assert refused.code == 2
        assert "expected --out and no --to with --like" in refused.err


def _trained(kind: str, X: pd.DataFrame, y: pd.Series[int]) -> Any:
    if kind == "model.txt":
        settings = {"n_estimators": 1, "num_leaves": 4, "verbose": -1, "learning_rate": 1.0}
        return lightgbm.LGBMClassifier(**settings).fit(X, y).booster_
    if kind == "model.json":
        return xgboost.XGBClassifier(n_estimators=1, max_depth=2).fit(X, y).get_booster()
    return make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=2)).fit(X, y)


@pytest.mark.parametrize("option", ["MODEL", "--like"])
def test_what_is_read_is_never_replaced(
    run: Run, files: Files, tmp_path: Path, option: str
) -> None:
    given = tmp_path / "model.json"
    given.write_bytes(files.tree.read_bytes())
    (tmp_path / "link.json").symlink_to(given)
    read = (given,) if option == "MODEL" else (files.tree, "--like", given)
    result = run("export", *read, "--out", tmp_path / "link.json")
    assert result.code == 2
    assert f"expected another file as --out than {option}" in result.err
    assert given.read_bytes() == files.tree.read_bytes()


def test_a_place_that_cannot_be_written_is_found_before_the_work(run: Run, tmp_path: Path) -> None:
    """The model is not even looked for."""
    result = run("export", tmp_path / "no.json", "--out", tmp_path / "no" / "tree.sql")
    assert result.code == 2
    assert "expected a place that can be written" in result.err
    assert "no.json" not in result.err


def test_a_published_tree_counts_nobody(run: Run, files: Files) -> None:
    counted = run("export", files.tree, "--to", "markdown")
    bare = run("export", files.tree, "--to", "markdown", "--publish")
    assert bare.code == 0, bare.err
    assert "observed" in counted.out
    assert "observed" not in bare.out
    assert "share of training weight" not in bare.out
    assert "observed" not in run("show", files.tree, "--publish", "-q").out
    both = run("export", files.tree, "--like", files.tree, "--out", "x", "--publish")
    assert both.code == 2
    assert "expected --publish or --like, got both" in both.err
