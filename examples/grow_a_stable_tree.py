"""Grow a tree that will not move much when data arrive, and see what that costs.

Hundreds of trees are grown on half of the rows and on all of them; the one chosen is the closest
to the first batch among those that predict about as well as the best (Section 3.1 of the paper).
"""

from __future__ import annotations

import argparse
from pathlib import Path

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

import steadytree as st
from steadytree.core.tree_words import tree_text


def main(arguments: list[str] | None = None) -> None:
    """Grow, choose and draw; leave a picture and a page to open."""
    parser = argparse.ArgumentParser(description="Grow one stable tree.")
    parser.add_argument("--out", type=Path, default=Path("stable-output"))
    out: Path = parser.parse_args(arguments).out
    out.mkdir(parents=True, exist_ok=True)

    X, benign = load_breast_cancer(return_X_y=True, as_frame=True)
    y = benign.map({0: "malignant", 1: "benign"})
    X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)

    model = st.StableTreeClassifier(n_bootstraps=4, tolerance=0.02, random_state=0)
    model.fit(X_train, y_train)
    candidates = model.results_
    best, chosen = (
        candidates.loc[candidates["selection_score"].idxmax()],
        candidates.loc[model.best_index_],
    )
    print(
        f"{len(candidates)} candidates, {int(model.pareto_mask_.sum())} on the Pareto frontier.\n"
    )
    for name, row in (("best score", best), ("chosen", chosen)):
        print(
            f"{name + ':':<12} mean distance {row['mean_distance']:6.2f}, "
            f"AUC {row['selection_score']:.3f}, {row['n_leaves']:.0f} leaves"
        )
    print(f"\n{tree_text(model.to_tree())}")
    print(f"\nOn {len(y_test)} rows that chose nothing: accuracy {model.score(X_test, y_test):.3f}")

    picture = out / "frontier.png"
    st.ParetoFrontierDisplay.from_estimator(model).figure_.savefig(picture, dpi=120)
    page = model.report(out / "report.html")
    print(f"\nPicture: {picture.resolve()}")
    print(f"Open this in a browser: {Path(page).resolve()}")


if __name__ == "__main__":
    main()
