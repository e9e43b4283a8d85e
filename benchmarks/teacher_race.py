"""Our forest against scikit-learn's as the teacher of `retrain`: ``python -m benchmarks.teacher_race``.

A fair race: the same binned columns, rows per tree, leaves, columns per split and number of trees,
the same cores, everything else of `retrain` unchanged. Both take turns; the least time counts.
Our forest stays while `retrain` with it is at least 1.5 times faster from end to end. Writes
benchmarks/teacher_race.md.
"""

from __future__ import annotations

# Must precede the first import of a numeric library.
from benchmarks import single_thread  # noqa: F401  isort: skip

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestRegressor

from benchmarks.retraining_speed import problem
from reproduction.retraining_methods import cart
from reproduction.retraining_protocol import split_set
from steadytree.growing import teacher
from steadytree.growing.ensembles import MOST_BINS, ROWS_PER_TREE, BinnedColumns, Forest
from steadytree.retraining import retrain

TARGET = Path(__file__).with_suffix(".md")
LEAST_RATIO = 1.5
FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SklearnForest:
    """scikit-learn's forest with the signature of ours; squared error of shares is Gini impurity."""

    model: RandomForestRegressor

    @classmethod
    def fit(
        cls,
        table: BinnedColumns,
        targets: FloatArray,
        weight: FloatArray,
        *,
        n_trees: int,
        max_features: int,
        min_leaf: int,
        seed: int,
    ) -> tuple[SklearnForest, FloatArray]:
        model = RandomForestRegressor(
            n_trees,
            max_features=max_features,
            min_samples_leaf=min_leaf,
            max_samples=min(len(table), ROWS_PER_TREE),
            oob_score=True,
            n_jobs=SklearnForest.n_jobs,
            random_state=seed,
        )
        y = targets[:, 0] if targets.shape[1] == 1 else targets
        model.fit(_columns(table), y, sample_weight=weight)
        return cls(model), model.oob_prediction_.reshape(targets.shape)

    def predict(self, table: BinnedColumns) -> FloatArray:
        """Targets of any rows."""
        found: FloatArray = self.model.predict(_columns(table)).reshape(len(table), -1)
        return found


SklearnForest.n_jobs = 1  # type: ignore[attr-defined]


def _columns(table: BinnedColumns) -> NDArray[np.float32]:
    columns = table.by_row.astype(np.float32)
    columns[table.by_row == MOST_BINS] = np.nan
    return columns


def cases() -> Iterator[tuple[str, tuple[Any, ...], dict[str, Any]]]:
    """Name, positional and named arguments of a call of `retrain`."""
    for name in ("wdbc", "rotterdam", "support2"):
        rows = split_set(name, 0)
        given = (cart(rows, 0, everything=False), rows.X_new, rows.y_new)
        yield f"{name}, 5 folds", given, {"X_old": rows.X_old, "y_old": rows.y_old}
    for n, n_folds in ((2_000, 5), (20_000, 5), (20_000, 0), (200_000, 0)):
        words = f"{n_folds} folds" if n_folds else "no folds"
        yield f"synthetic {n:,} × 16, {words}", problem(n, 16), {"n_folds": n_folds}


def seconds(given: tuple[Any, ...], named: dict[str, Any], forest: type, n_jobs: int) -> float:
    """Wall time of one call with this forest as the teacher."""
    SklearnForest.n_jobs = n_jobs  # type: ignore[attr-defined]
    with patch.object(teacher, "Forest", forest):
        began = time.perf_counter()
        retrain(*given, **named, n_jobs=1 if named.get("n_folds") else n_jobs, random_state=0)
        return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    lines = [
        "# Our forest against scikit-learn's, as the teacher",
        "",
        "`python -m benchmarks.teacher_race`: seconds of one `retrain` (least of "
        f"{options.repeats} turns), the same cores for both.",
        "",
        "| rows | cores | ours | scikit-learn's forest | ratio |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name, given, named in cases():
        for n_jobs in (1, 2) if named.get("n_folds") == 0 else (1,):
            turns = [
                [seconds(given, named, forest, n_jobs) for forest in (Forest, SklearnForest)]
                for _ in range(options.repeats)
            ]
            ours, theirs = np.min(turns, axis=0)
            lines.append(
                f"| {name} | {n_jobs} | {ours:.2f} | {theirs:.2f} | {theirs / ours:.2f} |"
            )
            print(lines[-1], flush=True)
    lines += ["", f"Ours stays while the ratio is at least {LEAST_RATIO}.", ""]
    TARGET.write_text("\n".join(lines))


if __name__ == "__main__":
    main()
