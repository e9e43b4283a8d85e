"""A collection of trees as a map: alike trees lie close together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import eigh

from steadytree.distance.distances import pairwise_tree_distances
from steadytree.exceptions import InputError
from steadytree.plugins import read_model
from steadytree.tree.printing import INK, OKABE_ITO
from steadytree.tree.space import FeatureSpace
from steadytree.tree.words import shorten
from steadytree.views.figures import (
    MUTED,
    SCORE_MAP,
    Display,
    Style,
    axes_for,
    check_lengths,
    literal,
    styled,
)


def scale_to_plane(
    distances: NDArray[np.float64], *, max_iter: int = 200, tol: float = 1e-6
) -> tuple[NDArray[np.float64], float]:
    """Place points in the plane so that their distances are near the ones given.

    Multidimensional scaling: the classical solution (Torgerson) as a start, then stress
    majorisation (SMACOF) until it falls by less than a share ``tol``. Deterministic: no
    random start. The stress returned with the points is Kruskal's stress-1: 0 is a perfect
    picture, above 0.3 distances on the map mislead.
    """
    d = np.asarray(distances, dtype=np.float64)
    n = len(d)
    if n < 2 or not d.any():
        return np.zeros((n, 2)), 0.0
    centred = -(d**2) / 2
    centred = centred - centred.mean(axis=0) - centred.mean(axis=1)[:, None] + centred.mean()
    keep = min(2, n)
    values, vectors = eigh(centred, subset_by_index=(n - keep, n - 1))
    points = np.zeros((n, 2))
    points[:, :keep] = vectors[:, ::-1] * np.sqrt(np.maximum(values[::-1], 0))
    # The sign of an eigenvector is arbitrary: fix it, so that the map is the same everywhere.
    for axis in range(2):
        largest = int(np.argmax(np.abs(points[:, axis])))
        if points[largest, axis] < 0:
            points[:, axis] *= -1
    total = (d**2).sum()
    stress = _stress(points, d, total)
    for _ in range(max_iter):
        shown = _plane_distances(points)
        ratio = np.divide(d, shown, out=np.zeros_like(d), where=shown > 1e-12)
        moved = (ratio.sum(axis=1)[:, None] * points - ratio @ points) / n
        now = _stress(moved, d, total)
        if now > stress:
            break
        points, before, stress = moved, stress, now
        if before - now <= tol * before:
            break
    return points, float(stress)


def _plane_distances(points: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.hypot(*(points[:, None, :] - points[None, :, :]).transpose(2, 0, 1)))


def _stress(points: NDArray[np.float64], d: NDArray[np.float64], total: float) -> float:
    return float(np.sqrt(((_plane_distances(points) - d) ** 2).sum() / total))


class TreeMapDisplay(Display):
    """Show a collection of trees as a map, coloured by score and sized by leaves.

    Multidimensional scaling of the dissimilarities: one look tells whether a learner grows
    the same tree again and again (one heap) or a different one each time (a cloud).

    Parameters
    ----------
    points : array of shape (n_trees, 2)
    n_leaves : array of shape (n_trees,)
    scores : array of shape (n_trees,), optional
    stress : float, optional
        How far distances on the map are from the true ones (0: not at all).
    marked : mapping of str to int, optional
        Trees to name on the map, by position.
    score_name : str

    Attributes
    ----------
    ax_ : matplotlib axes
    figure_ : matplotlib figure
    trees_ : artist

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> import steadytree as st
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(5, max_depth=2, random_state=0).fit(X, y)
    >>> shown = st.TreeMapDisplay.from_trees(
    ...     forest.estimators_, space=st.FeatureSpace.from_data(X), marked={"first": 0}
    ... )
    >>> shown.points.shape
    (5, 2)
    """

    def __init__(
        self,
        points: ArrayLike,
        n_leaves: ArrayLike,
        *,
        scores: ArrayLike | None = None,
        stress: float | None = None,
        marked: Mapping[str, int] | None = None,
        score_name: str = "Score",
    ) -> None:
        self.points: NDArray[np.float64] = np.asarray(points, dtype=np.float64)
        self.n_leaves: NDArray[np.float64] = np.asarray(n_leaves, dtype=np.float64)
        self.scores = None if scores is None else np.asarray(scores, dtype=np.float64)
        self.stress = stress
        self.marked = dict(marked or {})
        self.score_name = score_name
        check_lengths(points=self.points, n_leaves=self.n_leaves, scores=self.scores)

    @classmethod
    def from_trees(
        cls,
        trees: Sequence[Any],
        *,
        space: FeatureSpace | None = None,
        scores: ArrayLike | None = None,
        marked: Mapping[str, int] | None = None,
        score_name: str = "Score",
        n_jobs: int | None = None,
        ax: Any = None,
        **style: Any,
    ) -> TreeMapDisplay:
        """Compute the dissimilarities of some trees and draw their map.

        Parameters
        ----------
        trees : sequence of models, Trees or paths of tree files
        space : FeatureSpace, optional
            By default the one stored with the trees.
        scores : array, optional
            One per tree, for the colour.
        marked : mapping of str to int, optional
            Trees to name on the map, for instance ``{"deployed": 0}``.
        score_name : str
        n_jobs : int, optional
        ax : matplotlib axes, optional
        **style
            Passed to :meth:`plot`.

        Returns
        -------
        TreeMapDisplay
        """
        read = [read_model(tree) for tree in trees]
        if not read:
            raise InputError("expected one tree or more to draw a map of, got none")
        distances = pairwise_tree_distances(
            read, space=space, variant="metric", normalize="relative", n_jobs=n_jobs
        )
        points, stress = scale_to_plane(distances)
        display = cls(
            points,
            [tree.n_leaves for tree in read],
            scores=scores,
            stress=stress,
            marked=marked,
            score_name=score_name,
        )
        return display.plot(ax=ax, **style)

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, n_jobs: int | None = None, ax: Any = None, **style: Any
    ) -> TreeMapDisplay:
        """Draw the candidates of a fitted ``StableTreeClassifier`` or ``StableTreeRegressor``.

        Parameters
        ----------
        estimator : fitted StableTreeClassifier or StableTreeRegressor
        n_jobs : int, optional
        ax : matplotlib axes, optional
        **style
            Passed to :meth:`plot`.

        Returns
        -------
        TreeMapDisplay
        """
        return cls.from_trees(
            estimator.candidates_,
            space=estimator.feature_space_,
            scores=estimator.scores_,
            marked={"chosen": int(estimator.best_index_)},
            n_jobs=n_jobs,
            ax=ax,
            **style,
        )

    def plot(
        self,
        ax: Any = None,
        *,
        figsize: tuple[float, float] = (6.4, 5.0),
        scatter_kw: Style = None,
        marked_kw: Style = None,
        text_kw: Style = None,
    ) -> TreeMapDisplay:
        """Draw the map.

        Parameters
        ----------
        ax : matplotlib axes, optional
        figsize : pair of float
            Size of a new figure in inches.
        scatter_kw, marked_kw : dict, optional
            Keywords of ``Axes.scatter`` for all trees (``cmap`` for the colours of scores),
            and for the rings around those that are named.
        text_kw : dict, optional
            Keywords of ``Axes.annotate`` for the names.

        Returns
        -------
        TreeMapDisplay
        """
        (ax,) = axes_for(ax, size=figsize)
        n = len(self.points)
        # Area for size; the whole ink stays about the same for 100 and for 1,000 trees.
        base = float(np.clip(9000 / max(n, 1), 7, 90))
        relative = np.sqrt(self.n_leaves / max(float(np.median(self.n_leaves)), 1.0))
        colour: dict[str, Any] = (
            {"color": OKABE_ITO["blue"]}
            if self.scores is None
            else {"c": self.scores, "cmap": SCORE_MAP}
        )
        self.trees_ = ax.scatter(
            self.points[:, 0],
            self.points[:, 1],
            **styled(
                scatter_kw,
                s=base * np.clip(relative, 0.4, 4),
                alpha=0.85 if n <= 200 else 0.6,
                linewidths=0.4,
                edgecolors="white",
                **colour,
            ),
        )
        if self.scores is not None:
            bar = ax.figure.colorbar(self.trees_, ax=ax, shrink=0.85)
            bar.set_label(literal(self.score_name), color=INK)
            bar.outline.set_visible(False)
        for name, i in self.marked.items():
            x, y = self.points[i]
            ring = {"s": 130, "facecolor": "none", "edgecolor": OKABE_ITO["vermillion"], "lw": 2}
            ax.scatter(x, y, **styled(marked_kw, **ring))
            ax.annotate(
                literal(shorten(name, 24)),
                (x, y),
                **styled(
                    text_kw,
                    xytext=(9, 9),
                    textcoords="offset points",
                    color=INK,
                    fontsize=9,
                    bbox={"boxstyle": "round,pad=0.2", "fc": "white", "ec": "none", "alpha": 0.85},
                ),
            )
        ax.set_aspect("equal", adjustable="datalim")
        ax.set_xticks([])
        ax.set_yticks([])
        for spine in ax.spines.values():
            spine.set_color(MUTED)
        low, high = int(self.n_leaves.min()), int(self.n_leaves.max())
        sizes = f"{low}" if low == high else f"{low} to {high}"
        note = f"{n} trees of {sizes} leaves (larger dots: more leaves); close = alike"
        if self.stress is not None:
            note += f"; stress {self.stress:.2f}"
        ax.set_xlabel(note, color=INK, fontsize=8.5)
        self._scale_bar(ax)
        return self._drawn_on(ax)

    def _scale_bar(self, ax: Any) -> None:
        """Draw a length that stands for a dissimilarity of 10 (or 1) %."""
        spread = float(np.ptp(self.points, axis=0).max())
        if spread <= 0:
            return
        length = next((step for step in (0.2, 0.1, 0.05, 0.02, 0.01) if step < spread / 3), 0.01)
        from matplotlib.transforms import blended_transform_factory

        left = ax.get_xlim()[0]
        across = blended_transform_factory(ax.transData, ax.transAxes)
        start = left + 0.03 * (ax.get_xlim()[1] - left)
        ax.plot([start, start + length], [0.035, 0.035], transform=across, color=INK, lw=2)
        ax.text(
            start,
            0.05,
            f"dissimilarity of {100 * length:.0f} %",
            transform=across,
            fontsize=8,
            color=INK,
        )
