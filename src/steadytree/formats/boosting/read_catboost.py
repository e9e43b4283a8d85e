"""Read CatBoost models: its estimators, and the model files it saves as JSON.

Both are read from the JSON. Values are rounded to single precision and compared with ``>``. One
tree of CatBoost asks the same question of all nodes on a level; it is written out, without the
conditions that those above them have settled.

Two limits that the format sets. A category is stored as a hash of its text, and the text only in
JSON saved with ``pool=``; and a number or a boolean has the hash of its text, so that a category
"1" may be a number or text in the user's table: it is refused. Columns coded by target statistics
are refused too.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadytree.formats.boosting.leaf_scores import LINKS, Outcome, link_of
from steadytree.formats.stored_nodes import nest_nodes, node_table
from steadytree.plugins import (
    LARGEST_SHARE,
    MAX_UNLISTED_FEATURES,
    Branch,
    Decision,
    InputError,
    JsonObject,
    Leaf,
    Node,
    Tree,
    TreeFormatError,
    UnsupportedModelError,
    build_tree,
    choose_tree,
    is_a,
    not_fitted,
    parse_json,
    quoted,
    read_bytes,
    read_scalars,
)

# -- The trees in CatBoost's JSON, and what their splits ask of the features --
# A tree is stored level by level, one question for all nodes of a level (``oblivious_trees``), or
# node by node (``trees``, of the grow policies Depthwise and Lossguide).

MAX_LEVELS = 16
"""Of a tree that is stored by levels; CatBoost grows no deeper ones."""

FLOAT, ONE_HOT = "FloatFeature", "OneHotFeature"
_MISSING_LEFT = {"AsIs": True, "AsFalse": True, "AsTrue": False}


@dataclass(frozen=True)
class Split:
    """A question: whether a number is above a border, or a category the one with this hash.

    ``index`` counts numeric or categorical features.
    """

    index: int
    border: float | None = None
    hash: int = 0


@dataclass(frozen=True, eq=False)
class Table:
    """A tree as a table of nodes, the root first.

    ``children`` holds the two sides of each split, "no" before "yes", or None for a leaf;
    ``splits`` what a split asks; ``values`` and ``weights`` mean something for leaves only.
    """

    children: Sequence[Sequence[int] | None]
    splits: list[Split | None]
    values: NDArray[np.float64]
    weights: NDArray[np.float64]


def _read_split(split: JsonObject) -> Split:
    kind = split.get("split_type", str)
    if kind == FLOAT:
        with np.errstate(over="ignore"):
            border = float(np.float32(split.number("border")))
        return Split(split.whole("float_feature_index", MAX_UNLISTED_FEATURES), border)
    if kind == ONE_HOT:
        index = split.whole("cat_feature_index", MAX_UNLISTED_FEATURES)
        # Written as a signed number here, unsigned beside the text.
        return Split(index, hash=split.get("value", int) & 0xFFFFFFFF)
    if kind == "OnlineCtr":
        raise UnsupportedModelError(
            "expected splits on values and categories, got one on a target statistic of a "
            "categorical feature (split type OnlineCtr), a number that no column holds; fit with "
            "one_hot_max_size= at least the number of categories"
        )
    raise UnsupportedModelError(
        f"expected splits of the types {FLOAT} and {ONE_HOT}, got {quoted(kind)}; "
        "leave out text and embedding features"
    )


# -- trees stored by levels -----------------------------------------------------------------------


_Path = tuple[tuple[Split, bool], ...]


def read_oblivious(tree: JsonObject, n_dimensions: int) -> Table:
    """Write a tree out that asks one question on each level, but for what is settled above."""
    asked = tree.parts("splits") if tree.get("splits", list, optional=True) else []
    if len(asked) > MAX_LEVELS:
        raise TreeFormatError(
            f"{tree.where}splits: expected at most {MAX_LEVELS} levels, got {len(asked)}"
        )
    splits = [_read_split(one) for one in asked]
    n_leaves = 2 ** len(splits)
    values = _floats(tree, "leaf_values", n_leaves * n_dimensions)
    weights = [1.0] * n_leaves
    if "leaf_weights" in tree.content:
        weights = _floats(tree, "leaf_weights", n_leaves)

    def place(level: int, number: int, path: _Path) -> tuple[int, int, _Path]:
        """Go past what is settled above; bit i of a leaf's number is its answer on level i."""
        while level < len(splits) and (answer := _implied(splits[level], path)) is not None:
            number |= answer << level
            level += 1
        return level, number, path

    def sides_of(here: tuple[int, int, _Path]) -> tuple[Any, Any] | None:
        level, number, path = here
        if level == len(splits):
            return None
        no, yes = ((*path, (splits[level], answer)) for answer in (False, True))
        return place(level + 1, number, no), place(level + 1, number | 1 << level, yes)

    nodes, children = node_table(place(0, 0, ()), sides_of)
    asks = [splits[level] if level < len(splits) else None for level, _, _ in nodes]
    leaf = [number for _, number, _ in nodes]
    return Table(
        children,
        asks,
        np.array(values).reshape(n_leaves, n_dimensions)[leaf],
        np.array(weights)[leaf],
    )


