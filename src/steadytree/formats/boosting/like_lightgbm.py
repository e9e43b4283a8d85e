"""Write a tree as a LightGBM model of one tree, in the form of a model that is there.

The model text of that one stays (columns, objective, pandas' categories); its trees give way to
one. LightGBM compares doubles, and so decides every number as the tree does, but for numbers of
at most 1e-35 in size, which are 0 to it. Its leaves hold scores: shares come back to about nine
digits, labels exactly.
"""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadytree.formats.boosting import read_lightgbm as reader
from steadytree.formats.boosting.leaf_scores import (
    category_codes,
    fitting_tree,
    labels_or_responses,
    leaf_scores,
)
from steadytree.formats.split_tests import split_test
from steadytree.plugins import (
    Tree,
    UnsupportedModelError,
    import_optional,
    read_model,
    write_atomic,
)

LARGEST = float(np.finfo(np.float64).max)
_CATEGORICAL, _DEFAULT_LEFT, _MISSING_IS_NAN = 1, 2, 8
_LINKS = {
    **dict.fromkeys(
        ("regression", "regression_l1", "huber", "fair", "quantile", "mape"), "identity"
    ),
    **dict.fromkeys(("poisson", "gamma", "tweedie"), "exponential"),
    "binary": "logistic",
}

imitates = reader.reads


def predict(model: Any, X: Any, tree: Tree) -> Any:
    """Labels or responses; of a booster the labels that the tree's policy gives its shares."""
    return labels_or_responses(model, model.predict(X), tree)


def save(model: Any, path: Path) -> Path:
    """Write the text that LightGBM saves."""
    return write_atomic(path, getattr(model, "booster_", model).model_to_string())


def write_like(tree: Tree, model: Any, prefer: str | None) -> Any:
    """Return a LightGBM model of the same kind as ``model`` that is this tree alone."""
    lightgbm = import_optional(
        "lightgbm", purpose="writing LightGBM models", install="pip install lightgbm"
    )
    there = read_model(model, tree_index=0)
    booster = getattr(model, "booster_", model)
    if tree.feature_names is not None and there.feature_names is not None:
        # As LightGBM writes blanks in names.
        tree = tree.replace(feature_names=tuple(n.replace(" ", "_") for n in tree.feature_names))
    by_set = [categories is not None for categories in there.categories]
    tree = fitting_tree(tree, model, there, by_set, _WHAT)
    head, _, rest = booster.model_to_string().partition("\nTree=")
    tail = rest.partition("\nend of trees\n")[2]
    lines = head.split("\n")
    objective = next((x for x in lines if x.startswith("objective=")), "objective=").split("=")[1]
    link, scale = _link(objective.split())
    scores = leaf_scores(tree, prefer, _WHAT, link=link, decided=booster is not model, single=False)
    named = bool(booster.pandas_categorical)
    codes = [
        category_codes(*lists, named)
        for lists in zip(there.categories, tree.categories, strict=True)
    ]
    block = _tree_block(tree, scores / scale, codes)
    # Sizes are there to read trees side by side; without them they are read one by one.
    kept = [x for x in lines if not x.startswith("tree_sizes=")]
    text = "\n".join(kept).rstrip("\n") + f"\n\nTree=0\n{block}\n\nend of trees\n{tail}"
    written = lightgbm.Booster(model_str=text)
    if booster is model:
        return written
    out = copy.copy(model)
    out._Booster = written
    out._best_iteration = None
    return out


_WHAT = "the LightGBM model"


def _link(objective: list[str]) -> tuple[str, float]:
    """Return how scores become predictions, and what they are multiplied by before."""
    name = objective[0] if objective else "none"
    if name not in _LINKS or "sqrt" in objective:
        raise UnsupportedModelError(
            f"expected a LightGBM model with one of the objectives {', '.join(_LINKS)}, got "
            f"{' '.join(objective) or 'none'!r}; a single tree cannot be written with it"
        )
    scale = next((o[8:] for o in objective if o.startswith("sigmoid:")), "1")
    return _LINKS[name], float(scale)


def _tree_block(tree: Tree, scores: NDArray[np.float64], codes: list[dict[Any, int]]) -> str:
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
            threshold.append(
                float(np.clip(LARGEST if turned else test.threshold, -LARGEST, LARGEST))
            )
            default_left = test.missing_left != turned
            kind.append(_MISSING_IS_NAN + _DEFAULT_LEFT * default_left)
        else:
            # Missing values and categories never met are in no set, and go right.
            turned = bool(_unlisted_left(test, codes[test.feature]))
            known = codes[test.feature]
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


def _unlisted_left(test: Any, known: dict[Any, int]) -> bool:
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
    return bool(unlisted.pop())


def _bit_words(codes: list[int]) -> list[int]:
    """Return a set of codes as words of 32 bits."""
    words = [0] * (1 + max(codes, default=0) // 32)
    for code in codes:
        words[code // 32] |= 1 << code % 32
    return words
