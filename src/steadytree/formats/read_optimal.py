"""Read the optimal trees of gosdt, licketysplit, pycontree and pystreed.

Most of these solvers work on columns of zeros and ones, each the answer to a question such as
"age <= 50" that a binarizer asks of the user's table. pystreed keeps its binarizer, and is read in
the features that it started from; gosdt and licketysplit are where they end a pipeline. All refuse
missing numbers, which the tree sends with the heavier side.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadytree.plugins import (
    Branch,
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


def ask(question: Question, yes: Node, no: Node) -> Branch:
    """Return the condition that sends rows to ``yes`` where the question's column is 1.

    A category that was not met is none of those asked for, and so is a missing one unless it was
    listed.
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


def user_names(names: Any, n_features: int) -> tuple[str, ...] | None:
    """Return the user's feature names; None for those that a library made up: x0, x1, ..."""
    if names is None or list(names) == [f"x{j}" for j in range(n_features)]:
        return None
    return tuple(map(str, names)) if all(isinstance(n, str) for n in names) else None


def reads(model: Any) -> bool:
    """Whether a model is of one of the solvers (some of pystreed's are refused by name)."""
    return any(is_a(model, package, *kinds) for package, (kinds, _, _) in _SOLVERS.items())


def read(model: Any, tree_index: int | None = None) -> Tree:
    """Convert a fitted model, leaf by leaf the same labels or values.

    By default the first of several trees of gosdt (``model_limit``) is read, with which it
    predicts.
    """
    kind = type(model).__name__
    package = next(name for name in _SOLVERS if is_a(model, name))
    _, fitted, convert = _SOLVERS[package]
    if package == "pystreed" and kind not in ("STreeDClassifier", "STreeDRegressor"):
        raise UnsupportedModelError(
            f"expected a STreeDClassifier or STreeDRegressor, got {kind}, whose leaves hold "
            "something else than a class or a mean; fit one of these"
        )
    if getattr(model, fitted, None) is None:
        raise not_fitted(model)
    trees = getattr(model, "trees_", [model])
    chosen = choose_tree(len(trees), tree_index or 0, f"a {kind}")
    metadata: dict[str, Any] = {"source": f"{with_version(package)} {kind}"}
    rows = getattr(model, "train_y_", None)
    if rows is not None:
        metadata["n_training_rows"] = len(rows)
    return build_tree(**convert(model, chosen), metadata=metadata)


def _plain_questions(n_features: int) -> list[Question]:
    """Return what columns of zeros and ones in the user's own table ask: whether they are 1."""
    return [Question(j, threshold=0.5, negated=True) for j in range(n_features)]


def _read_gosdt(model: Any, chosen: int) -> dict[str, Any]:
    """Read a tree that keeps no shares: each leaf has its label with share 1."""
    n_features, n_classes = int(model.n_features_), int(model.n_classes_)
    questions = _plain_questions(n_features)

    def convert(node: Any) -> Node:
        if hasattr(node, "prediction"):
            label = int(node.prediction)
            return Leaf([float(k == label) for k in range(n_classes)], 1.0, label)
        yes, no = convert(node.left_child), convert(node.right_child)
        return ask(questions[int(node.feature)], yes, no)

    return {
        "root": convert(model.trees_[chosen].tree),
        "n_features": n_features,
        "classes": tuple(model.classes_.tolist()),
        "feature_names": user_names(model.feature_names_, n_features),
    }


def _read_licketysplit(model: Any, chosen: int) -> dict[str, Any]:
    """Read leaves listed with their paths: column numbers from 1, negative where it is 0."""
    paths, _ = model.get_tree_paths()
    actions = model.leaf_actions()
    if any(int(action) < 0 for action in actions):
        raise UnsupportedModelError(
            f"expected leaves that decide, got a {type(model).__name__} with leaves that defer to "
            "another model; fit it without bb_pred"
        )
    classes = getattr(model, "classes_", None)
    if classes is None:
        leaves = [Leaf([float(value)]) for value in model.leaf_values()]
    else:
        both = zip(model.leaf_proba_, actions, strict=True)
        leaves = [Leaf(share, 1.0, int(action)) for share, action in both]
    n_features = int(model.n_features_in_)
    questions = _plain_questions(n_features)

    def convert(below: list[tuple[list[int], Leaf]]) -> Node:
        first, leaf = below[0]
        if len(below) == 1 and not first:
            return leaf
        column = abs(first[0])
        yes, no = (
            convert([(path[1:], one) for path, one in below if path[0] == sign])
            for sign in (column, -column)
        )
        return ask(questions[column - 1], yes, no)

    return {
        "root": convert([([*map(int, p)], leaf) for p, leaf in zip(paths, leaves, strict=True)]),
        "n_features": n_features,
        "classes": None if classes is None else tuple(classes.tolist()),
    }


