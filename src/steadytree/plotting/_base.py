"""What all Displays share: a figure to draw on and a plain look."""

from __future__ import annotations

from typing import Any

from steadytree._optional import import_optional
from steadytree.plotting.palette import INK, MUTED

__all__ = ["bare_axes", "figure_for", "plain_axes"]


def figure_for(ax: Any, *, columns: int = 1, size: tuple[float, float], **grid: Any) -> Any:
    """Axes to draw on: those given, or new ones on a figure of the size given (inches).

    Returns one axes, or an array of ``columns`` of them.
    """
    pyplot = import_optional("matplotlib.pyplot", extra="plot", purpose="a figure")
    if ax is not None:
        return ax
    _, made = pyplot.subplots(1, columns, figsize=size, layout="constrained", **grid)
    return made


def plain_axes(ax: Any) -> None:
    """Two spines, light grid: nothing that competes with the data."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(MUTED)
    ax.tick_params(colors=INK, which="both")
    ax.grid(True, color="#E6E6E6", linewidth=0.8)
    ax.set_axisbelow(True)


def bare_axes(ax: Any) -> None:
    """No axes at all, for drawings."""
    ax.set_axis_off()
