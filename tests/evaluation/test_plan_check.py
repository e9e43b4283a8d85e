"""Every clause of a plan: where it holds, where it breaks, and where it cannot be judged."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from steadytree.evaluation.plan import LIMITS, ChangePlan
from steadytree.evaluation.plan_check import (
    VERDICTS,
    ChangeMeasures,
    PlanFault,
    ScoreMeasures,
    check_plan,
    count_events,
)
from steadytree.evaluation.scores import wilson
from steadytree.exceptions import InputError, PlanError

HELD, BROKEN, NOT_JUDGED = VERDICTS
N = 1000


def share(hits: int, n: int = N) -> Any:
    return np.arange(n) < hits


def score(change: float, half: float, *, events: int = 200, **scores: Any) -> ScoreMeasures:
    known: dict[str, Any] = {"name": "AUC", "old": 0.8, "new": 0.8 + change, **scores}
    return ScoreMeasures(
        **known, change=change, low=change - half, high=change + half, events=events
    )


def measures(**given: Any) -> ChangeMeasures:
    known: dict[str, Any] = {
        "dissimilarity": 0.1,
        "n_leaves": 8,
        "used": {"age", "sex"},
        "keeps": lambda item: item == "root",
        "changed": share(20),
        "moves": np.where(share(20), 0.2, 0.0),
        "score": lambda rows: score(0.02, 0.01),
    }
    return ChangeMeasures(**{**known, **given})


CLAUSES: dict[str, tuple[dict[str, Any], dict[str, Any], str, str]] = {
    # what is asked, what is measured, the verdict, and words of the clause
    "few changed": ({"max_flips": 0.05}, {}, HELD, "decision 2.0 %, at most 5.0 %: held"),
    "many changed": ({"max_flips": 0.01}, {}, BROKEN, "decision 2.0 %, at most 1.0 %: broken"),
    "perhaps many changed": ({"max_flips": 0.02}, {}, BROKEN, "it could be as much as 3.1 %)"),
    "99 rows changed": (
        {"max_flips": 0.5},
        {"changed": share(0, 99)},
        NOT_JUDGED,
        "not judged (99 rows, at least 100 are needed)",
    ),
    "no row": ({"max_flips": 0.5}, {"changed": share(0, 0)}, NOT_JUDGED, "unknown, at most"),
    "nobody can be decided otherwise": (
        {"max_flips": 0.0},
        {"changed": share(0, 9), "same_decisions": True},
        HELD,
        "",
    ),
    "few moved": ({"max_moved_5": 0.05, "max_moved_10": 0.05}, {}, HELD, "over 5 points 2.0 %"),
    "many moved": ({"max_moved_5": 0.01, "max_moved_10": 0.01}, {}, BROKEN, "10 points 2.0 %"),
    "too few rows moved": (
        {"max_moved_5": 1.0, "max_moved_10": 1.0},
        {"moves": np.zeros(99)},
        NOT_JUDGED,
        "99 rows",
    ),
    "a small change": ({"max_dissimilarity": 0.1}, {}, HELD, "dissimilarity 10.0 %, at most 10.0"),
    "a large change": ({"max_dissimilarity": 0.0999}, {}, BROKEN, "dissimilarity 10.0 %"),
    "another yardstick": (
        {"max_dissimilarity": 0.5},
        {"faults": [PlanFault("the new tree brought its own space", {"dissimilarity"})]},
        NOT_JUDGED,
        "not judged (the new tree brought its own space)",
    ),
    "few leaves": ({"max_leaves": 8}, {}, HELD, "leaves 8, at most 8: held"),
    "many leaves": ({"max_leaves": 7}, {}, BROKEN, "leaves 8, at most 7: broken"),
    "leaves learnt from broken rows": (
        {"max_leaves": 8},
        {"faults": [PlanFault.of_column("age", "is empty in these rows", {"n_leaves"})]},
        NOT_JUDGED,
        "column 'age' is empty in these rows",
    ),
    "a better score": ({"min_score_change": 0.0}, {}, HELD, "change of the score +0.020"),
    "a worse score": ({"min_score_change": 0.03}, {}, BROKEN, "at least +0.030: broken"),
    "perhaps a worse score": (
        {"min_score_change": 0.0},
        {"score": lambda rows: score(0.02, 0.03)},
        BROKEN,
        "it could be as little as -0.010",
    ),
    "a score of 19 events": (
        {"min_score_change": -1},
        {"score": lambda rows: score(0.0, 0.0, events=19)},
        NOT_JUDGED,
        "19 events, at least 20 are needed",
    ),
    "no folds": (
        {"min_score_change": -1},
        {"score": lambda rows: score(math.nan, math.nan)},
        NOT_JUDGED,
        "change of the score unknown, at least -1.000: not judged (no rows were left out",
    ),
    "outcomes turned round": (
        {"min_score_change": 0.0, "min_gain": 0.1},
        {"score": lambda rows: score(0.147, 0.02, old=0.2, new=0.347)},
        NOT_JUDGED,
        "both trees predict worse than chance (AUC 0.200 and 0.347)",
    ),
    "responses worse than their mean": (
        {"min_score_change": 0.0},
        {"score": lambda rows: score(0.1, 0.02, name="R2", old=-0.4, new=-0.3)},
        NOT_JUDGED,
        "worse than chance (R2 -0.400 and -0.300)",
    ),
    "a gain": ({"min_gain": 0.02}, {}, HELD, "gain in the score +0.020, at least +0.020: held"),
    "no gain": ({"min_gain": 0.03}, {}, BROKEN, "gain in the score +0.020, at least +0.030"),
    "a gain on few events": (
        {"min_gain": 0.01},
        {"score": lambda rows: score(0.5, 0.1, events=2)},
        NOT_JUDGED,
        "2 events",
    ),
    "what is locked stays": ({"locked": "root"}, {}, HELD, "locked 'root': held"),
    "what is locked went": ({"locked": "age"}, {}, BROKEN, "locked 'age': broken"),
    "what is forbidden is not used": ({"forbid": "race"}, {}, HELD, "forbid 'race': held"),
    "what is forbidden is used": ({"forbid": "sex"}, {}, BROKEN, "forbid 'sex': broken"),
}


@pytest.mark.parametrize("name", CLAUSES)
def test_a_clause_holds_breaks_or_cannot_be_judged(name: str) -> None:
    asked, measured, verdict, words = CLAUSES[name]
    check = check_plan(ChangePlan(**asked), measures(**measured))
    assert {clause.verdict for clause in check.clauses} == {verdict}
    assert len(check.clauses) == len(asked)
    assert words in check.to_text()
    assert check.held is bool(check) is (verdict == HELD)
    assert check.not_held == (() if check.held else check.clauses)
    content = json.loads(json.dumps(check.to_dict(), allow_nan=False))
    assert content["held"] is check.held
    assert [c["text"] for c in content["clauses"]] == check.to_text().splitlines()
    if check.held:
        check.raise_if_not_held()
    else:
        with pytest.raises(PlanError, match=r"expected every clause .* to hold, got .*; keep the"):
            check.raise_if_not_held()


def test_every_limit_has_every_verdict_that_it_can_have() -> None:
    """A limit that is added must be added to the table above."""
    seen: dict[str, set[str]] = {}
    for asked, _, verdict, _ in CLAUSES.values():
        for name in asked:
            seen.setdefault(name, set()).add(verdict)
    assert set(seen) == {*LIMITS, "locked", "forbid"}
    for name, verdicts in seen.items():
        full = {HELD, BROKEN} if name in ("locked", "forbid") else set(VERDICTS)
        assert verdicts == full, name


def test_a_share_has_the_interval_of_the_table_of_flips() -> None:
    (clause,) = check_plan(ChangePlan(max_flips=0.05), measures()).clauses
    assert (clause.low, clause.high) == wilson(20, N)
    assert (clause.measured, clause.n) == (0.02, N)
    # A limit that people type holds to its last digit.
    exact = replace(measures(), dissimilarity=0.1 + 0.2)
    assert check_plan(ChangePlan(max_dissimilarity=0.3), exact).held


def test_a_tree_that_changes_nothing_holds_all_but_a_gain() -> None:
    same = measures(
        changed=share(0, 3),
        moves=np.zeros(3),
        dissimilarity=0.0,
        score=lambda rows: score(math.nan, math.nan),
        same_tree=True,
        faults=[PlanFault.of_column("age", "is empty")],
    )
    limits = {name: 0.0 for name in LIMITS if name.startswith("max_") and name != "max_leaves"}
    plan = ChangePlan(**limits, min_score_change=0.0, max_leaves=8, locked="root")
    assert check_plan(plan, same).held
    assert not check_plan(ChangePlan(min_gain=0.001), same).held


def test_limits_hold_in_every_group_of_a_column() -> None:
    table = pd.DataFrame({"sex": ["f"] * 500 + ["m"] * 450 + ["x"] * 50, "age": np.arange(N)})

    def of_rows(rows: Any) -> ScoreMeasures:
        return score(0.02, 0.01, events=len(rows) // 10)

    given = measures(table=table, score=of_rows)
    limits = {"max_flips": 0.05, "min_score_change": 0.0}
    check = check_plan(ChangePlan(per_group={"sex": limits}), given)
    assert [(c.name, c.group, c.verdict) for c in check.clauses] == [
        ("max_flips", "sex = f", BROKEN),
        ("max_flips", "sex = m", HELD),
        ("max_flips", "sex = x", NOT_JUDGED),
        ("min_score_change", "sex = f", HELD),
        ("min_score_change", "sex = m", HELD),
        ("min_score_change", "sex = x", NOT_JUDGED),
    ]
    first = check.clauses[0]
    assert (first.measured, first.n) == (20 / 500, 500)
    assert first.text.startswith("sex = f: rows with another decision 4.0 %, at most 5.0 %: broken")
    assert check.refusal().startswith("Where sex = f: rows with"), "its name as it is"
    quarters = check_plan(ChangePlan(per_group={"age": {"max_flips": 1.0}}), given)
    assert len(quarters.clauses) == 4
    with pytest.raises(InputError, match="got by='ward'"):
        check_plan(ChangePlan(per_group={"ward": {"max_flips": 1.0}}), given)


def test_a_column_can_be_accepted_by_name_and_nothing_else() -> None:
    faults = [PlanFault.of_column("age", "is empty"), PlanFault("another reason")]
    both = measures(faults=faults)
    one = measures(faults=faults[:1])
    plan = {"max_flips": 0.05, "min_score_change": 0.0, "max_leaves": 8}
    verdicts = [c.verdict for c in check_plan(ChangePlan(**plan), both).clauses]
    assert verdicts == [NOT_JUDGED, NOT_JUDGED, HELD]
    assert check_plan(ChangePlan(**plan, accept="age"), one).held
    assert not check_plan(ChangePlan(**plan, accept="sex"), one).held
    assert not check_plan(ChangePlan(**plan, accept="age"), both).held


def test_what_was_not_given_is_asked_for() -> None:
    bare = measures(changed=None, moves=None, score=None, table=None)
    assert check_plan(ChangePlan(max_leaves=8, max_dissimilarity=1.0), bare).held
    for limits, words in (
        ({"max_flips": 0.1}, "expected rows for max_flips, got none"),
        ({"max_moved_5": 0.1}, "expected rows for max_moved_5, got none"),
        ({"min_gain": 0.1}, "expected rows with outcomes for min_gain, got none"),
        ({"per_group": {"sex": {"max_flips": 0.1}}}, "rows for per_group.sex.max_flips, got none"),
    ):
        with pytest.raises(InputError, match=words):
            check_plan(ChangePlan(**limits), bare)


def test_events_are_rows_of_the_rarer_class() -> None:
    y = np.repeat([0, 1, 2], [50, 30, 4])
    assert count_events(y, classifier=True) == 34
    assert count_events(y[y < 2], classifier=True) == 30
    assert count_events(y[y == 0], classifier=True) == 0
    assert count_events(y[:0], classifier=True) == 0
    assert count_events(y, classifier=False) == 84
