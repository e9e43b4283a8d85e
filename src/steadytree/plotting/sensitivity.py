"""How the distance answers to small changes of a tree and of its data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from steadytree.core.space import FeatureSpace
from steadytree.core.tree import Tree
from steadytree.distance.distances import tree_distance
from steadytree.exceptions import InputError
from steadytree.plotting._base import figure_for, plain_axes
from steadytree.plotting.palette import INK, OKABE_ITO
from steadytree.readers import as_tree

__all__ = ["SensitivityDisplay", "perturb_thresholds"]

KINDS = ("thresholds", "data")
AXIS_NAMES = ("Largest change of a threshold", "Share of the training rows replaced")


def perturb_thresholds(
    tree: Tree, amount: float, rng: np.random.Generator, *, space: FeatureSpace | None = None
) -> Tree:
    """Multiply every threshold by a factor drawn from [1 - amount, 1 + amount].

    The direct perturbation of the paper's sensitivity analysis: t (1 + 2 θmax θ - θmax) with θ
    uniform on [0, 1]. With a space, thresholds are kept within its ranges.
    """
    factor = 1 + amount * rng.uniform(-1, 1, tree.n_nodes)
    threshold = tree.threshold * factor
    if space is not None:
        numeric = np.isfinite(threshold)
        j = tree.feature[numeric]
        threshold[numeric] = np.clip(threshold[numeric], space.lower[j], space.upper[j])
    return tree.replace(threshold=threshold, label=tree.label)


class SensitivityDisplay:
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
    """

    ax_: Any
    figure_: Any

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
        """Draw results that were computed before."""
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
    ) -> SensitivityDisplay:
        """Run both experiments for one learner and one data set, and draw them.

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
        """
        from sklearn.base import clone

        rng = np.random.default_rng(random_state)
        space = FeatureSpace.from_data(X, y)
        take = (lambda t, i: t.iloc[i]) if hasattr(X, "iloc") else (lambda t, i: np.asarray(t)[i])
        target = np.asarray(y)
        n, rows = len(target), []
        options: dict[str, Any] = {"space": space, "variant": "metric", "normalize": "relative"}
        for _ in range(n_repeats):
            order = rng.permutation(n)
            half = n // 2
            first, second = order[:half], order[half : 2 * half]
            base = as_tree(clone(estimator).fit(take(X, first), target[first]))
            for amount in amounts:
                shaken = perturb_thresholds(base, amount, rng, space=space)
                rows.append(("thresholds", amount, tree_distance(base, shaken, **options)))
                swapped = round(amount * half)
                mixed = np.concatenate([second[:swapped], first[swapped:]])
                other = as_tree(clone(estimator).fit(take(X, mixed), target[mixed]))
                rows.append(("data", amount, tree_distance(base, other, **options)))
        return cls(pd.DataFrame(rows, columns=["perturbation", "amount", "distance"])).plot(ax=ax)

    def plot(self, ax: Any = None) -> SensitivityDisplay:
        """Draw the curves that there are results for.

        Parameters
        ----------
        ax : axes or array of axes, one per curve, optional
        """
        from matplotlib.ticker import PercentFormatter

        present = [kind for kind in KINDS if (self.results["perturbation"] == kind).any()]
        axes = figure_for(ax, columns=len(present), size=(4.2 * len(present) + 0.6, 3.4))
        axes = list(axes) if hasattr(axes, "__len__") else [axes]
        if len(axes) != len(present):
            raise InputError(f"expected {len(present)} axes, one per curve, got {len(axes)}")
        self.lines_, self.bands_ = {}, {}
        for panel, kind in zip(axes, present, strict=True):
            plain_axes(panel)
            rows = self.results[self.results["perturbation"] == kind]
            by = rows.groupby("amount")["distance"]
            mean, spread = by.mean(), by.std(ddof=1).fillna(0.0)
            colour = OKABE_ITO["blue" if kind == "thresholds" else "vermillion"]
            x, m, s = mean.index.to_numpy(), mean.to_numpy(), spread.to_numpy()
            self.bands_[kind] = panel.fill_between(
                x, np.maximum(m - s, 0), m + s, color=colour, alpha=0.18, linewidth=0
            )
            (self.lines_[kind],) = panel.plot(
                x, m, color=colour, marker="o" if kind == "thresholds" else "s", markersize=5
            )
            panel.set_xlabel(AXIS_NAMES[KINDS.index(kind)], color=INK)
            panel.set_ylim(bottom=0)
            panel.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0, symbol=" %"))
            if self.distance_is_share:
                panel.yaxis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))
        axes[0].set_ylabel(self.distance_name, color=INK)
        counts = self.results.groupby(["perturbation", "amount"]).size()
        axes[-1].set_title(
            f"mean ± standard deviation of {counts.min():,} or more repetitions"
            if counts.min() != counts.max()
            else f"mean ± standard deviation of {counts.min():,} repetitions",
            fontsize=8.5,
            color=INK,
            loc="right",
        )
        self.ax_, self.figure_ = axes, axes[0].figure
        return self
