"""Read the lines of a tree in words: how they nest, and what conditions and outcomes each says.

Lines nest by indentation. One with a colon is a branch, any other an outcome. Quoted text is masked
before a line is taken apart, so that nothing within quotes means anything; where a line stops
making sense, the error marks the place. The grammar is on the page docs/guide/rules.md.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NoReturn

from steadytree.plugins import MAX_DEPTH, TreeFormatError, parse_json, quoted

_MAX_LINE = 1_000_000
_MAX_NUMBER = 400
_SHOWN = 120

_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*+("|\\?\Z)')
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
# What begins with a needless 0 is a code such as 01234: text.
_PLAIN_NUMBER = re.compile(r"(?![+-]?0\d)" + _NUMBER.pattern)
_SHARE = re.compile(rf"({_NUMBER.pattern})\s*(%?)")
_ROWS = re.compile(rf"({_NUMBER.pattern})\s+rows?")
_HEAD = re.compile(r"(classes|features|decision|categories\s+of\s)", re.I)
_OPENS = re.compile(r"(?:if|elif|else\s+if)\s", re.I)
_OTHERS = ("else", "otherwise", "always")
_AND = re.compile(r"\sand\s", re.I)
_OR = re.compile(r",|\sor\s", re.I)
_OR_MISSING = re.compile(r"(?:\s|,\s*)or\s+missing\Z", re.I)
_OPERATOR = re.compile(
    r"<=|>=|=<|=>|!=|[≤≥<>=]|"
    r"(?<=[\s\0])(?:is\s+not\s+missing|is\s+missing|is\s+anything|is\s+nothing|"
    r"is\s+not|is|not\s+in|in)(?=[\s\0]|\Z)",
    re.I,
)
_MEANS = {
    **{"<=": "<=", "≤": "<=", "<": "<", ">=": ">=", "≥": ">=", ">": ">"},
    **dict.fromkeys(("=", "is", "in"), "in"),
    **dict.fromkeys(("!=", "is not", "not in"), "not in"),
    **{"is not missing": "all", "is anything": "all", "is missing": "none", "is nothing": "none"},
}
_COMPARES = re.compile(r"\s[≤≥<>=]=?\s")
# Drawn lines, brackets around lists and single quotes would otherwise become part of a name.
_BEGINS_NOTHING = "|│├└'([{"


@dataclass(frozen=True)
class Line:
    """A line of the text: its number, and where what it says begins and ends.

    ``masked``: the text with whatever stands in quotes made unreadable.
    """

    number: int
    text: str
    masked: str
    start: int
    end: int
    where: str = ""

    def fail(self, column: int, message: str) -> NoReturn:
        """Refuse the text, with the line and a mark below the place."""
        first = max(0, column - _SHOWN // 2)
        shown = "".join(c if c.isprintable() else " " for c in self.text[first:][:_SHOWN])
        raise TreeFormatError(
            f"{self.where}line {self.number}, column {column + 1}: {message}\n"
            f"    {shown}\n    {' ' * (column - first)}^"
        )


@dataclass(frozen=True)
class Piece:
    """A part of a line, without the spaces around it."""

    line: Line
    start: int
    end: int

    @classmethod
    def of(cls, line: Line, start: int, end: int) -> Piece:
        """Cut a part out of a line."""
        text = line.text[start:end]
        stripped = text.strip()
        start = start + len(text) - len(text.lstrip()) if stripped else start
        return cls(line, start, start + len(stripped))

    @property
    def text(self) -> str:
        """What it says."""
        return self.line.text[self.start : self.end]

    @property
    def masked(self) -> str:
        """What it says outside quotes."""
        return self.line.masked[self.start : self.end]

    def fail(self, expected: str) -> NoReturn:
        """Refuse the text here."""
        got = "".join(c if c.isprintable() else "?" for c in self.text[:30])
        self.line.fail(self.start, f"expected {expected}, got {quoted(got) if got else 'nothing'}")

    def cut(self, start: int, end: int) -> Piece:
        """Return a part of it."""
        return Piece.of(self.line, self.start + start, self.start + end)

    def split(self, by: re.Pattern[str]) -> list[Piece]:
        """Return the parts between whatever a pattern finds outside quotes."""
        parts, at = [], 0
        for found in by.finditer(self.masked):
            parts.append(self.cut(at, found.start()))
            at = found.end()
        return [*parts, self.cut(at, self.end - self.start)]

    def named(self, expected: str) -> str:
        """Read text, quoted or not."""
        if self.text.startswith('"') and set(self.masked) == {"\0"}:
            try:
                return str(parse_json(self.text))
            except TreeFormatError:
                self.fail(r"text with escapes as JSON has them, such as \" and \\")
        if not self.text:
            self.fail(expected)
        if self.text[0] in _BEGINS_NOTHING or '"' in self.text:
            self.fail(f'{expected}; if it is unusual, in "quotes"')
        return self.text

    def value(self, expected: str) -> Any:
        """Read a class or category: quoted text, a number, true or false, else text."""
        text = self.named(expected)
        if self.text.startswith('"'):
            return text
        if len(text) <= _MAX_NUMBER and _PLAIN_NUMBER.fullmatch(text):
            return int(text) if re.fullmatch(r"[+-]?\d+", text) else float(text)
        return {"true": True, "false": False}.get(text.lower(), text)

    def number(self, expected: str) -> float:
        """Read a finite number."""
        found = len(self.text) <= _MAX_NUMBER and _NUMBER.fullmatch(self.text)
        if not found or math.isinf(float(self.text)):
            self.fail(expected)
        return float(self.text)

    def share(self) -> float:
        """Read 20 %, or 0.2."""
        found = len(self.text) <= _MAX_NUMBER and _SHARE.fullmatch(self.text)
        if not found:
            self.fail("a share such as 20 % or 0.2")
        share = float(found.group(1)) / (100 if found.group(2) else 1)
        if not 0 <= share <= 1:
            self.fail("a share from 0 to 1, or from 0 % to 100 %")
        return share

    def named_share(self, expected: str) -> tuple[Piece, float]:
        """Read a class and its share: yes 20 %."""
        found = re.search(rf"(?<=[\s\0]){_SHARE.pattern}\Z", self.masked)
        if found is None or not found.start():
            self.fail(expected)
        return self.cut(0, found.start()), self.cut(found.start(), found.end()).share()

    def values(self, names: bool = False) -> tuple[Any, ...]:
        """Read a list: red, blue or "light green"."""
        out: dict[Any, None] = {}
        for piece in self.split(_OR):
            if piece.text.lower() == "missing":
                piece.fail("a name or a number (for missing values 'or missing' after the last)")
            if _COMPARES.search(piece.masked):
                piece.fail('a name or a number; if it is unusual, in "quotes"')
            value = piece.named("a name") if names else piece.value("a name or a number")
            if value in out:
                piece.fail("each of them once")
            out[value] = None
        return tuple(out)


@dataclass(frozen=True)
class TypedCondition:
    """What a feature is compared with, and whether missing values pass.

    ``operator``: "<=", "<", ">" or ">=" with a ``bound``, "in" or "not in" with ``values``,
    "all" or "none" of the present values.
    """

    at: Piece
    name: str
    operator: str
    bound: float = math.nan
    values: tuple[Any, ...] = ()
    missing: bool = False


@dataclass(frozen=True)
class Outcome:
    """What is said at a leaf: a class or a response, shares of classes, rows.

    ``label`` is None where shares stand alone.
    """

    at: Piece
    label: Any = None
    shares: dict[Any, float] = field(default_factory=dict)
    rows: float = 1.0


@dataclass
class Item:
    """A branch: its conditions (none: whoever is left), and an outcome or further branches."""

    line: Line
    conditions: list[TypedCondition]
    outcome: Outcome | None = None
    block: list[Item] = field(default_factory=list)


# -- within a line ---------------------------------------------------------------------


def _branch(line: Line, colon: int) -> Item:
    """Read a line with a colon."""
    head, tail = Piece.of(line, line.start, colon), Piece.of(line, colon + 1, line.end)
    outcome = _outcome(tail) if tail.text else None
    if head.text.lower() in _OTHERS:
        return Item(line, [], outcome)
    opens = _OPENS.match(head.masked)
    head = head.cut(opens.end() if opens else 0, head.end - head.start)
    return Item(line, [_condition(piece) for piece in head.split(_AND)], outcome)


def _condition(piece: Piece) -> TypedCondition:
    found = _OPERATOR.search(piece.masked)
    if found is None:
        piece.fail("a condition such as age <= 50 or colour in red, blue")
    name = piece.cut(0, found.start()).named("a feature")
    words = " ".join(found.group().lower().split())
    value = piece.cut(found.end(), piece.end - piece.start)
    if words not in _MEANS:
        piece.cut(found.start(), piece.end - piece.start).fail("<= or >=")
    operator = _MEANS[words]
    if operator in ("all", "none"):
        if value.text:
            value.fail("':' or 'and' after the condition")
        return TypedCondition(piece, name, operator, missing=words in ("is missing", "is anything"))
    missing = _OR_MISSING.search(value.masked)
    value = value.cut(0, missing.start() if missing else value.end - value.start)
    if operator in ("in", "not in"):
        values = value.values()
        return TypedCondition(piece, name, operator, values=values, missing=missing is not None)
    if _OPERATOR.search(value.masked):
        value.fail("one condition ('and' joins several; for 'or' write a line of its own)")
    bound = value.number("a number with a decimal point, such as 30000.5")
    return TypedCondition(piece, name, operator, bound, missing=missing is not None)


def _outcome(piece: Piece) -> Outcome:
    """Read what a leaf says: no; no (80 %, 40 rows); no 80 %, yes 20 % (40 rows); 12.5."""
    shares: dict[Any, float] = {}
    said, rows, alone = piece, 1.0, None
    opens = piece.masked.rfind("(") if piece.masked.endswith(")") else -1
    if opens >= 0:
        said = piece.cut(0, opens)
        for part in piece.cut(opens + 1, len(piece.text) - 1).split(re.compile(",")):
            if count := _ROWS.fullmatch(part.text):
                rows = part.cut(0, count.end(1)).number("a number of rows")
            elif _SHARE.fullmatch(part.text):
                alone = part
            else:
                _add_share(shares, part, "a share such as 20 %, or a number of rows")
    if "%" in said.masked:
        for part in said.split(re.compile(",")):
            _add_share(shares, part, "a class and its share, such as yes 20 %")
        return Outcome(piece, None, shares, rows)
    if _OPERATOR.search(said.masked) or said.text.lower() in _OTHERS:
        said.fail("an outcome such as no, or no (80 %), or ':' after a condition")
    label = said.value("an outcome")
    if alone is not None:
        if label in shares:
            alone.fail("one share for each class")
        shares[label] = alone.share()
    return Outcome(piece, label, shares, rows)


def _add_share(shares: dict[Any, float], part: Piece, expected: str) -> None:
    of, share = part.named_share(expected)
    value = of.value("a class")
    if value in shares:
        part.fail("one share for each class")
    shares[value] = share


# -- how lines nest --------------------------------------------------------------------


def parse_lines(text: str, where: str = "") -> tuple[dict[str, tuple[Any, Line]], list[Item]]:
    """Return the head of a text, by key, and its outermost branches."""
    head: dict[str, tuple[Any, Line]] = {}
    root: list[Item] = []
    # Blocks that are open, each with the column of its lines and the branch it belongs to.
    blocks: list[tuple[int, list[Item], Item | None]] = []
    line = None
    for line in _lines(text, where):
        colon = line.masked.find(":", line.start, line.end)
        if not blocks:
            if colon >= 0 and _HEAD.match(line.masked, line.start, colon + 1):
                _read_head(head, line, colon)
                continue
            blocks.append((line.start, root, None))
        last = blocks[-1][1][-1] if blocks[-1][1] else None
        if last is not None and line.start > blocks[-1][0]:
            if last.outcome is not None:
                line.fail(line.start, "expected the next branch, got a line below an outcome")
            if len(blocks) > MAX_DEPTH:
                line.fail(line.start, f"expected at most {MAX_DEPTH} levels, got more")
            blocks.append((line.start, last.block, last))
        else:
            _check_followed(last)
            while blocks and line.start < blocks[-1][0]:
                blocks.pop()
            if not blocks or line.start != blocks[-1][0]:
                line.fail(line.start, "expected the indentation of a line above, got another")
        _add(line, colon, blocks[-1][1], blocks[-1][2])
    if line is None:
        raise TreeFormatError(
            f"{where}expected a tree in words such as 'age <= 50:', got an empty text"
        )
    if not root:
        line.fail(line.end, "expected the branches of the tree below this line, got nothing")
    _check_followed(blocks[-1][1][-1] if blocks[-1][1] else None)
    return head, root


def _check_followed(item: Item | None) -> None:
    if item is not None and item.outcome is None:
        item.line.fail(
            item.line.end, "expected an outcome here, or lines indented below, got neither"
        )


def _add(line: Line, colon: int, block: list[Item], above: Item | None) -> None:
    """Read a line as a branch of a block, or as the outcome of the branch above."""
    if (block and not block[-1].conditions) or (above is not None and above.outcome is not None):
        line.fail(line.start, "expected nothing beside an outcome or else:, got a line")
    if colon >= 0:
        block.append(_branch(line, colon))
        return
    outcome = _outcome(Piece.of(line, line.start, line.end))
    if block:
        line.fail(line.start, "expected a condition such as 'age <= 50:' or else:, got an outcome")
    if above is None:
        block.append(Item(line, [], outcome))
    else:
        above.outcome = outcome


def _lines(text: str, where: str) -> Iterator[Line]:
    """Go through the lines that say something, without comments."""
    indents: set[str] = set()
    for number, raw in enumerate(text.split("\n"), 1):
        cut = raw[: _MAX_LINE + 1]
        quotes = list(_QUOTED.finditer(cut))
        masked = _QUOTED.sub(lambda found: "\0" * len(found.group()), cut)
        end = len(cut[: masked.find("#") if "#" in masked else None].rstrip())
        start = len(cut) - len(cut.lstrip())
        if start >= end:
            continue
        line = Line(number, cut, masked, start, end, where)
        if len(raw) > _MAX_LINE:
            line.fail(_MAX_LINE, f"expected lines of at most {_MAX_LINE:,} characters, got more")
        if quotes and quotes[-1].group(1) != '"':
            line.fail(quotes[-1].start(), "expected a closing quote, got none")
        indents |= set(raw[:start]) & {" ", "\t"}
        if len(indents) > 1:
            line.fail(0, "expected lines indented by spaces or by tabs, got both in one text")
        yield line


def _read_head(head: dict[str, tuple[Any, Line]], line: Line, colon: int) -> None:
    """Read a line that says something of the whole tree."""
    said, value = Piece.of(line, line.start, colon), Piece.of(line, colon + 1, line.end)
    key = said.text.split()[0].lower()
    content: Any
    if key == "decision":
        positive, *share = value.split(re.compile(r"\sfrom\s", re.I))
        if len(share) != 1:
            value.fail("a class and from which share on, such as: yes from 20 %")
        content = positive.value("a class"), share[0].share()
    else:
        content = value.values(names=key == "features")
    if key == "categories":
        of = re.match(r"categories\s+of\s", said.masked, re.I)
        name = said.cut(of.end() if of else 0, said.end - said.start).named("a feature")
        key = f"categories of {name}"
    if key in head:
        line.fail(line.start, f"expected one line {quoted(key)}, got a second")
    head[key] = content, line
