r"""What a variant of the tree distance means: the cost of a path without a partner.

All variants are one problem,

.. math:: d(T_1, T_2) = \sum_p c(p) + \min_{\text{injective } \sigma}
          \sum_q \bigl[d(\sigma(q), q) - c(\sigma(q))\bigr],

with p over the larger tree, q over the smaller, and c(p) the cost of leaving p unmatched.
They differ in c(p) alone, so a new one is an entry of ``VARIANTS``; every function that takes
``variant=`` and every solver then knows it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from steadytree._io import check_matching
from steadytree.exceptions import InputError
from steadytree.plugins import read_models
from steadytree.tree.alignment import align_classes, common_space
from steadytree.tree.paths import Paths
from steadytree.tree.space import FeatureSpace

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# -- the bound: Proposition 2 of the paper ---------------------------------------------

MIN_LABEL_WEIGHT, MAX_LABEL_WEIGHT = 1e-6, 1e6
"""Amounts are whole multiples of one quantum (``distance.equations``). Within these limits the
labels' part of a distance keeps seven digits or more, the features' part nine."""
MAX_BOUND_DEPTH = 1000


def distance_bound(max_depth: int, label_weight: float = 1.0) -> float:
    r"""Upper bound on the paper's distance between trees of depth at most D.

    .. math:: d(T_1, T_2) \le 2^D (2D + \lambda)

    (the paper, Proposition 2). Use one D for all comparisons: with the depth of each
    pair, deep trees look closer than shallow ones and rankings are inverted.

    Parameters
    ----------
    max_depth : int
        D, the largest depth allowed, not the depth of a particular tree.
    label_weight : float, default 1.0
        The weight of the outcome term.

    Returns
    -------
    float

    Examples
    --------
    >>> from steadytree import distance_bound
    >>> distance_bound(4)
    144.0
    """
    depth, weight = _checked_depth(max_depth), _checked_weight(label_weight)
    return float(2.0**depth * (2 * depth + weight))


def _checked_depth(max_depth: Any) -> int:
    whole = isinstance(max_depth, Real) and not isinstance(max_depth, bool)
    if not whole or not 0 <= max_depth <= MAX_BOUND_DEPTH or max_depth != int(max_depth):
        raise InputError(
            f"expected max_depth to be a whole number from 0 to {MAX_BOUND_DEPTH}, "
            f"got {max_depth!r:.40}; pass the largest depth your trees may have"
        )
    return int(max_depth)


def _checked_weight(weight: Any) -> float:
    number = isinstance(weight, Real) and not isinstance(weight, bool)
    if not number or not (weight == 0 or MIN_LABEL_WEIGHT <= weight <= MAX_LABEL_WEIGHT):
        raise InputError(
            f"expected label_weight to be 0, a number from {MIN_LABEL_WEIGHT:g} to "
            f'{MAX_LABEL_WEIGHT:g}, or "balanced", got {weight!r:.40}; beyond these limits '
            "features or labels would be left too few digits"
        )
    return float(weight)


# -- variants: the cost of a path without a partner ------------------------------------

# Whole quanta, or plain numbers.
Amounts = NDArray[Any]


@dataclass(frozen=True, slots=True)
class LonePaths:
    r"""What a variant may ask about paths without a partner.

    All in one unit: whole quanta where distances are solved, plain numbers elsewhere.

    Attributes
    ----------
    feature_cost : array (n_paths,)
        Feature part of the distance to the path without conditions.
    paper_weight : array (n_paths,)
        w(p) of eq. (weight-path).
    half_label_weight : number
        :math:`\lambda/2`.

    Examples
    --------
    >>> import numpy as np
    >>> from steadytree.distance import VARIANTS, LonePaths
    >>> lone = LonePaths(np.array([0.2, 1.0]), np.array([0.1, 0.5]), 0.5)
    >>> VARIANTS["metric"].unmatched(lone).tolist()
    [0.7, 1.5]
    """

    feature_cost: Amounts
    paper_weight: Amounts
    half_label_weight: float


@dataclass(frozen=True, slots=True)
class Variant:
    r"""One meaning of the tree distance.

    Parameters
    ----------
    description : str
        What an unmatched path costs, in a few words.
    unmatched : callable or None
        From :class:`LonePaths` to c(p) >= 0 of every path, in their unit. None: the other
        tree decides, c(p) is the distance to the nearest of its paths.
    is_metric : bool, default False
        Whether :math:`|c(p) - c(q)| \le d(p, q) \le c(p) + c(q)`. The distance is then a
        metric whatever the sizes of the trees, the sum of c is a tree's distance to the empty
        tree, and ``normalize="relative"`` makes sense.

    Examples
    --------
    >>> from steadytree.distance import VARIANTS
    >>> VARIANTS["metric"].is_metric
    True
    >>> VARIANTS["cover"].description
    'its distance to the nearest path of the other tree'
    """

    description: str
    unmatched: Callable[[LonePaths], Amounts] | None
    is_metric: bool = False


VARIANTS: dict[str, Variant] = {
    "paper": Variant("its weight w(p), eq. (weight-path)", lambda lone: lone.paper_weight),
    "metric": Variant(
        "its distance to the path without conditions, and half the label weight",
        lambda lone: lone.feature_cost + lone.half_label_weight,
        is_metric=True,
    ),
    "cover": Variant("its distance to the nearest path of the other tree", None),
}
"""The variants by name: what a rule without a partner costs."""


# -- options, checked once for every function that takes them --------------------------
# The public functions spell the list out in their signatures, for help() and editors; what the
# choices mean and which go together is said here only.

OUTCOMES = ("label", "distribution", "impurity")
NORMALISATIONS = (None, "bound", "relative")


@dataclass(frozen=True)
class DistanceOptions:
    """Checked options; ``label_weight`` is a number, "balanced" has been resolved."""

    variant: str
    label_weight: float
    outcome: str
    normalize: str | None
    max_depth: int | None
    merge_equal_siblings: bool


def check_options(
    variant: str = "paper",
    label_weight: float | str = 1.0,
    outcome: str = "label",
    normalize: str | None = None,
    max_depth: int | None = None,
    merge_equal_siblings: bool = False,
) -> DistanceOptions:
    """Check the options of a distance and resolve ``label_weight="balanced"``."""
    for name, value, allowed in (
        ("variant", variant, VARIANTS),
        ("outcome", outcome, OUTCOMES),
        ("normalize", normalize, NORMALISATIONS),
    ):
        if value not in allowed:
            raise InputError(f"expected {name} to be one of {list(allowed)}, got {value!r}")
    if max_depth is not None:
        max_depth = _checked_depth(max_depth)
    if max_depth is None and (label_weight == "balanced" or normalize == "bound"):
        asked = 'label_weight="balanced"' if label_weight == "balanced" else 'normalize="bound"'
        raise InputError(
            f"expected max_depth with {asked}, got none; pass the largest depth your trees may "
            "have (never the depth of the pair: that inverts rankings)"
        )
    if label_weight == "balanced" and max_depth is not None:
        label_weight = 2 * max_depth
    weight = _checked_weight(label_weight)
    if normalize == "relative" and not VARIANTS[variant].is_metric:
        metrics = [f'variant="{name}"' for name, entry in VARIANTS.items() if entry.is_metric]
        raise InputError(
            f'expected {" or ".join(metrics)} with normalize="relative", got variant={variant!r}; '
            "only the metric form has a mass to relate the distance to"
        )
    return DistanceOptions(variant, weight, outcome, normalize, max_depth, merge_equal_siblings)


def paths_of(
    models: Sequence[Any], space: FeatureSpace | None, options: DistanceOptions
) -> list[Paths]:
    """Read the models and write them as paths in one space with one list of classes."""
    every = read_models(models)
    # A tree that stands in a collection twice is looked at once.
    of_tree = {id(tree): tree for tree in every}
    trees = list(of_tree.values())
    common = common_space(trees, space)
    classes = align_classes(trees, common)
    if classes is None and options.outcome != "label":
        raise InputError(
            f'expected outcome="label" for regression trees, got {options.outcome!r}; '
            "their outcome term is the difference of the leaf values over the response range"
        )
    if options.normalize == "bound":
        assert options.max_depth is not None
        deepest = max(tree.depth for tree in trees)
        if deepest > options.max_depth:
            raise InputError(
                f"expected trees of depth at most max_depth={options.max_depth}, "
                f"got one of depth {deepest}; raise max_depth"
            )
    paths = Paths.from_trees(
        trees, common, classes=classes, merge_equal_siblings=options.merge_equal_siblings
    )
    paths_of_tree = dict(zip(of_tree, paths, strict=True))
    return [paths_of_tree[id(tree)] for tree in every]


# -- paths in whole numbers: eq. (dist-paths), unmatched costs and masses --------------
# Tightenings, weights and outcomes are rounded once to multiples of a tiny quantum (2**-44,
# an absolute error below 3e-14 per bound; more for label weights above 256, up to 2**-32), so
# that every sum and difference after that is exact. Any optimal matching then has exactly the
# same total: distances do not depend on the order of the arguments, on the number of threads or
# on the solver, equal trees are at distance exactly 0, and the triangle inequality of the metric
# form survives rounding.
#
# Whole numbers are kept as floats where scipy wants floats: in double precision they stay exact.


def _quantise(values: FloatArray, bits: int) -> IntArray:
    return np.rint(values * 2.0**bits).astype(np.int64)


@dataclass(frozen=True, slots=True)
class Measure:
    r"""The options of a distance as arithmetic in quanta of 2**-bits.

    ``label_weight`` is :math:`\lambda` in quanta, an even number, ``weight`` as given.
    """

    variant: Variant
    outcome: str
    weight: float
    bits: int
    label_weight: int

    @classmethod
    def of(cls, options: DistanceOptions) -> Measure:
        """44 binary digits after the point, down to 32 where lambda is enormous."""
        weight = options.label_weight
        bits = 44 - (math.ceil(math.log2(weight / 256)) if weight > 256 else 0)
        half = round(weight * 2.0 ** (bits - 1))
        return cls(VARIANTS[options.variant], options.outcome, weight, bits, 2 * half)

    @property
    def quantum(self) -> float:
        """What one quantum is worth."""
        return 2.0**-self.bits

    def tightenings(self, x: FloatArray) -> IntArray:
        """Half of each tightening, in quanta: their L1 distance is the feature part of d(p, q)."""
        return _quantise(x, self.bits - 1)

    def compares_labels(self, is_classifier: bool) -> bool:
        """Whether the outcome term is "labels differ" rather than an L1 distance."""
        return is_classifier and self.outcome == "label"

    def outcomes(self, label: NDArray[Any], value: FloatArray, is_classifier: bool) -> IntArray:
        r"""Return what :meth:`outcome_costs` compares: labels, or vectors in quanta.

        Their L1 distance is the outcome term of eq. (dist-paths): class shares times
        :math:`\lambda/2`, Gini impurity times :math:`\lambda`, or the scaled response of a
        regression tree times :math:`\lambda`.
        """
        if self.compares_labels(is_classifier):
            return label[:, None].astype(np.int64)
        if not is_classifier:
            return _quantise(self.weight * value, self.bits)
        if self.outcome == "distribution":
            return _quantise(self.weight / 2 * value, self.bits)
        return _quantise(self.weight * (1 - (value**2).sum(axis=1, keepdims=True)), self.bits)

    def outcome_costs(self, a: IntArray, b: IntArray, is_classifier: bool) -> FloatArray:
        """Outcome term of every pair, in quanta."""
        if self.compares_labels(is_classifier):
            return np.asarray((a != b.T) * float(self.label_weight))
        return np.asarray(cdist(a, b, "cityblock"))

    def unmatched(self, feature_cost: IntArray, paper_weight: FloatArray) -> IntArray | None:
        """c(p) of every path in quanta; None where the other tree decides it."""
        if self.variant.unmatched is None:
            return None
        weight = _quantise(paper_weight, self.bits)
        return self.variant.unmatched(LonePaths(feature_cost, weight, self.label_weight // 2))

    def unmatched_numbers(self, paths: Paths) -> FloatArray:
        """c(p) of every path as a plain number, for a variant that asks no other tree."""
        assert self.variant.unmatched is not None
        lone = LonePaths(paths.tightening_sum / 2, paths.paper_weight, self.weight / 2)
        return self.variant.unmatched(lone)

    def mass(self, paths: Paths) -> float:
        """m(T): the sum of c over the tree's paths, its distance to the empty tree."""
        return float(self.unmatched_numbers(paths).sum())


