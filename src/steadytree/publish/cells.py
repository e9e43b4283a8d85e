"""Numbers about people, each with what it is: so that one function can round them all.

A summary says "12 of 43 (28 %)" in a hundred places. Were it only words, nobody could tell later
which of them count people. So every such number is a cell, a small dictionary whose first key
names its kind, with its words on a page beside it. Whoever has the data reads these;
:func:`publish` makes other cells, and other words, for others: none of 1 to 4 people follows from
them.

Counts are rounded to the nearest 5, as statistical offices do. That alone gives people away: of
four groups of 5 and a total of 10, all rounded, each has 3 people, because nothing else fits. So
what would read 0 or 5 reads "< 8", and a number below 8 can always be another one.

The kinds: ``count`` (people, of how many), ``risk`` (a predicted share), ``mean`` (of a response),
``score`` (AUC, R²), ``change`` (of a score), ``measure`` (of decisions or predictions) and
``group`` (the name of a group of people).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

from steadytree.tree.words import PAGE, WordStyle

Cell = dict[str, Any]

SUMMARY = {"schema": "steadytree-summary", "version": 1}
"""Opens every summary; ``summary.schema.json`` in this package is the schema of all kinds."""

_NONE = "–"
_INTERVAL = re.compile(r"[(\[](?P<low>[^,]+), (?P<high>[^\])]+)[\])]")

BASE = 5
"""Counts of people are rounded to multiples of this."""
SMALL = 8
"""A smaller count is masked: it would be rounded to 0 or 5."""
FEWEST = 20
"""Of fewer people every part is masked, and every share, mean and score."""

_STEPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5)
ROUNDING = 1e-9


def base_rounded(count: float) -> int:
    """Round a count to the nearest 5."""
    return BASE * math.floor(count / BASE + 0.5)


def share_step(people: float | None) -> float:
    """Smallest step of shares that stands for 5 people or more; 1 % where there are no people."""
    if people is None:
        return _STEPS[0]
    return next((step for step in _STEPS if step * people >= BASE - ROUNDING), _STEPS[-1])


def significant(value: float, digits: int) -> float:
    """Round to so many significant digits."""
    return float(f"{value:.{digits}g}")


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


def without_ends(names: list[str]) -> list[str]:
    """Leave out the outer ends of quantile groups, which are single people's values."""
    found = [_INTERVAL.fullmatch(name) for name in names if name != "(missing)"]
    if len(found) < 2 or not all(found):
        return names
    ends = [(match["low"], match["high"]) for match in found if match is not None]
    out = [f"over {low} to {high}" for low, high in ends]
    out[0], out[-1] = f"up to {ends[0][1]}", f"over {ends[-1][0]}"
    return out + (["(missing)"] if len(found) < len(names) else [])


def _known(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)


# -- words -----------------------------------------------------------------------------


def cell_words(cell: Cell, style: WordStyle = PAGE) -> str:
    """Write a cell, exact or published."""
    return _KINDS[next(iter(cell))][0](cell, style)


def people_words(cell: Cell, form: str, style: WordStyle = PAGE) -> str:
    """Write a count of people in another form than its own."""
    return cell_words({**cell, "form": form}, style)


def _end(cell: Cell) -> tuple[str, float] | None:
    """Sign and value of a number that is only said to be below or above another one."""
    for sign, key in (("<", "below"), (">", "above")):
        if key in cell:
            return sign, cell[key]
    return None


def _people_words(cell: Cell, style: WordStyle) -> str:
    whole, form = cell["of"], cell["form"]
    sign, shown = _end(cell) or ("", cell["count"])
    lead = f"{sign}{style.gap}" if sign else ""
    part = _NONE if shown is None else f"{lead}{shown:,}"
    if form == "count" or (whole is None and "of_below" not in cell):
        return part
    share = lead + style.percent(shown / whole) if whole and shown is not None else _NONE
    if form == "share":
        return share
    if form == "rows":
        return f"{part} ({share})" if share != _NONE else part
    all_of_them = f"<{style.gap}{cell['of_below']:,}" if whole is None else f"{whole:,}"
    out = f"{part} of {all_of_them}"
    return f"{out} ({share})" if form == "both" and share != _NONE else out


def _risk_words(cell: Cell, style: WordStyle) -> str:
    digits = 0 if cell["risk"] == cell["rounded"] and "published" in cell else 1
    return style.percent(cell["risk"], digits)


def _mean_words(cell: Cell, style: WordStyle) -> str:
    if cell["mean"] is None:
        return _NONE
    if cell["of"] is None:
        return style.number(cell["mean"])
    words = style.significant(cell["mean"], 4)
    rows = f"{cell['of']:,} row{'' if cell['of'] == 1 else 's'}"
    return words if "published" in cell else f"{words} in {rows}"


def _score_words(cell: Cell, style: WordStyle) -> str:
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
    if (end := _end(cell)) is not None:
        return f"{end[0]}{style.gap}{style.percent(end[1])}"
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


def _group_words(cell: Cell, style: WordStyle) -> str:
    return str(cell["group"])


# -- for others ------------------------------------------------------------------------

EDIT_OF_RARE = "An edit that names a rare category"
# Numbers that count no people, but know the extremes of the data by all their digits.
_DISTANCES = ("dissimilarity", "distance")
# What is for whoever has the data alone: it may quote them, or cut the same people finer.
_INTERNAL = frozenset(
    {
        *("notes", "settings", "clauses", "drift", "one_decision", "why"),
        *("mean_value_shift", "share", "predictions", "candidate_trees", "tree"),
        *("sensitivity", "specificity", "brier", "cost"),
    }
)


