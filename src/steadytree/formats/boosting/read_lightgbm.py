"""Read LightGBM models: boosters, its scikit-learn estimators, and model files.

All are read from one text, the one LightGBM saves, by a parser of our own: no native parser
ever sees a stranger's file. Thresholds and leaves are written there with all their digits.

Limits that the format sets: categories that came as numbers are those numbers, and one with a
fraction, which LightGBM cuts off, counts as never met; and models in which pandas' ordered
categories are numbers are refused, as the text does not say which columns those are.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from steadytree.formats.boosting.leaf_scores import LINKS, Outcome, link_of
from steadytree.formats.stored_nodes import (
    check_category_sizes,
    check_features,
    nest_nodes,
    split_around_missing,
)
from steadytree.plugins import (
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

FILES = "LightGBM model files (.txt)"

VERSIONS = ("v3", "v4")
ZERO = float(np.float32(1e-35))
"""LightGBM predicts values up to this size as 0.0, and may count them as missing."""
BELOW_ZERO = float(np.nextafter(-ZERO, -np.inf))

_CATEGORICAL, _DEFAULT_LEFT = 1, 2
_MISSING_NONE, _MISSING_ZERO, _MISSING_NAN = 0, 1, 2
_PANDAS = "\npandas_categorical:"
_DECLARED = "\n[categorical_feature:"

OBJECTIVES = {
    **dict.fromkeys(
        (
            *("regression", "regression_l1", "huber", "fair", "quantile", "mape"),
            *("lambdarank", "rank_xendcg"),
        ),
        "identity",
    ),
    **dict.fromkeys(("poisson", "gamma", "tweedie"), "exponential"),
    "binary": "logistic",
    "cross_entropy": "logistic",
}
"""How scores become predictions."""


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
    n = _whole(header, "max_feature_idx", 0, 2**31 - 2) + 1
    names, infos = (header.get(f"feature_{key}", "").split(" ") for key in ("names", "infos"))
    if len(names) != n or len(infos) != n:
        raise TreeFormatError(
            f"expected {n} feature_names and feature_infos, got {len(names)} and {len(infos)}"
        )
    outcome = _outcome(header.get("objective", "").split(), len(blocks), classes, source)
    codes, values = _categories_of(infos, names, tail)
    root, categories = _nodes(_fields(blocks[index]), n, codes, values, outcome)
    numbered = all(name == f"Column_{j}" for j, name in enumerate(names))
    return build_tree(
        root,
        n_features=n,
        feature_names=None if numbered else tuple(names),
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


def numbers_in(text: str, what: str, kind: type[int] | type[float]) -> list[Any]:
    """Return the numbers of a line."""
    try:
        return [kind(word) for word in text.split()]
    except (ValueError, OverflowError):
        raise TreeFormatError(f"expected numbers in {what}, got {text[:60]!r}") from None


# -- categories -------------------------------------------------------------------------------


def _categories_of(
    infos: Sequence[str], names: Sequence[str], tail: str
) -> tuple[dict[int, list[int]], dict[int, list[Any]]]:
    """Return the codes that LightGBM met, by feature, and what pandas called 0, 1, 2 and so on.

    They are in ``feature_infos`` and in what follows the trees: a list for each categorical
    feature, in order.
    """
    codes: dict[int, list[int]] = {}
    for j, info in enumerate(infos):
        if info != "none" and not info.startswith("["):
            found = numbers_in(info.replace(":", " "), f"feature_infos of {names[j]}", int)
            codes[j] = [code for code in found if code >= 0]
    lists = _pandas_lists(tail)
    # What LightGBM was told, else what it found: a constant column shows only in the former.
    declared = _declared(tail, names)
    columns = sorted(codes if declared is None else declared)
    fits = len(lists) == len(columns) and all(
        max(codes.get(j, ()), default=0) < len(values)
        for j, values in zip(columns, lists, strict=True)
    )
    if lists and not fits:
        raise UnsupportedModelError(
            f"expected to see which {len(lists)} features have the categories that pandas had, "
            f"got {len(columns)} categorical features: LightGBM does not store it where "
            "categories are ordered or categorical columns were named by hand; fit on unordered "
            "pandas categories for all categorical features, or on codes for all"
        )
    return codes, dict(zip(columns, lists, strict=True)) if lists else {}


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


# -- what leaves predict ----------------------------------------------------------------------


def _outcome(
    objective: list[str], n_trees: int, classes: Sequence[Any] | None, source: str
) -> Outcome:
    """How the scores of one tree become what the model predicts."""
    if n_trees > 1 or not objective:  # without a name: an objective of the user's own
        return Outcome()
    name, *options = objective
    logistic = {k: v for k, v in OBJECTIVES.items() if v == "logistic"}
    # The response may have been transformed as well.
    known = " ".join(objective) if "sqrt" in options else name
    link = LINKS[link_of(known, OBJECTIVES if classes is None else logistic, "LightGBM")]
    if name != "binary" and classes is None:
        return Outcome(link)
    if classes is not None and len(classes) != 2:
        raise UnsupportedModelError(
            f"expected a classifier fitted on two classes, got {quoted(list(classes))} in {source}"
        )
    scale = sigmoid_of(objective)
    return Outcome(lambda raw: link(scale * raw), tuple(classes or (0, 1)))


def sigmoid_of(objective: list[str]) -> float:
    """Return what scores are multiplied by before they become shares."""
    scale = next((o[8:] for o in objective if o.startswith("sigmoid:")), "1")
    scales = numbers_in(scale, "sigmoid", float)
    if len(scales) != 1:
        raise TreeFormatError(f"expected one number in sigmoid, got {quoted(scale)}")
    return float(scales[0])


# -- nodes ------------------------------------------------------------------------------------


def _nodes(
    table: dict[str, str],
    n_features: int,
    known: dict[int, list[int]],
    named: dict[int, list[Any]],
    outcome: Outcome,
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
    check_features(feature, n_features)
    threshold = column("threshold", n_splits, float)
    kind = column("decision_type", n_splits, int)
    for k in kind:
        if not k & _CATEGORICAL and k >> 2 & 3 > _MISSING_NAN:
            raise TreeFormatError(f"expected a decision_type with a missing type up to 2, got {k}")
    lefts, rights = (column(f"{side}_child", n_splits, int) for side in ("left", "right"))
    values = outcome.of(column("leaf_value", n_leaves, float))
    weights = column("leaf_count", n_leaves, float) if table.get("leaf_count") else [1.0] * n_leaves
    sets = _left_sets(table, threshold, kind)
    categories = _categories_of_tree(known, named, feature, sets)
    position = {j: {code: k for k, code in enumerate(codes)} for j, codes in categories.items()}
    # Leaves are numbered from -1 downwards; here they follow the splits.
    children: list[tuple[int, int] | None] = [
        (a if a >= 0 else n_splits - 1 - a, b if b >= 0 else n_splits - 1 - b)
        for a, b in zip(lefts, rights, strict=True)
    ]

    def split(i: int, left: Node, right: Node) -> Node:
        j, codes = feature[i], sets[i]
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
    values_of = {j: tuple(named.get(j) or codes) for j, codes in categories.items()}
    return root, tuple(values_of.get(j) for j in range(n_features))


def _categories_of_tree(
    known: dict[int, list[int]],
    named: dict[int, list[Any]],
    feature: list[int],
    sets: list[list[int] | None],
) -> dict[int, list[int]]:
    """Codes of each categorical feature: those LightGBM met, and those in the sets of the tree."""
    used: dict[int, set[int]] = {}
    for j, codes in zip(feature, sets, strict=True):
        if codes is not None:
            used.setdefault(j, set()).update(codes)
    found: dict[int, list[int]] = {}
    for j in {*known, *named, *used}:
        if j in named:
            n = len(named[j])
            if max(used.get(j, ()), default=-1) >= n:
                raise TreeFormatError(
                    f"feature {j}: expected category codes below {n}, got {max(used[j])}"
                )
            codes = list(range(n))
        else:
            codes = sorted({*known.get(j, ()), *used.get(j, ())})
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
