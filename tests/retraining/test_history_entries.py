"""What may be written into a history, and what is refused before anything is."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from steadytree.evaluation.plan_check import PlanCheck as EmptyCheck
from steadytree.exceptions import InputError
from steadytree.retraining.history_chain import (
    Ledger,
    _scores_of,
    checked_name,
    checked_scores,
    checked_text,
    clauses_not_held,
    decide_alike,
    decision_entry,
    held_checks,
    iso_date,
)
from steadytree.tree.json import tree_to_dict
from steadytree.tree.tree import Tree
from tests.diff.trees import Leaf, Split, build
from tests.retraining.histories import A, B, PlanCheck


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


NEEDED = {
    "version": "event date number status note scores check previous dissimilarity_to_previous "
    "dissimilarity_to_first space tree",
    "decision": "event date number status by reason",
}


@pytest.mark.parametrize("event", NEEDED)
def test_every_entry_that_lacks_is_named(event: str) -> None:
    with pytest.raises(ValueError, match="expected entries") as error:
        Ledger().take({"event": event})
    lacking = sorted(set(NEEDED[event].split()) - {"event"})
    assert f"expected entries {lacking}, got none" == str(error.value)


@pytest.mark.parametrize("event", ["approval", None, 3, ["version"]])
def test_events_that_nobody_knows(event: Any) -> None:
    with pytest.raises(ValueError, match="expected the event version or decision, got"):
        Ledger().take({"event": event})


def version(number: Any, **changes: Any) -> dict[str, Any]:
    entry = {"event": "version", "number": number, "date": "2024-01-31", "note": "", "scores": {}}
    apart = {"previous": None, "dissimilarity_to_previous": None, "dissimilarity_to_first": None}
    entry |= {"status": "proposed", "check": None, "space": None}
    return {**entry, **apart, "tree": tree_to_dict(A), **changes}


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
        {"check": [True]},
        {"space": 3},
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
    [{"date": 20240131}, {"reason": None}, {"reason": ["better"]}, {"by": 7}],
)
def test_a_decision_of_another_kind_is_named(changes: dict[str, Any]) -> None:
    (name,) = changes
    ledger = Ledger()
    ledger.take(version(1))
    decision = decision_entry(1, "approved", "me", "", "2024-01-31")
    with pytest.raises(ValueError, match=f"expected another kind of {name}, got"):
        ledger.take(decision | changes)
    assert ledger.approved == []


@pytest.mark.parametrize(("previous", "fits"), [(0, False), (1, True), (2, False), (3, False)])
def test_a_version_follows_none_that_is_later(previous: int, fits: bool) -> None:
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
    assert ledger.numbers == [1, 2]
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


def test_a_decision_about_a_refused_version_is_a_forgery() -> None:
    ledger = Ledger()
    with pytest.raises(ValueError, match="expected the check that refused the version, got none"):
        ledger.take(version(1, status="refused"))
    ledger.take(version(1, status="refused", check={"held": False}))
    for status in ("approved", "rejected"):
        with pytest.raises(ValueError, match="expected no decision about version 1, which was ref"):
            ledger.take(decision_entry(1, status, "me", "", "2024-01-31"))
    assert ledger.status(1) == "refused"
    assert ledger.approved == []


@pytest.mark.parametrize("status", ["approved", "rejected", "", None, ["proposed"]])
def test_a_version_is_recorded_as_one_of_three(status: Any) -> None:
    with pytest.raises(ValueError, match="expected the status proposed or refused or kept, got"):
        Ledger().take(version(1, status=status))


@pytest.mark.parametrize(
    ("check", "words"),
    [
        (None, ""),
        ({}, ""),
        ({"clauses": 3}, ""),
        ({"clauses": [7, {"text": "a", "verdict": "held"}]}, ""),
        ({"clauses": [{"text": "a: broken", "verdict": "broken"}, {"name": "b"}]}, "a: broken; b"),
    ],
)
def test_clauses_that_did_not_hold_are_named(check: Any, words: str) -> None:
    assert clauses_not_held({"check": check}) == words


# -- what is brought along -------------------------------------------------------------------


def with_categories(*colours: str, left: set[int], **changes: Any) -> Tree:
    root = build(Split(3, frozenset(left), Leaf(0, 0.1), Leaf(1, 0.9)))
    assert root.categories[3] is not None
    categories = (*root.categories[:3], colours, root.categories[4])
    return root.replace(space=None, categories=categories, label=root.label, **changes)


def test_trees_are_told_apart_by_what_they_decide() -> None:
    assert decide_alike(A, A.replace(metadata={"by": "me"}, label=A.label))
    assert decide_alike(A, A.replace(space=None, label=A.label, weight=2 * A.weight))
    assert not decide_alike(A, B)
    for changed in (
        A.replace(value=A.value[:, ::-1], label=A.label),
        A.replace(value=0.99 * A.value + 0.005, label=A.label),
        A.replace(label=A.label[[0, 2, 1]]),
        A.replace(missing_left=~A.missing_left, label=A.label),
        A.replace(feature_names=tuple("abcde"), space=None, label=A.label),
        build(Leaf(0, 0.5)),
    ):
        assert not decide_alike(A, changed)
        assert not decide_alike(changed, A)


def test_categories_are_compared_by_name() -> None:
    tree = with_categories("red", "green", left={0})
    assert decide_alike(tree, with_categories("green", "red", left={1}))
    assert not decide_alike(tree, with_categories("green", "red", left={0}))
    # A category that one of them does not know goes where unknown ones go.
    for unknown_left in (False, True):
        missing_left = [unknown_left, False, False]
        two = with_categories("red", "green", left={0}, missing_left=missing_left)
        for blue in (set(), {2}):
            three = with_categories(
                "red", "green", "blue", left={0} | blue, missing_left=missing_left
            )
            alike = bool(blue) == unknown_left
            assert decide_alike(two, three) == decide_alike(three, two) == alike


def test_the_scores_of_a_response_are_named_after_r2() -> None:
    row = {"score": 0.4, "score_se": 0.1, "score_change": 0.2, "flips": 0.3}
    tree = SimpleNamespace(is_classifier=False)
    frontier = pd.DataFrame([row], ["chosen one"])
    result = SimpleNamespace(tree=tree, frontier=frontier)
    found = _scores_of(result, "chosen one")
    assert found == {"r2": 0.4, "r2_se": 0.1, "r2_change": 0.2, "flips": 0.3}


def test_a_check_that_does_not_hold_is_the_one_recorded() -> None:
    held, broken = PlanCheck(True), PlanCheck(False)
    assert held_checks(None, None) == (True, None)
    assert held_checks(None, EmptyCheck()) == (True, None)
    assert held_checks(None, held) == (True, held.to_dict())
    for checks in ((held, broken), (broken, held), (None, broken)):
        assert held_checks(*checks) == (False, broken.to_dict())
    with pytest.raises(InputError, match=r"expected the check of a plan, got dict; pass what chec"):
        held_checks({"held": True})


def test_a_decision_in_writing() -> None:
    assert decision_entry(np.int64(3), "approved", "me", "why", "2024-01-31") == {
        "event": "decision",
        "number": 3,
        "status": "approved",
        "by": "me",
        "reason": "why",
        "date": "2024-01-31",
    }
