"""The paper's figures, drawn from our numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from reproduction.figures.drawing import (
    COLOURS,
    Caption,
    bar_panel,
    grouped,
    legend_below,
    line_panel,
    new_figure,
)
from reproduction.runs import Results
from reproduction.settings import PROTOCOLS
from reproduction.summaries.paper import METHODS
from reproduction.tables import Table
from steadytree.core.format import tree_from_dict
from steadytree.core.words import shorten
from steadytree.plotting import ParetoFrontierDisplay, TreeComparisonDisplay
from steadytree.plotting._base import INK, OKABE_ITO, literal, tint

__all__ = ["PAPER_FIGURES"]

Tables = Mapping[str, Table]
PROTOCOL_TITLES = {"paper": "the paper's protocol", "honest": "honest protocol"}
NAMED_COLOURS = {METHODS[key]: COLOURS[key] for key in METHODS}


def _example_figure(results: Results, tables: Tables) -> Any:
    """Four trees: before and after, by cross-validation and by the paper's method."""
    names = results.datasets("example", "paper")
    if not names:
        return None
    # The stand-in of the case study the paper shows, where it is there.
    unit = results.of("example", "colon" if "colon" in names else names[-1], "paper")[0]
    figure, axes = new_figure(2, 2, (13.0, 7.5))
    for row, (method, title) in enumerate((("cv", "CART CV"), ("pareto", "CART Pareto"))):
        before, after = (tree_from_dict(content) for content in unit[method]["files"])
        TreeComparisonDisplay.from_trees(
            before,
            after,
            ax=axes[row],
            titles=(f"{title}, half of the rows", f"{title}, all rows"),
        )
    return figure


def _direct_figure(results: Results, tables: Tables) -> Any:
    figure, axes = new_figure(1, 2, (10.0, 4.0), sharey=True)
    for ax, way, title in (
        (axes[0, 0], "clipped", "thresholds clipped to the range"),
        (axes[0, 1], "literal", "thresholds not clipped"),
    ):
        _curves(ax, tables["direct"], "size", way, xlabel="θmax", title=title)
    axes[0, 0].set_ylabel("distance, % of the bound\n(depth of the tree)", color=INK)
    legend_below(figure, axes[0, 0], columns=7)
    return figure


def _indirect_figure(results: Results, tables: Tables) -> Any:
    figure, axes = new_figure(1, 2, (10.0, 4.0))
    for ax, way, title in (
        (axes[0, 0], "bound", "distance, % of the bound (D = 12)"),
        (axes[0, 1], "dissimilarity", "dissimilarity, %"),
    ):
        xlabel = "share of the training rows replaced"
        _curves(ax, tables["indirect"], "replaced", way, xlabel=xlabel, title=title)
    legend_below(figure, axes[0, 0], columns=7)
    return figure


def _percent(value: float | None) -> float | None:
    return None if value is None else 100 * value


def _curves(ax: Any, table: Table, x: str, y: str, *, xlabel: str, title: str) -> None:
    """One line per data set; a band of one standard deviation around the pooled one."""
    by_name = grouped(table.rows, "dataset")
    lines = {
        str(name): ([r[x] for r in rows], [_percent(r[y]) for r in rows])
        for name, rows in by_name.items()
    }
    pooled = str(list(by_name)[-1])
    band = [_percent(r[f"{y}_sd"]) for r in by_name[pooled]]
    line_panel(ax, lines, xlabel=xlabel, ylabel="", errors={pooled: band}, title=title)


def _by_dataset(tables: Tables, name: str) -> dict[Any, list[Mapping[str, Any]]]:
    """Rows of the paper's protocol by data set."""
    return grouped(tables[name].where(protocol="paper"), "dataset")


