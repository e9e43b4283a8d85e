"""Synthetic drift: does the retrained tree let go when it must, and stay when it may?

Outcomes follow a logistic rule on ten uniform features. *Threshold shift*: the cut that
matters most moves between deploy and new rows. *Concept break*: the outcome comes to depend
on other features. Three strengths of each, and none.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from research.benchmarks.unit_cache import UnitCache
from steadytree.estimators.distilled import DistilledTreeClassifier
from steadytree.evaluation.scores import auc
from steadytree.retraining import retrain
from steadytree.retraining.retrain import DEFAULT_PRICE

ASKED = f"price {DEFAULT_PRICE:g}"
N_OLD, N_NEW, N_TEST = 1_600, 1_200, 2_000
STRENGTHS = (0.33, 0.67, 1.0)
SEEDS_DRIFT, SEEDS_NONE = 5, 20
CASES = [("none", 0.0)] + [
    (kind, s) for kind in ("threshold shift", "concept break") for s in STRENGTHS
]


def risk(X: NDArray[np.float64], kind: str, strength: float) -> NDArray[np.float64]:
    cut = 0.4 + (0.35 * strength if kind == "threshold shift" else 0.0)
    old = 2.2 * (X[:, 0] > cut) + 1.2 * (X[:, 1] > 0.6) - 1.0 * (X[:, 2] > 0.5) - 1.6
    if kind == "concept break":
        new = 2.2 * (X[:, 3] > 0.5) + 1.2 * (X[:, 4] > 0.6) - 1.0 * (X[:, 0] > 0.5) - 1.6
        old = (1 - strength) * old + strength * new
    return 1 / (1 + np.exp(-old))


def draw(n: int, kind: str, strength: float, rng: np.random.Generator) -> tuple[Any, Any]:
    X = rng.random((n, 10))
    y = (rng.random(n) < risk(X, kind, strength)).astype(np.int64)
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(10)]), y


def one(kind: str, strength: float, seed: int) -> dict[str, Any]:
    rng = np.random.default_rng([seed, round(100 * strength), len(kind)])
    X_old, y_old = draw(N_OLD, "none", 0.0, rng)
    X_new, y_new = draw(N_NEW, kind, strength, rng)
    X_test, y_test = draw(N_TEST, kind, strength, rng)
    first = DistilledTreeClassifier(decision_threshold="prevalence", random_state=seed)
    result = retrain(
        first.fit(X_old, y_old), X_new, y_new, old=(X_old, y_old), n_folds=0, random_state=seed
    )

    def score(name: str) -> float:
        return auc(y_test == 1, result.trees[name].predict_proba(X_test)[:, 1])

    row = result.frontier.loc[ASKED]
    assert result.drift is not None
    return {
        "auc_keep": score("keep"),
        "auc": score(ASKED),
        "auc_scratch": score("from scratch"),
        "dissimilarity": float(row["dissimilarity"]),
        "scratch_dissimilarity": float(result.frontier.loc["from scratch", "dissimilarity"]),
        "edits": int(row["n_edits"]),
        "detected": bool(result.drift.detected),
    }


def collect(version: str) -> pd.DataFrame:
    cache = UnitCache(f"drift-{version}")
    rows = []
    for kind, strength in CASES:
        for seed in range(SEEDS_NONE if kind == "none" else SEEDS_DRIFT):
            key = {"kind": kind, "strength": strength, "seed": seed}
            rows.append(cache.get(key, lambda key=key: one(**key)))
    return pd.DataFrame(rows)


def drift_section(version: str) -> str:
    frame = collect(version)
    lines = [
        "## Synthetic drift\n",
        f"Our first tree on 1,600 rows, 1,200 new rows, default price {DEFAULT_PRICE}; "
        f"{SEEDS_DRIFT} seeds, {SEEDS_NONE} without drift.\n",
        "| drift | strength | AUC keep | AUC retrained | AUC from scratch | behind scratch | "
        "median edits | mean dissimilarity % | scratch's % | drift seen |",
        "|" + " --- |" * 10,
    ]
    for (kind, strength), rows in frame.groupby(["kind", "strength"], sort=False):
        lines.append(
            f"| {kind} | {strength:g} | {rows.auc_keep.mean():.3f} | {rows.auc.mean():.3f} | "
            f"{rows.auc_scratch.mean():.3f} | "
            f"{100 * (rows.auc_scratch - rows.auc).mean():.2f} | {rows.edits.median():g} | "
            f"{100 * rows.dissimilarity.mean():.1f} | "
            f"{100 * rows.scratch_dissimilarity.mean():.1f} | {rows.detected.mean():.0%} |"
        )
    return "\n".join(lines)
