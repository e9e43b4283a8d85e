"""The paper's figures of numbers, drawn from ours with the paper's own beside them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from research.paper.content import Content
from research.paper.figures.drawing import (
    COLOURS,
    MEAN,
    Caption,
    bar_panel,
    case_name,
    grouped,
    legend_below,
    line_panel,
    new_figure,
    paper_line,
    paper_mark,
)
from research.paper.published import CASE_STUDY_NAMES, NUMBERS, TABLE_1
from research.paper.settings import LARGEST_DEPTH, PROTOCOLS
from research.paper.summaries.paper import METHODS
from research.paper.tables import Table, mean
from steadytree.distance.equations import distance_bound
from steadytree.tree.printing import INK, OKABE_ITO
from steadytree.views.figures import plain_axes

__all__ = ["NUMBER_FIGURES", "PROTOCOL_TITLES", "by_dataset", "panels"]

PROTOCOL_TITLES = {"paper": "the paper's protocol", "honest": "honest protocol"}
NAMED_COLOURS = {METHODS[key]: COLOURS[key] for key in METHODS if key in COLOURS}

DIRECT_WAYS = {
    "clipped": "thresholds clipped to the range",
    "literal": "thresholds not clipped",
    "codes": "categories as codes, clipped",
    "codes_literal": "categories as codes, not clipped",
}


def by_dataset(content: Content, name: str) -> dict[Any, list[Mapping[str, Any]]]:
    """Rows of the paper's protocol by data set."""
    return grouped(content.tables[name].where(protocol="paper"), "dataset")


