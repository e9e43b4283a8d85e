"""The whole attack on one run: read everything, check it against the truth, solve every cell."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tests.attack.disclosure.census import EVENTS, Census
from tests.attack.disclosure.publish import Published
from tests.attack.disclosure.reading import Reader, leaves_of
from tests.attack.disclosure.reading_texts import (
    read_candidates,
    read_diff,
    read_document,
    read_rule_words,
    read_sentences,
)
from tests.attack.disclosure.solver import Coefficients

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
    """An adversary with everything that one run published, or with its page only."""

    def __init__(self, published: Published, *, most: int, page_only: bool = False) -> None:
        summary = published.summary
        groups = {
            column["name"]: [group["name"] for group in column["groups"]]
            for column in (summary["people"] or {"subgroups": []})["subgroups"]
        }
        self.published = published
        self.census = Census(summary, groups, most)
        self.reader = Reader(self.census)
        self.reader.page(summary)
        for sentence in summary["headline"]["sentences"]:
            read_sentences(self.reader, sentence, "page")
        if not page_only:
            self._read_the_rest()

    def _read_the_rest(self) -> None:
        reader, published = self.reader, self.published
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

    # -- what must stay unknown ---------------------------------------------------------------

    def cells(self) -> Iterator[tuple[str, Coefficients]]:
        """Every count of people that the outputs speak of, by name."""
        census, reader = self.census, self.reader
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
            for name in census.names[2:]:
                flips = census.count(atoms=census.differs("old", name))
                if census.classifier:
                    yield f"new rows that {name} decides otherwise", flips
        blocks = [("", "")] + [(c, g) for c, names in census.groups.items() for g in names]
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
            if len(outcomes) == 2:
                for side in ("old", "new"):
                    for cell, of in reader.confusion(side, column, group).items():
                        yield f"{where}: {cell} of the {side} tree", of

    # -- the verdict ---------------------------------------------------------------------------

    def misread(self, truth: Truth) -> list[str]:
        """Say which facts the truth contradicts: the reading is then wrong."""
        return self.census.solver.broken_by(self.counted(truth))

    def counted(self, truth: Truth) -> Coefficients:
        """Count the truth into the cells."""
        return self.census.counted(truth.tables, truth.outcomes, truth.groups, truth.events)

    def exposed(self, truth: Truth) -> list[Exposed]:
        """Every count of too few people that has fewer possible values than promised."""
        counts, few = self.counted(truth), self.census.min_cell
        self.reader.finish()
        promised = max(few - 1, 2)
        found: dict[bytes, Exposed] = {}
        for what, of in self.cells():
            true = round(float(of @ counts))
            key = of.tobytes()
            if not 0 < true < few or key in found:
                continue
            possible = self.census.solver.possible(of, promised)
            if len(possible) < promised:
                found[key] = Exposed(what, true, tuple(possible))
        return list(found.values())
