"""Compare a deployed tree with the one that should replace it, and hold it against limits.

Two scikit-learn trees, trained on the first half and on two thirds of the same patients, are
compared on patients that neither has seen: which rules moved, whose decision changes, which
tree predicts better, and whether the new one may go live.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

import steadytree as st

LIMITS = {"max_dissimilarity": 0.10, "max_flips": 0.05, "min_score_change": -0.01}


def main(arguments: list[str] | None = None) -> None:
    """Say what changed and whether the limits hold; leave a picture and a page to open."""
    parser = argparse.ArgumentParser(description="Compare two trees and check limits.")
    parser.add_argument("--out", type=Path, default=Path("compare-output"))
    out: Path = parser.parse_args(arguments).out
    out.mkdir(parents=True, exist_ok=True)

    X, benign = load_breast_cancer(return_X_y=True, as_frame=True)
    y = benign.map({0: "malignant", 1: "benign"})
    half, seen = len(X) // 2, 2 * len(X) // 3
    cart = DecisionTreeClassifier(max_leaf_nodes=6, min_samples_leaf=5, random_state=0)
    old, new = (st.as_tree(cart.fit(X[:n], y[:n])) for n in (half, seen))
    space = st.FeatureSpace.from_data(X[:seen], y[:seen])

    comparison = st.compare_trees(old, new, X[seen:], y[seen:], space=space)
    print(comparison.to_text())
    gates = comparison.check(**LIMITS)
    print(f"\nLimits:\n{gates.to_text()}")
    print("\nThe new tree may go live." if gates else "\nKeep the deployed tree.")

    picture = out / "trees.png"
    st.TreeComparisonDisplay.from_trees(old, new, space=space).figure_.savefig(picture, dpi=120)
    page = comparison.report(out / "report.html")
    print(f"\nPicture: {picture.resolve()}")
    print(f"Open this in a browser: {Path(page).resolve()}")


if __name__ == "__main__":
    main()
