"""What the paper proves about its distance, checked on trees grown from data.

*Corollary 1*: extreme points of the linear relaxation of eq. (distance) are binary. The program is
built here as it is printed and solved by the dual simplex, which ends at an extreme point, for the
paper's costs and once more for random ones; its optimum must be the library's distance.

*Proposition 2*: d <= 2^D (2D + lambda), D being the depth of the deeper tree. The proof says that
trees can be constructed that reach it. They cannot: what one side of a split keeps the other side
loses, so that the 2^D paths of a tree lose D/2 features on average, not D. Over a matching drawn
at random the distance is then at most 2^D (D + lambda), and the least is no larger; trees on
disjoint categorical features reach it. Where all features are numbers, whose loss counts half,
such trees reach 2^D (D/2 + lambda). The paper's bound and the lower one are held against the trees.

Proposition 1, that the distance is a metric, is the triangle experiment.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import csr_array, eye_array, hstack, kron, vstack

from research.paper.jobs import Job
from research.paper.models import grow_batches, load_problem
from research.paper.protocols import grows_nested, make_split
from research.paper.settings import generator
from steadytree.distance.distances import pairwise_tree_distances, tree_distance
from steadytree.distance.equations import distance_bound
from steadytree.tree.paths import Paths
from steadytree.tree.tree import Tree

__all__ = ["FIELDS", "Relaxation", "attainable", "compute", "draw_pairs"]

FIELDS = ("depths", "min_leaves", "proposition_pairs", "max_rows")

BOOTSTRAPS = 2
"""Bootstraps per batch: two of them give 10,000 pairs already."""

LABEL_WEIGHTS = (1.0, 24.0)
"""Ours, and the paper's “equal weight” 2 D for D = 12."""

MOST_VARIABLES = 20_000
"""Larger programs would take minutes each."""

_ROUNDING = 1e-9  # by which a distance may exceed a bound

FloatArray = NDArray[np.float64]


def compute(job: Job) -> dict[str, Any]:
    """Check both statements on collections of one split, grown as under the paper's protocol."""
    settings, words = job.settings, (job.dataset, job.index)
    problem = load_problem(job.dataset, settings.max_rows, job.seed)
    split = make_split(
        problem.y, problem.groups, protocol="paper", rng=generator(job.seed, "split", *words)
    )
    rng = generator(job.seed, "propositions", *words)
    reference, trees = grow_batches(
        problem,
        [split.first, split.train],
        n_bootstraps=BOOTSTRAPS,
        depths=settings.depths,
        min_leaves=settings.min_leaves,
        rng=rng,
        nested=grows_nested("paper"),
    )
    pairs = draw_pairs(trees, reference, settings.proposition_pairs, rng)
    paths = [[Paths.from_tree(t, problem.space) for t in group] for group in (trees, reference)]
    solved: list[dict[str, float]] = []
    for i, j in pairs:
        for weight in LABEL_WEIGHTS:
            program = Relaxation(paths[0][i], paths[1][j], weight)
            own = tree_distance(trees[i], reference[j], space=problem.space, label_weight=weight)
            solved.append(program.check(own, rng))
    bounds = {}
    for weight in LABEL_WEIGHTS:
        distances = pairwise_tree_distances(
            trees, reference, space=problem.space, label_weight=weight
        )
        bounds[f"{weight:g}"] = _held_against(distances, trees, reference, weight)
    return {
        "corollary_1": {
            "programs": len(solved),
            "pairs": len(pairs),
            "pairs_of_unequal_size": sum(
                paths[0][i].n_paths != paths[1][j].n_paths for i, j in pairs
            ),
            "most_variables": int(max((s["variables"] for s in solved), default=0)),
            **{
                f"largest_{key}": max((s[key] for s in solved), default=0.0)
                for key in ("deviation", "random_deviation", "difference")
            },
        },
        "proposition_2": bounds,
    }


