r"""Do intervals and error rates hold what they say? ``python -m research.benchmarks.coverage``.

**The intervals of** ``performance()``. A known world: outcomes follow a rule on eight uniform
features, which has moved between the old rows and the new ones ("signal"), or follow nothing at
all ("noise"). A tree is deployed on old rows (CART or our own), new rows arrive, ``retrain``
proposes a tree with or without the old rows, and 100,000 further rows tell the truth. Counted is
how often a nominal 95 % interval holds it, for 60, 200, 1,000 and 5,000 new rows, an outcome rate
of 0.3 and a rare one of 0.05, and five measures.

What each column's interval is about, set down before the run:

- ``deployed``: the deployed tree's value on further rows;
- ``recipe``: the value of the very tree that is proposed, which is what a reader takes it for.
  The recipe's expected value (the mean of the truth over the runs of one design) is counted
  beside it, for information;
- ``change``: the first of the recipe minus the deployed tree's. Where the two trees cannot
  differ in a measure, the interval is the point 0 and true without fail; these runs are not
  counted.

The criterion: for every column and number of new rows the mean over rates and measures lies
within 93 to 97 %, as far as the error of the simulation can tell (two standard errors over
runs); every single cell is listed, with its number of runs and binomial error, those that lie
outside first of all.

Further sections: the error of the stable trees' score estimate, the stated error rate of the
label rule, and what is changed on pure noise.

Retrainings are kept as they are finished (so is what their intervals are made of), so that a run
can be stopped and taken up again, and other intervals can be tried on the same retrainings.
Writes research/benchmarks/coverage.md.
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import pickle
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.stats import t as student
from sklearn.tree import DecisionTreeClassifier

# Must precede the first import of a numeric library.
from research.benchmarks import single_thread  # noqa: F401
from research.benchmarks.unit_cache import CACHE, UnitCache
from steadytree.estimators.distilled import DistilledTreeClassifier
from steadytree.estimators.stable import StableTreeClassifier
from steadytree.evaluation.cross_fitting import CrossFitted
from steadytree.evaluation.performance import performance_table
from steadytree.evaluation.scores import auc
from steadytree.plugins import as_tree
from steadytree.retraining import SearchOptions, retrain
from steadytree.tree.decision import STEADY, Decision
from steadytree.tree.tree import Tree

# Two prices make a path; more of them take time.
module_of_retrain = importlib.import_module("steadytree.retraining.retrain")
PRICES = (0.5, 0.2)

TARGET = Path(__file__).with_name("coverage.md")
N_OLD, N_TRUTH, N_ESTIMATORS = 300, 100_000, 10
SIZES = (60, 200, 1_000, 5_000)
RATES = (0.3, 0.05)
EVERY = {60: 1, 200: 1, 1_000: 2, 5_000: 3}
"""Of which runs a size is part: larger ones take more time."""
WORLDS = ("signal", "noise")
STARTS = ("CART", "our tree")
OLD_ROWS = (True, False)
DESIGN = ["n_new", "rate", "world", "start", "old_rows"]
MEASURES = ("AUC", "Brier score", "sensitivity", "specificity", "flagged positive")
COLUMNS = ("deployed", "recipe", "change")
LOW, HIGH = 0.93, 0.97


# -- the known world ----------------------------------------------------------------------


def log_odds(X: NDArray[np.float64], moved: bool) -> NDArray[np.float64]:
    cut = 0.65 if moved else 0.4
    late = 1.2 * (X[:, 3] > 0.5) if moved else 0.0
    return 2.0 * (X[:, 0] > cut) + 1.2 * (X[:, 1] > 0.6) - 1.0 * (X[:, 2] > 0.5) + late


@cache
def intercept(rate: float, moved: bool) -> float:
    """Intercept of the log odds that gives an outcome this rate."""
    X = np.random.default_rng(0).random((20_000, 8))
    odds = log_odds(X, moved)
    return float(brentq(lambda a: (1 / (1 + np.exp(-a - odds))).mean() - rate, -20, 20))


def draw(
    n: int, world: str, rate: float, moved: bool, rng: np.random.Generator
) -> tuple[pd.DataFrame, NDArray[np.int64]]:
    X = rng.random((n, 8))
    share = np.full(n, rate)
    if world == "signal":
        share = 1 / (1 + np.exp(-intercept(rate, moved) - log_odds(X, moved)))
    y = (rng.random(n) < share).astype(np.int64)
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(8)]), y


def truth(tree: Tree, X: pd.DataFrame, y: NDArray[np.int64]) -> dict[str, float]:
    leaf = tree.apply(X)
    share, label = tree.value[leaf, 1], tree.label[leaf]
    return {
        "AUC": auc(y == 1, share),
        "Brier score": float(((share - y) ** 2).mean()),
        "sensitivity": float(label[y == 1].mean()),
        "specificity": float(1 - label[y == 0].mean()),
        "flagged positive": float(label.mean()),
    }


# -- the intervals of performance() -------------------------------------------------------


@dataclass(frozen=True)
class Simulated:
    """One retraining: what its intervals are made of, and the truth that they should hold."""

    unit: dict[str, Any]
    scores: CrossFitted
    chosen: str
    true: dict[str, dict[str, float]]
    flips: float
    dissimilarity: float


def simulate(
    n_new: int, rate: float, world: str, start: str, old_rows: bool, seed: int
) -> Simulated:
    """Retrain once in the known world."""
    unit = {"n_new": n_new, "rate": rate, "world": world, "start": start, "old_rows": old_rows}
    words = [WORLDS.index(world), round(100 * rate), STARTS.index(start), int(old_rows), n_new]
    rng = np.random.default_rng([seed, *words])
    X_old, y_old = draw(N_OLD, world, rate, False, rng)
    X_new, y_new = draw(n_new, world, rate, True, rng)
    while not 0 < y_new.sum() < n_new:  # with one outcome only `retrain` refuses the rows
        X_new, y_new = draw(n_new, world, rate, True, rng)
    if start == "CART":
        model = DecisionTreeClassifier(max_depth=3, min_samples_leaf=10, random_state=seed)
        deployed = as_tree(model.fit(X_old, y_old), decision_threshold=float(y_old.mean()))
    else:
        own = DistilledTreeClassifier(
            n_estimators=N_ESTIMATORS, decision_threshold="prevalence", random_state=seed
        )
        deployed = as_tree(own.fit(X_old, y_old))
    old = {"old": (X_old, y_old)} if old_rows else {}
    quick: dict[str, Any] = {
        "search": SearchOptions(n_estimators=N_ESTIMATORS, copies=1),
        "random_state": seed,
    }
    with warnings.catch_warnings(), mock.patch.object(module_of_retrain, "PRICES", PRICES):
        warnings.simplefilter("ignore")
        result = retrain(deployed, X_new, y_new, **quick, **old)
    X, y = draw(N_TRUTH, world, rate, True, rng)
    true = {"deployed": truth(result.deployed, X, y), "recipe": truth(result.tree, X, y)}
    true["change"] = {m: true["recipe"][m] - true["deployed"][m] for m in MEASURES}
    return Simulated(
        {**unit, "seed": seed},
        result.scores,
        result.chosen,
        true,
        result.flips(),
        result.dissimilarity,
    )


def units(runs: int) -> list[dict[str, Any]]:
    """Every unit, so ordered that a run that is stopped early has all cells alike."""
    out = []
    designs = list(itertools.product(WORLDS, STARTS, OLD_ROWS))
    for run in range(runs):
        seed, design = divmod(run, len(designs))
        world, start, old_rows = designs[design]
        for n_new, rate in itertools.product(SIZES, RATES):
            if seed % EVERY[n_new] == 0:
                cell = {"n_new": n_new, "rate": rate, "world": world, "start": start}
                out.append({**cell, "old_rows": old_rows, "seed": seed})
    return out


def simulated(version: str, runs: int, minutes: float) -> Iterator[Simulated]:
    """Retrainings, kept as they are finished; after so many minutes only those at hand."""
    folder = CACHE / f"coverage-{version}"
    folder.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    for unit in units(runs):
        path = folder / ("-".join(str(value) for value in unit.values()) + ".pickle")
        if not path.exists():
            if time.monotonic() - start > 60 * minutes:
                continue
            path.write_bytes(pickle.dumps(vars(simulate(**unit))))
            print(path.stem, file=sys.stderr, flush=True)
        yield Simulated(**pickle.loads(path.read_bytes()))


def intervals(one: Simulated) -> dict[str, Any]:
    """Truth, estimate and both ends of the interval of every measure and column."""
    rows = np.arange(len(one.scores.y))
    table = performance_table(one.scores, one.chosen, parts=[("all", rows)], level=0.95).loc["all"]
    numbers = {
        f"{measure}: {column}": [
            one.true[column][measure],
            *(float(table.loc[measure, f"{column}{end}"]) for end in ("", "_low", "_high")),
        ]
        for measure in MEASURES
        for column in COLUMNS
    }
    before, after = (
        decision_cost(one.scores.deployed, one.unit["rate"], one.true[column])
        for column in ("deployed", "recipe")
    )
    change = {"flips": one.flips, "dissimilarity": one.dissimilarity, "saving": before - after}
    return {**one.unit, **numbers, **change}


def covered(frame: pd.DataFrame) -> pd.DataFrame:
    """One row per retraining, measure and column: the truth, the estimate, and whether held."""
    parts = []
    for measure, column in itertools.product(MEASURES, COLUMNS):
        numbers = np.array(frame[f"{measure}: {column}"].tolist())
        true, value, low, high = numbers.T
        part = frame[[*DESIGN, "seed"]].assign(
            measure=measure, column=column, true=true, error=value - true, width=high - low
        )
        expected = part.groupby(DESIGN)["true"].transform("mean")
        for name, target in (("held", true), ("held_expected", expected.to_numpy())):
            part[name] = (low - 1e-9 <= target) & (target <= high + 1e-9)
        cannot_differ = (column == "change") & (high - low == 0)
        parts.append(part[~np.isnan(value) & ~cannot_differ])
    return pd.concat(parts)


def percent(share: float, error: float) -> str:
    return f"{100 * share:.1f} ± {100 * error:.1f}"


def binomial_error(share: float, n: int) -> float:
    """Standard error of a share; at the ends that of Agresti and Coull's, which is not 0."""
    middle = (share * n + 2) / (n + 4)
    return float(np.sqrt(middle * (1 - middle) / (n + 4)))


