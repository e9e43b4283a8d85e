"""Tables of changed decisions and of performance as they may be shown, by subgroup.

Measures of one group of people share their counts: with the specificity, its number of people
and the accuracy, a sensitivity that is hidden is known. So it is asked once per group whether
any of the counts behind its measures is of too few people; if so, all of them are told as
ranges, or not at all. And groups add up to all: the only group that is told so is known from the
others, so a second one goes with it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from steadytree.core.disclosure import (
    PeopleCount,
    ShareBin,
    few,
    mask_partition,
    share_bin,
    share_step,
    told_share,
)
from steadytree.core.words import PLAIN, WordStyle
from steadytree.evaluation.decision_cells import tell_decisions
from steadytree.evaluation.flips import MOVES

__all__ = [
    "group_names",
    "tell_flips",
    "tell_moves",
    "tell_performance",
    "tell_test",
    "told_words",
]

_INTERVAL = re.compile(r"[(\[](?P<low>[^,]+), (?P<high>[^\])]+)[\])]")
# Of measures that rest on the same counts, those that are told as ranges.
_RANGES = ("sensitivity", "specificity")
# Means over people of what each leaf predicts: a person more or less must not show.
_BY_LEAF = ("calibration: mean predicted minus observed", "Brier score")
_VALUES = ("deployed", "own", "recipe", "change")
_BOUNDS = tuple(f"{column}_{end}" for column in _VALUES for end in ("low", "high"))


# -- changed decisions -----------------------------------------------------------------


def tell_moves(shares: Mapping[str, float], n_rows: int, min_cell: int) -> dict[str, PeopleCount]:
    """Say how many people's risk moves by more than 5 and by more than 10 points.

    Who moves by 5 to 10 points is counted by the difference: where these are too few, the
    second number is not told.
    """
    counts = {name: round(float(share) * n_rows) for name, share in shares.items()}
    told = {name: PeopleCount.of(count, n_rows, min_cell) for name, count in counts.items()}
    five, ten = MOVES
    if few(counts[five] - counts[ten], min_cell) and not told[ten].masked:
        told[ten] = PeopleCount(None, n_rows, "a number that is not shown")
    return told


def tell_flips(table: pd.DataFrame, min_cell: int) -> pd.DataFrame:
    """Mask a table of :func:`steadytree.evaluation.flips.flip_table` made with ``min_cell=0``.

    What is not told is NaN: ``n`` of small groups, and of the shares those of too few people,
    with others from which the total would tell them. ``masked`` says where something is hidden.
    """
    out = table.copy()
    sizes = [float(n) for n in table["n"]]
    groups = mask_partition(sizes, min_cell)
    hits = {
        name: [round(float(s) * n) for s, n in zip(table[name].fillna(0.0), sizes, strict=True)]
        for name in ("flips", *MOVES)
    }
    hidden = {name: _hidden(hits[name], sizes, groups, min_cell) for name in hits}
    five, ten = MOVES
    between = [some - more for some, more in zip(hits[five], hits[ten], strict=True)]
    if any(few(count, min_cell) for count in between):
        # Who moves by 5 to 10 points is counted by the difference, here or in the other groups.
        hidden[ten] = [True] * len(between)
    out["n"] = out["n"].astype(float).mask(groups)
    for name, flags in hidden.items():
        columns = [name, "low", "high"] if name == "flips" else [name]
        out[columns] = out[columns].mask(np.array(flags)[:, None] & np.ones(len(columns), bool))
    out["masked"] = groups | np.any([hidden[name] for name in hidden], axis=0)
    if min_cell > 1:
        names: list[Any] = group_names(list(table.index), sizes, min_cell)
        out.index = pd.Index(names, name=table.index.name)
    return out


def _hidden(
    hits: list[int], sizes: list[float], groups: NDArray[np.bool_], min_cell: int
) -> list[bool]:
    """Say of which groups it is not told how many people something happens to."""
    small = [
        bool(flag) or few(hit, min_cell) or few(size - hit, min_cell)
        for flag, hit, size in zip(groups, hits, sizes, strict=True)
    ]
    return mask_partition(hits, min_cell, primary=small).tolist() if any(small) else small


def group_names(names: Sequence[Any], sizes: Sequence[float], min_cell: int) -> list[str]:
    """Names of groups as they may be shown: those of too few people may be names of people."""
    shown, small = _without_ends([str(name) for name in names]), 0
    for i, size in enumerate(sizes):
        if few(size, min_cell):
            small += 1
            shown[i] = f"small group {small}"
    return shown


def _without_ends(names: list[str]) -> list[str]:
    """Leave out the outer ends of quantile groups, which are single people's values."""
    found = [_INTERVAL.fullmatch(name) for name in names if name != "(missing)"]
    if len(found) < 2 or not all(found):
        return names
    out = []
    for i, match in enumerate(found):
        assert match is not None
        low, high = match["low"], match["high"]
        if i == 0:
            out.append(f"up to {high}")
        elif i == len(found) - 1:
            out.append(f"over {low}")
        else:
            out.append(f"over {low} to {high}")
    return out + (["(missing)"] if len(found) < len(names) else [])


# -- the final test --------------------------------------------------------------------


