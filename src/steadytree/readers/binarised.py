"""Trees over yes-or-no columns, written back in the features these columns were made of.

Solvers of optimal trees ask questions such as "age <= 50", each a column of zeros and ones that a
binarizer makes of the user's table. A :class:`Question` says what one such column asks of the
original features; :func:`ask` makes a condition of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from steadytree.core.branches import Branch, Leaf, Node
from steadytree.exceptions import NotFittedTreeError, UnsupportedModelError

__all__ = [
    "Question",
    "ask",
    "binarizer_questions",
    "certain",
    "given_names",
    "model_and_binarizer",
    "plain_questions",
]

BINARIZERS = ("NumericBinarizer", "ThresholdGuessBinarizer")
PACKAGES = ("gosdt", "licketysplit")


@dataclass(frozen=True)
class Question:
    """What a column of zeros and ones asks: 1 where a feature lies at or below a threshold.

    ``codes``: 1 where the feature is one of these categories (positions in its list) instead;
    ``missing``: whether a missing value counts among them. ``negated``: 0 and 1 exchanged.
    """

    feature: int
    threshold: float = float("nan")
    codes: tuple[int, ...] | None = None
    missing: bool = False
    negated: bool = False


def plain_questions(n_features: int) -> list[Question]:
    """Return what columns of zeros and ones in the user's own table ask: whether they are 1."""
    return [Question(j, threshold=0.5, negated=True) for j in range(n_features)]


def ask(question: Question, yes: Node, no: Node) -> Branch:
    """Return the condition that sends rows to ``yes`` where the question's column is 1.

    The solvers refuse missing numbers, so that these go with the heavier side; a category that
    was not met is none of those asked for, and so is a missing one unless it was listed.
    """
    left, right = (no, yes) if question.negated else (yes, no)
    weights = [float(side.weight or 0.0) for side in (left, right)]
    by_set = question.codes is not None
    return Branch(
        feature=question.feature,
        left=left,
        right=right,
        threshold=question.threshold,
        left_categories=question.codes,
        missing_left=question.missing if by_set else weights[0] >= weights[1],
        unseen_left=False if by_set else None,
        weight=sum(weights),
    )


def model_and_binarizer(model: Any, package: str, classes: Sequence[str]) -> tuple[Any, Any] | None:
    """Return a model of a package, and the binarizer before it in a pipeline of the two.

    None for a model of others. Costs next to nothing and imports nothing.
    """
    if _is_of(model, (package,), classes):
        return model, None
    if not _is_of(model, ("sklearn",), ("Pipeline",)):
        return None
    steps = [step for _, step in model.steps if step is not None and not isinstance(step, str)]
    if len(steps) == 2 and _is_of(steps[0], PACKAGES, BINARIZERS):
        return (steps[1], steps[0]) if _is_of(steps[1], (package,), classes) else None
    return None


def _is_of(model: Any, packages: Sequence[str], classes: Sequence[str]) -> bool:
    return any(
        kind.__name__ in classes and kind.__module__.partition(".")[0] in packages
        for kind in type(model).__mro__
    )


def binarizer_questions(binarizer: Any) -> tuple[list[Question], int, tuple[str, ...] | None]:
    """Return what the columns of a fitted binarizer ask, the number of features and their names."""
    kind = type(binarizer).__name__
    if not hasattr(binarizer, "n_features_in_"):
        raise NotFittedTreeError(
            f"expected a fitted pipeline, got {kind} before fit; call fit(X, y) first"
        )
    if hasattr(binarizer, "thresholds_"):
        pairs = [(int(j), float(t)) for j, t in binarizer.thresholds_]
    elif hasattr(binarizer, "column_values_"):
        # Halfway as the binarizer computes it, in the precision of the values.
        pairs = [
            (j, float((values[i] + values[i + 1]) / 2))
            for j, values in enumerate(binarizer.column_values_)
            for i in range(len(values) - 1)
        ]
    else:
        raise UnsupportedModelError(
            f"expected a binarizer that keeps its thresholds, got {kind} without them; "
            "use ThresholdGuessBinarizer or NumericBinarizer"
        )
    questions = [Question(j, threshold=t) for j, t in pairs]
    n_features = int(binarizer.n_features_in_)
    return questions, n_features, given_names(binarizer.feature_names_in_, n_features)


def given_names(names: Any, n_features: int) -> tuple[str, ...] | None:
    """Return the user's feature names; None for those that a library made up: x0, x1, ..."""
    if names is None or list(names) == [f"x{j}" for j in range(n_features)]:
        return None
    return tuple(map(str, names)) if all(isinstance(n, str) for n in names) else None


def certain(label: int, n_classes: int, weight: float = 1.0) -> Leaf:
    """Return a leaf of a model that keeps no shares: its label with share 1."""
    return Leaf([float(k == label) for k in range(n_classes)], weight, label)