def by_column_and_size(rows: pd.DataFrame) -> list[str]:
    lines = [
        "| of | new rows | held % (error over runs) | within 93 to 97? | retrainings "
        "| held %, of the expected value |",
        "|" + " --- |" * 6,
    ]
    for column, n_new in itertools.product(COLUMNS, SIZES):
        part = rows[(rows["column"] == column) & (rows["n_new"] == n_new)]
        # Measures of one retraining are not independent: the error is that of runs.
        runs = part.groupby([*DESIGN, "seed"])["held"].agg(["mean", "size"])
        held, weight = part["held"].mean(), runs["size"] / runs["size"].sum()
        error = float(np.sqrt(((weight * (runs["mean"] - held)) ** 2).sum()))
        beyond = max(LOW - held, held - HIGH)
        verdict = "yes" if beyond <= 0 else "within two errors" if beyond <= 2 * error else "no"
        expected = "" if column == "deployed" else f"{100 * part['held_expected'].mean():.1f}"
        lines.append(
            f"| {column} | {n_new:,} | {percent(held, error)} | {verdict} | {len(runs):,} "
            f"| {expected} |"
        )
    return lines


def cells_of(rows: pd.DataFrame) -> pd.DataFrame:
    keys = ["n_new", "rate", "measure", "column"]
    group = rows.groupby(keys)
    cells = (
        group["held"]
        .agg(["mean", "size"])
        .assign(bias=group["error"].mean(), width=group["width"].median())
    )
    cells["spread"] = [
        binomial_error(m, n) for m, n in zip(cells["mean"], cells["size"], strict=True)
    ]
    cells["beyond"] = np.maximum(LOW - cells["mean"], cells["mean"] - HIGH)
    return cells