def _floats(part: JsonObject, name: str, n: int, values: Any = None) -> list[float]:
    """Return so many numbers."""
    found = part.floats(name, values)
    if len(found) != n:
        raise TreeFormatError(f"{part.where}{name}: expected {n} numbers, got {len(found)}")
    return found


def _implied(split: Split, path: Iterable[tuple[Split, bool]]) -> bool | None:
    """Answer a question from those above it, if they leave one answer only.

    Missing values of a feature answer all its questions alike, so that they settle nothing else.
    """
    for above, answer in path:
        if above.index != split.index or (above.border is None) != (split.border is None):
            continue
        if above.border is None or split.border is None:
            if above.hash == split.hash:
                return answer
            if answer:
                return False
        elif answer and split.border <= above.border:
            return True
        elif not answer and split.border >= above.border:
            return False
    return None


# -- trees stored by nodes ------------------------------------------------------------------------


def read_nested(tree: JsonObject, n_dimensions: int) -> Table:
    """Lay a tree flat that is stored as nested objects."""
    nodes, children = node_table(
        tree,
        lambda node: (node.part("left"), node.part("right")) if "split" in node.content else None,
    )
    splits = [
        _read_split(node.part("split")) if "split" in node.content else None for node in nodes
    ]
    values = np.zeros((len(nodes), n_dimensions))
    weights = np.ones(len(nodes))
    for i, node in enumerate(nodes):
        if splits[i] is None:
            found = node.content.get("value")
            many = found if isinstance(found, list) else [found]
            values[i] = _floats(node, "value", n_dimensions, many)
            weights[i] = node.number("weight") if "weight" in node.content else 1.0
    return Table(children, splits, values, weights)


# -- features -------------------------------------------------------------------------------------


