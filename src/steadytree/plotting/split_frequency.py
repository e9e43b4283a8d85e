"""Which feature trees split on, where, and how far their cut-points spread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadytree.core.alignment import align_tree, common_space
from steadytree.core.space import FeatureSpace
from steadytree.core.words import format_number
from steadytree.exceptions import InputError
from steadytree.plotting._base import figure_for, plain_axes
from steadytree.plotting.palette import INK, MUTED, OKABE_ITO
from steadytree.plotting.shortening import literal, shorten
from steadytree.readers import as_tree

__all__ = ["SplitFrequencyDisplay"]

PLACES = ("root", "left", "right", "anywhere")
TITLES = ("First split", "Left of it", "Right of it", "Anywhere")


class SplitFrequencyDisplay:
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
    """

    ax_: Any
    figure_: Any

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
    ) -> SplitFrequencyDisplay:
        """Count the splits of some trees and draw them.

        Parameters
        ----------
        trees : sequence of models, Trees or paths of tree files
        space : FeatureSpace, optional
            By default the one stored with the trees.
        max_features : int, default 10
        ax : array of five axes, optional
        """
        read = [as_tree(tree) for tree in trees]
        if not read:
            raise InputError("expected one tree or more to count splits of, got none")
        where = common_space(read, space)
        counts = {place: np.zeros(where.n_features) for place in PLACES}
        cuts: list[list[float]] = [[] for _ in range(where.n_features)]
        for tree in read:
            aligned = align_tree(tree, where)
            feature = aligned.feature
            if feature[0] < 0:
                continue
            grown = aligned.tree
            counts["root"][feature[0]] += 1
            for place, child in (
                ("left", grown.children_left[0]),
                ("right", grown.children_right[0]),
            ):
                if feature[child] >= 0:
                    counts[place][feature[child]] += 1
            counts["anywhere"][np.unique(feature[feature >= 0])] += 1
            for node in np.flatnonzero(np.isfinite(grown.threshold)).tolist():
                cuts[int(feature[node])].append(float(grown.threshold[node]))
        shares = {place: count / len(read) for place, count in counts.items()}
        made = cls(shares, [np.array(c) for c in cuts], where, len(read), max_features=max_features)
        return made.plot(ax=ax)

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, max_features: int = 10, ax: Any = None
    ) -> SplitFrequencyDisplay:
        """Draw the candidates of a fitted ``StableTreeClassifier`` or ``StableTreeRegressor``."""
        return cls.from_trees(
            estimator.candidates_, space=estimator.feature_space_, max_features=max_features, ax=ax
        )

    @classmethod
    def from_assessment(
        cls, assessment: Any, *, max_features: int = 10, ax: Any = None
    ) -> SplitFrequencyDisplay:
        """Draw the resampled trees of a :class:`steadytree.StabilityAssessment`."""
        return cls.from_trees(
            assessment.trees, space=assessment.space, max_features=max_features, ax=ax
        )

    def plot(self, ax: Any = None) -> SplitFrequencyDisplay:
        """Draw the figure.

        Parameters
        ----------
        ax : array of five matplotlib axes, optional
        """
        order = np.lexsort((-self.frequencies["root"], -self.frequencies["anywhere"]))
        used = [int(j) for j in order if self.frequencies["anywhere"][j] > 0]
        self.features_ = used[: self.max_features]
        rows = max(len(self.features_), 1)
        axes = figure_for(
            ax,
            columns=5,
            size=(11, 1.3 + 0.36 * rows),
            sharey=True,
            width_ratios=[1, 1, 1, 1, 1.7],
        )
        axes = list(axes) if hasattr(axes, "__len__") else [axes]
        if len(axes) != 5:
            raise InputError(f"expected five axes, got {len(axes)}; use plt.subplots(1, 5)")
        places = np.arange(len(self.features_))
        self.bars_ = {}
        for panel, place, title in zip(axes, PLACES, TITLES, strict=False):
            plain_axes(panel)
            panel.grid(False, axis="y")
            shares = 100 * self.frequencies[place][self.features_]
            self.bars_[place] = panel.barh(
                places,
                shares,
                height=0.62,
                color=OKABE_ITO["blue"] if place != "anywhere" else MUTED,
            )
            for y, share in zip(places, shares, strict=True):
                if share > 0:
                    # Inside the bar where it fills the panel, beside it otherwise.
                    inside = share > 65
                    panel.text(
                        share - 2 if inside else share + 2,
                        y,
                        f"{share:.0f}",
                        va="center",
                        ha="right" if inside else "left",
                        fontsize=8,
                        color="white" if inside else INK,
                    )
            panel.set_xlim(0, 100)
            panel.set_xticks([0, 50, 100])
            panel.set_title(title, fontsize=10, color=INK, loc="left")
        axes[0].set_xlabel(f"Per cent of {self.n_trees:,} trees", fontsize=9, color=INK, loc="left")
        names = [literal(shorten(self.space.feature_labels[j], 26)) for j in self.features_]
        axes[0].set_yticks(places, names)
        axes[0].set_ylim(rows - 0.4, -0.6)
        self._draw_cuts(axes[4])
        self.ax_, self.figure_ = axes, axes[0].figure
        return self

    def _draw_cuts(self, panel: Any) -> None:
        plain_axes(panel)
        panel.grid(False)
        panel.set_title("Where they cut", fontsize=10, color=INK, loc="left")
        panel.set_xlabel("Lowest to highest value of the feature", fontsize=9, color=INK)
        panel.set_xlim(-0.02, 1.02)
        panel.set_xticks([])
        for row, j in enumerate(self.features_):
            if self.space.categories[j] is not None:
                panel.text(0.5, row, "by category", va="center", ha="center", fontsize=8, color=INK)
                continue
            low, high = float(self.space.lower[j]), float(self.space.upper[j])
            cuts = self.cut_points[j]
            if not cuts.size or high <= low:
                continue
            at = np.clip((cuts - low) / (high - low), 0, 1)
            panel.plot([0, 1], [row, row], color="#E6E6E6", lw=1, zorder=1)
            panel.scatter(
                at,
                np.full(at.size, row),
                marker="|",
                s=70,
                color=OKABE_ITO["vermillion"],
                alpha=float(np.clip(12 / at.size, 0.05, 0.6)),
                linewidths=1.1,
                zorder=2,
            )
            middle = float(np.median(at))
            panel.scatter([middle], [row], s=22, color=INK, zorder=3)
            panel.text(
                min(max(middle, 0.06), 0.94),
                row - 0.3,
                format_number(float(f"{np.median(cuts):.4g}")),
                ha="center",
                va="center",
                fontsize=7,
                color=INK,
                zorder=4,
            )
