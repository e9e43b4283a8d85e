"""The distance between two trees, slowly and in plain sight.

Nothing here uses the package's paths, alignment or kernels: only the fields of ``Tree``
and ``FeatureSpace``. A path is what the way from the root to a leaf demands, collected
condition by condition; a matching is found by trying all of them, or by the paper's
linear program as it is printed.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import coo_array, vstack

from steadytree.tree.space import FeatureSpace
from steadytree.tree.tree import Tree

Matrix = NDArray[np.float64]

MISSING = object()


# -- paths ------------------------------------------------------------------------


@dataclass(frozen=True)
class Numeric:
    """lower < x <= upper within the space, and whether numbers and "missing" get through."""

    upper: float
    lower: float
    present: bool
    missing: bool


@dataclass(frozen=True)
class NaivePath:
    """(u, l, C, k) of the paper, one entry per feature of the space, by feature number."""

    leaf: int
    numeric: dict[int, Numeric]
    allowed: dict[int, frozenset[Any]]
    label: Any
    shares: dict[Any, float]
    response: float


def way_to(tree: Tree, node: int) -> list[tuple[int, bool]]:
    """(split node, went left) from the root down to a node."""
    parent: dict[int, tuple[int, bool]] = {}
    for split in range(tree.n_nodes):
        if tree.children_left[split] >= 0:
            parent[int(tree.children_left[split])] = (split, True)
            parent[int(tree.children_right[split])] = (split, False)
    way: list[tuple[int, bool]] = []
    while node != 0:
        way.insert(0, parent[node])
        node = parent[node][0]
    return way


def feature_of(tree: Tree, space: FeatureSpace, split: int) -> int:
    """Number, in the space, of the feature a node splits on: by name, else by position."""
    j = int(tree.feature[split])
    if tree.feature_names is None or space.names is None:
        return j
    return space.names.index(tree.feature_names[j])


def category_goes_left(tree: Tree, split: int, category: Any) -> bool:
    """Where a category goes; one the tree has never met goes where missing values go."""
    codes = tree.left_categories[split]
    known = tree.categories[int(tree.feature[split])]
    assert codes is not None
    assert known is not None
    assert tree.missing_left is not None
    for code, name in enumerate(known):
        if category is not MISSING and name == category:
            return code in codes
    return bool(tree.missing_left[split])


def demands(
    tree: Tree, space: FeatureSpace, node: int
) -> tuple[dict[int, Numeric], dict[int, frozenset[Any]]] | None:
    """What the way to a node demands of every feature; None if no value can meet it."""
    assert tree.missing_left is not None
    way = way_to(tree, node)
    numeric: dict[int, Numeric] = {}
    allowed: dict[int, frozenset[Any]] = {}
    for j in range(space.n_features):
        steps = [(split, left) for split, left in way if feature_of(tree, space, split) == j]
        cats = space.categories[j]
        if cats is not None:
            values = [*cats, MISSING] if space.can_be_missing[j] else list(cats)
            allowed[j] = frozenset(
                value
                for value in values
                if all(category_goes_left(tree, split, value) == left for split, left in steps)
            )
            if not allowed[j]:
                return None
            continue
        high, low = math.inf, -math.inf
        missing = bool(space.can_be_missing[j])
        for split, left in steps:
            if left:
                high = min(high, float(tree.threshold[split]))
            else:
                low = max(low, float(tree.threshold[split]))
            if bool(tree.missing_left[split]) != left:
                missing = False
        present = low < high
        if not present and not missing:
            return None
        if not present:
            high, low = math.inf, -math.inf  # only missing values get here: no bounds
        numeric[j] = Numeric(
            upper=clip(high, float(space.lower[j]), float(space.upper[j])),
            lower=clip(low, float(space.lower[j]), float(space.upper[j])),
            present=present,
            missing=missing,
        )
    return numeric, allowed


def position(space: FeatureSpace, j: int, value: float) -> float:
    """Where a value of a numeric feature lies between 0 and 1; 0 on a constant feature."""
    return share_below(value, float(space.lower[j]), float(space.upper[j]))


@functools.cache
def share_below(value: float, low: float, high: float) -> float:
    """Share of a range below a value, in fractions."""
    if not low < high:
        return 0.0
    return float((Fraction(value) - Fraction(low)) / (Fraction(high) - Fraction(low)))


def clip(value: float, low: float, high: float) -> float:
    return min(max(value, low), high)


def leaves_below(tree: Tree, node: int) -> list[int]:
    if tree.children_left[node] < 0:
        return [node]
    return leaves_below(tree, int(tree.children_left[node])) + leaves_below(
        tree, int(tree.children_right[node])
    )


def nodes_above(tree: Tree, node: int) -> list[int]:
    """The node and its ancestors, from the root down."""
    return [split for split, _ in way_to(tree, node)] + [node]


def naive_paths(
    tree: Tree, space: FeatureSpace, *, merge_equal_siblings: bool = False
) -> list[NaivePath]:
    """Every path some value can reach, leaf by leaf from left to right."""
    reachable = [leaf for leaf in leaves_below(tree, 0) if demands(tree, space, leaf) is not None]

    def outcome(leaf: int) -> Any:
        return tree.label[leaf] if tree.is_classifier else tree.value[leaf, 0]

    ends: dict[int, list[int]] = {}  # node where a path ends -> the leaves it stands for
    for leaf in reachable:
        end = leaf
        if merge_equal_siblings:
            # The highest node under which every reachable leaf has this outcome.
            for node in reversed(nodes_above(tree, leaf)):
                below = [other for other in leaves_below(tree, node) if other in reachable]
                if all(outcome(other) == outcome(leaf) for other in below):
                    end = node
        ends.setdefault(end, []).append(leaf)
    paths = []
    for end, members in ends.items():
        met = demands(tree, space, end)
        assert met is not None
        # Shares are those of the lowest node that holds all the merged leaves.
        ways = [set(nodes_above(tree, leaf)) for leaf in members]
        together = max(set.intersection(*ways), key=lambda node: len(way_to(tree, node)))
        classes = tree.classes or ()
        paths.append(
            NaivePath(
                leaf=end,
                numeric=met[0],
                allowed=met[1],
                label=classes[tree.label[members[0]]] if tree.is_classifier else None,
                shares={c: float(tree.value[together, i]) for i, c in enumerate(classes)},
                response=float(tree.value[members[0], 0]),
            )
        )
    return paths


# -- costs ------------------------------------------------------------------------


def feature_distance(p: NaivePath, q: NaivePath, space: FeatureSpace) -> float:
    """First two sums of eq. (dist-paths)."""
    total = 0.0
    for j in range(space.n_features):
        if space.categories[j] is not None:
            total += len(p.allowed[j] ^ q.allowed[j]) / space.n_categories(j)
            continue
        a, b = p.numeric[j], q.numeric[j]
        for one, two in ((a.upper, b.upper), (a.lower, b.lower)):
            total += abs(position(space, j, one) - position(space, j, two)) / 2
        if space.can_be_missing[j]:  # the implied feature {present, missing}
            total += ((a.present != b.present) + (a.missing != b.missing)) / 2
    return total


def gini(path: NaivePath) -> float:
    return 1.0 - sum(share * share for share in path.shares.values())


def outcome_distance(p: NaivePath, q: NaivePath, space: FeatureSpace, outcome: str) -> float:
    """Outcome term without its weight."""
    if p.label is None:
        assert space.response_range is not None
        low, high = space.response_range
        one, two = (share_below(clip(r, low, high), low, high) for r in (p.response, q.response))
        return abs(one - two)
    if outcome == "label":
        return float(p.label != q.label)
    if outcome == "distribution":
        every = set(p.shares) | set(q.shares)
        return sum(abs(p.shares.get(c, 0.0) - q.shares.get(c, 0.0)) for c in every) / 2
    assert outcome == "impurity"
    return abs(gini(p) - gini(q))


def paper_weight(path: NaivePath, space: FeatureSpace) -> float:
    """w(p), eq. (weight-path)."""
    total = 0.0
    for j in range(space.n_features):
        if space.categories[j] is not None:
            count = len(path.allowed[j])
            if count != space.n_categories(j):
                total += count / space.n_categories(j)
            continue
        bounds = path.numeric[j]
        low, high = float(space.lower[j]), float(space.upper[j])
        if high > low and (bounds.upper != high or bounds.lower != low):
            total += position(space, j, bounds.upper) - position(space, j, bounds.lower)
        if space.can_be_missing[j] and bounds.present + bounds.missing != 2:
            total += (bounds.present + bounds.missing) / 2
    return total


def metric_weight(path: NaivePath, space: FeatureSpace, label_weight: float) -> float:
    """w'(p): the feature distance to the path that demands nothing, plus half of lambda."""
    free = NaivePath(
        leaf=0,
        numeric={
            j: Numeric(
                upper=float(space.upper[j]),
                lower=float(space.lower[j]),
                present=True,
                missing=bool(space.can_be_missing[j]),
            )
            for j in range(space.n_features)
            if space.categories[j] is None
        },
        allowed={
            j: frozenset([*cats, MISSING] if space.can_be_missing[j] else cats)
            for j, cats in enumerate(space.categories)
            if cats is not None
        },
        label=path.label,
        shares=path.shares,
        response=path.response,
    )
    return feature_distance(path, free, space) + label_weight / 2


