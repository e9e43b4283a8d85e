"""``steadytree show``: every form lists the same rules."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from steadytree.tree.decision import Decision
from steadytree.tree.json import load_tree, save_tree
from tests.cli.conftest import Files, Run


def test_every_form_lists_every_rule(run: Run, files: Files) -> None:
    tree = load_tree(files.tree)
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


def test_the_heading_and_the_metadata(run: Run, files: Files) -> None:
    assert run("show", files.tree).out.startswith("Tree(")
    assert "n_training_rows: 280" in run("show", files.tree, "-v").out


def test_a_leaf_can_be_recomputed_from_what_is_shown(run: Run, files: Files) -> None:
    tree = load_tree(files.tree)
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


def test_a_tree_without_a_space_is_shown_too(run: Run, files: Files, tmp_path: Path) -> None:
    tree = load_tree(files.tree)
    save_tree(tree.replace(space=None, label=tree.label), tmp_path / "bare.json")
    bare = run("show", tmp_path / "bare.json", "--format", "rules", "-q")
    assert bare.code == 0
    assert len(bare.out.splitlines()) == tree.n_leaves


def test_a_decision_threshold_is_named(run: Run, files: Files, tmp_path: Path) -> None:
    tree = load_tree(files.tree).relabelled(0.25)
    save_tree(tree, tmp_path / "t.json")
    assert "Policy: flags malignant from a risk of 25 % on." in run("show", tmp_path / "t.json").out


def test_a_tree_that_decides_nothing_is_said(run: Run, files: Files, tmp_path: Path) -> None:
    tree = load_tree(files.tree).relabelled(Decision(0.0, positive="malignant"))
    save_tree(tree, tmp_path / "t.json")
    result = run("show", tmp_path / "t.json", "--json")
    assert result.code == 0
    says = 'the tree decides "malignant" for all 280 rows: "malignant" needs a risk of 0 %'
    assert result.document["one_decision"].startswith(says)
    assert result.err == f"Warning: {result.document['one_decision']}\n"
    assert run("show", files.tree, "--json").document["one_decision"] is None


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
    assert np.isscalar(result.document["error"]["exit_code"])
