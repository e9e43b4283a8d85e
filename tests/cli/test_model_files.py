"""Model files on the command line: which tree of several, and what is opened."""

from __future__ import annotations

from pathlib import Path

import joblib
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

import steadytree as st
from steadytree.tree.printing import tree_text
from tests.cli.conftest import Run


def test_one_tree_of_a_forest(run: Run, tmp_path: Path) -> None:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    forest = RandomForestClassifier(3, max_depth=2, random_state=0).fit(X, y)
    joblib.dump(forest, tmp_path / "forest.joblib")
    arguments = ("show", tmp_path / "forest.joblib", "--allow-pickle", "-q")
    several = run(*arguments)
    assert several.code == 2
    assert "of 3; pass tree_index=" in several.err
    shown = run(*arguments, "--tree-index", "2").out
    assert shown.strip() == tree_text(st.as_tree(forest, tree_index=2)).strip()
