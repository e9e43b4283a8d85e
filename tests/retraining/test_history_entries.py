"""What may be written into a history, and what is refused before anything is."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest

from steadytree.exceptions import InputError
from steadytree.retraining.history_entries import (
    Ledger,
    checked_name,
    checked_scores,
    checked_text,
    decision_entry,
    iso_date,
)


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
