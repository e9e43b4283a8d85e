"""Trees of one question, as a package that is none of ours reads and writes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from steadytree.plugins import (
    Branch,
    Leaf,
    Tree,
    TreeFormatError,
    UnsupportedModelError,
    build_tree,
    quoted,
    read_bytes,
)

FILES = "stumps (.stump)"
SUFFIXES = (".stump",)


class Stump:
    """A model: the feature, the number up to which the answer is no, and what else it says."""

    def __init__(self, feature: str, cut: float) -> None:
        self.feature, self.cut = feature, cut


def reads(model: Any) -> bool:
    return isinstance(model, Stump)


def read(model: Stump, tree_index: int | None = None) -> Tree:
    root = Branch(
        feature=0,
        left=Leaf([1.0, 0.0]),
        right=Leaf([0.0, 1.0]),
        threshold=float(model.cut),
        missing_left=False,
    )
    return build_tree(root, classes=("no", "yes"), feature_names=(model.feature,), n_features=1)


def reads_file(path: Path, start: bytes) -> bool:
    return path.suffix == ".stump"


def read_file(path: Path, tree_index: int | None = None) -> Tree:
    text = read_bytes(path).decode()
    feature, sign, cut = text.partition(" <= ")
    if not sign:
        raise TreeFormatError(f"{path}: expected 'feature <= number', got {quoted(text)}")
    return read(Stump(feature, float(cut)))


def write(tree: Tree, *, digits: int = 17) -> str:
    if tree.n_leaves != 2:
        raise UnsupportedModelError(f"expected a tree of one question, got {tree.n_leaves} leaves")
    return f"{tree.feature_labels[int(tree.feature[0])]} <= {tree.threshold[0]:.{digits}g}\n"
