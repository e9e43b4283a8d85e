"""Deploy a tree, let data arrive, retrain it, and see what changed (``make demo``).

The data are the breast cancer measurements that ship with scikit-learn.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

import steadytree as st
from steadytree.core.tree_words import tree_text

MAX_DEPTH = 4
MAX_LEAVES = 6
CALLED_FROM = 0.2
"""A missed malignant tumour is worse than a needless biopsy: malignant is called from a risk of
20 % on. Such a policy belongs to the tree, and the retrained tree inherits it."""


def main(arguments: list[str] | None = None) -> None:
    """Tell the story on standard output and leave a report to open."""
    parser = argparse.ArgumentParser(description="Deploy, retrain and compare one tree.")
    parser.add_argument("--out", type=Path, default=Path("demo-output"))
    out: Path = parser.parse_args(arguments).out
    out.mkdir(parents=True, exist_ok=True)

    X, benign = load_breast_cancer(return_X_y=True, as_frame=True)
    y = benign.map({0: "malignant", 1: "benign"})
    half = len(X) // 2
    space = st.FeatureSpace.from_data(X, y)

    _heading("1. What happens today")
    cart = DecisionTreeClassifier(max_leaf_nodes=MAX_LEAVES, min_samples_leaf=5, random_state=0)
    before, after = (
        st.as_tree(cart.fit(X[:rows], y[:rows]), CALLED_FROM) for rows in (half, len(X))
    )
    matching = st.match_paths(before, after, space=space)
    bound = st.tree_distance(
        before, after, space=space, normalize="bound", max_depth=MAX_LEAVES - 1
    )
    print(f"A tree is trained on the first {half} of {len(X)} patients:\n")
    print(tree_text(before))
    print("\nData arrive, the same method is run on everything, and the rules become:\n")
    print(tree_text(after))
    print("\nRule by rule:\n")
    print(matching)
    print(f"\nThe paper's distance is {matching.distance:.2f} ({100 * bound:.1f} % of its bound);")
    print(f"the trees are {100 * matching.relative:.0f} % dissimilar (0 % = the same rules).")

    _heading("2. The same with steadytree")
    learner = st.DistilledTreeClassifier(
        max_leaf_nodes=MAX_LEAVES,
        max_depth=MAX_DEPTH,
        decision_threshold=CALLED_FROM,
        random_state=0,
    )
    deployed = learner.fit(X[:half], y[:half])
    print(f"A tree is distilled from a forest on the first {half} patients and deployed:\n")
    print(tree_text(st.as_tree(deployed)))
    result = st.retrain(
        deployed,
        X[half:],
        y[half:],
        X_old=X[:half],
        y_old=y[:half],
        space=space,
        random_state=0,
        n_jobs=-1,
    )
    print(f"\n{len(X) - half} more patients arrive and it is retrained, paying for every change:\n")
    print(tree_text(result.tree))
    print("\n(A printed tree tells all it holds to whoever has the rows. What is for others,")
    print("below and in the report, tells counts of fewer than 5 people as ranges or not at all.)")
    print(f"\n{result.explain()}\n")
    print(result.diff.to_text())

    _heading("3. The decision report")
    st.save_tree(st.as_tree(deployed), out / "deployed.json")
    st.save_tree(result.tree, out / "proposed.json")
    page = result.report(out / "report.html")
    print(f"Trees: {out / 'deployed.json'}, {out / 'proposed.json'}")
    print(f"Open this in a browser: {Path(page).resolve()}")


def _heading(text: str) -> None:
    print(f"\n{text}\n{'=' * len(text)}\n")


if __name__ == "__main__":
    main()
