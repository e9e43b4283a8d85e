"""Write a tree as a LightGBM or XGBoost model of one tree, in the form of a model that is there.

What that one says of columns, objective and categories stays; its trees give way to one. LightGBM
compares doubles, and so decides every number as the tree does, but for numbers of at most 1e-35
in size, which are 0 to it. XGBoost rounds values to single precision: every value that single
precision holds goes as in the tree. Leaves hold scores: shares come back to about nine digits,
XGBoost's to six, labels exactly.
"""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadytree.formats.boosting import read_lightgbm, read_xgboost
from steadytree.formats.boosting.leaf_scores import link_of
from steadytree.formats.shares_for_labels import leaf_shares, over_columns
from steadytree.formats.split_tests import SplitTest, split_test
from steadytree.formats.thresholds import next_above
from steadytree.plugins import (
    LARGEST_SHARE,
    Decision,
    InputError,
    Tree,
    UnsupportedModelError,
    import_optional,
    quoted,
    read_model,
    write_atomic,
)

FloatArray = NDArray[np.float64]
LARGEST = float(np.finfo(np.float64).max)
NEAR = {"LightGBM": 1e-9, "XGBoost": 1e-6}
"""How near to the boundary a share may be, of scores in double and in single precision."""

_CATEGORICAL, _DEFAULT_LEFT, _MISSING_IS_NAN = 1, 2, 8
_NO_PARENT = 2**31 - 1
_BASE_SCORES = {"identity": "0E0", "exponential": "1E0", "single logistic": "5E-1"}
"""Predictions of XGBoost whose score is 0, so that the leaf alone decides."""


def imitates(model: Any) -> bool:
    """Whether a model is one of LightGBM's or XGBoost's."""
    return read_lightgbm.reads(model) or read_xgboost.reads(model)


def _booster(model: Any) -> Any:
    if read_lightgbm.reads(model):
        return getattr(model, "booster_", model)
    return model.get_booster() if hasattr(model, "get_booster") else model


def predict(model: Any, X: Any, tree: Tree) -> Any:
    """Labels or responses; of a booster the labels that the tree's policy gives its shares."""
    if read_xgboost.reads(model) and _booster(model) is model:
        xgboost = import_optional("xgboost", purpose="XGBoost", install="pip install xgboost")
        X = xgboost.DMatrix(X, enable_categorical=True)
    found = np.asarray(model.predict(X))
    if not tree.is_classifier or hasattr(model, "classes_"):
        return found
    return tree.class_names(tree.decision.labels(np.column_stack([1 - found, found])))


def save(model: Any, path: Path) -> Path:
    """Write what the library saves: LightGBM text, or JSON of XGBoost."""
    if read_lightgbm.reads(model):
        return write_atomic(path, _booster(model).model_to_string())
    if path.suffix.lower() != ".json":
        raise InputError(
            f"expected a path that ends in .json for an XGBoost model, got {str(path)!r}"
        )
    return write_atomic(path, bytes(_booster(model).save_raw("json")))


def write_like(tree: Tree, model: Any, prefer: str | None) -> Any:
    """Return a model of the same kind as ``model`` that is this tree alone."""
    there, booster = read_model(model, tree_index=0), _booster(model)
    write = _lightgbm if read_lightgbm.reads(model) else _xgboost
    written = write(tree, booster, model, there, prefer)
    if booster is model:
        return written
    out = copy.copy(model)
    out._Booster = written
    if write is _lightgbm:
        out._best_iteration = None
    return out


# -- what the model can say -------------------------------------------------------------------


def _fitting_tree(tree: Tree, model: Any, there: Tree, categorical: list[bool], what: str) -> Tree:
    """Return a tree over the columns of a model that was read as ``there``.

    Refuses other classes than those of a classifier, and splits that take a column for a number
    where the model has categories, or so.
    """
    tree = over_columns(tree, there.feature_names, there.n_features, what)
    theirs = getattr(model, "classes_", None)
    if tree.classes is not None and theirs is not None and theirs.tolist() != list(tree.classes):
        raise UnsupportedModelError(
            f"expected the classes of {what}, {quoted(theirs.tolist())}, got "
            f"{quoted(list(tree.classes))}"
        )
    for j in sorted(tree.used_features):
        by_set = tree.categories[j] is not None
        if by_set != categorical[j]:
            kinds = ("a number", "a category")
            raise UnsupportedModelError(
                f"expected {tree.feature_labels[j]!r} to be {kinds[categorical[j]]}, as it is to "
                f"{what}, got a split that takes it for {kinds[by_set]}"
            )
    return tree


