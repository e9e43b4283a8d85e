"""What was observed at each node of a tree: rows and outcomes, beside what it predicts.

A prediction that nobody can recompute is not trusted. So a tree keeps, for every node, how
many rows of which outcome it met (those of before and those that arrived, counted and
weighted) and how the observed rate was steadied: by what, and as how many rows it counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadytree.exceptions import TreeFormatError

FloatArray = NDArray[np.float64]

OBSERVED_ARRAYS = ("counts", "weighted", "steadied_by", "strength")


@dataclass(frozen=True, eq=False)
class Observed:
    """Rows and outcomes at each node, and what steadies the prediction made from them.

    With two classes and one node: ``predicted = (w + k t) / (n + k)``, where n and w are
    the weights of all rows and of those with the outcome (old rows times ``old_share``), t is
    ``steadied_by`` and k is ``strength``.

    Attributes
    ----------
    counts : float array (n_nodes, 2, c)
        Rows of each class among the old rows and among the new rows; for regression the rows
        and the sum of their responses (c = 2). A tree that was never retrained, or without old
        rows, has new rows only.
    weighted : float array (n_nodes, 2, c)
        The same with sample weights.
    steadied_by : float array (n_nodes, k)
        Shares (or response) that the observed ones are steadied by.
    strength : float array (n_nodes,)
        As how many rows those count; 0: the prediction is the observed rate.
    old_share : float
        What an old row counts beside a new one; below 1 where the new rows contradict them.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> import steadytree as st
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = st.as_tree(DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, y))
    >>> tree.observed.rows().tolist()  # at the root, left and right of it
    [150.0, 50.0, 100.0]
    >>> tree.observed.rate()[2].tolist()
    [0.0, 0.5, 0.5]
    """

    counts: FloatArray
    weighted: FloatArray
    steadied_by: FloatArray
    strength: FloatArray
    old_share: float = 1.0

    def __post_init__(self) -> None:
        for name in OBSERVED_ARRAYS:
            array = np.array(getattr(self, name), dtype=np.float64)
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        n = self.counts.shape[0]
        if self.counts.ndim != 3 or self.counts.shape[1] != 2:
            raise TreeFormatError(
                f"expected observed counts of shape (n, 2, c), got {self.counts.shape}"
            )
        if (
            self.weighted.shape != self.counts.shape
            or self.strength.shape != (n,)
            or self.steadied_by.ndim != 2
            or self.steadied_by.shape[0] != n
        ):
            raise TreeFormatError("expected one entry per node in everything observed")
        amounts = (self.counts[..., :1], self.weighted[..., :1], self.strength)
        if not all(np.isfinite(a).all() and (a >= 0).all() for a in amounts):
            raise TreeFormatError("expected observed rows >= 0, got others")
        if not 0 <= self.old_share <= 1:
            raise TreeFormatError(f"expected old_share in [0, 1], got {self.old_share}")

    @classmethod
    def plain(cls, counts: FloatArray, weighted: FloatArray, *, classifier: bool) -> Observed:
        """Return what a tree observed on the rows it was grown on, nothing steadied.

        Counts and weights, one row per node, are taken as they are: finite and >= 0.

        Parameters
        ----------
        counts, weighted : float arrays of shape (n_nodes, c)
        classifier : bool
            Whether outcomes are classes.

        Returns
        -------
        Observed
        """
        n, width = counts.shape
        arrays = {
            "counts": np.zeros((n, 2, width)),
            "steadied_by": np.zeros((n, width if classifier else 1)),
            "strength": np.zeros(n),
        }
        arrays["counts"][:, 1] = counts
        arrays["weighted"] = arrays["counts"]
        if weighted is not counts:
            arrays["weighted"] = np.zeros((n, 2, width))
            arrays["weighted"][:, 1] = weighted
        for array in arrays.values():
            array.setflags(write=False)
        # Every model that is read comes this way: what cannot be wrong is not checked again.
        return cls._unchecked(arrays, 1.0)

    @classmethod
    def _unchecked(cls, arrays: Mapping[str, FloatArray], old_share: float) -> Observed:
        one = object.__new__(cls)
        one.__dict__.update(arrays, old_share=old_share)
        return one

    def parts(self, slices: Iterable[slice]) -> list[Observed]:
        """Return what was observed at stretches of the nodes, which share this one's memory.

        Parameters
        ----------
        slices : iterable of slice

        Returns
        -------
        list of Observed
        """
        return [
            self._unchecked({n: getattr(self, n)[part] for n in OBSERVED_ARRAYS}, self.old_share)
            for part in slices
        ]

    @property
    def is_classifier(self) -> bool:
        """Whether outcomes are classes."""
        return bool(self.steadied_by.shape[1] > 1)

    def rows(self, which: str = "all") -> FloatArray:
        """Count the rows at each node: "old", "new" or "all".

        Parameters
        ----------
        which : {"all", "old", "new"}

        Returns
        -------
        float array of shape (n_nodes,)
        """
        part = self._part(self.counts, which)
        return np.asarray(part.sum(axis=1) if self.is_classifier else part[:, 0])

    def rate(self, which: str = "all") -> FloatArray:
        """Observed class shares (or mean response) of the rows at each node, each row once.

        NaN where there is no row.

        Parameters
        ----------
        which : {"all", "old", "new"}

        Returns
        -------
        float array of shape (n_nodes, n_classes) or (n_nodes, 1)
        """
        part, rows = self._part(self.counts, which), self.rows(which)[:, None]
        outcomes = part if self.is_classifier else part[:, 1:]
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(np.where(rows > 0, outcomes / rows, np.nan))

    def outcomes(self, position: int, which: str = "all") -> FloatArray:
        """Count the rows of a class at each node.

        Parameters
        ----------
        position : int
            Of the class.
        which : {"all", "old", "new"}

        Returns
        -------
        float array of shape (n_nodes,)
        """
        return np.asarray(self._part(self.counts, which)[:, position])

    def predicted(self) -> FloatArray:
        """Predict from the stored numbers; NaN where there is neither a row nor a steadying.

        Returns
        -------
        float array of shape (n_nodes, n_classes) or (n_nodes, 1)
        """
        both = self.old_share * self.weighted[:, 0] + self.weighted[:, 1]
        weight = both.sum(axis=1) if self.is_classifier else both[:, 0]
        outcomes = both if self.is_classifier else both[:, 1:]
        total = (weight + self.strength)[:, None]
        with np.errstate(invalid="ignore", divide="ignore"):
            steadied = (outcomes + self.strength[:, None] * self.steadied_by) / total
        return np.asarray(np.where(total > 0, steadied, np.nan))

    def take(self, nodes: NDArray[np.intp]) -> Observed:
        """Return what was observed at some nodes.

        Parameters
        ----------
        nodes : int array

        Returns
        -------
        Observed
        """
        return replace(self, **{name: getattr(self, name)[nodes] for name in OBSERVED_ARRAYS})

    def with_classes(self, where: NDArray[np.intp], n_classes: int) -> Observed:
        """Return the same with further classes; class i becomes class ``where[i]``.

        Parameters
        ----------
        where : int array
            New position of each class.
        n_classes : int

        Returns
        -------
        Observed
        """
        spread: dict[str, Any] = {}
        for name in ("counts", "weighted", "steadied_by"):
            array = getattr(self, name)
            spread[name] = np.zeros((*array.shape[:-1], n_classes))
            spread[name][..., where] = array
        return replace(self, **spread)

    def _part(self, array: FloatArray, which: str) -> FloatArray:
        if which == "all":
            return np.asarray(array.sum(axis=1))
        return array[:, ("old", "new").index(which)]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Observed):
            return NotImplemented
        return self.old_share == other.old_share and all(
            np.array_equal(getattr(self, n), getattr(other, n), equal_nan=True)
            for n in OBSERVED_ARRAYS
        )

    __hash__ = None  # type: ignore[assignment]
