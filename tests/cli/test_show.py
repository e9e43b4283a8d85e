"""``steadytree show``: every form lists the same rules."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from steadytree.core.format import load_tree, save_tree
from tests.cli.conftest import Files, Run


def test_every_form_lists_every_rule(run: Run, files: Files) -> None:
    tree = load_tree(files.tree)
    listing = run("show", files.tree, "-q").out
    assert listing.count("malignant: ") == tree.n_leaves
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


def test_a_tree_without_a_space_is_shown_too(run: Run, files: Files, tmp_path: Path) -> None:
    tree = load_tree(files.tree)
    save_tree(tree.replace(space=None, label=tree.label), tmp_path / "bare.json")
    bare = run("show", tmp_path / "bare.json", "--format", "rules", "-q")
    assert bare.code == 0
    assert len(bare.out.splitlines()) == tree.n_leaves


def test_a_decision_threshold_is_named(run: Run, files: Files, tmp_path: Path) -> None:
    tree = load_tree(files.tree).relabelled(0.25)
    save_tree(tree, tmp_path / "t.json")
    assert "positive from a share of 0.25" in run("show", tmp_path / "t.json").out


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