def every_cell(cells: pd.DataFrame) -> list[str]:
    lines = [
        "| new rows | rate | measure | "
        + " | ".join(f"{c} % (runs)" for c in COLUMNS)
        + " | bias of the recipe's score | median width of its interval |",
        "|" + " --- |" * 8,
    ]
    for n_new, rate, measure in itertools.product(SIZES, RATES, MEASURES):
        words = []
        for column in COLUMNS:
            if (n_new, rate, measure, column) not in cells.index:
                words.append("")
                continue
            cell = cells.loc[(n_new, rate, measure, column)]
            words.append(f"{percent(cell['mean'], cell['spread'])} ({cell['size']:.0f})")
        honest = cells.loc[(n_new, rate, measure, "recipe")]
        lines.append(
            f"| {n_new:,} | {rate} | {measure} | {' | '.join(words)} | {honest['bias']:+.4f} "
            f"| {honest['width']:.3f} |"
        )
    return lines


def outside(cells: pd.DataFrame) -> list[str]:
    clearly = cells["beyond"] > 2 * cells["spread"]
    lines = [
        f"Of {len(cells)} cells {int((cells['beyond'] > 0).sum())} lie outside 93 to 97, "
        f"{int(clearly.sum())} of them by more than two binomial errors:\n",
        "| new rows | rate | measure | of | held % | runs |",
        "|" + " --- |" * 6,
    ]
    for (n_new, rate, measure, column), cell in cells[clearly].sort_values("mean").iterrows():
        words = percent(cell["mean"], cell["spread"])
        lines.append(
            f"| {n_new:,} | {rate} | {measure} | {column} | {words} | {cell['size']:.0f} |"
        )
    return lines


