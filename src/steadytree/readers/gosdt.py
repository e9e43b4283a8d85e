"""Read the optimal sparse trees of gosdt, in the features its binarizer started from."""

from __future__ import annotations

from typing import Any

from steadytree._versions import with_version
from steadytree.core.branches import Node, build_tree
from steadytree.core.tree import Tree
from steadytree.exceptions import NotFittedTreeError
from steadytree.readers import choose_tree
from steadytree.readers.binarised import (
    ask,
    binarizer_questions,
    certain,
    given_names,
    model_and_binarizer,
    plain_questions,
)

__all__ = ["read", "reads"]

KINDS = ("GOSDTClassifier",)


def reads(model: Any) -> bool:
    """Whether this is a GOSDTClassifier, or a pipeline of a binarizer and one."""
    return model_and_binarizer(model, "gosdt", KINDS) is not None


def read(model: Any, tree_index: int | None = None) -> Tree:
    """Convert a fitted GOSDTClassifier, leaf by leaf the same labels.

    A pipeline of ``NumericBinarizer`` or ``ThresholdGuessBinarizer`` and the classifier is read in
    the original features; the classifier alone in its columns of zeros and ones. It keeps no
    shares, so that each leaf has its label with share 1, as in its ``predict_proba``. By default
    the first of several trees (``model_limit``) is read, with which it predicts.
    """
    inside, binarizer = model_and_binarizer(model, "gosdt", KINDS) or (model, None)
    if not hasattr(inside, "trees_"):
        raise NotFittedTreeError(
            "expected a fitted GOSDTClassifier, got one before fit; call fit(X, y) first"
        )
    chosen = choose_tree(len(inside.trees_), tree_index or 0, "a GOSDT model")
    n_columns, n_classes = int(inside.n_features_), int(inside.n_classes_)
    if binarizer is None:
        questions, n_features = plain_questions(n_columns), n_columns
        names = given_names(inside.feature_names_, n_columns)
    else:
        questions, n_features, names = binarizer_questions(binarizer)

    def convert(node: Any) -> Node:
        if hasattr(node, "prediction"):
            return certain(int(node.prediction), n_classes)
        yes, no = convert(node.left_child), convert(node.right_child)
        return ask(questions[int(node.feature)], yes, no)

    return build_tree(
        convert(inside.trees_[chosen].tree),
        n_features=n_features,
        classes=tuple(inside.classes_.tolist()),
        feature_names=names,
        metadata={"source": f"{with_version('gosdt')} GOSDTClassifier"},
    )
