"""Read LightGBM models: boosters, its scikit-learn estimators, and model files.

All are read from one text, the one LightGBM saves, by a parser of our own: no native parser
ever sees a stranger's file. Thresholds and leaves are written there with all their digits.

Limits that the format sets: categories that came as numbers are those numbers, and one with a
fraction, which LightGBM cuts off, counts as never met; and which columns pandas' categories
belong to is found out as ``lightgbm_categories`` says.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from steadytree.formats.boosting.leaf_scores import (
    Outcome,
    identity,
    logistic,
    refuse_objective,
    two_shares,
)
from steadytree.formats.stored_nodes import (
    check_category_sizes,
    check_features,
    nest_nodes,
    split_around_missing,
)
from steadytree.plugins import (
    MAX_FEATURES,
    MAX_NODES,
    Branch,
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

# -- Which features of a LightGBM model are categories, and what pandas called them --
# LightGBM numbers the categories of a pandas column and stores their names in a list for each
# column, but not which columns those are; ordered ones it compares as numbers. Here the lists
# find their features again: in order, the features it was told are categorical first of all, and
# others only where the codes fit their range. Where more than one way is left the model is
# refused.

MAX_WAYS = 5_000_000
"""Lists times features that are gone through to find which belong together."""

_PANDAS = "\npandas_categorical:"
_DECLARED = "\n[categorical_feature:"


@dataclass(frozen=True)
class CategoryColumns:
    """The categorical features of a model.

    ``codes``: what LightGBM met where it splits by category. ``values``: what pandas called the
    codes 0, 1, 2 and so on. ``ordered``: features with such values whose codes it compares as
    numbers.
    """

    codes: dict[int, list[int]]
    values: dict[int, list[Any]]
    ordered: frozenset[int]


def category_columns(infos: Sequence[str], names: Sequence[str], tail: str) -> CategoryColumns:
    """Read them from ``feature_infos`` and from what follows the trees."""
    codes: dict[int, list[int]] = {}
    for j, info in enumerate(infos):
        if info != "none" and not info.startswith("["):
            found = numbers_in(info.replace(":", " "), f"feature_infos of {names[j]}", int)
            codes[j] = [code for code in found if code >= 0]
    lists = _pandas_lists(tail)
    if not lists:
        return CategoryColumns(codes, {}, frozenset())
    declared = _declared(tail, names)
    # What LightGBM was told, else what it found: a constant column shows only in the former.
    categorical = set(codes) if declared is None else declared
    columns = _only_way(lists, categorical, infos, codes)
    if columns is None:
        raise UnsupportedModelError(
            f"expected to see which {len(lists)} features have the categories that pandas had, "
            f"got {len(categorical)} categorical features, and several ways or none to name the "
            "others: LightGBM does not store it where categories are ordered or categorical "
            "columns were named by hand; fit on unordered pandas categories for all categorical "
            "features, or on codes for all"
        )
    values = dict(zip(columns, lists, strict=True))
    return CategoryColumns(codes, values, frozenset(set(columns) - categorical))


def numbers_in(text: str, what: str, kind: type[int] | type[float]) -> list[Any]:
    """Return the numbers of a line."""
    try:
        return [kind(word) for word in text.split()]
    except (ValueError, OverflowError):
        raise TreeFormatError(f"expected numbers in {what}, got {text[:60]!r}") from None


def _pandas_lists(tail: str) -> list[list[Any]]:
    at = tail.rfind(_PANDAS)
    if at < 0:
        return []
    lists = parse_json(tail[at + len(_PANDAS) :].strip() or "null")
    if lists is None:
        return []
    if not isinstance(lists, list) or not all(
        isinstance(values, list) and all(isinstance(v, (str, bool, int, float)) for v in values)
        for values in lists
    ):
        raise TreeFormatError("expected lists of categories in pandas_categorical, got others")
    return lists


def _declared(tail: str, names: Sequence[str]) -> set[int] | None:
    """Return the features that LightGBM was told are categorical; None if that is not there."""
    _, found, rest = tail.partition(_DECLARED)
    if not found:
        return None
    value = rest.partition("]")[0].strip()
    if value.startswith("name:"):
        wanted = set(value[5:].split(","))
        return {j for j, name in enumerate(names) if name in wanted}
    declared = numbers_in(value.replace(",", " "), "categorical_feature", int)
    return {int(j) for j in declared if 0 <= j < len(names)}


def _only_way(
    lists: Sequence[Sequence[Any]],
    categorical: set[int],
    infos: Sequence[str],
    codes: dict[int, list[int]],
) -> list[int] | None:
    """Return the feature of each list, if there is exactly one way.

    Lists and features come in the same order, and every categorical feature has a list.
    """
    m, n = len(lists), len(infos)
    if m > n or m * n > MAX_WAYS:
        return None
    largest = [_largest_code(j, infos[j], j in categorical, codes) for j in range(n)]
    # ways[i]: in how many ways (2: several) the lists from i on fit the features looked at.
    ways = [0] * m + [1]
    choices: list[list[bool]] = []
    for j in reversed(range(n)):
        before = ways
        fits = [0 <= largest[j] < len(values) for values in lists]
        ways = [
            min(2, (fits[i] and before[i + 1]) + (0 if j in categorical else before[i]))
            for i in range(m)
        ]
        ways.append(0 if j in categorical else before[m])
        choices.append([bool(fits[i] and before[i + 1]) for i in range(m)])
    if ways[0] != 1:
        return None
    columns: list[int] = []
    for j, taken in enumerate(reversed(choices)):
        if len(columns) < m and taken[len(columns)]:
            columns.append(j)
    return columns


def _largest_code(j: int, info: str, categorical: bool, codes: dict[int, list[int]]) -> int:
    """Return the largest code of a feature, 0 where it met none; -1 if it has no codes."""
    if categorical:
        return max(codes.get(j, ()), default=0)
    if info == "none":
        return 0
    try:
        low, high = map(float, info.strip("[]").split(":"))
    except ValueError:
        return -1
    whole = low.is_integer() and high.is_integer() and 0 <= low <= high < 2**31
    return int(high) if whole else -1


# -- Read LightGBM models: boosters, its scikit-learn estimators, and model files --

FILES = "LightGBM model files (.txt)"

VERSIONS = ("v3", "v4")
ZERO = float(np.float32(1e-35))
"""LightGBM predicts values up to this size as 0.0, and may count them as missing."""
BELOW_ZERO = float(np.nextafter(-ZERO, -np.inf))

_CATEGORICAL, _DEFAULT_LEFT = 1, 2
_MISSING_NONE, _MISSING_ZERO, _MISSING_NAN = 0, 1, 2
_IDENTITY = (
    "regression", "regression_l1", "huber", "fair", "quantile", "mape", "lambdarank", "rank_xendcg",
)  # fmt: skip
_EXPONENTIAL = ("poisson", "gamma", "tweedie")
_SEVERAL_CLASSES = ("multiclass", "multiclassova")
_CLASSIFIERS = ("binary", "cross_entropy", *_SEVERAL_CLASSES)
_KNOWN = (*_CLASSIFIERS, "cross_entropy_lambda", *_IDENTITY, *_EXPONENTIAL)


def reads(model: Any) -> bool:
    """Whether a model is a LightGBM booster or one of its scikit-learn estimators."""
    return is_a(model, "lightgbm", "Booster", "LGBMModel")


def read(model: Any, tree_index: int | None = None) -> Tree:
    """Read a booster or a fitted LGBMClassifier, -Regressor or -Ranker.

    As in its own predictions, early stopping counts: trees after the best round are no part of
    the model. LightGBM writes ``_`` for blanks in the names of features; ``as_tree`` takes the
    original ones as ``feature_names=``.
    """
    name = type(model).__name__
    booster, classes = model, None
    if hasattr(type(model), "booster_"):
        if getattr(model, "_Booster", None) is None:
            raise not_fitted(model)
        booster = model.booster_
        classes = getattr(model, "classes_", None)
    try:
        text = booster.model_to_string()
    except (TypeError, ValueError) as error:  # of JSON: LightGBM cannot save such categories
        raise UnsupportedModelError(
            f"expected categories that LightGBM can save, got others, such as dates or intervals "
            f"({error}); use text or numbers as categories"
        ) from None
    version = getattr(sys.modules.get("lightgbm"), "__version__", "")
    return _read_text(
        text,
        tree_index,
        f"LightGBM {version} {name}",
        None if classes is None else classes.tolist(),
    )


def reads_file(path: Path, start: bytes) -> bool:
    """Whether a file is a LightGBM model, by its first lines."""
    return start.replace(b"\r", b"").lstrip().startswith(b"tree\nversion=")


def read_file(path: Path, tree_index: int | None = None) -> Tree:
    """Parse a model file; a model for two classes has the classes 0 and 1."""
    content = read_bytes(path)
    try:
        return _read_text(content.decode("utf-8"), tree_index, "LightGBM model file", None)
    except UnicodeDecodeError as error:
        raise TreeFormatError(
            f"{path}: expected UTF-8 text, got other bytes at {error.start}"
        ) from None
    except TreeFormatError as error:
        raise TreeFormatError(f"{path}: {error}") from None


def load_file(path: Path) -> Any:
    """Return a LightGBM booster, once our own parser has found nothing wrong with the file."""
    read_file(path, tree_index=0)
    lightgbm = import_optional(
        "lightgbm", purpose="LightGBM models", install="pip install lightgbm"
    )
    return lightgbm.Booster(model_file=str(path))


# -- the text ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Model:
    """What the text says beside its trees."""

    n_features: int
    names: tuple[str, ...] | None
    objective: list[str]
    columns: CategoryColumns


def _read_text(
    text: str, tree_index: int | None, source: str, classes: Sequence[Any] | None
) -> Tree:
    head, *blocks = text.replace("\r\n", "\n").split("\nTree=")
    header = _fields(head)
    if header.get("version") not in VERSIONS:
        raise TreeFormatError(
            f"expected a LightGBM model of format {' or '.join(VERSIONS)}, got "
            f"{quoted(header.get('version', 'no version'))}; if you trust the file, load and save "
            "it with LightGBM of today: Booster(model_file=...).save_model(...)"
        )
    if not blocks or "\nend of trees" not in blocks[-1]:
        raise TreeFormatError(
            "expected at least one tree and a line 'end of trees', got a text without; "
            "the file may be cut off"
        )
    blocks[-1], _, tail = blocks[-1].partition("\nend of trees")
    index = choose_tree(len(blocks), tree_index, "a LightGBM model")
    if blocks[index].partition("\n")[0].strip() != str(index):
        raise TreeFormatError(f"expected Tree={index}, got Tree={blocks[index][:20]!r}")
    model = _model_of(header, tail)
    table = _fields(blocks[index])
    outcome = _outcome(model.objective, len(blocks), classes, source)
    root, categories = _nodes(table, model, outcome)
    return build_tree(
        root,
        n_features=model.n_features,
        feature_names=model.names,
        categories=categories,
        classes=outcome.classes,
        metadata={"source": source},
    )


def _fields(text: str) -> dict[str, str]:
    pairs = (line.partition("=") for line in text.split("\n") if "=" in line)
    return {key: value for key, _, value in pairs}


def _whole(fields: dict[str, str], key: str, low: int, high: int) -> int:
    try:
        number = int(fields[key])
    except (KeyError, ValueError):
        number = low - 1
    if not low <= number <= high:
        raise TreeFormatError(
            f"expected {key}= with a whole number from {low} to {high:,}, "
            f"got {fields.get(key, 'none')[:40]!r}"
        )
    return number


def _model_of(header: dict[str, str], tail: str) -> _Model:
    n = _whole(header, "max_feature_idx", 0, MAX_FEATURES - 1) + 1
    names = header.get("feature_names", "").split(" ")
    infos = header.get("feature_infos", "").split(" ")
    if len(names) != n or len(infos) != n:
        raise TreeFormatError(
            f"expected {n} feature_names and feature_infos, got {len(names)} and {len(infos)}"
        )
    numbered = all(name == f"Column_{j}" for j, name in enumerate(names))
    return _Model(
        n_features=n,
        names=None if numbered else tuple(names),
        objective=header.get("objective", "").split(),
        columns=category_columns(infos, names, tail),
    )


# -- what leaves predict ----------------------------------------------------------------------


def _outcome(
    objective: list[str], n_trees: int, classes: Sequence[Any] | None, source: str
) -> Outcome:
    """How the scores of one tree become what the model predicts."""
    name, options = (objective[0], objective[1:]) if objective else ("", [])
    if n_trees > 1 or not name:  # without a name: an objective of the user's own
        return Outcome(identity)
    if name in _SEVERAL_CLASSES:
        raise TreeFormatError(f"expected a tree for each class of a {name} model, got one tree")
    if name == "binary" or (name == "cross_entropy" and classes is not None):
        if classes is not None and len(classes) != 2:
            raise UnsupportedModelError(
                f"expected a classifier fitted on two classes, "
                f"got {quoted(list(classes))} in {source}"
            )
        scale = next((o[8:] for o in options if o.startswith("sigmoid:")), "1")
        scales = numbers_in(scale, "sigmoid", float)
        if len(scales) != 1:
            raise TreeFormatError(f"expected one number in sigmoid, got {quoted(scale)}")
        link = partial(logistic, scale=scales[0])
        return Outcome(lambda raw: two_shares(link(raw)), tuple(classes or (0, 1)))
    if classes is not None:
        refuse_objective(name, "LightGBM", _CLASSIFIERS)
    if name == "cross_entropy":
        return Outcome(logistic)
    if name == "cross_entropy_lambda":
        return Outcome(lambda raw: np.log1p(np.exp(raw)))
    if name in _EXPONENTIAL:
        return Outcome(np.exp)
    if name in _IDENTITY:
        return Outcome((lambda raw: np.sign(raw) * raw * raw) if "sqrt" in options else identity)
    refuse_objective(name, "LightGBM", _KNOWN)


# -- nodes ------------------------------------------------------------------------------------


def _nodes(
    table: dict[str, str], model: _Model, outcome: Outcome
) -> tuple[Node, tuple[tuple[Any, ...] | None, ...]]:
    """Nested conditions of one tree, and the categories of all features."""
    if table.get("is_linear", "0").strip() != "0":
        raise UnsupportedModelError(
            "expected one value per leaf, got a LightGBM model with linear_tree=True, whose "
            "leaves are linear functions; fit with linear_tree=False"
        )
    n_leaves = _whole(table, "num_leaves", 1, MAX_NODES)
    n_splits = n_leaves - 1

    def column(key: str, length: int, kind: type[int] | type[float]) -> list[Any]:
        numbers = numbers_in(table.get(key, ""), key, kind)
        if len(numbers) != length:
            raise TreeFormatError(f"expected {length} numbers in {key}, got {len(numbers)}")
        return numbers

    feature = column("split_feature", n_splits, int)
    check_features(feature, model.n_features)
    threshold = column("threshold", n_splits, float)
    kind = column("decision_type", n_splits, int)
    for k in kind:
        if not k & _CATEGORICAL and k >> 2 & 3 > _MISSING_NAN:
            raise TreeFormatError(f"expected a decision_type with a missing type up to 2, got {k}")
    lefts, rights = (column(f"{side}_child", n_splits, int) for side in ("left", "right"))
    values = outcome.of(column("leaf_value", n_leaves, float))
    weights = column("leaf_count", n_leaves, float) if table.get("leaf_count") else [1.0] * n_leaves
    sets = _left_sets(table, threshold, kind)
    categories = _categories_of_tree(model, feature, sets)
    position = {j: {code: k for k, code in enumerate(codes)} for j, codes in categories.items()}
    # Leaves are numbered from -1 downwards; here they follow the splits.
    children: list[tuple[int, int] | None] = [
        (a if a >= 0 else n_splits - 1 - a, b if b >= 0 else n_splits - 1 - b)
        for a, b in zip(lefts, rights, strict=True)
    ]

    def split(i: int, left: Node, right: Node) -> Node:
        j, codes = feature[i], sets[i]
        if codes is None and j in model.columns.ordered:
            return _ordered_split(j, threshold[i], kind[i], len(categories[j]), left, right)
        if codes is None:
            return _numeric_split(j, threshold[i], kind[i], left, right)
        # Missing, negative and unlisted codes are in no set.
        return Branch(
            feature=j,
            left=left,
            right=right,
            left_categories=tuple(position[j][code] for code in codes),
            missing_left=False,
            unseen_left=False,
        )

    root = nest_nodes(
        children + [None] * n_leaves,
        lambda i: Leaf(values[i - n_splits], weights[i - n_splits]),
        split,
    )
    values_of = {j: model.columns.values.get(j) or codes for j, codes in categories.items()}
    return root, tuple(
        tuple(values_of[j]) if j in values_of else None for j in range(model.n_features)
    )


def _categories_of_tree(
    model: _Model, feature: list[int], sets: list[list[int] | None]
) -> dict[int, list[int]]:
    """Codes of each categorical feature: those LightGBM met, and those in the sets of the tree."""
    used: dict[int, set[int]] = {}
    for j, codes in zip(feature, sets, strict=True):
        if codes is not None:
            used.setdefault(j, set()).update(codes)
    found: dict[int, list[int]] = {}
    for j in {*model.columns.codes, *model.columns.values, *used}:
        if j in model.columns.values:
            n = len(model.columns.values[j])
            if max(used.get(j, ()), default=-1) >= n:
                raise TreeFormatError(
                    f"feature {j}: expected category codes below {n}, got {max(used[j])}"
                )
            codes = list(range(n))
        else:
            codes = sorted({*model.columns.codes.get(j, ()), *used.get(j, ())})
        if codes or j in used:
            found[j] = codes
    check_category_sizes([len(found[j]) for j in feature if j in found])
    return found


def _left_sets(
    table: dict[str, str], threshold: list[float], kind: list[int]
) -> list[list[int] | None]:
    """Codes that go left at each split; None where it compares numbers."""
    if not any(k & _CATEGORICAL for k in kind):
        return [None] * len(kind)
    ends = numbers_in(table.get("cat_boundaries", ""), "cat_boundaries", int)
    words = numbers_in(table.get("cat_threshold", ""), "cat_threshold", int)
    if sorted(ends) != ends or not ends or ends[0] < 0 or ends[-1] > len(words):
        raise TreeFormatError("expected cat_boundaries that rise within cat_threshold, got others")
    if any(not 0 <= word < 2**32 for word in words):
        raise TreeFormatError("expected words of 32 bits in cat_threshold, got others")
    chosen = [
        int(t) if k & _CATEGORICAL and t.is_integer() else -1
        for t, k in zip(threshold, kind, strict=True)
    ]
    for t, k, number in zip(threshold, kind, chosen, strict=True):
        if k & _CATEGORICAL and not 0 <= number < len(ends) - 1:
            raise TreeFormatError(
                f"expected the number of a category set below {len(ends) - 1}, got {t}"
            )
    # Several splits may name one set, so that all together are larger than the text.
    check_category_sizes([32 * (ends[c + 1] - ends[c]) for c in chosen if c >= 0])
    return [_bits(words[ends[c] : ends[c + 1]]) if c >= 0 else None for c in chosen]


def _bits(words: Iterable[int]) -> list[int]:
    return [32 * w + b for w, word in enumerate(words) if word for b in range(32) if word >> b & 1]


def _ordered_split(
    feature: int, threshold: float, kind: int, n_categories: int, left: Node, right: Node
) -> Branch:
    """Split of ordered categories, which LightGBM makes by their codes; 0 is one of them."""
    missing_left = _missing_goes_left(threshold, kind)
    zero_left = missing_left if kind >> 2 & 3 == _MISSING_ZERO else threshold >= 0
    return Branch(
        feature=feature,
        left=left,
        right=right,
        left_categories=tuple(
            code for code in range(n_categories) if (code <= threshold if code else zero_left)
        ),
        missing_left=missing_left,
    )


def _missing_goes_left(threshold: float, kind: int) -> bool:
    """Where missing values go; without a way of their own they are read as 0.0."""
    if kind >> 2 & 3 == _MISSING_NONE:
        return threshold >= 0
    return bool(kind & _DEFAULT_LEFT)


def _numeric_split(feature: int, threshold: float, kind: int, left: Node, right: Node) -> Node:
    """One condition, or several where zero counts as missing.

    Values of at most ``ZERO`` in size are 0.0 to LightGBM. Where zero is missing it goes, with
    the missing values, to the default side, and whatever lies beyond goes by the threshold.
    """
    if -ZERO <= threshold <= ZERO:
        threshold = ZERO if threshold >= 0 else BELOW_ZERO
    missing_left = _missing_goes_left(threshold, kind)
    if kind >> 2 & 3 == _MISSING_ZERO:
        zero = (BELOW_ZERO, ZERO)
        return split_around_missing(feature, threshold, zero, missing_left, left, right)
    return Branch(
        feature=feature, left=left, right=right, threshold=threshold, missing_left=missing_left
    )
