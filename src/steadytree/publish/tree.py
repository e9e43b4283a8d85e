"""A tree for others: the same rules and labels, and nothing that counts the people behind them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from steadytree.core.imputed import IMPUTED, TAKES_MISSING
from steadytree.core.space import FeatureSpace
from steadytree.core.tree import Tree
from steadytree.publish.names import Names, rare_of_tree, renamed_space, renamed_tree
from steadytree.publish.rounding import public_decision, published_means, published_shares

__all__ = ["publish_space", "publish_tree"]


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
