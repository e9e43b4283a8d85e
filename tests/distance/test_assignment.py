"""The compiled assignment: scipy's totals on numbers of every kind and shape, and its proof."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
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
    DUAL_U,
    DUAL_V,
    FAR,
    N_VECTORS,
    ORIGINAL,
    OUTSIDE,
    PACKED_V,
    ROW,
    find_exit,
    index_bits,
    match_rows,
    settle_columns,
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


# -- the searches alone, from the plainest start ---------------------------------------------


def search_point(digest: int) -> Any:
    @njit(nogil=True, cache=True)
    def search(mem, width, cost, stride, core, flip, n, size, shift, settle):
        if digest == 0:
            return signed(0)
        for i in range(n):
            find_exit(mem, width, cost, stride, i, shift)
        size = match_rows(mem, width, cost, stride, core, stride, n, size, shift)
        if settle:
            settle_columns(mem, width, core, stride, flip, n, size, shift)
        return size

    return search


search = search_point(source_digest())


@dataclass
class Found:
    """A matching and its duals, by the columns of the cost matrix."""

    size: int
    column: np.ndarray
    u: np.ndarray
    v: np.ndarray


def run(cost: np.ndarray, start: np.ndarray, *, packed: bool, settle: bool = True) -> Found:
    """Search with no partner yet, from the core of columns with ``start`` (their v) below 0."""
    n, m = cost.shape
    width, stride = m + 2 * LANES, -(-m // LANES) * LANES
    shift = index_bits(m, float(np.abs(cost).max() + np.abs(start).max())) if packed else 0
    mask = (1 << shift) - 1
    area = (n + 2 * LANES) * (m + 2 * LANES)
    at = N_VECTORS * width
    mem = np.full(at + 3 * area, -(2**62) + 1, dtype=np.int64)

    def vector(k: int) -> np.ndarray:
        return mem[k * width : (k + 1) * width]

    table, core = (mem[a : a + n * stride].reshape(n, stride) for a in (at, at + area))
    table[:, :m], table[:, m:], core[:] = cost << shift, 0, 0
    chosen = np.flatnonzero(start < 0)
    size = chosen.size
    core[:, :size] = table[:, chosen]
    vector(ORIGINAL)[:size] = chosen
    vector(DUAL_V)[:size] = start[chosen] << shift
    vector(PACKED_V)[:] = -FAR
    vector(PACKED_V)[:size] = (start[chosen] << shift) - (np.arange(size) & mask)
    vector(OUTSIDE)[:] = -FAR
    vector(OUTSIDE)[:m] = np.where(start < 0, -FAR, -(np.arange(m) & mask))
    vector(DUAL_U)[:n] = (cost - start).min(axis=1) << shift
    vector(ROW)[:size], vector(COLUMN)[:n] = -1, -1
    size = search(
        mem, width, at, stride, at + area, at + 2 * area, n, size, np.int64(shift), settle
    )
    v = np.zeros(m, dtype=np.int64)
    v[vector(ORIGINAL)[:size]] = vector(DUAL_V)[:size] >> shift
    column = vector(ORIGINAL)[vector(COLUMN)[:n]].copy()
    partners = vector(ROW)[vector(COLUMN)[:n]]
    np.testing.assert_array_equal(partners, np.arange(n))  # both sides agree
    assert (vector(ROW)[:size] >= 0).sum() == n  # also about who has no partner
    return Found(size, column, vector(DUAL_U)[:n] >> shift, v)


def check_proof(cost: np.ndarray, found: Found) -> None:
    """Least cost by duality: no cell is below its duals, matched ones are equal to them."""
    n, m = cost.shape
    assert np.unique(found.column).size == n
    slack = cost - found.u[:, None] - found.v
    assert slack.min() >= 0
    assert (slack[np.arange(n), found.column] == 0).all()
    lone = np.setdiff1d(np.arange(m), found.column)
    assert (found.v <= 0).all()
    assert (found.v[lone] == 0).all()
    rows, columns = linear_sum_assignment(cost)
    assert cost[np.arange(n), found.column].sum() == cost[rows, columns].sum()


def costs(seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 25))
    m = n + int(rng.integers(1, 30))
    spread = (5, 1000)[seed % 2]  # many ties, or hardly any
    return rng.integers(1, spread, (n, m)) + rng.integers(0, spread, m)


@pytest.mark.parametrize("packed", [True, False])
def test_columns_join_an_empty_core_as_rows_need_them(packed: bool) -> None:
    for seed in range(40):
        cost = costs(seed)
        found = run(cost, np.zeros(cost.shape[1], dtype=np.int64), packed=packed)
        check_proof(cost, found)
        assert cost.shape[0] <= found.size <= cost.shape[1]


@pytest.mark.parametrize("packed", [True, False])
def test_columns_that_started_too_low_get_a_row_or_rise(packed: bool) -> None:
    for seed in range(40):
        cost = costs(seed)
        rng = np.random.default_rng(seed)
        bold = rng.integers(1, 300, cost.shape[1])
        start = np.where(rng.random(cost.shape[1]) < 0.5, -bold, 0)
        check_proof(cost, run(cost, start, packed=packed))


def test_without_settling_a_bold_start_keeps_the_wrong_column() -> None:
    # With v = -9 column 1 looks as dear as column 0, and the rows go elsewhere.
    cost = np.array([[9, 1, 3], [9, 2, 1]])
    start = np.array([0, -9, 0])
    early = run(cost, start, packed=True, settle=False)
    assert early.v[1] < 0
    assert 1 not in early.column
    late = run(cost, start, packed=True)
    assert late.column.tolist() == [1, 2]
    check_proof(cost, late)


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
