"""Which features of a LightGBM model are categories, and what pandas called them.

LightGBM numbers the categories of a pandas column and stores their names in a list for each
column, but not which columns those are; ordered ones it compares as numbers. Here the lists
find their features again: in order, the features it was told are categorical first of all, and
others only where the codes fit their range. Where more than one way is left the model is
refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from steadytree._io import parse_json
from steadytree.exceptions import TreeFormatError, UnsupportedModelError

__all__ = ["CategoryColumns", "category_columns", "numbers_in"]

MAX_WAYS = 5_000_000
"""Lists times features that are gone through to find which belong together."""

_PANDAS = "\npandas_categorical:"
_TOLD = "\n[categorical_feature:"


@dataclass(frozen=True)
class CategoryColumns:
    """The categorical features of a model.

    ``codes``: what LightGBM met where it splits by category. ``values``: what pandas called the
    codes 0, 1, 2 and so on. ``ordered``: features with such values whose codes it compares as
    numbers.
    """

    codes: dict[int, list[int]]
    values: dict[int, list[Any]]
    ordered: frozenset[int]


def category_columns(infos: Sequence[str], names: Sequence[str], tail: str) -> CategoryColumns:
    """Read them from ``feature_infos`` and from what follows the trees."""
    codes: dict[int, list[int]] = {}
    for j, info in enumerate(infos):
        if info != "none" and not info.startswith("["):
            found = numbers_in(info.replace(":", " "), f"feature_infos of {names[j]}", int)
            codes[j] = [code for code in found if code >= 0]
    lists = _pandas_lists(tail)
    if not lists:
        return CategoryColumns(codes, {}, frozenset())
    told = _told(tail, names)
    # What LightGBM was told, else what it found: a constant column shows only in the former.
    categorical = set(codes) if told is None else told
    columns = _only_way(lists, categorical, infos, codes)
    if columns is None:
        raise UnsupportedModelError(
            f"expected to see which {len(lists)} features have the categories that pandas had, "
            f"got {len(categorical)} categorical features, and several ways or none to name the "
            "others: LightGBM does not store it where categories are ordered or categorical "
            "columns were named by hand; fit on unordered pandas categories for all categorical "
            "features, or on codes for all"
        )
    values = dict(zip(columns, lists, strict=True))
    return CategoryColumns(codes, values, frozenset(set(columns) - categorical))


def numbers_in(text: str, what: str, kind: type[int] | type[float]) -> list[Any]:
    """Return the numbers of a line."""
    try:
        return [kind(word) for word in text.split()]
    except (ValueError, OverflowError):
        raise TreeFormatError(f"expected numbers in {what}, got {text[:60]!r}") from None


def _pandas_lists(tail: str) -> list[list[Any]]:
    at = tail.rfind(_PANDAS)
    if at < 0:
        return []
    lists = parse_json(tail[at + len(_PANDAS) :].strip() or "null")
    if lists is None:
        return []
    if not isinstance(lists, list) or not all(
        isinstance(values, list) and all(isinstance(v, (str, bool, int, float)) for v in values)
        for values in lists
    ):
        raise TreeFormatError("expected lists of categories in pandas_categorical, got others")
    return lists


def _told(tail: str, names: Sequence[str]) -> set[int] | None:
    """Return the features that LightGBM was told are categorical; None if that is not there."""
    _, found, rest = tail.partition(_TOLD)
    if not found:
        return None
    value = rest.partition("]")[0].strip()
    if value.startswith("name:"):
        wanted = set(value[5:].split(","))
        return {j for j, name in enumerate(names) if name in wanted}
    told = numbers_in(value.replace(",", " "), "categorical_feature", int)
    return {int(j) for j in told if 0 <= j < len(names)}


def _only_way(
    lists: Sequence[Sequence[Any]],
    categorical: set[int],
    infos: Sequence[str],
    codes: dict[int, list[int]],
) -> list[int] | None:
    """Return the feature of each list, if there is exactly one way.

    Lists and features come in the same order, and every categorical feature has a list.
    """
    m, n = len(lists), len(infos)
    if m > n or m * n > MAX_WAYS:
        return None
    largest = [_largest_code(j, infos[j], j in categorical, codes) for j in range(n)]
    # ways[i]: in how many ways (2: several) the lists from i on fit the features looked at.
    ways = [0] * m + [1]
    choices: list[list[bool]] = []
    for j in reversed(range(n)):
        before = ways
        fits = [0 <= largest[j] < len(values) for values in lists]
        ways = [
            min(2, (fits[i] and before[i + 1]) + (0 if j in categorical else before[i]))
            for i in range(m)
        ]
        ways.append(0 if j in categorical else before[m])
        choices.append([bool(fits[i] and before[i + 1]) for i in range(m)])
    if ways[0] != 1:
        return None
    columns: list[int] = []
    for j, taken in enumerate(reversed(choices)):
        if len(columns) < m and taken[len(columns)]:
            columns.append(j)
    return columns


def _largest_code(j: int, info: str, categorical: bool, codes: dict[int, list[int]]) -> int:
    """Return the largest code of a feature, 0 where it met none; -1 if it has no codes."""
    if categorical:
        return max(codes.get(j, ()), default=0)
    if info == "none":
        return 0
    try:
        low, high = map(float, info.strip("[]").split(":"))
    except ValueError:
        return -1
    whole = low.is_integer() and high.is_integer() and 0 <= low <= high < 2**31
    return int(high) if whole else -1
