"""Read the near-optimal trees of licketysplit, in the features its binarizer started from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from steadytree._versions import with_version
from steadytree.core.branches import Leaf, Node, build_tree
from steadytree.core.tree import Tree
from steadytree.exceptions import NotFittedTreeError, UnsupportedModelError
from steadytree.readers import choose_tree
from steadytree.readers.binarised import (
    Question,
    ask,
    binarizer_questions,
    model_and_binarizer,
    plain_questions,
)

__all__ = ["NUMBERED_CLASSES", "read", "reads"]

NUMBERED_CLASSES = True

KINDS = ("LicketySPLIT", "LicketySPLITClassifier", "LicketySPLITRegressor")


def reads(model: Any) -> bool:
    """Whether this is a LicketySPLIT model, or a pipeline of a binarizer and one."""
    return model_and_binarizer(model, "licketysplit", KINDS) is not None


def read(model: Any, tree_index: int | None = None) -> Tree:
    """Convert a fitted LicketySPLIT model, leaf by leaf the same labels or values.

    A pipeline of ``ThresholdGuessBinarizer`` or ``NumericBinarizer`` and the model is read in the
    original features; the model alone in its columns of zeros and ones. Shares are those of its
    ``predict_proba``. A model with leaves that defer to another model is refused.
    """
    inside, binarizer = model_and_binarizer(model, "licketysplit", KINDS) or (model, None)
    kind = type(inside).__name__
    if not hasattr(inside, "n_features_in_"):
        raise NotFittedTreeError(
            f"expected a fitted {kind}, got one before fit; call fit(X, y) first"
        )
    choose_tree(1, tree_index, "a LicketySPLIT model")
    classifies = hasattr(inside, "classes_")
    paths, _ = inside.get_tree_paths()
    actions = inside.leaf_actions()
    if any(int(action) < 0 for action in actions):
        raise UnsupportedModelError(
            f"expected leaves that decide, got a {kind} with leaves that defer to another model; "
            "fit it without bb_pred"
        )
    leaves = (
        [
            Leaf(share, 1.0, int(action))
            for share, action in zip(inside.leaf_proba_, actions, strict=True)
        ]
        if classifies
        else [Leaf([float(value)]) for value in inside.leaf_values()]
    )
    names = None
    if binarizer is None:
        n_features = int(inside.n_features_in_)
        questions = plain_questions(n_features)
    else:
        questions, n_features, names = binarizer_questions(binarizer)
    return build_tree(
        _from_paths([list(map(int, path)) for path in paths], leaves, questions),
        n_features=n_features,
        classes=tuple(inside.classes_.tolist()) if classifies else None,
        feature_names=names,
        metadata={"source": f"{with_version('licketysplit')} {kind}"},
    )


def _from_paths(
    paths: Sequence[list[int]], leaves: Sequence[Leaf], questions: Sequence[Question]
) -> Node:
    """Put a tree together again from its paths: column numbers from 1, negative where it is 0."""
    if len(paths) == 1 and not paths[0]:
        return leaves[0]
    column = abs(paths[0][0])
    sides = []
    for sign in (column, -column):
        kept = [k for k, path in enumerate(paths) if path[0] == sign]
        sides.append(
            _from_paths([paths[k][1:] for k in kept], [leaves[k] for k in kept], questions)
        )
    return ask(questions[column - 1], *sides)
