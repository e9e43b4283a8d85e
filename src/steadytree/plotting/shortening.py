"""Shorten names for drawings, whatever script they are written in."""

from __future__ import annotations

import unicodedata

from steadytree.core.words import STEERING

__all__ = ["display_width", "literal", "shorten"]

_WITHOUT_STEERING = dict.fromkeys(STEERING)


def display_width(text: str) -> int:
    """Columns a text takes: wide characters (East Asian, emoji) count two, marks none."""
    return sum(
        0
        if unicodedata.combining(c) or unicodedata.category(c) in ("Mn", "Me", "Cf")
        else 2
        if unicodedata.east_asian_width(c) in "WF"
        else 1
        for c in text
    )


def shorten(text: str, columns: int) -> str:
    """Text cut to a number of columns, with an ellipsis where something is left out."""
    text = " ".join(str(text).translate(_WITHOUT_STEERING).split())
    if display_width(text) <= columns:
        return text
    kept, used = [], 0
    for character in text:
        used += display_width(character)
        if used > columns - 1:
            break
        kept.append(character)
    return "".join(kept).rstrip() + "…"


def literal(text: str) -> str:
    """Text for matplotlib with its dollar signs shown, not read as mathematics."""
    return text.replace("$", r"\$")
