"""Colours that everybody can tell apart, for figures and for the pictures other tools draw."""

from __future__ import annotations

__all__ = ["INK", "OKABE_ITO", "PAIR_COLOURS", "tint"]

OKABE_ITO = {
    "black": "#000000",
    "orange": "#E69F00",
    "sky": "#56B4E9",
    "green": "#009E73",
    "yellow": "#F0E442",
    "blue": "#0072B2",
    "vermillion": "#D55E00",
    "purple": "#CC79A7",
}
"""Colours that people with any kind of colour vision can tell apart (Okabe and Ito, 2008)."""

PAIR_COLOURS = tuple(
    OKABE_ITO[name] for name in ("blue", "orange", "green", "purple", "sky", "vermillion", "yellow")
)
"""Colours to take in turn; what they mark is named or numbered too, so that they may repeat."""

INK = "#222222"


def tint(colour: str, strength: float = 0.3) -> str:
    """Colour mixed with white, so that dark text can be read on it."""
    parts = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{round(255 + (part - 255) * strength):02X}" for part in parts)
