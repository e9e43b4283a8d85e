"""Read the optimal trees of pystreed, in the features its own binarizer started from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from steadytree.formats.optimal.binarised import Question, ask
from steadytree.plugins import (
    Leaf,
    Node,
    Tree,
    UnsupportedModelError,
    build_tree,
    choose_tree,
    is_a,
    not_fitted,
    plain_scalar,
    with_version,
)

NUMBERED_CLASSES = True

KINDS = ("STreeDClassifier", "STreeDRegressor")


def reads(model: Any) -> bool:
    """Whether this is a model of pystreed (some are refused by name)."""
    return is_a(model, "pystreed")


def read(model: Any, tree_index: int | None = None) -> Tree:
    """Convert a fitted STreeDClassifier or -Regressor, leaf by leaf the same labels or values.

    Its binarizer asks ``x <= threshold`` of numbers, in doubles, "is it one of these" of
    categories, and leaves columns of zeros and ones as they are; the tree asks the same of the
    original features. Shares are the training rows that the solver counted in each leaf. The model
    refuses missing numbers; the tree sends them with the heavier side.
    """
    kind = type(model).__name__
    if not is_a(model, "pystreed", *KINDS):
        raise UnsupportedModelError(
            f"expected a {' or '.join(KINDS)}, got {kind}, whose leaves hold something else than "
            "a class or a mean; fit one of these"
        )
    if getattr(model, "tree_", None) is None:
        raise not_fitted(model)
    choose_tree(1, tree_index, "a pystreed model")
    features = _Features(model.binarizer_)
    raw = getattr(model, "classes_", None)
    classes = None if raw is None else tuple(plain_scalar(c) for c in raw)

    def convert(node: Any) -> Node:
        if node.is_branching_node():
            # Their left child is "not satisfied".
            yes, no = convert(node.right_child), convert(node.left_child)
            return ask(features.questions[int(node.feature)], yes, no)
        if classes is None:
            return Leaf([float(node.label)], float(node.num_instances))
        # Counted by class number, from 0 to the largest.
        counts = list(node.num_instances_per_class)
        own = np.array([counts[c] if c < len(counts) else 0 for c in classes], dtype=np.float64)
        label = classes.index(int(node.label))
        shares = own / own.sum() if own.sum() else np.eye(len(classes))[label]
        return Leaf(shares, float(node.num_instances), label)

    return build_tree(
        convert(model.tree_),
        n_features=len(features.columns),
        classes=classes,
        feature_names=features.names,
        categories=features.categories,
        metadata={
            "source": f"{with_version('pystreed')} {kind}",
            "n_training_rows": len(model.train_y_),
        },
    )


class _Features:
    """The features that a pystreed binarizer was fitted on, and what its columns ask of them.

    ``columns``: names, or positions of an array, in the order of the tree's features. Of a frame
    the binarizer keeps the names and not their order, so that rows are read by name.
    """

    def __init__(self, binarizer: Any) -> None:
        binary, categorical, continuous = (
            list(getattr(binarizer, f"{kind}_columns"))
            for kind in ("binary", "categorical", "continuous")
        )
        asked = _asked_categories(binarizer, categorical)
        listed = {
            column: _without_missing([v for one in sets for v in one])
            for column, sets in asked.items()
        }
        # Of a category that was the same in all rows nothing is kept, and nothing asked.
        silent = {column for column in listed if not asked[column]} - set(binary)
        self.columns = list(dict.fromkeys([*binary, *categorical, *continuous]))
        self.names = self._check_names(silent)
        position = {column: j for j, column in enumerate(self.columns)}
        for column in set(binary) & set(listed):
            # Zeros and ones that were declared categories are columns of both kinds.
            listed[column] = list(dict.fromkeys([*listed[column], 1]))
        self.categories = tuple(tuple(listed[c]) if listed.get(c) else None for c in self.columns)
        questions: list[Question] = []
        labels: list[str] = []
        for column in binary:
            j = position[column]
            if column in listed:
                questions.append(Question(j, codes=(listed[column].index(1),)))
            else:
                questions.append(Question(j, threshold=0.5, negated=True))
            labels.append(str(column))
        for k, (column, sets) in enumerate(asked.items()):
            for one in sets:
                codes = tuple(listed[column].index(v) for v in _without_missing(one))
                missing = len(codes) < len(one)
                questions.append(Question(position[column], codes=codes, missing=missing))
            labels += binarizer.categorical_binarizer.column_names_[k]
        if continuous:
            inner = binarizer.continuous_binarizer
            for column, cuts in zip(continuous, inner.thresholds_, strict=True):
                questions += [Question(position[column], threshold=float(t)) for t in cuts]
            labels += [label for group in inner.column_names_ for label in group]
        self.questions = _selected(questions, labels, binarizer.binary_feature_limiter)

    def _check_names(self, silent: set[Any]) -> tuple[str, ...] | None:
        """Return the names of the columns but for the silent ones; None where they have none."""
        if all(isinstance(c, str) for c in self.columns):
            self.columns = [c for c in self.columns if c not in silent]
            return tuple(self.columns)
        if set(self.columns) != set(range(len(self.columns))):
            raise UnsupportedModelError(
                "expected a model fitted on an array or on a frame whose columns have text as "
                f"names, got columns {self.columns}; rename them: X.columns.astype(str)"
            )
        if silent:
            raise UnsupportedModelError(
                "expected two or more categories in each categorical column of an array, got one "
                f"in columns {sorted(silent)}; fit on a frame, or without these columns"
            )
        self.columns.sort()
        return None


def _asked_categories(binarizer: Any, columns: Sequence[Any]) -> dict[Any, list[list[Any]]]:
    """Return for each categorical column the sets of values that its binary columns ask for."""
    if not columns:
        return {}
    sets = binarizer.categorical_binarizer.categories_
    return {
        column: [[plain_scalar(v) for v in (s if isinstance(s, list) else [s])] for s in asked]
        for column, asked in zip(columns, sets, strict=True)
    }


def _without_missing(values: Sequence[Any]) -> list[Any]:
    return [v for v in dict.fromkeys(values) if v is not None]


def _selected(questions: list[Question], labels: list[str], limiter: Any) -> list[Question]:
    """Return the questions that a limit on the number of binary columns kept, in its order."""
    if limiter is None:
        return questions
    kept = list(limiter.select_features_)
    if all(isinstance(one, (int, np.integer)) for one in kept):
        return [questions[int(one)] for one in kept]
    if len(set(labels)) < len(labels):
        raise UnsupportedModelError(
            "expected distinct names of binary columns where max_num_binary_features is set, got "
            "some twice; rename the columns or leave the limit out"
        )
    return [questions[labels.index(str(one))] for one in kept]
