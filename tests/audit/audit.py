"""One retraining of the audit beside the raw rows that everything is recomputed from."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

import steadytree as st
from tests.audit.by_hand import outcome_columns, rows_at_nodes
from tests.audit.sets import Case, make_case

__all__ = ["QUICK", "QUICK_ROWS", "Array", "Audit", "leaves", "weights"]

QUICK_ROWS = 300
QUICK = {"search": st.SearchOptions(n_estimators=10, copies=1)}

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class Audit:
    """One retraining and the raw rows it was given."""

    case: Case
    result: st.Retraining

    @classmethod
    def of(cls, name: str, most_rows: int | None, **options: Any) -> Audit:
        case = make_case(name, most_rows)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            return cls(case, case.retrain(**options))

    @property
    def classes(self) -> tuple[Any, ...] | None:
        return self.result.tree.classes

    @cached_property
    def parts(self) -> list[tuple[pd.DataFrame, Array, Array]]:
        """Features, outcomes and weights of the old rows, then of the new ones."""
        case = self.case
        new = (
            case.X_new,
            outcome_columns(case.y_new, self.classes),
            weights(case.w_new, case.y_new),
        )
        old = (
            case.X_old,
            outcome_columns(case.y_old, self.classes),
            weights(case.w_old, case.y_old),
        )
        if not case.old_rows:
            old = case.X_old[:0], old[1][:0], old[2][:0]
        return [old, new]

    @cached_property
    def proposed_trees(self) -> dict[str, Any]:
        """The proposal and others of the same run: nothing but values, most edits, all anew."""
        names = dict.fromkeys((self.result.chosen, "re-estimate", "price 0.02", "from scratch"))
        trees = self.result.trees
        return {name: trees[name] for name in names if name in trees and name != "keep"}

    @cached_property
    def trained_on(self) -> tuple[pd.DataFrame, Array]:
        """Rows that the tree of the answer was trained on: one that is kept on the old ones."""
        case = self.case
        if self.result.action == "keep":
            return case.X_old, outcome_columns(case.y_old, self.classes)
        X = pd.concat([part[0] for part in self.parts], ignore_index=True)
        return X, np.concatenate([part[1] for part in self.parts])

    def leaf_of_new_rows(self, tree: Any) -> Array:
        leaf = np.full(len(self.case.X_new), -1)
        for node, rows in enumerate(rows_at_nodes(tree, self.case.X_new)):
            if tree.children_left[node] < 0:
                leaf[rows] = node
        assert (leaf >= 0).all()
        return leaf

    @cached_property
    def decided_before(self) -> Array:
        """What the model in force says of the new rows: the model itself is asked."""
        return np.asarray(self.case.model.predict(self.case.X_new))

    @cached_property
    def decided_now(self) -> Array:
        tree, leaf = self.result.tree, self.leaf_of_new_rows(self.result.tree)
        if self.classes is None:
            return tree.value[leaf, 0]
        return np.array(self.classes)[tree.label[leaf]]

    @cached_property
    def changed(self) -> Array:
        """New rows whose decision changes, or whose prediction moves by 5 % of the range."""
        if self.classes is not None:
            return self.decided_before != self.decided_now
        case, every = self.case, self.case.y_old
        if not isinstance(case.model, st.DistilledTreeRegressor):  # it brings no range of its own
            every = pd.concat([case.y_old, case.y_new])
        return np.abs(self.decided_now - self.decided_before) > 0.05 * (every.max() - every.min())


def weights(weight: Array | None, y: pd.Series[Any]) -> Array:
    return np.ones(len(y)) if weight is None else weight


def leaves(tree: Any) -> Iterator[int]:
    yield from np.flatnonzero(tree.children_left < 0).tolist()
