"""Shorten names for drawings, whatever script they are written in."""

from __future__ import annotations

import unicodedata

from steadytree.core.tree import Tree
from steadytree.core.words import format_number

__all__ = ["branch_text", "display_width", "literal", "percent", "shorten"]

# Invisible characters that steer text direction: a name must not reorder what surrounds it.
_STEERING = dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F, 0x061C])


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
    text = " ".join(str(text).translate(_STEERING).split())
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


def percent(share: float, digits: int = 0) -> str:
    """Share as a percentage with a narrow gap before the sign, as style guides ask."""
    return f"{100 * share:.{digits}f}\u202f%"


def branch_text(tree: Tree, node: int, *, left: bool, missing: bool = False) -> str:
    """Say what a value must be to take one side of a split, without the feature's name.

    Parameters
    ----------
    tree : Tree
    node : int
        A split node.
    left : bool
        The side.
    missing : bool, default False
        Whether the feature can be missing: the side that missing values take then says so.
    """
    j = int(tree.feature[node])
    cats, codes = tree.categories[j], tree.left_categories[node]
    takes_missing = missing and bool(tree.missing_left[node]) == left
    if codes is not None and cats is not None:
        inside = set(codes)
        words = [str(c) for i, c in enumerate(cats) if (i in inside) == left]
        if takes_missing or not words:
            words.append("missing")
        return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
    threshold = float(tree.threshold[node])
    if threshold == float("inf"):
        return ("present or missing" if takes_missing else "present") if left else "missing"
    text = f"{'≤' if left else '>'} {format_number(threshold)}"
    return f"{text} or missing" if takes_missing else text
