"""The published form of a summary: the same type, every cell about people rounded."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np

from steadytree.publish.cells import Cell, parts_words, with_words
from steadytree.publish.names import Names, rare_of_tree, renamed_space, renamed_tree
from steadytree.publish.rounding import (
    FEWEST,
    SMALL,
    base_rounded,
    public_decision,
    published_means,
    published_shares,
    share_step,
    significant,
)
from steadytree.tree.recoded import IMPUTED, TAKES_MISSING
from steadytree.tree.space import FeatureSpace
from steadytree.tree.tree import Tree

# -- A tree for others: the same rules and labels, and nothing that counts the people behind them --


def publish_tree(tree: Tree, names: Names | None = None) -> Tree:
    """Return the tree as it may leave the house: it decides every row as before.

    Rules and labels stay. What was counted at the nodes goes, and with it the weights, the
    fingerprints of the rows and all other metadata but where the tree comes from. Predicted
    shares are rounded in steps that stand for 5 people or more (1, 2, 5, 10, 20, 25 or 50 %),
    never across the threshold; a mean response to three digits, or of fewer than 20 people to a
    twentieth of the response's spread. The bounds of the space are rounded outwards to one
    digit. Categories of fewer than five people, as far as they are known, are not named.

    Parameters
    ----------
    tree : Tree
    names : mapping, optional
        What rare categories are called, by feature (``steadytree.publish.rare_names``). Of
        other features those are rare that the tree sends where fewer than five people are.

    Returns
    -------
    Tree

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> import steadytree as st
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> tree = st.as_tree(DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, y))
    >>> published = st.publish_tree(tree)
    >>> published.observed is None, tree.value[2].round(4).tolist(), published.value[2].tolist()
    (True, [0.9421, 0.0579], [0.95, 0.05])
    >>> bool((published.predict(X) == tree.predict(X)).all())
    True
    """
    named = renamed_tree(tree, {**rare_of_tree(tree), **(names or {})}).replace(
        decision=public_decision(tree.decision)
    )
    value, label = _without_inner_nodes(
        named, published_shares(named) if named.is_classifier else published_means(named)
    )
    return named.replace(
        value=value,
        label=label,
        observed=None,
        weight=None,
        impurity=None,
        space=None if named.space is None else publish_space(named.space, {}),
        metadata=_public_metadata(tree.metadata),
    )


def _without_inner_nodes(tree: Tree, value: Any) -> tuple[Any, Any]:
    """Let inner nodes say no more than the leaves below them: their plain mean."""
    value, leaves = value.copy(), np.ones(tree.n_nodes)
    for node in reversed(tree.preorder.tolist()):
        if not tree.is_leaf[node]:
            below = [int(tree.children_left[node]), int(tree.children_right[node])]
            leaves[node] = leaves[below].sum()
            value[node] = leaves[below] @ value[below] / leaves[node]
    if not tree.is_classifier:
        return value, None
    return value, np.where(tree.is_leaf, tree.label, tree.decision.labels(value))


def _public_metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Keep where the tree comes from, and which columns can be missing: rules in words need it."""
    out = {key: metadata[key] for key in ("source",) if key in metadata}
    odd = [*(metadata.get(TAKES_MISSING) or ()), *(metadata.get(IMPUTED) or ())]
    return {**out, **({TAKES_MISSING: sorted(set(odd))} if odd else {})}


def publish_space(space: FeatureSpace, names: Names) -> FeatureSpace:
    """Round the bounds of a space outwards, an extreme is one person's value, and rename."""
    space = renamed_space(space, names)
    lower, upper = space.lower.copy(), space.upper.copy()
    for j, known in enumerate(space.categories):
        if known is None:
            lower[j], upper[j] = _outwards(float(lower[j]), float(upper[j]))
    response = space.response_range
    return space.replace(
        lower=lower,
        upper=upper,
        # The quantile scale lists values of the rows.
        knots=(),
        response_range=None if response is None else _outwards(*response),
    )


def _outwards(low: float, high: float) -> tuple[float, float]:
    """Round a range outwards to one digit of its width, or of the value where it has none."""
    width = high - low or abs(high)
    if width == 0:
        return low, high
    step = 10.0 ** math.floor(math.log10(width))
    ends = np.array([math.floor(low / step) * step, math.ceil(high / step) * step])
    one, two = (float(f"{end:.12g}") for end in ends)
    return one, two


# -- The published form of a summary: the same type, every cell about people rounded --

# Numbers that count no people, but know the extremes of the data by all their digits.
NOT_TOLD = "An edit that names a rare category"

_DISTANCES = ("dissimilarity", "distance")


def publish(summary: Mapping[str, Any], rare: Collection[str] = ()) -> dict[str, Any]:
    """Return a summary that may be passed on: same schema, every number about people rounded.

    Rules are taken as they are: :func:`steadytree.views.summarise` with ``publish=True`` takes
    names of rare categories out of them first, and calls this.

    Parameters
    ----------
    summary : mapping
        What :func:`steadytree.views.summarise` returns.
    rare : collection of str
        Names of rare categories; an edit that has one of them in its words is not told.

    Returns
    -------
    dict
    """
    out: dict[str, Any] = _published(_without_edits(summary, rare) if rare else summary)
    # What was said on the way is for whoever has the data; it may quote them.
    out |= {"published": True, "notes": []}
    out["provenance"] = [entry for entry in out["provenance"] if entry["value"]["words"]]
    if out["frontier"] is not None:
        # Other trees over the same people cut them finer than the rules of two.
        for candidate in out["frontier"]["candidates"]:
            candidate["tree"] = None
        out["frontier"] |= {"trees": [], "trees_left_out": len(out["frontier"]["candidates"])}
    return out


