"""How numbers about people are rounded, so that none of 1 to 4 people follows from them.

Counts are rounded to the nearest 5, as statistical offices do. That alone gives people away: of
four groups of 5 and a total of 10, all rounded, each has 3 people, because nothing else fits. So
what would read 0 or 5 reads "< 8", and a number below 8 can always be another one. A share that a
tree predicts is nearly a count, too: it is rounded in steps that stand for 5 people or more, and
never across the threshold, because the decision is told beside it.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from steadytree.tree.decision import Decision
    from steadytree.tree.tree import Tree

BASE = 5
"""Counts of people are rounded to multiples of this."""
SMALL = 8
"""A smaller count is not told: it would be rounded to 0 or 5."""
FEWEST = 20
"""Of fewer people no part is told, and no share, mean or score."""

_STEPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5)
_ROUNDING = 1e-9


def base_rounded(count: float) -> int:
    """Round a count to the nearest 5."""
    return BASE * math.floor(count / BASE + 0.5)


def share_step(people: float | None) -> float:
    """Smallest step of shares that stands for 5 people or more; 1 % where there are no people."""
    if people is None:
        return _STEPS[0]
    return next((step for step in _STEPS if step * people >= BASE - _ROUNDING), _STEPS[-1])


def significant(value: float, digits: int) -> float:
    """Round to so many significant digits."""
    return float(f"{value:.{digits}g}")


# -- what a tree predicts --------------------------------------------------------------


def public_decision(decision: Decision) -> Decision:
    """Return a policy without the digits that a rate of the training rows has."""
    threshold, weight = decision.threshold, decision.class_weight
    if threshold is not None and round(threshold, 3) != threshold:
        decision = replace(decision, threshold=min(max(round(threshold, 2), 0.01), 0.99))
    if weight is not None:
        decision = replace(decision, class_weight=tuple(significant(w, 2) for w in weight))
    return decision


def published_shares(tree: Tree) -> NDArray[np.float64]:
    """Round the class shares at each node so that labels follow from them as before.

    Parameters
    ----------
    tree : Tree
        A classifier.

    Returns
    -------
    float array of shape (n_nodes, n_classes)
    """
    behind = _people_behind(tree)
    out = np.empty_like(tree.value)
    for node in range(tree.n_nodes):
        out[node] = _rounded_row(tree, node, None if behind is None else float(behind[node]))
    return out


def _people_behind(tree: Tree) -> NDArray[np.float64] | None:
    """How many people were counted at each node; None where nobody was."""
    if tree.observed is not None:
        return tree.observed.rows()
    weight = np.asarray(tree.weight)
    return None if (weight == 1).all() else weight


def _rounded_row(tree: Tree, node: int, behind: float | None) -> NDArray[np.float64]:
    """Round one row of shares to a grid; a unit at a time goes to the label until it is given."""
    shares = tree.value[node]
    units = round(1 / share_step(behind))
    exact = shares / (shares.sum() or 1.0) * units
    whole = np.floor(exact + _ROUNDING)
    left = units - int(whole.sum())
    # Largest remainders; for two classes that is the nearest step.
    order = np.argsort(-(exact - whole), kind="stable")
    whole[order[:left]] += 1
    label = int(tree.decision.labels(shares[None])[0])
    for _ in range(units):
        given = int(tree.decision.labels(whole[None] / units)[0])
        if given == label or whole[given] == 0:
            break
        whole[given] -= 1
        whole[label] += 1
    return np.asarray(whole / units)


def published_means(tree: Tree) -> NDArray[np.float64]:
    """Round the mean response at each node: of fewer than 20 people coarsely, else 3 digits."""
    behind = _people_behind(tree)
    coarse = nice_step(float(np.ptp(tree.value)) / 20)
    out = np.empty_like(tree.value)
    for node in range(tree.n_nodes):
        few = behind is not None and behind[node] < FEWEST
        out[node, 0] = published_mean(float(tree.value[node, 0]), coarse if few else 0.0)
    return out


def published_mean(value: float, step: float) -> float:
    """Round a mean to multiples of a step, or to three significant digits."""
    return significant(round(value / step) * step, 12) if step > 0 else significant(value, 3)


def nice_step(least: float) -> float:
    """Smallest of 1, 2 and 5 times a power of ten that is at least so large."""
    if least <= 0:
        return 0.0
    power = 10.0 ** math.floor(math.log10(least))
    return next(m * power for m in (1, 2, 5, 10) if m * power >= least * (1 - _ROUNDING))
