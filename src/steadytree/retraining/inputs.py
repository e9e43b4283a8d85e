"""What ``retrain`` is passed: rows, which of them are searched and scored on, and options.

Rows come as a table with its outcomes and what else belongs to each row. Where old and new rows
overlap, or are more than the search needs, it is settled here which of them count.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadytree.exceptions import InputError
from steadytree.growing.teacher import COPIES
from steadytree.tree.rows import CodedRows, row_hashes

BoolArray = NDArray[np.bool_]

STRUCTURE_ROWS = 100_000
"""Most real rows, old and new together, that rules are searched on."""
LEAST = {"n_estimators": 1, "max_leaf_nodes": 1, "max_depth": 0, "min_samples_leaf": 1, "copies": 0}
"""The least of each option of the search."""
CHANCE_ERRORS = 3.0
CLEAR_SHARE = 0.05
FEWEST_SCORED = 20
FEWEST_PER_CLASS = 5


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows for ``retrain(old=..., test=...)``; a plain ``(X, y)`` does where that is all.

    Attributes
    ----------
    X, y
        Predictors and outcomes.
    sample_weight : array, optional
        Weights in training.
    groups : array, optional
        Groups of the rows: while a group's new rows are scored, its old rows are not trained on.

    Examples
    --------
    >>> import steadytree as st
    >>> st.Rows([[1.0], [2.0]], [0, 1], groups=["a", "b"]).y
    [0, 1]
    """

    X: Any
    y: Any
    sample_weight: Any = None
    groups: Any = None


def read_rows(rows: Any, name: str) -> Rows | None:
    """Return rows as they were passed, as :class:`Rows` or as a pair; None for none."""
    if isinstance(rows, (tuple, list)) and len(rows) == 2:
        rows = Rows(*rows)
    if not (rows is None or isinstance(rows, Rows)):
        raise InputError(
            f"expected {name}=(X, y) or {name}=Rows(X, y, ...), got {type(rows).__name__}; "
            "pass the rows together with their outcomes"
        )
    return rows


# Rows and groups that are among the old rows as well as among the new ones.
# A score is honest for rows that nothing was trained on. Where the two tables overlap (a
# sliding window, the whole history passed as old rows, a patient with visits in both) the old
# rows would show the recipe what it is scored on, and the deployed tree has seen it already. On
# pure noise that alone gives an AUC of 0.6.


def find_copies(new: CodedRows, old: CodedRows) -> tuple[BoolArray, BoolArray] | None:
    """Find rows that are new and old, equal in all features and outcome: which of either.

    Where features take few values rows are equal by chance. How often that happens the old rows
    show among themselves: as many of them have a twin among the others as new rows would have
    by chance. Of the new rows that chance does not explain, a clear share must recur, the larger
    the more rows are equal by chance, and more than three standard errors; else None is returned.
    """
    in_new, in_old = row_hashes(new), row_hashes(old)
    recurs = np.isin(in_new, in_old)
    _, which, count = np.unique(in_old, return_inverse=True, return_counts=True)
    share, by_chance = float(recurs.mean()), float((count[which] > 1).mean())
    expected = len(new) * by_chance
    slack = CHANCE_ERRORS * np.sqrt(expected * (1 - by_chance) + 1)
    beyond = (share - by_chance) / max(1 - by_chance, 1e-12)
    if share * len(new) <= expected + slack or beyond <= CLEAR_SHARE + by_chance:
        return None
    return recurs, np.isin(in_old, in_new)


def scored_rows(seen: BoolArray, y: NDArray[np.int64], n_classes: int | None) -> BoolArray | None:
    """Choose the new rows to score on: those the deployed tree has not seen, if they are enough.

    None where they are not: then all rows are scored.
    """
    unseen = ~seen
    if unseen.sum() < FEWEST_SCORED:
        return None
    if n_classes is not None:
        there = np.bincount(y, minlength=n_classes) > 0
        if np.bincount(y[unseen], minlength=n_classes)[there].min() < FEWEST_PER_CLASS:
            return None
    return unseen


