"""Draw docs/images/retrained*.svg, the problem in one picture: one tree, retrained in two ways.

    python scripts/draw_front.py

The numbers that the front page and the README say of it are `Scene.sentence`; a test holds them
against each other.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import roc_auc_score
from sklearn.tree import DecisionTreeClassifier

import steadytree as st
from steadytree.plotting import TreeComparisonDisplay

TARGET = Path(__file__).resolve().parents[1] / "docs" / "images" / "retrained.svg"
NARROW = TARGET.with_name("retrained-narrow.svg")
POLICY = st.Decision(0.2, positive="cancer")
"""Cancer is called from a risk of 20 % on: a missed tumour is worse than a needless biopsy."""


@dataclass(frozen=True)
class Retrained:
    """A retrained tree, and what it changes for patients that no tree was trained on."""

    tree: st.Tree
    dissimilarity: float
    flipped: float
    auc: float

    @property
    def words(self) -> str:
        """What the picture says under the title."""
        whom = f"{100 * self.flipped:.0f} % of patients" if self.flipped else "nobody"
        return (
            f"dissimilarity {100 * self.dissimilarity:.1f} %, "
            f"another decision for {whom}, AUC {self.auc:.3f}"
        )


@dataclass(frozen=True)
class Scene:
    """The tree in force and its two successors."""

    deployed: st.Tree
    deployed_auc: float
    cart: Retrained
    ours: Retrained
    space: st.FeatureSpace
    rows: tuple[int, int, int]

    @property
    def sentence(self) -> str:
        """The picture in words, with every number that it shows."""
        old, new, test = self.rows
        return (
            f"A tree of {self.deployed.n_leaves} rules from {old} patients, retrained when {new} "
            f"more have come. CART, trained anew: {self.cart.words}. "
            f"steadytree: {self.ours.words}. Decisions and AUC "
            f"(of the tree in force: {self.deployed_auc:.3f}) are counted on {test} patients "
            f"that no tree was trained on."
        )


def make_scene() -> Scene:
    """Train the three trees and measure them on the last fifth of the rows."""
    X, benign = load_breast_cancer(return_X_y=True, as_frame=True)
    y = benign.map({1: "benign", 0: "cancer"})
    old, seen = len(X) // 2, 4 * len(X) // 5
    cart = DecisionTreeClassifier(max_leaf_nodes=5, min_samples_leaf=20, random_state=0)
    deployed = st.as_tree(cart.fit(X[:old], y[:old]), POLICY)
    anew = st.as_tree(cart.fit(X[:seen], y[:seen]), POLICY)
    result = st.retrain(deployed, X[old:seen], y[old:seen], old=(X[:old], y[:old]), random_state=0)
    space = st.FeatureSpace.from_data(X[:seen], y[:seen])
    X_test, y_test = X[seen:], y[seen:]

    def auc(tree: st.Tree) -> float:
        return float(roc_auc_score(y_test == "cancer", tree.predict_proba(X_test)[:, 1]))

    def measured(tree: st.Tree) -> Retrained:
        far = st.tree_distance(deployed, tree, space=space, variant="metric", normalize="relative")
        flipped = float(np.mean(tree.predict(X_test) != deployed.predict(X_test)))
        return Retrained(tree, far, flipped, auc(tree))

    rows = (old, seen - old, len(X_test))
    return Scene(deployed, auc(deployed), measured(anew), measured(result.tree), space, rows)


def draw(scene: Scene, *, narrow: bool = False) -> Any:
    """Draw the tree in force and its successors: beside it, or below it for a narrow window."""
    import matplotlib.pyplot as plt

    # The same file from the same trees, whenever it is drawn.
    mpl.rcParams.update({"svg.hashsalt": "steadytree", "svg.fonttype": "path"})
    figure = plt.figure(figsize=(5.7, 8.4) if narrow else (11, 5.6), layout="constrained")
    grid = figure.add_gridspec(3, 1) if narrow else figure.add_gridspec(2, 2)
    first = figure.add_subplot(grid[0, 0] if narrow else grid[:, 0])
    for row, (title, after) in enumerate(
        [("CART, trained anew", scene.cart), ("steadytree", scene.ours)]
    ):
        matching = st.match_paths(scene.deployed, after.tree, space=scene.space, variant="metric")
        pairs = sorted((pair.path_a, pair.path_b) for pair in matching.pairs)
        display = TreeComparisonDisplay(matching.a, matching.b, pairs)
        ax = figure.add_subplot(grid[row + 1, 0] if narrow else grid[row, 1])
        before = first if row == 0 else figure.add_axes((0, 0, 0, 0), visible=False)
        display.plot(ax=[before, ax], text_kw={"fontsize": 8})
        ax.set_title(f"{title}\n{after.words}", loc="left", fontsize=10 if narrow else 11)
    first.set_title(f"The tree in force\nAUC {scene.deployed_auc:.3f}", loc="left", fontsize=11)
    return figure


if __name__ == "__main__":
    scene = make_scene()
    for target, narrow in ((TARGET, False), (NARROW, True)):
        draw(scene, narrow=narrow).savefig(target, metadata={"Date": None})
        sys.stdout.write(f"{target}\n")
    sys.stdout.write(f"{scene.sentence}\n")