class Features:
    """The columns a model was trained on, as far as one tree's splits need them.

    ``columns``: for each feature of the tree its kind and its number among those of the kind.
    Columns of categories that the tree never asks for are left out where columns have names:
    which values they take is not stored.
    """

    def __init__(self, info: JsonObject, splits: Sequence[Split | None]) -> None:
        asked: dict[tuple[str, int], list[int]] = {}
        for split in splits:
            if split is not None:
                kind = ONE_HOT if split.border is None else FLOAT
                asked.setdefault((kind, split.index), []).append(split.hash)
        found = _columns(info)
        labels = [label for _, label in found]
        named = all(labels) and len(set(labels)) == len(labels)
        named = named and labels != [str(j) for j in range(len(labels))]
        kept = [(key, label) for key, label in found if key[0] == FLOAT or key in asked]
        if len(kept) < len(found) and not named:
            raise UnsupportedModelError(
                "expected named columns where the tree does not ask for some of the categorical "
                "ones, got columns without names; fit on a frame"
            )
        self.columns = {key: j for j, (key, _) in enumerate(kept)}
        self.names = tuple(label for _, label in kept) if named else None
        lacking = [key for key in asked if key not in self.columns]
        if lacking:
            raise TreeFormatError(
                f"features_info: expected feature {lacking[0][1]} of the type {lacking[0][0]}, "
                "on which the tree splits, got none"
            )
        texts = _texts(info)
        self._codes: dict[tuple[int, int], tuple[int, ...]] = {}
        self.categories = tuple(
            self._category_list(key[1], asked[key], texts, label) if key[0] == ONE_HOT else None
            for key, label in kept
        )
        self._missing_left = {
            one.whole("feature_index", MAX_UNLISTED_FEATURES): _treatment(one)
            for one in _parts(info, "float_features")
        }

    def _category_list(
        self, index: int, hashes: Sequence[int], texts: dict[int, list[str]], label: str
    ) -> tuple[str, ...]:
        """Return the categories that a tree asks for, and note which has which hash."""
        listed: list[str] = []
        for one in dict.fromkeys(hashes):
            if one not in texts:
                raise UnsupportedModelError(
                    "expected the text of the categories of feature "
                    f"{quoted(label or index)}, got their "
                    "hashes alone, which is all that a CatBoost model keeps; save it with the "
                    'training data, model.save_model("model.json", format="json", pool=pool), and '
                    "read the file"
                )
            for text in texts[one]:
                if _may_be_a_number(text):
                    raise UnsupportedModelError(
                        "expected categories that are plainly text in feature "
                        f"{quoted(label or index)}, got {quoted(text)}, which is a number (or a "
                        "boolean) or its text in the table: CatBoost takes both for the same; call "
                        "it something else, or leave the column out of cat_features"
                    )
            self._codes[index, one] = tuple(range(len(listed), len(listed) + len(texts[one])))
            listed += texts[one]
        return tuple(listed)

    def branch(self, split: Split | None, no: Node, yes: Node) -> Branch:
        """Return the condition of a split; the left side is a number's "no", a category's "yes".

        CatBoost refuses missing categories; the tree sends them where it sends unseen ones.
        """
        assert split is not None
        if split.border is None:
            return Branch(
                feature=self.columns[ONE_HOT, split.index],
                left=yes,
                right=no,
                left_categories=self._codes[split.index, split.hash],
                missing_left=False,
                unseen_left=False,
            )
        return Branch(
            feature=self.columns[FLOAT, split.index],
            left=no,
            right=yes,
            threshold=split.border,
            missing_left=self._missing_left[split.index],
        )


def _parts(info: JsonObject, name: str) -> list[JsonObject]:
    """Return the objects in a list; none where there is no list."""
    return info.parts(name) if info.content.get(name) else []


def _columns(info: JsonObject) -> list[tuple[tuple[str, int], str]]:
    """Return kind, number and name of the columns, in their order in the training data."""
    found: dict[int, tuple[tuple[str, int], str]] = {}
    for kind, name in ((FLOAT, "float_features"), (ONE_HOT, "categorical_features")):
        for one in _parts(info, name):
            index = one.whole("feature_index", MAX_UNLISTED_FEATURES)
            place = one.whole("flat_feature_index", MAX_UNLISTED_FEATURES)
            label = str(one.content.get("feature_name") or one.content.get("feature_id") or "")
            if place in found:
                raise TreeFormatError(
                    f"{one.where}flat_feature_index: expected one, got {place} twice"
                )
            found[place] = ((kind, index), label)
    keys = [key for key, _ in found.values()]
    if sorted(found) != list(range(len(found))) or len(set(keys)) < len(keys):
        raise UnsupportedModelError(
            "expected a model of numeric and categorical features, each listed once, got columns "
            f"{sorted(found)[:10]}; leave out text and embedding features"
        )
    return [found[place] for place in sorted(found)]


def _texts(info: JsonObject) -> dict[int, list[str]]:
    """Return the texts of each hash, where they were stored."""
    texts: dict[int, list[str]] = {}
    for one in _parts(info, "cat_features_hash"):
        same = texts.setdefault(one.get("hash", int) & 0xFFFFFFFF, [])
        text = one.get("value", str)
        if text not in same:
            same.append(text)
    return texts


