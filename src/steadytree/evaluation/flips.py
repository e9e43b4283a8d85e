"""Whom a new tree decides otherwise: rows whose decision changes, in all and by subgroup.

A class that differs is another decision. A predicted response differs nearly always a
little, so there a prediction has moved when it moves by more than 5 % of the response range.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from steadytree.evaluation.intervals import wilson
from steadytree.evaluation.scores import Predictions
from steadytree.exceptions import InputError
from steadytree.tree.columns import column_names, column_values, n_rows
from steadytree.tree.space import FeatureSpace

REGRESSION_FLIP = 0.05
"""For regression a decision has no label; a prediction that moves by more than this share
of the response range counts as flipped."""

MOVES = {"moved_5": 0.05, "moved_10": 0.10}
"""Columns that count the rows whose risk (or prediction) moves by more than so much."""

# Shares are means of counts: a move of 0.05 on the dot must not fail on the last bit.
ROUNDING = 1e-9

MOST_LEVELS = 10

WELL_FOUND, HARDLY_FOUND = 0.20, 0.05
"""Shares of a class's rows that are decided so: above which it is found, below which it is not."""


def response_span(space: FeatureSpace, *, classifier: bool) -> float | None:
    """Width of the response range (0 where the space has none); None for classes."""
    if classifier:
        return None
    low, high = space.response_range or (0.0, 0.0)
    return high - low


def prediction_moved(
    old: NDArray[np.float64], new: NDArray[np.float64], span: float
) -> NDArray[np.bool_]:
    """Rows whose predicted response moves by more than 5 % of the response range."""
    return np.asarray(np.abs(new - old) > REGRESSION_FLIP * span)


def flipped(old: Predictions, new: Predictions, span: float | None) -> NDArray[np.bool_]:
    """Rows whose decision differs; ``span`` is the response range of a regression."""
    if span is None:
        return np.asarray(old.label != new.label)
    return prediction_moved(old.value[:, 0], new.value[:, 0], span)


def classes_given_up(
    rules: tuple[Sequence[Any], Sequence[Any]],
    rows: tuple[NDArray[Any], NDArray[Any]] | None = None,
    y: NDArray[Any] | None = None,
) -> dict[Any, bool]:
    """Classes that a new tree gives up: True, decided for nobody any more; False, hardly found.

    Scores of ranking do not notice it. A class is given up that rules of the old tree decide on
    and none of the new one does, or that the old tree decides for some rows and the new one for
    none; or that the old one finds in at least a fifth of its rows and the new one in less than
    a twentieth.

    Parameters
    ----------
    rules : labels of the rules of the old and of the new tree
    rows : decisions of the old and of the new tree on some rows, optional
    y : classes of these rows, optional
    """
    lost: dict[Any, bool] = {}
    for name in dict.fromkeys(rules[0]):
        gone = name not in set(rules[1])
        if rows is None:
            if gone:
                lost[name] = True
            continue
        before, after = rows[0] == name, rows[1] == name
        if gone or (before.any() and not after.any()):
            lost[name] = True
        elif y is not None and (y == name).any():
            found, still = before[y == name].mean(), after[y == name].mean()
            if found >= WELL_FOUND and still < HARDLY_FOUND:
                lost[name] = False
    return lost


def risk_moves(old: Predictions, new: Predictions, span: float | None) -> NDArray[np.float64]:
    """How far each row's prediction moves, from 0 to 1.

    Half the sum of the absolute changes of the class shares: for two classes that is the
    change of the risk. For a response the change over the response range.
    """
    change = np.abs(new.value - old.value)
    if span is None:
        return np.asarray(change.sum(axis=1) / 2)
    return np.asarray(change[:, 0] / span) if span > 0 else np.zeros(len(change))


def moved_shares(moves: NDArray[np.float64]) -> dict[str, float]:
    """Share of the rows that move by more than 5 and by more than 10 points."""
    if not moves.size:
        return dict.fromkeys(MOVES, float("nan"))
    return {name: float((moves > limit + ROUNDING).mean()) for name, limit in MOVES.items()}


def subgroups(X: Any, by: Any) -> Iterator[tuple[Any, NDArray[np.intp]]]:
    """Split rows by a column name, an array with one entry per row, or a function of X.

    A numeric column with more than ten values is cut at its quartiles. Missing values
    form their own group.
    """
    count = n_rows(X)
    if isinstance(by, str):
        names = column_names(X)
        if names is None or by not in names:
            raise InputError(
                f"expected a column of the new rows, got by={by!r}; "
                f"columns are {list(names) if names else 'unnamed: pass an array instead'}"
            )
        values = column_values(X, by)
    else:
        values = np.asarray(by(X) if isinstance(by, Callable) else by)  # type: ignore[arg-type]
    if values.shape != (count,):
        raise InputError(
            f"expected one subgroup per row, {count} in all, got shape {values.shape}; "
            "pass the name of a column or an array with an entry per row"
        )
    series = pd.Series(values)
    if series.dtype.kind in "fi" and series.nunique() > MOST_LEVELS:
        series = pd.qcut(series, 4, duplicates="drop")
    codes, levels = pd.factorize(series, sort=True, use_na_sentinel=True)
    for code, level in enumerate(levels):
        shown = str(level) if isinstance(level, pd.Interval) else level
        yield shown, np.flatnonzero(codes == code)
    if (codes < 0).any():
        yield "(missing)", np.flatnonzero(codes < 0)


def flip_table(
    X: Any,
    by: Any,
    changed: NDArray[np.bool_],
    moves: NDArray[np.float64],
    *,
    level: float,
) -> pd.DataFrame:
    """Share of rows whose decision changes in each subgroup, with Wilson intervals.

    ``moved_5`` and ``moved_10`` are the shares whose risk moves by more than 5 and 10 points.
    """
    rows = []
    for name, index in subgroups(X, by):
        n, hits = len(index), int(changed[index].sum())
        shown = (hits / n, *wilson(hits, n, level))
        rows.append((name, n, *shown, *moved_shares(moves[index]).values()))
    columns = ["group", "n", "flips", "low", "high", *MOVES]
    return pd.DataFrame(rows, columns=columns).set_index("group")
