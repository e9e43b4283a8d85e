"""Read the optimal sparse trees of gosdt."""

from __future__ import annotations

from typing import Any

from steadytree._optional import with_version
from steadytree.exceptions import NotFittedTreeError
from steadytree.readers import choose_tree
from steadytree.readers.optimal.binarised import ask, certain, given_names, plain_questions
from steadytree.tree.branches import build_tree
from steadytree.tree.nested import Node
from steadytree.tree.tree import Tree

__all__ = ["read", "reads"]


def reads(model: Any) -> bool:
    """Whether this is a GOSDTClassifier."""
    return any(
        kind.__name__ == "GOSDTClassifier" and kind.__module__.startswith("gosdt.")
        for kind in type(model).__mro__
    )


def read(model: Any, tree_index: int | None = None) -> Tree:
    """Convert a fitted GOSDTClassifier, leaf by leaf the same labels.

    It is read in its columns of zeros and ones; at the end of a pipeline, behind its binarizer, in
    the original features. It keeps no shares, so that each leaf has its label with share 1, as in
    its ``predict_proba``. By default the first of several trees (``model_limit``) is read, with
    which it predicts.
    """
    if not hasattr(model, "trees_"):
        raise NotFittedTreeError(
            "expected a fitted GOSDTClassifier, got one before fit; call fit(X, y) first"
        )
    chosen = choose_tree(len(model.trees_), tree_index or 0, "a GOSDT model")
    n_features, n_classes = int(model.n_features_), int(model.n_classes_)
    questions = plain_questions(n_features)

    def convert(node: Any) -> Node:
        if hasattr(node, "prediction"):
            return certain(int(node.prediction), n_classes)
        yes, no = convert(node.left_child), convert(node.right_child)
        return ask(questions[int(node.feature)], yes, no)

    return build_tree(
        convert(model.trees_[chosen].tree),
        n_features=n_features,
        classes=tuple(model.classes_.tolist()),
        feature_names=given_names(model.feature_names_, n_features),
        metadata={"source": f"{with_version('gosdt')} GOSDTClassifier"},
    )
