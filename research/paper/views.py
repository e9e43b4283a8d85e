"""Write what people look at from ``results.json`` alone: figures, tables and the page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from research.paper.content import Content
from research.paper.figures import Caption, draw_all
from research.paper.latex import latex_table
from research.paper.page import build_page
from research.paper.rendering import render_html, render_markdown
from steadytree._io import write_atomic
from steadytree.exceptions import MissingDependencyError

__all__ = ["Views", "write_views"]


@dataclass(frozen=True)
class Views:
    """What was made.

    Attributes
    ----------
    content : Content
        What it was made from.
    summary : str
        The verdicts counted.
    figures : list of Caption
    notes : list of str
        What could not be made, and how to get it.
    """

    content: Content
    summary: str
    figures: list[Caption]
    notes: list[str]


def write_views(folder: Path, *, draw: bool = True) -> Views:
    """Make figures, tables (CSV and LaTeX) and the page again, computing nothing.

    Parameters
    ----------
    folder : path
        With the ``results.json`` of a run; everything is written beside it.
    draw : bool, default True
        Draw the figures.
    """
    content = Content.read(folder)
    figures: list[Caption] = []
    notes: list[str] = []
    if draw:
        try:
            figures = draw_all(content, folder / "figures")
        except MissingDependencyError as error:
            notes.append(f"No figures: {error}")
    page = build_page(content, figures, notes)
    (folder / "tables").mkdir(exist_ok=True)
    for table in (*content.tables.values(), *page.overview.values()):
        write_atomic(folder / "tables" / f"{table.name}.csv", table.to_csv())
        if table.on_page:
            write_atomic(folder / "tables" / f"{table.name}.tex", latex_table(table))
    write_atomic(folder / "index.md", render_markdown(page))
    try:
        write_atomic(folder / "index.html", render_html(page))
    except MissingDependencyError as error:
        notes.append(f"No HTML page, only Markdown: {error}")
    return Views(content, page.summary, figures, notes)
