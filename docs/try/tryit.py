"""What the try-it page does in Python: read a table, retrain a tree on it, write the report.

It runs in the browser (Pyodide, in a worker) and in ordinary Python alike. The page hands over a
request as JSON and gets JSON back; whatever is wrong comes back in words, as the library says it.
"""

from __future__ import annotations

import json
import tempfile
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import steadytree as st
from steadytree._text import quoted
from steadytree.cli.tables import (
    RowTable,
    TableReading,
    read_column,
    read_rows,
    read_table,
    read_training,
)
from steadytree.exceptions import InputError, SteadyTreeError, SteadyTreeWarning
from steadytree.tree.json import save_tree
from steadytree.tree.tree import Tree
from steadytree.tree.words import PLAIN

__all__ = ["MOST_ROWS", "SETTINGS", "TREES", "answer", "look", "propose"]

MOST_ROWS = 20_000
"""More rows than this are refused: without compiled loops they take minutes."""

TREES = 50
SETTINGS: dict[str, Any] = {
    "search": st.SearchOptions(n_estimators=TREES),
    "n_folds": 3,
    "random_state": 0,
}
"""Of the retraining; half the trees and fewer folds than by default, for the same reason."""

Tell = Callable[[str, int, int], None]
"""Told what is done next, and how many of how many steps are done (0 of 0: not known)."""


def answer(call: str, request: str, tell: Tell) -> str:
    """Answer a request of the page, JSON for JSON; an error is an answer, too.

    Parameters
    ----------
    call : {"look", "propose"}
    request : str
        A JSON object with the fields that :func:`look` and :func:`propose` name.
    tell : callable
        As :data:`Tell` says.
    """
    try:
        found = {"look": look, "propose": propose}[call](json.loads(request), tell)
    except SteadyTreeError as error:
        found = {"error": str(error), "expected": True}
    except MemoryError:
        found = {
            "error": "the browser has no memory left for this table; close other pages, or take "
            "fewer rows or columns",
            "expected": True,
        }
    except Exception as error:  # the page must say something, whatever it is
        found = {"error": f"{type(error).__name__}: {error}", "expected": False}
    return json.dumps(found)


def look(request: Mapping[str, Any], tell: Tell) -> dict[str, Any]:
    """Say what was read of a table, column by column, before anything is asked.

    Parameters
    ----------
    request : mapping
        ``table``: the path. ``separator``, ``decimal``, ``encoding``: how it is
        written, None where its name and bytes tell. ``types``: what the visitor says of columns.
    tell : callable
    """
    tell("Reading the table", 0, 0)
    path, reading = Path(request["table"]), _reading(request)
    file = read_table(path, reading)
    _check_size(path, len(file.frame))
    columns: list[dict[str, Any]] = []
    for name in map(str, file.frame.columns):
        asked = reading.types.get(name)
        told: dict[str, Any]
        try:
            if asked == "ignore":
                told = {"name": name, "type": "ignored"}
            else:
                told = read_column(file, name, asked).to_dict()
                told["missing"] = PLAIN.percent(told["missing"]) if told["missing"] else ""
        except InputError as error:  # of one column; the others are shown all the same
            told = {"name": name, "type": None, "note": str(error)}
        columns.append(told)
    return {"file": path.name, "rows": len(file.frame), "columns": columns}


