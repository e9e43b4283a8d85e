"""What one line of a tree in words says: conditions, an outcome, or a list of the head.

A line is read from left to right; where it stops making sense, the error marks the place. How
lines nest is read by :mod:`steadytree.formats.rules.read_rules`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from math import isinf
from typing import Any, NoReturn

from steadytree.plugins import TreeFormatError, parse_json, quoted

_MAX_NUMBER = 400
_SHOWN = 120

_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
_WHOLE = re.compile(r"[+-]?(?:0|[1-9]\d*)")
# What begins with a needless 0 is a code such as 01234: text.
_DECIMAL = re.compile(r"(?![+-]?0\d)" + _NUMBER.pattern)
_SIGN = re.compile(r"<=|>=|==|!=|<>|=<|=>|[≤≥≠<>=]")
_SIGNS = {
    **{"<=": "<=", "≤": "<=", "<": "<", ">=": ">=", "≥": ">=", ">": ">"},
    **{"==": "in", "=": "in", "!=": "not in", "<>": "not in", "≠": "not in"},
}
_WORD = re.compile(
    r"\s(is\s+not\s+missing|is\s+missing|is\s+nothing|is\s+anything\s+but|"
    r"is\s+not\s+in|is\s+in|is\s+not|not\s+in|is|in)(?=[\s:(\[{\"']|$)",
    re.I,
)
_WORDS: dict[str, tuple[str, bool | None]] = {
    "is not missing": ("all", False),
    "is missing": ("none", True),
    "is nothing": ("none", False),
    **dict.fromkeys(("is anything but", "is not in", "is not", "not in"), ("not in", None)),
    **dict.fromkeys(("is in", "is", "in"), ("in", None)),
}
_GOES_ON = re.compile(r",\d|[\w.']")
_ANYBODY = re.compile(r"any\s", re.I)
_NOBODY = re.compile(r"(\"(?:[^\"\\]|\\.)*+\"|[^:\"]++):\s*nobody comes this way\s*", re.I)
_THEN = r":|then\b|->|→|=>"
_OPEN, _CLOSE = "([{", ")]}"
_PIECES = re.compile(r"(?<!\d)[,;]|[,;](?!\d{3}(?!\d))")
_FREE = ",;:=<>≤≥≠|" + _OPEN


# -- what is read ----------------------------------------------------------------------


@dataclass(frozen=True)
class Line:
    """A line of the text: its number, and where what it says begins and ends."""

    number: int
    text: str
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
class TypedCondition:
    """One condition: what a feature is compared with, and whether missing values pass.

    ``operator``: "<=", "<", ">" or ">=" with a ``bound``, "in" or "not in" with ``values``,
    "all" or "none" of the present values.
    """

    name: str
    operator: str
    line: Line
    column: int
    bound: float = 0.0
    values: tuple[Any, ...] = ()
    missing: bool = False

    def fail(self, message: str) -> NoReturn:
        """Refuse the text at this condition."""
        self.line.fail(self.column, message)


@dataclass(frozen=True)
class Outcome:
    """What is said at a leaf.

    ``label`` is given unless shares stand alone; ``shares`` by class, or in
    the order of the classes; ``is_class`` says that a number is a class, ``is_value`` that it is
    a response.
    """

    line: Line
    column: int
    label: Any = None
    shares: dict[Any, float] | tuple[float, ...] = field(default_factory=dict)
    rows: float | None = None
    is_class: bool = False
    is_value: bool = False

    def fail(self, message: str) -> NoReturn:
        """Refuse the text at this leaf."""
        self.line.fail(self.column, message)


@dataclass
class Item:
    """A branch: its conditions (none: whoever is left), and an outcome or further branches.

    ``is_outcome``: the line says an outcome and nothing before it.
    """

    line: Line
    conditions: tuple[TypedCondition, ...]
    outcome: Outcome | None = None
    block: list[Item] = field(default_factory=list)
    is_outcome: bool = False


# -- within a line ---------------------------------------------------------------------


class LineReader:
    """Reads a line from left to right."""

    def __init__(self, line: Line, at: int | None = None, end: int | None = None) -> None:
        self.line, self.text = line, line.text
        self.at = line.start if at is None else at
        self.end = line.end if end is None else end
        self.skip()

    def fail(self, expected: str, at: int | None = None) -> NoReturn:
        """Refuse the text here, or at a place."""
        at = self.at if at is None else at
        got = self.text[at : min(self.end, at + 30)].strip()
        what = "".join(c if c.isprintable() else "?" for c in got)
        self.line.fail(
            at,
            f"expected {expected}, got {quoted(what)}"
            if what
            else f"expected {expected}, got the end of the line",
        )

    def skip(self) -> None:
        """Go past spaces."""
        while self.at < self.end and self.text[self.at].isspace():
            self.at += 1

    def take(self, pattern: str) -> re.Match[str] | None:
        """Go past a pattern, if it comes next."""
        found = re.compile(pattern, re.I).match(self.text, self.at, self.end)
        if found:
            self.at = found.end()
            self.skip()
        return found

    # -- branches ----------------------------------------------------------------------

    def branch(self) -> Item:
        """Read a branch, or an outcome alone."""
        if self.take(rf"(else|otherwise|always)(?!\s+if\b)(\s*({_THEN})|\s|$)"):
            outcome = self.outcome() if self.at < self.end else None
            return Item(self.line, (), outcome)
        conditional = (
            self.take(r"(if|elif|else\s+if)\s+")
            or self.operator()
            or _ANYBODY.match(self.text, self.at, self.end)
            or _NOBODY.match(self.text, self.at, self.end)
        )
        if not conditional:
            return Item(self.line, (), self.outcome(), is_outcome=True)
        conditions = self.range()
        while self.take(r"and\s+"):
            conditions += self.range()
        if self.at < self.end and not self.take(_THEN):
            self.fail("':' or 'and' after the condition (for 'or' write a line of its own)")
        return Item(self.line, tuple(conditions), self.outcome() if self.at < self.end else None)

    def operator(self) -> re.Match[str] | None:
        """Return the next operator outside quotes and brackets, before a colon."""
        at, depth, start = self.at, 0, self.at
        while at < self.end:
            character = self.text[at]
            if (after := after_quote(self.text, at, start)) and after <= self.end:
                at = after
                continue
            if character == ":" and not depth:
                return None
            depth = max(0, depth + (character in _OPEN) - (character in _CLOSE))
            if not depth and character not in _CLOSE:
                kind = _WORD if character.isspace() else _SIGN
                if found := kind.match(self.text, at, self.end):
                    return found
            at += 1
        return None

    def range(self) -> list[TypedCondition]:
        """Read a condition, or two on one feature: 30 < age <= 50."""
        column = self.at
        lower = re.compile(rf"({_NUMBER.pattern})\s*(<=|<|≤)").match(self.text, column, self.end)
        if not lower:
            return [self.condition()]
        bound = LineReader(self.line, column, lower.end(1)).number("a number")
        self.at = lower.end()
        self.skip()
        upper = self.condition()
        if upper.operator not in ("<=", "<"):
            self.fail("an upper bound, as in 30 < age <= 50", upper.column)
        operator = ">" if lower.group(2) == "<" else ">="
        return [replace(upper, operator=operator, bound=bound, column=column), upper]

    def condition(self) -> TypedCondition:
        """Read one condition."""
        column = self.at
        if self.take(r"any\s+"):
            name = self.text_here("a feature", rf"\sand\s|{_THEN}|$")
            return TypedCondition(name, "all", self.line, column, missing=True)
        if nobody := _NOBODY.match(self.text, self.at, self.end):
            name = LineReader(self.line, self.at, nobody.end(1)).text_here("a feature")
            self.at = nobody.end()
            return TypedCondition(name, "none", self.line, column)
        found = self.operator()
        if found is None:
            self.fail("a condition such as age <= 50 or colour in red, blue")
        if found.start() == self.at:
            self.fail("a feature before this")
        inner = LineReader(self.line, self.at, found.start())
        name = inner.text_here("a feature")
        inner.skip()
        if inner.at < inner.end:
            inner.fail("<=, <, >, >=, =, in, not in or is after the feature")
        self.at = found.end()
        self.skip()
        words = " ".join(found.group().lower().split())
        if words in ("=<", "=>"):
            self.fail("<= or >=", found.start())
        operator, missing = _WORDS[words] if words in _WORDS else (_SIGNS[words], None)
        if missing is not None:
            return TypedCondition(name, operator, self.line, column, missing=missing)
        if operator in ("in", "not in"):
            values, missing = self.categories()
            return TypedCondition(name, operator, self.line, column, values=values, missing=missing)
        bound = self.number("a number with a decimal point, such as 30000.5")
        missing = bool(self.take(r"or\s+(is\s+)?missing\b"))
        return TypedCondition(name, operator, self.line, column, bound=bound, missing=missing)

    def number(self, expected: str) -> float:
        """Read a finite number."""
        found = _NUMBER.match(self.text, self.at, self.end)
        if not found or found.end() - found.start() > _MAX_NUMBER:
            self.fail(expected)
        if _GOES_ON.match(self.text, found.end(), self.end) or isinf(float(found.group())):
            self.fail(expected)
        self.at = found.end()
        self.skip()
        return float(found.group())

    def categories(self) -> tuple[tuple[Any, ...], bool]:
        """Read categories: red, blue or missing; brackets around them may stand."""
        opened = self.take(r"[(\[{]")
        close = _CLOSE[_OPEN.index(opened.group().strip())] if opened else ""
        values: dict[Any, None] = {}
        missing = False
        while True:
            if self.take(rf"missing(?=\s*([,)\]}}]|{_THEN}|$)|\s+(or|and)\s)"):
                missing = True
            else:
                at = self.at
                value = self.value(rf"[,{re.escape(close)}]|\s(or|and)\s|(?<=\s)then\s|:|->|→|=>|$")
                if value in values:
                    self.fail("each category once", at)
                values[value] = None
            if not self.take(r",\s*or\s+|,|or\s+"):
                break
        if close and not self.take(re.escape(close)):
            self.fail(f"{quoted(close)} after the categories")
        if close and self.take(r"or\s+(is\s+)?missing\b"):
            missing = True
        if not values:
            self.fail("a category; write 'is missing' for missing values alone")
        return tuple(values), missing

    def values(self, texts: bool = False) -> tuple[Any, ...]:
        """Read a list to the end of the line: no, yes."""
        out: dict[Any, None] = {}
        while True:
            at = self.at
            value = self.text_here("a name", r",|$") if texts else self.value(r",|$")
            if value in out:
                self.fail("each of them once", at)
            out[value] = None
            if not self.take(r","):
                break
        if self.at < self.end:
            self.fail("a comma or the end of the line")
        return tuple(out)

    def value(self, end: str) -> Any:
        """Read a class or category: quoted text, a number, true or false, else text."""
        if self.at < self.end and (after := after_quote(self.text, self.at, self.at)):
            return self.quoted(after)
        return _plain(self.unquoted("a name or a number", end))

    def text_here(self, expected: str, end: str = r"$") -> str:
        """Read text, quoted or not."""
        if self.at < self.end and (after := after_quote(self.text, self.at, self.at)):
            return self.quoted(after)
        return self.unquoted(expected, end)

    def quoted(self, after: int) -> str:
        """Read text in quotes that end at a place."""
        text = self.text[self.at : after]
        if after > self.end:
            self.fail("a closing quote")
        if text[0] == '"':
            try:
                found = str(parse_json(text))
            except TreeFormatError:
                self.fail(r"text with escapes as JSON has them, such as \" and \\")
        else:
            found = text[1:-1]
        self.at = after
        self.skip()
        return found

    def unquoted(self, expected: str, end: str) -> str:
        """Read text up to a pattern."""
        stop = re.compile(end, re.I).search(self.text, self.at, self.end)
        last = stop.start() if stop else self.end
        text = self.text[self.at : last].strip()
        if not text or text[0] in "\"'":
            self.fail(f"{expected}; if it is unusual, in quotes" if text else expected)
        self.at = last
        self.skip()
        return text

    def decision(self) -> tuple[Any, float]:
        """Read from which share on a class is decided: yes from 20 %."""
        value = self.value(r"\sfrom\s|$")
        if not self.take(r"from\s+(a\s+share\s+of\s+)?"):
            self.fail("a class and from which share on, such as: yes from 20 %")
        share = self.share()
        self.take(r"on\b")
        if self.at < self.end:
            self.fail("the end of the line")
        return value, share

    def share(self) -> float:
        """Read 20 %, or 0.2."""
        at = self.at
        number = self.number("a share such as 20 % or 0.2")
        share = number / 100 if self.take("%") else number
        if not 0 <= share <= 1:
            self.fail("a share from 0 to 1, or from 0 % to 100 %", at)
        return share

    # -- outcomes ----------------------------------------------------------------------

    def outcome(self) -> Outcome:
        """Read what a leaf says."""
        column = self.at
        if self.take(r"truncated\s+branch"):
            self.fail("a whole tree; export it without a limit on its depth", column)
        if self.take(r"value\s*:"):
            opened = self.take(r"\[")
            number = self.number("a response, one number")
            if opened and not self.take(r"\]"):
                self.fail("']' after one number")
            return self.ended(Outcome(self.line, column, number, is_value=True))
        weights: list[float] = []
        if self.take(r"weights\s*:\s*\["):
            while True:
                weights.append(self.number("a weight"))
                if not self.take(","):
                    break
            if not self.take(r"\]"):
                self.fail("']' after the weights")
        if self.take(r"class\s*:"):
            label = self.value(r"$")
            total = sum(weights)
            if weights and not (total > 0 and min(weights) >= 0):
                self.fail("weights above 0", column)
            shares = tuple(w / total for w in weights)
            rows = total if weights else None
            return self.ended(Outcome(self.line, column, label, shares, rows, is_class=True))
        if weights:
            self.fail("class: after the weights")
        label, share = self.label()
        if share is None:
            shares_here, rows = self.details(label)
            return self.ended(Outcome(self.line, column, label, shares_here, rows))
        listed = {label: share}
        while self.take(r",|;"):
            at = self.at
            label, share = self.label()
            if share is None or label in listed:
                self.fail("another class and its share, such as yes 20 %", at)
            listed[label] = share
        rows = self.details(None)[1]
        return self.ended(Outcome(self.line, column, None, listed, rows, is_class=True))

    def ended(self, outcome: Outcome) -> Outcome:
        """Return an outcome that the line ends with."""
        if self.at < self.end:
            if self.text[self.at] == ":":
                self.fail(
                    "a condition such as age <= 50 or has_car = true before ':'"
                    if outcome.column == self.line.start
                    else "an outcome (further conditions stand on lines of their own)",
                    outcome.column,
                )
            self.fail("the end of the line after an outcome")
        return outcome

    def label(self) -> tuple[Any, float | None]:
        """Read a class, and its share if a number with a per cent sign stands beside it."""
        share = self.share() if self.starts_with_share() else None
        at = self.at
        if self.at < self.end and (after := after_quote(self.text, self.at, self.at)):
            value: Any = self.quoted(after)
        else:
            text = self.unquoted("an outcome", rf"[,;:(]|\s{_NUMBER.pattern}\s*%|$")
            if re.search(r"[%=<>]", text):
                self.fail("an outcome such as no, or no (80 %); if it is unusual, in quotes", at)
            value = _plain(text)
        if share is None and self.starts_with_share():
            share = self.share()
        return value, share

    def details(self, label: Any) -> tuple[dict[Any, float], float | None]:
        """Read what stands in brackets after an outcome: shares and rows, in any order."""
        shares: dict[Any, float] = {}
        rows: float | None = None
        if not self.take(r"\("):
            return shares, rows
        close = self.text.rfind(")", self.at, self.end)
        if close < 0:
            self.fail("')' after what is said of the outcome")
        at = self.at
        for piece in _outside_quotes(self.text, at, close):
            inner = LineReader(self.line, *piece)
            found_rows = inner.rows()
            if found_rows is not None or inner.take(r"observed\s.*$"):
                rows = found_rows
                continue
            inner.take(r"predicts\s+")
            if inner.take(r"[<>]\s*(?=[\d.])") or inner.starts_with_share():
                of, share = label, inner.share()
            else:
                of = inner.value(rf"\s[<>]?\s*{_NUMBER.pattern}\s*%?\s*$")
                inner.take(r"[<>]\s*(?=[\d.])")
                share = inner.share()
            if inner.at < inner.end:
                inner.fail("a share or a number of rows")
            if of in shares:
                inner.fail("one share for each class", piece[0])
            shares[of] = share
        self.at = close + 1
        self.skip()
        return shares, rows

    def starts_with_share(self) -> bool:
        """Whether a number with a per cent sign comes next."""
        return bool(re.compile(rf"{_NUMBER.pattern}\s*%").match(self.text, self.at, self.end))

    def rows(self) -> float | None:
        """Read "40 rows", "observed 12 of 43", "observed 11.9 in 43 rows", if that comes."""
        count = r"(\d{1,3}(?:,\d{3})+|\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)"
        found = self.take(rf"(?:observed\s+)?{count}\s+rows?\s*$") or self.take(
            rf"observed\s+\S+\s+(?:of|in)\s+{count}(?:\s+rows?)?\s*$"
        )
        return float(found.group(1)[:_MAX_NUMBER].replace(",", "")) if found else None


def after_quote(text: str, at: int, start: int) -> int | None:
    """Return where quoted text that begins here ends; None if it does not, or has no end.

    An apostrophe within a word is no quote.
    """
    quote = text[at]
    if quote not in "\"'" or (at > start and not (text[at - 1].isspace() or text[at - 1] in _FREE)):
        return None
    at += 1
    while at < len(text):
        if text[at] == quote:
            return at + 1
        at += 2 if text[at] == "\\" and quote == '"' else 1
    return None


def _outside_quotes(text: str, at: int, end: int) -> Iterator[tuple[int, int]]:
    """Go through the pieces between commas or semicolons, none within quotes or a number."""
    start = at
    while at < end:
        if after := after_quote(text, at, start):
            at = after
        elif _PIECES.match(text, at, end):
            yield start, at
            start = at = at + 1
        else:
            at += 1
    yield start, end


def _plain(text: str) -> Any:
    """Return unquoted text as a number or a boolean where it reads as one."""
    if len(text) <= _MAX_NUMBER:
        if _WHOLE.fullmatch(text):
            return int(text)
        if _DECIMAL.fullmatch(text):
            return float(text)
    return {"true": True, "false": False}.get(text.lower(), text)
