"""The tree inside an ONNX model: its nodes as forks, its weights as what the model predicts.

The operators ``TreeEnsembleClassifier`` and ``TreeEnsembleRegressor`` (ai.onnx.ml 1 to 4) and
``TreeEnsemble`` (from 5) store the same things in different tables. What the scores of a
classifier become, label and shares, is read as onnxruntime computes it; where it and the
specification disagree the model is refused. One exception: whether a value is a member of a set is
read as specified, while onnxruntime 1.31 cuts a value to a whole number first where a set has
members below 0 or above 31. Such columns hold whole numbers, on which both agree.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadytree.formats.conditions import Condition
from steadytree.formats.forks import Fork
from steadytree.plugins import (
    MAX_DEPTH,
    MAX_NODES,
    Leaf,
    TreeFormatError,
    UnsupportedModelError,
    parse_json,
    quoted,
)

# -- What an ONNX file stores, as plain values: attributes, tensors, tables of categories --
# Nothing is believed: tensors in other files are not opened, text must be text, and whatever does
# not fit is a :class:`TreeFormatError`.

METADATA = "steadytree"
"""The entry of a model's metadata that holds what ONNX has no place for, as JSON."""

# Types of values, as ONNX numbers them.
FLOAT, INT32, INT64, STRING, BOOL, DOUBLE = 1, 6, 7, 8, 9, 11


def refuse(what: str, where: str) -> UnsupportedModelError:
    """Return the error for an operator that changes what the tree sees or says."""
    return UnsupportedModelError(
        "expected a tree on the columns as they are, or on coded categories, got the ONNX operator "
        f"{what} {where} it; export the tree alone"
    )


def stored_metadata(model: Any) -> dict[str, Any]:
    """Return what our own writer tells beside the graph."""
    for entry in model.metadata_props:
        if entry.key == METADATA and model.producer_name == METADATA:
            try:
                stored = parse_json(entry.value)
            except TreeFormatError:
                stored = None
            if not isinstance(stored, dict) or not isinstance(
                stored.get("categories"), list | None
            ):
                raise TreeFormatError("expected JSON in the model's metadata, got something else")
            lists = [stored.get("classes"), *(stored.get("categories") or ())]
            if any(not isinstance(one, list | None) for one in lists) or any(
                not isinstance(c, str | int | float) for one in lists for c in one or ()
            ):
                raise TreeFormatError(
                    "expected lists of text and numbers in the metadata, got others"
                )
            return stored
    return {}


def attributes(node: Any) -> dict[str, Any]:
    """Return the attributes of an operator as plain values."""
    return {
        a.name: _HELD[a.type][1](getattr(a, _HELD[a.type][0]))
        for a in node.attribute
        if a.type in _HELD
    }


def whole(given: dict[str, Any], name: str, default: int) -> int:
    """Return an attribute that is a whole number."""
    value = given.get(name, default)
    if not isinstance(value, int):
        raise TreeFormatError(f"expected a whole number as {name}, got {str(value)[:40]}")
    return value


def entries(given: dict[str, Any], name: str) -> list[Any]:
    """Return an attribute that is a list; none where there is none."""
    value = given.get(name, [])
    if not isinstance(value, list):
        raise TreeFormatError(f"expected a list as {name}, got {str(value)[:40]}")
    return value


def _text(content: bytes) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise TreeFormatError(f"expected text in UTF-8, got {content[:20]!r}") from None


def array(tensor: Any) -> Any:
    """Return a tensor that is stored in the file itself."""
    from onnx import numpy_helper

    if tensor.data_location == 1 or tensor.external_data:
        raise TreeFormatError("expected tensors within the model file, got one in another file")
    try:
        return numpy_helper.to_array(tensor)
    except Exception as error:  # whatever numpy raises for bytes and shapes that do not fit
        raise TreeFormatError(f"expected a tensor in {quoted(tensor.name)}, got {error}") from None


