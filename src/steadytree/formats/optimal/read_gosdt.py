"""Read the optimal sparse trees of gosdt."""

from __future__ import annotations

from typing import Any

from steadytree.formats.optimal.binarised import ask, certain, given_names, plain_questions
from steadytree.plugins import Node, Tree, build_tree, choose_tree, is_a, not_fitted, with_version


def reads(model: Any) -> bool:
    """Whether this is a GOSDTClassifier."""
    return is_a(model, "gosdt", "GOSDTClassifier")


def read(model: Any, tree_index: int | None = None) -> Tree:
    """Convert a fitted GOSDTClassifier, leaf by leaf the same labels.

    It is read in its columns of zeros and ones; at the end of a pipeline, behind its binarizer, in
    the original features. It keeps no shares, so that each leaf has its label with share 1, as in
    its ``predict_proba``. By default the first of several trees (``model_limit``) is read, with
    which it predicts.
    """
    if not hasattr(model, "trees_"):
        raise not_fitted(model)
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