def tell_test(table: pd.DataFrame, min_cell: int) -> pd.DataFrame:
    """Mask a table of :func:`steadytree.evaluation.final_test.score_on_test`.

    Scores have three decimals, changed decisions are the middle of a range, and what a mean over
    few people would tell is left out.
    """
    if min_cell <= 1:
        return table
    told = ["n", "score", "score_se", "score_change", "change_low", "change_high", "flips"]
    out, n = table[told].copy(), int(table["n"].iloc[0])
    out[told[1:-1]] = out[told[1:-1]].astype(float).round(3)
    out["flips"] = [told_share(float(share) * n, n, min_cell) for share in table["flips"]]
    return out


# -- performance -----------------------------------------------------------------------


def tell_performance(
    table: pd.DataFrame,
    sizes: Sequence[int],
    cells: Sequence[NDArray[np.intp]] | None,
    min_cell: int,
) -> pd.DataFrame:
    """Mask a table of :func:`steadytree.evaluation.performance.performance_table`.

    Parameters
    ----------
    table : DataFrame
        Made with ``min_cell=0``.
    sizes : sequence of int
        People in each group, in the order of the table.
    cells : sequence of arrays, or None in regression
        For each group :func:`steadytree.evaluation.decision_cells.count_decisions`.
    min_cell : int

    Returns
    -------
    DataFrame
        With a column ``told``: "exact", "range" (``deployed_range`` and ``recipe_range`` hold
        them, the numbers are their middles), or "hidden", where all numbers are NaN.
    """
    out = table.copy()
    out["told"] = "exact"
    for column in ("deployed_range", "recipe_range"):
        out[column] = None
    if min_cell <= 1:
        return out
    numbers = [c for c in (*_VALUES, *_BOUNDS) if c in out]
    out = out.astype({**dict.fromkeys(numbers, float), "n": float})
    groups = list(dict.fromkeys(table.index.get_level_values("group")))
    hidden = mask_partition(list(sizes), min_cell)
    rounded = np.zeros(len(groups), dtype=bool)
    if cells is not None:
        rounded = _rounded_groups(list(cells), min_cell)
    records = []
    for key, row in zip(out.index, out.to_dict("records"), strict=True):
        at = groups.index(key[0])
        mode = "hidden" if hidden[at] else "range" if rounded[at] else "exact"
        n = float(row["n"])
        if n < min_cell:
            mode = "hidden"
        records.append(_told_row(key[1], row, mode, sizes[at], min_cell, whole=len(groups) == 1))
    names = dict(zip(groups, group_names(groups, sizes, min_cell), strict=True))
    index = pd.MultiIndex.from_tuples(
        [(names[group], metric) for group, metric in out.index], names=out.index.names
    )
    return pd.DataFrame(records, index=index, columns=out.columns)


def _rounded_groups(cells: list[NDArray[np.intp]], min_cell: int) -> NDArray[np.bool_]:
    """Find groups whose measures are told as ranges: those with a small count, and company."""
    counts = np.array([c.ravel() for c in cells])
    by_outcome = np.array([c.sum(axis=(1, 2)) for c in cells])
    counts = np.hstack([counts, by_outcome])
    rounded = np.array([not tell_decisions(c, min_cell) for c in cells])
    order = [int(g) for g in np.argsort(counts.sum(axis=1), kind="stable")]

    def exposed() -> bool:
        inside = counts[rounded]
        small = ((inside > 0) & (inside < min_cell)).any(axis=0)
        # Where one count is small, min_cell people are those of two groups at least.
        thin = inside.sum(axis=0) < min_cell
        # A count that is small in all groups together is not told of all either.
        return bool((small & thin & (counts.sum(axis=0) >= min_cell)).any())

    for group in order:
        if not exposed():
            break
        rounded[group] = True
    return rounded


def _told_row(
    metric: str, row: Mapping[Any, Any], mode: str, size: int, min_cell: int, *, whole: bool
) -> dict[Any, Any]:
    out = dict(row)
    nothing = {c: math.nan for c in (*_VALUES, *_BOUNDS) if c in row}
    if mode == "exact" and metric not in _BY_LEAF:
        return out
    if mode == "range" and metric in _RANGES:
        ranges = {
            column: None if math.isnan(row[column]) else share_bin(row[column], row["n"], min_cell)
            for column in ("deployed", "recipe")
        }
        if ranges["deployed"] is not None:
            out |= nothing
            for column, told in ranges.items():
                out |= {f"{column}_range": told}
                out |= {column: math.nan if told is None else told.middle}
            return out | {"told": "range", "n": row["n"] if whole else math.nan}
    elif mode != "hidden" and metric in _BY_LEAF:
        step = share_step(size, min_cell)
        if step is not None and whole:
            out |= nothing
            for column in ("deployed", "recipe"):
                out[column] = float(np.round(np.round(row[column] / step) * step, 4))
            return out | {"told": "range"}
    elif mode == "range" and metric == "AUC":
        if whole:
            return out
        out |= nothing
        for column in ("deployed", "recipe"):
            out[column] = round(row[column], 2)
        return out | {"told": "range", "n": math.nan}
    return out | nothing | {"told": "hidden", "n": math.nan}


def told_words(row: Mapping[Any, Any], column: str, style: WordStyle = PLAIN) -> str:
    """Write a share of a told table: "84.1 %", or its range "80–90 %"."""
    told: ShareBin | None = row[f"{column}_range"]
    return style.percent(float(row[column]), 1) if told is None else told.words(style)
