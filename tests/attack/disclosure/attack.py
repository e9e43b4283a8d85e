"""The whole attack on one run: read everything, check it against the truth, solve every cell."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tests.attack.disclosure.areas import Area, Fitting
from tests.attack.disclosure.census import EVENTS, Census, View, named
from tests.attack.disclosure.publish import Published
from tests.attack.disclosure.reading import Reader, leaves_of
from tests.attack.disclosure.reading_texts import (
    read_candidates,
    read_diff,
    read_document,
    read_listing,
    read_rule_words,
    read_sentences,
)
from tests.attack.disclosure.solver import Coefficients

MOST_VALUES = 30

__all__ = ["Attack", "Exposed", "Truth"]


@dataclass(frozen=True)
class Truth:
    """The raw rows, which the adversary does not have; they only name what must stay unknown.

    Attributes
    ----------
    tables, outcomes : by "old" and "new"
    groups : the subgroup of each new row, by column
    events : which new rows something happens to, by event
    """

    tables: Mapping[str, pd.DataFrame]
    outcomes: Mapping[str, Sequence[str]]
    groups: Mapping[str, Sequence[str]]
    events: Mapping[str, NDArray[np.bool_]]


@dataclass(frozen=True)
class Exposed:
    """A count of too few people that can be computed: what it is, and all it can be."""

    what: str
    true: int
    possible: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.what}: {self.true}, solved to {list(self.possible)}"


class Attack:
    """An adversary with everything that one run published, or several on the same rows.

    Parameters
    ----------
    published : sequence of Published
        The first is a retraining.
    most : int
        No count is larger.
    page_only : bool
        Whether the page is all that was found.
    old_is_plain : bool
        Whether it is known that the leaves of the deployed tree predict what was observed there,
        as those of CART do.
    fitted : str
        What the command printed that made the deployed tree.
    few : int, optional
        Counts below it are to stay unknown; by default what the reports say they mask.
    """

    def __init__(
        self,
        *published: Published,
        most: int,
        page_only: bool = False,
        old_is_plain: bool = False,
        fitted: str = "",
        few: int | None = None,
    ) -> None:
        groups = {
            column["name"]: [group["name"] for group in column["groups"]]
            for one in published
            for column in (one.summary["people"] or {"subgroups": []})["subgroups"]
        }
        self.census = Census([one.summary for one in published], groups, most)
        self.few = self.census.min_cell if few is None else few
        self.readers: list[Reader] = []
        self._fitting: dict[tuple[int, Area], Fitting | None] = {}
        for report, one in enumerate(published):
            reader = Reader(View(self.census, report), old_is_plain=old_is_plain)
            self.readers.append(reader)
            if report:
                # A comparison does not say which rows its trees were trained on.
                reader.old_rows_given = self.readers[0].old_rows_given
            _read(reader, one, page_only=page_only)
        if fitted:
            read_listing(self.readers[0], fitted, "old", "fit")

    # -- what must stay unknown ---------------------------------------------------------------

    def cells(self) -> Iterator[tuple[str, Coefficients]]:
        """Every count of people that the outputs speak of, by name."""
        for report, reader in enumerate(self.readers):
            for what, of in _cells(reader):
                yield named(what, report), of

    # -- the verdict ---------------------------------------------------------------------------

    def misread(self, truth: Truth) -> list[str]:
        """Say which facts the truth contradicts: the reading is then wrong."""
        return self.census.solver.broken_by(self.counted(truth))

    def counted(self, truth: Truth) -> Coefficients:
        """Count the truth into the cells."""
        return self.census.counted(truth.tables, truth.outcomes, truth.groups, truth.events)

    def exposed(self, truth: Truth, *, most: int | None = None) -> list[Exposed]:
        """Every count of too few people that has fewer possible values than promised.

        With ``most`` no more are sought than so many.
        """
        counts, few = self.counted(truth), self.few
        for reader in self.readers:
            reader.finish()
        promised = max(few - 1, 2)
        found: dict[bytes, Exposed] = {}
        by_area = {
            of.tobytes(): (reader, area, leaf, outcome)
            for reader in self.readers
            for area in reader.areas.values()
            for leaf, outcome, of in area.cells(reader.census)
        }
        for what, of in self.cells():
            true = round(float(of @ counts))
            key = of.tobytes()
            if not 0 < true < few or key in found:
                continue
            if most is not None and len(found) >= most:
                break
            possible = self.census.solver.possible(of, promised)
            if len(possible) >= promised and key in by_area:
                possible = self._struck_out(by_area[key], of, possible)
            if len(possible) < promised:
                found[key] = Exposed(what, true, tuple(possible))
        return list(found.values())

    def _struck_out(
        self, where: tuple[Reader, Area, int, int], of: Coefficients, possible: list[int]
    ) -> list[int]:
        """Values of a count that an area leaves open, tried where all tables can be."""
        reader, area, leaf, outcome = where
        key = (self.readers.index(reader), area)
        if key not in self._fitting:
            self._fitting[key] = Fitting.of(reader.census, area)
        fitting = self._fitting[key]
        if fitting is None:
            return possible
        values = self.census.solver.possible(of, MOST_VALUES)
        return fitting.strike_out(reader.census, leaf, outcome, values)


def _read(reader: Reader, published: Published, *, page_only: bool) -> None:
    """Read every output of one run."""
    summary = published.summary
    reader.page(summary)
    for sentence in summary["headline"]["sentences"]:
        read_sentences(reader, sentence, "page")
    if page_only:
        return
    if "diff.json" in published.files:
        read_diff(reader, json.loads(published.files["diff.json"]), "diff.json")
    if "diff.md" in published.files:
        read_rule_words(reader, published.files["diff.md"].decode(), "diff.md")
    if "candidates.csv" in published.files:
        read_candidates(reader, published.files["candidates.csv"].decode())
    texts = {"standard output": published.out, "standard error": published.err}
    for name, text in {**texts, **published.more}.items():
        read_rule_words(reader, text, name)
        read_sentences(reader, text, name)
    read_document(reader, published.document)


def _cells(reader: Reader) -> Iterator[tuple[str, Coefficients]]:
    census = reader.census
    outcomes = list(enumerate(census.classes)) if census.classifier else []
    for side, leaf, here in leaves_of(census):
        for rows in ("old", "new"):
            name = f"{rows} rows at leaf {leaf} of the {side} tree"
            yield name, census.count(rows, atoms=here)
            for k, outcome in outcomes:
                yield f"{name} with {outcome}", census.count(rows, atoms=here, outcome=k)
        if side == "new":
            name = f"all rows at leaf {leaf} of the new tree"
            yield name, reader.trained(side, leaf)
            for k, outcome in outcomes:
                yield f"{name} with {outcome}", reader.trained(side, leaf, k)
    if "old" in census.trees:
        for i in census.trees["old"].boxes:
            for j in census.trees["new"].boxes:
                both = census.at("old", i) & census.at("new", j)
                if both.any():
                    yield f"new rows from leaf {i} to leaf {j}", census.count(atoms=both)
        for name in census.trees:
            if census.classifier and name.startswith("candidate"):
                flips = census.count(atoms=census.differs("old", name))
                yield f"new rows that {name} decides otherwise", flips
    yield from _people_cells(reader, outcomes)


def _people_cells(
    reader: Reader, outcomes: Sequence[tuple[int, str]]
) -> Iterator[tuple[str, Coefficients]]:
    """All new rows and each subgroup: outcomes, decisions, and what happens to them."""
    census = reader.census
    blocks = [("", ""), *((c, g) for c, names in census.groups.items() for g in names)]
    for column, group in blocks:
        where = f"{column} {group}".strip() or "all"
        everyone = census.count(column=column, group=group)
        yield f"{where}: people", everyone
        for k, outcome in outcomes:
            name = f"{where}: people with {outcome}"
            yield name, census.count(column=column, group=group, outcome=k)
        if "old" not in census.trees:
            continue
        for event in EVENTS:
            hits = census.event(event, column, group)
            yield f"{where}: {event}", hits
            yield f"{where}: all but {event}", everyone - hits
        yield (
            f"{where}: moved by 5 to 10 points",
            census.event("moved_5", column, group) - census.event("moved_10", column, group),
        )
        if len(outcomes) == 2:
            for side in ("old", "new"):
                for cell, of in reader.confusion(side, column, group).items():
                    yield f"{where}: {cell} of the {side} tree", of
