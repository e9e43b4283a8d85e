"""Read YDF models: CART, and one tree of random forests and gradient boosted trees.

YDF rounds a value to single precision and goes to the positive side where it is at or above the
threshold. Each condition says where missing values go; a category that training never met, or met
too rarely, is one item of its own ("out of dictionary"), and an empty text is a missing value.

Classes and categories are read in the type of the training data; YDF itself answers with their
text. It computes in single precision, so that shares agree to seven digits.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadytree.formats.boosting.leaf_scores import LINKS, Outcome, link_of
from steadytree.formats.stored_nodes import nest_nodes, node_table
from steadytree.plugins import (
    LARGEST_SHARE,
    Branch,
    Decision,
    Leaf,
    Node,
    Tree,
    UnsupportedModelError,
    build_tree,
    choose_tree,
    is_a,
    quoted,
)

FORESTS = ("RandomForestModel", "GradientBoostedTreesModel")
LOSSES = "yggdrasil_decision_forests.model.gradient_boosted_trees.gradient_boosted_trees_pb2"
"""Where YDF keeps the names of its losses."""
HALF = Decision(threshold=0.5, resolved=1, origin="YDF")
"""Of two classes YDF decides on the second where its share reaches one half."""

OBJECTIVES = {
    **dict.fromkeys(
        (
            *("SQUARED_ERROR", "MEAN_AVERAGE_ERROR"),
            *("LAMBDA_MART_NDCG", "LAMBDA_MART_NDCG5", "XE_NDCG_MART"),
        ),
        "identity",
    ),
    "BINOMIAL_LOG_LIKELIHOOD": "logistic",
    "BINARY_FOCAL_LOSS": "logistic",
}
"""How scores become predictions. Of counts YDF does not say whether it answers with a score."""
_INTEGERS = ("DTYPE_INT", "DTYPE_UINT")


def reads(model: Any) -> bool:
    """Whether a model is one of YDF's (some are refused by name)."""
    return is_a(model, "ydf", "GenericModel")


def advice(model: Any) -> str:
    """Say what to pass instead of a learner."""
    if is_a(model, "ydf", "GenericLearner"):
        return ", a learner; pass the model that its train(data) returns"
    return ""


def read(model: Any, tree_index: int | None = None) -> Tree:
    """Read a model of one tree as what it predicts, or one tree of several.

    A tree of a random forest for classes is read as its vote: its shares, or its label with share
    1 where the winner takes all. One of several gradient boosted trees is read as its contribution
    to the raw score.
    """
    kind = type(model).__name__
    if kind not in FORESTS:
        raise UnsupportedModelError(
            f"expected a YDF model of the kinds {' or '.join(FORESTS)} (CART is a "
            f"RandomForestModel), got {kind}; train one of these"
        )
    chosen = choose_tree(model.num_trees(), tree_index, f"a YDF {kind}")
    nodes = _Nodes(model.get_tree(chosen).root)
    features = _Features(model, nodes.conditions)
    boosted = kind == "GradientBoostedTreesModel"
    leaves = _boosted_leaves(model, nodes) if boosted else _forest_leaves(model, nodes)
    version = getattr(sys.modules.get("ydf"), "__version__", "")
    return build_tree(
        nest_nodes(nodes.children, leaves.leaf, partial(_split, nodes.conditions, features)),
        n_features=len(features.names),
        feature_names=features.names,
        categories=features.categories,
        classes=leaves.classes,
        decision=leaves.decision,
        precision="float32",
        metadata={"source": f"YDF {version} {kind}"},
    )


class _Nodes:
    """A tree as a table of nodes: children ("no" before "yes"), conditions and values."""

    def __init__(self, root: Any) -> None:
        nodes, self.children = node_table(
            root, lambda node: None if node.is_leaf else (node.neg_child, node.pos_child)
        )
        self.conditions = [None if node.is_leaf else node.condition for node in nodes]
        self.values = [node.value for node in nodes]

    def leaf_values(self, wanted: str, model: Any) -> list[Any]:
        """Return what leaves hold, None at splits; refuse others, as those of uplift models."""
        for value, sides in zip(self.values, self.children, strict=True):
            if sides is None and type(value).__name__ != wanted:
                raise UnsupportedModelError(
                    f"expected leaves with a {wanted}, got {type(value).__name__} in a "
                    f"{type(model).__name__}; train a model for classes or a response"
                )
        pairs = zip(self.values, self.children, strict=True)
        return [value if sides is None else None for value, sides in pairs]


