"""What models of boosted trees share: leaves as scores, categories as codes.

A boosted classifier of one tree predicts the logistic function of its leaf, and decides for the
second class above one half. So a leaf's share becomes log odds; where it lies so near the boundary
that rounding could turn the label, it is moved a little away from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from steadytree.formats.kept_labels import leaf_shares, over_columns
from steadytree.plugins import LARGEST_SHARE, Decision, Tree, UnsupportedModelError, quoted

# -- From the raw score of a boosted tree to what its model predicts --
# Leaves of boosted trees hold a score on the scale of a link: log odds, a logarithm, or the
# response itself. A model of one tree is read as what it predicts; one tree of several as its
# score, because no probability belongs to one tree alone.

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Outcome:
    """What the leaves of a tree predict.

    ``values`` makes class shares (one column per class) or responses (one column) of raw
    scores, one per leaf or one per leaf and class. ``classes`` is None for responses.
    """

    values: Callable[[FloatArray], FloatArray]
    classes: tuple[Any, ...] | None = None

    def of(self, raw: Sequence[float] | NDArray[Any]) -> FloatArray:
        """Values of the leaves, of shape (number of leaves, number of classes or 1)."""
        scores = np.asarray(raw, dtype=np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            # What is not finite is for the tree to refuse, with the node it stands at.
            return np.asarray(self.values(scores), dtype=np.float64).reshape(len(scores), -1)


def identity(raw: FloatArray) -> FloatArray:
    """Return the score as it is."""
    return raw


def logistic(raw: FloatArray, scale: float = 1.0) -> FloatArray:
    """Share of the second class from its log odds."""
    with np.errstate(over="ignore"):
        return np.asarray(1.0 / (1.0 + np.exp(-scale * raw)))


def two_shares(share: FloatArray) -> FloatArray:
    """Shares of both classes from that of the second."""
    return np.column_stack([1.0 - share, share])


def softmax(raw: FloatArray) -> FloatArray:
    """Shares of the classes from a score for each, one row per leaf."""
    powers = np.exp(raw - raw.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def refuse_objective(name: str, library: str, known: Iterable[str]) -> NoReturn:
    """Raise for an objective whose predictions are not known from its scores."""
    raise UnsupportedModelError(
        f"expected a {library} model with one of the objectives {', '.join(sorted(known))}, "
        f"got {quoted(name)}; fit it with one of them"
    )


# -- What models of boosted trees share: leaves as scores, categories as codes --


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


def fitting_tree(
    tree: Tree, model: Any, there: Tree, categorical: Sequence[bool], what: str
) -> Tree:
    """Return a tree over the columns of a model that was read as ``there``.

    Refuses other classes than those of a classifier, and splits that take a column for a number
    where the model has categories, or so.
    """
    tree = over_columns(tree, there.feature_names, there.n_features, what)
    theirs = getattr(model, "classes_", None)
    if tree.classes is not None and theirs is not None and theirs.tolist() != list(tree.classes):
        raise UnsupportedModelError(
            f"expected the classes of {what}, {quoted(theirs.tolist())}, got "
            f"{quoted(list(tree.classes))}"
        )
    for j in sorted(tree.used_features):
        by_set = tree.categories[j] is not None
        if by_set != categorical[j]:
            kinds = ("a number", "a category")
            raise UnsupportedModelError(
                f"expected {tree.feature_labels[j]!r} to be {kinds[categorical[j]]}, as it is to "
                f"{what}, got a split that takes it for {kinds[by_set]}"
            )
    return tree
