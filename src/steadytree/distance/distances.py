"""The distance between two trees, and between all trees of one or two collections."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadytree.distance._solver import DistanceBlocks, by_blocks, is_large, pairwise
from steadytree.distance.variants import (
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

REDUCTIONS = (None, "mean")


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
    raw = pairwise_paths([left], [right], options)
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
    reduce: str | None = None,
    out: NDArray[np.float64] | None = None,
    n_jobs: int | None = None,
) -> NDArray[np.float64]:
    """Compute the distances between all trees of a collection, or of two collections.

    Identical trees are computed once; threads share the rows, or the workers of a Dask
    cluster under ``joblib.parallel_config(backend="dask")``. The result does not depend on
    ``n_jobs`` or on who computed it.

    Parameters
    ----------
    A, B : sequences of models, Trees or paths of tree files
        Without B, all pairs within A (a symmetric matrix).
    space, variant, label_weight, outcome, normalize, max_depth, merge_equal_siblings :
        As for :func:`tree_distance`.
    reduce : {None, "mean"}, default None
        "mean" returns the mean distance of each tree of A to the trees of B (without B, to
        all of A, itself included) and never holds the matrix.
    out : float64 array or memory map, optional
        Where to write the result, block by block; its shape is that of the result. What an
        interrupted run has not reached is NaN.
    n_jobs : int, optional
        Threads; None is 1 (or joblib's setting), -1 all cores.

    Returns
    -------
    ndarray of shape (len(A), len(B)), or (len(A),) with ``reduce``
        ``out``, where it is given.

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
    if reduce not in REDUCTIONS:
        raise InputError(f"expected reduce to be one of {list(REDUCTIONS)}, got {reduce!r}")
    first = _as_list(A, "A")
    second = first if B is None else _as_list(B, "B")
    shape = (len(first),) if reduce else (len(first), len(second))
    if out is not None:
        _check_out(out, shape)
    if reduce and first and not second:
        raise InputError("expected trees in B to take the mean over, got none")
    if not first or not second:
        return np.zeros(shape) if out is None else out
    paths = paths_of(first if B is None else [*first, *second], space, options)
    left = paths[: len(first)]
    right = None if B is None else paths[len(first) :]
    normalise = _Normaliser(left, left if right is None else right, options)
    if reduce is None and out is None and not by_blocks(left, right):
        return normalise(pairwise_paths(left, right, options, n_jobs=n_jobs))
    blocks = DistanceBlocks(left, right, Measure.of(options), n_jobs=n_jobs)
    if out is None:
        out = np.empty(shape)
    out[...] = np.nan
    if reduce is None:
        blocks.fill(out, normalise)
    else:
        out[...] = blocks.means(normalise)
    return out


def pairwise_paths(
    a: Sequence[Paths],
    b: Sequence[Paths] | None,
    options: DistanceOptions,
    *,
    n_jobs: int | None = None,
) -> FloatArray:
    """Raw distances between collections of paths in one space (no normalisation)."""
    measure = Measure.of(options)
    if not by_blocks(a, b):
        return pairwise(a, b, measure, n_jobs)
    other = a if b is None else b
    out = np.empty((len(a), len(other)))
    raw = _Normaliser(a, other, replace(options, normalize=None))
    DistanceBlocks(a, b, measure, n_jobs=n_jobs).fill(out, raw)
    return out


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

    Measured by ``options`` and written in the units of each of ``units``.
    """
    normalise = [_Normaliser(a, b, unit) for unit in units]
    if not is_large(a, b):
        distances = pairwise_paths(a, b, options, n_jobs=n_jobs)
        return [unit(distances) @ share for unit in normalise]
    means = [np.empty(len(a)) for _ in units]
    every = np.arange(len(b))
    for rows, band in DistanceBlocks(a, b, Measure.of(options), n_jobs=n_jobs).bands():
        for unit, mean in zip(normalise, means, strict=True):
            mean[rows] = unit(band, rows, every) @ share
    return means


def normalised(
    distances: FloatArray, a: Sequence[Paths], b: Sequence[Paths], options: DistanceOptions
) -> FloatArray:
    """Raw distances between two collections as ``options.normalize`` wants them.

    "bound": over 2^D(2D + lambda). "relative": 2d / (m(a) + m(b) + d), in [0, 1]; 0 where
    there is nothing to compare.
    """
    return _Normaliser(a, b, options)(distances)


class _Normaliser:
    """Brings raw distances of some trees of a collection to some of another into the unit asked.

    Trees are told by their positions; by default all of them.
    """

    def __init__(self, a: Sequence[Paths], b: Sequence[Paths], options: DistanceOptions) -> None:
        self._unit, self._bound = options.normalize, 0.0
        if options.normalize == "bound":
            assert options.max_depth is not None
            self._bound = distance_bound(options.max_depth, options.label_weight)
        elif options.normalize == "relative":
            measure = Measure.of(options)
            self._masses_a = np.array([measure.mass(paths) for paths in a])
            self._masses_b = np.array([measure.mass(paths) for paths in b])

    def __call__(
        self, distances: FloatArray, rows: Any = slice(None), columns: Any = slice(None)
    ) -> FloatArray:
        if self._unit == "relative":
            total = self._masses_a[rows][:, None] + self._masses_b[columns][None, :] + distances
            relative = np.where(total > 0, 2 * distances / np.where(total > 0, total, 1.0), 0.0)
            # Masses are not rounded to quanta: what has nothing in common could exceed 1 by a hair.
            return np.minimum(relative, 1.0)
        return distances / self._bound if self._bound > 0 else distances


def _check_out(out: Any, shape: tuple[int, ...]) -> None:
    if not isinstance(out, np.ndarray) or out.dtype != np.float64 or out.shape != shape:
        got = f"one of {out.dtype} and shape {out.shape}" if hasattr(out, "dtype") else repr(out)
        raise InputError(
            f"expected out to be an array or memory map of float64 and shape {shape}, got {got}; "
            f"make it with numpy.memmap(path, dtype='float64', mode='w+', shape={shape})"
        )
    if not out.flags.writeable:
        raise InputError(
            "expected out to be writable, got an array that is not; open the memory map with "
            "mode='r+' or 'w+'"
        )


def _as_list(models: Any, name: str) -> list[Any]:
    if isinstance(models, (str, bytes)) or not hasattr(models, "__iter__"):
        raise InputError(
            f"expected a list of trees as {name}, got {type(models).__name__}; "
            "for two single trees use tree_distance(a, b)"
        )
    return list(models)
