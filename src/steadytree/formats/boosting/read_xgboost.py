"""Read XGBoost models: boosters, its scikit-learn estimators, and model files saved as JSON.

XGBoost rounds a value to single precision and goes left where it is below the threshold; listed
categories go right. All are read from the JSON that XGBoost saves, by a parser of our own: no
native parser ever sees a stranger's file.

Limits that the format sets: models of versions before 3.1 do not store the names of pandas
categories, so that their codes are the categories; and scores are sums of single precision, so
that shares agree to seven digits. Decisions are the same.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadytree.formats.boosting.leaf_scores import LINKS, Outcome, link_of
from steadytree.formats.stored_nodes import check_category_sizes, check_features, nest_nodes
from steadytree.plugins import (
    MAX_UNLISTED_FEATURES,
    Branch,
    JsonObject,
    Leaf,
    Node,
    Tree,
    TreeFormatError,
    UnsupportedModelError,
    build_tree,
    choose_tree,
    import_optional,
    is_a,
    not_fitted,
    parse_json,
    read_bytes,
)

FILES = "XGBoost model files (.json)"

FloatArray = NDArray[np.float64]
Categories = tuple[tuple[Any, ...] | None, ...]

OBJECTIVES = {
    **dict.fromkeys(
        (
            *(f"reg:{kind}error" for kind in ("squared", "absolute", "pseudohuber", "quantile")),
            "reg:squaredlogerror",
            *("rank:map", "rank:ndcg", "rank:pairwise"),
        ),
        "identity",
    ),
    **dict.fromkeys(
        ("count:poisson", "reg:gamma", "reg:tweedie", "survival:aft", "survival:cox"),
        "exponential",
    ),
    "binary:logistic": "single logistic",
    "reg:logistic": "single logistic",
}
"""How scores become predictions, at a tie as XGBoost's own single precision decides."""

_IS_JSON = re.compile(rb'\s*\{\s*"(learner"\s*:|version"\s*:\s*\[)')
_IS_UBJSON = re.compile(rb"\{[iUIlL]\x00{0,7}\x07(learner|version)")


# -- the door -------------------------------------------------------------------------------------


def reads(model: Any) -> bool:
    """Whether a model is an XGBoost booster or one of its scikit-learn estimators."""
    return is_a(model, "xgboost", "Booster", "XGBModel")


def read(model: Any, tree_index: int | None = None) -> Tree:
    """Read a booster or a fitted XGBClassifier, -Regressor, -Ranker or random forest of XGBoost.

    Early stopping does not count: a model has all trees that were trained.
    """
    booster = model
    if hasattr(model, "get_booster"):
        if not model.__sklearn_is_fitted__():
            raise not_fitted(model)
        if not np.isnan(float(model.missing)):
            raise UnsupportedModelError(
                f"expected a model to which NaN is missing, got missing={model.missing}; "
                "fit it with missing values as NaN"
            )
        booster = model.get_booster()
    return _read_document(
        parse_json(bytes(booster.save_raw("json"))),
        tree_index,
        type(model).__name__,
        classifier=is_a(model, "xgboost", "XGBClassifier"),
    )


def reads_file(path: Path, start: bytes) -> bool:
    """Whether a file is an XGBoost model: what it begins with is not in other JSON."""
    return bool(_IS_JSON.match(start) or _IS_UBJSON.match(start))


def read_file(path: Path, tree_index: int | None = None) -> Tree:
    """Parse a model file; a model for two classes has the classes 0 and 1."""
    content = read_bytes(path)
    if _IS_UBJSON.match(content[:64]):
        raise TreeFormatError(
            f"{path}: expected an XGBoost model saved as JSON, got UBJSON; save it again: "
            'xgboost.Booster(model_file=path).save_model("model.json")'
        )
    try:
        return _read_document(parse_json(content), tree_index, "model file")
    except TreeFormatError as error:
        raise TreeFormatError(f"{path}: {error}") from None


def load_file(path: Path) -> Any:
    """Return a XGBoost booster, once our own parser has found nothing wrong with the file."""
    read_file(path, tree_index=0)
    xgboost = import_optional("xgboost", purpose="XGBoost models", install="pip install xgboost")
    return xgboost.Booster(model_file=str(path))


# -- the document ---------------------------------------------------------------------------------


def _count(part: JsonObject, key: str, default: Any = None) -> int:
    """Return a whole number, which XGBoost writes as text."""
    value = part.content.get(key, default)
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        raise TreeFormatError(
            f"{part.where}{key}: expected a whole number, got {str(value)[:40]!r}"
        ) from None


