"""Open a stranger's XML with bounds: nothing expanded, nothing fetched, nothing too deep.

Entities and document types are refused by defusedxml; depth, number and size of elements here.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from io import BytesIO
from typing import Any

from steadytree._io import MAX_DEPTH
from steadytree._optional import import_optional
from steadytree.exceptions import TreeFormatError

__all__ = ["children", "first", "number", "parse_xml", "tag"]

MAX_BYTES = 64 * 2**20
MAX_ELEMENTS = 1_000_000
MAX_NESTING = MAX_DEPTH + 100
"""Levels of elements: one for each level of a tree, and those around it and in its nodes."""


def parse_xml(content: bytes) -> Any:
    """Return the outermost element of a document."""
    parser = import_optional("defusedxml.ElementTree", purpose="reading PMML", extra="pmml")
    if len(content) > MAX_BYTES:
        raise TreeFormatError(f"expected at most {MAX_BYTES:,} bytes of XML, got more")
    root, depth, count = None, 0, 0
    try:
        for event, element in parser.iterparse(
            BytesIO(content), events=("start", "end"), forbid_dtd=True
        ):
            if event == "end":
                depth -= 1
                continue
            root = element if root is None else root
            depth, count = depth + 1, count + 1
            if depth > MAX_NESTING or count > MAX_ELEMENTS:
                raise TreeFormatError(
                    f"expected at most {MAX_ELEMENTS:,} elements on {MAX_NESTING:,} levels, "
                    "got more"
                )
    except TreeFormatError:
        raise
    # What expat and defusedxml raise: a ParseError is a SyntaxError, a refusal a ValueError.
    except (SyntaxError, ValueError, LookupError) as error:
        what = str(error) or type(error).__name__
        raise TreeFormatError(f"expected plain XML, got {what}") from None
    if root is None:
        raise TreeFormatError("expected XML, got an empty file")
    return root


def tag(element: Any) -> str:
    """Return the name of an element without its namespace."""
    name = element.tag
    return name.rpartition("}")[2] if isinstance(name, str) else ""


def children(element: Any, *names: str) -> Iterator[Any]:
    """Go through the children of these names."""
    for child in element:
        if tag(child) in names:
            yield child


def first(element: Any, *names: str) -> Any:
    """Return the first child of these names; None if there is none."""
    return next(children(element, *names), None)


def number(element: Any, name: str, default: float = math.nan) -> float:
    """Return an attribute as a finite number, or the default where there is none."""
    text = element.get(name)
    if text is None:
        return default
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise TreeFormatError(f"expected a number as {name} of {tag(element)}, got {text[:40]!r}")
    return value