def _read_pycontree(model: Any, chosen: int) -> dict[str, Any]:
    """Read thresholds on the numbers themselves, compared in doubles.

    The model keeps its training rows, of which the shares of each leaf are counted, as its
    ``predict_proba`` does.
    """
    classes, codes = np.unique(model.train_y_, return_inverse=True)
    position = {label: k for k, label in enumerate(classes.tolist())}
    table = np.asarray(model.train_X_, dtype=np.float64)

    def convert(node: Any, rows: NDArray[np.intp]) -> Node:
        if node.is_leaf_node():
            label = position[int(node.get_label())]
            counts = np.bincount(codes[rows], minlength=len(classes)).tolist()
            return Leaf(_shares(counts, label), float(rows.size), label)
        feature, threshold = int(node.get_split_feature()), float(node.get_split_threshold())
        below = table[rows, feature] <= threshold
        yes, no = convert(node.get_left(), rows[below]), convert(node.get_right(), rows[~below])
        return ask(Question(feature, threshold), yes, no)

    names = getattr(model, "feature_names_in_", None)
    return {
        "root": convert(model.get_tree(), np.arange(len(table))),
        "n_features": table.shape[1],
        "classes": tuple(classes.tolist()),
        "feature_names": None if names is None else tuple(map(str, names)),
    }


def _shares(counts: Sequence[float], label: int) -> list[float]:
    """Return the shares of counted rows, those of a label alone where there are none."""
    total = sum(counts)
    return [n / total if total else float(k == label) for k, n in enumerate(counts)]


def _read_pystreed(model: Any, chosen: int) -> dict[str, Any]:
    """Read a tree whose shares are the training rows that the solver counted in each leaf."""
    questions, fields = _asked_by_binarizer(model.binarizer_)
    raw = getattr(model, "classes_", None)
    classes = None if raw is None else tuple(plain_scalar(c) for c in raw)

    def convert(node: Any) -> Node:
        if node.is_branching_node():
            # Their left child is "not satisfied".
            yes, no = convert(node.right_child), convert(node.left_child)
            return ask(questions[int(node.feature)], yes, no)
        if classes is None:
            return Leaf([float(node.label)], float(node.num_instances))
        # Counted by class number, from 0 to the largest.
        counts = list(node.num_instances_per_class)
        own = [counts[c] if c < len(counts) else 0 for c in classes]
        label = classes.index(int(node.label))
        return Leaf(_shares(own, label), float(node.num_instances), label)

    return {"root": convert(model.tree_), "classes": classes, **fields}


def _asked_by_binarizer(binarizer: Any) -> tuple[list[Question], dict[str, Any]]:
    """Return what the columns of a pystreed binarizer ask, and the features it was fitted on.

    It asks ``x <= threshold`` of numbers, in doubles, "is it one of these" of categories, and
    leaves columns of zeros and ones as they are. Of a frame it keeps the names and not their
    order, so that rows are read by name.
    """
    if binarizer.binary_feature_limiter is not None:
        raise UnsupportedModelError(
            "expected a model that may use all its binary columns, got one fitted with "
            "max_num_binary_features, which does not say which it kept; leave that out"
        )
    binary, categorical, continuous = (
        list(getattr(binarizer, f"{kind}_columns"))
        for kind in ("binary", "categorical", "continuous")
    )
    columns = list(dict.fromkeys([*binary, *categorical, *continuous]))
    named = all(isinstance(c, str) for c in columns)
    if not named and set(columns) != set(range(len(columns))):
        raise UnsupportedModelError(
            "expected a model fitted on an array or on a frame whose columns have text as "
            f"names, got columns {columns}; rename them: X.columns.astype(str)"
        )
    columns = columns if named else sorted(columns)
    sets = binarizer.categorical_binarizer.categories_ if categorical else []
    asked = {
        column: [[plain_scalar(v) for v in (s if isinstance(s, list) else [s])] for s in one]
        for column, one in zip(categorical, sets, strict=True)
    }
    constant = [column for column in asked if not asked[column] and column not in binary]
    if constant:
        raise UnsupportedModelError(
            "expected two or more categories in each categorical column, got one in columns "
            f"{constant}; fit without these columns"
        )
    listed: dict[Any, list[Any]] = {
        # Zeros and ones that were declared categories are columns of both kinds.
        column: _without_missing([*(v for s in one for v in s), *([1] if column in binary else [])])
        for column, one in asked.items()
    }
    position = {column: j for j, column in enumerate(columns)}
    questions = [
        Question(position[column], codes=(listed[column].index(1),))
        if column in listed
        else Question(position[column], threshold=0.5, negated=True)
        for column in binary
    ]
    for column, one in asked.items():
        for values in one:
            codes = tuple(listed[column].index(v) for v in _without_missing(values))
            questions.append(Question(position[column], codes=codes, missing=None in values))
    cuts = binarizer.continuous_binarizer.thresholds_ if continuous else []
    for column, thresholds in zip(continuous, cuts, strict=True):
        questions += [Question(position[column], threshold=float(t)) for t in thresholds]
    return questions, {
        "n_features": len(columns),
        "feature_names": tuple(columns) if named else None,
        "categories": tuple(tuple(listed[c]) if c in listed else None for c in columns),
    }


def _without_missing(values: Sequence[Any]) -> list[Any]:
    return [v for v in dict.fromkeys(values) if v is not None]


_SOLVERS: dict[str, tuple[tuple[str, ...], str, Callable[[Any, int], dict[str, Any]]]] = {
    "gosdt": (("GOSDTClassifier",), "trees_", _read_gosdt),
    "licketysplit": (
        ("LicketySPLIT", "LicketySPLITClassifier", "LicketySPLITRegressor"),
        "n_features_in_",
        _read_licketysplit,
    ),
    "pycontree": (("ConTree",), "tree_", _read_pycontree),
    "pystreed": ((), "tree_", _read_pystreed),
}
"""For each library its models (empty: all), what they have once fitted, and who reads them."""