def _panels(
    by_name: Mapping[Any, Any], *, most_columns: int, size: tuple[float, float]
) -> tuple[Any, list[tuple[Any, Any, Any]]]:
    """Return a figure, and the axes, name and rows of each data set; axes left over are bare."""
    columns = min(most_columns, len(by_name))
    lines = -(-len(by_name) // columns)
    figure, axes = new_figure(lines, columns, (size[0] * columns, size[1] * lines))
    for ax in axes.flat[len(by_name) :]:
        ax.set_axis_off()
    used = axes.flat[: len(by_name)]
    return figure, [(ax, *item) for ax, item in zip(used, by_name.items(), strict=True)]


def _frontiers_figure(results: Results, tables: Tables) -> Any:
    by_name = _by_dataset(tables, "frontiers")
    if not by_name:
        return None
    figure, panels = _panels(by_name, most_columns=3, size=(4.6, 3.8))
    for ax, name, rows in panels:
        ParetoFrontierDisplay(
            [r["distance"] for r in rows],
            [r["auc_choose"] for r in rows],
            [r["on_frontier"] for r in rows],
            distance_name=f"{name}: mean distance from the first batch",
            score_name="AUC on the holdout",
        ).plot(ax=ax)
    return figure


def _frontier_sizes_figure(results: Results, tables: Tables) -> Any:
    figure, axes = new_figure(1, 2, (11.0, 3.6), sharey=True)
    for ax, protocol in zip(axes[0], PROTOCOLS, strict=True):
        rows = tables["frontier_sizes"].where(protocol=protocol)
        series = {
            name: {r["dataset"]: r[name] for r in rows} for name in ("smallest", "mean", "largest")
        }
        title = PROTOCOL_TITLES[protocol]
        bar_panel(ax, series, ylabel="Pareto optimal trees", title=title)
    legend_below(figure, axes[0, 0])
    return figure


def _method_bars(
    tables: Tables,
    table: str,
    key: str,
    ylabel: str,
    *,
    percent: bool = False,
    error: str | None = "",
    log: bool = False,
    bottom: float | None = None,
) -> Any:
    """One panel per protocol, one bar per method and data set."""
    figure, axes = new_figure(1, 2, (12.0, 3.8), sharey=True)
    for ax, protocol in zip(axes[0], PROTOCOLS, strict=True):
        by_method = grouped(tables[table].where(protocol=protocol), "method_name")
        values = {m: {r["dataset"]: r[key] for r in rows} for m, rows in by_method.items()}
        errors = None
        if error is not None:
            field = error or f"{key}_sd"
            errors = {m: {r["dataset"]: r[field] for r in rows} for m, rows in by_method.items()}
        bar_panel(
            ax,
            values,
            ylabel=ylabel,
            errors=errors,
            colours=NAMED_COLOURS,
            title=PROTOCOL_TITLES[protocol],
            percent=percent,
        )
        if log:
            ax.set_yscale("log")
        if bottom is not None:
            ax.set_ylim(bottom=bottom)
    legend_below(figure, axes[0, 0])
    return figure


def _accuracy_figure(results: Results, tables: Tables) -> Any:
    return _method_bars(tables, "accuracy", "auc", "AUC on the reported rows", bottom=0.5)


def _distances_figure(results: Results, tables: Tables) -> Any:
    return _method_bars(
        tables, "distances", "distance", "mean distance from the first batch", log=True, error=None
    )


def _nodes_figure(results: Results, tables: Tables) -> Any:
    return _method_bars(tables, "interpretability", "nodes", "nodes", log=True, error=None)


def _depth_figure(results: Results, tables: Tables) -> Any:
    return _method_bars(tables, "interpretability", "depth", "depth", bottom=0)


def _spread_figure(results: Results, tables: Tables) -> Any:
    return _method_bars(
        tables, "importances", "importance_spread", "sd of importances, mean", error=None
    )


def _top_figure(results: Results, tables: Tables) -> Any:
    return _method_bars(
        tables, "importances", "top_features", "distinct top-3 features", error=None
    )


def _first_levels_figure(results: Results, tables: Tables) -> Any:
    """Draw the first two levels of each selected tree as three boxes."""
    by_name = _by_dataset(tables, "first_levels")
    if not by_name:
        return None
    figure, panels = _panels(by_name, most_columns=2, size=(6.6, 2.7))
    places = {"root": (0.5, 0.74), "left": (0.24, 0.22), "right": (0.76, 0.22)}
    for ax, name, rows in panels:
        ax.set_axis_off()
        ax.set_title(str(name), color=INK, loc="left", fontsize=10)
        for row in rows:
            x, y = places[row["place"]]
            if row["place"] != "root":
                ax.plot([0.5, x], [0.58, y + 0.16], color=INK, linewidth=1, zorder=1)
                side = "yes" if row["place"] == "left" else "no"
                ax.text((0.5 + x) / 2, 0.49, side, fontsize=8, color=INK, ha="center")
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


def _split_frequencies_figure(results: Results, tables: Tables) -> Any:
    by_name = _by_dataset(tables, "split_frequencies_all")
    if not by_name:
        return None
    figure, axes = new_figure(len(by_name), 3, (13.0, 1.9 * len(by_name)))
    for line, (name, rows) in zip(axes, by_name.items(), strict=True):
        for ax, (place, found) in zip(line, grouped(rows, "place").items(), strict=True):
            shown = list(found[:5])[::-1]
            ax.barh(
                range(len(shown)),
                [100 * r["frequency"] for r in shown],
                xerr=[100 * (r["standard_error"] or 0.0) for r in shown],
                color=OKABE_ITO["sky"],
                error_kw={"elinewidth": 0.9, "ecolor": INK},
            )
            labels = [literal(shorten(str(r["feature"]), 24)) for r in shown]
            ax.set_yticks(range(len(shown)), labels, fontsize=8)
            ax.set_xlim(0, 105)
            ax.set_title(f"{name}, {place}", fontsize=9, color=INK, loc="left")
            ax.tick_params(labelsize=8)
    for ax in axes[-1]:
        ax.set_xlabel("% of the trees", color=INK)
    return figure


PAPER_FIGURES: dict[Caption, Callable[[Results, Tables], Any]] = {
    Caption(
        "example",
        "example",
        "Trees trained on half (left) and on all rows (right), by cross-validation (top) and by "
        "the paper's method (bottom). Rules that correspond have the same colour and number.",
    ): _example_figure,
    Caption(
        "direct",
        "direct",
        "Distance between a tree and itself with moved thresholds, by data set and pooled (band: "
        "one standard deviation of the pooled repetitions).",
    ): _direct_figure,
    Caption(
        "indirect",
        "indirect",
        "Distance between trees before and after a share of the training rows was replaced, by "
        "data set and pooled (band: one standard deviation of the pooled repetitions).",
    ): _indirect_figure,
    Caption(
        "frontiers",
        "frontiers",
        "Every tree of the second collection on the first split, the paper's protocol; the "
        "frontier is joined by a line.",
    ): _frontiers_figure,
    Caption(
        "frontier_sizes", "frontier-sizes", "Smallest, mean and largest frontier over the splits."
    ): _frontier_sizes_figure,
    Caption(
        "accuracy", "accuracy", "AUC of the four methods, mean and standard deviation."
    ): _accuracy_figure,
    Caption(
        "distances", "distances", "Mean distance from the first batch (logarithmic)."
    ): _distances_figure,
    Caption(
        "depth",
        "interpretability",
        "Depth, mean and standard deviation; forest: largest tree.",
        "interpretability",
    ): _depth_figure,
    Caption(
        "nodes",
        "interpretability",
        "Number of nodes (logarithmic); forest: largest tree.",
        "interpretability",
    ): _nodes_figure,
    Caption(
        "importance_spread",
        "importances",
        "Standard deviation of importances over the splits.",
        "importances",
    ): _spread_figure,
    Caption(
        "top_features",
        "importances",
        "Distinct features ever among the three most important.",
        "importances",
    ): _top_figure,
    Caption(
        "first_levels", "first-levels", "First two levels of the tree selected on the first split."
    ): _first_levels_figure,
    Caption(
        "split_frequencies",
        "split-frequencies",
        "The five features most often split on at the root, its left and its right child "
        "(bar: standard error over the splits).",
        "split_frequencies_all",
    ): _split_frequencies_figure,
}