def _numbers(part: JsonObject, key: str, n: int | None = None) -> FloatArray:
    """Return a list of numbers, of some length where that is known."""
    values = part.get(key, list)
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise TreeFormatError(f"{part.where}{key}: expected numbers, got others") from None
    if array.ndim != 1 or (n is not None and len(array) != n):
        raise TreeFormatError(
            f"{part.where}{key}: expected {'a list of' if n is None else n} numbers, "
            f"got shape {array.shape}"
        )
    return array


def _integers(part: JsonObject, key: str, n: int | None = None) -> list[int]:
    """Return a list of whole numbers."""
    array = _numbers(part, key, n)
    if not (np.abs(array) < 2.0**53).all() or (array != np.floor(array)).any():
        raise TreeFormatError(f"{part.where}{key}: expected whole numbers, got others")
    return array.astype(np.int64).tolist()  # type: ignore[no-any-return]


def _optional(part: JsonObject, key: str, kind: type) -> Any:
    """Return an entry of a kind, an empty one where there is none."""
    return part.get(key, kind) if key in part.content else kind()


def _read_document(
    document: Any,
    tree_index: int | None,
    name: str,
    *,
    classifier: bool = False,
) -> Tree:
    top = JsonObject(document, "")
    learner = top.part("learner")
    booster = learner.part("gradient_booster")
    kind = booster.get("name", str)
    if kind != "gbtree":
        raise UnsupportedModelError(
            f"expected an XGBoost model of trees (gbtree), got {kind[:40]!r}; "
            "fit with booster='gbtree'"
        )
    model = booster.part("model")
    n_features = _count(learner.part("learner_model_param"), "num_feature")
    if not 0 < n_features <= MAX_UNLISTED_FEATURES:
        raise TreeFormatError(
            f"num_feature: expected 1 to {MAX_UNLISTED_FEATURES:,} features, got {n_features}"
        )
    trees = model.parts("trees")
    if not trees:
        raise TreeFormatError("trees: expected at least one, got none")
    index = choose_tree(len(trees), tree_index, "an XGBoost model")
    table = trees[index]
    if _count(table.part("tree_param"), "size_leaf_vector", 1) > 1:
        raise UnsupportedModelError(
            "expected one value per leaf, got an XGBoost model with trees of several outputs; "
            "fit with multi_strategy='one_output_per_tree'"
        )
    outcome, row = _outcome(learner, classifier) if len(trees) == 1 else (Outcome(), 1.0)
    lists = _category_lists(model, n_features)
    root, categories = _nodes(table, n_features, lists, outcome, row)
    version = ".".join(map(str, _integers(top, "version")))
    return build_tree(
        root,
        n_features=n_features,
        feature_names=tuple(map(str, _optional(learner, "feature_names", list))) or None,
        categories=categories,
        classes=outcome.classes,
        precision="float32",
        metadata={"source": f"XGBoost {version} {name}"},
    )


def _outcome(learner: JsonObject, classifier: bool) -> tuple[Outcome, float]:
    """How the leaves of the only tree become what the model predicts, and what a row weighs.

    The weight that XGBoost stores with nodes is the sum of the second derivatives of its loss, at
    the score that all rows start from: the same for all rows, 1 for squared error.
    """
    name = learner.part("objective").get("name", str)
    logistic = {k: v for k, v in OBJECTIVES.items() if v == "single logistic"}
    link = link_of(name, logistic if classifier else OBJECTIVES, "XGBoost")
    text = str(learner.part("learner_model_param").content.get("base_score"))
    try:
        start = float(text.strip("[]"))
    except ValueError:
        raise TreeFormatError(f"base_score: expected one number, got {text[:40]!r}") from None
    # It is stored on the scale of the prediction, and computed with in single precision.
    base = single = np.float32(start)
    row = 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        if link == "exponential":
            base = np.log(single)
        elif link == "single logistic":
            base = -np.log(np.float32(1) / single - np.float32(1))
            row = start * (1 - start) if 0 < start < 1 else 1.0
    is_share = classifier or name == "binary:logistic"

    def values(leaf: FloatArray) -> FloatArray:
        return LINKS[link]((base + leaf.astype(np.float32)).astype(np.float64))

    return Outcome(values, (0, 1) if is_share else None), row


