"""Every number of every unit in one long table, for whoever wants to judge for themselves.

One row is one number: which work it is from (``kind``, ``dataset``, ``protocol``, ``split``), whose
it is (``method``, empty where it is nobody's) and what it is (``measure``, ``value``). Entries of
lists and of entries within entries have a measure of several words: ``first_splits/root/age``.
Yes and no are 1 and 0; a word, such as the feature of a split, is the last word of a measure of
value 1. What is undefined (a correlation with a constant) has no row.

The trees of the collections would be most of it; they have a table of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from research.paper.data import dataset_table
from research.paper.experiments.perturbation import BLOCK
from research.paper.runs import Results
from research.paper.settings import Settings
from research.paper.summaries.paper import DATASET, PROTOCOL, frontier_table
from research.paper.tables import Column, Table, with_rows

__all__ = ["observation_tables"]

Unit = dict[str, Any]
Labels = Mapping[str, Sequence[Any]]
"""Names for the entries of a list, by the last word of the measure."""

Number = tuple[int, str, str, float]
"""Split, method, measure and value."""

WHOLE_TREES = ("trees", "files")
"""Entries of the example that are trees in words; they are on the page and in the units."""

_WAYS = {
    "clipped": ("clipped", "distance"),
    "literal": ("literal", "distance"),
    "literal_top": ("literal", "top"),
    "codes": ("codes", "distance"),
    "codes_literal": ("codes_literal", "distance"),
    "codes_depth": ("codes", "depth"),
}
"""Method and measure of the entries of the direct perturbation."""


def observation_tables(results: Results, settings: Settings, names: Sequence[str]) -> list[Table]:
    """Build the tables that are files only: the numbers of all units, the trees of all splits.

    Parameters
    ----------
    results : Results
    settings : Settings
    names : sequence of str
        Data sets of the run.
    """
    return with_rows(
        _observations(results, settings, names), frontier_table(results, every_split=True)
    )


def _observations(results: Results, settings: Settings, names: Sequence[str]) -> Table:
    case_studies = dataset_table(tuple(names))["paper_case_study"]
    known = {name: "" if value is None else str(value) for name, value in case_studies.items()}
    rows = [
        {
            "kind": kind,
            "dataset": dataset,
            "case_study": known[dataset],
            "protocol": protocol,
            "split": split,
            "method": method,
            "measure": measure,
            "value": value,
        }
        for (kind, dataset, protocol), units in results.units.items()
        for index, unit in enumerate(units)
        for split, method, measure, value in _NUMBERS.get(kind, _plain)(unit, index, settings)
    ]
    return Table(
        "observations",
        "",
        "Every number of every unit",
        (
            Column("kind", "Work"),
            DATASET,
            Column("case_study", "Paper's case study"),
            PROTOCOL,
            Column("split", "Split or repetition", "int"),
            Column("method", "Method"),
            Column("measure", "Measure"),
            Column("value", "Value", "num"),
        ),
        rows,
        on_page=False,
    )


def _flat(value: Any, words: tuple[str, ...], labels: Labels) -> Iterator[tuple[str, float]]:
    """Measures and values of an entry and of all that is in it."""
    if value is None:
        return
    if isinstance(value, Mapping):
        for key, entry in value.items():
            yield from _flat(entry, (*words, str(key)), labels)
    elif isinstance(value, list):
        known = labels.get(words[-1], range(len(value)))
        for label, entry in zip(known, value, strict=True):
            yield from _flat(entry, (*words, str(label)), labels)
    elif isinstance(value, str):
        yield "/".join((*words, value)), 1.0
    else:
        yield "/".join(words), float(value)


def _entries(
    unit: Mapping[str, Any],
    split: int,
    *,
    method: str = "",
    without: Sequence[str] = (),
    labels: Labels | None = None,
) -> Iterator[Number]:
    for key, entry in unit.items():
        if key not in without:
            for measure, value in _flat(entry, (key,), labels or {}):
                yield split, method, measure, value


def _plain(unit: Unit, index: int, settings: Settings) -> Iterator[Number]:
    yield from _entries(unit, index)


def _study(unit: Unit, index: int, settings: Settings) -> Iterator[Number]:
    labels = {"importances": unit["features"]}
    for method, found in unit["methods"].items():
        yield from _entries(found, index, method=method, labels=labels)
    yield from _entries(unit, index, without=("methods", "cloud", "features"))
    # The two numbers of the cloud that are about the split rather than about a tree.
    yield index, "", "frontier_size", float(len(unit["cloud"]["frontier"]))
    yield index, "", "trees", float(len(unit["cloud"]["distance"]))


def _example(unit: Unit, index: int, settings: Settings) -> Iterator[Number]:
    for method, found in unit.items():
        yield from _entries(found, index, method=method, without=WHOLE_TREES)


def _direct(unit: Unit, index: int, settings: Settings) -> Iterator[Number]:
    # A unit holds a block of repetitions: a list of values, one each, for every entry.
    for key, repetitions in unit.items():
        method, name = _WAYS.get(key, ("", key))
        for i, found in enumerate(repetitions):
            for measure, value in _flat(found, (name,), {name: settings.perturbation_sizes}):
                yield BLOCK * index + i, method, measure, value


def _indirect(unit: Unit, index: int, settings: Settings) -> Iterator[Number]:
    yield from _entries(unit, index, labels=dict.fromkeys(unit, settings.replaced_shares))


def _batch(unit: Unit, index: int, settings: Settings) -> Iterator[Number]:
    yield from _entries(unit, index, labels={"sizes": [size["trees"] for size in unit["sizes"]]})


def _retraining(unit: Unit, index: int, settings: Settings) -> Iterator[Number]:
    for method, found in unit["methods"].items():
        yield from _entries(found, index, method=method)
    yield from _entries(unit, index, without=("methods",))


_NUMBERS: dict[str, Callable[[Unit, int, Settings], Iterator[Number]]] = {
    "study": _study,
    "example": _example,
    "direct": _direct,
    "indirect": _indirect,
    "batch": _batch,
    "retraining": _retraining,
}