_HELD: dict[int, tuple[str, Callable[[Any], Any]]] = {
    **{1: ("f", float), 2: ("i", int), 3: ("s", _text), 4: ("t", array)},
    **{6: ("floats", list), 7: ("ints", list), 8: ("strings", lambda all_: list(map(_text, all_)))},
}
"""Where an attribute keeps its value, by its type, and how it is read."""


def plain(value: Any) -> Any:
    """Return an entry of a tensor as a Python value."""
    if isinstance(value, bytes):
        return _text(value)
    return value.item() if isinstance(value, np.generic) else value


def encoder_codes(given: dict[str, Any]) -> tuple[list[Any], list[Any], float, int]:
    """Return keys and values of a LabelEncoder, the value for other keys, and the values' type."""
    if "classes_strings" in given:
        keys = entries(given, "classes_strings")
        return keys, list(range(len(keys))), float(whole(given, "default_int64", -1)), INT64
    if "keys_tensor" in given or "values_tensor" in given:
        arrays = [
            np.atleast_1d(given.get(f"{n}_tensor", ())) for n in ("keys", "values", "default")
        ]
        keys, values, default = ([plain(v) for v in array.ravel()] for array in arrays)
        kinds = {"float32": FLOAT, "float64": DOUBLE, "int64": INT64}
        to = kinds.get(str(arrays[1].dtype))
        if to is None:
            raise refuse("LabelEncoder to other than numbers", "before")
        fallback = default[0] if default else -1 if to == INT64 else 0.0
        if not isinstance(fallback, int | float):
            raise TreeFormatError(f"expected a number as default_tensor, got {quoted(fallback)}")
        return keys, values, float(fallback), to
    names = [f"keys_{kind}s" for kind in ("string", "int64", "float")]
    keys = next((entries(given, name) for name in names if name in given), [])
    if "values_floats" in given:
        fallback = given.get("default_float", 0.0)
        if not isinstance(fallback, float):
            raise TreeFormatError(f"expected a number as default_float, got {str(fallback)[:40]}")
        return keys, _numbers(given, "values_floats"), fallback, FLOAT
    if "values_int64s" in given:
        default_code = float(whole(given, "default_int64", -1))
        return keys, _numbers(given, "values_int64s"), default_code, INT64
    raise refuse("LabelEncoder to other than numbers", "before")


def _numbers(given: dict[str, Any], name: str) -> list[Any]:
    values = entries(given, name)
    if not all(isinstance(v, int | float) for v in values):
        raise TreeFormatError(f"expected numbers as {name}, got {str(values)[:40]}")
    return values


# -- The tree inside an ONNX model: its nodes as forks, its weights as what the model predicts --

MODES = ("LEQ", "LT", "GTE", "GT", "EQ", "NEQ", "MEMBER")
"""The comparisons, in the order in which ``TreeEnsemble`` numbers them."""
TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
SHARES_SUM = 1e-6


@dataclass(frozen=True)
class Split:
    """A node: ``column MODE value`` leads to ``yes``, else to ``no``; a leaf is ``-1 - leaf``."""

    column: int
    mode: str
    value: float
    members: tuple[float, ...]
    missing_yes: bool
    yes: int
    no: int
    weight: float


@dataclass(frozen=True)
class Ensemble:
    """What an operator stores: nodes and leaves by number, and where each tree starts.

    ``scores`` are the weights of each leaf by target; ``classes`` is None for a regression.
    """

    splits: dict[int, Split]
    scores: dict[int, dict[int, float]]
    leaf_weight: dict[int, float]
    roots: list[int]
    n_targets: int
    single: bool
    classes: tuple[Any, ...] | None = None
    base: tuple[float, ...] = ()
    transform: str = "NONE"


Attributes = dict[str, Any]


