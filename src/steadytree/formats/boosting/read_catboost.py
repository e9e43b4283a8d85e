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
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadytree.formats.boosting.catboost_splits import Features, read_nested, read_oblivious
from steadytree.formats.boosting.raw_scores import (
    Outcome,
    identity,
    logistic,
    refuse_objective,
    softmax,
    two_shares,
)
from steadytree.plugins import (
    LARGEST_SHARE,
    Decision,
    InputError,
    JsonObject,
    Leaf,
    Tree,
    TreeFormatError,
    UnsupportedModelError,
    build_tree,
    choose_tree,
    is_a,
    not_fitted,
    parse_json,
    read_bytes,
    read_scalars,
)

FILES = "CatBoost models saved as JSON (.json)"

MARKS = (b'"oblivious_trees"', b'"features_info"', b'"ctr_data"', b'"catboost_version_info"')
BINARY = b"CBM1"
MAX_DIMENSIONS = 10_000
"""Values in one leaf: the number of classes."""

_TWO_CLASSES = ("Logloss", "CrossEntropy")
_RESPONSES = (
    "RMSE", "MAE", "Quantile", "MAPE", "Huber", "Expectile", "Lq", "LogLinQuantile", "MSLE",
)  # fmt: skip
_EXPONENTIAL = ("Poisson", "Tweedie")
_KNOWN = (*_TWO_CLASSES, "MultiClass", *_RESPONSES, *_EXPONENTIAL)


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
    outcome = Outcome(identity)
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

    def leaf(k: int) -> Leaf:
        label = None if labels is None else int(labels[k])
        return Leaf(values[k], float(table.weights[k]), label)

    return build_tree(
        table.nest(leaf, features.branch),
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
    if loss == "MultiClass" or (loss in _TWO_CLASSES and n_dimensions == 1):
        classes = _classes(info, max(2, n_dimensions))
        if loss == "MultiClass":
            return Outcome(softmax, classes)
        return Outcome(lambda raw: two_shares(logistic(raw)), classes)
    if n_dimensions == 1 and loss in _RESPONSES:
        return Outcome(identity)
    if n_dimensions == 1 and loss in _EXPONENTIAL:
        return Outcome(np.exp)
    refuse_objective(loss, "CatBoost", _KNOWN)


def _classes(info: JsonObject, n_classes: int) -> tuple[Any, ...]:
    given = info.part("class_params")
    for name in ("class_names", "class_to_label"):
        if given.content.get(name):
            classes = read_scalars(given.get(name, list), f"class_params.{name}")
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
