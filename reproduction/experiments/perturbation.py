"""How the distance answers to a change of known size (the paper, Appendix B).

*Direct*: every threshold t of a cross-validated tree becomes
``t * (1 + 2 * theta_max * theta - theta_max)`` with theta uniform on [0, 1]. *Indirect*: a share
of the training rows is replaced by other rows and the tree is trained anew.

The direct change is relative to t, not to the range of the feature: where a feature lives far
from zero, moved thresholds leave its range. They are measured in two ways. *Clipped*: as
everywhere in this package, a threshold outside the range is set to the end of the range, and a
path that no value can reach is dropped. *Literal*: eq. (dist-paths) taken at its word: the
moved thresholds are the bounds of a path wherever they lie, the range stands in the denominator
only, and no path is dropped.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from reproduction.jobs import Job
from reproduction.models import cross_validated_tree, load_problem
from reproduction.protocols import TEST_SHARE, partition
from reproduction.settings import generator
from steadytree.assessment import perturb_thresholds
from steadytree.core.boxes import coordinate_start
from steadytree.core.paths import Paths
from steadytree.core.space import FeatureSpace
from steadytree.core.tree import Tree
from steadytree.distance.distances import tree_distance

__all__ = [
    "BLOCK",
    "DIRECT_FIELDS",
    "INDIRECT_FIELDS",
    "clip_thresholds",
    "compute_direct",
    "compute_indirect",
    "literal_distance",
]

DIRECT_FIELDS = ("depths", "min_leaves", "perturbations", "perturbation_sizes", "max_rows")
INDIRECT_FIELDS = ("depths", "min_leaves", "replaced_shares", "max_rows")

BLOCK = 10
"""Repetitions of the direct perturbation that are stored together."""

FloatArray = NDArray[np.float64]


def compute_direct(job: Job) -> dict[str, Any]:
    """Perturb the thresholds of cross-validated trees, one block of repetitions.

    Each repetition trains its tree on a fresh random 67 % of the rows.
    """
    settings = job.settings
    problem = load_problem(job.dataset, settings.max_rows, job.seed)
    start = BLOCK * job.index
    found: dict[str, list[Any]] = {"depth": [], "clipped": [], "literal": [], "outside": []}
    for repetition in range(start, min(start + BLOCK, settings.perturbations)):
        rng = generator(job.seed, "direct", job.dataset, repetition)
        rows = np.arange(len(problem.y))
        _, train = partition(rows, problem.y, problem.groups, TEST_SHARE, rng)
        tree = cross_validated_tree(
            problem, train, depths=settings.depths, min_leaves=settings.min_leaves, rng=rng
        )
        clipped, literal, outside = [], [], []
        for largest in settings.perturbation_sizes:
            moved = perturb_thresholds(tree, largest, rng)
            inside = clip_thresholds(moved, problem.space)
            clipped.append(tree_distance(tree, inside, space=problem.space))
            literal.append(literal_distance(tree, moved, problem.space))
            splits = np.isfinite(moved.threshold)
            left_range = (inside.threshold != moved.threshold)[splits]
            outside.append(float(left_range.mean()) if splits.any() else 0.0)
        found["depth"].append(tree.depth)
        found["clipped"].append(clipped)
        found["literal"].append(literal)
        found["outside"].append(outside)
    return found


def compute_indirect(job: Job) -> dict[str, Any]:
    """Replace growing shares of the training rows and measure how far the tree moves.

    The rows are permuted and halved; a share of the first half gives way to as many rows of the
    second. Groups are ignored here as the paper's design leaves no place for them.
    """
    settings = job.settings
    problem = load_problem(job.dataset, settings.max_rows, job.seed)
    rng = generator(job.seed, "indirect", job.dataset, job.index)
    order = rng.permutation(len(problem.y))
    half = len(order) // 2
    original, spare = order[:half], order[half : 2 * half]
    seed = int(rng.integers(2**31))

    def train(rows: NDArray[np.intp]) -> Tree:
        # The same folds and tie-breaks each time: only the rows may make a difference.
        return cross_validated_tree(
            problem,
            rows,
            depths=settings.depths,
            min_leaves=settings.min_leaves,
            rng=np.random.default_rng(seed),
        )

    tree = train(original)
    found: dict[str, list[Any]] = {"distance": [], "dissimilarity": [], "depth": []}
    for share in settings.replaced_shares:
        count = round(share * half)
        other = train(np.concatenate([spare[:count], original[count:]]))
        found["distance"].append(tree_distance(tree, other, space=problem.space))
        found["dissimilarity"].append(
            tree_distance(tree, other, space=problem.space, variant="metric", normalize="relative")
        )
        found["depth"].append(max(tree.depth, other.depth))
    return found


def clip_thresholds(tree: Tree, space: FeatureSpace) -> Tree:
    """Set finite thresholds outside the range of their feature to the end of the range."""
    threshold = tree.threshold.copy()
    for node in np.flatnonzero(np.isfinite(threshold)).tolist():
        j = int(tree.feature[node])
        threshold[node] = min(max(threshold[node], space.lower[j]), space.upper[j])
    return tree.replace(threshold=threshold, label=tree.label)


def literal_distance(tree: Tree, moved: Tree, space: FeatureSpace) -> float:
    """Distance of eq. (distance) between a tree and itself with moved thresholds, unclipped.

    Both have the same paths, so the weight of unmatched paths plays no part. With label weight 1.
    Not the library's distance, which clips bounds to the range and drops paths that no value can
    reach: here neither may happen.

    Parameters
    ----------
    tree, moved : Tree
        The same nodes; only finite thresholds differ.
    space : FeatureSpace
    """
    paths = Paths.from_tree(tree, space)
    before = paths.dense()
    after = before.copy()
    start = coordinate_start(space)
    bounds = _bounds_by_leaf(moved)
    for p, leaf in enumerate(paths.leaf.tolist()):
        for j, (low, high) in bounds[leaf].items():
            width = space.upper[j] - space.lower[j]
            if width <= 0:
                continue
            after[p, start[j]] = 0.0 if high is None else (space.upper[j] - high) / width
            after[p, start[j] + 1] = 0.0 if low is None else (low - space.lower[j]) / width
    cost = np.abs(before[:, None, :] - after[None, :, :]).sum(axis=2) / 2
    cost += paths.label[:, None] != paths.label[None, :]
    return float(cost[linear_sum_assignment(cost)].sum())


_Bounds = dict[int, tuple[float | None, float | None]]


def _bounds_by_leaf(tree: Tree) -> dict[int, _Bounds]:
    """Tightest thresholds on the way to each leaf, by feature: (lower, upper)."""
    found: dict[int, _Bounds] = {}
    stack: list[tuple[int, _Bounds]] = [(0, {})]
    while stack:
        node, bounds = stack.pop()
        if tree.is_leaf[node]:
            found[node] = bounds
            continue
        j, t = int(tree.feature[node]), float(tree.threshold[node])
        left, right = dict(bounds), dict(bounds)
        if np.isfinite(t):
            low, high = bounds.get(j, (None, None))
            left[j] = (low, t if high is None else min(high, t))
            right[j] = (t if low is None else max(low, t), high)
        stack += [(int(tree.children_left[node]), left), (int(tree.children_right[node]), right)]
    return found
