"""Labels that do not follow their shares, in formats whose labels always do.

A retrained leaf may keep its label while its share lies a little beyond the boundary, and with
several classes the labels may come from weighted shares. Systems that predict from the shares
alone cannot say both: the user says which gives way.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from steadytree.plugins import (
    Decision,
    FeatureAlignmentError,
    InputError,
    Tree,
    UnsupportedModelError,
    quoted,
)

# -- A tree over the columns of the model in whose form it is written --


def over_columns(tree: Tree, names: Sequence[str] | None, n_columns: int, what: str) -> Tree:
    """Return a tree over columns found by name, or by position where one side has no names.

    Refuses a tree that asks about a column that ``what`` does not have.
    """
    if names is None or tree.feature_names is None:
        if tree.n_features != n_columns:
            raise FeatureAlignmentError(
                f"expected a tree over the {n_columns} columns of {what}, got one over "
                f"{tree.n_features}; give both the names of their columns"
            )
        named = None if names is None else tuple(names)
        return tree.replace(feature_names=named, space=None)
    place = {name: position for position, name in enumerate(names)}
    lacking = [f for f in sorted(tree.used_features) if tree.feature_names[f] not in place]
    if lacking:
        raise FeatureAlignmentError(
            f"expected a tree over the columns of {what}, got splits on "
            f"{', '.join(repr(tree.feature_names[f]) for f in lacking)}, which it does not have; "
            "retrain without them: forbid="
        )
    own = {name: f for f, name in enumerate(tree.feature_names)}
    moved = np.array([place.get(name, -1) for name in tree.feature_names])
    return tree.replace(
        feature=np.where(tree.is_leaf, -1, moved[tree.feature]),
        n_features=n_columns,
        feature_names=tuple(names),
        categories=tuple(tree.categories[own[n]] if n in own else None for n in names),
        space=None,
    )


# -- Labels that do not follow their shares, in formats whose labels always do --

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
        raise InputError(f'expected prefer="labels", "shares" or None, got {quoted(prefer)}')
    if not tree.is_classifier:
        return np.array(tree.value)
    if spoken is None:
        spoken = Decision(threshold=tree.decision.threshold, resolved=tree.decision.position)
    other = np.flatnonzero(tree.is_leaf & (spoken.labels(tree.value) != tree.label))
    values = np.array(tree.value)
    if not other.size or prefer == "shares":
        return values
    if prefer is None:
        policy = ""
        if tree.decision_threshold is not None and spoken.threshold is None:
            policy = f" (the tree's decision threshold is {tree.decision_threshold:g})"
        raise UnsupportedModelError(
            f"expected labels that follow the shares, which is all that {what} can say, got "
            f"{other.size} of {tree.n_leaves} leaves whose label does not{policy}; prefer='labels' "
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
