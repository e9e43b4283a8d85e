"""The questions of a tree as spreadsheet formulas that decide as the tree does.

A spreadsheet is a trap for thresholds. Excel reads 15 digits of a number in a formula, and compares
numbers by their first 15 digits; LibreOffice takes numbers for equal that differ in the last
digits, and rounds sums near zero. Text is compared without case, text is more than any number,
and an empty cell is zero. So here:

- x <= t is asked twice, as ``GESTEP(t,x)`` and as ``SUM(x,-t)<=0``, and both must agree. Neither
  ever denies it wrongly; a wrong yes to a number next to t is left only where both give it. In
  LibreOffice the first tells all doubles apart. In Excel the second does, as it adds in doubles
  and rounds no sum to zero;
- a threshold of more than 15 digits is written as the sum of two numbers, or stands in a cell;
- ``x*1`` makes text that is no number an error instead of a large number;
- text is compared by ``EXACT``, and an empty cell is asked for before anything else.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from decimal import ROUND_CEILING, Context, Decimal
from typing import Any

from steadytree.formats.split_tests import SplitTest, split_test
from steadytree.plugins import InputError, Tree

MOST_CHARACTERS = 8192
"""Of a formula in Excel."""
MOST_LEVELS = 64
"""Of functions within functions in Excel."""
TEXT_CHARACTERS = 255
"""Of a text within a formula in Excel; longer ones are joined from parts."""
CELL_CHARACTERS = 32_767
"""Of a text in a cell."""
QUESTION_LEVELS = 5  # functions within one question
ARGUMENTS = 200  # of one OR; Excel takes 255
SMALLEST = 2.0**-1022  # spreadsheets know no smaller number but zero
# Between these, a difference of two numbers neither vanishes nor overflows.
NEAR_ZERO, HUGE = 1e-290, 1e290
MOST_WHOLE = 2**53
# Files hold these characters as _x000D_; whoever reads them does not agree on what they mean.
_UNSAFE = re.compile(r"_x[0-9A-Fa-f]{4}_|[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff\ufffe\uffff]")


# -- literals --------------------------------------------------------------------------


def text_literal(text: str) -> str:
    """Return text as a formula writes it."""
    parts = [text[i : i + TEXT_CHARACTERS] for i in range(0, len(text), TEXT_CHARACTERS)] or [""]
    return "&".join('"' + part.replace('"', '""') + '"' for part in parts)


def number_literal(value: float) -> str:
    """Return a number with the 15 digits that Excel reads."""
    return f"{float(value):.15G}"


def value_literal(value: Any) -> str:
    """Return a class or a category as a formula writes it."""
    if isinstance(value, bool):
        return str(value).upper()
    return text_literal(value) if isinstance(value, str) else number_literal(value)


def number_parts(value: float) -> tuple[float, ...]:
    """Return one or two numbers of at most 15 digits whose sum, in doubles, is the value.

    The second is rounded up, by far less than the step to the next double. So x minus both is
    not above zero for x at the value, and above zero for the double next to it.
    """
    first = float(number_literal(value))
    if first == value:
        return (first,)
    rest = Context(prec=6, rounding=ROUND_CEILING).create_decimal(Decimal(value - first))
    return first, float(rest)


def check_constant(value: Any, what: str) -> None:
    """Refuse a class or category that a cell does not hold as it is."""
    if isinstance(value, str):
        if _UNSAFE.search(value) or len(value) > CELL_CHARACTERS:
            raise InputError(
                f"expected {what} that a cell can hold, got {value[:40]!r}; rename it to text "
                f"without control characters and of at most {CELL_CHARACTERS:,} characters"
            )
    elif not isinstance(value, (bool, int, float)):
        raise InputError(
            f"expected {what} that are text, numbers or booleans, got {value!r}; make it text"
        )
    elif not math.isfinite(value) or (isinstance(value, int) and abs(value) > MOST_WHOLE):
        raise InputError(f"expected {what} that a cell can hold, got {value!r}; make it text")


# -- questions -------------------------------------------------------------------------


class Terms:
    """What a question is made of: cells and constants, everything in one formula."""

    def __init__(self, tree: Tree, cells: dict[int, str]) -> None:
        self.tree = tree
        self.cells = cells

    def constant(self, value: float, *, of_category: bool = False) -> tuple[str, str]:
        """Return the number itself."""
        parts = number_parts(value)
        if of_category and len(parts) > 1:
            raise InputError(
                f"expected categories of at most 15 digits in a formula, got {value!r}; write a "
                "workbook (path='tree.xlsx'), or make the categories text"
            )
        at = "".join(f"{part:+.15G}" for part in parts).removeprefix("+")
        return at, ",".join(number_literal(-part) for part in parts)

    def among_texts(self, cell: str, texts: Sequence[str]) -> str:
        """Compare with one text after the other."""
        asked = [f"EXACT({cell},{text_literal(text)})" for text in texts]
        parts = [any_of(asked[i : i + ARGUMENTS]) for i in range(0, len(asked), ARGUMENTS)]
        return any_of(parts)

    def put_aside(self, formula: str) -> str | None:
        """Return None: there is no other cell."""
        return None

    def question(self, node: int) -> str:
        """Return whether the row goes left at a split."""
        split = split_test(self.tree, node)
        cell = self.cells[split.feature]
        # An empty text is missing, unless it is a category: then only a blank cell is.
        empty = "" in (self.tree.categories[split.feature] or ())
        missing = f"ISBLANK({cell})" if empty else f'{cell}=""'
        present = self._present(split, cell)
        return f"IF({missing},{str(split.missing_left).upper()},{present})"

    def _present(self, split: SplitTest, cell: str) -> str:
        if split.threshold is not None:
            return self._at_most(cell, split.threshold)
        values, means_left = split.listed
        for value in values:
            check_constant(value, f"categories of {split.name!r}")
        texts = [v for v in values if isinstance(v, str)]
        numbers = [float(v) for v in values if not isinstance(v, str)]
        of_texts = self.among_texts(cell, texts) if texts else "FALSE"
        among = f"IF(ISTEXT({cell}),{of_texts},{self._among_numbers(cell, numbers)})"
        return among if means_left else f"NOT({among})"

    def _at_most(self, cell: str, threshold: float) -> str:
        if math.isinf(threshold):  # asked all the same: text is an error
            return f"ABS({cell}*1)>=0" if threshold > 0 else f"ABS({cell}*1)<0"
        if abs(threshold) < SMALLEST:
            return f"{cell}*1<=0" if threshold >= 0 else f"{cell}*1<0"
        if abs(threshold) < NEAR_ZERO:
            raise InputError(
                f"expected thresholds that a spreadsheet can tell from zero, got {threshold!r}; "
                "measure the feature in another unit"
            )
        at, minus = self.constant(threshold)
        difference = f"SUM({cell}*1,{minus})"
        if abs(threshold) > HUGE:
            difference = f"SUM({cell}/4,-({at})/4)"
        return f"GESTEP({at},{cell}*1)*({difference}<=0)=1"

    def _among_numbers(self, cell: str, numbers: Sequence[float]) -> str:
        asked = []
        for number in numbers:
            at, minus = self.constant(number, of_category=True)
            asked.append(f"DELTA({at},{cell}*1)*(SUM({cell}*1,{minus})=0)=1")
        parts = [any_of(asked[i : i + ARGUMENTS]) for i in range(0, len(asked), ARGUMENTS)]
        if len(parts) > 1:
            parts = [self.put_aside(part) or part for part in parts]
        return any_of(parts)


def any_of(asked: Sequence[str]) -> str:
    """Ask whether any of several questions is answered with yes."""
    return f"OR({','.join(asked)})" if len(asked) > 1 else asked[0] if asked else "FALSE"


# -- the whole tree --------------------------------------------------------------------


def decide(tree: Tree, terms: Terms, outcome: Callable[[int], str], *, most: int) -> str:
    """Return the tree as nested IFs, each leaf as ``outcome`` writes it.

    Parts are put aside before a formula has more than ``most`` characters or too many levels.
    """
    levels = MOST_LEVELS - QUESTION_LEVELS - 2  # two for what the caller puts around
    below: dict[int, tuple[str, int]] = {}
    for node in reversed(tree.preorder.tolist()):
        if tree.is_leaf[node]:
            below[node] = outcome(node), 0
            continue
        question = terms.question(node)
        sides = [below.pop(int(c[node])) for c in (tree.children_left, tree.children_right)]
        if sides[0] == sides[1]:
            below[node] = sides[0]
            continue
        # The longer side first, the other where that is not enough.
        for k in sorted((0, 1), key=lambda k: (sides[k][1] >= levels, len(sides[k][0])))[::-1]:
            length = len(question) + sum(len(text) for text, _ in sides)
            if length > most or max(depth for _, depth in sides) >= levels:
                aside = terms.put_aside(sides[k][0])
                sides[k] = sides[k] if aside is None else (aside, 0)
        depth = 1 + max(depth for _, depth in sides)
        below[node] = f"IF({question},{sides[0][0]},{sides[1][0]})", depth
    text, depth = below[0]
    if len(text) > MOST_CHARACTERS - 100 or depth > levels + 1:
        raise InputError(
            f"expected a tree that fits one formula of {MOST_CHARACTERS:,} characters and "
            f"{MOST_LEVELS} levels, got {len(text):,} characters and {depth + QUESTION_LEVELS} "
            "levels; write a workbook, which divides it: path='tree.xlsx'"
        )
    return text