def cost_matrix(
    a: list[NaivePath],
    b: list[NaivePath],
    space: FeatureSpace,
    label_weight: float = 1.0,
    outcome: str = "label",
) -> Matrix:
    """d(p, q) of eq. (dist-paths) for every pair."""
    return np.array(
        [
            [
                feature_distance(p, q, space)
                + label_weight * outcome_distance(p, q, space, outcome)
                for q in b
            ]
            for p in a
        ]
    )


# -- matchings --------------------------------------------------------------------


def every_matching(n_large: int, n_small: int) -> Iterator[dict[int, int]]:
    """Every way to give each path of the smaller tree its own path of the larger: {p: q}."""
    for chosen in itertools.permutations(range(n_large), n_small):
        yield {p: q for q, p in enumerate(chosen)}


def every_cover(n_large: int, n_small: int) -> Iterator[dict[int, int]]:
    """Every way to send each path of the larger tree to one of the smaller, none left out."""
    for sent in itertools.product(range(n_small), repeat=n_large):
        if len(set(sent)) == n_small:
            yield dict(enumerate(sent))


def objective(cost: Matrix, unmatched: list[float], matching: dict[int, int]) -> float:
    """Objective of eq. (distance) for one matching {p: q}, summed without rounding error."""
    return math.fsum(
        float(cost[p, matching[p]]) if p in matching else unmatched[p] for p in range(len(cost))
    )


