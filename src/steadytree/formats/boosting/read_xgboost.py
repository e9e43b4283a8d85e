"""Read XGBoost models: boosters, its scikit-learn estimators, and model files (JSON and UBJSON).

XGBoost rounds a value to single precision and goes left where it is below the threshold; listed
categories go right. Objects are read from the bytes that ``save_raw`` gives, files by parsers of
our own: no native parser ever sees a stranger's file.

Limits that the format sets: models of versions before 3.1 do not store the names of pandas
categories, so that their codes are the categories; and scores are sums of single precision, so
that shares agree to seven digits. Decisions are the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadytree.formats.boosting.leaf_scores import Outcome, identity, refuse_objective, two_shares
from steadytree.formats.stored_nodes import (
    check_category_sizes,
    check_features,
    nest_nodes,
    split_around_missing,
)
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
    quoted,
    read_bytes,
)

# -- Parse Universal Binary JSON, in which XGBoost saves models, with bounds on everything --
# A count in a file is a claim. Nothing is made before the bytes for it are seen to be there, and
# nesting ends at ``MAX_NESTING``; so time and memory are bounded by the size of the file.

MAX_NESTING = 64
"""Levels of lists in lists; XGBoost's files have eight."""

_NUMBERS = {b"i": "i1", b"U": "u1", b"I": "i2", b"l": "i4", b"L": "i8", b"d": "f4", b"D": "f8"}
_WORDS: dict[bytes, Any] = {b"Z": None, b"T": True, b"F": False}


def parse_ubjson(content: bytes) -> Any:
    """Return what the bytes say: dictionaries, lists, arrays of numbers, text and numbers."""
    parser = _Parser(content)
    value = parser.value(parser.take(1), 0)
    if parser.at != len(content):
        raise parser.error("the end of the file", "more bytes")
    return value


