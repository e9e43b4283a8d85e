"""The adversary finds what can be found, and claims no more."""

from __future__ import annotations

import numpy as np
import pytest

from tests.attack.disclosure.solver import Constraint, Contradiction, Solver


def rounded(value: float, digits: int) -> tuple[float, float]:
    half = 0.5 * 10.0**-digits
    return value - half, value + half


def unit(n: int, *places: int) -> np.ndarray:
    of = np.zeros(n)
    of[list(places)] = 1
    return of


def test_a_total_and_all_other_cells_give_the_last_one() -> None:
    solver = Solver(3, 100)
    solver.add(unit(3, 0, 1, 2), 20, 20)
    solver.add(unit(3, 0), 9, 9)
    assert len(solver.possible(unit(3, 1), 4)) == 4
    solver.add(unit(3, 1), 8, 8)
    assert solver.possible(unit(3, 2), 4) == [3]


def test_a_rate_of_an_unknown_denominator_leaves_gaps() -> None:
    part, whole = unit(2, 0), unit(2, 0, 1)
    solver = Solver(2, 12)
    solver.add(whole, 1, 12)
    solver.ratio(part, whole, 0.333, 0.334)
    assert solver.possible(whole, 20) == [3, 6, 9, 12]
    assert solver.possible(part, 20) == [1, 2, 3, 4]


def test_a_fraction_with_all_digits_gives_its_denominator() -> None:
    part, whole = unit(2, 0), unit(2, 0, 1)
    solver = Solver(2, 100)
    solver.add(whole, 1, 100)
    solver.ratio(part, whole, 2 / 61 - 1e-9, 2 / 61 + 1e-9)
    assert solver.possible(whole, 20) == [61]
    assert solver.possible(part, 20) == [2]


def test_one_of_several_alternatives_holds() -> None:
    solver = Solver(2, 50)
    solver.add(unit(2, 0, 1), 10, 10)
    few = [Constraint(unit(2, at), 1, 2, "one of the two is small") for at in (0, 1)]
    solver.either([[few[0]], [few[1]]])
    assert solver.possible(unit(2, 0), 20) == [1, 2, 8, 9]
    assert solver.broken_by(np.array([5.0, 5.0])) == ["one of the two is small"]
    assert solver.broken_by(np.array([9.0, 1.0])) == []


def test_bounds_of_a_sum_hold_all_that_is_possible() -> None:
    solver = Solver(2, 50)
    solver.add(unit(2, 0, 1), 7, 9)
    low, high = solver.range_of(unit(2, 0))
    assert low == pytest.approx(0, abs=1e-3)
    assert high == pytest.approx(9, abs=1e-3)


def test_what_contradicts_itself_is_said() -> None:
    solver = Solver(1, 50)
    solver.add(unit(1, 0), 3, 3)
    solver.add(unit(1, 0), 4, 4)
    with pytest.raises(Contradiction, match="expected counts that fit"):
        solver.possible(unit(1, 0), 2)


def test_three_groups_of_three_follow_from_counts_rounded_to_5() -> None:
    """Four groups of 5 and a total of 10, all rounded: nothing but 3, 3, 3 and 3 fits."""
    solver = Solver(4, 100)
    for group in range(4):
        solver.add(unit(4, group), 3, 7)
    solver.add(unit(4, 0, 1, 2, 3), 8, 12)
    assert solver.possible(unit(4, 0), 2) == [3]
    told_as_few = Solver(4, 100)
    for group in range(4):
        told_as_few.add(unit(4, group), 0, 7)
    told_as_few.add(unit(4, 0, 1, 2, 3), 8, 12)
    assert len(told_as_few.possible(unit(4, 0), 8)) == 8


def test_a_hidden_sensitivity_follows_from_specificity_and_accuracy() -> None:
    true_yes, false_no, true_no, false_yes = (unit(4, at) for at in range(4))
    everyone, well = unit(4, 0, 1, 2, 3), true_no + false_yes
    solver = Solver(4, 100)
    solver.add(well, 15, 15, "specificity rests on 15")
    solver.add(everyone, 17, 17, "accuracy rests on 17")
    solver.ratio(true_no, well, *rounded(0.467, 3))
    solver.ratio(true_yes + true_no, everyone, *rounded(0.529, 3))
    assert solver.possible(true_yes, 4) == [2]
    assert solver.possible(false_no, 4) == [0]
