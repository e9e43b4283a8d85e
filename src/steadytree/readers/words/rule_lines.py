"""How the lines of a tree in words nest: which branch stands below which.

The grammar is on the page docs/guide/rules.md. Here text becomes blocks of branches, indented or
drawn; ``rule_words`` reads what a line says, ``rules`` makes a tree of it all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NoReturn

from steadytree._io import MAX_DEPTH
from steadytree._text import quoted
from steadytree.exceptions import TreeFormatError
from steadytree.readers.words.rule_words import (
    Item,
    Line,
    LineReader,
    after_quote,
)

__all__ = ["MAX_BYTES", "parse_lines"]

MAX_BYTES = 4 * 2**20
"""What a person writes is far smaller."""

_MAX_LINE = 1_000_000
_MAX_GAP = 50

_DRAWING = re.compile(r"(?:[|│](?![-─])\s*)*(?:[|`+├└][-─]+\s?|[-*•]\s+)?")
_GAP = re.compile(rf"\s{{{_MAX_GAP + 1}}}")
_HEAD = re.compile(
    r"(classes|features|decision|categories\s+of\s+"
    r"(?P<of>\"(?:[^\"\\]|\\.)*+\"|'[^']*+'|[^:\"']++))\s*+:",
    re.I,
)


def parse_lines(text: str, where: str = "") -> tuple[dict[str, tuple[Any, Line]], list[Item]]:
    """Return the head of a text, by key, and its outermost branches."""
    head: dict[str, tuple[Any, Line]] = {}
    root: list[Item] = []
    # Blocks that are open, each with the column of its lines and the branch it belongs to.
    open_blocks: list[tuple[int, list[Item], Item | None]] = []
    last: Line | None = None
    for line in _lines(text, where):
        last = line
        if not open_blocks:
            if key := _HEAD.match(line.text, line.start, line.end):
                _read_head(head, line, key)
                continue
            open_blocks.append((line.start, root, None))
        above = open_blocks[-1][1][-1] if open_blocks[-1][1] else None
        if above is not None and line.start > open_blocks[-1][0]:
            if above.outcome is not None:
                line.fail(line.start, "expected the next branch, got a line below an outcome")
            if len(open_blocks) > MAX_DEPTH:
                line.fail(line.start, f"expected at most {MAX_DEPTH} levels, got more")
            open_blocks.append((line.start, above.block, above))
        else:
            if above is not None and above.outcome is None:
                _nothing_below(above.line)
            while open_blocks and line.start < open_blocks[-1][0]:
                open_blocks.pop()
            if not open_blocks or line.start != open_blocks[-1][0]:
                line.fail(line.start, "expected the indentation of a line above, got another")
        _add(line, open_blocks[-1][1], open_blocks[-1][2])
    if last is None:
        raise TreeFormatError(
            f"{where}expected a tree in words such as 'age <= 50:', got an empty text"
        )
    if not root:
        last.fail(last.end, "expected the branches of the tree below this line, got nothing")
    if open_blocks[-1][1] and open_blocks[-1][1][-1].outcome is None:
        _nothing_below(open_blocks[-1][1][-1].line)
    return head, root


def _nothing_below(line: Line) -> NoReturn:
    line.fail(line.end, "expected an outcome here, or lines indented below, got neither")


def _add(line: Line, block: list[Item], above: Item | None) -> None:
    """Read a line as a branch of a block, or as the outcome of the branch above."""
    if block and not block[-1].conditions:
        line.fail(line.start, "expected nothing beside a branch for all others, got a line")
    if above is not None and above.outcome is not None:
        line.fail(line.start, "expected the next branch, got a line beside an outcome")
    item = LineReader(line).branch()
    if item.is_outcome and block:
        line.fail(line.start, "expected a condition such as 'age <= 50:' or else:, got words")
    if item.is_outcome and above is not None:
        above.outcome = item.outcome
    else:
        block.append(item)


def _lines(text: str, where: str) -> Iterator[Line]:
    """Go through the lines that say something, drawings and comments left out."""
    indents: set[str] = set()
    for number, raw in enumerate(text.split("\n"), 1):
        raw = raw.removesuffix("\r")
        drawing = _DRAWING.match(raw, len(raw) - len(raw.lstrip()))
        start = drawing.end() if drawing else 0
        while start < len(raw) and raw[start].isspace():
            start += 1
        end = _comment(raw, start)
        if start >= end:
            continue
        line = Line(number, raw, start, end, where)
        if len(raw) > _MAX_LINE:
            line.fail(_MAX_LINE, f"expected lines of at most {_MAX_LINE:,} characters, got more")
        if gap := _GAP.search(raw, start, end):
            line.fail(gap.start(), f"expected gaps of at most {_MAX_GAP} spaces, got a wider one")
        indents |= set(raw[: len(raw) - len(raw.lstrip())]) & {" ", "\t"}
        if len(indents) > 1:
            line.fail(0, "expected lines indented by spaces or by tabs, got both in one text")
        yield line


def _comment(raw: str, start: int) -> int:
    """Return where a line ends, or a comment on it begins, without the space before."""
    at = start
    while at < len(raw) and raw[at] != "#":
        at = after_quote(raw, at, start) or at + 1
    return len(raw[:at].rstrip()) if at < len(raw) else len(raw.rstrip())


def _read_head(head: dict[str, tuple[Any, Line]], line: Line, match: re.Match[str]) -> None:
    """Read a line that says something of the whole tree."""
    key = match.group(1).split()[0].lower()
    reader = LineReader(line, match.end())
    value = reader.decision() if key == "decision" else reader.values(texts=key == "features")
    if match.group("of"):
        of = LineReader(line, match.start("of"), match.end("of"))
        key = f"categories of {of.text_here('a feature')}"
    if key in head:
        line.fail(line.start, f"expected one line {quoted(key)}, got a second")
    head[key] = value, line
