"""Trees for the tests of the solvers, and the distance in plain floating point."""

from __future__ import annotations

from random import Random

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

from steadytree import FeatureSpace, as_tree
from steadytree.distance.equations import DistanceOptions, Measure
from steadytree.tree.paths import Paths
from tests.strategies import Kind, random_space, random_tree

VARIANTS = ("paper", "metric", "cover")
OUTCOMES = ("label", "distribution", "impurity")


def measure(variant: str = "paper", outcome: str = "label", weight: float = 1.0) -> Measure:
    return Measure.of(DistanceOptions(variant, weight, outcome, None, None, False))


def plain_distance(a: Paths, b: Paths, variant: str, outcome: str, weight: float) -> float:
    """Eq. (distance) as printed, in floating point: an oracle that shares no code."""
    if a.n_paths < b.n_paths:
        a, b = b, a
    cost = np.abs(a.dense()[:, None] - b.dense()[None]).sum(axis=2) / 2
    if a.classes is None:
        cost += weight * np.abs(a.value - b.value.T)
    elif outcome == "label":
        cost += weight * (a.label[:, None] != b.label)
    elif outcome == "distribution":
        cost += weight * np.abs(a.value[:, None] - b.value[None]).sum(axis=2) / 2
    else:
        gini_a, gini_b = (1 - (p.value**2).sum(axis=1) for p in (a, b))
        cost += weight * np.abs(gini_a[:, None] - gini_b)
    price = {
        "paper": a.paper_weight,
        "metric": a.dense().sum(axis=1) / 2 + weight / 2,
        "cover": cost.min(axis=1),
    }[variant]
    rows, columns = linear_sum_assignment(cost - price[:, None])
    return float(cost[rows, columns].sum() + np.delete(price, rows).sum())


def random_collection(seed: int, count: int = 6) -> tuple[list[Paths], bool]:
    rng = Random(seed)
    kind = rng.choice(
        [
            Kind(categorical=False, missing=False),
            Kind(categorical=False),
            Kind(numeric=False),
            Kind(),
            Kind(regression=True),
        ]
    )
    space = random_space(rng, kind)
    trees = [
        random_tree(rng, space, kind, n_leaves=rng.choice([1, 2, 3, 5, 9, 14, 25, 40]))
        for _ in range(count)
    ]
    return [Paths.from_tree(t, space, classes=space.classes) for t in trees], kind.regression


def breast_cancer_paths(count: int, *, max_depth: int = 8) -> list[Paths]:
    X, y = load_breast_cancer(return_X_y=True)
    space = FeatureSpace.from_data(X)
    rng = np.random.default_rng(0)
    out = []
    for k in range(count):
        rows = rng.choice(len(y), len(y))
        model = DecisionTreeClassifier(max_depth=1 + k % max_depth, random_state=k)
        out.append(Paths.from_tree(as_tree(model.fit(X[rows], y[rows])), space))
    return out