# Which rows the rules are searched on, where there are more than the search needs.
# A tree that people read has some twenty leaves: a hundred thousand rows say all there is to say
# about where its cuts should lie, and a million take ten times as long to say it. So beyond
# ``STRUCTURE_ROWS`` teacher and search are given a sample: drawn with the seed, each class in its
# share, and at least half of it new rows as far as there are any. What leaves predict, and the
# rows they count, come from all rows.


def share_sample(n_old: int, n_new: int, most: int) -> tuple[int, int]:
    """Rows to draw of the old and of the new ones: by their share, at least half of them new."""
    new = min(n_new, max(round(most * n_new / max(n_old + n_new, 1)), most // 2))
    return min(n_old, most - new), new


def draw_rows(y: NDArray[Any], wanted: int, *, classifier: bool, seed: int) -> NDArray[np.intp]:
    """Draw rows without replacement, in their order; each class in its share, at least once."""
    strata = [np.flatnonzero(y == k) for k in np.unique(y)] if classifier else [np.arange(len(y))]
    rng, drawn = np.random.default_rng(seed), []
    for rows in strata:
        size = min(len(rows), max(1, round(wanted * len(rows) / len(y))))
        drawn.append(rows[rng.choice(len(rows), size, replace=False)])
    return np.sort(np.concatenate(drawn))


def with_rate(rows: CodedRows, times: float) -> CodedRows:
    """Let each row of a sample stand for ``times`` rows; a rounding of 1 is 1."""
    return rows if abs(times - 1) < 0.01 else replace(rows, weight=rows.weights * times)


def check_number(value: Any, name: str, *, fix: str) -> None:
    """Refuse what is not a number from 0 on; ``fix`` says what to do."""
    if type(value) is bool or not isinstance(value, Real) or not float(value) >= 0:
        raise InputError(f"expected a number >= 0 as {name}, got {value!r}; {fix}")


def check_whole(value: Any, name: str, *, least: int, fix: str) -> None:
    """Refuse what is not a whole number from ``least`` on; ``fix`` says what to do."""
    if type(value) is bool or not isinstance(value, Integral) or int(value) < least:
        raise InputError(f"expected a whole number >= {least} as {name}, got {value!r}; {fix}")


@dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """How :func:`retrain` searches for trees.

    Attributes
    ----------
    n_estimators : int, default 100
        Trees of the teacher's forest, and its rounds of boosting (at most 100).
    max_leaf_nodes : int, optional
        Size to aim for; by default by the number of minority cases (6 to 24). A tree that
        is already larger may stay so. The tree from scratch has by default as many leaves as a
        first tree (6 to 16) or as the deployed one, the larger.
    max_depth, min_samples_leaf : int, default 8
        Limits on new rules. A tree from scratch has at most 5 conditions in a rule, or as many
        as the deployed one.
    copies : int, default 3
        Augmented rows per real row that the teacher is asked about.

    Examples
    --------
    >>> import steadytree as st
    >>> options = st.SearchOptions(n_estimators=50, max_leaf_nodes=6)  # for retrain(search=...)
    >>> options.max_depth
    8
    """

    n_estimators: int = 100
    max_leaf_nodes: int | None = None
    max_depth: int = 8
    min_samples_leaf: int = 8
    copies: int = COPIES

    def __post_init__(self) -> None:
        for option in fields(self):
            value = getattr(self, option.name)
            if value is not None or option.default is not None:
                least, fix = LEAST[option.name], f"the default is {option.default!r}"
                check_whole(value, option.name, least=least, fix=fix)

    @classmethod
    def of_settings(cls, settings: Mapping[str, Any]) -> SearchOptions:
        """Return the options of a result from its settings, as :meth:`record` wrote them.

        Parameters
        ----------
        settings : mapping

        Returns
        -------
        SearchOptions
        """
        return cls(**{f.name: settings[f.name] for f in fields(cls)})

    def in_folds(self) -> SearchOptions:
        """Options of the runs that only score: half the teacher's trees, at least 50.

        Returns
        -------
        SearchOptions
        """
        half = max(self.n_estimators // 2, min(self.n_estimators, 50))
        return replace(self, n_estimators=half)

    def record(self) -> dict[str, Any]:
        """Entries for the settings of a result.

        Returns
        -------
        dict
        """
        return {**asdict(self), "n_estimators_in_folds": self.in_folds().n_estimators}