def best_of_all(cost: Matrix, unmatched: list[float], *, cover: bool = False) -> float:
    """Try everything. ``cost`` has the larger tree in its rows."""
    tries: Callable[[int, int], Iterator[dict[int, int]]]
    tries = every_cover if cover else every_matching
    return min(objective(cost, unmatched, m) for m in tries(*cost.shape))


def linear_program(
    cost: Matrix, unmatched: list[float] | None, *, cover: bool = False
) -> tuple[float, Matrix]:
    """Solve the linear relaxation of eq. (distance) as printed, rows = the larger tree.

    Returns the optimum and the solution: one row per path p, one column per path q, and
    (unless the trees have equally many paths) a last column for x_p. With ``cover`` every
    q is asked for at least one p, and there is no x_p.
    """
    large, small = cost.shape
    table = cost
    if not cover and large > small:
        assert unmatched is not None
        table = np.column_stack([cost, unmatched])
    width = table.shape[1]
    number = np.arange(table.size).reshape(table.shape)
    rows = np.repeat(np.arange(large), width)
    each_p = coo_array((np.ones(table.size), (rows, number.ravel())))
    columns = np.repeat(np.arange(small), large)
    each_q = coo_array(
        (np.ones(large * small), (columns, number[:, :small].T.ravel())),
        shape=(small, table.size),
    )
    if cover:
        found = linprog(
            table.ravel(),
            A_eq=each_p,
            b_eq=np.ones(large),
            A_ub=-each_q,
            b_ub=-np.ones(small),
            bounds=(0, 1),
            method="highs-ds",
        )
    else:
        found = linprog(
            table.ravel(),
            A_eq=vstack([each_p, each_q]),
            b_eq=np.ones(large + small),
            bounds=(0, 1),
            method="highs-ds",
        )
    assert found.success, found.message
    return float(found.fun), np.asarray(found.x).reshape(table.shape)


