"""What all figures share: colours, axes to draw on, checks, style keywords and a plain look."""

from __future__ import annotations

from collections.abc import Mapping, Sized
from typing import Any, Self

from steadytree._optional import import_optional
from steadytree.core.colours import INK, OKABE_ITO, PAIR_COLOURS, tint
from steadytree.exceptions import InputError

__all__ = [
    "INK",
    "MUTED",
    "OKABE_ITO",
    "PAIR_COLOURS",
    "SCORE_MAP",
    "Display",
    "Style",
    "axes_for",
    "check_lengths",
    "literal",
    "plain_axes",
    "styled",
    "tint",
]

MUTED = "#8A8A8A"
SCORE_MAP = "cividis"
"""A colour map whose lightness rises evenly, also for colour-blind readers."""

Style = Mapping[str, Any] | None
"""Keywords for a matplotlib artist, or None for the defaults."""


class Display:
    """A figure in one line, as in scikit-learn: made by ``from_...``, drawn again by ``plot``.

    Attributes
    ----------
    ax_ : matplotlib axes, or a list of them
    figure_ : matplotlib figure

    Examples
    --------
    >>> import steadytree as st
    >>> shown = st.ParetoFrontierDisplay([0.0, 1.0], [0.7, 0.8], [True, True]).plot()
    >>> shown.ax_.get_ylabel()
    'Score on held-out rows'
    """

    ax_: Any
    figure_: Any

    def _drawn_on(self, ax: Any) -> Self:
        self.ax_ = ax
        self.figure_ = (ax[0] if isinstance(ax, list) else ax).figure
        return self


def axes_for(
    ax: Any, count: int = 1, *, size: tuple[float, float], what: str = "one axes", **grid: Any
) -> list[Any]:
    """Axes to draw on: those given, if they are as many as needed, or new ones.

    ``size`` is that of a new figure in inches, ``grid`` goes to ``pyplot.subplots``, and
    ``what`` is what an error says was expected.
    """
    pyplot = import_optional("matplotlib.pyplot", extra="plot", purpose="a figure")
    if ax is None:
        _, ax = pyplot.subplots(1, count, figsize=size, layout="constrained", **grid)
    axes = list(ax) if hasattr(ax, "__len__") else [ax]
    if len(axes) != count:
        raise InputError(
            f"expected {what}, got {len(axes)}; "
            f"make them with plt.subplots(1, {count}) or leave ax=None"
        )
    return axes


def check_lengths(**arrays: Sized | None) -> None:
    """Check that arrays, by their names, have one length; None stands for one not given."""
    lengths = {name: len(array) for name, array in arrays.items() if array is not None}
    if len(set(lengths.values())) > 1:
        given = ", ".join(f"{name} of {n}" for name, n in lengths.items())
        raise InputError(f"expected {', '.join(lengths)} of one length, got {given}")


def styled(style: Style, **defaults: Any) -> dict[str, Any]:
    """Keywords for an artist: the defaults, but for what the user sets."""
    return {**defaults, **(style or {})}


def plain_axes(ax: Any) -> None:
    """Two spines, light grid: nothing that competes with the data."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(MUTED)
    ax.tick_params(colors=INK, which="both")
    ax.grid(True, color="#E6E6E6", linewidth=0.8)
    ax.set_axisbelow(True)


def literal(text: str) -> str:
    """Text for matplotlib with its dollar signs shown, not read as mathematics."""
    return text.replace("$", r"\$")
