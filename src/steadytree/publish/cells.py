"""Numbers about people, each with what it is: so that one function can round them all.

A report says "12 of 43 (28 %)" in a hundred places. Were it only words, nobody could tell later
which of them count people. So every such number is a cell, a small dictionary whose first key
names its kind, with its words beside it; sentences are made of text and cells. Whoever has the
data reads the words; :mod:`steadytree.publish` makes other cells, and other words, for others.

The kinds: ``count`` (people, of how many), ``risk`` (a predicted share), ``mean`` (of a response),
``score`` (AUC, R²), ``change`` (of a score), ``measure`` (of decisions or predictions), ``group``
(the name of a group of people), ``apart`` (a dissimilarity), ``edit`` (a change of a rule, which
may name categories) and ``internal`` (words for whoever has the data alone).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from steadytree.tree.words import PAGE, PLAIN, WordStyle

Cell = dict[str, Any]

_NONE = "–"


def with_words(cell: Cell) -> Cell:
    """Return a cell with its words on a page."""
    return {**cell, "words": cell_words(cell, PAGE)}


def people(count: float, of: float | None = None, form: str = "both") -> Cell:
    """Count people, of so many; ``form`` says how it reads.

    "both": 12 of 43 (28 %); "of": 12 of 43; "share": 28 %; "rows": 12 (28 %); "count": 12.
    """
    total = None if of is None else round(of)
    return with_words({"count": round(count), "of": total, "form": form})


def risk(share: float, rounded: float) -> Cell:
    """Give a predicted share, and what it is rounded to when it is published."""
    return with_words({"risk": float(share), "rounded": float(rounded)})


def mean(value: float, rounded: float | None = None, of: float | None = None) -> Cell:
    """Give a mean response: one predicted, with its rounded form, or one observed ``of`` people."""
    total = None if of is None else round(of)
    return with_words({"mean": float(value), "rounded": rounded, "of": total})


def score(value: float | None, of: float | None, error: float | None = None) -> Cell:
    """Give a score with its standard error; ``of`` is the size of the smallest class behind it."""
    return with_words({"score": _known(value), "error": _known(error), "of": _whole(of)})


def change(
    value: float,
    low: float,
    high: float,
    of: float | None,
    digits: int = 3,
    level: float = 0.95,
) -> Cell:
    """Give the change of a score with its interval."""
    ends = {"low": _known(low), "high": _known(high), "level": level}
    return with_words({"change": _known(value), **ends, "of": _whole(of), "digits": digits})


def dissimilarity(share: float) -> Cell:
    """Give how far apart two trees are, which knows the ranges of the data by its digits."""
    return with_words({"apart": float(share)})


def measure(
    value: float,
    low: float,
    high: float,
    *,
    kind: str,
    of: float,
    change: bool = False,
    score: bool = False,
) -> Cell:
    """Give a measure with its interval.

    ``kind`` is "share", "signed share", "number" or "plain"; ``score``: it ranks people, and
    ``of`` is the size of the smallest class.
    """
    numbers = {"measure": _known(value), "low": _known(low), "high": _known(high)}
    flags = {"is_change": change, "is_score": score}
    return with_words({**numbers, "kind": kind, "of": round(of), **flags})


def group(name: str, rounded: str, of: int) -> Cell:
    """Name a group of people; ``rounded`` is its name without the values of single people."""
    return with_words({"group": name, "rounded": rounded, "of": of})


def edit(words: str) -> Cell:
    """Write a change of a rule, which may name categories."""
    return with_words({"edit": words})


def internal(words: str) -> Cell:
    """Write what is for whoever has the data alone."""
    return with_words({"internal": words})


def _known(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)


# -- sentences -------------------------------------------------------------------------


class Text(str):
    """A text that knows its cells; as a string it reads as for whoever has the data.

    Attributes
    ----------
    parts : tuple of str and Cell
    """

    parts: tuple[str | Cell, ...]


def text(*parts: str | Text | Cell) -> Text:
    """Join strings, texts and cells."""
    flat: list[str | Cell] = []
    for part in parts:
        flat += part.parts if isinstance(part, Text) else [part]
    out = Text(parts_words(flat, PLAIN))
    out.parts = tuple(part for part in flat if part != "")
    return out


def parts_words(parts: Iterable[str | Cell], style: WordStyle = PAGE) -> str:
    """Write the parts of a text."""
    return "".join(
        part
        if isinstance(part, str)
        else str(part["words"])
        if style is PAGE
        else cell_words(part, style)
        for part in parts
    )


# -- words -----------------------------------------------------------------------------


def cell_words(cell: Cell, style: WordStyle = PAGE) -> str:
    """Write a cell, exact or published."""
    if "count" in cell:
        return _people_words(cell, style)
    if "risk" in cell:
        digits = 0 if cell["risk"] == cell["rounded"] and "published" in cell else 1
        return style.percent(cell["risk"], digits)
    if "mean" in cell:
        return _mean_words(cell, style)
    if "score" in cell:
        return _score_words(cell)
    if "change" in cell:
        return _change_words(cell, style)
    if "measure" in cell:
        return _measure_words(cell, style)
    if "group" in cell:
        return str(cell["group"])
    if "apart" in cell:
        return style.percent(cell["apart"], 0 if "published" in cell else None)
    return str(cell["edit"] if "edit" in cell else cell["internal"])


def _people_words(cell: Cell, style: WordStyle) -> str:
    whole = _whole_words(cell, style)
    part, share = _part_words(cell, style), _share_words(cell, style)
    form = cell["form"]
    if form == "count" or (cell["of"] is None and "of_below" not in cell):
        return part
    if form == "share":
        return share
    if form == "rows":
        return f"{part} ({share})" if share != _NONE else part
    out = f"{part} of {whole}"
    return f"{out} ({share})" if form == "both" and share != _NONE else out


def _whole_words(cell: Cell, style: WordStyle) -> str:
    if "of_below" in cell:
        return f"<{style.gap}{cell['of_below']:,}"
    return _NONE if cell["of"] is None else f"{cell['of']:,}"


def _part_words(cell: Cell, style: WordStyle) -> str:
    for sign, key in (("<", "below"), (">", "above")):
        if key in cell:
            return f"{sign}{style.gap}{cell[key]:,}"
    return _NONE if cell["count"] is None else f"{cell['count']:,}"


def _share_words(cell: Cell, style: WordStyle) -> str:
    whole = cell["of"]
    if not whole:
        return _NONE
    for sign, key in (("<", "below"), (">", "above")):
        if key in cell:
            return f"{sign}{style.gap}{style.percent(cell[key] / whole)}"
    return style.percent(None if cell["count"] is None else cell["count"] / whole)


def _mean_words(cell: Cell, style: WordStyle) -> str:
    if cell["mean"] is None:
        return _NONE
    if cell["of"] is None:
        return style.number(cell["mean"])
    words = style.significant(cell["mean"], 4)
    return words if "published" in cell else f"{words} in {cell['of']:,} row{_s(cell['of'])}"


def _s(count: int) -> str:
    return "" if count == 1 else "s"


def _score_words(cell: Cell) -> str:
    digits = 2 if "published" in cell else 3
    if cell["score"] is None:
        return _NONE
    error = "" if cell["error"] is None else f" ± {cell['error']:.{digits}f}"
    return f"{cell['score']:.{digits}f}{error}"


def _change_words(cell: Cell, style: WordStyle) -> str:
    digits = 2 if "published" in cell else cell["digits"]
    if cell["change"] is None:
        return "not shown"

    def signed(value: float) -> str:
        # What rounds to nothing has no sign.
        return f"{0:.{digits}f}" if round(value, digits) == 0 else style.signed(value, digits)

    out = signed(cell["change"])
    if cell["low"] is None or cell["high"] is None:
        return out
    level, ends = style.percent(cell["level"], 0), (signed(cell["low"]), signed(cell["high"]))
    return f"{out}, {level} interval {' to '.join(ends)}"


def _measure_words(cell: Cell, style: WordStyle) -> str:
    """Value of a measure with its interval; a dash where it is unknown."""
    kind, is_change = cell["kind"], cell["is_change"]
    for sign, key in (("<", "below"), (">", "above")):
        if key in cell:
            return f"{sign}{style.gap}{style.percent(cell[key])}"
    if cell["measure"] is None:
        return _NONE
    share, percent = kind in ("share", "signed share"), f"{style.gap}%"
    published = "published" in cell
    decimals = (0, 2) if published else (1, 3)

    def write(v: float) -> str:
        if kind == "plain":
            return style.significant(v, 2 if published else 4)
        if kind == "share" and not is_change:
            return style.percent(v, decimals[0]).removesuffix(percent)
        form = style.signed if is_change or kind == "signed share" else style.fixed
        return form(100 * v, decimals[0]) if share else form(v, decimals[1])

    unit = "" if not share else " points" if is_change else percent
    ends = (cell["low"], cell["high"])
    limits = "" if None in ends else f" ({' to '.join(map(write, ends))})"
    return f"{write(cell['measure'])}{unit}{limits}"