# -- what leaves predict --------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Leaves:
    """What the leaves predict, node by node; what stands at splits means nothing."""

    values: list[Any]
    shares: NDArray[np.float64]
    classes: tuple[Any, ...] | None = None
    labels: NDArray[Any] | None = None
    decision: Decision = LARGEST_SHARE

    def leaf(self, node: int) -> Leaf:
        label = None if self.labels is None else int(self.labels[node])
        return Leaf(self.shares[node], float(self.values[node].num_examples), label)


def _forest_leaves(model: Any, nodes: _Nodes) -> _Leaves:
    if model.task().name != "CLASSIFICATION":
        values = nodes.leaf_values("RegressionValue", model)
        return _Leaves(values, np.array([[0.0 if v is None else v.value] for v in values]))
    values, classes = nodes.leaf_values("ProbabilityValue", model), _classes(model)
    none = [0.0] * len(classes)
    shares = np.array([none if v is None else v.probability for v in values], dtype=np.float64)
    if model.winner_takes_all():
        shares = np.eye(len(classes))[shares.argmax(axis=1)]
    return _Leaves(values, shares, classes, *_labels(shares))


def _boosted_leaves(model: Any, nodes: _Nodes) -> _Leaves:
    values = nodes.leaf_values("RegressionValue", model)
    raw = np.array([0.0 if v is None else v.value for v in values], dtype=np.float64)
    if model.num_trees() > 1:
        return _Leaves(values, Outcome().of(raw))
    loss = import_module(LOSSES).Loss.Name(model._model.loss())
    raw = raw + float(model.initial_predictions()[0])
    link = LINKS[link_of(loss, OBJECTIVES, "YDF")]
    if OBJECTIVES[loss] == "identity":
        return _Leaves(values, Outcome(link).of(raw))
    if model.output_logits():
        raise UnsupportedModelError(
            "expected a model that predicts shares, got one that predicts scores; "
            "call model.set_output_logits(False) first"
        )
    outcome = Outcome(link, _classes(model))
    # Labels as YDF computes them, in single precision, in which scores next to 0 are one half.
    single = Outcome(LINKS["single logistic"], outcome.classes)
    return _Leaves(
        values, outcome.of(raw), outcome.classes, *_labels(single.of(raw.astype(np.float32)))
    )


def _labels(shares: NDArray[Any]) -> tuple[NDArray[Any], Decision]:
    """Label of each leaf as YDF decides, from shares in single precision."""
    single = shares.astype(np.float32)
    if shares.shape[1] == 2:
        return (single[:, 1] >= np.float32(0.5)).astype(np.intp), HALF
    return single.argmax(axis=1), LARGEST_SHARE


def _classes(model: Any) -> tuple[Any, ...]:
    column = model.data_spec().columns[model.label_col_idx()]
    return tuple(_own_value(text, column) for text in model.label_classes())


# -- features and conditions ----------------------------------------------------------------------


def _own_value(text: str, column: Any) -> Any:
    """Return a class or category in the type of the training data, of which YDF keeps the text."""
    kind = _kind(column, "dtype")
    if kind == "DTYPE_BOOL" and text in ("false", "true"):
        return text == "true"
    return int(text) if kind.startswith(_INTEGERS) else text


def _kind(column: Any, field: str = "type") -> str:
    """Return the name of a column's type, which YDF holds as a number."""
    names = column.DESCRIPTOR.fields_by_name[field].enum_type.values_by_number
    return str(names[getattr(column, field)].name)


