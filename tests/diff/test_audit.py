"""The attack on what is told: it finds what can be computed, and only that."""

from __future__ import annotations

import numpy as np

from steadytree.diff.audit import MOST_CELLS, Statement, withstands


def exactly(cells: np.ndarray, *where: int) -> Statement:
    factor = np.isin(np.arange(cells.size), where).astype(float)
    return Statement(factor, float(factor @ cells), float(factor @ cells))


def secret(cells: np.ndarray, *where: int) -> np.ndarray:
    return np.isin(np.arange(cells.size), where)


def test_a_total_and_the_rest_tell_a_cell() -> None:
    cells = np.array([3, 40, 50])
    told = [exactly(cells, 0, 1, 2), exactly(cells, 1), exactly(cells, 2)]
    assert withstands(cells, told, [secret(cells, 0)], 4) is False
    assert withstands(cells, told[:2], [secret(cells, 0)], 4)


def test_a_total_of_small_numbers_is_hardly_better() -> None:
    cells = np.array([1, 1, 50])
    told = [exactly(cells, 0, 1, 2), exactly(cells, 2)]
    assert not withstands(cells, told, [secret(cells, 0)], 4)  # 0, 1 or 2
    assert withstands(cells, told, [secret(cells, 0)], 3)


def test_a_rate_of_a_range_of_people_tells_their_number() -> None:
    """1 of 21: three decimals of the rate, and between 20 and 24 people."""
    cells = np.array([20, 1])
    rate = 1 / 21
    whole, outcome = np.ones(2), np.array([0.0, 1.0])
    told = [
        Statement(whole, 20, 24),
        Statement(outcome - (rate - 0.0005) * whole, 0, np.inf),
        Statement(outcome - (rate + 0.0005) * whole, -np.inf, 0),
    ]
    assert not withstands(cells, told, [secret(cells, 1)], 4)
    rough = [told[0], Statement(outcome - 0.2 * whole, -np.inf, 0)]
    assert withstands(cells, rough, [secret(cells, 1)], 4)


def test_enough_numbers_need_no_upper_end() -> None:
    """Three or fewer are possible: four numbers, however many more there may be."""
    cells = np.array([3])
    assert withstands(cells, [Statement(np.ones(1), 0, np.inf)], [secret(cells, 0)], 4) is True


def test_statements_that_no_numbers_fit_prove_nothing() -> None:
    cells = np.array([3, 40])
    told = [exactly(cells, 0, 1), Statement(np.ones(2), 50, 60)]
    assert withstands(cells, told, [secret(cells, 0)], 2) is False


def test_without_a_secret_all_is_well_and_too_much_work_counts_as_a_success() -> None:
    cells = np.ones(MOST_CELLS + 1, dtype=int)
    told = [exactly(cells, *range(cells.size))]
    assert withstands(cells, [], [], 4) is True
    assert withstands(cells, told, [secret(cells, 0)], 4) is False
    most = cells[1:]
    assert withstands(most, [exactly(most, *range(MOST_CELLS))], [secret(most, 0)], 4) is True
