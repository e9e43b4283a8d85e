from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from steadytree.estimators.selection import (
    pareto_mask,
    select_candidate,
    within_tolerance,
)
from steadytree.exceptions import InputError


def brute_force_frontier(points: np.ndarray, maximize: list[bool]) -> list[bool]:
    """The definition, pair by pair; of equal points the first stays."""
    signed = [[v if up else -v for v, up in zip(p, maximize, strict=True)] for p in points]
    out = []
    for i, p in enumerate(signed):
        beaten = any(
            all(a >= b for a, b in zip(q, p, strict=True))
            and any(a > b for a, b in zip(q, p, strict=True))
            for q in signed
        )
        out.append(not beaten and p not in signed[:i])
    return out


def frame(score: list[float], distance: list[float], dissimilarity: list[float] | None = None):
    mask = pareto_mask(np.column_stack([distance, score]), [False, True])
    return pd.DataFrame(
        {
            "selection_score": score,
            "mean_distance": distance,
            "mean_dissimilarity": dissimilarity or distance,
            "on_frontier": mask,
        }
    )


# Few distinct values, so that ties in one and in all objectives are common.
few_values = st.integers(1, 4).flatmap(
    lambda k: st.tuples(
        arrays(np.float64, st.tuples(st.integers(0, 25), st.just(k)), elements=st.integers(-3, 3)),
        st.lists(st.booleans(), min_size=k, max_size=k),
    )
)


@given(few_values)
def test_the_frontier_is_the_brute_force_one(case: tuple[np.ndarray, list[bool]]) -> None:
    points, maximize = case
    assert pareto_mask(points, maximize).tolist() == brute_force_frontier(points, maximize)


def test_one_flag_serves_all_objectives() -> None:
    points = np.random.default_rng(1).normal(size=(50, 2))
    np.testing.assert_array_equal(pareto_mask(points, True), pareto_mask(points, [True, True]))
    np.testing.assert_array_equal(pareto_mask(-points, False), pareto_mask(points, True))


def test_a_candidate_without_a_score_is_never_on_the_frontier() -> None:
    mask = pareto_mask([[0.0, np.nan], [1.0, 0.5], [2.0, 0.4]], [False, True])
    assert mask.tolist() == [False, True, False]


@pytest.mark.parametrize(
    ("objectives", "maximize", "message"),
    [
        (
            [1.0, 2.0],
            [True],
            r"of shape \(candidates, objectives\), got \(2,\)",
        ),
        ([[1.0, 2.0]], [True], r"expected maximize to be True, False or 2 of them, got \[True\]"),
        ([[1.0, 2.0]], [1, 0], r"expected maximize .* got \[1, 0\]"),
    ],
)
def test_wrong_objectives_are_refused(objectives, maximize, message) -> None:
    with pytest.raises(InputError, match=message):
        pareto_mask(objectives, maximize)


def brute_force_choice(results: pd.DataFrame, rule: str, tolerance: float) -> int:
    """Each rule as its formula reads, over the frontier, ties as documented."""
    best = max(results["selection_score"])
    merits = {}
    for i, row in results[results["on_frontier"]].iterrows():
        score, distance = row["selection_score"], row["mean_distance"]
        if rule == "tolerance":
            if score < best - tolerance * abs(best):
                continue
            merit = -distance
        else:
            merit = {
                "score": score,
                "distance": -distance,
                "balanced": (score - row["mean_dissimilarity"]) / 2,
            }[rule]
        merits[i] = (merit, score, -distance, -i)
    return max(merits, key=merits.__getitem__)


@given(
    st.lists(
        st.tuples(st.integers(-4, 4), st.integers(0, 5), st.integers(0, 4)),
        min_size=1,
        max_size=25,
    ),
    st.sampled_from(["tolerance", "balanced", "score", "distance"]),
    st.sampled_from([0.0, 0.25, 0.5, 2.0]),
)
def test_rules_are_their_formulas(points, rule: str, tolerance: float) -> None:
    score, distance, dissimilarity = (
        list(map(float, column)) for column in zip(*points, strict=True)
    )
    results = frame(score, distance, [d / 4 for d in dissimilarity])
    chosen = select_candidate(results, rule, tolerance=tolerance)
    assert chosen == brute_force_choice(results, rule, tolerance)


def test_tolerance_keeps_its_meaning_for_negative_scores() -> None:
    # (1 - eps) * max would lie above the best score of all.
    assert within_tolerance(np.array([-1.0, -1.01, -1.5]), 0.02).tolist() == [True, True, False]


def test_a_frontier_without_close_scores_falls_back_to_the_best_on_it() -> None:
    # Score is no objective here: the frontier is made of sizes and distances.
    results = frame([0.9, 0.5, 0.6], [2.0, 1.0, 1.5])
    results["on_frontier"] = [False, True, True]
    assert select_candidate(results, "tolerance", tolerance=0.02) == 2


def test_a_callable_sees_the_table_and_chooses_a_row() -> None:
    results = frame([0.9, 0.8, 0.7], [3.0, 2.0, 1.0])
    assert select_candidate(results, lambda table: int(table["mean_distance"].argmin())) == 2
    assert select_candidate(results, lambda table: table["selection_score"].idxmax()) == 0


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("best", "to return the position of a row, a whole number below 3, got 'best'"),
        (1.0, "got 1.0"),
        (True, "got True"),
        (3, "got 3"),
        (-1, "got -1"),
    ],
)
def test_a_callable_is_checked_for_type_and_range(answer: object, message: str) -> None:
    results = frame([0.9, 0.8, 0.7], [3.0, 2.0, 1.0])
    with pytest.raises(InputError, match=message):
        select_candidate(results, lambda _: answer)  # type: ignore[arg-type, return-value]


def test_an_unknown_rule_or_tolerance_is_refused() -> None:
    results = frame([0.9], [3.0])
    with pytest.raises(InputError, match=r"expected select to be one of .* got 'best'$"):
        select_candidate(results, "best")
    with pytest.raises(InputError, match="expected tolerance >= 0, got -1"):
        select_candidate(results, "tolerance", tolerance=-1)


def test_no_scored_candidate_is_an_error() -> None:
    results = frame([np.nan], [3.0])
    with pytest.raises(InputError, match="expected at least one candidate with a score, got none"):
        select_candidate(results, "score")