def propose(request: Mapping[str, Any], tell: Tell) -> dict[str, Any]:
    """Retrain a tree on the newer rows of a table; returns the report and what belongs to it.

    Parameters
    ----------
    request : mapping
        As in :func:`look`, and ``target``: the outcome; ``task``: "auto", "classification" or
        "regression"; ``time``: a column to order the rows by, or None; ``old``: how many rows,
        the first in that order, are old (None: half of them); ``deployed``: the path of a tree
        to retrain, or None to grow one on the old rows; ``drop_missing_target``.
    tell : callable
    """
    tell("Reading the table", 0, 0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", SteadyTreeWarning)
        rows, deployed, task = _read(request)
        old, new = _divided(rows, request.get("old"), has_tree=deployed is not None)
        rows_old = (rows.X.iloc[old], rows.y[old]) if len(old) else None
        if deployed is None:
            if task == "classification":
                _check_classes(rows.y[old])
            tell(f"Growing a first tree on {len(old):,} old rows", 0, 0)
            grow = st.DistilledTreeRegressor if task == "regression" else st.DistilledTreeClassifier
            deployed = grow(n_estimators=TREES, random_state=0).fit(*rows_old)
        result = st.retrain(
            deployed,
            rows.X.iloc[new],
            rows.y[new],
            old=rows_old,
            time=None if rows.time is None else rows.time[new],
            progress=lambda step, done, total: tell(_step_words(step), done, total),
            **SETTINGS,
        )
        tell("Writing the report", 0, 0)
        with tempfile.TemporaryDirectory() as folder:
            report = result.report(Path(folder, "report.html")).read_text(encoding="utf-8")
            tree = save_tree(result.tree, Path(folder, "tree.json")).read_text(encoding="utf-8")
        explanation = result.explain()
    return {
        "report": report,
        "tree": tree,
        "explanation": explanation,
        "changes": result.diff.to_text(),
        "read": rows.read.to_text(everything=True),
        "old": len(old),
        "new": len(new),
        "task": task,
        "grown": request.get("deployed") is None,
        "warnings": list(dict.fromkeys(str(w.message) for w in caught)),
    }


# -- tables ------------------------------------------------------------------------------------


def _reading(request: Mapping[str, Any]) -> TableReading:
    """How the visitor says that the table is to be read."""
    return TableReading(
        separator=request.get("separator"),
        decimal=request.get("decimal") or ".",
        encoding=request.get("encoding"),
        types=dict(request.get("types") or {}),
        drop_missing_target=bool(request.get("drop_missing_target")),
    )


def _read(request: Mapping[str, Any]) -> tuple[RowTable, Tree | None, str]:
    """Read the rows, the deployed tree where there is one, and what the outcome is."""
    path, target, task = Path(request["table"]), request["target"], request.get("task") or "auto"
    columns: dict[str, Any] = {"time": request.get("time"), "reading": _reading(request)}
    if columns["time"] == target:
        raise InputError(
            f"expected another column for the order of the rows than the outcome, got {target!r} "
            "for both; choose another"
        )
    if request.get("deployed") is None:
        rows, task = read_training(path, target, task, **columns)
        tree = None
    else:
        tree = st.as_tree(Path(request["deployed"]))
        rows = read_rows(path, target, tree=tree, to_retrain=True, **columns)
        task = "classification" if tree.is_classifier else "regression"
    _check_size(path, len(rows.y))
    return rows, tree, task


def _check_size(path: Path, rows: int) -> None:
    if rows > MOST_ROWS:
        raise InputError(
            f"expected at most {MOST_ROWS:,} rows on this page, which computes without compiled "
            f"loops, got {rows:,} in {path}; take a part of them, or use the command line: "
            "steadytree retrain"
        )


def _divided(
    rows: RowTable, n_old: int | None, *, has_tree: bool
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Divide the rows into old and new ones, in the order of time or as they stand."""
    n = len(rows.y)
    half = n // 2
    n_old = half if n_old is None else int(n_old)
    fewest = 0 if has_tree else 1
    if not fewest <= n_old < n:
        raise InputError(
            f"expected {fewest:,} to {n - 1:,} old rows of {n:,}, so that there are "
            f"{'' if has_tree else 'old and '}new ones, got {n_old:,}; half of them are {half:,}"
        )
    order = np.arange(n) if rows.time is None else np.argsort(rows.time, kind="stable")
    return order[:n_old], order[n_old:]


def _check_classes(y_old: NDArray[Any]) -> None:
    """Refuse old rows of one class: here it is mostly the order of the file that is to blame."""
    found = pd.unique(y_old)
    if len(found) < 2:
        raise InputError(
            f"expected two or more classes among the first {len(y_old):,} rows, the old ones, got "
            f"only {quoted(found[0])}; if the file is sorted by its outcome, choose a column for "
            "the order of the rows, or shuffle them"
        )


def _step_words(step: str) -> str:
    words = "choosing a tree" if step == "done" else step
    return words[:1].upper() + words[1:]