def draw_pairs(
    trees: Sequence[Tree], reference: Sequence[Tree], count: int, rng: np.random.Generator
) -> list[tuple[int, int]]:
    """Draw pairs of all sizes that a program can be solved for, small and large ones alike."""
    sizes = np.outer([t.n_leaves + 1 for t in reference], [t.n_leaves for t in trees]).T
    small = np.argwhere(sizes <= MOST_VARIABLES)
    # Shuffled before the sort, so that chance decides among pairs of one size.
    small = rng.permutation(small)
    ordered = small[np.argsort(sizes[tuple(small.T)], kind="stable")]
    taken = np.unique(
        np.linspace(0, len(ordered) - 1, min(count, len(ordered))).round().astype(int)
    )
    return [(int(i), int(j)) for i, j in ordered[taken]]


class Relaxation:
    """The linear relaxation of eq. (distance) between two trees.

    Variables are x_pq, row by row, and behind them x_p unless both have as many paths; p are the
    paths of the tree that has more.

    Parameters
    ----------
    a, b : Paths
    label_weight : float
        lambda of eq. (dist-paths).
    """

    def __init__(self, a: Paths, b: Paths, label_weight: float) -> None:
        if a.n_paths < b.n_paths:
            a, b = b, a
        n, m = a.n_paths, b.n_paths
        costs = np.abs(a.dense()[:, None, :] - b.dense()[None, :, :]).sum(axis=2) / 2
        costs += label_weight * (a.label[:, None] != b.label[None, :])
        each_p = kron(eye_array(n), np.ones((1, m)))
        each_q = kron(np.ones((1, n)), eye_array(m))
        self.costs: FloatArray = costs.ravel()
        if n > m:
            self.costs = np.concatenate([self.costs, a.paper_weight])
            each_p = hstack([each_p, eye_array(n)])
            each_q = hstack([each_q, csr_array((m, n))])
        self.constraints = csr_array(vstack([each_p, each_q]))

    def solve(self, costs: FloatArray) -> tuple[FloatArray, float]:
        """Return an optimal extreme point and its value."""
        rows = self.constraints.shape[0]
        found = linprog(
            costs, A_eq=self.constraints, b_eq=np.ones(rows), bounds=(0, 1), method="highs-ds"
        )
        assert found.status == 0, found.message
        return np.asarray(found.x), float(found.fun)

    def check(self, distance: float, rng: np.random.Generator) -> dict[str, float]:
        """Tell how far the solution is from binary, and its value from the distance."""
        x, value = self.solve(self.costs)
        other, _ = self.solve(rng.random(self.costs.size))
        return {
            "variables": float(x.size),
            "deviation": _from_binary(x),
            "random_deviation": _from_binary(other),
            "difference": abs(value - distance),
        }


def _from_binary(x: FloatArray) -> float:
    return float(np.minimum(np.abs(x), np.abs(x - 1)).max())


def attainable(depth: int, label_weight: float) -> float:
    """Return the largest distance that two trees of a depth can have: 2^D (D + lambda)."""
    return float(2.0**depth * (depth + label_weight))


def _held_against(
    distances: FloatArray, trees: Sequence[Tree], reference: Sequence[Tree], weight: float
) -> dict[str, Any]:
    """Count the pairs beyond the bounds, with D the depth of the deeper tree of each pair."""
    depth = np.maximum.outer([t.depth for t in trees], [t.depth for t in reference])
    found: dict[str, Any] = {"pairs": distances.size}
    for name, bound in (("paper", distance_bound), ("attainable", attainable)):
        bounds = np.array([bound(d, weight) for d in range(int(depth.max()) + 1)])[depth]
        # Two trees without a split: nothing but their labels can differ.
        ratio = distances / np.where(bounds > 0, bounds, 1)
        found[f"{name}_violated"] = int((distances > bounds + _ROUNDING).sum())
        found[f"{name}_largest_ratio"] = float(ratio.max())
    return found
