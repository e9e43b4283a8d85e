"""A threshold on a raw number as a threshold on a number that the steps of a pipeline make of it.

Steps scale, round and fill in. For a raw threshold the fitted steps are asked what they make of
the number itself and of the next larger one: if the last step can tell the two results apart, any
threshold between them decides every raw value alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadytree.formats.sklearn.pipeline_columns import PipelineColumns
from steadytree.formats.sklearn.pipeline_cuts import find_cuts
from steadytree.formats.sklearn.pipeline_steps import FLAG, NUMBER, SAME, compared_cells
from steadytree.formats.thresholds import double_threshold
from steadytree.plugins import Tree, UnsupportedModelError

# -- Tell a handful of values apart by the columns that a pipeline makes of them --
# Each category of a raw column, a missing value and a category never met are points in the
# columns that the pipeline makes of it: zeros and ones, codes, rates. A condition on the raw column
# says for each point on which side it goes; here it becomes a small tree of
# thresholds on those columns.

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True)
class Reached:
    """An end: all points here go to one side of the condition (``points``: which)."""

    left: bool
    points: tuple[int, ...] = ()


@dataclass(frozen=True)
class Ask:
    """A threshold on a column; NaN goes as ``missing_left`` says."""

    column: int
    threshold: float
    missing_left: bool
    low: Question
    high: Question


Question = Ask | Reached


def equal_points(cells: FloatArray, left: BoolArray) -> tuple[int, int] | None:
    """Return two points that go to different sides and that no column tells apart, or None."""
    known: dict[bytes, int] = {}
    # A zero and a negative zero are equal to a tree.
    for point, row in enumerate(np.where(cells == 0, 0.0, cells)):
        first = known.setdefault(row.tobytes(), point)
        if left[first] != left[point]:
            return first, point
    return None


def tell_apart(
    cells: FloatArray, left: BoolArray, columns: list[int], points: NDArray[np.intp]
) -> Question:
    """Return thresholds that send each of some points to its side; no two of them may be equal.

    ``cells`` has a row per point and a column per entry of ``columns``. Greedy: each question
    leaves the purest parts, so that codes are cut into intervals and indicators peeled off.
    """
    if left[points].all() or not left[points].any():
        return Reached(bool(left[points[0]]), tuple(points.tolist()))
    at, threshold, missing_left, goes_low = _best_question(cells[points], left[points])
    low, high = (tell_apart(cells, left, columns, points[goes]) for goes in (goes_low, ~goes_low))
    return Ask(columns[at], threshold, missing_left, low, high)


def _best_question(cells: FloatArray, left: BoolArray) -> tuple[int, float, bool, BoolArray]:
    """Return the column, the threshold, where NaN goes, and which points go low."""
    best, others = _best_indicator(cells, left)
    for at in others:
        column = cells[:, at]
        absent = np.isnan(column)
        values = np.unique(column[~absent])
        cuts = values[:-1] + np.diff(values) / 2
        # Halfway may round to the larger of two neighbours.
        cuts = np.where(cuts < values[1:], cuts, values[:-1])
        if absent.any() and values.size:
            cuts = np.append(cuts, np.inf)
        if not cuts.size:
            continue
        with np.errstate(invalid="ignore"):
            below = column[:, None] <= cuts
        for missing_left in (False, True) if absent.any() else (False,):
            low = np.where(absent[:, None], missing_left, below)
            scores = _impurity(low, left)
            k = int(scores.argmin())
            if np.isfinite(scores[k]) and (best is None or scores[k] < best[0] - 1e-12):
                best = float(scores[k]), at, float(cuts[k]), missing_left, low[:, k]
    if best is None:
        raise ValueError("points that no column tells apart")
    return best[1:]


def _best_indicator(
    cells: FloatArray, left: BoolArray
) -> tuple[tuple[float, int, float, bool, BoolArray] | None, list[int]]:
    """Return the best question to columns of two values, all at once, and the other columns."""
    low, high = cells.min(axis=0), cells.max(axis=0)
    # With NaN neither holds; a column of one value asks nothing.
    two = ((cells == low) | (cells == high)).all(axis=0) & (low < high)
    others = np.flatnonzero(~two & ~(low == high)).tolist()
    columns = np.flatnonzero(two)
    if not columns.size:
        return None, others
    below = cells[:, columns] == low[columns]
    scores = _impurity(below, left)
    k = int(scores.argmin())
    at = int(columns[k])
    cut = low[at] + (high[at] - low[at]) / 2
    cut = cut if cut < high[at] else low[at]
    return (float(scores[k]), at, float(cut), False, below[:, k]), others


def _impurity(low: BoolArray, left: BoolArray) -> FloatArray:
    """Return the Gini impurity that each question leaves; infinite where it asks nothing."""
    total = np.zeros(low.shape[1])
    for part in (low, ~low):
        n = part.sum(axis=0)
        share = (part & left[:, None]).sum(axis=0) / np.maximum(n, 1)
        total += np.where(n == 0, np.inf, n * share * (1 - share))
    return total


@dataclass(frozen=True)
class MovedThreshold:
    """A threshold on a raw column that could not be expressed, and the one that stands for it."""

    column: str
    wanted: float
    written: float


@dataclass(frozen=True)
class _Cut:
    """A threshold on a transformed column; ``rising``: low raw values are low there too."""

    column: int
    threshold: float
    rising: bool

    def ask(self, low_raw: Question, high_raw: Question, missing_left_raw: bool) -> Ask:
        """Ask it; where NaN comes this far, it goes with low or high raw values."""
        if self.rising:
            return Ask(self.column, self.threshold, missing_left_raw, low_raw, high_raw)
        return Ask(self.column, self.threshold, not missing_left_raw, high_raw, low_raw)

    def sends_low(self, cell: float) -> bool:
        """Whether a cell goes where low raw values go."""
        return bool(cell <= self.threshold) == self.rising


class NumberQuestions:
    """What to ask of transformed columns for each split on a raw number.

    ``moved`` lists thresholds that are not what the tree says.
    """

    def __init__(
        self,
        tree: Tree,
        splits: Sequence[int],
        columns: PipelineColumns,
        precision: str,
        deployed: Mapping[int, FloatArray],
    ) -> None:
        self.tree, self.columns, self.precision, self.deployed = tree, columns, precision, deployed
        self.moved: list[MovedThreshold] = []
        self._questions: dict[int, Question] = {}
        at = {
            node: double_threshold(float(tree.threshold[node]), tree.precision) for node in splits
        }
        wanted = sorted(
            {
                (int(tree.feature[node]), x)
                for node, t in at.items()
                if np.isfinite(t)
                for x in (t, float(np.nextafter(t, np.inf)))
            }
        )
        rows = columns.rows([raw for raw, _ in wanted], [x for _, x in wanted])
        self._rows = dict(zip(wanted, rows, strict=True))
        self._at = at
        self._parts: dict[tuple[int, int, float], tuple[float, bool] | None] = {}
        self._find_parts([cut for node in splits for cut in self._cuts_to_look_at(node)])

    def question(self, node: int) -> Question:
        """Return what to ask for a split."""
        if node not in self._questions:
            self._questions[node] = self._question(node)
        return self._questions[node]

    def _question(self, node: int) -> Question:
        raw, at = int(self.tree.feature[node]), self._at[node]
        missing = self._missing_left(node, raw)
        sides = self._one_sided(raw, at)
        if sides is not None:
            return self._present_or_not(raw, sides, missing)
        parted = False
        for find in (self._exact_cuts, self._nearest_cuts):
            for found in find(node, raw, at, missing):
                asked = self._with_missing(raw, found, missing)
                if asked is not None:
                    return asked
                parted = True
        raise self._cannot_tell(raw, at, missing, parted)

    # -- present on one side ------------------------------------------------------------

    def _one_sided(self, raw: int, at: float) -> bool | None:
        """Return the side of all numbers that the pipeline takes, or None if both have some."""
        if np.isinf(at):
            return at > 0
        low, high = self._pair(raw, at)
        if low is None or high is None:
            return high is None if low is not None else (at > 0 and high is None)
        return None

    def _present_or_not(self, raw: int, present: bool, missing: bool | None) -> Question:
        if missing is None or missing == present:
            return Reached(present)
        for column in self.columns.columns_of(raw):
            if np.isnan(self._missing_cell(raw, column)):
                return Ask(column, np.inf, False, Reached(present), Reached(missing))
        flag = self._flag(raw)
        if flag is not None:
            return flag.ask(Reached(present), Reached(missing), True)
        raise self._cannot_tell(raw, np.inf, missing, True)

    # -- missing values -----------------------------------------------------------------

    def _missing_left(self, node: int, raw: int) -> bool | None:
        """Where the tree sends missing values; None where the pipeline refuses them."""
        if self.columns.missing[raw] is None:
            return None
        return bool(self.tree.missing_left[node])

    def _missing_cell(self, raw: int, column: int) -> float:
        row = self.columns.missing[raw]
        return 0.0 if row is None else self._cell(row, column)

    def _cell(self, row: NDArray[Any], column: int) -> float:
        return float(compared_cells(row[[column]], self.precision)[0])

    def _with_missing(self, raw: int, cut: _Cut, missing: bool | None) -> Question | None:
        """Return a question for a cut that also sends missing values where they go, or None."""
        plain = cut.ask(Reached(True), Reached(False), bool(missing))
        cell = self._missing_cell(raw, cut.column)
        if missing is None or np.isnan(cell) or cut.sends_low(cell) == missing:
            return plain
        flag = self._flag(raw)
        return None if flag is None else flag.ask(plain, Reached(missing), True)

    def _flag(self, raw: int) -> _Cut | None:
        """Return a cut that parts present values (low) from missing ones, if there is one."""
        row, present = self.columns.missing[raw], self.columns.rows([raw], [1.0])[0]
        for column in self.columns.columns_of(raw):
            if self.columns.how[column] != FLAG or row is None or present is None:
                continue
            here, absent = self._cell(present, column), self._cell(row, column)
            if here != absent:
                return _Cut(column, (here + absent) / 2, here < absent)
        return None

    # -- thresholds ---------------------------------------------------------------------

    def _pair(self, raw: int, at: float) -> tuple[Any, Any]:
        return self._rows[raw, at], self._rows[raw, float(np.nextafter(at, np.inf))]

    def _number_columns(self, raw: int) -> list[int]:
        """Columns to compare with thresholds, those of the value itself first."""
        mine = [c for c in self.columns.columns_of(raw) if self.columns.how[c] in (SAME, NUMBER)]
        return sorted(mine, key=lambda c: self.columns.how[c] != SAME)

    def _cells_around(self, raw: int, at: float, column: int) -> tuple[float, float] | None:
        """Return what a column is at a raw threshold and just above; None where it is missing."""
        low, high = (np.nan if r is None else self._cell(r, column) for r in self._pair(raw, at))
        return None if np.isnan(low) or np.isnan(high) else (low, high)

    def _cuts_to_look_at(self, node: int) -> Iterator[tuple[int, int, float]]:
        """Go through the cuts of which :meth:`question` needs to know how they part raw numbers.

        Looked for all at once: each look runs the pipeline some ten times.
        """
        raw, at = int(self.tree.feature[node]), self._at[node]
        for column in self._number_columns(raw) if np.isfinite(at) else ():
            around = self._cells_around(raw, at, column)
            if around is None:
                continue
            if around[0] == around[1]:
                yield from ((raw, column, t) for t in self._beside(around[0]))
            elif self.columns.breaks[raw].size:
                yield raw, column, self._between(column, around, node)

    def _beside(self, cell: float) -> tuple[float, float]:
        """Return the thresholds just below a cell and at it."""
        kind = np.dtype(self.precision).type
        return float(np.nextafter(kind(cell), kind(-np.inf))), cell

    def _find_parts(self, cuts: Sequence[tuple[int, int, float]]) -> None:
        """Find where cuts part raw numbers, and whether low ones are low; None: not in two."""
        if not cuts:
            return
        columns, thresholds = np.array([c[1] for c in cuts]), np.array([c[2] for c in cuts])

        def below(at: NDArray[np.intp], rows: NDArray[Any]) -> NDArray[np.bool_]:
            cells = compared_cells(rows[np.arange(len(at)), columns[at]], self.precision)
            return np.asarray(cells <= thresholds[at])

        found = find_cuts(self.columns, np.array([c[0] for c in cuts]), below)
        for cut, parts in zip(cuts, found, strict=True):
            self._parts[cut] = parts[0] if len(parts) == 2 else None

    def _exact_cuts(self, node: int, raw: int, at: float, missing: bool | None) -> Any:
        """Go through the cuts that decide every raw number as the tree does."""
        for column in self._number_columns(raw):
            around = self._cells_around(raw, at, column)
            if around is None or around[0] == around[1]:
                continue
            rising = around[0] < around[1]
            cut = _Cut(column, self._between(column, around, node), rising)
            plain = not self.columns.breaks[raw].size
            if plain or self._parts[raw, column, cut.threshold] == (at, rising):
                yield cut

    def _between(self, column: int, around: tuple[float, float], node: int) -> float:
        """Return a threshold t with low <= t < high: the deployed tree's or this one's if one is.

        Else the middle.
        """
        low, high = sorted(around)
        for known in (*self.deployed.get(column, ()), float(self.tree.threshold[node])):
            if low <= known < high:
                return float(known)
        middle = low + (high - low) / 2
        return middle if middle < high else low

    def _nearest_cuts(self, node: int, raw: int, at: float, missing: bool | None) -> Any:
        """Go through cuts next to one that rounding makes impossible.

        Those above come first: a value that is equal to the threshold then goes as it should, and
        values equal to a threshold are likelier than values just above one.
        """
        found: list[tuple[float, float, _Cut]] = []
        for column in self._number_columns(raw):
            around = self._cells_around(raw, at, column)
            if around is None or around[0] != around[1]:
                continue
            thresholds = self._beside(around[0])
            ways = [self._parts[raw, column, t] for t in thresholds]
            known = [way for way in ways if way is not None]
            if len(known) < 2 or self._is_step(raw, column, sorted(way[0] for way in known)):
                continue
            for threshold, (written, rising) in zip(thresholds, known, strict=True):
                found.append((abs(written - at), written, _Cut(column, threshold, rising)))
        for _, written, cut in sorted(found, key=lambda one: (one[1] < at, one[0])):
            if self._with_missing(raw, cut, missing) is not None:
                self.moved.append(MovedThreshold(self.columns.labels[raw], at, written))
            yield cut

    def _is_step(self, raw: int, column: int, ends: list[float]) -> bool:
        """Whether a column does not move at all between two cuts: no rounding, but bins."""
        rows = self.columns.rows([raw] * 2, [float(np.nextafter(ends[0], np.inf)), ends[1]])
        one, two = (np.nan if r is None else float(r[column]) for r in rows)
        return one == two and ends[1] - ends[0] > 1e-6 * (abs(ends[0]) + abs(ends[1]))

    def _cannot_tell(
        self, raw: int, at: float, missing: bool | None, parted: bool
    ) -> UnsupportedModelError:
        """Return the error to raise; ``parted``: but for missing values it could be told."""
        name = self.columns.labels[raw]
        asked = f"{name!r} <= {at:g}" if np.isfinite(at) else f"whether {name!r} is missing"
        why = f"numbers on both sides are the same after {self.columns.taken_as(raw)}"
        if parted:
            filled = self.columns.imputed.get(raw)
            value = "a value" if filled is None else f"{filled:g}"
            asked += f" and sends missing values {'left' if missing else 'right'}"
            why = f"it fills in {value} for missing values, which go where {value} goes"
        return UnsupportedModelError(
            "expected splits that the steps of the pipeline can tell, got one that asks "
            f"{asked}: {why}; export the tree instead, or retrain from the pipeline itself"
        )