def _category_lists(model: JsonObject, n_features: int) -> dict[int, list[Any]]:
    """Return the user's own categories by feature, where the model has them."""
    cats = JsonObject(_optional(model, "cats", dict), "cats.")
    encoded = cats.parts("enc") if "enc" in cats.content else []
    if not encoded:
        return {}
    if len(encoded) != n_features:
        raise TreeFormatError(f"cats.enc: expected {n_features} entries, got {len(encoded)}")
    lists: dict[int, list[Any]] = {}
    for j, entry in enumerate(encoded):
        values = _integers(entry, "values")
        if "offsets" not in entry.content:
            lists[j] = values
            continue
        ends = _integers(entry, "offsets")
        if not ends:
            continue
        if sorted(ends) != ends or ends[0] != 0 or ends[-1] > len(values):
            raise TreeFormatError(f"cats.enc[{j}].offsets: expected rising numbers, got others")
        if any(not 0 <= byte < 128 for byte in values):
            raise UnsupportedModelError(
                "expected categories in plain ASCII, got others, whose names XGBoost stores cut "
                f"off (feature {j}); rename them, or fit on their codes"
            )
        text = bytes(values).decode("ascii")
        lists[j] = [text[a:b] for a, b in pairwise(ends)]
    return lists


# -- nodes ----------------------------------------------------------------------------------------


def _nodes(
    table: JsonObject, n_features: int, lists: dict[int, list[Any]], outcome: Outcome, row: float
) -> tuple[Node, Categories]:
    """Nested conditions of one tree, and the categories of all features.

    ``row``: what one row adds to the weight of a node.
    """
    lefts = _integers(table, "left_children")
    n = len(lefts)
    rights = _integers(table, "right_children", n)
    feature = _integers(table, "split_indices", n)
    # Written with the shortest digits of a single.
    with np.errstate(over="ignore"):
        condition = _numbers(table, "split_conditions", n).astype(np.float32)
        weight = _numbers(table, "sum_hessian", n).astype(np.float32)
    default_left = _integers(table, "default_left", n)
    by_category = _integers(table, "split_type", n) if "split_type" in table.content else [0] * n
    children: list[tuple[int, int] | None] = [
        None if left == -1 else (left, right) for left, right in zip(lefts, rights, strict=True)
    ]
    splits = [i for i, sides in enumerate(children) if sides is not None]
    check_features([feature[i] for i in splits], n_features)
    with np.errstate(over="ignore", invalid="ignore"):
        values = outcome.of(condition)
        below = np.nextafter(condition, np.float32(-np.inf)).astype(np.float64)
    right_sets = _right_sets(table, [i for i in splits if by_category[i]])
    categories = _categories(feature, right_sets, lists, n_features)

    def split(i: int, left: Node, right: Node) -> Node:
        j, codes = feature[i], right_sets.get(i)
        known = range(len(categories[j] or ()))
        return Branch(
            feature=j,
            left=left,
            right=right,
            threshold=below[i] if codes is None else np.nan,
            left_categories=None if codes is None else tuple(k for k in known if k not in codes),
            missing_left=bool(default_left[i]),
            unseen_left=None if codes is None else True,
        )

    return nest_nodes(
        children, lambda i: Leaf(values[i], float(weight[i]) / row), split
    ), categories


def _right_sets(table: JsonObject, nodes: Sequence[int]) -> dict[int, frozenset[int]]:
    """Codes that go right, by split."""
    if not nodes:
        return {}
    codes, listed = _integers(table, "categories"), _integers(table, "categories_nodes")
    starts = _integers(table, "categories_segments", len(listed))
    sizes = _integers(table, "categories_sizes", len(listed))
    check_category_sizes([size for size in sizes if size > 0])
    sets: dict[int, frozenset[int]] = {}
    for node, start, size in zip(listed, starts, sizes, strict=True):
        found = codes[start : start + size] if start >= 0 and size >= 0 else []
        if len(found) != size or min(found, default=0) < 0 or node in sets:
            raise TreeFormatError(f"node {node}: expected {size} categories of its own, got others")
        sets[node] = frozenset(found)
    lacking = [node for node in nodes if node not in sets]
    if lacking:
        raise TreeFormatError(f"node {lacking[0]}: expected a set of categories, got none")
    return {node: sets[node] for node in nodes}


def _categories(
    feature: list[int],
    right_sets: dict[int, frozenset[int]],
    lists: dict[int, list[Any]],
    n_features: int,
) -> Categories:
    """Categories of each feature: the user's own, else the codes up to the largest in the tree."""
    largest: dict[int, int] = {}
    for node, codes in right_sets.items():
        j = feature[node]
        largest[j] = max(largest.get(j, 0), max(codes, default=0))
    for j, code in largest.items():
        if j in lists and code >= len(lists[j]):
            raise TreeFormatError(
                f"feature {j}: expected category codes below {len(lists[j])}, got {code}"
            )
    check_category_sizes(
        [len(lists.get(j, ())) or largest[j] + 1 for j in (feature[node] for node in right_sets)]
    )
    return tuple(
        tuple(lists[j]) if j in lists else tuple(range(largest[j] + 1)) if j in largest else None
        for j in range(n_features)
    )
