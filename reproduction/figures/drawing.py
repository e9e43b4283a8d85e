"""How figures are made and saved: no state outside the figure, the same bytes each time."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from steadytree._optional import import_optional
from steadytree.core.atomic import write_atomic
from steadytree.plotting._base import INK, OKABE_ITO, plain_axes

__all__ = [
    "COLOURS",
    "Caption",
    "bar_panel",
    "grouped",
    "legend_below",
    "line_panel",
    "new_figure",
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


@dataclass(frozen=True)
class Caption:
    """Name of a figure's files, the experiment it belongs to, and what it shows.

    It is drawn from the table ``table``, by default the one of its own name.
    """

    name: str
    experiment: str
    text: str
    table: str = ""


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
    series: Mapping[str, Mapping[str, float | None]],
    *,
    ylabel: str,
    errors: Mapping[str, Mapping[str, float | None]] | None = None,
    colours: Mapping[str, str] | None = None,
    title: str = "",
    percent: bool = False,
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
    colours : mapping, optional
    title : str
    percent : bool, default False
        Values are shares; write the axis in per cent.
    """
    plain_axes(ax)
    groups = list(dict.fromkeys(g for values in series.values() for g in values))
    width = 0.8 / max(len(series), 1)
    at = np.arange(len(groups), dtype=float)
    scale = 100.0 if percent else 1.0
    for k, (name, values) in enumerate(series.items()):
        heights = [
            np.nan if values.get(g) is None else scale * float(values[g] or 0) for g in groups
        ]
        half = None
        if errors is not None:
            half = [scale * float(errors.get(name, {}).get(g) or 0.0) for g in groups]
        ax.bar(
            at - 0.4 + width * (k + 0.5),
            heights,
            width * 0.92,
            yerr=half,
            error_kw={"elinewidth": 0.9, "ecolor": INK},
            color=(colours or {}).get(name, PALETTE[k % len(PALETTE)]),
            label=name,
        )
    ax.set_xticks(at, groups, rotation=25, ha="right", fontsize=8.5)
    ax.set_ylabel(f"{ylabel}{', %' if percent else ''}", color=INK)
    ax.set_title(title, color=INK, loc="left", fontsize=10)


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
        ax.plot(x, values, color=colour, marker="osD^vPX"[k % 7], markersize=4, label=name)
        if errors is not None and name in errors:
            half = np.array([0.0 if v is None else v for v in errors[name]], dtype=float)
            low = values - half
            # What cannot be negative is not drawn as if it could.
            low = np.maximum(low, 0) if np.nanmin(values) >= 0 else low
            ax.fill_between(x, low, values + half, color=colour, alpha=0.15, linewidth=0)
    ax.set_xlabel(xlabel, color=INK)
    ax.set_ylabel(ylabel, color=INK)
    ax.set_title(title, color=INK, loc="left", fontsize=10)


def legend_below(figure: Any, ax: Any, columns: int = 5) -> None:
    """One legend for the whole figure, under the panels."""
    handles, labels = ax.get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside lower center", ncols=columns, frameon=False, fontsize=8.5
    )
