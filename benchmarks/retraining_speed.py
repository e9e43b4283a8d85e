"""Time of ``retrain`` against the grid search over CART that it replaces.

``python -m benchmarks.retraining_speed``: 10,000 rows × 40 features, once with all rows new
and once as 6,000 old and 4,000 new rows; the grid has the paper's 50 settings and five
folds. Both use the same number of cores.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeClassifier

from benchmarks.synthetic import hard_rows
from steadytree.core.space import FeatureSpace
from steadytree.growing.cart import PAPER_GRID
from steadytree.readers import as_tree
from steadytree.retraining import retrain


def seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--n-jobs", type=int, default=1)
    options = parser.parse_args()
    n, jobs = options.rows, options.n_jobs
    X, y = hard_rows(int(1.6 * n), 40, majority=0.8)
    old, new = (X[: int(0.6 * n)], y[: int(0.6 * n)]), (X[-n:], y[-n:])
    model = DecisionTreeClassifier(max_depth=5, min_samples_leaf=30, random_state=0).fit(*old)
    deployed = as_tree(model, space=FeatureSpace.from_data(*old))
    part = (X[int(0.6 * n) : n], y[int(0.6 * n) : n])
    # A first call loads and compiles what later calls share.
    retrain(deployed, X[:200], y[:200], n_estimators=5, n_folds=2, random_state=0)
    search = GridSearchCV(
        DecisionTreeClassifier(random_state=0), PAPER_GRID, cv=5, scoring="roc_auc", n_jobs=jobs
    )
    base = seconds(lambda: search.fit(*new))
    print(f"grid search over CART, 50 settings, 5 folds: {base:.1f} s")
    runs: list[tuple[str, Callable[[], object]]] = [
        (
            f"retrain, {n:,} new rows",
            lambda: retrain(deployed, *new, n_jobs=jobs, random_state=0),
        ),
        (
            f"retrain, {int(0.6 * n):,} old and {n - int(0.6 * n):,} new rows",
            lambda: retrain(
                deployed, *part, X_old=old[0], y_old=old[1], n_jobs=jobs, random_state=0
            ),
        ),
    ]
    for name, run in runs:
        took = seconds(run)
        print(f"{name}: {took:.1f} s, {took / base:.2f} times the grid search")


if __name__ == "__main__":
    main()
