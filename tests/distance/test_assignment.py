"""The compiled assignment: scipy's totals on numbers of every kind and shape, and its proof."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit
from scipy.optimize import linear_sum_assignment

from steadytree.distance._solver import assignment
from steadytree.distance._solver.assignment import (
    COLUMN,
    N_VECTORS,
    index_bits,
    signed,
    solve_rectangular,
    source_digest,
)
from steadytree.distance._solver.pack import LANES, padded_length


def entry_point(digest: int) -> Any:
    @njit(nogil=True, cache=True)
    def solve(mem, width, cost, stride, core, flip, n, m, shift):
        if digest == 0:
            return signed(0)
        return solve_rectangular(mem, width, cost, stride, core, flip, n, m, shift)

    return solve


solve = entry_point(source_digest())


def assign(cost: np.ndarray, *, packed: bool = True) -> tuple[int, np.ndarray]:
    """Least total and the column of each row, laid out in memory as the kernels do it."""
    n, m = cost.shape
    width = m + 2 * LANES
    stride = padded_length(m)
    shift = index_bits(m, float(np.abs(cost).max())) if packed else 0
    area = (n + 2 * LANES) * (m + 2 * LANES)
    at = N_VECTORS * width
    # Nothing may be read before it is written, so it starts as garbage.
    mem = np.full(at + 3 * area, -(2**62) + 1, dtype=np.int64)
    table = mem[at : at + n * stride].reshape(n, stride)
    table[:, :m] = cost << shift
    table[:, m:] = 0
    mem[:m] = table[:, :m].min(axis=0)
    total = solve(mem, width, at, stride, at + area, at + 2 * area, n, m, np.int64(shift))
    return int(total), mem[COLUMN * width : COLUMN * width + n].copy()


def check_assignment(cost: np.ndarray) -> None:
    rows, columns = linear_sum_assignment(cost)
    best = int(cost[rows, columns].sum())
    for packed in (True, False):
        total, found = assign(cost, packed=packed)
        assert total == best
        assert np.unique(found).size == cost.shape[0]
        assert int(cost[np.arange(cost.shape[0]), found].sum()) == best


def random_costs(rng: np.random.Generator, n: int, m: int, kind: int) -> np.ndarray:
    if kind == 0:  # many ties
        return rng.integers(0, 4, (n, m))
    if kind == 1:
        return rng.integers(-(10**12), 10**12, (n, m))
    if kind == 2:  # every matching is optimal
        return np.full((n, m), 7)
    if kind == 3:  # all rows prefer the same columns
        return (
            rng.integers(0, 1000, (n, 1))
            + rng.integers(-2000, 100, (1, m))
            + rng.integers(0, 30, (n, m))
        )
    x, y = rng.random((n, 3)), rng.random((m, 3))
    distances = np.abs(x[:, None] - y).sum(axis=2) - 3 * rng.random(m)
    return (distances * 2**40).astype(np.int64)


@pytest.mark.parametrize("kind", range(5))
@pytest.mark.parametrize("seed", range(20))
def test_assignment_agrees_with_scipy(kind: int, seed: int) -> None:
    rng = np.random.default_rng([kind, seed])
    for _ in range(30):
        n = int(rng.integers(1, 30))
        m = n + int(rng.integers(0, 40)) * int(rng.random() < 0.8)
        check_assignment(random_costs(rng, n, m, kind).astype(np.int64))


@pytest.mark.parametrize("kind", range(5))
@pytest.mark.parametrize(
    ("n", "m"),
    [
        *[(1, 1), (1, 2), (1, 50), (2, 2), (2, 40), (12, 13), (13, 13), (90, 100), (64, 300)],
        *[
            (96, 96),
            (96, 97),
            (96, 120),
            (120, 121),
            (150, 400),
            (200, 205),
            (100, 1500),
        ],  # auction first
        *[(64, 64), (60, 64), (64, 128), (128, 256), (320, 320)],  # rows that are kept apart
    ],
)
def test_assignment_shapes(n: int, m: int, kind: int) -> None:
    rng = np.random.default_rng([n * m, kind])
    check_assignment(random_costs(rng, n, m, kind).astype(np.int64))


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_assignment_of_any_small_matrix(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 6))
    m = data.draw(st.integers(n, 20))
    numbers = st.lists(st.integers(-5, 5), min_size=n * m, max_size=n * m)
    check_assignment(np.array(data.draw(numbers), dtype=np.int64).reshape(n, m))


def test_a_column_that_only_looked_cheap_is_left_alone_after_an_auction() -> None:
    """Column 0 is as good a bid for two rows as the last two, which are five times cheaper."""
    n, m = 96, 150
    cost = 10 * np.arange(m) + np.random.default_rng(0).integers(0, 8, (n, m))
    cost[:2] += 30
    cost[:, [0, -2, -1]] = 5000
    cost[:2, 0], cost[:2, -2:] = 500, 100
    check_assignment(cost)
    for packed in (True, False):
        _, found = assign(cost, packed=packed)
        assert sorted(found[:2]) == [m - 2, m - 1]
        assert 0 not in found


@pytest.mark.parametrize("seed", [16, 25])
def test_an_auction_never_makes_a_column_worth_taking_for_its_price(seed: int) -> None:
    """Costs, found among many, where a price that rose above 0 would keep the wrong columns."""
    check_assignment(random_costs(np.random.default_rng([12800, 1, seed]), 100, 128, kind=1))


def test_more_than_4096_columns_are_not_packed() -> None:
    assert index_bits(4096, 10.0) == 12
    assert index_bits(4097, 10.0) == 0
    assert index_bits(1, 10.0) == 0  # one column needs no number
    # Seven bits beside four times the costs, below 2**61.
    assert index_bits(100, 2.0**52 - 1) == 7
    assert index_bits(100, 2.0**52) == 0
    rng = np.random.default_rng(0)
    check_assignment(rng.integers(0, 1000, (7, 4500)))


def test_an_edit_of_any_compiled_file_changes_the_digest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = Path(assignment.__file__).parent
    for file in here.glob("*.py"):
        shutil.copy(file, tmp_path)
    before = source_digest()
    monkeypatch.setattr(assignment, "__file__", str(tmp_path / "assignment.py"))
    assert source_digest() == before != 0
    for name in ("assignment.py", "pack.py", "kernels.py"):
        with (tmp_path / name).open("a") as file:
            file.write("# edited\n")
        assert source_digest() != before
        before = source_digest()
    # An entry point whose digest is 0 would do nothing; the checksum of no text at all is 0.
    monkeypatch.setattr(assignment, "__file__", str(tmp_path / "nowhere" / "assignment.py"))
    assert source_digest() != 0