def _may_be_a_number(text: str) -> bool:
    try:
        int(text)
    except ValueError:
        return text in ("True", "False")
    return True


def _treatment(feature: JsonObject) -> bool:
    kind = feature.content.get("nan_value_treatment", "AsIs")
    if not isinstance(kind, str) or kind not in _MISSING_LEFT:
        raise TreeFormatError(
            f"{feature.where}nan_value_treatment: expected one of {', '.join(_MISSING_LEFT)}, "
            f"got {str(kind)[:40]!r}"
        )
    return _MISSING_LEFT[kind]


# -- Read CatBoost models: its estimators, and the model files it saves as JSON --

FILES = "CatBoost models saved as JSON (.json)"

MARKS = (b'"oblivious_trees"', b'"features_info"', b'"ctr_data"', b'"catboost_version_info"')
BINARY = b"CBM1"
MAX_DIMENSIONS = 10_000
"""Values in one leaf: the number of classes."""

OBJECTIVES = {
    **dict.fromkeys(
        (
            *("RMSE", "MAE", "Quantile", "MAPE", "Huber", "Expectile", "Lq", "LogLinQuantile"),
            "MSLE",
        ),
        "identity",
    ),
    **dict.fromkeys(("Poisson", "Tweedie"), "exponential"),
    "Logloss": "logistic",
    "CrossEntropy": "logistic",
    "MultiClass": "softmax",
}
"""How scores become predictions."""


def reads(model: Any) -> bool:
    """Whether a model is one of CatBoost's."""
    return is_a(model, "catboost", "CatBoost")


def read(model: Any, tree_index: int | None = None) -> Tree:
    """Read a fitted CatBoostClassifier, -Regressor or CatBoost model.

    A model of one tree is read as what it predicts; with ``tree_index`` one tree of several as its
    contribution to the raw score.
    """
    name = type(model).__name__
    if not model.is_fitted():
        raise not_fitted(model)
    catboost = sys.modules["catboost"]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        try:
            model.save_model(str(path), format="json")
        except catboost.CatBoostError as error:
            raise UnsupportedModelError(
                f"expected a {name} that CatBoost can save as JSON, got one that it cannot "
                f"({str(error).rpartition(': ')[2]}); leave out text and embedding features"
            ) from None
        content = parse_json(read_bytes(path))
    return _read_content(content, tree_index, f"CatBoost {catboost.__version__} {name}")


def reads_file(path: Path, start: bytes) -> bool:
    """Whether a file is a CatBoost model, as JSON or in its binary format."""
    text = start.lstrip()
    return start.startswith(BINARY) or (
        text.startswith(b"{") and any(mark in text for mark in MARKS)
    )


def read_file(path: Path, tree_index: int | None = None) -> Tree:
    """Parse a model file; the binary format is refused with what to do instead."""
    content = read_bytes(path)
    if content.startswith(BINARY):
        raise TreeFormatError(
            f"{path}: expected a CatBoost model saved as JSON, got its binary format; "
            'save it again: CatBoost().load_model(path).save_model("model.json", format="json")'
        )
    try:
        return _read_content(parse_json(content), tree_index, "CatBoost model file")
    except UnsupportedModelError:
        raise
    except InputError as error:
        raise TreeFormatError(f"{path}: {error}") from None


# -- the content ------------------------------------------------------------------------------


