"""What an outsider reads off a published page, tree and export: bounds on counts of people.

Unknown are the new rows by group of people that the two drawn trees tell apart (an atom), by
outcome and by subgroup, and the old rows by atom and outcome. Every cell of the page, every
decision and every predicted share is a bound on sums of them. The rules of rounding are known:
they are in the documentation.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.attack.disclosure.geometry import DrawnTree, atoms_of
from tests.attack.disclosure.solver import Constraint, Solver

__all__ = ["Reader", "positive_of", "summary_of"]

BASE, SMALL, FEWEST = 5, 8, 20
STEPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5)
_DATA = re.compile(r'<script[^>]*type="application/json"[^>]*>(?P<json>.*?)</script>', re.DOTALL)

Mask = NDArray[np.float64]


def summary_of(page: str) -> dict[str, Any]:
    """Return what a page embeds."""
    found = _DATA.search(page)
    assert found is not None, "expected the page to embed its data"
    summary: dict[str, Any] = json.loads(found["json"])
    return summary


def positive_of(summary: Mapping[str, Any]) -> int | None:
    """Position of the positive one of two classes."""
    diff = summary["diff"]
    return None if diff["positive"] is None else diff["classes"].index(diff["positive"])


@dataclass
class Reader:
    """Turn a published summary into bounds.

    Parameters
    ----------
    summary : dict
        Embedded in the page.
    groups : list of str
        Subgroups of the new rows in the order of the page; one for all of them.
    most : int
        Nobody is counted more often: the reader knows how many people there are at most.
    trained_on : {"all", "new", "old"}
        Which rows the new tree observed: new ones alone where drift was found.
    """

    summary: dict[str, Any]
    groups: list[str]
    most: int
    trained_on: str = "all"
    trees: dict[str, DrawnTree] = field(init=False)
    solver: Solver = field(init=False)

    def __post_init__(self) -> None:
        s = self.summary["diff"]
        self.trees = {
            side: DrawnTree.of(s["trees"][side], s["features"]) for side in ("old", "new")
        }
        self.atoms = [atom.leaves for atom in atoms_of([self.trees["old"], self.trees["new"]])]
        self.n_classes = len(s["classes"])
        self.shape = (len(self.atoms), self.n_classes, len(self.groups))
        self.n_new = int(np.prod(self.shape))
        self.n = self.n_new + len(self.atoms) * self.n_classes
        self.solver = Solver(self.n, self.most)

    # -- sums of unknowns ----------------------------------------------------------------

    def mask(
        self,
        rows: str,
        *,
        old: int | None = None,
        new: int | None = None,
        outcome: int | None = None,
        group: int | None = None,
    ) -> Mask:
        """People of some leaves, outcome and group, among the "new", the "old" or all rows."""
        at = [
            i
            for i, (one, two) in enumerate(self.atoms)
            if old in (None, one) and new in (None, two)
        ]
        first, second = np.zeros(self.shape), np.zeros(self.shape[:2])
        classes = slice(None) if outcome is None else outcome
        if rows != "old":
            first[at, classes, slice(None) if group is None else group] = 1
        if rows != "new":
            second[at, classes] = 1
        return np.concatenate([first.ravel(), second.ravel()])

    def decided(self, side: str, label: int, *, outcome: int | None, group: int | None) -> Mask:
        """New rows that a tree decides so."""
        out = np.zeros(self.n)
        for leaf, own in self.trees[side].labels.items():
            if own == label:
                out += self.mask("new", **{side: leaf}, outcome=outcome, group=group)
        return out

    # -- cells -------------------------------------------------------------------------------

    def people(
        self, cell: Mapping[str, Any] | None, part: Mask, whole: Mask | None, at: str
    ) -> None:
        """Bound a count, and the people whom it is of."""
        if cell is None:
            return
        solver = self.solver
        if not self.summary["published"]:
            solver.add(part, cell["count"], cell["count"], at)
            if whole is not None:
                solver.add(whole, cell["of"], cell["of"], at)
            return
        if whole is not None:
            if "of_below" in cell:
                solver.add(whole, 0, cell["of_below"] - 1, at)
                return
            solver.add(whole, cell["of"] - 2, cell["of"] + 2, at)
            if cell["count"] is None and "below" not in cell and "above" not in cell:
                solver.add(whole, 0, FEWEST - 1, at)
                return
            solver.add(whole, FEWEST, np.inf, at)
        if "below" in cell:
            solver.add(part, 0, cell["below"] - 1, at)
        elif "above" in cell:
            assert whole is not None
            solver.add(whole - part, 0, SMALL - 1, at)
        elif cell["count"] is not None:
            solver.add(part, max(cell["count"] - 2, SMALL), cell["count"] + 2, at)
            if whole is not None:
                solver.add(whole - part, SMALL, np.inf, at)

    def share(
        self, cell: Mapping[str, Any], n: Mapping[str, Any], part: Mask, whole: Mask, at: str
    ) -> None:
        """Bound the people behind a measure of decisions."""
        self.people(n, whole, None, at)
        if not self.summary["published"]:
            if cell["measure"] is not None and n["count"]:
                count = round(cell["measure"] * n["count"])
                self.solver.add(part, count, count, at)
        elif "below" in cell:
            self.solver.add(part, 0, SMALL - 1, at)
        elif "above" in cell:
            self.solver.add(whole - part, 0, SMALL - 1, at)
        elif cell["measure"] is not None and n["count"]:
            fits = [
                k
                for k in range(0, n["count"] + 6, BASE)
                if round(k / n["count"], 2) == cell["measure"]
            ]
            assert fits, (at, cell, n)
            self.solver.add(part, fits[0] - 2, fits[-1] + 2, at)

    def risk(self, share: float, part: Mask, whole: Mask, at: str) -> None:
        """Bound a rate that a leaf predicts, rounded in one of the steps."""
        either = []
        for i, step in enumerate(STEPS):
            if abs(share / step - round(share / step)) > 1e-6:
                continue
            # Of fewer people the step would be the next one, of more the one before.
            least = 0.0 if i == len(STEPS) - 1 else BASE / step
            most = np.inf if i == 0 else BASE / STEPS[i - 1]
            low, high = share - step, share + step  # the label may have moved it by a step
            either.append(
                [
                    Constraint(whole, least, most, at),
                    Constraint(part - low * whole, 0.0, np.inf, at),
                    Constraint(part - high * whole, -np.inf, 0.0, at),
                ]
            )
        self.solver.either(either)

    def label(self, leaf: int, threshold: float, positive: int, rows: str, side: str) -> None:
        """Bound a rate by the decision that follows from it."""
        part = self.mask(rows, **{side: leaf}, outcome=positive)
        whole = self.mask(rows, **{side: leaf})
        yes = self.trees[side].labels[leaf] == positive
        low, high = (0.0, np.inf) if yes else (-np.inf, 0.0)
        self.solver.add(part - threshold * whole, low, high, f"label of {side} {leaf}")

    # -- the page --------------------------------------------------------------------------------

    def read_page(self) -> None:
        """Read all tables of a retraining's page."""
        s, diff = self.summary, self.summary["diff"]
        positive = positive_of(s)
        everybody = self.mask("new")
        self.people(diff["n_rows"], everybody, None, "rows")
        self.people(s["affected"]["n"], everybody, None, "rows affected")
        for row in diff["rules"]:
            for side in ("old", "new"):
                if (half := row[side]) is None:
                    continue
                here = self.mask("new", **{side: half["leaf"]})
                at = f"rule {row['number']} {side}"
                self.people(half["rows"], here, everybody, at)
                shown = positive
                if shown is None:
                    shown = self.trees[side].labels[half["leaf"]]
                with_outcome = self.mask("new", **{side: half["leaf"]}, outcome=shown)
                self.people(half["observed"], with_outcome, here, f"observed of {at}")
                rows = "old" if side == "old" else self.trained_on
                part, whole = (
                    self.mask(rows, **{side: half["leaf"]}, outcome=k) for k in (shown, None)
                )
                self.people(half["trained_on"], part, whole, f"trained {at}")
        changed = self._changed(None)
        self.people(s["affected"]["flips"], changed, everybody, "flips")
        self.people(diff["flips"], changed, everybody, "flips of the diff")
        self._measures(s["performance"]["measures"], None, positive)
        for by in s["groups"]:
            for g, group in enumerate(by["groups"]):
                inside = self.mask("new", group=g)
                self.people(group["n"], inside, None, f"group {g}")
                self.share(group["flips"], group["n"], self._changed(g), inside, f"flips of {g}")
                self._measures(group["measures"], g, positive)

    def _changed(self, group: int | None) -> Mask:
        out = np.zeros(self.n)
        for one, two in self.atoms:
            if self.trees["old"].labels[one] != self.trees["new"].labels[two]:
                out += self.mask("new", old=one, new=two, group=group)
        return np.minimum(out, 1)

    def _measures(self, measures: Any, group: int | None, positive: int | None) -> None:
        for m in measures:
            for column, side in (("deployed", "old"), ("own", "new")):
                at = f"{m['name']} {side} {group}"
                name, whole = m["name"], self.mask("new", group=group)
                if name == "Accuracy":
                    part = sum(
                        self.decided(side, k, outcome=k, group=group) for k in range(self.n_classes)
                    )
                elif positive is None:
                    continue
                elif name.startswith("Flagged"):
                    part = self.decided(side, positive, outcome=None, group=group)
                elif name.startswith(("Sensitivity", "Specificity")):
                    k = positive if name.startswith("Sens") else 1 - positive
                    whole = self.mask("new", outcome=k, group=group)
                    part = self.decided(side, k, outcome=k, group=group)
                else:
                    continue
                self.share(m[column], m["n"], np.asarray(part), whole, at)
