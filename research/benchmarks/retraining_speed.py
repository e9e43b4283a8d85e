"""Time and memory of ``retrain`` against what it replaces, in one interleaved run.

``python -m research.benchmarks.retraining_speed``: on the same data and the same cores,

- ``retrain`` with 5 folds against the grid search over CART that it replaces (the paper's 50
  settings, 5 folds), at 2,000, 20,000 and 200,000 rows × 40;
- ``retrain`` without folds against one ``RandomForestClassifier`` of 100 trees, at
  200,000 rows × 16;
- ``n_jobs=2`` against ``n_jobs=1``;
- with ``--million``: growth from 20,000 to 1,000,000 rows × 40 without folds, and the memory at
  a million rows, each in a process of its own.

The grid search of 200,000 rows takes more than half an hour: beyond ``--whole-grid`` rows two of
its settings (of middle size, folds as they are) are run and their time is multiplied. Both sides
take turns, ``--repeats`` times; the least time counts. Writes ``retraining_speed.md`` beside this
file.
"""

from __future__ import annotations

import argparse
import itertools
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeClassifier

from research.benchmarks.memory import peak_mebibytes
from research.benchmarks.synthetic import hard_rows
from steadytree.growing.collections import PAPER_GRID
from steadytree.plugins import as_tree
from steadytree.retraining import SearchOptions, retrain
from steadytree.tree.space import FeatureSpace
from steadytree.tree.tree import Tree

TABLE = Path(__file__).with_suffix(".md")
DEPLOYED_ROWS = 20_000
GIB = 2**30


@dataclass(frozen=True)
class Line:
    """One goal: what was measured, against what, and whether it holds."""

    what: str
    measured: str
    against: str
    ratio: float
    goal: str
    holds: bool

    def row(self) -> str:
        verdict = "" if self.holds else " **missed**"
        cells = (self.what, self.measured, self.against, f"{self.ratio:.2f}", self.goal + verdict)
        return f"| {' | '.join(cells)} |"


def problem(n: int, p: int) -> tuple[Tree, Any, Any]:
    """A tree deployed on some rows, and n rows that arrived."""
    old = min(n, DEPLOYED_ROWS)
    X, y = hard_rows(n + old, p, n_informative=min(14, p - 8), majority=0.8)
    model = DecisionTreeClassifier(max_depth=5, min_samples_leaf=30, random_state=0)
    space = FeatureSpace.from_data(X[:old], y[:old])
    return as_tree(model.fit(X[:old], y[:old]), space=space), X[old:], y[old:]


def take_turns(runs: Sequence[Callable[[], object]], repeats: int) -> list[tuple[float, float]]:
    """Least wall and CPU time of each, one after the other, several times over."""
    taken: list[list[tuple[float, float]]] = [[] for _ in runs]
    for _ in range(repeats):
        for run, times in zip(runs, taken, strict=True):
            wall, cpu = time.perf_counter(), time.process_time()
            run()
            times.append((time.perf_counter() - wall, time.process_time() - cpu))
    return [(min(w for w, _ in times), min(c for _, c in times)) for times in taken]