def read_ensemble(operator: str, given: Attributes) -> Ensemble:
    """Return the trees of an operator, its numbers checked."""
    transform = given.get("post_transform", "NONE")
    if isinstance(transform, int):
        transform = TRANSFORMS[transform] if 0 <= transform < len(TRANSFORMS) else str(transform)
    if transform not in TRANSFORMS:
        raise TreeFormatError(f"expected post_transform of {TRANSFORMS}, got {quoted(transform)}")
    if operator == "TreeEnsemble":
        return _of_one_table(given, transform)
    return _of_two_tables(operator, given, transform)


def _table_numbers(given: Attributes, name: str, kind: type, n: int | None = None) -> NDArray[Any]:
    """Return a list of numbers, given as such or as a tensor."""
    values = given.get(f"{name}_as_tensor", given.get(name, ()))
    try:
        array: NDArray[Any] = np.asarray(values)
        if kind is np.int64 and array.size and array.dtype.kind not in "iub":
            raise TypeError
        array = array.astype(kind)
    except (TypeError, ValueError, OverflowError):
        raise TreeFormatError(f"expected numbers in {name}, got {str(values)[:60]}") from None
    if array.ndim != 1 or (n is not None and array.size != n):
        raise TreeFormatError(f"expected {n} numbers in {name}, got shape {array.shape}")
    if array.size > MAX_NODES:
        raise TreeFormatError(f"expected at most {MAX_NODES:,} entries in {name}, got more")
    return array


def _finite(values: NDArray[Any], name: str) -> list[float]:
    if not np.isfinite(values).all():
        raise TreeFormatError(f"expected finite numbers in {name}, got others")
    return [float(v) for v in values]


def _optional(given: Attributes, name: str, n: int, default: float) -> NDArray[Any]:
    there = any(np.size(given.get(key, ())) for key in (name, f"{name}_as_tensor"))
    return _table_numbers(given, name, float, n) if there else np.full(n, default)


def _of_two_tables(operator: str, given: Attributes, transform: str) -> Ensemble:
    """Read the older operators: nodes and weights by tree and node number."""
    tree_of = _table_numbers(given, "nodes_treeids", np.int64)
    n = tree_of.size
    if n == 0:
        raise TreeFormatError(f"expected nodes in {operator}, got none")
    number, column, yes, no = (
        _table_numbers(given, f"nodes_{name}", np.int64, n).tolist()
        for name in ("nodeids", "featureids", "truenodeids", "falsenodeids")
    )
    tracks = _optional(given, "nodes_missing_value_tracks_true", n, 0)
    weight = _optional(given, "nodes_hitrates", n, 1.0)
    modes = entries(given, "nodes_modes")
    if len(modes) != n:
        raise TreeFormatError(f"expected {n} nodes_modes, got {len(modes)}")
    values = _optional(given, "nodes_values", n, 0.0)
    at: dict[tuple[int, int], int] = {}
    trees: list[int] = tree_of.tolist()
    for i, key in enumerate(zip(trees, number, strict=True)):
        if at.setdefault(key, i) != i:
            raise TreeFormatError(
                f"expected each node once, got node {key[1]} of tree {key[0]} twice"
            )
    splits: dict[int, Split] = {}
    leaf_weight: dict[int, float] = {}
    child: set[int] = set()
    for i in range(n):
        if modes[i] == "LEAF":
            leaf_weight[i] = float(weight[i])
            continue
        mode = str(modes[i]).removeprefix("BRANCH_")
        if mode not in MODES[:-1]:
            raise TreeFormatError(
                f"node {number[i]}: expected a mode of {MODES}, got {quoted(modes[i])}"
            )
        sides = [at.get((trees[i], side)) for side in (yes[i], no[i])]
        if None in sides or sides[0] == sides[1]:
            raise TreeFormatError(
                f"node {number[i]}: expected two children among the nodes of tree {trees[i]}, "
                f"got {yes[i]} and {no[i]}"
            )
        child.update(sides)  # type: ignore[arg-type]
        ends = [-1 - s if modes[s] == "LEAF" else s for s in sides if s is not None]
        row = (column[i], mode, float(values[i]), (), bool(tracks[i]))
        splits[i] = Split(*row, ends[0], ends[1], float(weight[i]))
    roots = _roots(trees, child)
    prefix = "class" if operator == "TreeEnsembleClassifier" else "target"
    target = _table_numbers(given, f"{prefix}_ids", np.int64).tolist()
    weights = _table_numbers(given, f"{prefix}_weights", float, len(target))
    owner = zip(
        _table_numbers(given, f"{prefix}_treeids", np.int64, len(target)).tolist(),
        _table_numbers(given, f"{prefix}_nodeids", np.int64, len(target)).tolist(),
        strict=True,
    )
    classes = None
    n_targets = whole(given, "n_targets", 1)
    if prefix == "class":
        classes = tuple(
            entries(given, "classlabels_strings") or entries(given, "classlabels_int64s")
        )
        n_targets = len(classes)
    scores: dict[int, dict[int, float]] = {}
    for key, to, value in zip(owner, target, _finite(weights, f"{prefix}_weights"), strict=True):
        leaf = at.get(key)
        if leaf is None or leaf not in leaf_weight or not 0 <= to < n_targets:
            raise TreeFormatError(
                f"expected weights of leaves for targets below {n_targets}, got node {key[1]} of "
                f"tree {key[0]} and target {to}"
            )
        if to in scores.setdefault(leaf, {}):
            raise TreeFormatError(f"expected one weight per leaf and target, got two for {key}")
        scores[leaf][to] = value
    return Ensemble(
        splits=splits,
        scores=scores,
        leaf_weight=leaf_weight,
        roots=[-1 - r if modes[r] == "LEAF" else r for r in roots],
        n_targets=n_targets,
        single=f"{prefix}_weights_as_tensor" not in given,
        classes=classes,
        base=tuple(_finite(_table_numbers(given, "base_values", float), "base_values")),
        transform=transform,
    )