class PathAmounts:
    """One tree's paths in quanta; rows of ``x`` are over the coordinates some tree bounds."""

    def __init__(self, paths: Paths, measure: Measure, column: IntArray, width: int) -> None:
        self.paths, self.measure = paths, measure
        self.x = np.zeros((paths.n_paths, width))
        self.x[paths.path_of_entry, column[paths.coord]] = measure.tightenings(paths.tightening)
        self.is_classifier = paths.classes is not None
        self.outcome = measure.outcomes(paths.label, paths.value, self.is_classifier)

    def unmatched(self) -> IntArray | None:
        """c(p) of every path, None where the other tree decides it."""
        return self.measure.unmatched(self.x.sum(axis=1).astype(np.int64), self.paths.paper_weight)


def in_quanta(trees: Sequence[Paths], measure: Measure) -> tuple[list[PathAmounts], IntArray]:
    """Write trees of one space in quanta; also the coordinates that the columns stand for."""
    used = np.zeros(trees[0].n_coords, dtype=bool)
    for paths in trees:
        used[paths.coord] = True
    column = used.cumsum() - 1
    coordinates = used.nonzero()[0]
    for paths in trees:
        check_matching(paths.n_paths, coordinates.size, "bounds and categories")
    return [PathAmounts(paths, measure, column, coordinates.size) for paths in trees], coordinates


def path_distances(a: PathAmounts, b: PathAmounts) -> FloatArray:
    """All path distances d(p, q), eq. (dist-paths), in quanta."""
    check_matching(len(a.x), len(b.x))
    cost = a.measure.outcome_costs(a.outcome, b.outcome, a.is_classifier)
    if a.x.shape[1]:
        cost += cdist(a.x, b.x, "cityblock")
    return cost


def cost_matrix(a: Paths, b: Paths, options: DistanceOptions) -> FloatArray:
    """All path distances d(p, q) of two trees in one space, as numbers."""
    measure = Measure.of(options)
    (left, right), _ = in_quanta([a, b], measure)
    return path_distances(left, right) * measure.quantum