class _Parser:
    """A place in the bytes, and what can be read from there."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.at = 0

    def error(self, expected: str, got: str) -> TreeFormatError:
        return TreeFormatError(f"expected {expected} at byte {self.at}, got {got}")

    def take(self, n: int) -> bytes:
        if not 0 <= n <= len(self.content) - self.at:
            raise self.error(f"{n} bytes", f"the last {len(self.content) - self.at}")
        self.at += n
        return self.content[self.at - n : self.at]

    def marker(self) -> bytes:
        """Return the next marker; the filler between values says nothing."""
        mark = self.take(1)
        while mark == b"N":
            mark = self.take(1)
        return mark

    def count(self, mark: bytes) -> int:
        number = self.number(mark) if mark in b"iUIlL" else -1
        if not 0 <= number <= len(self.content) - self.at:
            raise self.error("a count of what is there", f"{quoted(number)} after {quoted(mark)}")
        return int(number)

    def number(self, mark: bytes) -> int | float:
        dtype = np.dtype(f">{_NUMBERS[mark]}")
        return np.frombuffer(self.take(dtype.itemsize), dtype).item()  # type: ignore[no-any-return]

    def text(self, length_mark: bytes) -> str:
        raw = self.take(self.count(length_mark))
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError:
            raise self.error("text in UTF-8", "other bytes") from None

    def value(self, mark: bytes, nesting: int) -> Any:
        if mark in _NUMBERS:
            return self.number(mark)
        if mark in _WORDS:
            return _WORDS[mark]
        if mark == b"S":
            return self.text(self.take(1))
        if mark == b"C":
            return self.take(1).decode("latin-1")
        if mark not in (b"[", b"{"):
            raise self.error("a value", f"the marker {quoted(mark)}")
        if nesting >= MAX_NESTING:
            raise self.error(f"at most {MAX_NESTING} levels", "a deeper one")
        return self.array(nesting) if mark == b"[" else self.mapping(nesting)

    def array(self, nesting: int) -> Any:
        mark = self.marker()
        if mark == b"$":
            kind = self.take(1)
            if kind not in _NUMBERS or self.take(1) != b"#":
                raise self.error("an array of numbers with a count", f"the type {quoted(kind)}")
            dtype = np.dtype(f">{_NUMBERS[kind]}")
            raw = self.take(self.count(self.take(1)) * dtype.itemsize)
            return np.frombuffer(raw, dtype=dtype).astype(dtype.newbyteorder("="))
        if mark == b"#":
            n = self.count(self.take(1))
            return [self.value(self.marker(), nesting + 1) for _ in range(n)]
        found = []
        while mark != b"]":
            found.append(self.value(mark, nesting + 1))
            mark = self.marker()
        return found

    def mapping(self, nesting: int) -> dict[str, Any]:
        mark = self.marker()
        if mark in (b"$", b"#"):
            raise self.error("a mapping that ends with a brace", "one with a count")
        found = {}
        while mark != b"}":
            key = self.text(mark)
            found[key] = self.value(self.marker(), nesting + 1)
            mark = self.marker()
        return found


FILES = "XGBoost model files (.json, .ubj)"

FloatArray = NDArray[np.float64]
Categories = tuple[tuple[Any, ...] | None, ...]

_IS_JSON = re.compile(rb'\s*\{\s*"(learner"\s*:|version"\s*:\s*\[)')
_LARGEST_EXPONENT = 88.7  # of XGBoost's own, so that single precision does not overflow


# -- objectives: how the base score becomes a margin, and the margin a prediction -----------------


def _logit(share: float) -> float:
    single = np.float32(share)
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(-np.log(np.float32(1) / single - np.float32(1)))


def _log(mean: float) -> float:
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.log(np.float32(mean)))


def _sigmoid(margin: FloatArray) -> FloatArray:
    """Share as XGBoost computes it in single precision: at a tie it decides for the first class."""
    grown = np.exp(np.minimum(-margin, _LARGEST_EXPONENT)).astype(np.float32)
    return np.asarray(np.float32(1) / (grown + np.float32(1)), dtype=np.float64)


_AS_IT_IS = (float, identity)
_LOGARITHM = (_log, lambda margin: np.exp(margin).astype(np.float32).astype(np.float64))
_OBJECTIVES: dict[str, tuple[Callable[[float], float], Callable[[FloatArray], FloatArray]]] = {
    "binary:hinge": (float, lambda margin: (margin > 0).astype(np.float64)),
    "binary:logistic": (_logit, _sigmoid),
    "binary:logitraw": _AS_IT_IS,
    "count:poisson": _LOGARITHM,
    "rank:map": _AS_IT_IS,
    "rank:ndcg": _AS_IT_IS,
    "rank:pairwise": _AS_IT_IS,
    "reg:absoluteerror": _AS_IT_IS,
    "reg:gamma": _LOGARITHM,
    "reg:logistic": (_logit, _sigmoid),
    "reg:pseudohubererror": _AS_IT_IS,
    "reg:quantileerror": _AS_IT_IS,
    "reg:squarederror": _AS_IT_IS,
    "reg:squaredlogerror": _AS_IT_IS,
    "reg:tweedie": _LOGARITHM,
    "survival:aft": _LOGARITHM,
    "survival:cox": _LOGARITHM,
}
_CLASSIFIERS = ("binary:hinge", "binary:logistic")


# -- the door -------------------------------------------------------------------------------------


def reads(model: Any) -> bool:
    """Whether a model is an XGBoost booster or one of its scikit-learn estimators."""
    return is_a(model, "xgboost", "Booster", "XGBModel")


def read(model: Any, tree_index: int | None = None) -> Tree:
    """Read a booster or a fitted XGBClassifier, -Regressor, -Ranker or random forest of XGBoost.

    As in its own predictions, early stopping counts for an estimator (not for a booster): trees
    after the best round are no part of the model.
    """
    name = type(model).__name__
    if not hasattr(model, "get_booster"):
        return _read_document(parse_ubjson(bytes(model.save_raw("ubj"))), tree_index, name)
    if not model.__sklearn_is_fitted__():
        raise not_fitted(model)
    return _read_document(
        parse_ubjson(bytes(model.get_booster().save_raw("ubj"))),
        tree_index,
        name,
        classifier=is_a(model, "xgboost", "XGBClassifier"),
        early_stopping=True,
        missing=float(model.missing),
    )


def reads_file(path: Path, start: bytes) -> bool:
    """Whether a file is an XGBoost model: what it begins with is not in other JSON."""
    return bool(_IS_JSON.match(start)) or _is_ubjson(start)


def _is_ubjson(start: bytes) -> bool:
    return bool(re.match(rb"\{[iUIlL]\x00{0,7}\x07(learner|version)", start))


def read_file(path: Path, tree_index: int | None = None) -> Tree:
    """Parse a model file; a model for two classes has the classes 0 and 1."""
    content = read_bytes(path)
    try:
        document = parse_ubjson(content) if _is_ubjson(content[:64]) else parse_json(content)
        return _read_document(document, tree_index, "model file")
    except TreeFormatError as error:
        raise TreeFormatError(f"{path}: {error}") from None


def load_file(path: Path) -> Any:
    """Return a XGBoost booster, once our own parser has found nothing wrong with the file."""
    read_file(path, tree_index=0)
    xgboost = import_optional("xgboost", purpose="XGBoost models", install="pip install xgboost")
    return xgboost.Booster(model_file=str(path))


# -- the document ---------------------------------------------------------------------------------


class _Part(JsonObject):
    """A mapping in the document, and where it stands; numbers come as text, or as an array."""

    def entry(self, key: str, kind: type, default: Any) -> Any:
        """Return an entry of a kind, or what stands for a missing one."""
        return self.get(key, kind) if key in self.content else default

    def part(self, key: str) -> _Part:
        """Return an entry that is an object itself."""
        return _Part(self.get(key, dict), f"{self.where}{key}.")

    def count(self, key: str, default: Any = None) -> int:
        """Return a whole number, which XGBoost writes as text."""
        value = self.content.get(key, default)
        try:
            return int(value)
        except (TypeError, ValueError, OverflowError):
            raise TreeFormatError(
                f"{self.where}{key}: expected a whole number, got {str(value)[:40]!r}"
            ) from None

    def array(self, key: str, n: int | None = None) -> FloatArray:
        """Return a list of numbers; a missing one is empty unless its length is known."""
        value = self.content.get(key, () if n is None else None)
        try:
            if not isinstance(value, (np.ndarray, list, tuple)):
                raise ValueError
            with np.errstate(invalid="ignore"):  # odd NaN, for whoever takes the numbers to refuse
                array = np.array(value, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            raise TreeFormatError(f"{self.where}{key}: expected numbers, got others") from None
        if array.ndim != 1 or (n is not None and len(array) != n):
            raise TreeFormatError(
                f"{self.where}{key}: expected {'a list of' if n is None else n} numbers, "
                f"got shape {array.shape}"
            )
        return array

    def integers(self, key: str, n: int | None = None) -> list[int]:
        """Return a list of whole numbers."""
        array = self.array(key, n)
        if not (np.abs(array) < 2.0**53).all() or (array != np.floor(array)).any():
            raise TreeFormatError(f"{self.where}{key}: expected whole numbers, got others")
        return array.astype(np.int64).tolist()  # type: ignore[no-any-return]


def _read_document(
    document: Any,
    tree_index: int | None,
    name: str,
    *,
    classifier: bool = False,
    early_stopping: bool = False,
    missing: float = np.nan,
) -> Tree:
    top = _Part(document, "")
    learner = top.part("learner")
    parameters = learner.part("learner_model_param")
    version = top.integers("version")
    model, drops = _gradient_booster(learner.part("gradient_booster"))
    n_features = parameters.count("num_feature")
    if not 0 < n_features <= MAX_UNLISTED_FEATURES:
        raise TreeFormatError(
            f"num_feature: expected 1 to {MAX_UNLISTED_FEATURES:,} features, got {n_features}"
        )
    trees = model.get("trees", list)
    if early_stopping:
        trees = trees[: _rounds_kept(learner, model)]
    if not trees:
        raise TreeFormatError("trees: expected at least one, got none")
    index = choose_tree(len(trees), tree_index, "an XGBoost model")
    table = _Part(trees[index], f"trees[{index}].")
    if _Part(table.get("tree_param", dict), "tree_param.").count("size_leaf_vector", 1) > 1:
        raise UnsupportedModelError(
            "expected one value per leaf, got an XGBoost model with trees of several outputs; "
            "fit with multi_strategy='one_output_per_tree'"
        )
    outcome, row = Outcome(identity), 1.0
    if len(trees) == 1:
        outcome, row = _outcome(learner, version, classifier), _weight_of_a_row(learner)
    lists = _category_lists(learner, model, n_features)
    if not np.isnan(missing) and any(t == "c" for t in learner.entry("feature_types", list, [])):
        raise UnsupportedModelError(
            f"expected missing=nan for a model with categories, got missing={missing}; "
            "fit with missing values as NaN"
        )
    drop = 1.0 if drops is None else float(drops[index]) if index < len(drops) else np.nan
    root, categories = _nodes(
        table, n_features, lists, outcome, drop=drop, missing=missing, row=row
    )
    names = learner.entry("feature_names", list, [])
    numbers = ".".join(map(str, version))
    return build_tree(
        root,
        n_features=n_features,
        feature_names=tuple(map(str, names)) or None,
        categories=categories,
        classes=outcome.classes,
        precision="float32",
        metadata={"source": f"XGBoost {numbers} {name}"},
    )


def _gradient_booster(booster: _Part) -> tuple[_Part, FloatArray | None]:
    """Return the model of trees, and the weights of the trees where some were dropped (DART)."""
    kind = booster.get("name", str)
    if kind == "gbtree":
        return booster.part("model"), None
    if kind == "dart":
        return booster.part("gbtree").part("model"), booster.array("weight_drop")
    raise UnsupportedModelError(
        f"expected an XGBoost model of trees (gbtree or dart), got {kind[:40]!r}; "
        "fit with booster='gbtree'"
    )


def _rounds_kept(learner: _Part, model: _Part) -> int | None:
    """Return how many trees count after early stopping; None without it."""
    attributes = learner.part("attributes")
    if "best_iteration" not in attributes.content:
        return None
    best, ends = attributes.count("best_iteration"), model.integers("iteration_indptr")
    if not 0 <= best < len(ends) - 1:
        raise TreeFormatError(f"best_iteration: expected a round, got {best} of {len(ends) - 1}")
    return ends[best + 1]


def _outcome(learner: _Part, version: list[int], classifier: bool) -> Outcome:
    """How the leaves of the only tree become what the model predicts."""
    name = learner.part("objective").get("name", str)
    # Some old versions took the base score of raw log odds as a share.
    if name not in _OBJECTIVES or (name == "binary:logitraw" and version[:1] < [3]):
        refuse_objective(name[:60], "XGBoost", _OBJECTIVES)
    is_share = name in _CLASSIFIERS or (classifier and name == "reg:logistic")
    if classifier and not is_share:
        refuse_objective(name, "XGBoost", (*_CLASSIFIERS, "reg:logistic"))
    to_margin, link = _OBJECTIVES[name]
    base = np.float32(to_margin(_base_score(learner)))

    def values(leaf: FloatArray) -> FloatArray:
        margin = (base + leaf.astype(np.float32)).astype(np.float64)
        return two_shares(link(margin)) if is_share else link(margin)

    return Outcome(values, (0, 1) if is_share else None)


def _base_score(learner: _Part) -> float:
    """Return what all rows start from, on the scale of the prediction."""
    text = str(learner.part("learner_model_param").content.get("base_score"))
    try:
        return float(text.strip("[]"))
    except ValueError:
        raise TreeFormatError(f"base_score: expected one number, got {text[:40]!r}") from None


def _weight_of_a_row(learner: _Part) -> float:
    """Return what a row adds to the weight that XGBoost stores with the nodes of the first tree.

    That is the second derivative of its loss, the same for all rows: 1 for squared error.
    """
    share = 0.0
    if learner.part("objective").get("name", str) in ("binary:logistic", "reg:logistic"):
        share = _base_score(learner)
    return share * (1 - share) if 0 < share < 1 else 1.0


def _category_lists(learner: _Part, model: _Part, n_features: int) -> dict[int, list[Any]]:
    """Return the user's own categories by feature, where the model has them."""
    encoded = _Part(model.entry("cats", dict, {}), "cats.").entry("enc", list, [])
    if not encoded:
        return {}
    if len(encoded) != n_features:
        raise TreeFormatError(f"cats.enc: expected {n_features} entries, got {len(encoded)}")
    lists: dict[int, list[Any]] = {}
    for j, entry in enumerate(encoded):
        part = _Part(entry, f"cats.enc[{j}].")
        values = part.integers("values")
        if "offsets" not in entry:
            lists[j] = values
            continue
        ends = part.integers("offsets")
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
    table: _Part,
    n_features: int,
    lists: dict[int, list[Any]],
    outcome: Outcome,
    *,
    drop: float,
    missing: float,
    row: float,
) -> tuple[Node, Categories]:
    """Nested conditions of one tree, and the categories of all features.

    ``drop``: what the leaves are multiplied with; ``missing``: a number that stands for missing;
    ``row``: what one row adds to the weight of a node.
    """
    lefts = table.integers("left_children")
    n = len(lefts)
    rights = table.integers("right_children", n)
    feature = table.integers("split_indices", n)
    # In JSON the shortest digits of a single, which UBJSON holds itself.
    with np.errstate(over="ignore"):
        condition = table.array("split_conditions", n).astype(np.float32)
        weight = table.array("sum_hessian", n).astype(np.float32)
    default_left = table.integers("default_left", n)
    by_category = table.integers("split_type", n) if "split_type" in table.content else [0] * n
    children: list[tuple[int, int] | None] = [
        None if left == -1 else (left, right) for left, right in zip(lefts, rights, strict=True)
    ]
    splits = [i for i, sides in enumerate(children) if sides is not None]
    check_features([feature[i] for i in splits], n_features)
    with np.errstate(over="ignore", invalid="ignore"):
        values = outcome.of(condition * np.float32(drop))
        below = np.nextafter(condition, np.float32(-np.inf)).astype(np.float64)
    right_sets = _right_sets(table, [i for i in splits if by_category[i]])
    categories = _categories(feature, right_sets, lists, n_features)

    def split(i: int, left: Node, right: Node) -> Node:
        j, to_left = feature[i], bool(default_left[i])
        cats = categories[j]
        if i not in right_sets:
            if np.isnan(missing):
                return Branch(
                    feature=j, left=left, right=right, threshold=below[i], missing_left=to_left
                )
            high = float(np.float32(missing))
            low = float(np.nextafter(np.float32(missing), np.float32(-np.inf)))
            return split_around_missing(j, below[i], (low, high), to_left, left, right)
        return Branch(
            feature=j,
            left=left,
            right=right,
            left_categories=tuple(k for k in range(len(cats or ())) if k not in right_sets[i]),
            missing_left=to_left,
            unseen_left=True,
        )

    return nest_nodes(
        children, lambda i: Leaf(values[i], float(weight[i]) / row), split
    ), categories


def _right_sets(table: _Part, nodes: Sequence[int]) -> dict[int, frozenset[int]]:
    """Codes that go right, by split."""
    if not nodes:
        return {}
    codes, listed = table.integers("categories"), table.integers("categories_nodes")
    starts = table.integers("categories_segments", len(listed))
    sizes = table.integers("categories_sizes", len(listed))
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
