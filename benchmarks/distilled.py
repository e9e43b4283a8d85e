"""Distilled trees against cross-validated CART at the same number of leaves.

``python -m benchmarks.distilled``: on the rows of the retraining table, 70 % to train and 30 %
to test; CART's depth and leaf size are cross-validated, and the distilled tree may have as many
leaves as CART came to use. Writes benchmarks/distilled.md.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from reproduction.retraining_methods import cart
from reproduction.retraining_protocol import NAMES, TUNING, split_set
from steadytree.estimators.distilled import DistilledTreeClassifier
from steadytree.evaluation.scores import auc


def one(name: str, seed: int) -> dict[str, object]:
    rows = split_set(name, seed)
    usual = cart(rows, seed, everything=True)
    sized = DistilledTreeClassifier(max_leaf_nodes=max(2, usual.n_leaves), random_state=seed)
    free = DistilledTreeClassifier(random_state=seed).fit(rows.X_all, rows.y_all)
    auto = DistilledTreeClassifier(max_leaf_nodes="auto", random_state=seed)
    auto.fit(rows.X_all, rows.y_all)

    def score(model: Any) -> float:
        return auc(rows.y_test == 1, model.predict_proba(rows.X_test)[:, 1])

    return {
        "name": name,
        "leaves": usual.n_leaves,
        "CART": score(usual),
        "distilled, same leaves": score(sized.fit(rows.X_all, rows.y_all)),
        "distilled, default size": score(free),
        "distilled, auto": score(auto),
        "leaves, default size": free.n_leaves_,
        "leaves, auto": auto.n_leaves_,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    rows = pd.DataFrame([one(name, seed) for name in NAMES for seed in range(options.seeds)])
    means = rows.groupby("name").mean()
    lines = [
        "# Distilled trees against cross-validated CART\n",
        f"Written by `python -m benchmarks.distilled`; {options.seeds} seeds; test AUC.\n",
        "| set | half | CART's leaves | CART | distilled, same leaves | distilled, default size | "
        "distilled, auto | leaves, default size | leaves, auto |",
        "|" + " --- |" * 9,
    ]
    for name, row in means.iterrows():
        half = "tuning" if name in TUNING else "untouched"
        cells = " | ".join(f"{value:.3f}" for value in row.iloc[1:5])
        sizes = " | ".join(f"{value:.1f}" for value in row.iloc[5:])
        lines.append(f"| {name} | {half} | {row['leaves']:.0f} | {cells} | {sizes} |")
    for column in ("distilled, same leaves", "distilled, default size", "distilled, auto"):
        gain = 100 * (means[column] - means["CART"])
        error = gain.std(ddof=1) / np.sqrt(len(gain))
        lines.append(f"\n{column}: {gain.mean():+.2f} ± {error:.2f} AUC points against CART.")
    text = "\n".join(lines) + "\n"
    print(text)
    (Path(__file__).parent / "distilled.md").write_text(text)


if __name__ == "__main__":
    main()
