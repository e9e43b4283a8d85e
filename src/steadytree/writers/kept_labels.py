"""Labels that do not follow their shares, in formats whose labels always do.

A retrained leaf may keep its label while its share lies a little beyond the boundary, and with
several classes the labels may come from weighted shares. Systems that predict from the shares
alone cannot say both: the user says which gives way.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from steadytree.exceptions import InputError, UnsupportedModelError
from steadytree.tree.decision import Decision
from steadytree.tree.tree import Tree

__all__ = ["leaf_shares"]

CLEARLY = 1e-9
"""By how much a share that gives way to a label leads, so that no rounding turns it."""


def leaf_shares(
    tree: Tree, prefer: str | None, what: str, spoken: Decision | None = None
) -> NDArray[np.float64]:
    """Return node values from which a system comes to the tree's labels, or refuse.

    The system ``what`` decides as ``spoken`` says, by default by the tree's threshold, or for the
    class with the largest share.
    With ``prefer="labels"`` the shares of leaves whose label does not follow are moved just
    beyond the boundary; with ``prefer="shares"`` they stay, and these labels change.
    """
    if prefer not in (None, "labels", "shares"):
        raise InputError(f'expected prefer="labels", "shares" or None, got {prefer!r}')
    if not tree.is_classifier:
        return np.array(tree.value)
    if spoken is None:
        spoken = Decision(threshold=tree.decision.threshold, resolved=tree.decision.position)
    other = np.flatnonzero(tree.is_leaf & (spoken.labels(tree.value) != tree.label))
    values = np.array(tree.value)
    if not other.size or prefer == "shares":
        return values
    if prefer is None:
        raise UnsupportedModelError(
            f"expected labels that follow the shares, which is all that {what} can say, got "
            f"{other.size} of {tree.n_leaves} leaves whose label does not{_policy(tree, spoken)}; "
            "prefer='labels' "
            "moves the shares of these leaves to the boundary, prefer='shares' changes their labels"
        )
    for leaf in other.tolist():
        values[leaf] = _towards(values[leaf], int(tree.label[leaf]), spoken)
    wrong = tree.is_leaf & (spoken.labels(values) != tree.label)
    if wrong.any():
        raise UnsupportedModelError(
            f"expected labels that some share can give, got a threshold of "
            f"{spoken.threshold} and a leaf below it, which no share is; pass prefer='shares'"
        )
    return values


def _policy(tree: Tree, spoken: Decision) -> str:
    """Say where labels that do not follow may come from."""
    if tree.decision_threshold is None or spoken.threshold is not None:
        return ""
    return f" (the tree's decision threshold is {tree.decision_threshold:g})"


def _towards(shares: NDArray[np.float64], label: int, spoken: Decision) -> NDArray[np.float64]:
    """Return the nearest shares that give a label, for two classes with a threshold exactly."""
    if spoken.threshold is not None:
        at = spoken.threshold
        share = at if label == spoken.position else float(np.nextafter(at, 0.0))
        out = np.full(2, 1.0 - share)
        out[spoken.position] = share
        return out
    out = np.array(shares)
    out[label] = out.max() * (1 + CLEARLY)
    return np.asarray(out / out.sum())
