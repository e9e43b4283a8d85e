"""Trees over yes-or-no columns: what each column asks, and the condition that asks it.

Solvers of optimal trees work on columns of zeros and ones, each the answer to a question such as
"age <= 50" that a binarizer asks of the user's table. A :class:`Question` says what one such
column asks of the features; :func:`ask` makes a condition of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from steadytree.plugins import Branch, Leaf, Node


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


def given_names(names: Any, n_features: int) -> tuple[str, ...] | None:
    """Return the user's feature names; None for those that a library made up: x0, x1, ..."""
    if names is None or list(names) == [f"x{j}" for j in range(n_features)]:
        return None
    return tuple(map(str, names)) if all(isinstance(n, str) for n in names) else None


def certain(label: int, n_classes: int, weight: float = 1.0) -> Leaf:
    """Return a leaf of a model that keeps no shares: its label with share 1."""
    return Leaf([float(k == label) for k in range(n_classes)], weight, label)
