"""The long table of a run, laid out for statistics over splits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["Cells", "Observed"]

T = TypeVar("T")

Key = tuple[str, str]
"""Kind of work and data set."""
Cells = dict[tuple[str, str], float]
"""Method and measure of each number of one split."""


class Observed:
    """Numbers of one protocol, by kind of work, data set and split.

    Parameters
    ----------
    splits : dict
        For each (kind, data set) the cells of each split.
    """

    def __init__(self, splits: Mapping[Key, Mapping[int, Cells]]) -> None:
        self._splits = splits
        # What was computed of single splits, shared by all that leave some of them out: intervals
        # ask for the same hundreds of times. The whole is kept, so that ids stay its cells'.
        self._known: dict[tuple[int, Any], Any] = {}
        self._whole = splits

    def _part(self, splits: Mapping[Key, Mapping[int, Cells]]) -> Observed:
        part = Observed(splits)
        part._known, part._whole = self._known, self._whole
        return part

    @classmethod
    def from_rows(cls, rows: Iterable[Mapping[str, Any]], protocol: str) -> Observed:
        """Take the rows of one protocol ("" where nothing was chosen on a holdout)."""
        found: dict[Key, dict[int, Cells]] = {}
        for row in rows:
            if row["protocol"] == protocol:
                splits = found.setdefault((row["kind"], row["dataset"]), {})
                cells = splits.setdefault(int(row["split"]), {})
                cells[row["method"], row["measure"]] = float(row["value"])
        return cls(found)

    def of(self, kind: str, datasets: Iterable[str] | None = None) -> Observed:
        """Keep one kind of work, on some data sets."""
        wanted = None if datasets is None else set(datasets)
        return self._part(
            {
                key: splits
                for key, splits in self._splits.items()
                if key[0] == kind and (wanted is None or key[1] in wanted)
            }
        )

    def without(self, key: Key, split: int) -> Observed:
        """Leave out one split of one data set."""
        rest = {k: cells for k, cells in self._splits[key].items() if k != split}
        return self._part({**self._splits, key: rest})

    def groups(self) -> Iterator[tuple[Key, list[int]]]:
        """Yield each kind and data set with its splits."""
        for key, splits in self._splits.items():
            yield key, sorted(splits)

    @property
    def datasets(self) -> list[str]:
        """Names of the data sets, in the order of the table."""
        return list(dict.fromkeys(name for _, name in self._splits))

    def values(self, dataset: str, method: str, measure: str) -> NDArray[np.float64]:
        """Return one number of every split of a data set."""
        return np.array([cells[method, measure] for cells in self._cells(dataset)])

    def beginning(self, dataset: str, method: str, prefix: str) -> list[dict[str, float]]:
        """Return for every split the measures that begin with ``prefix``, without it."""

        def chosen(cells: Cells) -> dict[str, float]:
            return {
                measure.removeprefix(prefix): value
                for (of, measure), value in cells.items()
                if of == method and measure.startswith(prefix)
            }

        return self.of_each(dataset, (method, prefix), chosen)

    def of_each(self, dataset: str, name: Any, compute: Callable[[Cells], T]) -> list[T]:
        """Return what a function makes of every split; computed once for each, under a name."""
        found = []
        for cells in self._cells(dataset):
            key = (id(cells), name)
            if key not in self._known:
                self._known[key] = compute(cells)
            found.append(self._known[key])
        return found

    def _cells(self, dataset: str) -> list[Cells]:
        found = [splits for (_, name), splits in self._splits.items() if name == dataset]
        if len(found) != 1:
            raise LookupError(f"expected one kind of work on {dataset!r}, got {len(found)}")
        return [found[0][k] for k in sorted(found[0])]