def _without_edits(value: Any, rare: Collection[str]) -> Any:
    """Take out edits that name a rare category."""
    if isinstance(value, Mapping):
        if "edit" in value and any(name in value["edit"] for name in rare):
            return with_words({"edit": NOT_TOLD})
        return {name: _without_edits(entry, rare) for name, entry in value.items()}
    return [_without_edits(v, rare) for v in value] if isinstance(value, (list, tuple)) else value


def _published(value: Any, key: str = "") -> Any:
    if isinstance(value, Mapping):
        if "words" in value and "published" in value:
            return dict(value)
        for kind, rounded in _KINDS.items():
            if kind in value and "words" in value:
                return with_words({**rounded(dict(value)), "published": True})
        out = {name: _published(entry, name) for name, entry in value.items()}
        if "parts" in out:
            out["words"] = " ".join(parts_words(out["parts"]).split())
        return out
    if isinstance(value, (list, tuple)):
        return [_published(entry) for entry in value]
    if key in _DISTANCES and isinstance(value, float):
        return round(value, 2)
    return value


def _people(cell: Cell) -> Cell:
    count, of = cell["count"], cell["of"]
    out = {"count": None, "of": None if of is None else base_rounded(of), "form": cell["form"]}
    if of is not None and of < FEWEST:
        return out if of >= SMALL else {**out, "of": None, "of_below": SMALL}
    if count < SMALL:
        return {**out, "below": SMALL}
    if of is not None and of - count < SMALL:
        return {**out, "above": out["of"] - SMALL}
    return {**out, "count": base_rounded(count)}


def _risk(cell: Cell) -> Cell:
    return {"risk": cell["rounded"], "rounded": cell["rounded"]}


def _mean(cell: Cell) -> Cell:
    value, of = cell["mean"], cell["of"]
    if of is None:
        return {"mean": cell["rounded"], "rounded": cell["rounded"], "of": None}
    known = of >= FEWEST and value is not None
    return {"mean": significant(value, 3) if known else None, "rounded": None, "of": 0}


def _score(cell: Cell) -> Cell:
    nothing = {"score": None, "error": None, "of": None}
    if cell["score"] is None or (cell["of"] is not None and cell["of"] < FEWEST):
        return nothing
    error = None if cell["error"] is None else _up(cell["error"])
    return {"score": round(cell["score"], 2), "error": error, "of": None}


def _change(cell: Cell) -> Cell:
    nothing = {
        "change": None,
        "low": None,
        "high": None,
        "of": None,
        "digits": 2,
        "level": cell["level"],
    }
    if cell["change"] is None or (cell["of"] is not None and cell["of"] < FEWEST):
        return nothing
    low = None if cell["low"] is None else -_up(-cell["low"])
    high = None if cell["high"] is None else _up(cell["high"])
    return {**nothing, "change": round(cell["change"], 2), "low": low, "high": high}


def _measure(cell: Cell) -> Cell:
    value, of, kind = cell["measure"], cell["of"], cell["kind"]
    nothing = {"measure": None, "low": None, "high": None}
    out = {**nothing, "kind": kind, "of": 0}
    out |= {flag: cell[flag] for flag in ("is_change", "is_score")}
    if value is None or of < FEWEST:
        return out
    if cell["is_score"]:
        low, high = cell["low"], cell["high"]
        if low is not None and high is not None:
            out |= {"low": -_up(-low), "high": _up(high)}
        return {**out, "measure": round(value, 2)}
    if cell["is_change"]:
        # An interval of a change counts those who changed; the difference is there to read.
        return out
    if kind == "share":
        part = _people({"count": round(value * of), "of": of, "form": "share"})
        for end in ("below", "above"):
            if end in part:
                return {**out, end: round(part[end] / part["of"], 4)}
        return {**out, "measure": round(part["count"] / part["of"], 2)}
    if kind == "plain":
        return {**out, "measure": significant(value, 2)}
    step = share_step(of)
    return {**out, "measure": round(round(value / step) * step, 4)}


def _up(value: float) -> float:
    """Round up to two decimals."""
    return math.ceil(value * 100 - 1e-9) / 100


def _group(cell: Cell) -> Cell:
    name = cell["rounded"] if cell["of"] >= FEWEST else "a small group"
    return {"group": name, "rounded": name, "of": 0}


def _apart(cell: Cell) -> Cell:
    return {"apart": round(cell["apart"], 2)}


def _edit(cell: Cell) -> Cell:
    return dict(cell)


def _internal(cell: Cell) -> Cell:
    return {"internal": ""}


_KINDS: dict[str, Callable[[Cell], Cell]] = {
    "measure": _measure,
    "count": _people,
    "risk": _risk,
    "mean": _mean,
    "score": _score,
    "change": _change,
    "group": _group,
    "apart": _apart,
    "edit": _edit,
    "internal": _internal,
}
