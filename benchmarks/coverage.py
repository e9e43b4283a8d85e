"""Do the intervals of ``performance()`` hold what they say? ``python -m benchmarks.coverage``.

A known world: outcomes follow a rule on eight uniform features, which has moved between the
old rows and the new ones, or follow nothing at all (noise). A tree is deployed on old rows,
new rows arrive, ``retrain`` proposes a tree, and 100,000 further rows tell the truth about the
deployed tree, the proposal's own tree and the change. Counted is how often the 95 % intervals
hold it. Finished units are kept, so a run can be stopped and taken up again; writes
benchmarks/coverage.md.
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import sys
import time
import warnings
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import brentq
from sklearn.tree import DecisionTreeClassifier

# Must precede the first import of a numeric library.
from benchmarks import single_thread  # noqa: F401
from benchmarks.unit_cache import UnitCache
from steadytree.core.tree import Tree
from steadytree.estimators.distilled import DistilledTreeClassifier
from steadytree.evaluation.scores import auc
from steadytree.readers import as_tree
from steadytree.retraining import retrain

# Lower prices than the default do not touch the tree at the default price; they take time.
module_of_retrain = importlib.import_module("steadytree.retraining.retrain")
PRICES = tuple(p for p in module_of_retrain.PRICES if p >= module_of_retrain.DEFAULT_PRICE)

TARGET = Path(__file__).with_name("coverage.md")
N_OLD, N_TRUTH = 400, 100_000
SIZES = (60, 200, 1_000, 5_000)
RATES = (0.5, 0.2, 0.05)
WORLDS = ("signal", "noise")
STARTS = ("CART", "our tree")
OLD_ROWS = (True, False)
MEASURES = (
    "AUC",
    "sensitivity",
    "specificity",
    "flagged positive",
    "Brier score",
)
COLUMNS = ("deployed", "recipe", "change")


def log_odds(X: NDArray[np.float64], moved: bool) -> NDArray[np.float64]:
    cut = 0.65 if moved else 0.4
    late = 1.2 * (X[:, 3] > 0.5) if moved else 0.0
    return 2.0 * (X[:, 0] > cut) + 1.2 * (X[:, 1] > 0.6) - 1.0 * (X[:, 2] > 0.5) + late


def draw(
    n: int, world: str, rate: float, moved: bool, rng: np.random.Generator
) -> tuple[pd.DataFrame, NDArray[np.int64]]:
    X = rng.random((n, 8))
    share = np.full(n, rate)
    if world == "signal":
        cuts = np.random.default_rng(0).random((20_000, 8))

        def excess(intercept: float) -> float:
            return float((1 / (1 + np.exp(-intercept - log_odds(cuts, moved)))).mean() - rate)

        share = 1 / (1 + np.exp(-brentq(excess, -20, 20) - log_odds(X, moved)))
    y = (rng.random(n) < share).astype(np.int64)
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(8)]), y


def truth(tree: Tree, X: pd.DataFrame, y: NDArray[np.int64]) -> dict[str, float]:
    leaf = tree.apply(X)
    share, label = tree.value[leaf, 1], tree.label[leaf]
    return {
        "AUC": auc(y == 1, share),
        "sensitivity": float(label[y == 1].mean()),
        "specificity": float(1 - label[y == 0].mean()),
        "flagged positive": float(label.mean()),
        "Brier score": float(((share - y) ** 2).mean()),
    }


def one(
    world: str, rate: float, start: str, old_rows: bool, n_new: int, seed: int
) -> dict[str, Any]:
    words = [WORLDS.index(world), round(100 * rate), STARTS.index(start), int(old_rows), n_new]
    rng = np.random.default_rng([seed, *words])
    X_old, y_old = draw(N_OLD, world, rate, False, rng)
    while True:  # both outcomes, as any user has who retrains
        X_new, y_new = draw(n_new, world, rate, True, rng)
        if 3 <= y_new.sum() <= n_new - 3:
            break
    X, y = draw(N_TRUTH, world, rate, True, rng)
    if start == "CART":
        model = DecisionTreeClassifier(max_depth=3, min_samples_leaf=10, random_state=seed)
        deployed = as_tree(model.fit(X_old, y_old), decision_threshold=float(y_old.mean()))
    else:
        own = DistilledTreeClassifier(
            n_estimators=10, decision_threshold="prevalence", random_state=seed
        )
        deployed = as_tree(own.fit(X_old, y_old))
    old = {"X_old": X_old, "y_old": y_old} if old_rows else {}
    with warnings.catch_warnings(), mock.patch.object(module_of_retrain, "PRICES", PRICES):
        warnings.simplefilter("ignore")
        result = retrain(
            deployed, X_new, y_new, n_estimators=10, copies=1, n_folds=5, random_state=seed, **old
        )
    table = result.performance(min_cell=0).loc["all"]
    true = {"deployed": truth(result.deployed, X, y), "recipe": truth(result.tree, X, y)}
    true["change"] = {m: true["recipe"][m] - true["deployed"][m] for m in MEASURES}
    numbers = {
        f"{measure}: {column}": [
            true[column][measure],
            *(float(table.loc[measure, f"{column}{end}"]) for end in ("", "_low", "_high")),
        ]
        for measure in MEASURES
        for column in COLUMNS
    }
    own_score = {f"{measure}: own": float(table.loc[measure, "own"]) for measure in MEASURES}
    return {**numbers, **own_score, "flips": result.flips(), "edits": len(result.edits)}


def units(seeds: int) -> list[dict[str, Any]]:
    """Every unit, the cheap ones of each seed first."""
    names = ("n_new", "world", "rate", "start", "old_rows")
    cells = list(itertools.product(SIZES, WORLDS, RATES, STARTS, OLD_ROWS))
    every = [{**dict(zip(names, c, strict=True)), "seed": s} for s in range(seeds) for c in cells]
    return [unit for unit in every if unit["n_new"] < 5_000 or unit["seed"] % 5 == 0]


def collect(version: str, seeds: int, minutes: float) -> pd.DataFrame:
    cache = UnitCache(f"coverage-{version}")
    done, start = [], time.monotonic()
    for key in units(seeds):
        if time.monotonic() - start > 60 * minutes:
            break
        done.append(cache.get(key, lambda key=key: one(**key)))
    return pd.DataFrame(done)


def covered(frame: pd.DataFrame) -> pd.DataFrame:
    """One row per unit, measure and column: the truth, the estimate, and whether it was held."""
    keys = ["n_new", "world", "rate", "start", "old_rows", "seed"]
    parts = []
    for measure, column in itertools.product(MEASURES, COLUMNS):
        numbers = np.array(frame[f"{measure}: {column}"].tolist())
        true, value, low, high = numbers.T
        held = (low - 1e-9 <= true) & (true <= high + 1e-9)
        part = frame[keys].assign(
            measure=measure, column=column, error=value - true, held=held, width=high - low
        )
        parts.append(part[~np.isnan(value)])
    return pd.concat(parts)


def percent(held: pd.Series[bool]) -> str:
    n, share = len(held), held.mean()
    spread = 100 * np.sqrt(max(share * (1 - share), 0.01) / n)
    return f"{100 * share:.1f} ± {spread:.1f}"


def table(rows: pd.DataFrame, by: str) -> list[str]:
    levels = sorted(rows[by].unique(), key=str if rows[by].dtype == object else None)
    lines = [
        f"| {by} | measure | deployed tree | proposal's own tree | change | bias of the "
        "proposal's score | median width of its interval |",
        "|" + " --- |" * 7,
    ]
    for level, measure in itertools.product(levels, MEASURES):
        part = rows[(rows[by] == level) & (rows["measure"] == measure)]
        cells = [percent(part[part["column"] == column]["held"]) for column in COLUMNS]
        honest = part[part["column"] == "recipe"]
        lines.append(
            f"| {level} | {measure} | {' | '.join(cells)} | "
            f"{honest['error'].mean():+.4f} | {honest['width'].median():.3f} |"
        )
    return lines


def text(frame: pd.DataFrame) -> str:
    rows = covered(frame)
    cells = rows.groupby(["n_new", "rate", "measure", "column"])["held"].agg(["mean", "size"])
    spread = np.sqrt(np.maximum(cells["mean"] * (1 - cells["mean"]), 0.01) / cells["size"])
    beyond = np.maximum(0.93 - cells["mean"], cells["mean"] - 0.97)
    missed = cells.assign(spread=spread)[beyond > 2 * spread].reset_index()
    overall = [f"{column} {percent(rows[rows['column'] == column]['held'])}" for column in COLUMNS]
    lines = [
        "# Coverage of the intervals\n",
        f"`python -m benchmarks.coverage`: {len(frame):,} retrainings in a known world (10 "
        "trees in the teacher, 5 folds, 400 old rows). How often, in percent, a nominal 95 % "
        "interval of `performance()` holds the truth on 100,000 further rows; ± is the Monte "
        "Carlo standard error. The goal is 93 to 97. `recipe` is held against the truth about "
        "the very tree that is proposed.\n",
        f"Over all measures and sizes: {', '.join(overall)} (measures of one run are not "
        "independent, so that these ± are too small).\n",
    ]
    for title, by in (
        ("By number of new rows", "n_new"),
        ("By rate of the outcome", "rate"),
        ("By world", "world"),
        ("By deployed tree", "start"),
        ("With and without old rows", "old_rows"),
    ):
        lines += [f"## {title}\n", *table(rows, by), ""]
    lines.append("## Clearly outside 93 to 97\n")
    lines.append(
        f"By size, rate, measure and column ({len(cells)} cells, few runs in each): those that "
        f"lie outside by more than two standard errors, {len(missed)} of them.\n"
    )
    lines += ["| new rows | rate | measure | of | held % | ± |", "|" + " --- |" * 6]
    for row in missed.sort_values("mean").to_dict("records"):
        lines.append(
            f"| {row['n_new']} | {row['rate']} | {row['measure']} | {row['column']} | "
            f"{100 * row['mean']:.1f} | {100 * row['spread']:.1f} |"
        )
    return "\n".join(lines) + "\n"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.coverage", description=__doc__)
    parser.add_argument("--seeds", type=int, default=30)
    parser.add_argument("--minutes", type=float, default=np.inf, help="stop after so many")
    parser.add_argument("--version", default="1", help="name of the kept units")
    parser.add_argument("--output", type=Path, default=TARGET)
    chosen = parser.parse_args(arguments)
    frame = collect(chosen.version, chosen.seeds, chosen.minutes)
    chosen.output.write_text(text(frame), encoding="utf-8")
    print(f"wrote {chosen.output}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
