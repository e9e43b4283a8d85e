"""Build many trees at once: what is asked of every node is asked of all nodes together.

A collection of small trees has few nodes and many arrays; checking each array by itself would
take longer than comparing the trees.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadytree.tree.checks import LEAF, are_plainly_trees
from steadytree.tree.columns import check_columns
from steadytree.tree.decision import LARGEST_SHARE
from steadytree.tree.tree import Tree

_KINDS: dict[str, Any] = {
    "children_left": np.int32,
    "children_right": np.int32,
    "feature": np.int32,
    "threshold": np.float64,
    "value": np.float64,
    "weight": np.float64,
    "missing_left": bool,
    "label": np.int32,
    "impurity": np.float64,
}


def build_trees(
    first: NDArray[np.int64],
    nodes: Mapping[str, NDArray[Any]],
    shared: Mapping[str, Any],
    own: Sequence[Mapping[str, Any]],
) -> list[Tree]:
    """Build trees over numeric features whose nodes lie one after another.

    The trees are those that :class:`Tree` makes of the same fields one by one.

    Parameters
    ----------
    first : int array
        First node of each tree, and the number of nodes as one entry more.
    nodes : mapping
        The arrays of a tree with an entry per node, all trees' in one: all nine of them.
    shared : mapping
        ``n_features``, ``classes``, ``feature_names`` and ``precision`` of all trees.
    own : sequence of mappings
        ``observed`` and ``metadata`` of each tree.
    """
    parts = [slice(*ends) for ends in pairwise(first.tolist())]
    if not _is_plainly_right(first, nodes, shared):
        # One by one they say what is wrong, or that it is an unusual tree.
        arguments: list[dict[str, Any]] = [
            {**shared, **fields, **{name: column[part] for name, column in nodes.items()}}
            for part, fields in zip(parts, own, strict=True)
        ]
        return [Tree(**fields) for fields in arguments]
    leaf = nodes["children_left"] == LEAF
    arrays = {name: np.array(nodes[name], dtype=kind, order="C") for name, kind in _KINDS.items()}
    arrays["feature"][leaf] = LEAF
    arrays["threshold"][leaf] = np.nan
    for array in arrays.values():
        array.setflags(write=False)  # and so are its parts
    categories, names = check_columns(shared["n_features"], (), shared["feature_names"])
    common = {**shared, "categories": categories, "feature_names": names}
    common |= {"decision": LARGEST_SHARE, "space": None, "_impurity_given": True}
    trees = []
    for part, fields in zip(parts, own, strict=True):
        tree = object.__new__(Tree)
        # Past the frozen dataclass: its checks have been made.
        state = tree.__dict__
        state.update(common)
        for name, array in arrays.items():
            state[name] = array[part]
        state["unseen_left"] = state["missing_left"]
        state["left_categories"] = (None,) * (part.stop - part.start)
        state["observed"] = fields["observed"]
        state["metadata"] = MappingProxyType(fields["metadata"])
        trees.append(tree)
    return trees


def _is_plainly_right(
    first: NDArray[np.int64], nodes: Mapping[str, NDArray[Any]], shared: Mapping[str, Any]
) -> bool:
    """Whether all trees pass every check that building them one by one makes."""
    left, value, weight, label = (
        nodes[name] for name in ("children_left", "value", "weight", "label")
    )
    if np.diff(first).min() < 1 or not are_plainly_trees(first, left, nodes["children_right"]):
        return False
    inner = left != LEAF
    feature, classes = nodes["feature"][inner], shared["classes"]
    width = 1 if classes is None else len(classes)
    fine = (
        value.shape[1] == width
        and not ((feature < 0) | (feature >= shared["n_features"])).any()
        and not np.isnan(nodes["threshold"][inner]).any()
        and np.isfinite(value).all()
        and (np.isfinite(weight) & (weight >= 0)).all()
        and not ((label < 0) | (label >= width)).any()
    )
    if classes is not None:
        fine = fine and len(set(classes)) == width
        fine = fine and (value >= 0).all() and (np.abs(value.sum(axis=1) - 1) <= 1e-6).all()
    return bool(fine)
