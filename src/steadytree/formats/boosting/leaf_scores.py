"""What models of boosted trees share: leaves as scores, categories as codes.

A boosted classifier of one tree predicts the logistic function of its leaf, and decides for the
second class above one half. So a leaf's share becomes log odds; where it lies so near the boundary
that rounding could turn the label, it is moved a little away from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadytree.formats.kept_labels import leaf_shares
from steadytree.plugins import LARGEST_SHARE, Decision, Tree, UnsupportedModelError, quoted

FloatArray = NDArray[np.float64]

NEAR = {False: 1e-9, True: 1e-6}
"""How near to the boundary a share may be, of scores in double and in single precision."""


def leaf_scores(
    tree: Tree, prefer: str | None, what: str, *, link: str, decided: bool, single: bool
) -> FloatArray:
    """Return the score of each node on the scale of a link, or refuse what it cannot say.

    ``link``: "identity", "exponential" or "logistic". ``decided``: the model gives labels itself,
    above one half; else the tree's threshold is applied to its shares.
    """
    if (link == "logistic") != tree.is_classifier:
        kinds = ("a response", "classes")
        raise UnsupportedModelError(
            f"expected a tree of {kinds[link == 'logistic']}, as {what} predicts, got one of "
            f"{kinds[tree.is_classifier]}"
        )
    if link == "identity":
        return tree.value[:, 0]
    if link == "exponential":
        if (tree.value[tree.is_leaf, 0] <= 0).any():
            raise UnsupportedModelError(
                f"expected responses above 0, all that the objective of {what} can say, got a "
                f"leaf of {tree.value[tree.is_leaf, 0].min():g}"
            )
        return np.log(np.maximum(tree.value[:, 0], np.finfo(np.float64).tiny))
    if len(tree.classes or ()) != 2:
        raise UnsupportedModelError(
            f"expected two classes, which is all that one boosted tree can say, got "
            f"{len(tree.classes or ())}"
        )
    policy = tree.decision
    plain = Decision(threshold=policy.threshold, resolved=policy.position)
    spoken = LARGEST_SHARE if decided else plain
    share = leaf_shares(tree, prefer, what, spoken)[:, 1]
    boundary = 0.5
    if spoken.threshold is not None:
        boundary = spoken.threshold if spoken.position == 1 else 1 - spoken.threshold
    upper = tree.label == 1
    if prefer == "shares":
        upper = spoken.labels(np.column_stack([1 - share, share])) == 1
    near = NEAR[single]
    share = np.where(upper, np.maximum(share, boundary + near), np.minimum(share, boundary - near))
    share = np.clip(share, 1e-15, 1 - 1e-15)
    return np.asarray(np.log(share) - np.log1p(-share))


def labels_or_responses(model: Any, predicted: Any, tree: Tree) -> NDArray[Any]:
    """Return predictions in the terms of the tree: a booster predicts shares, not labels."""
    found = np.asarray(predicted)
    if not tree.is_classifier or hasattr(model, "classes_"):
        return found
    shares = np.column_stack([1 - found, found])
    return tree.class_names(tree.decision.labels(shares))


def category_codes(
    theirs: tuple[Any, ...] | None, ours: tuple[Any, ...] | None, named: bool
) -> dict[Any, int]:
    """Return the code of each category: its position in the model's list if it has ``named`` ones.

    Else columns hold codes, and a category is its own; others that are no codes are left out.
    """
    if named:
        return {c: code for code, c in enumerate(theirs or ())}
    every = {*(theirs or ()), *(ours or ())}
    return {c: int(c) for c in every if not isinstance(c, str) and c == int(c) >= 0}


def check_classes(tree: Tree, model: Any, what: str) -> None:
    """Refuse a tree of other classes than those of a classifier."""
    theirs = getattr(model, "classes_", None)
    if tree.classes is None or theirs is None:
        return
    if theirs.tolist() != list(tree.classes):
        raise UnsupportedModelError(
            f"expected the classes of {what}, {quoted(theirs.tolist())}, "
            f"got {quoted(list(tree.classes))}"
        )


def check_kinds(tree: Tree, categorical: Sequence[bool], what: str) -> None:
    """Refuse splits that take a column for a number where the model has categories, or so."""
    for j in sorted(tree.used_features):
        mine, theirs = tree.categories[j] is not None, categorical[j]
        if mine != theirs:
            kinds = ("a number", "a category")
            raise UnsupportedModelError(
                f"expected {tree.feature_labels[j]!r} to be {kinds[theirs]}, as it is to {what}, "
                f"got a split that takes it for {kinds[mine]}"
            )
