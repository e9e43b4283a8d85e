"""Stable trees against the straightforward program: end to end, training, memory.

    python -m research.benchmarks.stable_trees            # speed, full size
    python -m research.benchmarks.stable_trees --quick
    python -m research.benchmarks.stable_trees --memory   # 100,000 mixed rows, most of an hour

The straightforward program fits every setting on every bootstrap with scikit-learn, writes
each tree as dense boxes, and loops over pairs with scipy's ``cdist`` and
``linear_sum_assignment``. Both sides run in one thread of one process, one after the other, and
are timed in seconds of processor time, which other work on the machine does not change.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import ParameterGrid, train_test_split
from sklearn.tree import DecisionTreeClassifier

from research.benchmarks.memory import resident_gibibytes
from research.benchmarks.synthetic import hard_rows
from research.benchmarks.tables import Section, number, progress
from steadytree.estimators.stable import StableTreeClassifier
from steadytree.growing.collections import PAPER_GRID, grow_collections
from steadytree.growing.fitting import TrainingData
from steadytree.tree.rows import CodedRows
from steadytree.tree.space import FeatureSpace

GRID = list(ParameterGrid(PAPER_GRID))

Array = NDArray[Any]


# -- the straightforward program -----------------------------------------------------


def fit_every_setting(X: Array, y: Array, n_bootstraps: int, rng: np.random.Generator) -> list[Any]:
    models = []
    for _ in range(n_bootstraps):
        drawn = rng.integers(0, len(y), len(y))
        for setting in GRID:
            model = DecisionTreeClassifier(**setting, random_state=0)
            models.append(model.fit(X[drawn], y[drawn]))
    return models


def boxes(model: Any, low: Array, high: Array) -> tuple[Array, Array, Array]:
    """Paths of a tree as scaled bounds, their labels, and their weights w(p)."""
    inner = model.tree_
    width = np.where(high > low, high - low, 1)
    rows, labels, weights = [], [], []
    stack = [(0, low.copy(), high.copy())]
    while stack:
        node, lower, upper = stack.pop()
        if inner.children_left[node] < 0:
            rows.append(np.concatenate([lower, upper]) / np.tile(width, 2) / 2)
            labels.append(inner.value[node, 0].argmax())
            bounded = (lower > low) | (upper < high)
            weights.append(((upper - lower) / width)[bounded].sum())
            continue
        j, cut = inner.feature[node], inner.threshold[node]
        left_upper, right_lower = upper.copy(), lower.copy()
        left_upper[j], right_lower[j] = min(upper[j], cut), max(lower[j], cut)
        stack.append((inner.children_left[node], lower, left_upper))
        stack.append((inner.children_right[node], right_lower, upper))
    return np.array(rows), np.array(labels), np.array(weights)


def loop_distances(first: list[Any], second: list[Any]) -> Array:
    out = np.empty((len(second), len(first)))
    for i, a in enumerate(second):
        for j, b in enumerate(first):
            large, small = (a, b) if len(a[0]) >= len(b[0]) else (b, a)
            cost = cdist(large[0], small[0], "cityblock")
            cost += large[1][:, None] != small[1][None, :]
            price = large[2]
            rows, columns = linear_sum_assignment(cost - price[:, None])
            out[i, j] = cost[rows, columns].sum() + np.delete(price, rows).sum()
    return out


def straightforward(X: Array, y: Array, n_bootstraps: int) -> float:
    """The whole method without any care for speed; returns the chosen tree's mean distance."""
    rng = np.random.default_rng(0)
    X_train, X_hold, y_train, y_hold = train_test_split(X, y, stratify=y, random_state=0)
    X_0, _, y_0, _ = train_test_split(X_train, y_train, train_size=0.5, stratify=y_train)
    first = fit_every_setting(X_0, y_0, n_bootstraps, rng)
    second = fit_every_setting(X_train, y_train, n_bootstraps, rng)
    low, high = X.min(axis=0), X.max(axis=0)
    distances = loop_distances(
        [boxes(model, low, high) for model in first], [boxes(model, low, high) for model in second]
    ).mean(axis=1)
    scores = np.array([roc_auc_score(y_hold, m.predict_proba(X_hold)[:, 1]) for m in second])
    close = scores >= 0.98 * scores.max()
    return float(distances[close].min())


# -- the measurements ------------------------------------------------------------------


def end_to_end(n_bootstraps: int) -> dict[str, Any]:
    X, y = load_breast_cancer(return_X_y=True)
    model = StableTreeClassifier(n_bootstraps=n_bootstraps, n_jobs=1, random_state=0)
    StableTreeClassifier(n_bootstraps=1, random_state=1).fit(X, y)  # compile the kernel
    ours = timed(lambda: model.fit(X, y))
    peer = timed(lambda: straightforward(X, y, n_bootstraps))
    return row(
        f"fit, breast cancer, {n_bootstraps} bootstraps x {len(GRID)} settings per batch",
        ours,
        peer,
        goal=10,
    )


