"""Where along a raw number the answer of a split changes, found with the pipeline itself.

A split on a scaled column compares rounded results of arithmetic, so no formula gives the raw
threshold that decides the same for every number. But what the steps make of a number rises or
falls with it. So the last double on one side is looked for among all doubles: they are laid
out in their order, and the fitted steps say of more and more of them on which side they fall.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadytree.formats.sklearn.pipeline_columns import PipelineColumns
from steadytree.plugins import UnsupportedModelError, quoted

Cuts = tuple[tuple[float, bool], ...]
"""Along the numbers: the largest of each stretch (infinite for the last) and whether it goes
left."""

Ask = Callable[[NDArray[np.intp], NDArray[Any]], NDArray[np.bool_]]
"""Whether splits (by position) send transformed rows left, row by row."""

LARGEST = float(np.finfo(np.float64).max)
RANGES = (LARGEST, 1e300, 1e200, 1e100)
"""Where the pipeline refuses the largest number because it overflows, one of these is the end."""
ROWS_AT_ONCE = 8192
CELLS_AT_ONCE = 1 << 24
AROUND = 8192
"""So many doubles on either side hold all that logarithms wrong in the last two bits can mix up: a
double moves a logarithm by at least 1/745 of its last bit."""
_SIGN = np.uint64(1 << 63)
_POWERS = 2.0 ** np.array([-400, -100, *range(-40, 64, 4), 100, 127, 400])
_LADDER = np.concatenate([-_POWERS[::-1], [0.0], _POWERS])


def find_cuts(columns: PipelineColumns, raw: NDArray[np.int64], ask: Ask) -> list[Cuts]:
    """Return for each split on a numeric raw column how it parts the numbers.

    ``raw[i]`` is the raw column of split i.
    """
    limits = _limits(columns, sorted(set(raw.tolist())))
    refused = {
        j: [x for x in columns.poles.get(j, ()) if columns.rows([j], [x])[0] is None]
        for j in limits
    }
    split: list[int] = []
    ends: list[tuple[float, float]] = []
    for i, column in enumerate(raw.tolist()):
        low, high = limits[column]
        inner = columns.breaks[column]
        stops = [*inner[(inner >= low) & (inner < high)].tolist(), high]
        starts = [low, *(float(np.nextafter(stop, np.inf)) for stop in stops[:-1])]
        for start, stop in zip(starts, stops, strict=True):
            # Nothing infinite comes to most trees: they refuse it, or a step does.
            if start < stop or start not in refused[column]:
                ends.append((start, stop))
                split.append(i)
    which = np.array(split, dtype=np.intp)
    found = _search(columns, raw[which], which, np.array(ends).reshape(-1, 2), ask)
    parts: list[list[tuple[float, bool]]] = [[] for _ in raw]
    for i, (_, stop), (last, first, then) in zip(split, ends, found, strict=True):
        parts[i] += [(last, first), (stop, then)]
    return [_merged(part) for part in parts]


def _merged(parts: list[tuple[float, bool]]) -> Cuts:
    """Join neighbouring stretches that go the same way; the last goes on for ever."""
    kept = [here for here, after in pairwise(parts) if here[1] != after[1]]
    return (*kept, (np.inf, parts[-1][1]))


def _search(
    columns: PipelineColumns,
    raw: NDArray[np.int64],
    split: NDArray[np.intp],
    ends: NDArray[np.float64],
    ask: Ask,
) -> list[tuple[float, bool, bool]]:
    """Find in each stretch the last number that goes as its first, and how both ends go."""

    def left(tasks: NDArray[np.intp], places: NDArray[np.uint64]) -> NDArray[np.bool_]:
        shape, numbers = places.shape, _number(places).ravel()
        tasks = np.repeat(tasks, shape[1])
        at_once = max(CELLS_AT_ONCE // columns.n_columns, 256)
        parts = [slice(k, k + at_once) for k in range(0, numbers.size, at_once)]
        answers = [
            ask(split[tasks[part]], columns.probe(raw[tasks[part]], numbers[part]))
            for part in parts
        ]
        return np.concatenate(answers).reshape(shape)

    low, high = _place(ends[:, 0]), _place(ends[:, 1])
    places = np.clip(_place(_LADDER), low[:, None], high[:, None])
    places = np.column_stack([low, places, high])
    goes = left(np.arange(len(raw)), places)
    first, then = goes[:, 0], goes[:, -1]
    low, high = _narrowed(columns, raw, places, goes == first[:, None])
    # A stretch that goes one way all along has nothing to look for.
    low = np.where(first == then, high, low)
    while (tasks := np.flatnonzero(high - low > 1)).size:
        room = int(np.clip(ROWS_AT_ONCE // tasks.size, 8, 255))
        places = _places_between(low[tasks], high[tasks], room)
        as_first = left(tasks, places) == first[tasks, None]
        low[tasks], high[tasks] = _narrowed(columns, raw[tasks], places, as_first)
    found = np.flatnonzero(first != then)
    _check_around(columns, raw[found], low[found], first[found], lambda at, x: left(found[at], x))
    return list(zip(_number(low).tolist(), first.tolist(), then.tolist(), strict=True))


def _check_around(
    columns: PipelineColumns,
    raw: NDArray[np.int64],
    last: NDArray[np.uint64],
    first: NDArray[np.bool_],
    left: Callable[[NDArray[np.intp], NDArray[np.uint64]], NDArray[np.bool_]],
) -> None:
    """Refuse a threshold about which results that are rounded in the last bits go to and fro."""
    offsets = np.arange(-AROUND, AROUND + 1).astype(np.int64).view(np.uint64)
    for at in np.flatnonzero(np.isin(raw, list(columns.rounded))):
        near = last[at] + offsets  # as if signed: it wraps around
        as_first = left(np.array([at]), near[None])[0] == first[at]
        if not np.array_equal(as_first, near <= last[at]):
            column = int(raw[at])
            raise UnsupportedModelError(
                "expected steps whose results rise or fall with column "
                f"{quoted(columns.labels[column])}, got {columns.rounded[column]}, which rounds to "
                "and fro about a threshold; compute that column before the pipeline"
            )


def _places_between(
    low: NDArray[np.uint64], high: NDArray[np.uint64], count: int
) -> NDArray[np.uint64]:
    """Return places to ask next, evenly spread from end to end."""
    step = np.maximum((high - low) // np.uint64(count + 1), np.uint64(1))
    even = low[:, None] + step[:, None] * np.arange(1, count + 1, dtype=np.uint64)
    return np.column_stack([low, np.minimum(even, high[:, None]), high])


def _narrowed(
    columns: PipelineColumns,
    raw: NDArray[np.int64],
    places: NDArray[np.uint64],
    as_first: NDArray[np.bool_],
) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return the neighbouring places between which the side changes."""
    count = np.where(as_first.all(axis=1), places.shape[1], as_first.argmin(axis=1))
    back = as_first.sum(axis=1) != count
    if back.any():
        raise UnsupportedModelError(
            "expected steps whose results rise or fall with column "
            f"{quoted(columns.labels[raw[back.argmax()]])}, got some that do neither; pass "
            "pipeline[-1] and compare in the transformed columns"
        )
    at = np.arange(len(places))
    return places[at, count - 1], places[at, np.minimum(count, places.shape[1] - 1)]