def decision_cost(tree: Tree, rate: float, true: dict[str, float]) -> float:
    """What a tree's decisions cost at its threshold, 1 where every one of them is wrong."""
    at = tree.decision.threshold or 0.0
    negative, positive = at * (1 - rate), (1 - at) * rate
    wrong = negative * (1 - true["specificity"]) + positive * (1 - true["sensitivity"])
    return wrong / (negative + positive)


def on_noise(frame: pd.DataFrame) -> list[str]:
    lines = [
        "| new rows | retrainings | median dissimilarity | median share of decisions changed "
        "| retrainings that change a decision | these lower its true cost by, on average |",
        "|" + " --- |" * 6,
    ]
    for n_new, part in frame[frame["world"] == "noise"].groupby("n_new"):
        changed = part["flips"] > 0
        lines.append(
            f"| {n_new:,} | {len(part)} | {part['dissimilarity'].median():.3f} "
            f"| {part['flips'].median():.3f} | {100 * changed.mean():.0f} % "
            f"| {part['saving'][changed].mean():.3f} |"
        )
    return lines


# -- the error of the stable trees' score estimate ----------------------------------------

STABLE_SIZES, STABLE_RULES = (200, 600), ("tolerance", "score")


def stable(n: int, rule: str, seed: int) -> dict[str, Any]:
    """One stable tree: its score estimate, the error, and the truth about the chosen tree."""
    rng = np.random.default_rng([seed, n])
    X, y = draw(n, "signal", 0.3, True, rng)
    grid = {"max_depth": [2, 4], "min_samples_leaf": [5, 20]}
    model = StableTreeClassifier(param_grid=grid, n_bootstraps=4, select=rule, random_state=seed)
    model.fit(X, y)
    far = draw(N_TRUTH, "signal", 0.3, True, rng)
    true = truth(as_tree(model), *far)["AUC"]
    return {"true": true, "score": model.score_estimate_, "error": model.score_estimate_se_}


def of_stable_trees(runs: int) -> list[str]:
    units = UnitCache("coverage-stable")
    lines = [
        "| rows | chosen by | held % | runs | error stated, median | error found | bias |",
        "|" + " --- |" * 7,
    ]
    for n, rule in itertools.product(STABLE_SIZES, STABLE_RULES):
        keys = [{"n": n, "rule": rule, "seed": seed} for seed in range(runs)]
        found = pd.DataFrame([units.get(key, lambda key=key: stable(**key)) for key in keys])
        missed = found["score"] - found["true"]
        z = float(student.ppf(0.975, STABLE_FOLDS - 1))
        held = (missed.abs() <= z * found["error"]).mean()
        lines.append(
            f"| {n} | {rule} | {percent(held, binomial_error(held, runs))} | {runs} "
            f"| {found['error'].median():.3f} | {np.sqrt((missed**2).mean()):.3f} "
            f"| {missed.mean():+.3f} |"
        )
    return lines


STABLE_FOLDS = 5


# -- the label rule ------------------------------------------------------------------------


def label_changes(n_new: int, rate: float, old_rows: bool, steady: float, seed: int) -> list[bool]:
    """Whether each leaf gets another label where every leaf's truth lies on the threshold."""
    rng = np.random.default_rng([seed, n_new, round(100 * rate)])
    X_old, y_old = draw(N_OLD, "noise", rate, False, rng)
    X_new, y_new = draw(n_new, "noise", rate, False, rng)
    model = DecisionTreeClassifier(max_depth=3, min_samples_leaf=10, random_state=seed)
    deployed = as_tree(model.fit(X_old, y_old), decision_threshold=rate)
    old = {"old": (X_old, y_old)} if old_rows else {}
    quick: dict[str, Any] = {
        "search": SearchOptions(n_estimators=N_ESTIMATORS, copies=1),
        "n_folds": 0,
    }
    with warnings.catch_warnings(), mock.patch.object(module_of_retrain, "PRICES", ()):
        warnings.simplefilter("ignore")
        policy = Decision(steady=steady)
        quick |= {"decision": policy, "price": 50.0, "random_state": seed}
        result = retrain(deployed, X_new, y_new, **quick, **old)
    new = result.trees["re-estimate"]
    leaf, before = new.apply(X_new), result.deployed.apply(X_new)
    return [
        bool(new.label[leaf[before == at][0]] != result.deployed.label[at])
        for at in np.unique(before)
    ]


