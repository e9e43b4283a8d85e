"""The inner loops, on vectors in one block of memory, against numpy."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba import njit

from steadytree.distance._solver import assignment as scans
from steadytree.distance._solver.assignment import (
    EXIT,
    EXIT_AT,
    FAR,
    N_VECTORS,
    OUTSIDE,
    find_exit,
    first_scan,
    minimum,
    place,
    place_reduced,
    scan,
    signed,
    source_digest,
)

SIZE = 16
ROW, DUAL, SOURCE, INTO = 0, SIZE, 2 * SIZE, 3 * SIZE


def entry_points(digest: int) -> Any:
    """Only entry points can be called from Python; see ``compiled``."""

    @njit(nogil=True, cache=True)
    def loops(mem: Any, size: Any, offset: Any) -> Any:
        if digest == 0:
            return signed(0), signed(0), signed(0), signed(0), signed(0)
        least = minimum(mem, ROW, DUAL, size)
        where = place_reduced(mem, ROW, DUAL, size, least)
        first = first_scan(mem, ROW, DUAL, INTO, size, offset)
        at = place(mem, INTO, size, first)
        return least, where, first, at, scan(mem, ROW, DUAL, SOURCE, INTO, size, offset)

    @njit(nogil=True, cache=True)
    def cheapest(mem: Any, width: Any, cost: Any, stride: Any, i: Any, shift: Any) -> Any:
        return find_exit(mem, width, cost, stride, i, shift) if digest != 0 else signed(0)

    return loops, cheapest


loops, cheapest = entry_points(source_digest())


@pytest.mark.parametrize("seed", range(5))
def test_scans_of_reduced_costs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    mem = rng.integers(-1000, 1000, 4 * SIZE)
    row, dual, so_far = (mem[at : at + SIZE].copy() for at in (ROW, DUAL, SOURCE))
    reduced = row - dual
    least, where, first, at, second = loops(mem, SIZE, 7)
    assert (least, first) == (reduced.min(), reduced.min() + 7)
    assert where == at == reduced.argmin()
    np.testing.assert_array_equal(mem[INTO:], np.minimum(so_far, reduced + 7))
    assert second == mem[INTO:].min()
    np.testing.assert_array_equal(mem[SOURCE:INTO], so_far)  # one buffer is only read


def test_columns_out_of_play_are_never_the_least() -> None:
    mem = np.zeros(4 * SIZE, dtype=np.int64)
    mem[ROW:DUAL] = 50
    mem[DUAL:SOURCE] = -FAR
    mem[DUAL + 3] = 0
    least, where, *_ = loops(mem, SIZE, 0)
    assert (least, where) == (50, 3)
    # Sums of costs stay below 2**61: the dearest in play is less than the cheapest out of it.
    mem[ROW:DUAL] = 1 - 2**61
    mem[ROW + 3] = 2**61 - 1
    least, where, *_ = loops(mem, SIZE, 0)
    assert (least, where) == (2**61 - 1, 3)


@pytest.mark.parametrize("shift", [0, 5])
def test_the_exit_is_the_cheapest_column_outside_the_core(shift: int) -> None:
    m = width = SIZE
    cost = N_VECTORS * width
    mem = np.zeros(cost + 2 * m, dtype=np.int64)
    costs = np.random.default_rng(shift).permutation(2 * m).reshape(2, m)
    mem[cost:] = costs.ravel() << shift
    inside = np.arange(m) % 3 == 0
    inside[costs[1].argmin()] = True
    mask = (1 << shift) - 1
    mem[OUTSIDE * width : (OUTSIDE + 1) * width] = np.where(inside, -FAR, -(np.arange(m) & mask))
    expected = np.where(inside, 1000, costs[1])
    assert cheapest(mem, width, cost, m, 1, shift) == expected.min() << shift
    assert mem[EXIT * width + 1] == expected.min() << shift
    assert mem[EXIT_AT * width + 1] == expected.argmin()
    mem[OUTSIDE * width : (OUTSIDE + 1) * width] = -FAR
    assert cheapest(mem, width, cost, m, 1, shift) >= FAR


def test_an_edit_of_any_compiled_file_changes_the_digest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = Path(scans.__file__).parent
    for file in here.glob("*.py"):
        shutil.copy(file, tmp_path)
    before = source_digest()
    monkeypatch.setattr(scans, "__file__", str(tmp_path / "assignment.py"))
    assert source_digest() == before != 0
    for name in ("assignment.py", "pack.py", "kernels.py"):
        with (tmp_path / name).open("a") as file:
            file.write("# edited\n")
        assert source_digest() != before
        before = source_digest()
    # An entry point whose digest is 0 would do nothing; the checksum of no text at all is 0.
    monkeypatch.setattr(scans, "__file__", str(tmp_path / "nowhere" / "assignment.py"))
    assert source_digest() != 0
