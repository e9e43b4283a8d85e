"""The auditor's own arithmetic: plain pandas and numpy on the raw rows.

Nothing here calls the library. A tree is read as its arrays, a rule as the numbers it prints.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta, norm

__all__ = [
    "COUNT",
    "NOT_KNOWN",
    "check_count",
    "check_percent",
    "clopper_pearson",
    "follow_rule",
    "follow_words",
    "label_by_policy",
    "number",
    "outcome_columns",
    "positive_at",
    "rows_at_nodes",
    "wilson",
]


NEW = "never met"
NOT_KNOWN = {"Atlantis"}
"""The category of the audit's rows that no tree was trained on."""
COUNT = re.compile(r"([<>])?\s*([\d,]+)(?:–([\d,]+))? of ([\d,]+)")
PERCENT = re.compile(r"([<>≤≥])?\s*([\d.]+)(?:–([\d.]+))?\s*%")


# -- printed numbers ---------------------------------------------------------------------------


def number(text: str) -> int:
    return int(text.replace(",", ""))


def check_count(text: str, count: float, total: float) -> bool:
    """The count as printed, or the range that holds it; whether it was printed exactly."""
    found = COUNT.match(text)
    assert found is not None, text
    sign, first, last, of = found.groups()
    assert number(of) == total
    if sign is None and last is None:
        assert number(first) == count
        return True
    if sign is not None:
        assert count < number(first) if sign == "<" else count > number(first), (text, count)
    else:
        assert number(first) <= count <= number(last), (text, count)
    return False


def check_percent(text: str, share: float) -> None:
    """The share as printed, to the digits printed; 0 % and 100 % only if it is."""
    found = PERCENT.match(text)
    assert found is not None, text
    sign, first, last = found.groups()
    if sign is not None:
        below = sign in "<≤"
        assert (100 * share <= float(first)) if below else (100 * share >= float(first)), text
    elif last is not None:
        assert float(first) <= 100 * share <= float(last), text
    else:
        digits = len(first.partition(".")[2])
        assert float(first) == pytest.approx(100 * share, abs=0.5001 * 10**-digits), text
        assert (float(first) in (0, 100)) <= (share in (0, 1)), text


# -- trees and rules ---------------------------------------------------------------------------


def rows_at_nodes(tree: Any, X: pd.DataFrame) -> list[np.ndarray[Any, Any]]:
    """Row numbers that pass each node, by walking every row down from the root."""
    reached = [np.zeros(0, dtype=int)] * len(tree.children_left)
    waiting = [(0, np.arange(len(X)))]
    while waiting:
        node, rows = waiting.pop()
        reached[node] = rows
        if tree.children_left[node] < 0:
            continue
        column = X[tree.feature_names[tree.feature[node]]].iloc[rows]
        left = _goes_left(tree, node, column)
        waiting += [
            (tree.children_left[node], rows[left]),
            (tree.children_right[node], rows[~left]),
        ]
    return reached


def _goes_left(tree: Any, node: int, column: pd.Series[Any]) -> np.ndarray[Any, Any]:
    codes = tree.left_categories[node]
    if codes is not None:
        names = tree.categories[tree.feature[node]]
        known, inside = column.isin(names), column.isin([names[code] for code in codes])
        return np.where(known, inside, tree.missing_left[node]).astype(bool)
    values = column.to_numpy(dtype=float)
    compared = values.astype(np.float32).astype(float) if tree.precision == "float32" else values
    return np.where(np.isnan(values), tree.missing_left[node], compared <= tree.threshold[node])


def follow_rule(conditions: list[Mapping[str, Any]], X: pd.DataFrame) -> np.ndarray[Any, Any]:
    """Whether each row meets the conditions of a rule, as they stand in the JSON of a diff.

    Numbers are compared as scikit-learn's trees compare them, in single precision.
    """
    follows = np.ones(len(X), dtype=bool)
    for told in conditions:
        column = X[told["feature"]]
        if not told["present"]:
            meets = np.zeros(len(X), dtype=bool)
        elif told["categories"] is not None:
            meets = column.isin(told["categories"]).to_numpy()
        else:
            values = column.to_numpy(dtype=np.float32).astype(float)
            low = -np.inf if told["lower"] is None else told["lower"]
            high = np.inf if told["upper"] is None else told["upper"]
            meets = (values > low) & (values <= high)
        follows &= np.where(column.isna(), bool(told["missing"]), meets)
    return follows


