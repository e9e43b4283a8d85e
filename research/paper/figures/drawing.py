"""How figures are made and saved: no state outside the figure, the same bytes each time."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from research.paper.published import CASE_STUDY_NAMES
from steadytree._io import write_atomic
from steadytree._optional import import_optional
from steadytree.tree.printing import INK, OKABE_ITO
from steadytree.views.figures import plain_axes

__all__ = [
    "COLOURS",
    "MEAN",
    "PALETTE",
    "PAPER_LABEL",
    "Caption",
    "bar_panel",
    "case_name",
    "grouped",
    "legend_below",
    "line_panel",
    "new_figure",
    "paper_line",
    "paper_mark",
    "save_figure",
]

COLOURS = {
    "pareto_auc": OKABE_ITO["vermillion"],
    "pareto_distance": OKABE_ITO["blue"],
    "selected": OKABE_ITO["sky"],
    "cv": OKABE_ITO["orange"],
    "forest": OKABE_ITO["green"],
    "paper": OKABE_ITO["orange"],
    "honest": OKABE_ITO["blue"],
}
PALETTE = tuple(
    OKABE_ITO[name] for name in ("blue", "vermillion", "green", "orange", "purple", "sky", "black")
)

MEAN = "mean of\u00a0six"
"""The group of bars that the paper's means over its case studies stand beside."""

PAPER_LABEL = "the paper's number"

Values = Mapping[str, Mapping[str, float | None]]
"""For each series its value in each group."""


@dataclass(frozen=True)
class Caption:
    """Name of a figure's files, the experiment it belongs to, and what it shows.

    It is drawn from the table ``table``, by default the one of its own name.
    """

    name: str
    experiment: str
    text: str
    table: str = ""


def case_name(dataset: str) -> str:
    """Call a data set by the paper's case study, with the stand-in beside it.

    Breast cancer is the paper's own data; what has no case study keeps its name.
    """
    case = CASE_STUDY_NAMES.get(dataset, dataset)
    return case if dataset in ("wdbc", case) else f"{case} ({dataset})"


def new_figure(rows: int, columns: int, size: tuple[float, float], **options: Any) -> Any:
    """Return a figure and its array of axes, apart from any figure the user has open."""
    module = import_optional("matplotlib.figure", extra="plot", purpose="the paper's figures")
    figure = module.Figure(figsize=size, layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, **options)


def save_figure(figure: Any, folder: Path, name: str) -> None:
    """Write PNG and SVG; neither holds a date, and the SVG's names do not change."""
    matplotlib = import_optional("matplotlib", extra="plot", purpose="the paper's figures")
    with matplotlib.rc_context({"svg.hashsalt": "steadytree", "svg.fonttype": "none"}):
        for ending, metadata in (("png", {"Software": None}), ("svg", {"Date": None})):
            out = io.BytesIO()
            figure.savefig(out, format=ending, dpi=130, metadata=metadata)
            write_atomic(folder / f"{name}.{ending}", out.getvalue())


def grouped(rows: Sequence[Mapping[str, Any]], key: str) -> dict[Any, list[Mapping[str, Any]]]:
    """Rows by the value of one column, in order of appearance."""
    found: dict[Any, list[Mapping[str, Any]]] = {}
    for row in rows:
        found.setdefault(row[key], []).append(row)
    return found


