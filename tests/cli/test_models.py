"""``steadytree show`` and ``export``: the tree in a file of whatever library, in every form."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import joblib
import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import steadytree as st
from steadytree.plugins import save_like
from steadytree.tree.printing import tree_text
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


def test_every_form_lists_every_rule(run: Run, files: Files) -> None:
    tree = st.load_tree(files.tree)
    listing = run("show", files.tree, "-q").out
    assert listing.count("predicts malignant ") == tree.n_leaves
    rules = run("show", files.tree, "-q", "--format", "rules").out.splitlines()
    assert len(rules) == tree.n_leaves
    table = run("show", files.tree, "-q", "--format", "markdown").out.splitlines()
    assert len(table) == tree.n_leaves + 2
    document = run("show", files.tree, "--json").document
    assert document["n_leaves"] == tree.n_leaves
    assert [f"{r['text']}: {r['outcome']}" for r in document["rules"]] == rules
    assert sum(r["share"] for r in document["rules"]) == pytest.approx(1)
    assert document["classes"] == ["benign", "malignant"]
    assert run("show", files.tree).out.startswith("Tree(")
    assert "n_training_rows: 280" in run("show", files.tree, "-v").out


def test_a_leaf_can_be_recomputed_from_what_is_shown(run: Run, files: Files) -> None:
    tree = st.load_tree(files.tree)
    shown = run("show", files.tree, "--json").document
    assert shown["decision"]["words"] == (
        "the class with the largest share; malignant is the positive class, as nobody named one"
    )
    assert shown["decision"]["positive"] == "malignant"
    assert "Observed: among the rows the tree was trained on." in run("show", files.tree).out
    total = 0
    for rule in shown["rules"]:
        seen = rule["observed"]
        total += seen["old"]["rows"] + seen["new"]["rows"]
        weights = [
            seen["old_share"] * old + new
            for old, new in zip(
                seen["old"]["weighted_outcomes"], seen["new"]["weighted_outcomes"], strict=True
            )
        ]
        k = seen["strength"]
        again = [
            (w + k * t) / (sum(weights) + k)
            for w, t in zip(weights, seen["steadied_by"], strict=True)
        ]
        assert rule["value"] == pytest.approx(again, abs=1e-12)
        count = round(seen["old"]["outcomes"][1] + seen["new"]["outcomes"][1])
        rows = round(seen["old"]["rows"] + seen["new"]["rows"])
        assert f"observed {count} of {rows}" in rule["outcome"]
    assert total == tree.metadata["n_training_rows"]


def test_a_tree_that_decides_nothing_is_said(run: Run, files: Files, tmp_path: Path) -> None:
    tree = st.load_tree(files.tree).relabelled(st.Decision(0.0, positive="malignant"))
    st.save_tree(tree, tmp_path / "t.json")
    result = run("show", tmp_path / "t.json", "--json")
    assert result.code == 0
    says = 'the tree decides "malignant" for all 280 rows: "malignant" needs a risk of 0 %'
    assert result.document["one_decision"].startswith(says)
    assert result.err == f"Warning: {result.document['one_decision']}\n"
    assert run("show", files.tree, "--json").document["one_decision"] is None
    assert "Policy: flags malignant from a risk of 0 % on." in run("show", tmp_path / "t.json").out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "expected a readable tree file, got No such file or directory"),
        ('{"format": "steadytree-tree"', "the file may be cut off"),
        ('{"format": "cake"}', "format: expected 'steadytree-tree', got 'cake'"),
    ],
)
def test_bad_files(run: Run, tmp_path: Path, text: str | None, message: str) -> None:
    path = tmp_path / "bad.json"
    if text is not None:
        path.write_text(text)
    result = run("show", path, "--json")
    assert result.code == 2
    assert message in result.err
    assert message in result.document["error"]["message"]
    assert result.document["error"]["type"] == "TreeFormatError"


def test_one_tree_of_a_forest(run: Run, tmp_path: Path) -> None:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    forest = RandomForestClassifier(3, max_depth=2, random_state=0).fit(X, y)
    joblib.dump(forest, tmp_path / "forest.joblib")
    refused = run("show", tmp_path / "forest.joblib")
    assert refused.code == 2
    assert "--allow-pickle" in refused.err
    arguments = ("show", tmp_path / "forest.joblib", "--allow-pickle", "-q")
    several = run(*arguments)
    assert several.code == 2
    assert "of 3; pass tree_index=" in several.err
    shown = run(*arguments, "--tree-index", "2").out
    assert shown.strip() == tree_text(st.as_tree(forest, tree_index=2)).strip()


# -- export ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "expected --to or --out, got neither"),
        (["--out", "tree.oak"], "expected a path that ends in one of"),
        (["--to", "sql", "--set", "dialect"], "expected OPTION=VALUE as --set"),
        (["--to", "sql", "--set", "colour=red"], "with an option of sql"),
        (["--to", "onnx"], "expected --out with --to onnx, which is no text"),
        (["--like", "x", "--out", "y", "--publish"], "expected --publish or --like, got both"),
    ],
)
def test_what_is_wrong_is_said(run: Run, files: Files, arguments: list[str], message: str) -> None:
    failed = run("export", files.tree, *arguments)
    assert failed.code == 2
    assert message in failed.err


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
