"""What may be written into a history, and what is refused before anything is."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest

from steadytree.core.format import tree_to_dict
from steadytree.exceptions import InputError
from steadytree.retraining.history_entries import (
    Ledger,
    checked_name,
    checked_scores,
    checked_text,
    decision_entry,
    iso_date,
)
from tests.retraining.histories import A


@pytest.mark.parametrize(
    "value", [None, math.nan, math.inf, "0.8", "high", [0.8], 10**400, 1j, np.nan, pd.NA, True]
)
def test_scores_are_finite_numbers(value: Any) -> None:
    with pytest.raises(InputError, match="expected a finite number as the score 'a', got") as error:
        checked_scores({"b": 1.0, "a": value})
    assert len(str(error.value)) < 500


@pytest.mark.parametrize("scores", [0.8, [0.8], "auc", [("auc", 0.8)]])
def test_scores_have_names(scores: Any) -> None:
    with pytest.raises(InputError, match="expected scores by name, got"):
        checked_scores(scores)
    with pytest.raises(InputError, match="expected text as the name of a score, got 3"):
        checked_scores({3: 0.8})


def test_scores_may_be_numpys() -> None:
    given = {"a": 1, "b": np.float32(0.5), "c": np.int8(-3)}
    assert checked_scores(given) == {"a": 1.0, "b": 0.5, "c": -3.0}


@pytest.mark.parametrize("text", [None, 3, b"text", ["text"], math.nan])
def test_reasons_are_text(text: Any) -> None:
    with pytest.raises(InputError, match=r"expected text as reason, got .*; pass reason='...'"):
        checked_text(text, "reason")


def test_text_that_no_file_can_hold() -> None:
    with pytest.raises(InputError, match="expected reason in whole characters, got half of one"):
        checked_text("half \ud83d", "reason")
    with pytest.raises(InputError, match="expected by in whole characters"):
        checked_name("Dr \udc41dams")


@pytest.mark.parametrize("name", ["Dr Adams", "李", "Ünal", "board 7", "می\u200cخواهم"])
def test_names_of_the_world(name: str) -> None:
    assert checked_name(name) == name


@pytest.mark.parametrize("on", ["yesterday", "", "2024-13-01", 20240131, pd.NaT, ["2024-01-31"], 0])
def test_dates_that_are_none(on: Any) -> None:
    with pytest.raises(InputError, match=r"expected a date such as 2024-05-31 .*, got"):
        iso_date(on)


def test_dates() -> None:
    assert iso_date("2024-01-31") == "2024-01-31"
    assert iso_date(date(2024, 1, 31)) == "2024-01-31"
    assert iso_date(datetime(2024, 1, 31, 9, tzinfo=UTC)) == "2024-01-31T09:00:00+00:00"
    assert iso_date(pd.Timestamp("2024-01-31")) == "2024-01-31T00:00:00"
    assert datetime.fromisoformat(iso_date(None)).tzinfo is not None


def test_decimals_are_not_guessed() -> None:
    with pytest.raises(InputError, match="expected a finite number"):
        checked_scores({"auc": Decimal("0.8")})


def test_a_ledger_takes_no_number_twice_whatever_was_announced() -> None:
    ledger = Ledger()
    story = {"event": "recovery", "date": "2024-01-31", "copy": "x", "sha256": "", "set_aside": []}
    ledger.take({**story, "versions": [5]})
    assert ledger.next_number == 5
    with pytest.raises(ValueError, match="expected a decision about an earlier version, got 5"):
        ledger.take(decision_entry(5, "approved", "me", "", "2024-01-31"))
    with pytest.raises(ValueError, match="expected a whole number from 1 as the version, got 0"):
        ledger.take({**story, "versions": [0]})
    with pytest.raises(ValueError, match="expected texts as set_aside"):
        ledger.take({**story, "versions": [], "set_aside": [1]})


NEEDED = {
    "version": "date number note scores previous dissimilarity_to_previous dissimilarity_to_first "
    "space tree",
    "decision": "date number status by reason",
    "recovery": "date versions set_aside copy sha256",
}


@pytest.mark.parametrize("event", NEEDED)
def test_every_entry_that_lacks_is_named(event: str) -> None:
    with pytest.raises(ValueError, match="expected entries") as error:
        Ledger().take({"event": event})
    assert f"expected entries {sorted(NEEDED[event].split())}, got none" == str(error.value)


@pytest.mark.parametrize("event", ["approval", None, 3, ["version"]])
def test_events_that_nobody_knows(event: Any) -> None:
    with pytest.raises(ValueError, match="expected the event version or decision or recovery, got"):
        Ledger().take({"event": event})


def version(number: Any, **changes: Any) -> dict[str, Any]:
    entry = {"event": "version", "number": number, "date": "2024-01-31", "note": "", "scores": {}}
    apart = {"previous": None, "dissimilarity_to_previous": None, "dissimilarity_to_first": None}
    return {**entry, **apart, "space": None, "tree": tree_to_dict(A), **changes}


@pytest.mark.parametrize(
    "changes",
    [
        {"date": 20240131},
        {"note": None},
        {"scores": [0.8]},
        {"scores": {"auc": "high"}},
        {"scores": {"auc": True}},
        {"previous": 1.5},
        {"previous": True},
        {"dissimilarity_to_previous": "0.1"},
        {"dissimilarity_to_first": False},
    ],
)
def test_an_entry_of_another_kind_is_named(changes: dict[str, Any]) -> None:
    (name,) = changes
    ledger = Ledger()
    with pytest.raises(ValueError, match=f"expected another kind of ({name}|auc), got"):
        ledger.take(version(1, **changes))
    assert ledger.versions == {}
    ledger.take(version(1, scores={"auc": None, "brier": 1}, dissimilarity_to_first=0))


@pytest.mark.parametrize(
    "changes",
    [{"date": 20240131}, {"reason": None}, {"reason": ["better"]}],
)
def test_a_decision_of_another_kind_is_named(changes: dict[str, Any]) -> None:
    (name,) = changes
    ledger = Ledger()
    ledger.take(version(1))
    decision = decision_entry(1, "approved", "me", "", "2024-01-31")
    with pytest.raises(ValueError, match=f"expected another kind of {name}, got"):
        ledger.take(decision | changes)
    assert ledger.approved == []


@pytest.mark.parametrize(
    "changes",
    [{"date": 20240131}, {"versions": {}}, {"set_aside": "line 3"}, {"copy": None}],
)
def test_a_recovery_of_another_kind_is_named(changes: dict[str, Any]) -> None:
    (name,) = changes
    ledger = Ledger()
    story = {"event": "recovery", "date": "2024-01-31", "copy": "x", "sha256": ""}
    with pytest.raises(ValueError, match=f"expected another kind of {name}, got"):
        ledger.take({**story, "set_aside": [], "versions": [], **changes})
    assert ledger.recoveries == []


@pytest.mark.parametrize(("previous", "fits"), [(0, False), (1, True), (2, True), (3, False)])
def test_a_version_follows_none_that_is_later(previous: int, fits: bool) -> None:
    """Its own number may be that of another: two writers could give it twice in old files."""
    ledger = Ledger()
    ledger.take(version(1))
    if fits:
        ledger.take(version(2, previous=previous))
    else:
        with pytest.raises(ValueError, match=f"an earlier version as previous, got {previous}"):
            ledger.take(version(2, previous=previous))
    assert ledger.numbers == ([1, 2] if fits else [1])


@pytest.mark.parametrize("number", [0, -1, True, "1", 1.0, None])
def test_a_version_is_a_whole_number(number: Any) -> None:
    with pytest.raises(ValueError, match="expected a whole number from 1 as the version, got"):
        Ledger().take(version(number))
    with pytest.raises(ValueError, match="expected a whole number from 1 as the version, got"):
        Ledger().take({**decision_entry(1, "approved", "me", "", "2024-01-31"), "number": number})


def test_what_lines_add_up_to() -> None:
    ledger = Ledger()
    for number in (1, 2):
        ledger.take(version(number))
    with pytest.raises(ValueError, match="expected version 3, got 2"):
        ledger.take(version(2))
    with pytest.raises(ValueError, match="expected version 3, got 4"):
        ledger.take(version(4))
    assert (ledger.numbers, ledger.next_number) == ([1, 2], 3)
    for number, status in ((2, "approved"), (1, "approved")):
        ledger.take(decision_entry(number, status, "me", "", "2024-01-31"))
    assert ledger.approved == [2, 1]
    other = ledger.copy()
    ledger.take(decision_entry(1, "rejected", "me", "", "2024-02-01"))
    assert (ledger.approved, other.approved) == ([2], [2, 1])
    ledger.take(decision_entry(2, "approved", "me", "", "2024-02-01"))
    assert ledger.approved == [2]
    assert ledger.decisions[1]["status"] == "rejected"
    with pytest.raises(ValueError, match="expected the status approved or rejected, got 'gone'"):
        ledger.take(decision_entry(1, "gone", "me", "", "2024-02-01"))
    story = {"event": "recovery", "date": "2024-01-31", "copy": "x", "sha256": "", "set_aside": []}
    ledger.take({**story, "versions": [7, 5]})
    assert ledger.next_number == 7
    ledger.take(version(7))
    assert ledger.next_number == 5
    ledger.take(version(5))
    assert (ledger.numbers, ledger.next_number) == ([1, 2, 5, 7], 8)
    assert (other.numbers, other.next_number) == ([1, 2], 3)


def test_a_decision_in_writing() -> None:
    assert decision_entry(np.int64(3), "approved", "me", "why", "2024-01-31") == {
        "event": "decision",
        "number": 3,
        "status": "approved",
        "by": "me",
        "reason": "why",
        "date": "2024-01-31",
    }