def grid_search(X: Any, y: Any, share: int) -> Callable[[], object]:
    """The grid search, or every ``share``-th of its settings."""
    names = sorted(PAPER_GRID)
    settings = [
        dict(zip(names, ([value] for value in values), strict=True))
        for values in itertools.product(*(PAPER_GRID[name] for name in names))
    ]
    search = GridSearchCV(
        DecisionTreeClassifier(random_state=0),
        settings[share // 2 :: share],
        cv=5,
        scoring="roc_auc",
        refit=share == 1,
    )
    return lambda: search.fit(X, y)


def against_grid(rows: Sequence[int], repeats: int, whole_grid: int) -> Iterator[Line]:
    """``retrain`` with folds against the grid search."""
    for n in rows:
        deployed, X, y = problem(n, 40)
        share = 1 if n <= whole_grid else 25
        turns = repeats if n <= 20_000 else 1
        ours, theirs = take_turns(
            [
                lambda d=deployed, X=X, y=y: retrain(d, X, y, random_state=0),  # type: ignore[misc]
                grid_search(X, y, share),
            ],
            turns,
        )
        base = theirs[1] * share
        ratio = ours[1] / base
        note = "" if share == 1 else f" ({share} × two of its 50 settings)"
        yield Line(
            f"`retrain`, 5 folds, {n:,} × 40",
            f"{ours[1]:.1f} s",
            f"grid search {base:.1f} s{note}",
            ratio,
            "≤ 1",
            ratio <= 1,
        )


def against_forest(n: int) -> Line:
    """``retrain`` without folds against one forest."""
    deployed, X, y = problem(n, 16)
    ours, theirs = take_turns(
        [
            lambda: retrain(deployed, X, y, n_folds=0, random_state=0),
            lambda: RandomForestClassifier(100, random_state=0, n_jobs=1).fit(X, y),
        ],
        1,
    )
    ratio = ours[1] / theirs[1]
    return Line(
        f"`retrain`, no folds, {n:,} × 16",
        f"{ours[1]:.1f} s",
        f"forest of 100 trees {theirs[1]:.1f} s",
        ratio,
        "≤ 1.5",
        ratio <= 1.5,
    )


def two_jobs(n: int, repeats: int) -> Line:
    """Two workers against one, by the clock: a busy machine shows less than there is."""
    deployed, X, y = problem(n, 40)
    # Workers are started, and load what they need, before the first measurement.
    retrain(
        deployed,
        X[:300],
        y[:300],
        n_jobs=2,
        search=SearchOptions(n_estimators=5),
        n_folds=2,
        random_state=0,
    )
    one, two = take_turns(
        [
            lambda: retrain(deployed, X, y, n_jobs=1, random_state=0),
            lambda: retrain(deployed, X, y, n_jobs=2, random_state=0),
        ],
        repeats,
    )
    ratio = one[0] / two[0]
    return Line(
        f"`n_jobs=2`, 5 folds, {n:,} × 40",
        f"{two[0]:.1f} s (wall)",
        f"`n_jobs=1` {one[0]:.1f} s (wall)",
        ratio,
        "≥ 1.6",
        ratio >= 1.6,
    )


def alone(n: int) -> dict[str, float]:
    """CPU time and peak memory of one ``retrain`` without folds, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "research.benchmarks.retraining_speed", "--alone", str(n)],
        check=True,
        capture_output=True,
        text=True,
    )
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def measure_alone(n: int) -> dict[str, float]:
    """What :func:`alone` asks for."""
    deployed, X, y = problem(n, 40)
    retrain(
        deployed, X[:300], y[:300], search=SearchOptions(n_estimators=5), n_folds=0, random_state=0
    )
    before = time.process_time()
    retrain(deployed, X, y, n_folds=0, random_state=0)
    seconds = time.process_time() - before
    return {"cpu": seconds, "memory": peak_mebibytes() * 2**20}


def million() -> list[Line]:
    """Growth to a million rows, and the memory there."""
    small, large = alone(20_000), alone(1_000_000)
    ratio = large["cpu"] / small["cpu"] / 50
    return [
        Line(
            "growth, no folds, 1,000,000 × 40",
            f"{large['cpu']:.1f} s",
            f"50 × {small['cpu']:.1f} s at 20,000 × 40",
            ratio,
            "≤ 1",
            ratio <= 1,
        ),
        Line(
            "memory, no folds, 1,000,000 × 40",
            f"{large['memory'] / GIB:.1f} GiB",
            "8 GiB",
            large["memory"] / GIB / 8,
            "≤ 1",
            large["memory"] <= 8 * GIB,
        ),
    ]


def main() -> None:
    """Measure what the options ask for and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="*", default=[2_000, 20_000, 200_000])
    parser.add_argument("--forest-rows", type=int, default=200_000, help="0 leaves it out")
    parser.add_argument("--jobs-rows", type=int, default=20_000, help="0 leaves it out")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--whole-grid", type=int, default=20_000)
    parser.add_argument("--million", action="store_true")
    parser.add_argument("--alone", type=int, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.alone:
        print(json.dumps(measure_alone(options.alone)))
        return
    # A first call loads and compiles what later calls share.
    deployed, X, y = problem(500, 40)
    retrain(
        deployed,
        X,
        y,
        search=SearchOptions(n_estimators=5),
        n_folds=2,
        random_state=np.random.RandomState(0),
    )
    lines: list[Line] = []
    for line in measured(options):
        lines.append(line)
        print(line.row(), flush=True)
        write(lines)


def measured(options: argparse.Namespace) -> Iterator[Line]:
    """Measure one goal after the other."""
    if options.million:
        yield from million()
    if options.forest_rows:
        yield against_forest(options.forest_rows)
    yield from against_grid(options.rows, options.repeats, options.whole_grid)
    if options.jobs_rows:
        yield two_jobs(options.jobs_rows, options.repeats)


def write(lines: Sequence[Line]) -> None:
    """Write the table, as far as it goes."""
    text = [
        "# Speed of retraining",
        "",
        "`python -m research.benchmarks.retraining_speed --million`: CPU seconds of one core (the",
        "least of interleaved runs) unless said otherwise.",
        "",
        "| | measured | against | ratio | goal |",
        "|---|---|---|---|---|",
        *(line.row() for line in lines),
        "",
    ]
    TABLE.write_text("\n".join(text))


if __name__ == "__main__":
    main()