def leaf_scores(
    tree: Tree, prefer: str | None, library: str, *, link: str, decided: bool
) -> FloatArray:
    """Return the score of each node on the scale of a link, or refuse what it cannot say.

    A boosted classifier of one tree decides for the second class above one half
    (``decided``; else the tree's threshold is applied to its shares). Where a share lies so near
    the boundary that rounding could turn the label, it is moved a little away from it.
    """
    what = f"the {library} model"
    if link.endswith("logistic") != tree.is_classifier:
        kinds = ("a response", "classes")
        raise UnsupportedModelError(
            f"expected a tree of {kinds[not tree.is_classifier]}, as {what} predicts, got one of "
            f"{kinds[tree.is_classifier]}"
        )
    if link == "identity":
        return tree.value[:, 0]
    if link == "exponential":
        if (tree.value[tree.is_leaf, 0] <= 0).any():
            raise UnsupportedModelError(
                f"expected responses above 0, all that the objective of {what} can say, got a "
                f"leaf of {tree.value[tree.is_leaf, 0].min():g}"
            )
        return np.log(np.maximum(tree.value[:, 0], np.finfo(np.float64).tiny))
    if len(tree.classes or ()) != 2:
        raise UnsupportedModelError(
            f"expected two classes, which is all that one boosted tree can say, got "
            f"{len(tree.classes or ())}"
        )
    plain = Decision(threshold=tree.decision.threshold, resolved=tree.decision.position)
    spoken = LARGEST_SHARE if decided else plain
    share = leaf_shares(tree, prefer, what, spoken)[:, 1]
    boundary = 0.5
    if spoken.threshold is not None:
        boundary = spoken.threshold if spoken.position == 1 else 1 - spoken.threshold
    upper = tree.label == 1
    if prefer == "shares":
        upper = spoken.labels(np.column_stack([1 - share, share])) == 1
    near = NEAR[library]
    share = np.where(upper, np.maximum(share, boundary + near), np.minimum(share, boundary - near))
    share = np.clip(share, 1e-15, 1 - 1e-15)
    return np.asarray(np.log(share) - np.log1p(-share))


def _category_codes(there: Tree, tree: Tree, named: list[bool]) -> list[dict[Any, int]]:
    """Return the code of each category: its position in the model's list if it has ``named`` ones.

    Else columns hold codes, and a category is its own; others that are no codes are left out.
    """
    return [
        {c: code for code, c in enumerate(theirs or ())}
        if by_name
        else {
            c: int(c)
            for c in {*(theirs or ()), *(ours or ())}
            if not isinstance(c, str) and c == int(c) >= 0
        }
        for theirs, ours, by_name in zip(there.categories, tree.categories, named, strict=True)
    ]


# -- LightGBM ---------------------------------------------------------------------------------


def _lightgbm(tree: Tree, booster: Any, model: Any, there: Tree, prefer: str | None) -> Any:
    lightgbm = import_optional(
        "lightgbm", purpose="writing LightGBM models", install="pip install lightgbm"
    )
    if tree.feature_names is not None and there.feature_names is not None:
        # As LightGBM writes blanks in names.
        tree = tree.replace(feature_names=tuple(n.replace(" ", "_") for n in tree.feature_names))
    by_set = [categories is not None for categories in there.categories]
    tree = _fitting_tree(tree, model, there, by_set, "the LightGBM model")
    head, _, rest = booster.model_to_string().partition("\nTree=")
    tail = rest.partition("\nend of trees\n")[2]
    lines = head.split("\n")
    line = next((x for x in lines if x.startswith("objective=")), "objective=none").split("=")[1]
    name, *options = objective = line.split()
    link = link_of(line if "sqrt" in options else name, read_lightgbm.OBJECTIVES, "LightGBM")
    scores = leaf_scores(tree, prefer, "LightGBM", link=link, decided=booster is not model)
    codes = _category_codes(there, tree, [bool(booster.pandas_categorical)] * tree.n_features)
    block = _tree_block(tree, scores / read_lightgbm.sigmoid_of(objective), codes)
    # Sizes are there to read trees side by side; without them they are read one by one.
    kept = [x for x in lines if not x.startswith("tree_sizes=")]
    text = "\n".join(kept).rstrip("\n") + f"\n\nTree=0\n{block}\n\nend of trees\n{tail}"
    return lightgbm.Booster(model_str=text)


