"""Every figure of the paper, and those of what goes beyond it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from reproduction.figures.beyond import BEYOND_FIGURES
from reproduction.figures.drawing import Caption, save_figure
from reproduction.figures.paper import PAPER_FIGURES
from reproduction.runs import Results
from reproduction.tables import Table

__all__ = ["Caption", "draw_all"]


def draw_all(
    results: Results,
    tables: Mapping[str, Table],
    folder: Path,
    *,
    on_drawn: Callable[[str], None] | None = None,
) -> list[Caption]:
    """Draw what there are numbers for, as PNG and SVG, and say what each figure shows.

    Parameters
    ----------
    results : Results
    tables : mapping
        As made by `summarise`.
    folder : path
        Where the files go.
    on_drawn : callable, optional
        Told the name of each figure.
    """
    folder.mkdir(parents=True, exist_ok=True)
    drawn = []
    figures: dict[Caption, Callable[[Results, Mapping[str, Table]], Any]] = {
        **PAPER_FIGURES,
        **BEYOND_FIGURES,
    }
    for caption, draw in figures.items():
        if (caption.table or caption.name) not in tables:
            continue
        figure = draw(results, tables)
        if figure is None:  # there are numbers, but none under the paper's protocol
            continue
        save_figure(figure, folder, caption.name)
        drawn.append(caption)
        if on_drawn is not None:
            on_drawn(caption.name)
    return drawn