def panels(
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


# -- Appendix B -----------------------------------------------------------------------------------


def _direct_figure(content: Content) -> Any:
    table = content.tables["direct"]
    figure, axes = new_figure(2, 2, (10.0, 7.2), sharex=True, sharey=True)
    for ax, (way, title) in zip(axes.flat, DIRECT_WAYS.items(), strict=True):
        _curves(ax, table, "size", way, xlabel="θmax", title=title)
        small, large, spread = (
            100 * NUMBERS[f"direct_{name}"].value for name in ("small", "size", "spread")
        )
        paper_mark(ax, [0.1, 1.0], [small, large], [0.0, spread])
        ax.set_ylabel("distance, % of the bound\n(depth of the tree)", color=INK)
        ax.label_outer()
    legend_below(figure, axes[0, 0], columns=4)
    return figure


def _indirect_figure(content: Content) -> Any:
    figure, axes = new_figure(1, 2, (10.0, 4.2))
    for ax, way, title in (
        (axes[0, 0], "bound", "distance, % of the bound (D = 12)"),
        (axes[0, 1], "dissimilarity", "dissimilarity, %"),
    ):
        xlabel = "share of the training rows replaced"
        _curves(ax, content.tables["indirect"], "replaced", way, xlabel=xlabel, title=title)
    legend_below(figure, axes[0, 0], columns=4)
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


# -- Sections 3.2 to 3.5 --------------------------------------------------------------------------


def _frontiers_figure(content: Content) -> Any:
    """Draw Figure 2 on the paper's axes: good trees lie in the bottom right corner."""
    by_name = by_dataset(content, "frontiers")
    if not by_name:
        return None
    figure, drawn = panels(by_name, most_columns=3, size=(4.4, 3.6))
    bound = distance_bound(LARGEST_DEPTH)
    for ax, name, rows in drawn:
        plain_axes(ax)
        for on, colour, label, size in (
            (False, "blue", "dominated", 12),
            (True, "vermillion", "Pareto optimal", 34),
        ):
            found = sorted((r["auc_choose"], r["distance"]) for r in rows if r["on_frontier"] == on)
            x, y = [a for a, _ in found], [100 * d / bound for _, d in found]
            ax.scatter(
                x,
                y,
                s=size,
                color=OKABE_ITO[colour],
                alpha=1.0 if on else 0.4,
                linewidths=0,
                label=label,
                zorder=3 if on else 2,
            )
            if on:
                ax.plot(x, y, color=OKABE_ITO[colour], linewidth=1, zorder=2.5)
        ax.set_title(case_name(name), color=INK, loc="left", fontsize=10)
        ax.set_ylim(bottom=0)
        ax.margins(x=0.04)
        ax.set_xlabel("AUC on the holdout", color=INK, fontsize=9)
    figure.supylabel("mean distance from the first batch, % of the bound (D = 12)", fontsize=10)
    legend_below(figure, drawn[0][0])
    return figure


def _frontier_sizes_figure(content: Content) -> Any:
    figure, axes = new_figure(1, 2, (12.0, 4.2), sharey=True)
    colours = {"smallest": "sky", "mean": "blue", "largest": "vermillion"}
    for ax, protocol in zip(axes[0], PROTOCOLS, strict=True):
        rows = content.tables["frontier_sizes"].where(protocol=protocol)
        series = {name: {r["dataset"]: r[name] for r in rows} for name in colours}
        bar_panel(
            ax,
            series,
            ylabel="Pareto optimal trees",
            title=PROTOCOL_TITLES[protocol],
            colours={name: OKABE_ITO[colour] for name, colour in colours.items()},
        )
        for name in colours:
            value = NUMBERS[f"frontier_{name}"].value
            paper_line(ax, value, f"paper's\n{name} {value:g}")
        ax.label_outer()  # the panels share an axis: the first one says what it is
    legend_below(figure, axes[0, 0])
    return figure


def _method_bars(
    content: Content,
    table: str,
    key: str,
    ylabel: str,
    *,
    table_1: str = "",
    percent: bool = False,
    error: bool = True,
    log: bool = False,
    bottom: float | None = None,
    line: tuple[float, str] | None = None,
) -> Any:
    """One panel per protocol, one bar per method and data set.

    With all six case studies their mean stands beside the paper's in Table 1 (``table_1``, by
    default the same key).
    """
    figure, axes = new_figure(1, 2, (14.0, 4.4), sharey=True)
    for ax, protocol in zip(axes[0], PROTOCOLS, strict=True):
        rows = content.tables[table].where(protocol=protocol)
        by_method = grouped(rows, "method_name")
        values = {m: {r["dataset"]: r[key] for r in found} for m, found in by_method.items()}
        errors = {
            m: {r["dataset"]: r[f"{key}_sd"] for r in found} if error else {}
            for m, found in by_method.items()
        }
        paper: dict[str, dict[str, float | None]] = {}
        if {r["dataset"] for r in rows} == set(CASE_STUDY_NAMES):
            for own in values.values():
                own[MEAN] = mean(own.values())
            paper = {METHODS[m]: {MEAN: told[table_1 or key]} for m, told in TABLE_1.items()}
        bar_panel(
            ax,
            values,
            ylabel=ylabel,
            errors=errors,
            paper=paper,
            colours=NAMED_COLOURS,
            title=PROTOCOL_TITLES[protocol],
            percent=percent,
            log=log,
        )
        if bottom is not None:
            ax.set_ylim(bottom=bottom)
        if line is not None:
            paper_line(ax, *line)
        ax.label_outer()
    legend_below(figure, axes[0, 0], columns=8)
    return figure


def _accuracy_figure(content: Content) -> Any:
    return _method_bars(content, "accuracy", "auc", "AUC on the reported rows", bottom=0.5)


def _distances_figure(content: Content) -> Any:
    limit = NUMBERS["distance_at_most"].value
    return _method_bars(
        content,
        "distances",
        "bound",
        "mean distance from the first batch,\nof the bound (D = 12)",
        table_1="distance",
        percent=True,
        log=True,
        line=(100 * limit, f"paper: at\nmost {100 * limit:g} %"),
    )


def _nodes_figure(content: Content) -> Any:
    return _method_bars(content, "interpretability", "nodes", "nodes", log=True)


def _depth_figure(content: Content) -> Any:
    return _method_bars(content, "interpretability", "depth", "depth", bottom=0)


def _spread_figure(content: Content) -> Any:
    words = "standard deviation of importances,\nmean over features"
    return _method_bars(content, "importances", "importance_spread", words, error=False)


def _top_figure(content: Content) -> Any:
    words = "distinct top-3 features"
    return _method_bars(content, "importances", "top_features", words, error=False)


MEAN_WORDS = "Diamond: the paper's mean over its six case studies (Table 1)."

NUMBER_FIGURES: dict[Caption, Callable[[Content], Any]] = {
    Caption(
        "direct",
        "direct",
        "Distance between a tree and itself with moved thresholds, by data set and pooled (band: "
        "one standard deviation of the pooled repetitions). Diamonds: the paper's 1.5 % at "
        "θmax = 0.1, and 12.5 % with a standard deviation of 5 % at θmax = 1.",
    ): _direct_figure,
    Caption(
        "indirect",
        "indirect",
        "Distance between trees before and after a share of the training rows was replaced, by "
        "data set and pooled (band: one standard deviation of the pooled repetitions). The paper "
        "prints no number.",
    ): _indirect_figure,
    Caption(
        "frontiers",
        "frontiers",
        "Every tree of the second collection on the first split, the paper's protocol and axes: "
        "good trees lie at the bottom right. Red: Pareto optimal; blue: dominated.",
    ): _frontiers_figure,
    Caption(
        "frontier_sizes",
        "frontier-sizes",
        "Smallest, mean and largest frontier over the splits; lines: the paper's over all case "
        "studies.",
    ): _frontier_sizes_figure,
    Caption(
        "accuracy",
        "accuracy",
        f"AUC of the methods, mean and standard deviation over the splits. {MEAN_WORDS}",
    ): _accuracy_figure,
    Caption(
        "distances",
        "distances",
        "Mean distance from the first batch (logarithmic), mean and standard deviation over the "
        f"splits. {MEAN_WORDS}",
    ): _distances_figure,
    Caption(
        "depth",
        "interpretability",
        "Depth, mean and standard deviation over the splits; forest: largest tree. " + MEAN_WORDS,
        "interpretability",
    ): _depth_figure,
    Caption(
        "nodes",
        "interpretability",
        "Number of nodes (logarithmic), mean and standard deviation over the splits; forest: "
        f"largest tree. {MEAN_WORDS}",
        "interpretability",
    ): _nodes_figure,
    Caption(
        "importance_spread",
        "importances",
        f"Standard deviation of importances over the splits. {MEAN_WORDS}",
        "importances",
    ): _spread_figure,
    Caption(
        "top_features",
        "importances",
        f"Distinct features ever among the three most important. {MEAN_WORDS}",
        "importances",
    ): _top_figure,
}