def _roots(trees: list[int], child: set[int]) -> list[int]:
    """Return the first node of each tree, which must be the one that is nobody's child."""
    first: dict[int, int] = {}
    for i, tree in enumerate(trees):
        if i not in child and tree in first:
            raise TreeFormatError(f"expected one root of tree {tree}, got two")
        if tree not in first:
            if i in child:
                raise TreeFormatError(
                    f"expected the root of tree {tree} first, got a child; a cycle?"
                )
            first[tree] = i
    return list(first.values())


def _of_one_table(given: Attributes, transform: str) -> Ensemble:
    """Read the newer operator: nodes and leaves by position."""
    column = _table_numbers(given, "nodes_featureids", np.int64)
    n = column.size
    modes = _table_numbers(given, "nodes_modes", np.int64, n).tolist()
    values = _table_numbers(given, "nodes_splits", float, n)
    sides = []
    target = _table_numbers(given, "leaf_targetids", np.int64).tolist()
    for name in ("true", "false"):
        to = _table_numbers(given, f"nodes_{name}nodeids", np.int64, n)
        is_leaf = _table_numbers(given, f"nodes_{name}leafs", np.int64, n) != 0
        bad = (to < 0) | (to >= np.where(is_leaf, len(target), n))
        if bad.any():
            raise TreeFormatError(f"node {int(bad.argmax())}: expected a child that is there")
        sides.append(np.where(is_leaf, -1 - to, to).tolist())
    tracks = _optional(given, "nodes_missing_value_tracks_true", n, 0)
    weight = _optional(given, "nodes_hitrates", n, 1.0)
    members = _members(_table_numbers(given, "membership_values", float), modes.count(6))
    n_targets = whole(given, "n_targets", 1)
    splits = {}
    for i in range(n):
        if not 0 <= modes[i] < len(MODES):
            raise TreeFormatError(f"node {i}: expected a mode below {len(MODES)}, got {modes[i]}")
        mode = MODES[modes[i]]
        inside = next(members) if mode == "MEMBER" else ()
        row = (int(column[i]), mode, float(values[i]), inside, bool(tracks[i]))
        splits[i] = Split(*row, sides[0][i], sides[1][i], float(weight[i]))
    raw = _table_numbers(given, "leaf_weights", float, len(target))
    if any(not 0 <= t < n_targets for t in target):
        raise TreeFormatError(f"expected targets below {n_targets}, got {target[:5]}")
    roots = _table_numbers(given, "tree_roots", np.int64).tolist()
    if any(not 0 <= r < n for r in roots):
        raise TreeFormatError(f"expected roots below {n}, got {roots[:5]}")
    return Ensemble(
        splits=splits,
        scores={
            i: {t: w} for i, (t, w) in enumerate(zip(target, _finite(raw, "weights"), strict=True))
        },
        leaf_weight=dict.fromkeys(range(len(target)), 1.0),
        roots=roots,
        n_targets=n_targets,
        single=np.asarray(given.get("leaf_weights")).dtype == np.float32,
        transform=transform,
    )