def training(n_rows: int, n_bootstraps: int) -> dict[str, Any]:
    X, y = hard_rows(n_rows, 35)
    every = np.arange(n_rows)
    half = np.sort(np.random.default_rng(0).permutation(every)[: n_rows // 2])
    space = FeatureSpace.from_data(X, y)
    data = TrainingData.from_rows(CodedRows(X, y, table=X), space=space, classes=np.unique(y))
    seeds = np.arange(2 * n_bootstraps).reshape(2, -1)

    def grow() -> None:
        grow_collections(
            DecisionTreeClassifier(),
            data,
            [half, every],
            GRID,
            n_bootstraps=n_bootstraps,
            seeds=seeds,
            n_jobs=1,
        )

    def separately() -> None:
        rng = np.random.default_rng(0)
        single = X.astype(np.float32)
        fit_every_setting(single[half], y[half], n_bootstraps, rng)
        fit_every_setting(single, y, n_bootstraps, rng)

    return row(
        f"training, {n_rows:,} x 35 rows, {n_bootstraps} bootstraps x {len(GRID)} settings",
        timed(grow),
        timed(separately),
        goal=4,
    )


def mixed_rows(n_rows: int) -> tuple[pd.DataFrame, Array]:
    """44 columns: 30 numeric, 4 of them with missing values, and 14 categorical."""
    X, y = hard_rows(n_rows, 44, n_informative=20)
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(44)])
    rng = np.random.default_rng(0)
    for j in range(4):
        frame.loc[rng.random(n_rows) < 0.1, f"x{j}"] = np.nan
    for j in range(30, 44):
        cuts = np.quantile(X[:, j], np.linspace(0, 1, 3 + j % 6)[1:-1])
        codes = np.searchsorted(cuts, X[:, j])
        frame[f"x{j}"] = pd.Categorical.from_codes(codes, [f"c{k}" for k in range(len(cuts) + 1)])
    return frame, y


def memory(n_rows: int, n_bootstraps: int) -> dict[str, Any]:
    """Peak memory of one fit with all its workers, in a process of its own (Linux)."""
    command = [sys.executable, "-m", "research.benchmarks.stable_trees", "--child"]
    command += [str(n_rows), str(n_bootstraps)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        peak = 0.0
        while running.poll() is None:
            peak = max(peak, resident_gibibytes(running.pid))
            time.sleep(0.5)
        assert running.stdout is not None
        found = json.loads(running.stdout.read())
    trees = n_bootstraps * len(GRID)
    return {
        "name": f"peak memory, {n_rows:,} x 44 mixed rows, {trees:,} trees per batch",
        "gibibytes": peak,
        "seconds": found["seconds"],
        "mean_leaves": found["mean_leaves"],
        "goal": "< 6 GiB",
        "holds": peak < 6,
    }


def child(n_rows: int, n_bootstraps: int) -> None:
    X, y = mixed_rows(n_rows)
    start = time.perf_counter()
    model = StableTreeClassifier(n_bootstraps=n_bootstraps, n_jobs=2, random_state=0, verbose=1)
    model.fit(X, y)
    found = {
        "seconds": time.perf_counter() - start,
        "mean_leaves": float(model.results_["n_leaves"].mean()),
    }
    print(json.dumps(found))


def timed(work: Any) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def row(name: str, ours: float, peer: float, *, goal: float) -> dict[str, Any]:
    ratio = peer / ours
    return {
        "name": name,
        "ours_seconds": ours,
        "peer_seconds": peer,
        "ratio": ratio,
        "goal": goal,
        "holds": ratio >= goal,
    }


def run(quick: bool) -> list[Section]:
    """Measure speed for ``python -m research.benchmarks``."""
    progress("stable trees against the straightforward program")
    section = Section(
        "Stable trees",
        ["what", "ours, s", "separate fits, cdist + scipy, s", "ratio"],
        intro="Processor seconds, one thread. Memory: research.benchmarks.stable_trees --memory.",
    )
    for found in measure(quick):
        section.add(
            found["name"],
            f"{found['ours_seconds']:.2f}",
            f"{found['peer_seconds']:.1f}",
            f"{number(found['ratio'])} ×",
        )
        if not quick:
            section.goal(found["name"], found["ratio"], found["goal"])
    return [section.show()]


def measure(quick: bool = False, *, with_memory: bool = False) -> list[dict[str, Any]]:
    """Return one row per measurement; the full memory run takes most of an hour."""
    rows = [
        end_to_end(4 if quick else 20),
        training(4_000 if quick else 20_000, 1),
    ]
    if with_memory:
        rows.append(memory(5_000 if quick else 100_000, 1 if quick else 20))
    return rows


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--memory", action="store_true", help="measure memory as well")
    parser.add_argument("--child", nargs=2, type=int, help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.child:
        child(*options.child)
        return
    for found in measure(options.quick, with_memory=options.memory):
        print(
            ", ".join(f"{k} {v:.3g}" if isinstance(v, float) else f"{v}" for k, v in found.items())
        )


if __name__ == "__main__":
    main()
