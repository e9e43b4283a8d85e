"""The file format of a tree: versioned JSON, readable in ten years, never executed.

Numbers survive the round trip bit for bit. JSON has no infinities or NaN, so these are
the strings "inf", "-inf" and "nan". Files are read with bounds: whatever a stranger
puts in one, the answer is a tree or a :class:`TreeFormatError` that says what and where.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from steadytree._io import (
    MAX_FILE_BYTES,
    MAX_NODES,
    check_feature_count,
    check_json_depth,
    check_size,
    check_value_cells,
    parse_json,
    read_bytes,
    write_atomic,
)
from steadytree._optional import library_versions
from steadytree._text import cut, quoted
from steadytree.exceptions import (
    InputError,
    SteadyTreeError,
    SteadyTreeWarning,
    TreeFormatError,
)
from steadytree.tree.columns import plain_scalar
from steadytree.tree.decision import STEADY, Decision
from steadytree.tree.nested import (
    JsonObject,
    as_list,
    kind_of,
    plain_scalars,
    read_scalars,
)
from steadytree.tree.observed import OBSERVED_ARRAYS, Observed
from steadytree.tree.space import FeatureSpace
from steadytree.tree.tree import NODE_ARRAYS, Tree

FORMAT_NAME = "steadytree-tree"
FORMAT_VERSION = 4
"""What is written. Files of versions 1 to 3 are read: they may lack ``decision`` and
``observed``, and have ``knots`` in their space, which are left out with a warning."""


# -- writing ----------------------------------------------------------------------


def save_tree(tree: Tree, path: str | os.PathLike[str]) -> Path:
    """Write a tree to a JSON file, whole or not at all.

    Parameters
    ----------
    tree : Tree
        Or use ``save_tree(as_tree(model), path)``. Its space, classes, names and
        metadata travel with it.
    path : path-like

    Returns
    -------
    Path
        Where the file is.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> import steadytree as st
    >>> X, y = load_iris(return_X_y=True)
    >>> model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = st.save_tree(st.as_tree(model), f"{folder}/tree.json")
    ...     print(path.name, st.load_tree(path).n_leaves)
    tree.json 3
    """
    if not isinstance(tree, Tree):
        raise InputError(
            f"expected a Tree, got {type(tree).__name__}; convert the model with as_tree(model)"
        )
    check_size(tree.n_nodes, MAX_NODES, "nodes in a tree file")
    check_value_cells(*tree.value.shape)
    check_json_depth(dict(tree.metadata), "metadata")
    try:
        text = json.dumps(tree_to_dict(tree), allow_nan=False, indent=1, ensure_ascii=False)
        data = f"{text}\n".encode()
        parse_json(json.dumps(dict(tree.metadata)))  # names may be equal as text
    except InputError:
        raise
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(
            f"expected metadata that JSON can hold, got {cut(str(error), 200)}; "
            "use text, numbers, lists and dictionaries"
        ) from None
    check_size(len(data), MAX_FILE_BYTES, "bytes in a tree file")
    return write_atomic(path, data)


def tree_to_dict(tree: Tree) -> dict[str, Any]:
    """Return the tree as plain values, in the layout of the JSON Schema."""
    space = None if tree.space is None else tree.space.to_dict()
    if space is not None:
        space["classes"] = plain_scalars(space["classes"])
        space["categories"] = [plain_scalars(c) for c in space["categories"]]
        space["one_hot"] = {
            group: dict(zip(columns, plain_scalars(columns.values()) or (), strict=True))
            for group, columns in space["one_hot"].items()
        }
    given = tree.given_fields()  # what reading fills in again is not written
    nodes = {name: _plain_array(given[name]) for name in NODE_ARRAYS}
    if not tree.is_classifier:
        nodes["label"] = None
    if nodes["unseen_left"] is None:
        del nodes["unseen_left"]
    return {
        "format": FORMAT_NAME,
        "version": FORMAT_VERSION,
        "written_with": library_versions(("steadytree", "numpy", "scikit-learn")),
        "task": "classification" if tree.is_classifier else "regression",
        "classes": plain_scalars(tree.classes),
        "decision_threshold": tree.decision_threshold,
        "decision": _decision_to_dict(tree.decision),
        "precision": tree.precision,
        "n_features": tree.n_features,
        "feature_names": None if tree.feature_names is None else list(tree.feature_names),
        "categories": [plain_scalars(c) for c in tree.categories],
        "nodes": {
            **nodes,
            "left_categories": [None if c is None else list(c) for c in tree.left_categories],
            "observed": _observed_to_dict(tree.observed),
        },
        "space": space,
        "metadata": dict(tree.metadata),
    }


def tree_digest(tree: Tree) -> str:
    """Return 16 characters that tell trees apart, whatever wrote them.

    Of what a tree predicts only: with what was counted of people in it, a guess of these
    counts could be confirmed.
    """
    content = tree_to_dict(tree)
    for entry in ("version", "written_with", "space", "metadata"):
        content.pop(entry, None)
    for entry in ("weight", "impurity", "observed"):
        content["nodes"].pop(entry, None)
    content["categories"] = [
        names if j in tree.used_features else None for j, names in enumerate(content["categories"])
    ]
    text = json.dumps(content, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


def _decision_to_dict(decision: Decision) -> dict[str, Any]:
    """Return the policy but for its threshold, which has an entry of its own."""
    weight = decision.class_weight
    content = {
        "positive": None if decision.positive is None else decision.position,
        "class_weight": None if weight is None else list(weight),
        "origin": decision.origin,
    }
    return content if decision.steady == STEADY else {**content, "steady": decision.steady}


MAX_ORIGIN = 200
"""Characters of where a policy comes from, which stands in sentences: more are left out."""


def _observed_to_dict(observed: Observed | None) -> dict[str, Any] | None:
    if observed is None:
        return None
    arrays = {name: getattr(observed, name).tolist() for name in OBSERVED_ARRAYS}
    return {**arrays, "old_share": observed.old_share}


def plain_json(value: Any, digits: int | None = None) -> Any:
    """Return plain values that JSON can hold: tables as rows; NaN and infinities become null.

    With ``digits``, numbers that are not whole are rounded to so many decimals.
    """
    if isinstance(value, pd.DataFrame):
        frame = value.reset_index() if value.index.nlevels > 1 or value.index.name else value
        return [plain_json(record, digits) for record in frame.to_dict(orient="records")]
    if isinstance(value, pd.Series):
        return plain_json(value.to_dict(), digits)
    if isinstance(value, Mapping):
        return {str(k): plain_json(v, digits) for k, v in value.items()}
    if isinstance(value, (np.ndarray, list, tuple, set, frozenset)):
        return [plain_json(v, digits) for v in value]
    value = plain_scalar(value)
    if value is pd.NA or value is pd.NaT:
        return None
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        return value if digits is None else round(value, digits)
    return value if value is None or isinstance(value, (str, bool, int)) else str(value)


def _plain_array(array: NDArray[Any] | None) -> list[Any] | None:
    if array is None:
        return None
    if array.ndim == 2:
        return [_plain_array(row) for row in array]
    values: list[Any] = array.tolist()
    if array.dtype.kind != "f" or np.isfinite(array).all():
        return values
    return [value if math.isfinite(value) else str(value) for value in values]


# -- reading ----------------------------------------------------------------------


def load_tree(path: str | os.PathLike[str]) -> Tree:
    """Read a tree from a JSON file, checking everything and executing nothing.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    Tree

    Raises
    ------
    TreeFormatError
        Saying what is wrong and where, for a file that is damaged, not a tree, or of a
        newer version of the format.

    Examples
    --------
    >>> import tempfile
    >>> import steadytree as st
    >>> tree = st.tree_from_rules('''
    ... age <= 50: no
    ... else: yes
    ... ''')
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = st.save_tree(tree, f"{folder}/tree.json")
    ...     st.load_tree(path) == tree
    True
    """
    content = read_bytes(path, what="tree file")
    try:
        return tree_from_dict(parse_json(content, constants=False))
    except TreeFormatError as error:
        raise TreeFormatError(f"{path}: {error}") from None


def tree_from_dict(content: Any) -> Tree:
    """Rebuild a tree from the plain values of :func:`tree_to_dict`, checking everything."""
    top = JsonObject(content, "")
    if top.get("format", str) != FORMAT_NAME:
        raise TreeFormatError(
            f"format: expected {FORMAT_NAME!r}, got {quoted(content['format'])}; "
            "this is not a tree file"
        )
    found = top.get("version", int)
    if found > FORMAT_VERSION:
        raise TreeFormatError(
            f"version: expected at most {FORMAT_VERSION}, got {quoted(found)}: the file was "
            "written by a newer steadytree; upgrade with pip install -U steadytree"
        )
    if found < 1:
        raise TreeFormatError(f"version: expected 1 or more, got {quoted(found)}")
    task = top.get("task", str)
    if task not in ("classification", "regression"):
        raise TreeFormatError(f"task: expected classification or regression, got {quoted(task)}")
    nodes = JsonObject(top.get("nodes", dict), "nodes.")
    left = nodes.get("children_left", list)
    if len(left) > MAX_NODES:
        raise TreeFormatError(f"nodes: expected at most {MAX_NODES:,} nodes, got {len(left):,}")
    left = nodes.ints("children_left", left)
    n_features = top.get("n_features", int)
    lists = [top.get("feature_names", list, optional=True), top.get("categories", list)]
    # What no list in the file backs is refused before anything is made of it.
    check_feature_count(n_features, listed=any(len(one or ()) == n_features for one in lists))
    value = [
        nodes.floats(f"value[{i}]", as_list(row, f"nodes.value[{i}]"))
        for i, row in enumerate(nodes.get("value", list))
    ]
    if len(value) != len(left) or len({len(row) for row in value}) > 1:
        raise TreeFormatError(f"nodes.value: expected {len(left)} rows of equal length, got others")
    given: dict[str, Any] = {}
    if (label := nodes.get("label", list, optional=True)) is not None:
        given["label"] = nodes.ints("label", label)
    if (impurity := nodes.get("impurity", list, optional=True)) is not None:
        given["impurity"] = np.array(nodes.floats("impurity", impurity))
    if nodes.content.get("unseen_left") is not None:
        given["unseen_left"] = np.array(nodes.bools("unseen_left"))
    classes = top.get("classes", list, optional=True)
    if (task == "classification") != (classes is not None):
        raise TreeFormatError(f"classes: expected {'some' if classes is None else 'none'}: {task}")
    try:
        return Tree(
            children_left=left,
            children_right=nodes.ints("children_right"),
            feature=nodes.ints("feature"),
            threshold=np.array(nodes.floats("threshold")),
            value=np.array(value, dtype=np.float64),
            n_features=n_features,
            left_categories=tuple(
                None if c is None else tuple(nodes.ints(f"left_categories[{i}]", c))
                for i, c in enumerate(nodes.get("left_categories", list))
            ),
            missing_left=np.array(nodes.bools("missing_left")),
            weight=np.array(nodes.floats("weight")),
            **given,
            classes=_scalars(classes, "classes"),
            feature_names=_names(top),
            categories=_read_categories(top),
            precision=top.get("precision", str),
            decision=_read_decision(top, classes),
            observed=_read_observed(nodes),
            space=_read_space(top.get("space", dict, optional=True)),
            metadata=top.get("metadata", dict),
        )
    except TreeFormatError:
        raise
    except (SteadyTreeError, TypeError, ValueError, OverflowError) as error:
        raise TreeFormatError(cut(str(error), 2_000)) from None


def _read_decision(top: JsonObject, classes: list[Any] | None) -> Decision:
    threshold = top.get("decision_threshold", (int, float), optional=True)
    if top.content.get("decision") is None:  # files of before say only the threshold
        return Decision(threshold=threshold, resolved=None if threshold is None else 1)
    entry = JsonObject(top.get("decision", dict), "decision.")
    weight = entry.get("class_weight", list, optional=True)
    steady = entry.get("steady", (int, float)) if "steady" in entry.content else STEADY
    at = entry.get("positive", int, optional=True)
    two = classes is not None and len(classes) == 2
    return Decision(
        threshold=threshold,
        # Resolved by position: the tree takes the name from its classes.
        positive=at if two else None,
        resolved=at if two else None,
        steady=steady,
        class_weight=None if weight is None else tuple(entry.floats("class_weight", weight)),
        origin=cut(entry.get("origin", str), MAX_ORIGIN),
    )


def _read_observed(nodes: JsonObject) -> Observed | None:
    if nodes.content.get("observed") is None:
        return None
    entry = JsonObject(nodes.get("observed", dict), "nodes.observed.")
    arrays = {}
    for name in OBSERVED_ARRAYS:
        try:
            arrays[name] = np.array(entry.get(name, list), dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            raise TreeFormatError(
                f"nodes.observed.{name}: expected numbers in lists of equal length, got others"
            ) from None
    return Observed(**arrays, old_share=float(entry.get("old_share", (int, float))))


def _names(reader: JsonObject, name: str = "feature_names") -> tuple[str, ...] | None:
    names = reader.get(name, list, optional=True)
    if names is None:
        return None
    for i, item in enumerate(names):
        if not isinstance(item, str):
            raise TreeFormatError(f"{reader.where}{name}[{i}]: expected text, got {kind_of(item)}")
    return tuple(names)


def _read_categories(reader: JsonObject) -> tuple[tuple[Any, ...] | None, ...]:
    listed = reader.get("categories", list)
    return tuple(_scalars(c, f"{reader.where}categories[{i}]") for i, c in enumerate(listed))


def _scalars(values: Any, where: str) -> tuple[Any, ...] | None:
    return None if values is None else tuple(read_scalars(as_list(values, where), where))


def _read_space(content: Any) -> FeatureSpace | None:
    if content is None:
        return None
    reader = JsonObject(content, "space.")
    bounds = [
        (0.0, 0.0) if b is None else _pair(reader, f"bounds[{i}]", b)
        for i, b in enumerate(reader.get("bounds", list))
    ]
    response = reader.get("response_range", list, optional=True)
    one_hot: dict[str, dict[str, Any]] = {}
    for group, columns in reader.get("one_hot", dict).items():
        where = f"space.one_hot.{cut(group, 80)}"
        inner = JsonObject(columns, where).content
        values = read_scalars(list(inner.values()), where)
        one_hot[group] = dict(zip(inner, values, strict=True))
    if reader.content.get("knots"):
        warnings.warn(
            "the tree file measures moves by quantiles (knots), which is no longer offered; "
            "distances are now over the range of each feature",
            SteadyTreeWarning,
            stacklevel=4,
        )
    ordered = reader.content.get("ordered") is not None and reader.bools("ordered")
    return FeatureSpace(
        lower=np.array([low for low, _ in bounds]),
        upper=np.array([high for _, high in bounds]),
        categories=_read_categories(reader),
        can_be_missing=np.array(reader.bools("can_be_missing"), dtype=bool),
        names=_names(reader, "names"),
        classes=_scalars(reader.get("classes", list, optional=True), "space.classes"),
        response_range=None if response is None else _pair(reader, "response_range", response),
        one_hot=one_hot,
        ordered=np.array(ordered or (), dtype=bool),
    )


def _pair(reader: JsonObject, name: str, values: Any) -> tuple[float, float]:
    pair = reader.floats(name, values)
    if len(pair) != 2:
        raise TreeFormatError(
            f"{reader.where}{name}: expected two numbers, got a list of {len(pair)}"
        )
    return pair[0], pair[1]