def publish(summary: Mapping[str, Any], rare: Collection[str] = ()) -> dict[str, Any]:
    """Return a summary that may be passed on: same schema, every number about people rounded.

    Rules are taken as they are: ``to_dict(publish=True)`` of a result takes names of rare
    categories out of them first, and calls this.

    Parameters
    ----------
    summary : mapping
        What ``to_dict()`` of a result returns.
    rare : collection of str
        Names of rare categories; an edit that has one of them in its words is masked.

    Returns
    -------
    dict

    Examples
    --------
    >>> from steadytree.publish import publish
    >>> from steadytree.publish.cells import people
    >>> shown = publish({"flips": people(12, 43), "notes": ["12 rows"]})
    >>> shown["flips"]["count"], shown["flips"]["of"], shown["notes"]
    (10, 45, [])
    """
    kind = next(iter(summary), "")
    if kind in _KINDS and "words" in summary:
        cell = dict(summary)
        return (
            cell
            if "published" in cell
            else with_words({**_KINDS[kind][1](cell), "published": True})
        )
    out = {name: _published(entry, rare, name) for name, entry in summary.items()}
    return {**out, "published": True} if "published" in summary else out


def _published(value: Any, rare: Collection[str], key: str) -> Any:
    if key in _INTERNAL:
        return type(value)() if isinstance(value, (str, list, dict)) else None
    if isinstance(value, Mapping):
        return publish(value, rare)
    if isinstance(value, (list, tuple)):
        return [_published(entry, rare, "edit" if key == "edits" else "") for entry in value]
    if key == "edit" and any(name in value for name in rare):
        return EDIT_OF_RARE
    return round(value, 2) if key in _DISTANCES and isinstance(value, float) else value


def _people(cell: Cell) -> Cell:
    count, of = cell["count"], cell["of"]
    out = {"count": None, "of": None if of is None else base_rounded(of), "form": cell["form"]}
    if of is not None and of < FEWEST:
        return out if of >= SMALL else {**out, "of": None, "of_below": SMALL}
    if count < SMALL:
        return {**out, "below": SMALL}
    if of is not None and of - count < SMALL:
        return {**out, "above": out["of"] - SMALL}
    return {**out, "count": base_rounded(count)}


def _risk(cell: Cell) -> Cell:
    return {"risk": cell["rounded"], "rounded": cell["rounded"]}


def _mean(cell: Cell) -> Cell:
    value, of = cell["mean"], cell["of"]
    if of is None:
        return {"mean": cell["rounded"], "rounded": cell["rounded"], "of": None}
    known = of >= FEWEST and value is not None
    return {"mean": significant(value, 3) if known else None, "rounded": None, "of": 0}


def _score(cell: Cell) -> Cell:
    nothing = {"score": None, "error": None, "of": None}
    if cell["score"] is None or (cell["of"] is not None and cell["of"] < FEWEST):
        return nothing
    error = None if cell["error"] is None else _up(cell["error"])
    return {"score": round(cell["score"], 2), "error": error, "of": None}


def _change(cell: Cell) -> Cell:
    nothing = {
        **dict.fromkeys(("change", "low", "high", "of")),
        "digits": 2,
        "level": cell["level"],
    }
    if cell["change"] is None or (cell["of"] is not None and cell["of"] < FEWEST):
        return nothing
    return {**nothing, "change": round(cell["change"], 2), **_outwards(cell)}


def _measure(cell: Cell) -> Cell:
    value, of, kind = cell["measure"], cell["of"], cell["kind"]
    nothing = {"measure": None, "low": None, "high": None}
    out = {**nothing, "kind": kind, "of": 0}
    out |= {flag: cell[flag] for flag in ("is_change", "is_score")}
    if value is None or of < FEWEST:
        return out
    if cell["is_score"]:
        return {**out, "measure": round(value, 2), **_outwards(cell)}
    if cell["is_change"]:
        # An interval of a change counts those who changed; the difference is there to read.
        return out
    if kind == "share":
        part = _people({"count": round(value * of), "of": of, "form": "share"})
        for end in ("below", "above"):
            if end in part:
                return {**out, end: round(part[end] / part["of"], 4)}
        return {**out, "measure": round(part["count"] / part["of"], 2)}
    if kind == "plain":
        return {**out, "measure": significant(value, 2)}
    step = share_step(of)
    return {**out, "measure": round(round(value / step) * step, 4)}


def _outwards(cell: Cell) -> Cell:
    """Round the ends of an interval outwards to two decimals."""
    low, high = cell["low"], cell["high"]
    return {
        "low": None if low is None else -_up(-low),
        "high": None if high is None else _up(high),
    }


def _up(value: float) -> float:
    return math.ceil(value * 100 - 1e-9) / 100


def _group(cell: Cell) -> Cell:
    name = cell["rounded"] if cell["of"] >= FEWEST else "a small group"
    return {"group": name, "rounded": name, "of": 0}


_KINDS: dict[str, tuple[Callable[[Cell, WordStyle], str], Callable[[Cell], Cell]]] = {
    "measure": (_measure_words, _measure),
    "count": (_people_words, _people),
    "risk": (_risk_words, _risk),
    "mean": (_mean_words, _mean),
    "score": (_score_words, _score),
    "change": (_change_words, _change),
    "group": (_group_words, _group),
}
"""Of each kind of cell: its words, and the cell that others see instead."""
