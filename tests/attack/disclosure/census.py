"""The unknowns: how many people there are of each kind that the published numbers speak of.

People are the rows the deployed tree was trained on ("old") and those that arrived ("new"), by
atom (see :mod:`tests.attack.disclosure.geometry`) and outcome; the new ones also by each
subgroup column. No number published is about two subgroup columns at once, so that one table
per column, all with the same totals, loses nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tests.attack.disclosure.geometry import DrawnTree, atoms_of, code_rows
from tests.attack.disclosure.solver import Coefficients, Solver

__all__ = ["Census", "View", "named"]

MOST_ATOMS = 90
EVENTS = ("flips", "moved_5", "moved_10")
LIMITS = {"moved_5": 0.05, "moved_10": 0.10}
Mask = NDArray[np.bool_]


def named(what: str, report: int) -> str:
    """Name of a tree or an event of one of several reports; the deployed tree is everybody's."""
    return what if report == 0 or what == "old" else f"{what} of report {report + 1}"


class Census:
    """Cells of people, and the counts that sum them.

    Parameters
    ----------
    summaries : sequence of dict
        What the pages embed of one or several reports on the same rows and deployed tree.
    groups : mapping of str to list of str
        Names of the subgroups of each column, as published.
    most : int
        Upper bound of all counts.
    """

    def __init__(
        self,
        summaries: Sequence[Mapping[str, Any]],
        groups: Mapping[str, Sequence[str]],
        most: int,
    ) -> None:
        first = summaries[0]
        self.features = first["features"]
        self.classes: list[str] = first["classes"] or ["everyone"]
        self.min_cell = int(first["min_cell"])
        self.classifier = first["classes"] is not None
        self.groups = {column: list(names) for column, names in groups.items()}
        self.trees: dict[str, DrawnTree] = {}
        for report, summary in enumerate(summaries):
            for side in ("old", "new"):
                if summary["trees"][side] is not None:
                    drawn = DrawnTree.of(summary["trees"][side], self.features)
                    known = self.trees.setdefault(named(side, report), drawn)
                    assert known.boxes == drawn.boxes, "expected reports on one deployed tree"
        self.n_reports, n_compared = len(summaries), len(self.trees)
        self.atoms = atoms_of(list(self.trees.values()))
        for report, summary in enumerate(summaries):
            for i, compact in enumerate((summary["frontier"] or {"trees": []})["trees"]):
                tree = DrawnTree.compact(compact, self.features)
                finer = atoms_of([*self.trees.values(), tree])
                if len(finer) <= MOST_ATOMS:
                    self.trees[named(f"candidate {i}", report)] = tree
                    self.atoms = finer
        self.names = list(self.trees)
        self.leaf = np.array([atom.leaves for atom in self.atoms]).reshape(len(self.atoms), -1)
        # Candidates are never spoken of by subgroup: there the two trees' leaves are enough.
        self.pairs, self.pair_of = np.unique(self.leaf[:, :n_compared], axis=0, return_inverse=True)
        self.pair_of = self.pair_of.ravel()
        self._blocks: list[tuple[str, str, str]] = [("old", "", ""), ("new", "", "")]
        self._blocks += [("new", c, g) for c, names in self.groups.items() for g in names]
        widths = [self._width(column) for _, column, _ in self._blocks]
        self._starts = np.concatenate([[0], np.cumsum(widths)]).tolist()
        self._extra: dict[tuple[str, str, str], int] = {}
        # Whom an event happens to is not always known from the drawing.
        self.happens = {
            named(event, report): self._happening(event, named("new", report))
            for report in range(self.n_reports)
            for event in EVENTS
        }
        for event, (_, open_) in self.happens.items():
            if open_.any():
                for _, column, group in self._blocks[1:]:
                    self._extra[event, column, group] = self._n_cells + len(self._extra)
        self.solver = Solver(self._n_cells + len(self._extra), most)
        self._link()

    @property
    def _n_cells(self) -> int:
        return int(self._starts[-1])

    def _width(self, column: str) -> int:
        return (len(self.pairs) if column else len(self.atoms)) * len(self.classes)

    def _link(self) -> None:
        """Groups of a column partition the new rows; open events happen to those they can."""
        for column, names in self.groups.items():
            for pair in range(len(self.pairs)):
                here = self.pair_of == pair
                for k in range(len(self.classes)):
                    of = -self.count(outcome=k, atoms=here)
                    for name in names:
                        of += self.count(column=column, group=name, outcome=k, atoms=here)
                    self.solver.add(of, 0, 0, f"groups of {column} partition the rows")
            for event, (_, open_) in self.happens.items():
                if open_.any():
                    of = np.zeros(self.solver.n)
                    of[self._extra[event, "", ""]] = -1
                    for name in names:
                        of[self._extra[event, column, name]] = 1
                    self.solver.add(of, 0, 0, f"{event} by {column} partition those in all")
        for (event, column, group), at in self._extra.items():
            of = -self.count(column=column, group=group, atoms=self.happens[event][1])
            of[at] += 1
            self.solver.add(of, -np.inf, 0, f"{event} happens to some of {group or 'all'}")

    # -- sums of cells -------------------------------------------------------------------

    def _start(self, rows: str, column: str, group: str) -> int:
        return int(self._starts[self._blocks.index((rows, column, group))])

    def count(
        self,
        rows: str = "new",
        *,
        column: str = "",
        group: str = "",
        outcome: int | None = None,
        atoms: Mask | None = None,
        weights: NDArray[np.float64] | None = None,
    ) -> Coefficients:
        """Coefficients of a count of people; ``weights`` (atom, outcome) in place of ones."""
        cells = np.ones((len(self.atoms), len(self.classes))) if weights is None else weights.copy()
        if outcome is not None:
            cells[:, [k for k in range(len(self.classes)) if k != outcome]] = 0
        if atoms is not None:
            cells[~atoms] = 0
        if column:
            first = np.unique(self.pair_of, return_index=True)[1]
            assert np.array_equal(cells, cells[first][self.pair_of]), "not a sum of cells"
            cells = cells[first]
        of = np.zeros(self._n_cells + len(self._extra))
        start = self._start(rows, column, group)
        of[start : start + cells.size] = cells.ravel()
        return of

    def at(self, tree: str, leaf: int) -> Mask:
        """Atoms of a leaf of a drawn tree."""
        return np.asarray(self.leaf[:, self.names.index(tree)] == leaf)

    def leaves_in(self, tree: str) -> NDArray[np.intp]:
        """Leaf of each atom in a drawn tree."""
        return np.asarray(self.leaf[:, self.names.index(tree)])

    def labelled(self, tree: str, label: int) -> Mask:
        """Atoms that a drawn tree decides so."""
        labels = self.trees[tree].labels
        return np.array([labels[leaf] == label for leaf in self.leaf[:, self.names.index(tree)]])

    def event(self, name: str, column: str = "", group: str = "") -> Coefficients:
        """Count the new rows that something happens to."""
        of = self.count(column=column, group=group, atoms=self.happens[name][0])
        if (name, column, group) in self._extra:
            of[self._extra[name, column, group]] = 1
        return of

    def differs(self, one: str, other: str) -> Mask:
        """Atoms that two drawn trees decide otherwise."""
        labels = [
            [self.trees[name].labels[leaf] for leaf in self.leaf[:, self.names.index(name)]]
            for name in (one, other)
        ]
        return np.array([a != b for a, b in zip(*labels, strict=True)])

    def _happening(self, event: str, new: str) -> tuple[Mask, Mask]:
        """Atoms to which something happens, and those to which it may or may not."""
        sure, open_ = (np.zeros(len(self.atoms), dtype=bool) for _ in range(2))
        if "old" not in self.trees:
            return sure, open_
        if event == "flips" and self.classifier:
            return self.differs("old", new), open_
        limit = LIMITS.get(event)
        for i in range(len(self.atoms)):
            values = [
                self.trees[side].values[int(self.leaf[i, self.names.index(side)])]
                for side in ("old", new)
            ]
            if limit is None or None in values or not self.classifier:
                open_[i] = True
                continue
            move = sum(abs(a - b) for a, b in zip(*values, strict=True)) / 2
            # Shares are rounded: to 3 digits, or coarsely.
            error = 0.1 if any(round(v, 2) == v for value in values for v in value) else 0.0015
            sure[i] = move > limit + error
            open_[i] = abs(move - limit) <= error
        return sure, open_

    # -- the truth ------------------------------------------------------------------------

    def counted(
        self,
        tables: Mapping[str, pd.DataFrame],
        outcomes: Mapping[str, Sequence[str]],
        groups: Mapping[str, Sequence[str]],
        events: Mapping[str, NDArray[np.bool_]],
    ) -> Coefficients:
        """Count raw rows into the cells: what the adversary wants to know."""
        truth = np.zeros(self.solver.n)
        for rows, table in tables.items():
            coded = code_rows(table, self.features)
            leaves = np.column_stack([tree.leaf_of(coded) for tree in self.trees.values()])
            places = {atom.leaves: i for i, atom in enumerate(self.atoms)}
            atom = np.array([places[tuple(int(v) for v in row)] for row in leaves])
            outcome = (
                np.array([self.classes.index(str(v)) for v in outcomes[rows]])
                if self.classifier
                else np.zeros(len(table), dtype=int)
            )
            blocks = [b for b in self._blocks if b[0] == rows]
            for _, column, group in blocks:
                inside = np.ones(len(table), dtype=bool)
                if column:
                    inside = np.asarray(groups[column]) == group
                place = self.pair_of[atom] if column else atom
                cell = place * len(self.classes) + outcome
                start, width = self._start(rows, column, group), self._width(column)
                truth[start : start + width] = np.bincount(cell[inside], minlength=width)
                for event, (_, open_) in self.happens.items():
                    at = self._extra.get((event, column, group))
                    if at is not None and rows == "new":
                        truth[at] = (events[event] & open_[atom] & inside).sum()
        return truth


