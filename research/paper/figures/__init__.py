"""Every figure of the paper, and those of what goes beyond it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from research.paper.content import Content
from research.paper.figures.beyond import BEYOND_FIGURES
from research.paper.figures.drawing import Caption, save_figure
from research.paper.figures.paper import NUMBER_FIGURES
from research.paper.figures.trees import TREE_FIGURES

__all__ = ["Caption", "draw_all"]

FIGURES: dict[Caption, Callable[[Content], Any]] = {
    **NUMBER_FIGURES,
    **TREE_FIGURES,
    **BEYOND_FIGURES,
}


def draw_all(content: Content, folder: Path) -> list[Caption]:
    """Draw what there are numbers for, as PNG and SVG, and say what each figure shows.

    Parameters
    ----------
    content : Content
        What ``results.json`` holds.
    folder : path
        Where the files go.
    """
    folder.mkdir(parents=True, exist_ok=True)
    drawn = []
    for caption, draw in FIGURES.items():
        if (caption.table or caption.name) not in content.tables:
            continue
        figure = draw(content)
        if figure is None:  # there are numbers, but none under the paper's protocol
            continue
        save_figure(figure, folder, caption.name)
        drawn.append(caption)
    return drawn
