"""Write a tree as an XGBoost model of one tree, in the form of a model that is there.

The document of that one stays (columns, objective, categories); its trees give way to one.
XGBoost rounds values to single precision: every value that single precision holds goes as in the
tree. Its leaves are singles too: shares come back to about six digits, labels exactly.
"""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadytree.formats.boosting import read_xgboost as reader
from steadytree.formats.boosting.leaf_scores import (
    category_codes,
    fitting_tree,
    labels_or_responses,
    leaf_scores,
)
from steadytree.formats.split_tests import split_test
from steadytree.plugins import (
    InputError,
    Tree,
    UnsupportedModelError,
    import_optional,
    next_above,
    read_model,
    write_atomic,
)

NO_PARENT = 2**31 - 1
_WHAT = "the XGBoost model"
_LINKS = {
    **dict.fromkeys(
        [f"reg:{kind}error" for kind in ("squared", "absolute", "pseudohuber", "squaredlog")],
        "identity",
    ),
    **dict.fromkeys(("count:poisson", "reg:gamma", "reg:tweedie"), "exponential"),
    "binary:logistic": "logistic",
}
_BASE_SCORES = {"identity": "0E0", "exponential": "1E0", "logistic": "5E-1"}
"""Predictions whose score is 0, so that the leaf alone decides."""

imitates = reader.reads


def predict(model: Any, X: Any, tree: Tree) -> Any:
    """Labels or responses; of a booster the labels that the tree's policy gives its shares."""
    if not hasattr(model, "get_booster"):
        xgboost = import_optional("xgboost", purpose="XGBoost", install="pip install xgboost")
        X = xgboost.DMatrix(X, enable_categorical=True)
    return labels_or_responses(model, model.predict(X), tree)


def save(model: Any, path: Path) -> Path:
    """Write what XGBoost saves: JSON, or UBJSON for a path that ends in .ubj."""
    booster = model.get_booster() if hasattr(model, "get_booster") else model
    suffix = path.suffix.lower()
    if suffix not in (".json", ".ubj"):
        raise InputError(
            f"expected a path that ends in .json or .ubj for an XGBoost model, got {str(path)!r}"
        )
    return write_atomic(path, bytes(booster.save_raw(suffix[1:])))


def write_like(tree: Tree, model: Any, prefer: str | None) -> Any:
    """Return an XGBoost model of the same kind as ``model`` that is this tree alone."""
    xgboost = import_optional(
        "xgboost", purpose="writing XGBoost models", install="pip install xgboost"
    )
    there = read_model(model, tree_index=0)
    booster = model.get_booster() if hasattr(model, "get_booster") else model
    if not np.isnan(float(getattr(model, "missing", np.nan))):
        raise UnsupportedModelError(
            f"expected a model to which NaN is missing, got missing={model.missing}; "
            "fit it with missing values as NaN"
        )
    document = json.loads(bytes(booster.save_raw("json")))
    learner = document["learner"]
    forest = learner["gradient_booster"]
    if forest["name"] != "gbtree":
        raise UnsupportedModelError(
            f"expected an XGBoost model with booster='gbtree', got {forest['name']!r}"
        )
    types = learner.get("feature_types") or ["float"] * there.n_features
    tree = fitting_tree(tree, model, there, [kind == "c" for kind in types], _WHAT)
    link = _LINKS.get(learner["objective"]["name"])
    if link is None:
        raise UnsupportedModelError(
            f"expected an XGBoost model with one of the objectives {', '.join(_LINKS)}, got "
            f"{learner['objective']['name']!r}; a single tree cannot be written with it"
        )
    scores = leaf_scores(tree, prefer, _WHAT, link=link, decided=booster is not model, single=True)
    parameters = learner["learner_model_param"]
    listed = str(parameters["base_score"]).startswith("[")
    parameters["base_score"] = f"[{_BASE_SCORES[link]}]" if listed else _BASE_SCORES[link]
    for gone in ("best_iteration", "best_score"):
        learner.get("attributes", {}).pop(gone, None)
    inside = forest["model"]
    encoded = inside.get("cats", {}).get("enc") or [{}] * tree.n_features
    named = [bool(entry.get("values")) for entry in encoded]
    codes = [
        category_codes(*lists)
        for lists in zip(there.categories, tree.categories, named, strict=True)
    ]
    inside["trees"] = [_tree_table(tree, scores, codes, named)]
    inside["tree_info"], inside["iteration_indptr"] = [0], [0, 1]
    inside["gbtree_model_param"] |= {"num_trees": "1", "num_parallel_tree": "1"}
    written = xgboost.Booster()
    written.load_model(bytearray(json.dumps(document).encode()))
    if booster is model:
        return written
    out = copy.copy(model)
    out._Booster = written
    return out


def _tree_table(
    tree: Tree, scores: NDArray[np.float64], codes: list[dict[Any, int]], named: list[bool]
) -> dict[str, Any]:
    """Return the tree as XGBoost's document has it; ``named``: categories are pandas' own."""
    order = tree.preorder.tolist()
    number = {node: i for i, node in enumerate(order)} | {-1: -1}
    n = len(order)
    columns: dict[str, list[Any]] = {
        "base_weights": scores[order].tolist(),
        "categories": [],
        "categories_nodes": [],
        "categories_segments": [],
        "categories_sizes": [],
        "default_left": [0] * n,
        "left_children": [-1] * n,
        "loss_changes": [0.0] * n,
        "parents": [NO_PARENT] * n,
        "right_children": [-1] * n,
        "split_conditions": scores[order].tolist(),
        "split_indices": [0] * n,
        "split_type": [0] * n,
        "sum_hessian": tree.weight[order].tolist(),
    }
    for i, node in enumerate(order):
        if tree.is_leaf[node]:
            continue
        test = split_test(tree, node)
        turned = False
        if test.threshold is not None:
            # Strictly below a single that is the next larger one.
            columns["split_conditions"][i] = next_above(float(tree.threshold[node]), "float32")
        else:
            # Listed codes go right, all others left.
            turned = not test.unseen_left
            listed = test.left if turned else test.right
            known = codes[test.feature]
            found = sorted(known[c] for c in listed if c in known)
            if not found and named[test.feature]:
                # XGBoost takes no empty set, and no category beyond those it has names for.
                turned, found = not turned, sorted(known.values())
            # Without a set every code is below infinity.
            columns["split_conditions"][i] = 0.0 if found else np.inf
            if found:
                columns["categories_nodes"].append(i)
                columns["categories_segments"].append(len(columns["categories"]))
                columns["categories_sizes"].append(len(found))
                columns["categories"] += found
                columns["split_type"][i] = 1
        sides = [number[int(side[node])] for side in (tree.children_left, tree.children_right)]
        left, right = sides[::-1] if turned else sides
        columns["left_children"][i], columns["right_children"][i] = left, right
        columns["parents"][left] = columns["parents"][right] = i
        columns["default_left"][i] = int(test.missing_left != turned)
        columns["split_indices"][i] = test.feature
    return {
        **columns,
        "id": 0,
        "tree_param": {
            "num_deleted": "0",
            "num_feature": str(tree.n_features),
            "num_nodes": str(n),
            "size_leaf_vector": "1",
        },
    }