class View:
    """The census as one of the reports speaks of it: its own proposal is the "new" tree."""

    def __init__(self, census: Census, report: int) -> None:
        self.census, self.report = census, report
        names = ["old", "new", *(f"candidate {i}" for i in range(len(census.names)))]
        self.trees = {
            name: census.trees[named(name, report)]
            for name in names
            if named(name, report) in census.trees
        }

    def __getattr__(self, name: str) -> Any:
        return getattr(self.census, name)

    def at(self, tree: str, leaf: int) -> Mask:
        """Atoms of a leaf of a drawn tree."""
        return self.census.at(named(tree, self.report), leaf)

    def leaves_in(self, tree: str) -> NDArray[np.intp]:
        """Leaf of each atom in a drawn tree."""
        return self.census.leaves_in(named(tree, self.report))

    def labelled(self, tree: str, label: int) -> Mask:
        """Atoms that a drawn tree decides so."""
        return self.census.labelled(named(tree, self.report), label)

    def differs(self, one: str, other: str) -> Mask:
        """Atoms that two drawn trees decide otherwise."""
        return self.census.differs(named(one, self.report), named(other, self.report))

    def event(self, name: str, column: str = "", group: str = "") -> Coefficients:
        """Count the new rows that something happens to."""
        return self.census.event(named(name, self.report), column, group)
