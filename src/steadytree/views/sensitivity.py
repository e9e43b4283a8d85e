"""How the distance answers to small changes of a tree and of its data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from steadytree.estimators.assessment import measure_sensitivity
from steadytree.exceptions import InputError
from steadytree.tree.printing import INK, OKABE_ITO
from steadytree.views.figures import Display, Style, axes_for, plain_axes, styled

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
    distance_is_share : bool, default True
        Write distances in per cent.

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
    >>> shown = st.SensitivityDisplay.from_estimator(
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
        distance_is_share: bool = True,
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
        self.distance_is_share = distance_is_share

    @classmethod
    def from_frame(cls, results: pd.DataFrame, *, ax: Any = None, **names: Any) -> Any:
        """Draw what :func:`steadytree.estimators.assessment.measure_sensitivity` found before.

        Parameters
        ----------
        results : DataFrame
        ax : axes or array of axes, one per curve, optional
        **names
            ``distance_name`` and ``distance_is_share``, as of the class.

        Returns
        -------
        SensitivityDisplay
        """
        return cls(results, **names).plot(ax=ax)

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
        fill_kw: Style = None,
    ) -> SensitivityDisplay:
        """Draw the curves that there are results for.

        Parameters
        ----------
        ax : axes or array of axes, one per curve, optional
        figsize : pair of float, optional
            Size of a new figure in inches.
        line_kw, fill_kw : dict, optional
            Keywords of ``Axes.plot`` for the means and ``Axes.fill_between`` for the spread.

        Returns
        -------
        SensitivityDisplay
        """
        from matplotlib.ticker import PercentFormatter

        present = [kind for kind in KINDS if (self.results["perturbation"] == kind).any()]
        size = figsize or (4.2 * len(present) + 0.6, 3.4)
        axes = axes_for(ax, len(present), size=size, what=f"{len(present)} axes, one per curve")
        self.lines_, self.bands_ = {}, {}
        for panel, kind in zip(axes, present, strict=True):
            plain_axes(panel)
            rows = self.results[self.results["perturbation"] == kind]
            by = rows.groupby("amount")["distance"]
            mean, spread = by.mean(), by.std(ddof=1).fillna(0.0)
            colour = OKABE_ITO["blue" if kind == "thresholds" else "vermillion"]
            x, m, s = mean.index.to_numpy(), mean.to_numpy(), spread.to_numpy()
            self.bands_[kind] = panel.fill_between(
                x,
                np.maximum(m - s, 0),
                m + s,
                **styled(fill_kw, color=colour, alpha=0.18, linewidth=0),
            )
            marker = "o" if kind == "thresholds" else "s"
            (self.lines_[kind],) = panel.plot(
                x, m, **styled(line_kw, color=colour, marker=marker, markersize=5)
            )
            panel.set_xlabel(AXIS_NAMES[KINDS.index(kind)], color=INK)
            panel.set_ylim(bottom=0)
            panel.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0, symbol=" %"))
            if self.distance_is_share:
                panel.yaxis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))
        axes[0].set_ylabel(self.distance_name, color=INK)
        counts = self.results.groupby(["perturbation", "amount"]).size()
        more = " or more" if counts.min() != counts.max() else ""
        title = f"mean ± standard deviation of {counts.min():,}{more} repetitions"
        axes[-1].set_title(title, fontsize=8.5, color=INK, loc="right")
        return self._drawn_on(axes)
