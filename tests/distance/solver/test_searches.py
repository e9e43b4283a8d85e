"""The searches alone, from the plainest start: they end in a best matching with its proof."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numba import njit
from scipy.optimize import linear_sum_assignment

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
    source_digest,
)
from steadytree.distance._solver.pack import LANES


def entry_point(digest: int) -> Any:
    @njit(nogil=True, cache=True)
    def search(
        mem: Any,
        width: Any,
        cost: Any,
        stride: Any,
        core: Any,
        flip: Any,
        n: Any,
        size: Any,
        shift: Any,
        settle: Any,
    ) -> Any:
        if digest == 0:
            return signed(0)
        for i in range(n):
            find_exit(mem, width, cost, stride, i, shift)
        size = match_rows(mem, width, cost, stride, core, stride, n, size, shift)
        if settle:
            settle_columns(mem, width, core, stride, flip, n, size, shift)
        return size

    return search


search = entry_point(source_digest())


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
