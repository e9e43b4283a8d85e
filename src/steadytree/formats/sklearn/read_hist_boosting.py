"""Read scikit-learn's HistGradientBoostingClassifier and -Regressor: a one-tree model, or one tree.

Inside, its categorical columns come first and hold the positions of the categories; both are
undone here. A category it never met counts as missing. Its own link makes shares and responses
of the scores, so that they agree bit for bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from steadytree.formats.boosting.leaf_scores import Outcome
from steadytree.formats.stored_nodes import check_features, nest_nodes
from steadytree.plugins import (
    Branch,
    Leaf,
    Node,
    Tree,
    TreeFormatError,
    UnsupportedModelError,
    build_tree,
    choose_tree,
    is_a,
    not_fitted,
    plain_scalar,
    quoted,
)

_BITS = np.arange(32, dtype=np.uint32)


def reads(model: Any) -> bool:
    """Whether a model is one of scikit-learn's histogram-based gradient boosting."""
    return is_a(model, "sklearn", "BaseHistGradientBoosting")


def read(model: Any, tree_index: int | None = None) -> Tree:
    """Read the only tree of a model, or the score of one of its trees.

    Trees are counted round by round; with several classes each round has one for each class.
    """
    name = type(model).__name__
    if not hasattr(model, "_predictors"):
        raise not_fitted(model)
    predictors = [predictor for turn in model._predictors for predictor in turn]
    index = choose_tree(len(predictors), tree_index, f"a {name}")
    table = predictors[index].nodes
    outcome = _outcome(model) if len(predictors) == 1 else Outcome()
    raw = np.asarray(table["value"], dtype=np.float64)
    values = outcome.of(raw)
    # Ties of the shares are decided by the score itself.
    labels = raw + _baseline(model) > 0 if outcome.classes is not None else None
    columns, categories = _columns(model)
    sets = _left_sets(table, predictors[index].raw_left_cat_bitsets)
    inner = [i for i in range(len(table)) if not table["is_leaf"][i]]
    check_features([int(table["feature_idx"][i]) for i in inner], len(columns))
    children: list[tuple[int, int] | None] = [None] * len(table)
    for i in inner:
        children[i] = (int(table["left"][i]), int(table["right"][i]))

    def leaf(i: int) -> Leaf:
        label = None if labels is None else int(labels[i])
        return Leaf(values[i], float(table["count"][i]), label)

    def split(i: int, left: Node, right: Node) -> Node:
        feature = columns[int(table["feature_idx"][i])]
        known = categories[feature]
        codes = sets.get(i)
        return Branch(
            feature=feature,
            left=left,
            right=right,
            threshold=float(table["num_threshold"][i]) if codes is None else np.nan,
            left_categories=None
            if codes is None
            else tuple(code for code in codes if code < len(known or ())),
            missing_left=bool(table["missing_go_to_left"][i]),
            weight=float(table["count"][i]),
        )

    names = getattr(model, "feature_names_in_", None)
    return build_tree(
        nest_nodes(children, leaf, split),
        n_features=len(columns),
        feature_names=None if names is None else tuple(names.tolist()),
        categories=categories,
        classes=outcome.classes,
        metadata={"source": f"scikit-learn {name}"},
    )


def _baseline(model: Any) -> float:
    """Return the score that all rows start from."""
    return float(np.ravel(model._baseline_prediction)[0])


def _outcome(model: Any) -> Outcome:
    """How the leaves of the only tree become what the model predicts, by its own link."""
    start, loss = _baseline(model), model._loss
    if hasattr(model, "classes_"):
        return Outcome(
            lambda raw: loss.predict_proba((start + raw).reshape(-1, 1)),
            tuple(model.classes_.tolist()),
        )
    return Outcome(lambda raw: loss.link.inverse(start + raw))


def _columns(model: Any) -> tuple[list[int], tuple[tuple[Any, ...] | None, ...]]:
    """Return the user's column of each inside one, and the categories of the user's columns."""
    n = int(model.n_features_in_)
    categories: list[tuple[Any, ...] | None] = [None] * n
    if model._preprocessor is None:
        return list(range(n)), tuple(categories)
    categorical = np.flatnonzero(model.is_categorical_).tolist()
    encoder = model._preprocessor.named_transformers_["encoder"]
    for j, found in zip(categorical, encoder.categories_, strict=True):
        listed = [plain_scalar(value) for value in found.tolist()]
        # A missing value stands last in the list and has no code of its own.
        known = tuple(v for v in listed if not (isinstance(v, float) and np.isnan(v)))
        odd = [v for v in known if not isinstance(v, (str, bool, int, float))]
        if odd:
            raise UnsupportedModelError(
                f"expected text or numbers as categories of column {j}, got {quoted(odd[0])}; "
                "a missing category has to be NaN when the model is fitted"
            )
        categories[j] = known or None
    others = sorted(set(range(n)).difference(categorical))
    return [*categorical, *others], tuple(categories)


def _left_sets(table: Any, bitsets: Any) -> dict[int, tuple[int, ...]]:
    """Codes that go left, by split on categories."""
    sets: dict[int, tuple[int, ...]] = {}
    for i in np.flatnonzero(table["is_categorical"] & ~table["is_leaf"].astype(bool)).tolist():
        row = int(table["bitset_idx"][i])
        if not row < len(bitsets):
            raise TreeFormatError(f"node {i}: expected one of {len(bitsets)} sets, got {row}")
        words = np.asarray(bitsets[row], dtype=np.uint32)
        bits = (words[:, None] >> _BITS) & 1
        sets[i] = tuple(np.flatnonzero(bits.ravel()).tolist())
    return sets
