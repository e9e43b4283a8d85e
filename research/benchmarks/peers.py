"""The peers, run as they are: each function takes prepared trees and returns one distance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from research.benchmarks.workloads import Workload
from steadytree.tree.paths import Paths

Solver = Callable[[NDArray[np.float64]], float]


@dataclass(frozen=True)
class Dense:
    """A tree as the straightforward program has it: normalised bounds, labels, weights."""

    bounds: NDArray[np.float64]
    label: NDArray[np.int32]
    weight: NDArray[np.float64]

    @classmethod
    def of(cls, paths: Paths) -> Dense:
        return cls(paths.dense(), paths.label, paths.paper_weight)

    @classmethod
    def of_model(cls, model: Any, lower: NDArray[np.float64], upper: NDArray[np.float64]) -> Dense:
        """Walk a scikit-learn tree: one box per leaf, the ranges of the features as 0 to 1."""
        tree, span = model.tree_, upper - lower
        low, high, labels = [], [], []
        stack = [(0, np.zeros(lower.size), np.ones(lower.size))]
        while stack:
            node, at_least, at_most = stack.pop()
            j = tree.feature[node]
            if j < 0:
                low.append(at_least)
                high.append(at_most)
                labels.append(tree.value[node, 0].argmax())
                continue
            cut = (tree.threshold[node] - lower[j]) / span[j]
            left, right = at_most.copy(), at_least.copy()
            left[j], right[j] = min(at_most[j], cut), max(at_least[j], cut)
            stack.append((tree.children_right[node], right, at_most))
            stack.append((tree.children_left[node], at_least, left))
        lows, highs = np.array(low), np.array(high)
        restricted = (lows > 0) | (highs < 1)
        weight = ((highs - lows) * restricted).sum(axis=1)
        return cls(np.hstack([1 - highs, lows]), np.array(labels, dtype=np.int32), weight)


def broadcast_cost(a: Dense, b: Dense) -> NDArray[np.float64]:
    features = np.abs(a.bounds[:, None, :] - b.bounds[None, :, :]).sum(axis=2) / 2
    return features + (a.label[:, None] != b.label[None, :])


def cdist_cost(a: Dense, b: Dense) -> NDArray[np.float64]:
    return cdist(a.bounds, b.bounds, "cityblock") / 2 + (a.label[:, None] != b.label[None, :])


def scipy_solver(cost: NDArray[np.float64]) -> float:
    rows, columns = linear_sum_assignment(cost)
    return float(cost[rows, columns].sum())


def paper_distance(
    a: Dense, b: Dense, cost: Callable[[Dense, Dense], NDArray[np.float64]], solver: Solver
) -> float:
    """Eq. (distance): sum of w(p) over the larger tree plus the assignment of d - w."""
    if len(a.label) < len(b.label):
        a, b = b, a
    table = cost(a, b)
    if len(a.label) == len(b.label):
        return solver(table)
    return float(a.weight.sum()) + solver(table - a.weight[:, None])


def numpy_scipy(a: Dense, b: Dense) -> float:
    return paper_distance(a, b, broadcast_cost, scipy_solver)


def cdist_scipy(a: Dense, b: Dense) -> float:
    return paper_distance(a, b, cdist_cost, scipy_solver)


def load(module: str, package: str) -> ModuleType:
    """Import a peer, or say how to install it."""
    import importlib

    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise SystemExit(
            f"expected {package} to time against, got {error}; "
            "install the peers with: pip install 'steadytree[bench]'"
        ) from error


def lapx_solvers() -> dict[str, Solver]:
    """Every exact solver of lapx for one rectangular problem in double precision."""
    lap = load("lap", "lapx")
    return {
        "lapjv": lambda c: float(lap.lapjv(c, extend_cost=True)[0]),
        "lapjvx": lambda c: float(lap.lapjvx(c, extend_cost=True)[0]),
        "lapjvxa": lambda c: float(lap.lapjvxa(c, extend_cost=True)[0]),
        "lapjvc": lambda c: float(lap.lapjvc(c)[0]),
        "lapjvs": lambda c: float(lap.lapjvs(c, prefer_float32=False)[0]),
        "lapjvr": lambda c: float(lap.lapjvr(c, extend_cost=True)[0]),
        "lapjvh": lambda c: float(lap.lapjvh(c, extend_cost=True)[0]),
    }


def lapx_distance(solver: Solver) -> Callable[[Dense, Dense], float]:
    return lambda a, b: paper_distance(a, b, cdist_cost, solver)


class DtDistance:
    """dt-distance 0.1.4, given the ranges once; it solves the "cover" variant."""

    def __init__(self, work: Workload) -> None:
        calculator: Any = load("dt_distance.distance_calculator", "dt-distance")
        params: Any = load("dt_distance.problem_params", "dt-distance")
        features = range(work.lower.size)
        self.params = params.ProblemParams(
            feature_index=list(features),
            feature_types=dict.fromkeys(features, "numerical"),
            feature_lower_bounds=dict(enumerate(work.lower.tolist())),
            feature_upper_bounds=dict(enumerate(work.upper.tolist())),
            feature_num_categories={},
            problem_type="classification",
        )
        self.calculate = calculator.DistanceCalculator

    def __call__(self, a: Any, b: Any) -> float:
        calculator = self.calculate(
            a, b, problem_params=self.params, normalize_distance=False, round_digits=12
        )
        return float(calculator.compute_tree_distance())