def _members(values: NDArray[Any], wanted: int) -> Any:
    """Go through the sets of values, which NaN separates."""
    ends = np.flatnonzero(np.isnan(values))
    if ends.size != wanted or (wanted and ends[-1] != values.size - 1):
        raise TreeFormatError(f"expected {wanted} sets of membership_values, got {ends.size}")
    there = values[~np.isnan(values)]
    if (np.trunc(there) != there).any():
        raise UnsupportedModelError(
            "expected whole numbers in membership_values, got others, with which runtimes decide "
            "in different ways"
        )
    sets = np.split(values, ends + 1)[:-1] if wanted else []
    return iter([tuple(float(v) for v in s[:-1]) for s in sets])


def fork_tree(
    ensemble: Ensemble,
    root: int,
    ask: Callable[[Split], Condition],
    leaf: Callable[[int], Leaf],
    weighted: bool,
) -> Fork | Leaf:
    """Return a tree of an ensemble, its nodes each reached once.

    ``weighted``: how often nodes are visited means something; exporters fill it with ones.
    """
    built: dict[int, Fork] = {}
    waiting = [(root, 0)]
    while waiting:
        here, depth = waiting.pop()
        if here < 0:
            continue
        if here in built:
            raise TreeFormatError(
                f"node {here}: expected one way to reach it, got a cycle or two parents"
            )
        if depth > MAX_DEPTH:
            raise TreeFormatError(f"expected at most {MAX_DEPTH} levels, got a deeper tree")
        split = ensemble.splits[here]
        if np.isnan(split.value) and split.mode != "MEMBER":
            raise TreeFormatError(f"node {here}: expected a threshold, got NaN")
        empty = Leaf(())
        built[here] = Fork([(ask(split), empty)], empty, weight=split.weight if weighted else None)
        waiting += ((split.yes, depth + 1), (split.no, depth + 1))
    sides = {side for at in built for side in (ensemble.splits[at].yes, ensemble.splits[at].no)}
    ends = {end: leaf(-1 - end) for end in {root, *sides} if end < 0}
    for here, fork in built.items():
        split = ensemble.splits[here]
        to = [ends[s] if s < 0 else built[s] for s in (split.yes, split.no)]
        fork.choices, fork.otherwise = [(fork.choices[0][0], to[0])], to[1]
    return ends[root] if root < 0 else built[root]


# -- what leaves predict -----------------------------------------------------------


