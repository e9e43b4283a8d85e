"""Every gate, below, at and above its limit, alone and with the others."""

from __future__ import annotations

import itertools
import json
import math
from typing import Any

import pytest

from steadytree.evaluation.gates import COUNTED, GATES, GateFault, check_gates
from steadytree.exceptions import GateError, InputError
from tests.diff.trees import Leaf, Split, build

MEASURES = {
    "max_dissimilarity": "dissimilarity",
    "max_flips": "flips",
    "max_moved_5": "moved_5",
    "max_moved_10": "moved_10",
    "min_score_change": "score_change",
    "max_leaves": "n_leaves",
}
# (limit, {measured: whether it holds})
TABLE: dict[str, tuple[float, dict[float, bool]]] = {
    "max_dissimilarity": (0.1, {0.0: True, 0.1: True, 0.1001: False, 1.0: False}),
    "max_flips": (0.05, {0.0: True, 0.05: True, 0.0501: False, 1.0: False}),
    "max_moved_5": (0.2, {0.0: True, 0.2: True, 0.2001: False, 1.0: False}),
    "max_moved_10": (0.05, {0.0: True, 0.05: True, 0.0501: False, 1.0: False}),
    "min_score_change": (-0.01, {0.2: True, 0.0: True, -0.01: True, -0.0101: False}),
    "max_leaves": (8, {1: True, 8: True, 9: False}),
}
ONE_BY_ONE = [
    (name, limit, measured, holds)
    for name, (limit, cases) in TABLE.items()
    for measured, holds in [*cases.items(), (math.nan, False)]
]


@pytest.mark.parametrize(("name", "limit", "measured", "holds"), ONE_BY_ONE)
def test_each_gate_alone(name: str, limit: float, measured: float, holds: bool) -> None:
    check = check_gates({MEASURES[name]: measured}, **{name: limit})
    (result,) = check.results
    assert (result.name, result.limit, result.passed) == (name, limit, holds)
    assert check.passed is holds
    assert bool(check) is holds
    assert result.text.endswith("passed" if holds else "failed")
    content = json.loads(json.dumps(check.to_dict(), allow_nan=False))
    assert content["passed"] is holds
    assert content["results"][0]["measured"] == (None if math.isnan(measured) else measured)
    if holds:
        check.raise_if_failed()
    else:
        with pytest.raises(GateError, match="got 1 that did not") as caught:
            check.raise_if_failed()
        assert caught.value.exit_code == 3


@pytest.mark.parametrize(
    ("limits", "measures", "text"),
    [
        (
            {"max_dissimilarity": 0.1},
            {"dissimilarity": 0.123},
            "dissimilarity 12.3 %, at most 10.0 %: failed",
        ),
        (
            {"max_flips": 0.05},
            {"flips": math.nan},
            "rows with another decision unknown, at most 5.0 %: failed",
        ),
        (
            {"max_moved_5": 0.2},
            {"moved_5": 0.2},
            "rows whose risk moves over 5 points 20.0 %, at most 20.0 %: passed",
        ),
        (
            {"max_moved_10": 1},
            {"moved_10": 0.0},
            "rows whose risk moves over 10 points 0.0 %, at most 100.0 %: passed",
        ),
        (
            {"min_score_change": -0.01},
            {"score_change": 0.02},
            "change of the score +0.020, at least -0.010: passed",
        ),
        ({"max_leaves": 8}, {"n_leaves": 9}, "leaves 9, at most 8: failed"),
    ],
)
def test_each_gate_in_words(limits: Any, measures: Any, text: str) -> None:
    check = check_gates(measures, **limits)
    assert check.to_text() == text
    (entry,) = check.to_dict()["results"]
    assert (entry["name"], entry["limit"], entry["text"]) == (*limits, *limits.values(), text)
    assert entry["passed"] is text.endswith("passed")


def test_every_gate_that_failed_is_listed() -> None:
    check = check_gates({"flips": 0.2, "n_leaves": 9, "dissimilarity": 0.0}, max_flips=0.1)
    with pytest.raises(GateError, match="got 1 that did not: rows with another decision"):
        check.raise_if_failed()
    both = check_gates({"flips": 0.2, "n_leaves": 9}, max_flips=0.1, max_leaves=8)
    with pytest.raises(GateError, match=r"at most 10\.0 %: failed; leaves 9, at most 8: failed; "):
        both.raise_if_failed()
    assert both.to_text().splitlines() == [result.text for result in both.failed]


def test_a_share_is_rounded_once() -> None:
    """11.8541 % is 11.9 % here as everywhere else."""
    check = check_gates({"flips": 0.118541}, max_flips=0.2)
    assert "11.9 %" in check.to_text()
    assert check.to_dict()["results"][0]["measured"] == 0.118541


def test_limits_at_the_ends_make_sense() -> None:
    ends = {"max_dissimilarity": (0, 1), "max_flips": (0, 1), "max_leaves": (1, 10_000)}
    for name, limits in ends.items():
        for limit in limits:
            assert check_gates({MEASURES[name]: float(limit)}, **{name: limit}).passed
    # A limit that people type holds to its last digit; a billionth more does not.
    assert check_gates({"flips": 0.1 + 0.2}, max_flips=0.3).passed
    assert not check_gates({"flips": 0.3 + 1e-9}, max_flips=0.3).passed
    assert check_gates({"score_change": 0.1 - 0.3}, min_score_change=-0.2).passed
    assert not check_gates({"score_change": -0.2 - 1e-9}, min_score_change=-0.2).passed


