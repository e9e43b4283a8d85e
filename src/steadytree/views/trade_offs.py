"""Figures of what a change costs: candidates by change and score, and sensitivity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from steadytree.estimators.assessment import measure_sensitivity
from steadytree.exceptions import InputError
from steadytree.tree.printing import INK, OKABE_ITO
from steadytree.views.figures import (
    MUTED,
    Display,
    Style,
    axes_for,
    check_lengths,
    plain_axes,
    styled,
)


class ParetoFrontierDisplay(Display):
    """Show every candidate tree by how much it changes and how well it predicts.

    The paper's figure of the Pareto frontier: candidates that some other tree beats in both
    respects are small and grey, the frontier is joined by a line, the chosen tree is starred
    and the deployed tree, where there is one, is a diamond.

    Parameters
    ----------
    distance, score : arrays of shape (n_candidates,)
    pareto_mask : boolean array of shape (n_candidates,)
        Which candidates no other one beats.
    chosen : int, optional
        Position of the chosen candidate.
    deployed : int, optional
        Position of the deployed tree among the candidates.
    distance_name, score_name : str
        What the axes say.
    distance_is_share : bool, default False
        Write the distance axis in per cent.

    Attributes
    ----------
    ax_ : matplotlib axes
    figure_ : matplotlib figure
    candidates_, frontier_, frontier_line_, chosen_, deployed_ : artists
        What was drawn; None where there was nothing to draw.

    Examples
    --------
    >>> import steadytree as st
    >>> distance, score = [0.0, 0.2, 0.3, 0.9], [0.70, 0.78, 0.75, 0.80]
    >>> on_frontier = st.pareto_mask(list(zip(distance, score)), [False, True])
    >>> from steadytree.plotting import ParetoFrontierDisplay
    >>> shown = ParetoFrontierDisplay(distance, score, on_frontier, chosen=1, deployed=0).plot()
    >>> [text.get_text() for text in shown.ax_.get_legend().get_texts()]
    ['Other candidates (1)', 'Best trade-offs (3)', 'Deployed tree', 'Chosen tree']
    """

    def __init__(
        self,
        distance: ArrayLike,
        score: ArrayLike,
        pareto_mask: ArrayLike,
        *,
        chosen: int | None = None,
        deployed: int | None = None,
        distance_name: str = "Distance to the first collection of trees",
        score_name: str = "Score on held-out rows",
        distance_is_share: bool = False,
    ) -> None:
        self.distance: NDArray[np.float64] = np.asarray(distance, dtype=np.float64)
        self.score: NDArray[np.float64] = np.asarray(score, dtype=np.float64)
        self.pareto_mask: NDArray[np.bool_] = np.asarray(pareto_mask, dtype=bool)
        check_lengths(distance=self.distance, score=self.score, pareto_mask=self.pareto_mask)
        self.chosen = chosen
        self.deployed = deployed
        self.distance_name = distance_name
        self.score_name = score_name
        self.distance_is_share = distance_is_share

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, ax: Any = None, score_name: str | None = None, **style: Any
    ) -> ParetoFrontierDisplay:
        """Draw the candidates of a fitted ``StableTreeClassifier`` or ``StableTreeRegressor``.

        Parameters
        ----------
        estimator : fitted StableTreeClassifier or StableTreeRegressor
        ax : matplotlib axes, optional
        score_name : str, optional
            What the vertical axis says.
        **style
            Passed to :meth:`plot`.

        Returns
        -------
        ParetoFrontierDisplay
        """
        scoring = getattr(estimator, "scoring", None)
        named = scoring if isinstance(scoring, str) else None
        display = cls(
            estimator.mean_distances_,
            estimator.scores_,
            estimator.pareto_mask_,
            chosen=int(estimator.best_index_),
            distance_name="Mean distance to the first collection of trees",
            score_name=score_name or (f"{named} on held-out rows" if named else "Score"),
        )
        return display.plot(ax=ax, **style)

    @classmethod
    def from_retraining(
        cls, retraining: Any, *, ax: Any = None, score_name: str | None = None, **style: Any
    ) -> ParetoFrontierDisplay:
        """Draw the frontier of a :class:`steadytree.Retraining`.

        Parameters
        ----------
        retraining : Retraining
        ax : matplotlib axes, optional
        score_name : str, optional
            What the vertical axis says.
        **style
            Passed to :meth:`plot`.

        Returns
        -------
        ParetoFrontierDisplay
        """
        frontier = retraining.frontier
        usable = frontier[frontier["score"].notna()].reset_index(drop=True)
        display = cls(
            usable["dissimilarity"],
            usable["score"],
            usable["on_frontier"],
            chosen=_first(usable["chosen"]),
            deployed=_first(usable["kind"] == "keep"),
            distance_name="Dissimilarity to the deployed tree",
            score_name=score_name or "Score on the new rows (cross-fitted)",
            distance_is_share=True,
        )
        return display.plot(ax=ax, **style)

    def plot(
        self,
        ax: Any = None,
        *,
        figsize: tuple[float, float] = (6.4, 4.2),
        scatter_kw: Style = None,
        line_kw: Style = None,
    ) -> ParetoFrontierDisplay:
        """Draw the frontier.

        Parameters
        ----------
        ax : matplotlib axes, optional
            By default a new figure.
        figsize : pair of float
            Size of a new figure in inches.
        scatter_kw : dict, optional
            Keywords of ``Axes.scatter`` for the candidates that are beaten.
        line_kw : dict, optional
            Keywords of ``Axes.plot`` for the frontier's line.

        Returns
        -------
        ParetoFrontierDisplay
        """
        (ax,) = axes_for(ax, size=figsize)
        plain_axes(ax)
        n = self.distance.size
        beaten = ~self.pareto_mask
        # With many candidates single points must not merge into a blot.
        size, alpha = (26, 0.7) if n <= 150 else (12, 0.45) if n <= 600 else (8, 0.35)
        self.candidates_ = self.frontier_ = self.frontier_line_ = None
        self.chosen_ = self.deployed_ = None
        if beaten.any():
            label = f"Other candidates ({int(beaten.sum())})"
            look = {"s": size, "color": MUTED, "alpha": alpha, "linewidths": 0, "label": label}
            self.candidates_ = self._points(ax, beaten, scatter_kw, look)
        if self.pareto_mask.any():
            best = np.flatnonzero(self.pareto_mask)
            best = best[np.argsort(self.distance[best], kind="stable")]
            blue, label = OKABE_ITO["blue"], f"Best trade-offs ({best.size})"
            line = styled(line_kw, color=blue, linewidth=1.4, zorder=3)
            (self.frontier_line_,) = ax.plot(self.distance[best], self.score[best], **line)
            look = {"s": 34, "color": blue, "zorder": 4, "label": label}
            self.frontier_ = self._points(ax, best, None, look)
        if self.deployed is not None:
            look = {"marker": "D", "s": 70, "facecolor": "white", "edgecolor": INK}
            look |= {"linewidths": 1.6, "zorder": 5, "label": "Deployed tree"}
            self.deployed_ = self._points(ax, self.deployed, None, look)
        if self.chosen is not None:
            look = {"marker": "*", "s": 230, "color": OKABE_ITO["vermillion"], "edgecolor": "white"}
            look |= {"linewidths": 0.8, "zorder": 6, "label": "Chosen tree"}
            self.chosen_ = self._points(ax, self.chosen, None, look)
        if self.distance_is_share:
            from matplotlib.ticker import PercentFormatter

            ax.xaxis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))
        ax.set_xlabel(self.distance_name, color=INK)
        ax.set_ylabel(self.score_name, color=INK)
        ax.margins(0.06)
        # Beside the data: no place inside is free for every cloud of points.
        place = {"loc": "lower left", "bbox_to_anchor": (0, 1.0), "ncols": 2}
        ax.legend(frameon=False, fontsize=8.5, borderaxespad=0.2, **place)
        return self._drawn_on(ax)

    def _points(self, ax: Any, which: Any, style: Style, look: dict[str, Any]) -> Any:
        """Draw some of the candidates, by position."""
        return ax.scatter(self.distance[which], self.score[which], **styled(style, **look))


def _first(flags: pd.Series) -> int | None:
    """Position of the first candidate with a flag; None without one."""
    return int(flags.argmax()) if flags.any() else None


KINDS = ("thresholds", "data")
AXIS_NAMES = ("Largest change of a threshold", "Share of the training rows replaced")


class SensitivityDisplay(Display):
    """Show how the distance grows with changes of the thresholds and of the data.

    The two curves of the paper's appendix: mean and standard deviation of the distance
    between a tree and the same tree with perturbed thresholds (left), and between trees
    before and after a share of the training rows was replaced (right).

    Parameters
    ----------
    results : DataFrame
        One row per repetition, with columns ``perturbation`` ("thresholds" or "data"),
        ``amount`` (0 to 1) and ``distance``.
    distance_name : str
        What the axis of distances, in per cent, says.

    Attributes
    ----------
    ax_ : list of matplotlib axes
    figure_ : matplotlib figure
    lines_ : dict of str to artist
    bands_ : dict of str to artist

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> import steadytree as st
    >>> X, y = load_iris(return_X_y=True)
    >>> from steadytree.plotting import SensitivityDisplay
    >>> shown = SensitivityDisplay.from_estimator(
    ...     DecisionTreeClassifier(max_depth=2, random_state=0), X, y, amounts=[0.1, 0.5],
    ...     n_repeats=3, random_state=0,
    ... )
    >>> [axes.get_xlabel() for axes in shown.ax_]
    ['Largest change of a threshold', 'Share of the training rows replaced']
    """

    def __init__(
        self,
        results: pd.DataFrame,
        *,
        distance_name: str = "Dissimilarity to the tree before",
    ) -> None:
        lacking = {"perturbation", "amount", "distance"} - set(results.columns)
        unknown = set(results["perturbation"]) - set(KINDS) if not lacking else set()
        if lacking or unknown or results.empty:
            raise InputError(
                "expected rows with perturbation ('thresholds' or 'data'), amount and distance, "
                f"got columns {list(results.columns)} and kinds {sorted(map(str, unknown))}"
            )
        self.results = results
        self.distance_name = distance_name

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        amounts: Sequence[float] = (0.1, 0.25, 0.5, 0.75, 1.0),
        n_repeats: int = 10,
        random_state: int | None = None,
        ax: Any = None,
        **style: Any,
    ) -> SensitivityDisplay:
        """Measure the sensitivity of one learner on one data set, and draw it.

        Parameters
        ----------
        estimator : scikit-learn estimator
            A tree learner; cloned, never fitted itself.
        X, y : data
        amounts : sequence of float
            Sizes of the perturbation, in [0, 1].
        n_repeats : int, default 10
        random_state : int, optional
        ax : array of two axes, optional
        **style
            Passed to :meth:`plot`.

        Returns
        -------
        SensitivityDisplay

        See Also
        --------
        steadytree.estimators.assessment.measure_sensitivity : the numbers alone.
        """
        results = measure_sensitivity(
            estimator, X, y, amounts=amounts, n_repeats=n_repeats, random_state=random_state
        )
        return cls(results).plot(ax=ax, **style)

    def plot(
        self,
        ax: Any = None,
        *,
        figsize: tuple[float, float] | None = None,
        line_kw: Style = None,
    ) -> SensitivityDisplay:
        """Draw the curves that there are results for.

        Parameters
        ----------
        ax : axes or array of axes, one per curve, optional
        figsize : pair of float, optional
            Size of a new figure in inches.
        line_kw : dict, optional
            Keywords of ``Axes.plot`` for the means.

        Returns
        -------
        SensitivityDisplay
        """
        from matplotlib.ticker import PercentFormatter

        present = [kind for kind in KINDS if (self.results["perturbation"] == kind).any()]
        size = figsize or (4.2 * len(present) + 0.6, 3.4)
        axes = axes_for(ax, len(present), size=size)
        self.lines_, self.bands_ = {}, {}
        for panel, kind in zip(axes, present, strict=True):
            plain_axes(panel)
            rows = self.results[self.results["perturbation"] == kind]
            by = rows.groupby("amount")["distance"]
            mean, spread = by.mean(), by.std(ddof=1).fillna(0.0)
            colour = OKABE_ITO["blue" if kind == "thresholds" else "vermillion"]
            x, m, s = mean.index.to_numpy(), mean.to_numpy(), spread.to_numpy()
            band = {"color": colour, "alpha": 0.18, "linewidth": 0}
            self.bands_[kind] = panel.fill_between(x, np.maximum(m - s, 0), m + s, **band)
            marker = "o" if kind == "thresholds" else "s"
            line = styled(line_kw, color=colour, marker=marker, markersize=5)
            (self.lines_[kind],) = panel.plot(x, m, **line)
            panel.set_xlabel(AXIS_NAMES[KINDS.index(kind)], color=INK)
            panel.set_ylim(bottom=0)
            panel.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0, symbol=" %"))
            panel.yaxis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))
        axes[0].set_ylabel(self.distance_name, color=INK)
        counts = self.results.groupby(["perturbation", "amount"]).size()
        more = " or more" if counts.min() != counts.max() else ""
        title = f"mean ± standard deviation of {counts.min():,}{more} repetitions"
        axes[-1].set_title(title, fontsize=8.5, color=INK, loc="right")
        return self._drawn_on(axes)
