"""A tree that decides the same for everybody: what it misses, and the threshold that would help.

With a rare outcome the largest share is the other class's in every leaf. The risks may be right
and yet nobody is flagged; decisions, and how many of them change, then say nothing.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadytree.exceptions import OneDecisionWarning
from steadytree.tree.decision import obvious_positive
from steadytree.tree.tree import Tree
from steadytree.tree.words import PLAIN

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class OneDecision:
    """What a tree decides for everybody.

    Attributes
    ----------
    label : class label
        What it decides for every row.
    positive : class label or None
        The class to be detected: where nobody named one, the one that nobody gets. None for
        several classes.
    event_share : float or None
        Share of the rows that are of the positive class; None where outcomes are not known, or
        where all or none of them are.
    n_rows : int or None
        None where the tree does not say how many rows it saw.
    threshold : float or None
        The largest threshold at which at least half of the events would be flagged; None
        where the share of events is, or the risk is the same for everybody.
    needed : float or None
        The risk from which the positive class is decided on; None for several classes.
    """

    label: Any
    positive: Any
    event_share: float | None
    n_rows: int | None
    threshold: float | None
    needed: float | None = None

    def words(self, who: str = "the tree") -> str:
        """Say it in two short sentences: what is decided, and which threshold would help.

        Parameters
        ----------
        who : str, default "the tree"
            What decides so.

        Returns
        -------
        str
        """
        rows = "rows" if self.n_rows is None else f"{self.n_rows:,} rows"
        text = f'{who} decides "{PLAIN.name(self.label)}" for all {rows}'
        if self.positive is None:
            return f"{text}."
        event = PLAIN.name(self.positive)
        if self.needed is not None:
            text += f': "{event}" needs a risk of {_percent(self.needed)}'
            if self.event_share is not None:
                text += f" and {_percent(self.event_share)} of rows are {event}"
        if self.threshold is None:
            return f"{text}."
        still = "still " if self.label == self.positive else ""
        return f"{text}. A threshold of {self.threshold_words} would {still}catch half of them."

    @property
    def threshold_words(self) -> str:
        """The threshold in per cent, rounded down so that it does catch half; "" where none."""
        return "" if self.threshold is None else _percent(self.threshold, down=True)


def find_one_decision(
    tree: Tree, risk: FloatArray, events: NDArray[Any] | None, weight: FloatArray | None = None
) -> OneDecision | None:
    """Return what a tree decides for all rows; None where it tells rows apart.

    Parameters
    ----------
    tree : Tree
    risk : float array
        What the tree predicts for each row: the share of the positive class of two. Of several
        classes only the number of rows is read.
    events : array or None
        Whether each row is of the positive class; or, for rows counted together, their share.
    weight : float array, optional
        How many rows each entry stands for, by default one.

    Returns
    -------
    OneDecision or None
    """
    if tree.classes is None or len(tree.classes) < 2 or not len(risk):
        return None
    two, at = len(tree.classes) == 2, tree.decision.position
    leaves = tree.leaves
    if two:
        reached = np.isin(tree.value[leaves, at], risk)
        leaves = leaves[reached] if reached.any() else leaves
    labels = np.unique(tree.label[leaves])
    if len(labels) > 1:
        return None
    rows = np.ones(len(risk)) if weight is None else np.asarray(weight, dtype=np.float64)
    counted = rows.sum() > 0
    n_rows = round(float(rows.sum())) if counted else None
    label = tree.classes[int(labels[0])]
    if not two:
        return OneDecision(label, None, None, n_rows, None)
    if at == labels[0] and _nobody_named(tree):
        at, risk = 1 - at, 1 - risk
        events = None if events is None else 1 - np.asarray(events, dtype=np.float64)
    share = threshold = None
    if events is not None and counted:
        happened = np.asarray(events, dtype=np.float64) * rows
        n_events = float(happened.sum())
        if 0 < n_events < float(rows.sum()):
            share = n_events / float(rows.sum())
            threshold = _catches_half(np.asarray(risk, dtype=np.float64), happened)
    needed, weight_of = tree.decision.threshold, tree.decision.class_weight or (1.0, 1.0)
    if needed is None:
        needed = weight_of[1 - at] / sum(weight_of)
    return OneDecision(label, tree.classes[at], share, n_rows, threshold, needed)


def _nobody_named(tree: Tree) -> bool:
    """Whether the positive class is only the second by the alphabet."""
    unnamed = tree.decision.positive is None and tree.decision.threshold is None
    return unnamed and obvious_positive(tree.classes or ()) is None


def one_decision_of_leaves(tree: Tree) -> OneDecision | None:
    """Return what a tree decides for everybody by what is stored in its leaves.

    Rows are spoken of only where the tree says how many it saw.

    Parameters
    ----------
    tree : Tree

    Returns
    -------
    OneDecision or None
    """
    if tree.classes is None or len(tree.classes) < 2:
        return None
    leaves, at = tree.leaves, tree.decision.position
    risk = tree.value[leaves, at]
    if tree.observed is not None:
        rows = tree.observed.rows()[leaves]
        with np.errstate(invalid="ignore"):
            happened = tree.observed.counts[leaves].sum(axis=1)[:, at] / np.maximum(rows, 1)
        return find_one_decision(tree, risk, happened, rows)
    counted = tree.weight[leaves] if tree.counts_rows else np.zeros(len(leaves))
    return find_one_decision(tree, risk, risk, counted)


def warn_of_one_decision(
    found: OneDecision | None, who: str = "the tree", *, stacklevel: int = 3
) -> None:
    """Warn that a policy decides nothing.

    Parameters
    ----------
    found : OneDecision or None
    who : str, default "the tree"
    stacklevel : int, default 3
    """
    if found is not None:
        warnings.warn(found.words(who), OneDecisionWarning, stacklevel=stacklevel)


def _catches_half(risk: FloatArray, happened: FloatArray) -> float | None:
    """Return the largest risk from which on half of what happened lies; None where all are one."""
    if not happened.sum() > 0 or risk.min() == risk.max():
        return None
    levels, step = np.unique(risk, return_inverse=True)
    by_level = np.bincount(step, happened, levels.size)
    caught = np.cumsum(by_level[::-1])[::-1]
    return float(levels[np.flatnonzero(2 * caught >= caught[0])[-1]])


def _percent(share: float, *, down: bool = False) -> str:
    """Write a share in whole per cent, below one per cent to one digit."""
    if not 0 < share < 1:
        return f"{100 * share:g} %"
    digits = 0 if share >= 0.01 else -math.floor(math.log10(100 * share))
    scaled = 100 * share * 10**digits
    number = math.floor(scaled + 1e-9) if down else round(scaled)
    return f"{number / 10**digits:.{digits}f} %"
