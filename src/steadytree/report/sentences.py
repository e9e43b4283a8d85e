"""Texts of a page as plain data: their parts, so that what counts people can be rounded."""

from __future__ import annotations

import re
from typing import Any

from steadytree.core.cells import Cell, Text, parts_words
from steadytree.core.words import PAGE, clean

__all__ = ["sentence"]

_MINUS = re.compile(r"(?<![\w.])-(?=\d)")


def sentence(given: str | Text) -> dict[str, Any]:
    """Return the parts of a text, and its words on a page."""
    parts = given.parts if isinstance(given, Text) else (str(given),)
    shown = [_on_page(part) for part in parts if part]
    return {"parts": shown, "words": parts_words(shown)}


def _on_page(part: str | Cell) -> str | Cell:
    if isinstance(part, str):
        return _page_words(part)
    for kind in ("edit", "internal"):
        if kind in part:
            words = _page_words(part[kind])
            return {kind: words, "words": words}
    return part


def _page_words(words: str) -> str:
    """Clean a text of strangers, with the signs of a page."""
    # What is cleaned loses its outer blanks, which join it to the next part.
    if not words.strip():
        return words
    inner = _MINUS.sub(PAGE.minus, clean(words.strip()))
    lead = " " * (len(words) > len(words.lstrip()))
    tail = " " * (len(words) > len(words.rstrip()))
    return f"{lead}{inner.replace(' <= ', ' ≤ ').replace(' >= ', ' ≥ ')}{tail}"
