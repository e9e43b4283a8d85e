"""Figures of what goes beyond the paper."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from research.paper.content import Content
from research.paper.figures.drawing import (
    PALETTE,
    Caption,
    bar_panel,
    grouped,
    legend_below,
    line_panel,
    new_figure,
)
from research.paper.summaries.retraining import RETRAINING_METHODS
from research.paper.tables import Table
from steadytree.tree.printing import INK
from steadytree.views.figures import plain_axes

__all__ = ["BEYOND_FIGURES"]


def _bars(
    ax: Any, rows: Any, titles: Mapping[str, str], *, errors: bool = False, **style: Any
) -> None:
    """Draw one bar per data set for each of some columns, with errors from ``<column>_se``."""

    def series(ending: str) -> dict[str, dict[str, float | None]]:
        return {
            title: {r["dataset"]: r[key + ending] for r in rows} for key, title in titles.items()
        }

    bar_panel(ax, series(""), errors=series("_se") if errors else None, **style)


def _line_panels(
    axes: Sequence[Any], table: Table, x: str, xlabel: str, titles: Mapping[str, str]
) -> None:
    """Draw one panel per column of the table, one line per data set."""
    by_name = grouped(table.rows, "dataset")
    for ax, (key, title) in zip(axes, titles.items(), strict=True):
        lines = {
            str(name): ([r[x] for r in rows], [r[key] for r in rows])
            for name, rows in by_name.items()
        }
        line_panel(ax, lines, xlabel=xlabel, ylabel=title)


def _optimism_figure(content: Content) -> Any:
    rows = content.tables["optimism"].rows
    figure, axes = new_figure(1, 2, (12.0, 3.8))
    where = {"same": "rows it was chosen on", "other": "rows it was not"}
    score = {f"pareto_auc_{key}": title for key, title in where.items()}
    _bars(axes[0, 0], rows, score, ylabel="AUC of Pareto AUC")
    axes[0, 0].set_ylim(bottom=0.5)
    price = {f"price_{key}": title for key, title in where.items()}
    _bars(axes[0, 1], rows, price, errors=True, ylabel="", percent=True)
    axes[0, 1].set_ylabel("price of stability, AUC points", color=INK)
    legend_below(figure, axes[0, 0])
    return figure


def _triangle_figure(content: Content) -> Any:
    figure, axes = new_figure(1, 1, (7.0, 3.6))
    series: dict[str, dict[str, float | None]] = {}
    for row in content.tables["triangle"].rows:
        name = f"{row['variant']} form, λ = {row['label_weight']:g}"
        series.setdefault(name, {})[row["dataset"]] = row["share"]
    bar_panel(axes[0, 0], series, ylabel="triples violated", percent=True)
    legend_below(figure, axes[0, 0])
    return figure


def _label_weight_figure(content: Content) -> Any:
    figure, axes = new_figure(1, 2, (11.0, 3.6))
    titles = {
        "ranking_agreement": "rank correlation with λ = 1",
        "reduction": "less distance, share",
    }
    _line_panels(axes[0], content.tables["label_weight"], "label_weight", "label weight λ", titles)
    for ax in axes[0]:
        ax.set_xscale("symlog", linthresh=0.5)
    legend_below(figure, axes[0, 0], columns=6)
    return figure


def _normaliser_figure(content: Content) -> Any:
    rows = content.tables["normaliser"].where(protocol="paper")
    if not rows:
        return None
    figure, axes = new_figure(1, 1, (7.0, 3.6))
    titles = {"fixed_with_depth": "one bound, D = 12", "pair_with_depth": "bound of each pair"}
    _bars(axes[0, 0], rows, titles, ylabel="rank correlation of mean\ndistance with depth")
    axes[0, 0].axhline(0, color=INK, linewidth=0.8)
    legend_below(figure, axes[0, 0])
    return figure


def _collection_size_figure(content: Content) -> Any:
    figure, axes = new_figure(1, 3, (13.0, 3.6))
    titles = {
        "best_auc": "best AUC, chosen and reported\non the same rows",
        "auc_other_half": "AUC on rows not chosen on",
        "frontier_size": "Pareto optimal trees",
    }
    _line_panels(
        axes[0], content.tables["collection_size"], "trees", "trees per collection", titles
    )
    for ax in axes[0]:
        ax.set_xscale("log")
    legend_below(figure, axes[0, 0])
    return figure


def _size_figure(content: Content) -> Any:
    rows = content.tables["size"].where(protocol="paper")
    if not rows:
        return None
    figure, axes = new_figure(1, 2, (12.0, 3.8))
    shares = {
        "explained_by_leaves": "ranks of the distance explained by leaves",
        "smallest_share": "gain that the smallest tree has",
    }
    _bars(axes[0, 0], rows, shares, ylabel="share", percent=True)
    correlations = {
        "distance_with_auc": "distance and AUC",
        "distance_with_auc_given_leaves": "the same, given the leaves",
    }
    _bars(axes[0, 1], rows, correlations, ylabel="rank correlation")
    axes[0, 1].axhline(0, color=INK, linewidth=0.8)
    for ax in axes[0]:
        ax.legend(frameon=False, fontsize=8, loc="lower left", bbox_to_anchor=(0, 1.0), ncols=2)
    return figure


def _retraining_figure(content: Content) -> Any:
    figure, axes = new_figure(1, 1, (8.5, 4.6))
    ax = axes[0, 0]
    plain_axes(ax)
    for k, (method, title) in enumerate(RETRAINING_METHODS.items()):
        colour = PALETTE[k % len(PALETTE)]
        each = content.tables["retraining_by_dataset"].where(method=method)
        ax.scatter(
            [100 * r["dissimilarity"] for r in each],
            [100 * r["auc_change"] for r in each],
            s=16,
            color=colour,
            alpha=0.35,
            linewidths=0,
        )
        row = content.tables["retraining"].where(method=method)[0]
        ax.scatter(
            100 * row["dissimilarity"],
            100 * row["auc_change"],
            s=90,
            color=colour,
            marker="osD^vPX"[k % 7],
            label=title,
        )
    ax.axhline(0, color=INK, linewidth=0.8)
    ax.set_xlabel("dissimilarity between the deployed and the new tree, %", color=INK)
    ax.set_ylabel("AUC against CART trained anew, points", color=INK)
    legend_below(figure, ax, columns=2)
    return figure


BEYOND_FIGURES: dict[Caption, Callable[[Content], Any]] = {
    Caption(
        "optimism",
        "optimism",
        "The chosen tree on the half of the holdout it was chosen on, and on the other half.",
    ): _optimism_figure,
    Caption(
        "triangle", "triangle", "Triples of trees that violate the triangle inequality."
    ): _triangle_figure,
    Caption(
        "label_weight",
        "label-weight",
        "What the label weight does to the ranking of the trees and to the gain.",
    ): _label_weight_figure,
    Caption(
        "normaliser",
        "normaliser",
        "Rank correlation of the mean distance with depth, under one bound and under that of "
        "each pair.",
    ): _normaliser_figure,
    Caption(
        "collection_size",
        "collection-size",
        "Larger collections: what is reported, and what is true.",
    ): _collection_size_figure,
    Caption(
        "size",
        "size",
        "How much of the mean distance is the number of leaves (the paper's protocol).",
    ): _size_figure,
    Caption(
        "retraining",
        "retraining",
        "Each method by how far the tree moves and by its AUC against CART trained anew; small "
        "points are data sets.",
    ): _retraining_figure,
}
