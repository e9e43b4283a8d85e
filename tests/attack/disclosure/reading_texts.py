"""What the other outputs say of people: the diff as JSON and in words, tables, sentences."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping
from contextlib import suppress
from html import unescape
from typing import Any

import numpy as np

from tests.attack.disclosure.census import EVENTS
from tests.attack.disclosure.numerals import (
    Range,
    decimals,
    finite,
    plain,
    read_count,
    read_share,
    rounded,
    share_words,
)
from tests.attack.disclosure.reading import Reader
from tests.attack.disclosure.solver import Coefficients

__all__ = [
    "read_candidates",
    "read_diff",
    "read_document",
    "read_listing",
    "read_rule_words",
    "read_sentences",
]

_MARKDOWN_RULE = re.compile(r"^\| (?P<number>\d+) \| \w+ \|.*\| (?P<facts>[^|]*) \|$", re.MULTILINE)
_TEXT_RULE = re.compile(
    r"^  (?P<number>\d+)\. .*\n(?:     -> .*\n)?     (?P<facts>\S.*)$", re.MULTILINE
)
_SENTENCE = re.compile(r"(?P<event>[A-Z][^.;]*?) for (?P<count>[^.;]*? of the [\d,]+)")
_AGAINST = re.compile(
    r"(?P<measure>sensitivity|specificity|flagged positive|accuracy) "
    r"[^;]*? against (?P<deployed>[<>≤≥]? ?[\d.]+ ?%)"
)
_AREA = re.compile(
    r"AUC (?:is )?[\d.]+ against (?P<against>\d\.\d+) for the deployed|"
    r"AUC(?: on rows left out)?:? (?P<before>\d\.\d+)(?: (?:→|->|to) |, unchanged)|"
    r"AUC of the deployed tree on the new rows: (?P<kept>\d\.\d+)"
)
_ALL = re.compile(r"Of (?P<n>[\d,]+) rows?, (?P<share>.*?%) get another decision")


def exact(value: float) -> Range:
    """Range of a number that is written with all its digits."""
    return value - 1e-9, value + 1e-9


def told(value: Any) -> Range | None:
    """Range of a number or of words that say one; None where it is not told."""
    if finite(value):
        return rounded(float(value), 3 if round(value, 3) == value else 4)
    return read_share(value) if isinstance(value, str) else None


# -- JSON ----------------------------------------------------------------------------------


def read_diff(reader: Reader, diff: Mapping[str, Any], source: str) -> None:
    """Read ``diff.json``, or the same within ``--json``."""
    census, everyone = reader.census, reader.census.count()
    if finite(diff["n_rows"]):
        reader.count(everyone, diff["n_rows"], diff["n_rows"], f"{source}: n_rows")
    share = told(diff["flips"])
    if share is not None:
        reader.share(census.event("flips"), everyone, share, f"{source}: flips {diff['flips']}")
    for rule in diff["rules"]:
        where = f"{source}: rule {rule['number']}"
        both = {}
        for side in ("old", "new"):
            half = rule[side]
            if half is not None:
                both[side] = census.at(side, half["leaf"])
                _diff_rule(reader, half, side, f"{where} {side}")
        _value_change(reader, rule, where)
        share = told(rule["share_in_both"])
        if share is not None and len(both) == 2:
            shared = census.count(atoms=both["old"] & both["new"])
            reader.share(shared, everyone, share, f"{where}: share_in_both {rule['share_in_both']}")
    for split in diff["splits"]:
        share = told(split["share"])
        if share is None:
            continue
        # Rows that follow one of the rules concerned, before or now.
        here = np.zeros(len(census.atoms), dtype=bool)
        for number in split["rules"]:
            for side in ("old", "new"):
                if number in reader.leaf_of_rule[side]:
                    here |= census.at(side, reader.leaf_of_rule[side][number])
        most = census.count(atoms=here)
        reader.solver.add(most - share[0] * everyone, 0, np.inf, f"{source}: split {split['text']}")


def _value_change(reader: Reader, rule: Mapping[str, Any], source: str) -> None:
    """A change of a prediction and one of the two give the other."""
    change = rule["value_change"]
    if not finite(change) or rule["old"] is None or rule["new"] is None:
        return
    for side, other, sign in (("old", "new", -1), ("new", "old", 1)):
        leaf, value = rule[side]["leaf"], rule[other]["value"]
        strength = reader.strength.get(side)
        if value is None or strength is None or not reader.census.classifier:
            continue
        shown = reader._shown(side, leaf)
        if len(reader.census.classes) == 2:
            middle = value[shown] + sign * change
            part, rows = reader.trained(side, leaf, shown), reader.trained(side, leaf)
            near = (middle - 0.0011, middle + 0.0011)
            reader.predicted(part, rows, near, strength, f"{source}: value_change {change}")


def _diff_rule(reader: Reader, half: Mapping[str, Any], side: str, source: str) -> None:
    census, leaf = reader.census, half["leaf"]
    here, shown = census.at(side, leaf), reader._shown(side, leaf)
    rows, everyone = census.count(atoms=here), census.count()
    part = census.count(atoms=here, outcome=shown)
    words = half.get("told") or {}
    _told_count(reader, rows, half["rows"], f"{source}: rows")
    reader.words(rows, everyone, words.get("rows"), f"{source}: told rows")
    reader.predicted_words(side, leaf, words.get("predicts"), source)
    if half.get("told") is None and (share := told(half["share"])) is not None:
        reader.share(rows, everyone, share, f"{source}: share {half['share']}")
    if census.classifier:
        reader.words(part, rows, words.get("observed"), f"{source}: told observed")
        _told_count(reader, part, half["outcomes"], f"{source}: outcomes")
        if (share := told(half["outcome_rate"])) is not None:
            reader.share(part, rows, share, f"{source}: outcome_rate {half['outcome_rate']}")
        strength = reader.strength.get(side)
        if half["value"] is not None and strength is not None:
            for k, value in enumerate(half["value"]):
                own = reader.trained(side, leaf, k)
                place = f"{source}: value {value}"
                reader.predicted(
                    own, reader.trained(side, leaf), rounded(value, 3), strength, place
                )
    trained = half["trained_on"] or {}
    if isinstance(trained, Mapping):
        rows, part = reader.trained(side, leaf), reader.trained(side, leaf, shown)
        _told_count(reader, rows, trained.get("rows"), f"{source}: trained_on rows")
        if census.classifier:
            _told_count(reader, part, trained.get("outcomes"), f"{source}: trained_on outcomes")


def _told_count(reader: Reader, of: Coefficients, value: Any, source: str) -> None:
    if finite(value):
        reader.count(of, value, value, f"{source} {value}")
    elif isinstance(value, str) and (found := read_count(f"{value} of 1")) is not None:
        reader.count(of, found.low, found.high, f"{source} {value!r}")
    elif isinstance(value, (list, tuple)) and len(value) == 2 and all(map(finite, value)):
        reader.count(of, value[0], value[1], f"{source} {value}")


def read_document(reader: Reader, document: Mapping[str, Any], source: str = "--json") -> None:
    """Read what ``--json`` prints of a retraining or a comparison."""
    census, everyone = reader.census, reader.census.count()
    if (share := told(document.get("flips"))) is not None:
        reader.share(census.event("flips"), everyone, share, f"{source}: flips")
    for event in EVENTS[1:]:
        share = told((document.get("risk_moved") or {}).get(event))
        if share is not None:
            reader.share(census.event(event), everyone, share, f"{source}: {event}")
    score = document.get("score")
    if score and score["name"] == "AUC" and len(census.classes) == 2:
        for side in ("old", "new"):
            if (area := told(score[side])) is not None:
                reader.area(side, area)
    for gate in document["plan"]["clauses"]:
        event = gate["name"].removeprefix("max_")
        if event in EVENTS:
            for key in ("measured", "text"):
                value = gate[key]
                if isinstance(value, str):
                    value = value.split(",")[0]
                if (share := told(value)) is not None:
                    reader.share(census.event(event), everyone, share, f"{source}: gate {value}")
    read = document.get("read") or ()
    read = [read] if isinstance(read, Mapping) else read
    for rows, table in zip(("new", "old"), read, strict=False):
        _read_table(reader, table, rows, f"{source}: read {rows} rows")
    for row in document.get("performance") or ():
        _performance(reader, row, "", source)
    for column, tables in document.get("subgroups", {}).items():
        for row in tables.get("flips") or ():
            _flips_row(reader, row, column, source)
        for row in tables.get("performance") or ():
            _performance(reader, row, column, source)
    for row in document.get("frontier") or ():
        _kept(reader, row)
        for event in EVENTS:
            _candidate(reader, row, event, f"{source}: frontier")
    read_diff(reader, document["diff"], f"{source}: diff")


def _read_table(reader: Reader, table: Mapping[str, Any], rows: str, source: str) -> None:
    """Read what is said of a table before the work: its rows, and those of each outcome."""
    census = reader.census
    if finite(table["rows"]):
        n = table["rows"]
        reader.count(census.count(rows), n, n, f"{source}: {n}")
    for name, n in ((table["target"] or {}).get("classes") or {}).items():
        outcome = census.count(rows, outcome=census.classes.index(str(name)))
        if finite(n):
            reader.count(outcome, n, n, f"{source}: {n} with {name}")


def _group(reader: Reader, column: str, name: Any) -> str | None:
    """Name of a subgroup as the census knows it; None where it is another one."""
    return str(name) if not column or str(name) in reader.census.groups.get(column, ()) else None


def _flips_row(reader: Reader, row: Mapping[str, Any], column: str, source: str) -> None:
    group = _group(reader, column, row["group"])
    if group is None:
        return
    everyone = reader.census.count(column=column, group=group)
    where = f"{source}: {column} {group}"
    _told_count(reader, everyone, row["n"], f"{where}: n")
    for event in EVENTS:
        if (share := told(row[event])) is not None:
            hits = reader.census.event(event, column, group)
            reader.share(hits, everyone, share, f"{where}: {event} {row[event]}")


def _performance(reader: Reader, row: Mapping[str, Any], column: str, source: str) -> None:
    group = _group(reader, column, row["group"])
    if group is None:
        return
    group = group if column else ""
    where = f"{source}: {column} {group}: {row['metric']}"
    if row.get("told") != "hidden":
        reader.measure_row(row["metric"], row, 3, column, group, where)


def _kept(reader: Reader, row: Mapping[str, Any]) -> None:
    """Keeping the tree scores what the deployed tree does on the new rows."""
    score = row.get("score")
    if row["candidate"] != "keep" or len(reader.census.classes) != 2 or not score:
        return
    digits = decimals(str(score))
    reader.area("old", exact(float(score)) if digits > 6 else rounded(float(score), digits))


def _candidate(reader: Reader, row: Mapping[str, Any], event: str, source: str) -> None:
    value = row.get(event)
    share = reader.event_share(float(value)) if finite(value) else told(value)
    known = reader.candidates.get(str(row["candidate"]))
    if share is not None and known is not None:
        name = f"{source}: candidate {row['candidate']}: {event} {row[event]}"
        reader.candidate(known, event, share, name)


# -- tables and words ----------------------------------------------------------------------


def read_candidates(reader: Reader, text: str, source: str = "candidates.csv") -> None:
    """Read the table of candidates."""
    for row in csv.DictReader(io.StringIO(text)):
        _kept(reader, row)
        for event in EVENTS:
            value: Any = row.get(event)
            with suppress(TypeError, ValueError):
                value = float(value)
            _candidate(reader, {**row, event: value}, event, source)


def read_rule_words(reader: Reader, text: str, source: str) -> None:
    """Read what ``diff.md``, standard output or another text says beside each rule."""
    for pattern in (_MARKDOWN_RULE, _TEXT_RULE):
        for found in pattern.finditer(text):
            _facts(reader, int(found["number"]), unescape(plain(found["facts"])), source)
    for found in _ALL.finditer(plain(text)):
        n = int(found["n"].replace(",", ""))
        reader.count(reader.census.count(), n, n, f"{source}: rows")
        if (share := read_share(found["share"])) is not None:
            flips = reader.census.event("flips")
            reader.share(flips, reader.census.count(), share, f"{source}: {found[0]!r}")


def _facts(reader: Reader, number: int, facts: str, source: str) -> None:
    census = reader.census
    sides = [side for side in ("old", "new") if number in reader.leaf_of_rule[side]]
    for fact in facts.split("; "):
        if fact.startswith("predicts "):
            words = [share_words(word) for word in fact.split(" -> ")]
            words = words * len(sides) if len(words) == 1 else words
            for side, word in zip(sides, words, strict=True):
                leaf = reader.leaf_of_rule[side][number]
                reader.predicted_words(side, leaf, word, f"{source}: rule {number} {side}")
        for start in ("observed in training ", "observed in the rows ", "rows "):
            if not fact.startswith(start):
                continue
            words = fact.removeprefix(start).split(" -> ")
            # What reads the same before and now is written once.
            words = words * len(sides) if len(words) == 1 else words
            for side, word in zip(sides, words, strict=True):
                leaf = reader.leaf_of_rule[side][number]
                here, shown = census.at(side, leaf), reader._shown(side, leaf)
                where = f"{source}: rule {number} {side}: {start.strip()}"
                if start == "rows ":
                    reader.words(census.count(atoms=here), census.count(), word, where)
                elif not census.classifier:
                    continue
                elif "training" in start:
                    rows = reader.trained(side, leaf)
                    reader.words(reader.trained(side, leaf, shown), rows, word, where)
                else:
                    rows = census.count(atoms=here)
                    reader.words(census.count(atoms=here, outcome=shown), rows, word, where)
            break


def read_sentences(reader: Reader, text: str, source: str) -> None:
    """Read the sentences of an explanation that count people or quote measures."""
    census, everyone = reader.census, reader.census.count()
    text = plain(text)
    for found in _SENTENCE.finditer(text):
        event = _event_of(found["event"])
        count = read_count(found["count"])
        if event is not None and count is not None:
            reader.count(census.event(event), count.low, count.high, f"{source}: {found[0]!r}")
            reader.count(everyone, count.total, count.total, f"{source}: {found[0]!r}")
    for found in _AGAINST.finditer(text):
        if (share := read_share(found["deployed"])) is not None:
            reader.measured(found["measure"], "old", share, "", "", f"{source}: {found[0]!r}")
    for found in _AREA.finditer(text):
        number = found["against"] or found["before"] or found["kept"]
        if number is not None and len(census.classes) == 2:
            reader.area("old", rounded(float(number), decimals(number)))


def _event_of(words: str) -> str | None:
    if re.match(r"The decision changes|The prediction moves by more than 5 ?%", words):
        return "flips"
    moved = re.match(r"The (risk of .*|prediction) moves by more than 5 points$", words)
    return "moved_5" if moved else None


def read_listing(reader: Reader, text: str, side: str, source: str) -> None:
    """Read a listing of a tree, as ``fit`` and ``show`` print it, leaves from the top down."""
    lines = [line for line in plain(text).splitlines() if "|-- " in line]
    depths = [line.index("|-- ") for line in lines]
    ends = [depth >= after for depth, after in zip(depths, [*depths[1:], 0], strict=True)]
    told = [line for line, end in zip(lines, ends, strict=True) if end]
    leaves = list(reader.census.trees[side].boxes)
    assert len(told) == len(leaves), f"expected a line per leaf, got {len(told)}"
    for leaf, line in zip(leaves, told, strict=True):
        shown = reader._shown(side, leaf)
        words = line.rpartition(" (")[2].rstrip(")")
        for part in words.split("; "):
            if part.startswith("observed "):
                rows, counted = reader.trained(side, leaf), reader.trained(side, leaf, shown)
                if reader.census.classifier:
                    reader.words(counted, rows, part, f"{source}: leaf {leaf}")
            elif part.startswith("predicts "):
                reader.predicted_words(side, leaf, share_words(part), f"{source}: leaf {leaf}")