def _limits(columns: PipelineColumns, raw: list[int]) -> dict[int, tuple[float, float]]:
    """Find the range of numbers that the pipeline takes in raw columns."""
    at = [j for j in raw for _ in range(2)]
    for end in RANGES:
        try:
            columns.probe(at, [-end, end] * len(raw))
        except ValueError:
            continue
        return dict.fromkeys(raw, (-end, end))
    return {j: (_last_taken(columns, j, -end), _last_taken(columns, j, end)) for j in raw}


def _last_taken(columns: PipelineColumns, raw: int, end: float) -> float:
    """Find the last number towards an end that the pipeline takes; beyond, it raises."""
    if columns.rows([raw], [end])[0] is not None:
        return end
    taken, refused = (int(_place(np.array([x]))[0]) for x in (1.0, end))
    while abs(taken - refused) > 1:
        middle = (taken + refused) // 2
        number = float(_number(np.array([middle], dtype=np.uint64))[0])
        if columns.rows([raw], [number])[0] is not None:
            taken = middle
        else:
            refused = middle
    return float(_number(np.array([taken], dtype=np.uint64))[0])


def _place(numbers: NDArray[np.float64]) -> NDArray[np.uint64]:
    """Return places of doubles in their order; both zeros have the same."""
    bits = np.asarray(numbers, dtype=np.float64).view(np.int64)
    signed = np.where(bits >= 0, bits, -(bits & np.int64(np.iinfo(np.int64).max)))
    return np.asarray(signed.view(np.uint64) ^ _SIGN)


def _number(places: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Return the doubles at some places."""
    signed = (places ^ _SIGN).view(np.int64)
    size = np.abs(signed).view(np.float64)
    return np.asarray(np.where(signed < 0, -size, size))
