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

Splits on categories have no threshold and stay where they are. *Codes*: the same experiment on the
same rows with every category as its number, 0 to k - 1, so that these splits move too; whether
the paper's tables were of this kind it does not say.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from research.paper.jobs import Job
from research.paper.models import Problem, cross_validated_tree, load_problem
from research.paper.protocols import TEST_SHARE, Rows, partition
from research.paper.settings import generator
from steadytree.distance.distances import tree_distance
from steadytree.estimators.assessment import perturb_thresholds
from steadytree.tree.paths import Paths
from steadytree.tree.space import FeatureSpace
from steadytree.tree.tree import Tree
from steadytree.tree.walk import Boxes

__all__ = [
    "BLOCK",
    "DIRECT_FIELDS",
    "INDIRECT_FIELDS",
    "clip_thresholds",
    "compute_direct",
    "compute_indirect",
    "literal_distance",
    "literal_parts",
]

DIRECT_FIELDS = ("depths", "min_leaves", "perturbations", "perturbation_sizes", "max_rows")
INDIRECT_FIELDS = ("depths", "min_leaves", "replaced_shares", "max_rows")

BLOCK = 10
"""Repetitions of the direct perturbation that are stored together."""

LABELS = "(labels)"
"""What contributes to a distance where it is no feature."""

FloatArray = NDArray[np.float64]


def compute_direct(job: Job) -> dict[str, Any]:
    """Perturb the thresholds of cross-validated trees, one block of repetitions.

    Each repetition trains its trees on a fresh random 67 % of the rows. Every entry is a list with
    one item per repetition: ``depth``, the distances by size (``clipped``, ``literal``), the share
    of the thresholds that left their range (``outside``), the feature that contributes most to
    the literal distance at the largest size (``literal_top``); and the same with categories as
    codes (``codes_depth``, ``codes``, ``codes_literal``).
    """
    settings = job.settings
    plain, codes = (
        load_problem(job.dataset, settings.max_rows, job.seed, codes=way) for way in (False, True)
    )
    start = BLOCK * job.index
    found: list[dict[str, Any]] = []
    for repetition in range(start, min(start + BLOCK, settings.perturbations)):
        rng = generator(job.seed, "direct", job.dataset, repetition)
        _, train = partition(np.arange(len(plain.y)), plain.y, plain.groups, TEST_SHARE, rng)
        own = _perturb(plain, train, job, rng)
        other = _perturb(codes, train, job, generator(job.seed, "codes", job.dataset, repetition))
        found.append(
            {
                **own,
                "codes": other["clipped"],
                "codes_literal": other["literal"],
                "codes_depth": other["depth"],
            }
        )
    return {key: [repetition[key] for repetition in found] for key in found[0]}


def _perturb(problem: Problem, train: Rows, job: Job, rng: np.random.Generator) -> dict[str, Any]:
    """Train one tree and measure how far it is from itself with moved thresholds."""
    settings = job.settings
    tree = cross_validated_tree(
        problem, train, depths=settings.depths, min_leaves=settings.min_leaves, rng=rng
    )
    clipped, literal, outside = [], [], []
    top = (-np.inf, {"feature": LABELS, "share": 0.0})
    for largest in settings.perturbation_sizes:
        moved = perturb_thresholds(tree, largest, rng)
        inside = clip_thresholds(moved, problem.space)
        clipped.append(tree_distance(tree, inside, space=problem.space))
        parts = literal_parts(tree, moved, problem.space)
        literal.append(sum(parts.values()))
        top = max(top, (largest, _largest_part(parts)), key=lambda item: item[0])
        splits = np.isfinite(moved.threshold)
        left_range = (inside.threshold != moved.threshold)[splits]
        outside.append(float(left_range.mean()) if splits.any() else 0.0)
    return {
        "depth": tree.depth,
        "clipped": clipped,
        "literal": literal,
        "outside": outside,
        "literal_top": top[1],
    }


def _largest_part(parts: dict[str, float]) -> dict[str, Any]:
    feature = max(parts, key=lambda name: parts[name])
    total = sum(parts.values())
    return {"feature": feature, "share": parts[feature] / total if total else 0.0}


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

    See :func:`literal_parts`.
    """
    return sum(literal_parts(tree, moved, space).values())


def literal_parts(tree: Tree, moved: Tree, space: FeatureSpace) -> dict[str, float]:
    """Return what each feature, and the labels, contribute to the unclipped distance.

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
    start = np.array(Boxes(space).start)
    bounds = _bounds_by_leaf(moved)
    for p, leaf in enumerate(paths.leaf.tolist()):
        for j, (low, high) in bounds[leaf].items():
            width = space.upper[j] - space.lower[j]
            if width <= 0:
                continue
            after[p, start[j]] = 0.0 if high is None else (space.upper[j] - high) / width
            after[p, start[j] + 1] = 0.0 if low is None else (low - space.lower[j]) / width
    cost = np.abs(before[:, None, :] - after[None, :, :]).sum(axis=2) / 2
    other_label = paths.label[:, None] != paths.label[None, :]
    p, q = linear_sum_assignment(cost + other_label)
    by_coordinate = np.abs(before[p] - after[q]).sum(axis=0) / 2
    by_feature = np.add.reduceat(by_coordinate, start[:-1]).tolist()
    parts = dict(zip(map(str, space.feature_labels), by_feature, strict=True))
    return {**parts, LABELS: float(other_label[p, q].sum())}


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