def leaves_of(ensemble: Ensemble, index: int, leaves: Sequence[int]) -> dict[int, Any]:
    """Return for each leaf of a tree its values and label, and whether they are class shares.

    Of a model of one tree what it predicts; of one tree of several its shares, if the model
    averages shares, else its score.
    """
    for leaf in leaves:
        if not ensemble.scores.get(leaf):
            raise TreeFormatError("expected a weight for each leaf, got a leaf without")
    kind = np.float32 if ensemble.single else np.float64
    scores = {leaf: {t: kind(w) for t, w in ensemble.scores[leaf].items()} for leaf in leaves}
    if ensemble.classes is None:
        return _responses(ensemble, scores, kind)
    several = len(ensemble.roots) > 1
    used = {t for by_target in ensemble.scores.values() for t in by_target}
    k = len(ensemble.classes)
    if k == 2 and used == {0}:
        found = _two_classes(ensemble, scores, kind, several)
    elif k > 2:
        found = _many_classes(ensemble, scores, kind, several)
    else:
        raise UnsupportedModelError(
            "expected one score for two classes, or three or more classes, in a "
            f"TreeEnsembleClassifier, got {k} classes with weights for {sorted(used)}, "
            "which runtimes decide in different ways"
        )
    if found is not None:
        return dict(found)
    own = {t for by_target in scores.values() for t in by_target}
    if not several or len(own) != 1:
        raise UnsupportedModelError(
            "expected scores that are class shares, or become so by post_transform, got others "
            f"with post_transform={quoted(ensemble.transform)}"
        )
    target = own.pop()
    return {leaf: ([float(s[target])], None) for leaf, s in scores.items()}


def _responses(ensemble: Ensemble, scores: Any, kind: Any) -> dict[int, Any]:
    if ensemble.n_targets != 1 or ensemble.transform != "NONE" or len(ensemble.base) > 1:
        raise UnsupportedModelError(
            "expected a tree ensemble with one target and post_transform='NONE', got "
            f"{ensemble.n_targets} with {quoted(ensemble.transform)} and "
            f"{len(ensemble.base)} base_values"
        )
    base = kind(ensemble.base[0] if ensemble.base and len(ensemble.roots) == 1 else 0)
    return {leaf: ([float(s[0] + base)], None) for leaf, s in scores.items()}


def _two_classes(ensemble: Ensemble, scores: Any, kind: Any, several: bool) -> Any:
    """Decide by one score: above a half if no weight is negative, else above 0."""
    positive = all(w >= 0 for s in ensemble.scores.values() for w in s.values())
    n, transform = len(ensemble.roots), ensemble.transform
    if several and (transform != "NONE" or ensemble.base or not positive):
        return None
    if len(ensemble.base) > 1 or transform not in ("NONE", "LOGISTIC"):
        return None
    base = kind(ensemble.base[0] if ensemble.base else 0)
    found = {}
    for leaf, by_target in scores.items():
        score = by_target[0] * kind(n) + base
        share = float(1 / (1 + np.exp(-score))) if transform == "LOGISTIC" else float(score)
        if not (positive or transform == "LOGISTIC") or not 0 <= share <= 1 + SHARES_SUM:
            return None
        share = min(share, 1.0)
        label = int(score > (0.5 if positive else 0))
        found[leaf] = ([1 - share, share], label)
    return found


def _many_classes(ensemble: Ensemble, scores: Any, kind: Any, several: bool) -> Any:
    """Decide by the largest score of those that a leaf has."""
    k, transform = ensemble.n_targets, ensemble.transform
    if several and (transform != "NONE" or ensemble.base):
        return None
    if len(ensemble.base) not in (0, k) or transform in ("LOGISTIC", "PROBIT"):
        return None
    found = {}
    for leaf, by_target in scores.items():
        total = np.array(ensemble.base or [0] * k, dtype=kind)
        has = np.full(k, bool(ensemble.base))
        for t, w in by_target.items():
            total[t] += w * kind(len(ensemble.roots))
            has[t] = True
        label = int(np.where(has, total, -np.inf).argmax())
        shares = total.astype(np.float64)
        if transform != "NONE":
            with np.errstate(under="ignore"):
                e = np.exp(shares - shares.max())
            if transform == "SOFTMAX_ZERO":
                e = np.where(np.abs(shares) > 1e-7, e, 0)
            shares = e / e.sum() if e.sum() > 0 else e
        if (shares < 0).any() or abs(shares.sum() - 1) > SHARES_SUM:
            return None
        found[leaf] = (shares.tolist(), label)
    return found
