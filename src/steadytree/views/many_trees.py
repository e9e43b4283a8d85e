"""Figures of a collection of trees: a map of them, and what they split on and where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import eigh

from steadytree.distance.distances import pairwise_tree_distances
from steadytree.estimators.assessment import PLACES, all_cuts, count_splits
from steadytree.exceptions import InputError
from steadytree.plugins import read_model
from steadytree.tree.alignment import common_space
from steadytree.tree.printing import INK, OKABE_ITO
from steadytree.tree.space import FeatureSpace
from steadytree.tree.words import PLAIN, shorten
from steadytree.views.figures import (
    MUTED,
    SCORE_MAP,
    Display,
    Style,
    axes_for,
    check_lengths,
    literal,
    plain_axes,
    styled,
)

# -- a map of trees --------------------------------------------------------------------


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
    largest = np.take_along_axis(points, np.abs(points).argmax(axis=0)[None], axis=0)
    points = np.where(largest < 0, -points, points)
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
    >>> from steadytree.plotting import TreeMapDisplay
    >>> shown = TreeMapDisplay.from_trees(
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
        leaves = [tree.n_leaves for tree in read]
        display = cls(
            points, leaves, scores=scores, stress=stress, marked=marked, score_name=score_name
        )
        return display.plot(ax=ax, **style)

    @classmethod
    def from_estimator(cls, estimator: Any, **options: Any) -> TreeMapDisplay:
        """Draw the candidates of a fitted ``StableTreeClassifier`` or ``StableTreeRegressor``.

        Parameters
        ----------
        estimator : fitted StableTreeClassifier or StableTreeRegressor
        **options
            Of :meth:`from_trees`.

        Returns
        -------
        TreeMapDisplay
        """
        known = {"space": estimator.feature_space_, "scores": estimator.scores_}
        known["marked"] = {"chosen": int(estimator.best_index_)}
        return cls.from_trees(estimator.candidates_, **{**known, **options})

    def plot(
        self,
        ax: Any = None,
        *,
        figsize: tuple[float, float] = (6.4, 5.0),
        scatter_kw: Style = None,
        text_kw: Style = None,
    ) -> TreeMapDisplay:
        """Draw the map.

        Parameters
        ----------
        ax : matplotlib axes, optional
        figsize : pair of float
            Size of a new figure in inches.
        scatter_kw : dict, optional
            Keywords of ``Axes.scatter`` (``cmap`` for the colours of scores).
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
        look: dict[str, Any] = {"color": OKABE_ITO["blue"]}
        if self.scores is not None:
            look = {"c": self.scores, "cmap": SCORE_MAP}
        look |= {"s": base * np.clip(relative, 0.4, 4), "alpha": 0.85 if n <= 200 else 0.6}
        look |= {"linewidths": 0.4, "edgecolors": "white"}
        self.trees_ = ax.scatter(*self.points.T, **styled(scatter_kw, **look))
        if self.scores is not None:
            bar = ax.figure.colorbar(self.trees_, ax=ax, shrink=0.85)
            bar.set_label(literal(self.score_name), color=INK)
            bar.outline.set_visible(False)
        ring = {"s": 130, "facecolor": "none", "edgecolor": OKABE_ITO["vermillion"], "lw": 2}
        box = {"boxstyle": "round,pad=0.2", "fc": "white", "ec": "none", "alpha": 0.85}
        label = {"xytext": (9, 9), "textcoords": "offset points", "fontsize": 9, "bbox": box}
        for name, i in self.marked.items():
            ax.scatter(*self.points[i], **ring)
            words = literal(shorten(name, 24))
            ax.annotate(words, tuple(self.points[i]), **styled(text_kw, color=INK, **label))
        ax.set_aspect("equal", adjustable="datalim")
        ax.set(xticks=[], yticks=[])
        for spine in ax.spines.values():
            spine.set_color(MUTED)
        low, high = int(self.n_leaves.min()), int(self.n_leaves.max())
        sizes = f"{low}" if low == high else f"{low} to {high}"
        note = f"{n} trees of {sizes} leaves (larger dots: more leaves); close = alike"
        if self.stress is not None:
            spread = float(np.ptp(self.points, axis=0).max())
            note += f"; {PLAIN.percent(spread)} dissimilar end to end, stress {self.stress:.2f}"
        ax.set_xlabel(note, color=INK, fontsize=8.5)
        return self._drawn_on(ax)


