"""The collections of trees that the distances are timed on, kept in research/benchmarks/.cache."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.tree import DecisionTreeClassifier

from research.benchmarks.tables import progress
from steadytree import FeatureSpace, as_tree
from steadytree.tree.paths import Paths

CACHE = Path(__file__).with_name(".cache")
# The paper's grid.
MIN_LEAF = (3, 5, 10, 30, 50)
DEPTHS = tuple(range(3, 13))


@dataclass(frozen=True)
class Workload:
    """Two collections of fitted trees, their paths, and the ranges of the features."""

    name: str
    models: tuple[list[DecisionTreeClassifier], list[DecisionTreeClassifier]]
    paths: tuple[list[Paths], list[Paths]]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]

    def describe(self) -> str:
        sizes = [[p.n_paths for p in side] for side in self.paths]
        return " and ".join(
            f"{len(s):,} trees (mean {np.mean(s):.0f}, at most {max(s)} leaves)" for s in sizes
        )


def _cached(name: str, make: Callable[[], Any]) -> Any:
    # Our own files, written by this module: pickle is safe here.
    path = CACHE / f"trees-{name}-{sklearn.__version__}.pickle"
    if path.exists():
        return pickle.loads(path.read_bytes())
    progress(f"growing the trees of {name} (kept in {path})")
    trees = make()
    CACHE.mkdir(exist_ok=True)
    path.write_bytes(pickle.dumps(trees))
    return trees


def _workload(
    name: str, X: NDArray[Any], models: tuple[list[Any], list[Any]], trees: int | None = None
) -> Workload:
    space = FeatureSpace.from_data(X)
    first, second = (side[:trees] for side in models)
    paths = [Paths.from_trees([as_tree(m) for m in side], space) for side in (first, second)]
    return Workload(name, (first, second), (paths[0], paths[1]), X.min(axis=0), X.max(axis=0))


def _collections(X: NDArray[Any], y: NDArray[Any], bootstraps: int) -> tuple[list[Any], list[Any]]:
    """The first grown on bootstraps of half the rows, the second on bootstraps of all."""
    rng = np.random.default_rng(0)
    half = rng.permutation(len(y))[: len(y) // 2]
    out: tuple[list[Any], list[Any]] = ([], [])
    for side, rows in zip(out, (half, np.arange(len(y))), strict=True):
        for b in range(bootstraps):
            drawn = rng.choice(rows, len(rows))
            for min_leaf in MIN_LEAF:
                for depth in DEPTHS:
                    model = DecisionTreeClassifier(
                        max_depth=depth, min_samples_leaf=min_leaf, random_state=b
                    )
                    side.append(model.fit(X[drawn], y[drawn]))
    return out


def w1(trees: int) -> Workload:
    """Breast cancer, the paper's grid; up to 1,000 trees a collection."""
    X, y = load_breast_cancer(return_X_y=True)
    models = _cached("w1", lambda: _collections(X, y, 20))
    return _workload("W1", X, models, trees)


def distinct_models(work: Workload, count: int) -> Workload:
    """The first trees of each collection that differ from all before them."""
    kept = []
    for side in range(2):
        first: dict[bytes, int] = {}
        for k, model in enumerate(work.models[side]):
            first.setdefault(model.tree_.__getstate__()["nodes"].tobytes(), k)
        kept.append(sorted(first.values())[:count])
    models, paths = (
        [[collection[side][k] for k in kept[side]] for side in range(2)]
        for collection in (work.models, work.paths)
    )
    return replace(work, models=tuple(models), paths=tuple(paths))


def _hard_data(**changes: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    options = {
        "n_samples": 20000,
        "n_features": 35,
        "n_informative": 14,
        "n_redundant": 8,
        "n_clusters_per_class": 6,
        "weights": [0.93],
        "flip_y": 0.03,
        "class_sep": 0.8,
        "random_state": 0,
    }
    X, y = make_classification(**{**options, **changes})
    return X, y


def w2(trees: int) -> Workload:
    """20,000 rows that are hard to separate, the paper's grid; up to 100 trees."""
    X, y = _hard_data()
    models = _cached("w2", lambda: _collections(X, y, 2))
    return _workload("W2", X, models, trees)


def with_leaves(leaves: tuple[int, ...], each: int) -> Workload:
    """Trees grown on bootstraps to given numbers of leaves, ``each`` of them a side."""
    X, y = _hard_data(weights=[0.7], flip_y=0.1)

    def make() -> tuple[list[Any], list[Any]]:
        rng = np.random.default_rng(1)
        out: tuple[list[Any], list[Any]] = ([], [])
        for count in leaves:
            for side in out:
                for _ in range(each):
                    drawn = rng.choice(len(y), len(y))
                    model = DecisionTreeClassifier(max_leaf_nodes=count, random_state=0)
                    side.append(model.fit(X[drawn], y[drawn]))
        return out

    name = f"leaves-{'-'.join(map(str, leaves))}-{each}"
    return _workload(name, X, _cached(name, make))