def bar_panel(
    ax: Any,
    series: Values,
    *,
    ylabel: str,
    errors: Values | None = None,
    paper: Values | None = None,
    colours: Mapping[str, str] | None = None,
    title: str = "",
    percent: bool = False,
    log: bool = False,
) -> None:
    """Draw grouped bars: one group per data set, one bar per series.

    Parameters
    ----------
    ax : axes
    series : mapping
        For each series its value in each group.
    ylabel : str
    errors : mapping, optional
        Half-lengths of error bars, laid out like ``series``.
    paper : mapping, optional
        The paper's numbers, laid out like ``series``: a mark over the bar.
    colours : mapping, optional
    title : str
    percent : bool, default False
        Values are shares; write the axis in per cent.
    log : bool, default False
        Draw the values on a logarithmic axis.
    """
    plain_axes(ax)
    groups = list(dict.fromkeys(g for values in series.values() for g in values))
    width = 0.8 / max(len(series), 1)
    at = np.arange(len(groups), dtype=float)
    scale = 100.0 if percent else 1.0

    def of(values: Values | None, name: str) -> Any:
        found = (values or {}).get(name, {})
        return np.array([scale * v if (v := found.get(g)) is not None else np.nan for g in groups])

    for k, name in enumerate(series):
        heights, half = of(series, name), np.nan_to_num(of(errors, name))
        x = at - 0.4 + width * (k + 0.5)
        # On a logarithmic axis an error bar that reaches below zero would have no end.
        below = np.minimum(half, 0.95 * np.nan_to_num(heights)) if log else half
        ax.bar(
            x,
            heights,
            width * 0.92,
            yerr=[below, half] if half.any() else None,
            error_kw={"elinewidth": 0.9, "ecolor": INK},
            color=(colours or {}).get(name, PALETTE[k % len(PALETTE)]),
            label=name,
        )
        paper_mark(ax, x, of(paper, name))
    labels = ["\n".join(case_name(group).split(" ")) for group in groups]
    ax.set_xticks(at, labels, fontsize=8)
    ax.grid(False, axis="x")
    ax.set_ylabel(f"{ylabel}{', %' if percent else ''}", color=INK)
    ax.set_title(title, color=INK, loc="left", fontsize=10)
    if log:
        ax.set_yscale("log")


def paper_mark(ax: Any, x: Any, y: Any, error: Any = None) -> None:
    """Put the paper's numbers into a panel as diamonds; what is not a number is left out."""
    known = np.isfinite(y)
    if not known.any():
        return
    ax.errorbar(
        np.asarray(x)[known],
        np.asarray(y)[known],
        yerr=error,
        fmt="D",
        markersize=5.5,
        markerfacecolor="white",
        markeredgecolor=INK,
        markeredgewidth=1.3,
        ecolor=INK,
        capsize=3 if error is not None else 0,
        zorder=5,
        # The legend tells it once.
        label=None if PAPER_LABEL in ax.get_legend_handles_labels()[1] else PAPER_LABEL,
    )


def paper_line(ax: Any, y: float, text: str, colour: str = INK) -> None:
    """Draw a number of the paper across a panel, with its words beyond the right end."""
    ax.axhline(y, color=colour, linewidth=1.1, linestyle=(0, (4, 3)), zorder=1.5)
    ax.annotate(
        text,
        (1.0, y),
        xycoords=("axes fraction", "data"),
        xytext=(4, 0),
        textcoords="offset points",
        ha="left",
        va="center",
        fontsize=8,
        color=colour,
    )


def line_panel(
    ax: Any,
    lines: Mapping[str, tuple[Sequence[float], Sequence[float | None]]],
    *,
    xlabel: str,
    ylabel: str,
    errors: Mapping[str, Sequence[float | None]] | None = None,
    title: str = "",
) -> None:
    """Draw one line per series, with a band of plus or minus its error."""
    plain_axes(ax)
    for k, (name, (x, y)) in enumerate(lines.items()):
        colour = PALETTE[k % len(PALETTE)]
        values = np.array([np.nan if v is None else v for v in y], dtype=float)
        marker = "osD^vPX"[k % 7]
        ax.plot(x, values, color=colour, marker=marker, markersize=4, label=case_name(name))
        if errors is not None and name in errors:
            half = np.array([0.0 if v is None else v for v in errors[name]], dtype=float)
            low = values - half
            # What cannot be negative is not drawn as if it could.
            low = np.maximum(low, 0) if np.nanmin(values) >= 0 else low
            ax.fill_between(x, low, values + half, color=colour, alpha=0.15, linewidth=0)
    ax.set_xlabel(xlabel, color=INK)
    ax.set_ylabel(ylabel, color=INK)
    ax.set_title(title, color=INK, loc="left", fontsize=10)


def legend_below(figure: Any, ax: Any, columns: int = 6) -> None:
    """One legend for the whole figure, under the panels; the paper's numbers come last."""
    told = dict(zip(*ax.get_legend_handles_labels()[::-1], strict=True))
    labels = sorted(told, key=lambda label: label == PAPER_LABEL)
    figure.legend(
        [told[label] for label in labels],
        labels,
        loc="outside lower center",
        ncols=columns,
        frameon=False,
        fontsize=8.5,
    )