def test_a_score_that_is_given_counts_for_a_subject_without_one() -> None:
    measures = {"score_change": None, "flips": 0.0}
    with pytest.raises(InputError, match="pass rows"):
        check_gates(measures, min_score_change=0.0)
    (result,) = check_gates(measures, min_score_change=0.0, score_change=0.25).results
    assert result.measured == 0.25


# For every gate: not set, set and held, set and not held.
STATES = list(itertools.product(["unset", "held", "broken"], repeat=len(GATES)))


def test_every_combination() -> None:
    for states in STATES:
        _check_combination(states)


def _check_combination(states: tuple[str, ...]) -> None:
    limits: dict[str, Any] = {}
    measures: dict[str, float] = {}
    for name, state in zip(TABLE, states, strict=True):
        limit, cases = TABLE[name]
        measures[MEASURES[name]] = next(m for m, ok in cases.items() if ok == (state != "broken"))
        if state != "unset":
            limits[name] = limit
    check = check_gates(measures, **limits)
    assert check.passed == ("broken" not in states)
    assert len(check.results) == len(GATES) - states.count("unset")
    assert len(check.failed) == states.count("broken")
    assert [r.name for r in check.results] == list(limits)


def test_a_diff_knows_all_but_the_score() -> None:
    from steadytree.diff import diff_trees
    from tests.diff.trees import rows

    old = build(Split(0, 0.5, Leaf(0, 0.1), Leaf(1, 0.9)))
    new = build(Split(0, 0.6, Leaf(0, 0.1), Leaf(1, 0.9)))
    diff = diff_trees(old, new, rows(0))
    check = check_gates(diff, max_dissimilarity=1, max_flips=1, max_leaves=2)
    assert [r.measured for r in check.results] == [diff.dissimilarity, diff.flips, 2.0]
    with pytest.raises(InputError, match="change of the score for min_score_change, got none"):
        check_gates(diff, min_score_change=0)
    assert not check_gates(diff, min_score_change=0, score_change=-0.02)
    with pytest.raises(InputError, match="rows with another decision for max_flips"):
        check_gates(diff_trees(old, new), max_flips=0.1)


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"max_dissimilarity": 1.5}, "expected a share between 0 and 1 as max_dissimilarity"),
        ({"max_flips": -0.1}, "expected a share between 0 and 1 as max_flips, got -0.1"),
        ({"min_score_change": math.nan}, "expected a number as min_score_change, got nan"),
        ({"min_score_change": -math.inf}, "expected a number as min_score_change, got -inf"),
        ({"max_leaves": 2.5}, "expected a whole number from 1 as max_leaves"),
        ({"max_leaves": 0}, "expected a whole number from 1 as max_leaves"),
    ],
)
def test_limits_that_make_no_sense(limits: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        check_gates(dict.fromkeys(MEASURES.values(), 0.0), **limits)


def test_no_gate_holds_trivially() -> None:
    check = check_gates({})
    assert check.passed
    assert check.to_dict() == {"passed": True, "results": []}
    check.raise_if_failed()


def test_unknown_subjects_are_named() -> None:
    with pytest.raises(InputError, match="got float"):
        check_gates(0.5, max_flips=1)
    with pytest.raises(InputError, match=r"got \['auc'\]"):
        check_gates({"auc": 0.5})
    assert set(TABLE) == set(GATES)


class Suspect:
    """Something whose flips were counted on a broken column."""

    def gate_measures(self) -> dict[str, float | None]:
        return {"dissimilarity": 0.05, "flips": 0.0, "n_leaves": 4.0}

    def gate_faults(self) -> list[GateFault]:
        return [
            GateFault.of_column("age", "is empty in these rows"),
            GateFault("nobody knows the scale", {"dissimilarity"}),
        ]


def test_a_measure_that_says_nothing_holds_no_limit() -> None:
    check = check_gates(Suspect(), max_flips=0.1, max_dissimilarity=0.1, max_leaves=5)
    assert [(r.name, r.passed) for r in check.results] == [
        ("max_dissimilarity", False),
        ("max_flips", False),
        ("max_leaves", True),
    ]
    assert check.to_text().splitlines()[:2] == [
        "dissimilarity 5.0 %, at most 10.0 %: failed, since nobody knows the scale",
        "rows with another decision 0.0 %, at most 10.0 %: "
        "failed, since column 'age' is empty in these rows",
    ]
    content = check.to_dict()["results"]
    assert [entry["faults"] for entry in content] == [
        ["nobody knows the scale"],
        ["column 'age' is empty in these rows"],
        [],
    ]
    with pytest.raises(GateError, match="since column 'age' is empty"):
        check.raise_if_failed()


def test_a_column_can_be_accepted_by_name_and_nothing_else() -> None:
    assert check_gates(Suspect(), max_flips=0.1, accept=["age"]).passed
    assert not check_gates(Suspect(), max_flips=0.1, accept=["weight"]).passed
    assert not check_gates(Suspect(), max_dissimilarity=0.1, accept=["age"]).passed
    fault = Suspect().gate_faults()[0]
    assert (fault.column, set(fault.measures)) == ("age", set(COUNTED))
    assert {"flips", "moved_5", "moved_10", "score_change"} == COUNTED
    with pytest.raises(InputError, match=r"expected a list of columns as accept.*\['age'\]"):
        check_gates(Suspect(), max_flips=0.1, accept="age")