def _read_content(content: Any, tree_index: int | None, source: str) -> Tree:
    model = JsonObject(content, "")
    kind = "trees" if "trees" in model.content else "oblivious_trees"
    trees = model.parts(kind)
    if not trees:
        raise TreeFormatError(f"{kind}: expected at least one tree, got none")
    chosen = choose_tree(len(trees), tree_index, "a CatBoost model")
    scale, bias = _scale_and_bias(model)
    read_tree = read_nested if kind == "trees" else read_oblivious
    table = read_tree(trees[chosen], len(bias))
    raw = table.values * scale
    labels: NDArray[Any] | None = None
    decision = LARGEST_SHARE
    outcome = Outcome()
    if len(trees) == 1:
        raw = raw + bias
        info = model.part("model_info")
        outcome = _outcome(info, len(bias))
        if outcome.classes is not None:
            labels, decision = _labels(raw, info)
    elif len(bias) > 1:
        raise UnsupportedModelError(
            f"expected one number in each leaf of a tree of several, got {len(bias)}, one for each "
            "class, none of which is a share; read a model of one tree"
        )
    values = outcome.of(raw if len(bias) > 1 else raw[:, 0])
    features = Features(model.part("features_info"), table.splits)

    def leaf(node: int) -> Leaf:
        label = None if labels is None else int(labels[node])
        return Leaf(values[node], float(table.weights[node]), label)

    def split(node: int, no: Node, yes: Node) -> Branch:
        return features.branch(table.splits[node], no, yes)

    return build_tree(
        nest_nodes(table.children, leaf, split),
        n_features=len(features.columns),
        feature_names=features.names,
        categories=features.categories,
        classes=outcome.classes,
        decision=decision,
        precision="float32",
        metadata={"source": source},
    )


def _scale_and_bias(model: JsonObject) -> tuple[float, NDArray[np.float64]]:
    """Return what raw scores are multiplied by, and what is added to them in each dimension."""
    both = model.get("scale_and_bias", list)
    if len(both) != 2:
        raise TreeFormatError(f"scale_and_bias: expected two entries, got {len(both)}")
    bias = both[1] if isinstance(both[1], list) else [both[1]]
    if not 0 < len(bias) <= MAX_DIMENSIONS:
        raise TreeFormatError(
            f"scale_and_bias: expected 1 to {MAX_DIMENSIONS:,} numbers, got {len(bias):,}"
        )
    scale, *added = model.floats("scale_and_bias", [both[0], *bias])
    return scale, np.array(added)


def _outcome(info: JsonObject, n_dimensions: int) -> Outcome:
    """Return what a model of one tree predicts, by the loss it was trained with."""
    loss = info.part("params").part("loss_function").get("type", str)
    link = link_of(loss, OBJECTIVES, "CatBoost")
    if (n_dimensions > 1) != (link == "softmax"):
        raise TreeFormatError(
            f"scale_and_bias: expected a number for each score of the loss {loss}, got "
            f"{n_dimensions}"
        )
    is_share = link in ("logistic", "softmax")
    return Outcome(LINKS[link], _classes(info, max(2, n_dimensions)) if is_share else None)


def _classes(info: JsonObject, n_classes: int) -> tuple[Any, ...]:
    params = info.part("class_params")
    for name in ("class_names", "class_to_label"):
        if params.content.get(name):
            classes = read_scalars(params.get(name, list), f"class_params.{name}")
            if len(classes) != n_classes:
                raise TreeFormatError(
                    f"class_params.{name}: expected {n_classes} classes, got {len(classes)}"
                )
            return tuple(classes)
    return tuple(range(n_classes))


def _labels(raw: NDArray[np.float64], info: JsonObject) -> tuple[NDArray[Any], Decision]:
    """Label of each leaf as CatBoost gives it: the largest score, or beyond a threshold."""
    if raw.shape[1] > 1:
        return raw.argmax(axis=1), LARGEST_SHARE
    text = info.content.get("binclass_probability_threshold")
    if text is None:
        return (raw[:, 0] > 0).astype(np.intp), LARGEST_SHARE
    try:
        share = np.float64(text)
        decision = Decision(
            threshold=float(share), resolved=1, origin="CatBoost's probability threshold"
        )
    except (TypeError, ValueError):
        raise TreeFormatError(
            f"binclass_probability_threshold: expected a share, got {str(text)[:40]!r}"
        ) from None
    with np.errstate(divide="ignore"):
        border = np.log(share) - np.log1p(-share)
    return (raw[:, 0] > border).astype(np.intp), decision
