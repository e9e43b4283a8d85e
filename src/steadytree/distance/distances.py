"""The distance between two trees, and between all trees of one or two collections."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadytree.distance._solver import pairwise
from steadytree.distance.equations import (
    DistanceOptions,
    Measure,
    check_options,
    distance_bound,
    paths_of,
)
from steadytree.exceptions import InputError
from steadytree.tree.paths import Paths
from steadytree.tree.space import FeatureSpace

FloatArray = NDArray[np.float64]

BAND_CELLS = 2**24
"""Most distances held at once for means: 128 MiB."""


def tree_distance(
    a: Any,
    b: Any,
    *,
    space: FeatureSpace | None = None,
    variant: str = "paper",
    label_weight: float | str = 1.0,
    outcome: str = "label",
    normalize: str | None = None,
    max_depth: int | None = None,
    merge_equal_siblings: bool = False,
) -> float:
    r"""Measure how far apart two decision trees are, rule by rule.

    Solves the paper's eq. (distance): match the root-to-leaf paths of the two trees so
    that the sum of path distances,

    .. math:: d(p,q) = \sum_{j \in N} \frac{|u^p_j - u^q_j| + |l^p_j - l^q_j|}{2(u_j - l_j)}
              + \sum_{j \in C} \frac{\|c^p_j - c^q_j\|_1}{c_j}
              + \lambda\, 1_{(k^p \ne k^q)},

    and of the costs of paths left unmatched is least.

    Parameters
    ----------
    a, b : model, Tree or path of a tree file
        Anything :func:`as_tree` reads.
    space : FeatureSpace, optional
        Ranges and categories of the features; by default the space stored with the trees.
    variant : {"paper", "metric", "cover"}, default "paper"
        "paper" is the paper's problem: an unmatched path costs its weight w(p), eq.
        (weight-path). It is not a metric when the trees differ in size. "metric" charges
        the distance to the unrestricted path plus half the label weight instead, and is
        a true metric. "cover" is what the author's package dt-distance computes: each
        path of the larger tree goes to its nearest free or shared partner.
    label_weight : float or "balanced", default 1.0
        :math:`\lambda`; "balanced" is 2 * max_depth.
    outcome : {"label", "distribution", "impurity"}, default "label"
        Compare labels (the paper), class shares (half their L1 distance), or the leaves'
        Gini impurity. Regression trees compare leaf values over the response range.
    normalize : {None, "bound", "relative"}, default None
        "bound" divides by :func:`distance_bound` of ``max_depth``. "relative" (metric
        only) is 2d / (m(a) + m(b) + d) in [0, 1], the *dissimilarity*: 0 for the same
        rules, 0.5 for two mid-range stumps on different features.
    max_depth : int, optional
        D, the largest depth allowed; the same for all comparisons.
    merge_equal_siblings : bool, default False
        Merge sibling leaves with the same label first.

    Returns
    -------
    float

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> import steadytree as st
    >>> X, y = load_iris(return_X_y=True)
    >>> space = st.FeatureSpace.from_data(X)
    >>> a = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X[::2], y[::2])
    >>> st.tree_distance(a, a, space=space)
    0.0
    """
    options = check_options(
        variant, label_weight, outcome, normalize, max_depth, merge_equal_siblings
    )
    left, right = paths_of([a, b], space, options)
    raw = pairwise([left], [right], Measure.of(options))
    return float(normalised(raw, [left], [right], options)[0, 0])


def pairwise_tree_distances(
    A: Sequence[Any],
    B: Sequence[Any] | None = None,
    *,
    space: FeatureSpace | None = None,
    variant: str = "paper",
    label_weight: float | str = 1.0,
    outcome: str = "label",
    normalize: str | None = None,
    max_depth: int | None = None,
    merge_equal_siblings: bool = False,
    n_jobs: int | None = None,
) -> NDArray[np.float64]:
    """Compute the distances between all trees of a collection, or of two collections.

    Identical trees are computed once; threads share the rows. The result does not depend on
    ``n_jobs``.

    Parameters
    ----------
    A, B : sequences of models, Trees or paths of tree files
        Without B, all pairs within A (a symmetric matrix).
    space, variant, label_weight, outcome, normalize, max_depth, merge_equal_siblings :
        As for :func:`tree_distance`.
    n_jobs : int, optional
        Threads; None is 1 (or joblib's setting), -1 all cores.

    Returns
    -------
    ndarray of shape (len(A), len(B))

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> import steadytree as st
    >>> X, y = load_iris(return_X_y=True)
    >>> trees = [DecisionTreeClassifier(max_depth=d, random_state=0).fit(X, y) for d in (1, 2, 3)]
    >>> st.pairwise_tree_distances(trees, space=st.FeatureSpace.from_data(X)).shape
    (3, 3)
    """
    options = check_options(
        variant, label_weight, outcome, normalize, max_depth, merge_equal_siblings
    )
    first = _as_list(A, "A")
    second = first if B is None else _as_list(B, "B")
    if not first or not second:
        return np.zeros((len(first), len(second)))
    paths = paths_of(first if B is None else [*first, *second], space, options)
    left = paths[: len(first)]
    right = None if B is None else paths[len(first) :]
    raw = pairwise(left, right, Measure.of(options), n_jobs)
    return normalised(raw, left, left if right is None else right, options)


def weighted_means(
    a: Sequence[Paths],
    b: Sequence[Paths],
    share: FloatArray,
    options: DistanceOptions,
    units: Sequence[DistanceOptions],
    *,
    n_jobs: int | None = None,
) -> list[FloatArray]:
    """Mean distance of each tree of a to those of b, of which each counts ``share``.

    Measured by ``options`` and written in the units of each of ``units``; a large matrix of
    distances is never held as a whole.
    """
    measure, band = Measure.of(options), max(1, BAND_CELLS // len(b))
    means: list[list[FloatArray]] = [[] for _ in units]
    for start in range(0, len(a), band):
        some = a[start : start + band]
        raw = pairwise(some, b, measure, n_jobs)
        for unit, mean in zip(units, means, strict=True):
            mean.append(normalised(raw, some, b, unit) @ share)
    return [np.concatenate(mean) for mean in means]


def normalised(
    distances: FloatArray, a: Sequence[Paths], b: Sequence[Paths], options: DistanceOptions
) -> FloatArray:
    """Raw distances between two collections as ``options.normalize`` wants them.

    "bound": over 2^D(2D + lambda). "relative": 2d / (m(a) + m(b) + d), in [0, 1]; 0 where
    there is nothing to compare.
    """
    if options.normalize == "bound":
        assert options.max_depth is not None
        bound = distance_bound(options.max_depth, options.label_weight)
        return distances / bound if bound > 0 else distances
    if options.normalize == "relative":
        measure = Measure.of(options)
        of_a, of_b = (np.array([measure.mass(paths) for paths in side]) for side in (a, b))
        total = of_a[:, None] + of_b[None, :] + distances
        relative = np.where(total > 0, 2 * distances / np.where(total > 0, total, 1.0), 0.0)
        # Masses are not rounded to quanta: what has nothing in common could exceed 1 by a hair.
        return np.minimum(relative, 1.0)
    return distances


def _as_list(models: Any, name: str) -> list[Any]:
    if isinstance(models, (str, bytes)) or not hasattr(models, "__iter__"):
        raise InputError(
            f"expected a list of trees as {name}, got {type(models).__name__}; "
            "for two single trees use tree_distance(a, b)"
        )
    return list(models)
