"""Read the near-optimal trees of licketysplit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from steadytree.formats.optimal.binarised import Question, ask, plain_questions
from steadytree.plugins import (
    Leaf,
    Node,
    Tree,
    UnsupportedModelError,
    build_tree,
    choose_tree,
    is_a,
    not_fitted,
    with_version,
)

NUMBERED_CLASSES = True

KINDS = ("LicketySPLIT", "LicketySPLITClassifier", "LicketySPLITRegressor")


def reads(model: Any) -> bool:
    """Whether this is a LicketySPLIT model."""
    return is_a(model, "licketysplit", *KINDS)


def read(model: Any, tree_index: int | None = None) -> Tree:
    """Convert a fitted LicketySPLIT model, leaf by leaf the same labels or values.

    It is read in its columns of zeros and ones; at the end of a pipeline, behind its binarizer, in
    the original features. Shares are those of its ``predict_proba``. A model with leaves that
    defer to another model is refused.
    """
    kind = type(model).__name__
    if not hasattr(model, "n_features_in_"):
        raise not_fitted(model)
    choose_tree(1, tree_index, "a LicketySPLIT model")
    classifies = hasattr(model, "classes_")
    paths, _ = model.get_tree_paths()
    actions = model.leaf_actions()
    if any(int(action) < 0 for action in actions):
        raise UnsupportedModelError(
            f"expected leaves that decide, got a {kind} with leaves that defer to another model; "
            "fit it without bb_pred"
        )
    leaves = (
        [
            Leaf(share, 1.0, int(action))
            for share, action in zip(model.leaf_proba_, actions, strict=True)
        ]
        if classifies
        else [Leaf([float(value)]) for value in model.leaf_values()]
    )
    n_features = int(model.n_features_in_)
    return build_tree(
        _from_paths([list(map(int, path)) for path in paths], leaves, plain_questions(n_features)),
        n_features=n_features,
        classes=tuple(model.classes_.tolist()) if classifies else None,
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