# -- what trees split on ---------------------------------------------------------------

TITLES = ("First split", "Left of it", "Right of it", "Anywhere")


class SplitFrequencyDisplay(Display):
    """Show how often trees split on each feature, and where they cut.

    Four columns of bars (first split, the splits left and right of it, anywhere in the tree)
    and a fifth with the cut-points of every numeric feature over its range: a learner is
    steady where one bar is long and its cut-points lie together.

    Parameters
    ----------
    frequencies : dict of str to array of shape (n_features,)
        Share of the trees that split on each feature at "root", "left", "right" and
        "anywhere".
    cut_points : sequence of arrays
        Finite thresholds used for each feature, in its units.
    space : FeatureSpace
    n_trees : int
    max_features : int, default 10
        Features to show: those used most often.

    Attributes
    ----------
    ax_ : array of five matplotlib axes
    figure_ : matplotlib figure
    features_ : list of int
        Features shown, from the top.
    bars_ : dict of str to bar container

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> import steadytree as st
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> forest = RandomForestClassifier(5, max_depth=2, random_state=0).fit(X.to_numpy(), y)
    >>> trees = [st.as_tree(tree, feature_names=X.columns) for tree in forest.estimators_]
    >>> from steadytree.plotting import SplitFrequencyDisplay
    >>> shown = SplitFrequencyDisplay.from_trees(trees, space=st.FeatureSpace.from_data(X))
    >>> sorted(shown.space.feature_labels[j] for j in shown.features_)[:2]
    ['petal length (cm)', 'petal width (cm)']
    """

    def __init__(
        self,
        frequencies: dict[str, NDArray[np.float64]],
        cut_points: Sequence[NDArray[np.float64]],
        space: FeatureSpace,
        n_trees: int,
        *,
        max_features: int = 10,
    ) -> None:
        self.frequencies = frequencies
        self.cut_points = list(cut_points)
        self.space = space
        self.n_trees = n_trees
        self.max_features = max_features

    @classmethod
    def from_trees(
        cls,
        trees: Sequence[Any],
        *,
        space: FeatureSpace | None = None,
        max_features: int = 10,
        ax: Any = None,
        **style: Any,
    ) -> SplitFrequencyDisplay:
        """Count the splits of some trees and draw them.

        Parameters
        ----------
        trees : sequence of models, Trees or paths of tree files
        space : FeatureSpace, optional
            By default the one stored with the trees.
        max_features : int, default 10
        ax : array of five axes, optional
        **style
            Passed to :meth:`plot`.

        Returns
        -------
        SplitFrequencyDisplay
        """
        read = [read_model(tree) for tree in trees]
        if not read:
            raise InputError("expected one tree or more to count splits of, got none")
        where = common_space(read, space)
        # The table ends with the trees that have no split in a place.
        shares = count_splits(read, where).iloc[:-1] / len(read)
        cuts = all_cuts(read, where)
        cuts = cuts[np.isfinite(cuts["threshold"].astype(float))]
        display = cls(
            {place: shares[place].to_numpy() for place in PLACES},
            [
                cuts.loc[cuts["feature"] == name, "threshold"].to_numpy(dtype=np.float64)
                for name in where.feature_labels
            ],
            where,
            len(read),
            max_features=max_features,
        )
        return display.plot(ax=ax, **style)

    @classmethod
    def from_estimator(cls, estimator: Any, **options: Any) -> SplitFrequencyDisplay:
        """Draw the candidates of a fitted ``StableTreeClassifier`` or ``StableTreeRegressor``.

        Parameters
        ----------
        estimator : fitted StableTreeClassifier or StableTreeRegressor
        **options
            Of :meth:`from_trees`.

        Returns
        -------
        SplitFrequencyDisplay
        """
        return cls.from_trees(estimator.candidates_, space=estimator.feature_space_, **options)

    @classmethod
    def from_assessment(cls, assessment: Any, **options: Any) -> SplitFrequencyDisplay:
        """Draw the resampled trees of a :class:`steadytree.StabilityAssessment`.

        Parameters
        ----------
        assessment : StabilityAssessment
        **options
            Of :meth:`from_trees`.

        Returns
        -------
        SplitFrequencyDisplay
        """
        return cls.from_trees(assessment.trees, space=assessment.space, **options)

    def plot(
        self,
        ax: Any = None,
        *,
        figsize: tuple[float, float] | None = None,
        bar_kw: Style = None,
        text_kw: Style = None,
    ) -> SplitFrequencyDisplay:
        """Draw the figure.

        Parameters
        ----------
        ax : array of five matplotlib axes, optional
        figsize : pair of float, optional
            Size of a new figure in inches; by default as high as the features need.
        bar_kw, text_kw : dict, optional
            Keywords of ``Axes.barh`` for the shares, and of ``Axes.text`` for the numbers.

        Returns
        -------
        SplitFrequencyDisplay
        """
        order = np.lexsort((-self.frequencies["root"], -self.frequencies["anywhere"]))
        used = [int(j) for j in order if self.frequencies["anywhere"][j] > 0]
        self.features_ = used[: self.max_features]
        rows = max(len(self.features_), 1)
        size = figsize or (11, 1.3 + 0.36 * rows)
        axes = axes_for(ax, 5, size=size, sharey=True, width_ratios=[1, 1, 1, 1, 1.7])
        places = np.arange(len(self.features_))
        self.bars_ = {}
        for panel, place, title in zip(axes, PLACES, TITLES, strict=False):
            plain_axes(panel)
            panel.grid(False, axis="y")
            shares = 100 * self.frequencies[place][self.features_]
            colour = OKABE_ITO["blue"] if place != "anywhere" else MUTED
            self.bars_[place] = panel.barh(
                places, shares, **styled(bar_kw, height=0.62, color=colour)
            )
            labels = [f"{share:.0f}" if share > 0 else "" for share in shares]
            look = styled(text_kw, fontsize=8, color=INK)
            panel.bar_label(self.bars_[place], labels, padding=2, **look)
            panel.set(xlim=(0, 120), xticks=[0, 50, 100])
            panel.set_title(title, fontsize=10, color=INK, loc="left")
        axes[0].set_xlabel(f"Per cent of {self.n_trees:,} trees", fontsize=9, color=INK, loc="left")
        names = [literal(shorten(self.space.feature_labels[j], 26)) for j in self.features_]
        axes[0].set_yticks(places, names)
        axes[0].set_ylim(rows - 0.4, -0.6)
        self._draw_cuts(axes[4], text_kw)
        return self._drawn_on(axes)

    def _draw_cuts(self, panel: Any, text_kw: Style) -> None:
        plain_axes(panel)
        panel.grid(False)
        panel.set_title("Where they cut", fontsize=10, color=INK, loc="left")
        panel.set_xlabel("Lowest to highest value of the feature", fontsize=9, color=INK)
        panel.set(xlim=(-0.02, 1.02), xticks=[])
        for row, j in enumerate(self.features_):
            if self.space.categories[j] is not None:
                centred = styled(text_kw, va="center", ha="center", fontsize=8, color=INK)
                panel.text(0.5, row, "by category", **centred)
                continue
            low, high = float(self.space.lower[j]), float(self.space.upper[j])
            cuts = self.cut_points[j]
            if not cuts.size or high <= low:
                continue
            at = np.clip((cuts - low) / (high - low), 0, 1)
            panel.plot([0, 1], [row, row], color="#E6E6E6", lw=1, zorder=1)
            faint = float(np.clip(12 / at.size, 0.05, 0.6))
            look = {"marker": "|", "s": 70, "color": OKABE_ITO["vermillion"], "linewidths": 1.1}
            panel.scatter(at, np.full(at.size, row), alpha=faint, zorder=2, **look)
            middle, words = float(np.median(at)), PLAIN.significant(float(np.median(cuts)), 4)
            panel.scatter([middle], [row], s=22, color=INK, zorder=3)
            centred = styled(text_kw, va="center", ha="center", fontsize=7, color=INK, zorder=4)
            panel.text(min(max(middle, 0.06), 0.94), row - 0.3, words, **centred)
