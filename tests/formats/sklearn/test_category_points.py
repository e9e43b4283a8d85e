"""Points are told apart by the columns there are, in as few questions as they need."""

from __future__ import annotations

import time

import numpy as np
import pytest

from steadytree.formats.sklearn.pipeline_numbers import (
    Ask,
    Question,
    Reached,
    equal_points,
    tell_apart,
)


def side_of(asked: Question, cells: np.ndarray) -> bool:
    while isinstance(asked, Ask):
        cell = cells[asked.column]
        low = asked.missing_left if np.isnan(cell) else cell <= asked.threshold
        asked = asked.low if low else asked.high
    return asked.left


def n_ends(asked: Question) -> int:
    return 1 if isinstance(asked, Reached) else n_ends(asked.low) + n_ends(asked.high)


@pytest.mark.parametrize("seed", range(30))
def test_every_point_gets_to_its_side(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 9))
    cells = {
        0: np.eye(n),
        1: rng.permutation(n)[:, None].astype(float),
        2: np.column_stack([rng.normal(size=n), rng.integers(0, 2, n)]),
    }[seed % 3]
    if seed % 2:
        cells = np.vstack([cells, np.full((1, cells.shape[1]), np.nan)])
    left = rng.random(len(cells)) < 0.5
    asked = tell_apart(cells, left, list(range(cells.shape[1])))
    assert [side_of(asked, row) for row in cells] == left.tolist()


def test_codes_are_cut_into_intervals_and_indicators_peeled_off() -> None:
    left = np.array([True, True, False, False, False, True])
    assert n_ends(tell_apart(np.arange(6.0)[:, None], left, [7])) == 3
    few = np.array([True, False, False, False, False, True])
    assert n_ends(tell_apart(np.eye(6), few, list(range(6)))) == 3
    alike = tell_apart(np.eye(3), np.ones(3, dtype=bool), [0, 1, 2])
    assert alike == Reached(True, (0, 1, 2))


def test_neighbours_are_told_apart() -> None:
    one = np.float64(1.0)
    cells = np.array([[one], [np.nextafter(one, 2)]])
    asked = tell_apart(cells, np.array([True, False]), [0])
    assert isinstance(asked, Ask)
    assert cells[0, 0] <= asked.threshold < cells[1, 0]


def test_equal_points_are_found() -> None:
    cells = np.array([[0.0, 1.0], [-0.0, 1.0], [np.nan, 1.0], [np.nan, 1.0]])
    assert equal_points(cells, np.array([True, True, False, False])) is None
    assert equal_points(cells, np.array([True, False, False, False])) == (0, 1)
    assert equal_points(cells, np.array([True, True, False, True])) == (2, 3)
    with pytest.raises(ValueError, match="no column tells apart"):
        tell_apart(cells[:2], np.array([True, False]), [0, 1])


def test_hundreds_of_categories_take_no_time() -> None:
    left = np.random.default_rng(0).random(600) < 0.3
    started = time.perf_counter()
    asked = tell_apart(np.eye(600), left, list(range(600)))
    assert n_ends(asked) == left.sum() + 1
    assert time.perf_counter() - started < 10
