"""The adversary finds what can be found, and claims no more."""

from __future__ import annotations

import numpy as np

from tests.attack.disclosure.solver import Solver


def rounded(value: float, digits: int) -> tuple[float, float]:
    half = 0.5 * 10.0**-digits
    return value - half, value + half


def unit(n: int, *places: int) -> np.ndarray:
    of = np.zeros(n)
    of[list(places)] = 1
    return of


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
