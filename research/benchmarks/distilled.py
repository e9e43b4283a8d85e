"""Distilled trees against cross-validated CART at the same number of leaves.

``python -m research.benchmarks.distilled``: on the rows of the retraining table, 70 % to train and
30 % to test; CART's depth and leaf size are cross-validated, and the distilled tree may have as
many leaves as CART came to use. Then what another size of a first tree costs: fitted to the 40 % of
the rows that deploy it, on the same test rows. Writes research/benchmarks/distilled.md.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from research.paper.retraining_methods import cart
from research.paper.retraining_protocol import NAMES, TUNING, split_set
from steadytree.estimators.distilled import DistilledTreeClassifier
from steadytree.evaluation.scores import auc
from steadytree.growing.teacher import size_by_minority

SIZES = ((24, 8, 8), (16, 6, 20), (16, 5, 20), (12, 5, 20), (8, 4, 20), (6, 4, 20))
"""Most leaves, most conditions in a rule, and fewest rows in a leaf."""
DEFAULT = (16, 5, 20)


def one(name: str, seed: int) -> dict[str, object]:
    rows = split_set(name, seed)
    usual = cart(rows, seed, everything=True)
    sized = DistilledTreeClassifier(max_leaf_nodes=max(2, usual.n_leaves), random_state=seed)
    free = DistilledTreeClassifier(random_state=seed).fit(rows.X_all, rows.y_all)

    def score(model: Any) -> float:
        return auc(rows.y_test == 1, model.predict_proba(rows.X_test)[:, 1])

    return {
        "name": name,
        "leaves": usual.n_leaves,
        "CART": score(usual),
        "distilled, same leaves": score(sized.fit(rows.X_all, rows.y_all)),
        "distilled, default size": score(free),
        "leaves, default size": free.n_leaves_,
    }


def first_trees(name: str, seed: int) -> list[dict[str, object]]:
    """Trees of every size on the rows that deploy; never more leaves than the cases pay for."""
    rows = split_set(name, seed)
    found: list[dict[str, object]] = []
    for leaves, depth, fewest in SIZES:
        model = DistilledTreeClassifier(
            max_leaf_nodes=size_by_minority(rows.y_old, 2, most=leaves),
            max_depth=depth,
            min_samples_leaf=fewest,
            random_state=seed,
        ).fit(rows.X_old, rows.y_old)
        shares = model.predict_proba(rows.X_test)[:, 1]
        score = 100 * auc(rows.y_test == 1, shares)
        size = (leaves, depth, fewest)
        found.append({"name": name, "size": size, "auc": score, "leaves": model.n_leaves_})
    return found


def sizes_table(seeds: int) -> list[str]:
    """What each size scores against the default one, the sets paired."""
    each = [row for name in NAMES for seed in range(seeds) for row in first_trees(name, seed)]
    means = pd.DataFrame(each).groupby(["name", "size"]).mean().unstack("size")
    lines = [
        "\n## What the size of a first tree costs\n",
        "AUC points against the default, mean ± standard error over the sets.\n",
        "| most leaves | most conditions | fewest rows | leaves on average | AUC points |",
        "|" + " --- |" * 5,
    ]
    for size in SIZES:
        gain = means["auc", size] - means["auc", DEFAULT]
        error = gain.std(ddof=1) / np.sqrt(len(gain))
        points = "0" if size == DEFAULT else f"{gain.mean():+.2f} ± {error:.2f}"
        limits = " | ".join(map(str, size))
        lines.append(f"| {limits} | {means['leaves', size].mean():.1f} | {points} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    rows = pd.DataFrame([one(name, seed) for name in NAMES for seed in range(options.seeds)])
    means = rows.groupby("name").mean()
    lines = [
        "# Distilled trees against cross-validated CART\n",
        f"Written by `python -m research.benchmarks.distilled`; {options.seeds} seeds; test AUC.\n",
        "| set | half | CART's leaves | CART | distilled, same leaves | distilled, default size | "
        "leaves, default size |",
        "|" + " --- |" * 7,
    ]
    for name, row in means.iterrows():
        half = "tuning" if name in TUNING else "untouched"
        cells = " | ".join(f"{value:.3f}" for value in row.iloc[1:4])
        sizes = " | ".join(f"{value:.1f}" for value in row.iloc[4:])
        lines.append(f"| {name} | {half} | {row['leaves']:.0f} | {cells} | {sizes} |")
    for column in ("distilled, same leaves", "distilled, default size"):
        gain = 100 * (means[column] - means["CART"])
        error = gain.std(ddof=1) / np.sqrt(len(gain))
        lines.append(f"\n{column}: {gain.mean():+.2f} ± {error:.2f} AUC points against CART.")
    lines += sizes_table(options.seeds)
    text = "\n".join(lines) + "\n"
    print(text)
    (Path(__file__).parent / "distilled.md").write_text(text)


if __name__ == "__main__":
    main()