class _Features:
    """The input features of a model, but for kinds that the tree does not ask for."""

    def __init__(self, model: Any, conditions: Sequence[Any]) -> None:
        self._columns = model.data_spec().columns
        split_missing = {
            c.attribute
            for c in conditions
            if type(c).__name__ == "IsMissingInCondition"
            or (type(c).__name__ == "CategoricalIsInCondition" and (0 in c.mask) != c.missing)
        }
        self.position: dict[int, int] = {}
        lists: list[tuple[Any, ...] | None] = []
        for j in model.input_features_col_idxs():
            column = self._columns[j]
            kind = _kind(column)
            if kind in ("NUMERICAL", "DISCRETIZED_NUMERICAL"):
                lists.append(None)
            elif kind == "BOOLEAN":
                lists.append((False, True))
            elif kind == "CATEGORICAL" and not column.categorical.is_already_integerized:
                lists.append(self._vocabulary(j, j in split_missing))
            else:
                continue
            self.position[j] = len(self.position)
        self.names = tuple(self._columns[j].name for j in self.position)
        self.categories = tuple(lists)

    def _vocabulary(self, j: int, with_empty: bool) -> tuple[Any, ...]:
        """Categories by their number in YDF from 1 on; then the empty text, if it matters."""
        column = self._columns[j]
        items = sorted(column.categorical.items.items(), key=lambda item: item[1].index)
        values = tuple(_own_value(text, column) for text, item in items if item.index > 0)
        text = not values or any(isinstance(v, str) for v in values)
        # Missing to YDF; a category never met to us, which may go another way.
        return (*values, "") if text and (with_empty or not values) else values

    def of(self, condition: Any) -> int:
        """Position of a condition's feature, if conditions on such features can be read."""
        j = int(condition.attribute)
        if j not in self.position:
            raise UnsupportedModelError(
                "expected conditions on numbers, booleans and text or integer categories, got one "
                f"on {quoted(self._columns[j].name)}, a column of the kind "
                f"{_kind(self._columns[j])}; leave that column out"
            )
        return self.position[j]

    def empty_text(self, feature: int) -> tuple[int, ...]:
        """Code of the empty text, where it is listed."""
        listed = self.categories[feature] or ()
        return (len(listed) - 1,) if listed and listed[-1] == "" else ()

    def boundary(self, condition: Any) -> float:
        column = self._columns[condition.attribute]
        return float(column.discretized_numerical.boundaries[condition.threshold_idx - 1])


def _split(
    conditions: Sequence[Any], features: _Features, node: int, no: Node, yes: Node
) -> Branch:
    """Make our condition of one of YDF's."""
    condition = conditions[node]
    kind = type(condition).__name__
    if kind in ("NumericalHigherThanCondition", "DiscretizedNumericalHigherThanCondition"):
        feature = features.of(condition)
        at = getattr(condition, "threshold", None)
        if at is None:
            at = features.boundary(condition)
        with np.errstate(over="ignore"):
            below = float(np.nextafter(np.float32(at), np.float32(-np.inf)))
        return Branch(
            feature=feature, left=no, right=yes, threshold=below, missing_left=not condition.missing
        )
    if kind == "IsMissingInCondition":
        feature = features.of(condition)
        listed, empty = features.categories[feature], features.empty_text(feature)
        codes = None if listed is None else (*range(len(listed) - len(empty)),)
        threshold = np.inf if listed is None else np.nan
        return Branch(
            feature=feature,
            left=no,
            right=yes,
            threshold=threshold,
            left_categories=codes,
            missing_left=False,
            unseen_left=True,
        )
    if kind in ("IsTrueCondition", "CategoricalIsInCondition"):
        feature = features.of(condition)
        # Item 0 is what is not in the dictionary.
        mask = [2] if kind == "IsTrueCondition" else list(condition.mask)
        codes = tuple(int(item) - 1 for item in mask if item > 0)
        return Branch(
            feature=feature,
            left=yes,
            right=no,
            left_categories=codes + (features.empty_text(feature) if condition.missing else ()),
            missing_left=bool(condition.missing),
            unseen_left=0 in mask,
        )
    raise UnsupportedModelError(
        f"expected conditions on one column each, got a {kind}; train without oblique splits "
        '(split_axis="AXIS_ALIGNED") and without sets or vectors as columns'
    )