def matching_of(solution: Matrix, n_small: int) -> dict[int, int]:
    """{p: q} from the solution of the program."""
    p, q = np.nonzero(solution[:, :n_small] > 0.5)
    return dict(zip(p.tolist(), q.tolist(), strict=True))


# -- the distance -----------------------------------------------------------------


def naive_distance(
    a: Tree,
    b: Tree,
    space: FeatureSpace,
    *,
    variant: str = "paper",
    label_weight: float = 1.0,
    outcome: str = "label",
    normalize: str | None = None,
    max_depth: int | None = None,
    merge_equal_siblings: bool = False,
    enumerate_up_to: int = 6,
) -> float:
    """The distance between two trees; all matchings are tried up to so many leaves."""
    first = naive_paths(a, space, merge_equal_siblings=merge_equal_siblings)
    second = naive_paths(b, space, merge_equal_siblings=merge_equal_siblings)
    return naive_path_distance(
        first,
        second,
        space,
        variant=variant,
        label_weight=label_weight,
        outcome=outcome,
        normalize=normalize,
        max_depth=max_depth,
        enumerate_up_to=enumerate_up_to,
    )


def naive_path_distance(
    first: list[NaivePath],
    second: list[NaivePath],
    space: FeatureSpace,
    *,
    variant: str = "paper",
    label_weight: float = 1.0,
    outcome: str = "label",
    normalize: str | None = None,
    max_depth: int | None = None,
    enumerate_up_to: int = 6,
) -> float:
    if len(first) < len(second):
        first, second = second, first
    cost = cost_matrix(first, second, space, label_weight, outcome)
    unmatched = unmatched_costs(first, cost, space, variant, label_weight)
    cover = variant == "cover"
    # Covers are many more than matchings, so fewer leaves can be tried.
    if len(first) <= (min(enumerate_up_to, 4) if cover else enumerate_up_to):
        distance = best_of_all(cost, unmatched, cover=cover)
    else:
        _, solution = linear_program(cost, unmatched, cover=cover)
        distance = objective(cost, unmatched, matching_of(solution, len(second)))
    if normalize == "bound":
        assert max_depth is not None
        return distance / (2.0**max_depth * (2 * max_depth + label_weight))
    if normalize == "relative":
        mass = sum(metric_weight(p, space, label_weight) for p in [*first, *second])
        return 2 * distance / (mass + distance) if mass > 0 else 0.0
    return distance


def unmatched_costs(
    large: list[NaivePath], cost: Matrix, space: FeatureSpace, variant: str, label_weight: float
) -> list[float]:
    """Cost of leaving each path of the larger tree without a partner."""
    if variant == "paper":
        return [paper_weight(p, space) for p in large]
    if variant == "metric":
        return [metric_weight(p, space, label_weight) for p in large]
    assert variant == "cover"
    return [float(row.min()) for row in cost]