def follow_words(text: str, X: pd.DataFrame) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Whether each row meets the printed words of a rule, and whether that can be told.

    It cannot where a number lies within the rounding of a printed bound. Of a page the signs are
    others, and the categories may be told by those that are not meant.
    """
    follows, sure = np.ones(len(X), dtype=bool), np.ones(len(X), dtype=bool)
    text = text.replace("≤", "<=").replace("≥", ">=").replace("−", "-")
    for words in re.split(r" and ", text) if text not in ("always", "everyone") else []:
        told = re.fullmatch(r"\((.*)\)", words)
        words = told[1] if told else words
        name = max((c for c in X if f" {c} " in f" {words} "), key=len)
        column = X[name]
        gone = column.isna().to_numpy()
        before, after = f" {words} ".split(f" {name} ", 1)
        if after.strip() == "is not missing":
            follows &= ~gone
        elif after.startswith("is "):
            listed = re.sub(r"^is (anything but )?", "", after.strip())
            named = set(
                re.split(r", or |, | or ", re.sub("a category never met|any other", NEW, listed))
            )
            lets_in, new = "missing" in named, NEW in named
            named -= {"missing", NEW}
            known = set(map(str, column.cat.categories)) - NOT_KNOWN if named or new else set()
            assert named <= known, named
            meets = column.astype(str).isin(named)
            if "anything but" in after:
                meets = ~meets
            else:
                meets |= new & ~column.astype(str).isin(known)
            follows &= np.where(gone, lets_in, meets)
        else:
            after, lets_in = re.subn(r" or missing $", " ", after)
            values = column.to_numpy(dtype=float)
            low, high, over = before.strip(" <"), *_bound(after, "<="), *_bound(after, ">")
            low, high = (float(low or over or -np.inf), float(high or np.inf))
            follows &= np.where(gone, bool(lets_in), (values > low) & (values <= high))
            for bound in (low, high):
                if np.isfinite(bound):
                    sure &= ~(np.abs(values - bound) <= 1e-5 * abs(bound))
    return follows, sure


def _bound(text: str, sign: str) -> list[str]:
    found = re.search(rf"{sign} (\S+)", text)
    return [found[1] if found else ""]


def outcome_columns(y: pd.Series[Any], classes: tuple[Any, ...] | None) -> np.ndarray[Any, Any]:
    """What is counted of each row: one column per class; for a response 1 and the response."""
    if classes is None:
        return np.column_stack([np.ones(len(y)), y.to_numpy(dtype=float)])
    return np.column_stack([(y == c).to_numpy(dtype=float) for c in classes])


def positive_at(classes: tuple[Any, ...], policy: Any) -> int:
    """Position of the class that a policy names, else of the second, as in scikit-learn."""
    return 1 if policy.positive is None else list(classes).index(policy.positive)


def label_by_policy(shares: np.ndarray[Any, Any], policy: Any, classes: tuple[Any, ...]) -> int:
    """Label that shares give: the positive class from the threshold on, or the largest share."""
    if policy.threshold is None:
        weight = np.ones(len(shares)) if policy.class_weight is None else policy.class_weight
        return int(np.argmax(shares * weight))
    at = positive_at(classes, policy)
    return at if shares[at] >= policy.threshold else 1 - at


def wilson(rate: float, n: float, level: float) -> tuple[float, float]:
    """Wilson's interval of a rate observed in n rows."""
    z = norm.ppf((1 + level) / 2)
    centre, scale = rate + z * z / (2 * n), 1 + z * z / n
    half = z * np.sqrt(rate * (1 - rate) / n + z * z / (4 * n * n))
    return (centre - half) / scale, (centre + half) / scale


def clopper_pearson(rate: float, n: float, level: float) -> tuple[float, float]:
    """Return the exact interval of a rate observed in n rows."""
    hits, tail = rate * n, (1 - level) / 2
    low = 0.0 if hits <= 1e-9 else float(beta.ppf(tail, hits, n - hits + 1))
    high = 1.0 if n - hits <= 1e-9 else float(beta.ppf(1 - tail, hits + 1, n - hits))
    return low, high