def of_labels(runs: int) -> list[str]:
    units = UnitCache("coverage-labels")
    lines = [
        "| new rows | threshold | old rows | steady=0.5 % | steady=0 % | leaves |",
        "|" + " --- |" * 6,
    ]
    for n_new, rate, old_rows in itertools.product((200, 1_000), RATES, OLD_ROWS):
        words, count = [], 0
        for steady in (STEADY, 0.0):
            changed: list[bool] = []
            for seed in range(runs):
                key = {"n_new": n_new, "rate": rate, "old_rows": old_rows, "steady": steady}
                key["seed"] = seed
                found = units.get(key, lambda key=key: {"changed": label_changes(**key)})
                changed += found["changed"]
            count = len(changed)
            share = float(np.mean(changed))
            words.append(percent(share, binomial_error(share, count)))
        given = "with" if old_rows else "without"
        lines.append(f"| {n_new:,} | {rate} | {given} | {' | '.join(words)} | {count} |")
    return lines


# -- the page -------------------------------------------------------------------------------


def text(frame: pd.DataFrame, stable_runs: int, label_runs: int, note: str) -> str:
    rows = covered(frame)
    cells = cells_of(rows)
    lines = [
        "# Coverage of the intervals\n",
        f"`python -m research.benchmarks.coverage`: {len(frame):,} retrainings in a known world "
        f"({N_ESTIMATORS} trees in the teacher, 5 folds, {N_OLD} old rows). How often, in percent, "
        "a nominal 95 % interval of `performance()` holds the truth on 100,000 further rows. "
        "`recipe` is held against the truth about the very tree that is proposed (last column: "
        "against the recipe's expected value); a change in which the two trees cannot differ is "
        "not counted. The goal: 93 to 97 for every column and number of new rows. Fewer "
        "retrainings stand behind the larger sizes, which take more time.\n",
    ]
    lines += [f"{note}\n"] if note else []
    lines += ["## By column and number of new rows\n", *by_column_and_size(rows), ""]
    lines += ["## Cells outside\n", *outside(cells), ""]
    lines += ["## Every cell\n", "± is the binomial error.\n", *every_cell(cells), ""]
    lines += [
        "## Pure noise\n",
        "Outcomes that follow nothing: what `retrain` changes of the deployed tree. Its threshold "
        f"is the rate of {N_OLD} old rows, which is not quite the true one: thousands of new rows "
        "tell so, and deciding otherwise then is a real gain (last column).\n",
        *on_noise(frame),
        "",
        "## The label rule\n",
        "Every leaf's truth lies on the threshold, so that any change of a label is chance. "
        "Stated: at most 31 of 100 labels with `Decision(steady=0.5)`, 50 with `steady=0`. Leaf "
        "values are steadied, so that fewer change.\n",
        *of_labels(label_runs),
        "",
        "## The score estimate of stable trees\n",
        "`score_estimate_` against the AUC of the chosen tree on 100,000 further rows; held: "
        "within `score_estimate_se_` times Student's t with 4 degrees of freedom.\n",
        *of_stable_trees(stable_runs),
    ]
    return "\n".join(lines) + "\n"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m research.benchmarks.coverage",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--runs", type=int, default=200, help="retrainings of the smaller sizes")
    parser.add_argument("--stable-runs", type=int, default=100)
    parser.add_argument("--label-runs", type=int, default=30)
    parser.add_argument("--minutes", type=float, default=np.inf, help="retrain no longer than this")
    parser.add_argument("--version", default="1", help="name of the kept retrainings")
    parser.add_argument("--note", default="", help="a sentence for the top of the page")
    parser.add_argument("--output", type=Path, default=TARGET)
    chosen = parser.parse_args(arguments)
    every = simulated(chosen.version, chosen.runs, chosen.minutes)
    frame = pd.DataFrame([intervals(one) for one in every])
    page = text(frame, chosen.stable_runs, chosen.label_runs, chosen.note)
    chosen.output.write_text(page, encoding="utf-8")
    print(f"wrote {chosen.output}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
