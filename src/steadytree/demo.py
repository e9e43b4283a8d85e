"""``make demo``: what retraining does to a tree, on the breast cancer data of scikit-learn."""

from __future__ import annotations

from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

from steadytree.core.rules import tree_text
from steadytree.core.space import FeatureSpace
from steadytree.distance import match_paths, tree_distance
from steadytree.readers import as_tree

__all__ = ["main"]

MAX_DEPTH = 3


def main() -> None:
    """Train on the first half, retrain on everything, and show how far the tree moved."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    outcome = y.map({0: "malignant", 1: "benign"})
    half = len(X) // 2
    learner = DecisionTreeClassifier(max_depth=MAX_DEPTH, min_samples_leaf=10, random_state=0)
    deployed = as_tree(learner.fit(X[:half], outcome[:half]))
    retrained = as_tree(learner.fit(X, outcome))
    space = FeatureSpace.from_data(X, outcome)

    print(f"The tree trained on the first {half} of {len(X)} patients:\n")
    print(tree_text(deployed))
    print("\nThe same method on all of them:\n")
    print(tree_text(retrained))
    matching = match_paths(deployed, retrained, space=space)
    print("\nRule by rule:\n")
    print(matching)
    share = tree_distance(deployed, retrained, space=space, normalize="bound", max_depth=MAX_DEPTH)
    print(f"\nThe paper's distance: {matching.distance:.3f}", end="")
    print(f" ({100 * share:.1f} % of the largest possible at depth {MAX_DEPTH})")
    print(f"Dissimilarity: {100 * matching.relative:.0f} % (0 % = the same rules)")


if __name__ == "__main__":
    main()