def _tree_block(tree: Tree, scores: FloatArray, codes: list[dict[Any, int]]) -> str:
    """Return the tree as LightGBM's text has it."""
    inner = [n for n in tree.preorder.tolist() if not tree.is_leaf[n]]
    leaves = tree.leaves.tolist()
    number = {n: i for i, n in enumerate(inner)} | {n: ~i for i, n in enumerate(leaves)}
    threshold: list[float] = []
    kind: list[int] = []
    children: list[tuple[int, int]] = []
    words: list[int] = []
    ends = [0]
    for node in inner:
        test = split_test(tree, node)
        sides = number[int(tree.children_left[node])], number[int(tree.children_right[node])]
        if test.threshold is not None:
            turned = test.threshold == -np.inf
            at = LARGEST if turned else test.threshold
            threshold.append(float(np.clip(at, -LARGEST, LARGEST)))
            kind.append(_MISSING_IS_NAN + _DEFAULT_LEFT * (test.missing_left != turned))
        else:
            # Missing values and categories never met are in no set, and go right.
            known = codes[test.feature]
            turned = _unlisted_left(test, known)
            chosen = [known[c] for c in (test.right if turned else test.left) if c in known]
            threshold.append(float(len(ends) - 1))
            kind.append(_CATEGORICAL + _MISSING_IS_NAN)
            words += _bit_words(chosen)
            ends.append(len(words))
        children.append(sides[::-1] if turned else sides)
    count = np.round(tree.weight).astype(np.int64)
    columns: dict[str, Any] = {
        "num_leaves": len(leaves),
        "num_cat": len(ends) - 1,
        "split_feature": tree.feature[inner].tolist(),
        "split_gain": [0] * len(inner),
        "threshold": threshold,
        "decision_type": kind,
        "left_child": [left for left, _ in children],
        "right_child": [right for _, right in children],
        "leaf_value": scores[leaves].tolist(),
        "leaf_weight": tree.weight[leaves].tolist(),
        "leaf_count": count[leaves].tolist(),
        "internal_value": scores[inner].tolist(),
        "internal_weight": tree.weight[inner].tolist(),
        "internal_count": count[inner].tolist(),
        **({"cat_boundaries": ends, "cat_threshold": words} if len(ends) > 1 else {}),
        "is_linear": 0,
        "shrinkage": 1,
    }
    return "\n".join(
        f"{key}={' '.join(map(repr, v)) if isinstance(v, list) else v}"
        for key, v in columns.items()
    )


def _unlisted_left(test: SplitTest, known: dict[Any, int]) -> bool:
    """Return where values go that are in no list; LightGBM sends them all one way."""
    unlisted = {test.unseen_left, test.missing_left}
    unlisted |= {True for c in test.left if c not in known}
    unlisted |= {False for c in test.right if c not in known}
    if len(unlisted) > 1:
        raise UnsupportedModelError(
            f"expected a split on {test.name!r} that sends missing values and categories never met "
            "the same way, as LightGBM does, got one that sends them apart; send them the same "
            "way, or export the tree"
        )
    return unlisted.pop()


def _bit_words(codes: list[int]) -> list[int]:
    """Return a set of codes as words of 32 bits."""
    words = [0] * (1 + max(codes, default=0) // 32)
    for code in codes:
        words[code // 32] |= 1 << code % 32
    return words


# -- XGBoost ----------------------------------------------------------------------------------


def _xgboost(tree: Tree, booster: Any, model: Any, there: Tree, prefer: str | None) -> Any:
    xgboost = import_optional(
        "xgboost", purpose="writing XGBoost models", install="pip install xgboost"
    )
    document = json.loads(bytes(booster.save_raw("json")))
    learner = document["learner"]
    types = learner.get("feature_types") or ["float"] * there.n_features
    by_set = [kind == "c" for kind in types]
    tree = _fitting_tree(tree, model, there, by_set, "the XGBoost model")
    link = link_of(learner["objective"]["name"], read_xgboost.OBJECTIVES, "XGBoost")
    scores = leaf_scores(tree, prefer, "XGBoost", link=link, decided=booster is not model)
    parameters = learner["learner_model_param"]
    listed = str(parameters["base_score"]).startswith("[")
    parameters["base_score"] = f"[{_BASE_SCORES[link]}]" if listed else _BASE_SCORES[link]
    for attribute in ("best_iteration", "best_score"):
        learner.get("attributes", {}).pop(attribute, None)
    inside = learner["gradient_booster"]["model"]
    encoded = inside.get("cats", {}).get("enc") or [{}] * tree.n_features
    named = [bool(entry.get("values")) for entry in encoded]
    inside["trees"] = [_tree_table(tree, scores, _category_codes(there, tree, named), named)]
    inside["tree_info"], inside["iteration_indptr"] = [0], [0, 1]
    inside["gbtree_model_param"] |= {"num_trees": "1", "num_parallel_tree": "1"}
    written = xgboost.Booster()
    written.load_model(bytearray(json.dumps(document).encode()))
    return written


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
        "parents": [_NO_PARENT] * n,
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
