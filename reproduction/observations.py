"""Stand-in until the branch `paper` is merged: the long table with what the rules read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reproduction.published import CASE_STUDY_NAMES
from reproduction.runs import Results
from reproduction.tables import Column, Table

__all__ = ["observations"]

KEYS = ("kind", "dataset", "case_study", "protocol", "split", "method", "measure", "value")


def observations(results: Results) -> Table:
    """Every number of every split, one a row."""
    rows = []
    for (kind, dataset, protocol), units in results.units.items():
        numbers = _NUMBERS.get(kind)
        case = CASE_STUDY_NAMES.get(dataset, "")
        for index, unit in enumerate(units):
            for at, method, measure, value in numbers(unit) if numbers else ():
                split = index * 10 + at if kind == "direct" else index
                told = (kind, dataset, case, protocol, split, method, measure, float(value))
                rows.append(dict(zip(KEYS, told, strict=True)))
    columns = tuple(Column(key, key) for key in KEYS)
    return Table("observations", "", "Every number of every split", columns, rows, on_page=False)


Cells = Iterator[tuple[int, str, str, Any]]


def _flat(prefix: str, value: Any) -> Iterator[tuple[str, float]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flat(f"{prefix}/{key}" if prefix else str(key), inner)
    elif isinstance(value, (bool, int, float)):
        yield prefix, float(value)


def _study(unit: dict[str, Any]) -> Cells:
    for method, told in unit["methods"].items():
        for measure, value in _flat("", told):
            yield 0, method, measure, value
        for feature, value in zip(unit["features"], told["importances"], strict=True):
            yield 0, method, f"importances/{feature}", value
    for place, node in unit["top"].items():
        yield 0, "selected", f"top/{place}/{node['feature']}", 1
    for measure, value in _flat("first_splits", unit["first_splits"]):
        yield 0, "", measure, value
    for measure, value in _flat("geometry", unit.get("geometry", {})):
        yield 0, "", measure, value
    yield 0, "", "frontier_size", len(unit["cloud"]["frontier"])


def _example(unit: dict[str, Any]) -> Cells:
    for method in ("cv", "pareto"):
        for measure in ("distance_bound", "dissimilarity"):
            yield 0, method, measure, unit[method][measure]


def _direct(unit: dict[str, Any]) -> Cells:
    for k, depth in enumerate(unit["depth"]):
        for way, as_way in (("clipped",) * 2, ("literal",) * 2, ("codes", "clipped")):
            yield k, way, "depth", depth
            for i, value in enumerate(unit[as_way][k]):
                yield k, way, f"distance/{(i + 1) / len(unit[as_way][k]):g}", value


def _indirect(unit: dict[str, Any]) -> Cells:
    for measure in ("distance", "dissimilarity"):
        for i, value in enumerate(unit[measure]):
            yield 0, "", f"{measure}/{(i + 1) / len(unit[measure]):g}", value


_NUMBERS = {"study": _study, "example": _example, "direct": _direct, "indirect": _indirect}
