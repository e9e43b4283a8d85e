"""Foreign values inside our messages: quoted, harmless and short.

A message that quotes a name of 50 megabytes, or 100,000 columns, says nothing and fills the log.
Whatever an error shows of what it was given goes through here.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Set
from itertools import islice
from typing import Any

__all__ = ["MOST_CHARACTERS", "MOST_ITEMS", "cut", "quoted", "some_of"]

MOST_CHARACTERS = 80
"""Of one value."""
MOST_ITEMS = 8
"""Of a list."""
_DIGITS_PER_BIT = 0.30103


def quoted(value: Any) -> str:
    """Return a value as a message shows it: as Python writes it, cut where it is long."""
    if isinstance(value, str):
        # The longest text that is quoted whole; control characters come out escaped.
        if len(value) <= MOST_CHARACTERS:
            return repr(value)
        return f"{value[:MOST_CHARACTERS]!r}... ({len(value):,} characters)"
    if isinstance(value, int) and value.bit_length() > MOST_CHARACTERS * 3:
        return f"a whole number of about {int(value.bit_length() * _DIGITS_PER_BIT) + 1:,} digits"
    if isinstance(value, (bytes, bytearray)) and len(value) > MOST_CHARACTERS:
        return f"{bytes(value[:MOST_CHARACTERS])!r}... ({len(value):,} bytes)"
    if isinstance(value, Mapping):
        return f"a {type(value).__name__} of {len(value):,} entries"
    if isinstance(value, (list, tuple, Set)):
        opening, closing = ("[", "]") if isinstance(value, list) else ("(", ")")
        return f"{opening}{some_of(value)}{closing}"
    try:
        text = repr(value)
    except Exception:  # whatever a stranger's class does, the message must be said
        return f"a {type(value).__name__}"
    return cut(text, 4 * MOST_CHARACTERS)


def some_of(items: Collection[Any], most: int = MOST_ITEMS) -> str:
    """Return the first few of a list, quoted, and how many more there are."""
    shown = ", ".join(map(_item, islice(items, most)))
    more = len(items) - most
    return f"{shown} and {more:,} more" if more > 0 else shown


def _item(value: Any) -> str:
    """Quote one of a list; a list inside is only counted, so that nesting costs nothing."""
    if isinstance(value, (list, tuple, Set)) and len(value) > 0:
        return f"a {type(value).__name__} of {len(value):,} entries"
    return quoted(value)


def cut(text: str, most: int) -> str:
    """Cut a text that is not ours, such as another library's message."""
    return text if len(text) <= most else f"{text[:most]}... ({len(text):,} characters)"
