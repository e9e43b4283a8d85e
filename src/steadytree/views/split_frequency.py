"""Which feature trees split on, where, and how far their cut-points spread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadytree.estimators.assessment import PLACES, all_cuts, count_splits
from steadytree.exceptions import InputError
from steadytree.plugins import read_model
from steadytree.tree.alignment import common_space
from steadytree.tree.printing import INK, OKABE_ITO
from steadytree.tree.space import FeatureSpace
from steadytree.tree.words import PLAIN, shorten
from steadytree.views.figures import MUTED, Display, Style, axes_for, literal, plain_axes, styled

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
    >>> shown = st.SplitFrequencyDisplay.from_trees(trees, space=st.FeatureSpace.from_data(X))
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
        cut_kw: Style = None,
        text_kw: Style = None,
    ) -> SplitFrequencyDisplay:
        """Draw the figure.

        Parameters
        ----------
        ax : array of five matplotlib axes, optional
        figsize : pair of float, optional
            Size of a new figure in inches; by default as high as the features need.
        bar_kw, cut_kw, text_kw : dict, optional
            Keywords of ``Axes.barh`` for the shares, of ``Axes.scatter`` for the cut-points,
            and of ``Axes.text`` for the numbers.

        Returns
        -------
        SplitFrequencyDisplay
        """
        order = np.lexsort((-self.frequencies["root"], -self.frequencies["anywhere"]))
        used = [int(j) for j in order if self.frequencies["anywhere"][j] > 0]
        self.features_ = used[: self.max_features]
        rows = max(len(self.features_), 1)
        size = figsize or (11, 1.3 + 0.36 * rows)
        axes = axes_for(
            ax, 5, size=size, what="five axes", sharey=True, width_ratios=[1, 1, 1, 1, 1.7]
        )
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
            for y, share in zip(places, shares, strict=True):
                if share > 0:
                    # Inside the bar where it fills the panel, beside it otherwise.
                    inside = share > 65
                    panel.text(
                        share - 2 if inside else share + 2,
                        y,
                        f"{share:.0f}",
                        **styled(
                            text_kw,
                            va="center",
                            ha="right" if inside else "left",
                            fontsize=8,
                            color="white" if inside else INK,
                        ),
                    )
            panel.set_xlim(0, 100)
            panel.set_xticks([0, 50, 100])
            panel.set_title(title, fontsize=10, color=INK, loc="left")
        axes[0].set_xlabel(f"Per cent of {self.n_trees:,} trees", fontsize=9, color=INK, loc="left")
        names = [literal(shorten(self.space.feature_labels[j], 26)) for j in self.features_]
        axes[0].set_yticks(places, names)
        axes[0].set_ylim(rows - 0.4, -0.6)
        self._draw_cuts(axes[4], cut_kw, text_kw)
        return self._drawn_on(axes)

    def _draw_cuts(self, panel: Any, cut_kw: Style, text_kw: Style) -> None:
        plain_axes(panel)
        panel.grid(False)
        panel.set_title("Where they cut", fontsize=10, color=INK, loc="left")
        panel.set_xlabel("Lowest to highest value of the feature", fontsize=9, color=INK)
        panel.set_xlim(-0.02, 1.02)
        panel.set_xticks([])
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
            panel.scatter(
                at,
                np.full(at.size, row),
                **styled(
                    cut_kw,
                    marker="|",
                    s=70,
                    color=OKABE_ITO["vermillion"],
                    alpha=float(np.clip(12 / at.size, 0.05, 0.6)),
                    linewidths=1.1,
                    zorder=2,
                ),
            )
            middle = float(np.median(at))
            panel.scatter([middle], [row], s=22, color=INK, zorder=3)
            panel.text(
                min(max(middle, 0.06), 0.94),
                row - 0.3,
                PLAIN.significant(float(np.median(cuts)), 4),
                **styled(text_kw, ha="center", va="center", fontsize=7, color=INK, zorder=4),
            )
