"""The paper's figures of trees: the example, the first two levels, the first splits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from research.paper.content import Content
from research.paper.figures.drawing import (
    PAPER_LABEL,
    Caption,
    case_name,
    grouped,
    legend_below,
    new_figure,
    paper_mark,
)
from research.paper.figures.paper import by_dataset, panels
from research.paper.published import CASE_STUDY_NAMES, NUMBERS, TABLE_3
from research.paper.tables import format_value
from steadytree.plotting import TreeComparisonDisplay
from steadytree.tree.json import tree_from_dict
from steadytree.tree.printing import INK, OKABE_ITO, tint
from steadytree.tree.words import shorten
from steadytree.views.figures import literal, plain_axes

__all__ = ["TREE_FIGURES"]


def _example_figure(content: Content) -> Any:
    """Four trees: before and after, by cross-validation and by the paper's method."""
    if not content.trees:
        return None
    # The stand-in of the case study the paper shows, where it is there.
    name = "colon" if "colon" in content.trees else list(content.trees)[-1]
    titles = {"cv": "CART CV", "pareto": "CART Pareto"}
    told = content.trees[name]
    pairs = {key: [tree_from_dict(document) for document in told[key]["files"]] for key in titles}
    # Each leaf needs its height.
    heights = [max(2.4, *(0.42 * tree.n_leaves for tree in pair)) for pair in pairs.values()]
    size = (16.0, sum(heights) + 1.2)
    figure, axes = new_figure(2, 2, size, height_ratios=heights)
    for row, (method, title) in enumerate(titles.items()):
        before, after = pairs[method]
        moved = format_value(told[method]["distance_bound"], "share")
        TreeComparisonDisplay.from_trees(
            before,
            after,
            ax=axes[row],
            titles=(
                f"{title}, half of the rows",
                f"{title}, all rows: {moved} of the bound away",
            ),
        )
    figure.suptitle(
        f"{case_name(name)}. The paper's Sarcoma tumor: {NUMBERS['example'].words}",
        color=INK,
        fontsize=10,
    )
    return figure


def _first_levels_figure(content: Content) -> Any:
    """Draw the first two levels of each selected tree as three boxes."""
    by_name = by_dataset(content, "first_levels")
    if not by_name:
        return None
    figure, drawn = panels(by_name, most_columns=2, size=(6.6, 2.7))
    places = {"root": (0.5, 0.74), "left": (0.24, 0.22), "right": (0.76, 0.22)}
    for ax, name, rows in drawn:
        ax.set_axis_off()
        ax.set_title(case_name(name), color=INK, loc="left", fontsize=10)
        for row in rows:
            x, y = places[row["place"]]
            if row["place"] != "root":
                # From box to box; the boxes cover its ends.
                ax.plot([0.5, x], [places["root"][1], y], color=INK, linewidth=1, zorder=1)
                side, away = ("yes", -0.04) if row["place"] == "left" else ("no", 0.04)
                at = ((0.5 + x) / 2 + away, 0.5)
                ax.text(*at, side, fontsize=8, color=INK, ha="center", va="bottom")
            share = row["share_of_events"]
            text = (
                f"{shorten(row['split'], 40)}\n{100 * row['share_of_rows']:.0f} % of the rows\n"
                f"event {100 * share:.1f} %, label {row['label']}"
            )
            colour = OKABE_ITO["vermillion" if row["label"] else "sky"]
            ax.text(
                x,
                y,
                literal(text),
                ha="center",
                va="center",
                fontsize=8,
                color=INK,
                zorder=2,
                bbox={"boxstyle": "round,pad=0.5", "fc": tint(colour, 0.3), "ec": colour},
            )
        ax.set_xlim(0, 1)
        ax.set_ylim(0, 1)
    return figure


def _split_frequencies_figure(content: Content) -> Any:
    by_name = by_dataset(content, "split_frequencies_all")
    if not by_name:
        return None
    figure, axes = new_figure(len(by_name), 3, (13.0, 1.9 * len(by_name) + 0.3))
    for line, (name, rows) in zip(axes, by_name.items(), strict=True):
        for ax, (place, found) in zip(line, grouped(rows, "place").items(), strict=True):
            plain_axes(ax)
            shown = found[:5]
            ax.barh(
                range(len(shown)),
                [100 * r["frequency"] for r in shown],
                xerr=[100 * (r["standard_error"] or 0.0) for r in shown],
                color=OKABE_ITO["sky"],
                error_kw={"elinewidth": 0.9, "ecolor": INK},
            )
            if name == "wdbc":  # the one case study whose features are the paper's
                told = dict(TABLE_3[CASE_STUDY_NAMES[name]][place])
                at = np.array([100 * told.get(r["feature"], np.nan) for r in shown])
                known = np.isfinite(at)
                paper_mark(ax, at[known], np.flatnonzero(known))
            labels = [literal(shorten(str(r["feature"]), 24)) for r in shown]
            ax.set_yticks(range(len(shown)), labels, fontsize=8)
            ax.grid(False, axis="y")
            ax.set_xlim(0, 105)
            ax.set_ylim(4.6, -0.6)  # room for five, the most frequent on top
            ax.set_title(f"{case_name(name)}: {place}", fontsize=9, color=INK, loc="left")
            ax.tick_params(labelsize=8)
    for ax in axes[-1]:
        ax.set_xlabel("% of the trees", color=INK)
    marked = [ax for ax in axes.flat if PAPER_LABEL in ax.get_legend_handles_labels()[1]]
    if marked:
        legend_below(figure, marked[0])
    return figure


TREE_FIGURES: dict[Caption, Callable[[Content], Any]] = {
    Caption(
        "example",
        "example",
        "Trees trained on half (left) and on all rows (right), by cross-validation (top) and by "
        "the paper's method (bottom), on the first split. Rules that correspond have the same "
        "colour and number.",
    ): _example_figure,
    Caption(
        "first_levels", "first-levels", "First two levels of the tree selected on the first split."
    ): _first_levels_figure,
    Caption(
        "split_frequencies",
        "split-frequencies",
        "The five features most often split on at the root, its left and its right child "
        "(bar: standard error over the splits; diamonds: the paper's Table 3, for breast cancer).",
        "split_frequencies_all",
    ): _split_frequencies_figure,
}
