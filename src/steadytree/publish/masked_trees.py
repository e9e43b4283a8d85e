"""Trees and differences of trees for others: rounded, and without names that may be people's.

A share that a tree predicts is nearly a count: it is rounded in steps that stand for 5 people or
more, and never across the threshold, because the decision is told beside it.

A rule that sends three villages to the left names three villages; where one of them has two
rows, the rule is about two people. Such categories are called "rare category 1", by their
position, so that everything else about them stays as it is. So are all categories of a feature
that a tree does not use: nobody needs their names.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from steadytree.publish.cells import FEWEST, ROUNDING, share_step, significant
from steadytree.tree.printing import reaching_in_tree
from steadytree.tree.recoded import IMPUTED, TAKES_MISSING
from steadytree.tree.space import FeatureSpace
from steadytree.tree.tree import Tree

if TYPE_CHECKING:
    from steadytree.diff import TreeDiff
    from steadytree.tree.decision import Decision

# -- what a tree predicts --------------------------------------------------------------


def public_decision(decision: Decision) -> Decision:
    """Return a policy without the digits that a rate of the training rows has."""
    threshold, weight = decision.threshold, decision.class_weight
    if threshold is not None and round(threshold, 3) != threshold:
        decision = replace(decision, threshold=min(max(round(threshold, 2), 0.01), 0.99))
    if weight is not None:
        decision = replace(decision, class_weight=tuple(significant(w, 2) for w in weight))
    return decision


def published_values(tree: Tree) -> NDArray[np.float64]:
    """Round what each node predicts.

    Class shares in steps that stand for 5 people or more, so that labels follow from them as
    before; means to three digits, or of fewer than 20 people coarsely.

    Parameters
    ----------
    tree : Tree

    Returns
    -------
    float array of shape (n_nodes, n_classes), or (n_nodes, 1) in regression
    """
    behind = _people_behind(tree)
    coarse = 0.0 if tree.is_classifier else _nice_step(float(np.ptp(tree.value)) / 20)
    out = np.empty_like(tree.value)
    for node in range(tree.n_nodes):
        count = None if behind is None else float(behind[node])
        if tree.is_classifier:
            out[node] = _rounded_shares(tree, node, count)
        else:
            step = coarse if count is not None and count < FEWEST else 0.0
            out[node, 0] = _rounded_mean(float(tree.value[node, 0]), step)
    return out


def _people_behind(tree: Tree) -> NDArray[np.float64] | None:
    """How many people were counted at each node; None where nobody was."""
    if tree.observed is not None:
        return tree.observed.rows()
    weight = np.asarray(tree.weight)
    return None if (weight == 1).all() else weight


def _rounded_shares(tree: Tree, node: int, behind: float | None) -> NDArray[np.float64]:
    """Round one row of shares to a grid; a unit at a time goes to the label until it is given."""
    shares = tree.value[node]
    units = round(1 / share_step(behind))
    exact = shares / (shares.sum() or 1.0) * units
    whole = np.floor(exact + ROUNDING)
    left = units - int(whole.sum())
    # Largest remainders; for two classes that is the nearest step.
    order = np.argsort(-(exact - whole), kind="stable")
    whole[order[:left]] += 1
    label = int(tree.decision.labels(shares[None])[0])
    for _ in range(units):
        given = int(tree.decision.labels(whole[None] / units)[0])
        if given == label or whole[given] == 0:
            break
        whole[given] -= 1
        whole[label] += 1
    return np.asarray(whole / units)


def _rounded_mean(value: float, step: float) -> float:
    """Round a mean to multiples of a step, or to three significant digits."""
    return significant(round(value / step) * step, 12) if step > 0 else significant(value, 3)


def _nice_step(least: float) -> float:
    """Smallest of 1, 2 and 5 times a power of ten that is at least so large."""
    if least <= 0:
        return 0.0
    power = 10.0 ** math.floor(math.log10(least))
    return next(m * power for m in (1, 2, 5, 10) if m * power >= least * (1 - ROUNDING))


# -- names -----------------------------------------------------------------------------

RARE = 5
"""Categories of fewer people are not named."""

Names = Mapping[str, Mapping[Any, str]]
"""For each feature, by its label, what its rare categories are called instead."""


def count_categories(
    space: FeatureSpace, coded: NDArray[np.float64], features: Iterable[int]
) -> dict[int, NDArray[np.intp]]:
    """Count the rows of each category of some features; one-hot columns are not counted.

    Parameters
    ----------
    space : FeatureSpace
    coded : float array
        Rows in its codes.
    features : iterable of int

    Returns
    -------
    dict
    """
    counts = {}
    for j in features:
        names = space.categories[j]
        # One-hot columns have no names of their own.
        if names is None or space.feature_labels[j] in space.one_hot:
            continue
        codes = coded[:, j]
        counts[j] = np.bincount(codes[~np.isnan(codes)].astype(np.intp), minlength=len(names))
    return counts


def rare_names(
    space: FeatureSpace, counts: Mapping[int, NDArray[np.intp]]
) -> dict[str, dict[Any, str]]:
    """Say what the categories with fewer than five rows are called.

    Parameters
    ----------
    space : FeatureSpace
    counts : mapping of int to int array
        Rows of each category of a feature, as in ``TreeDiff.category_counts``.

    Returns
    -------
    dict
    """
    return {
        space.feature_labels[j]: _numbered(
            c for c, n in zip(space.categories[j] or (), count, strict=True) if n < RARE
        )
        for j, count in counts.items()
    }


def rare_of_tree(tree: Tree) -> dict[str, dict[Any, str]]:
    """Say what is called otherwise as far as the tree itself knows: what is rare, or not used."""
    return _names((tree,), tree.feature_labels, tree.categories, {})


def _names(
    trees: Iterable[Tree], labels: Any, categories: Any, counted: Names
) -> dict[str, dict[Any, str]]:
    """Name categories by number: of each feature those that are rare, or all where no tree uses it.

    Rare are those ``counted`` as rare; of a feature not counted, those that a tree says are.
    """
    rare, used = defaultdict[str, set[Any]](set), set[str]()
    for tree in trees:
        used |= {tree.feature_labels[j] for j in tree.used_features}
        for label, found in _rare_categories(tree).items():
            rare[label] |= found
    rare |= {label: set(found) for label, found in counted.items()}
    return {
        label: _numbered(c for c in known if label not in used or c in rare[label])
        for label, known in zip(labels, categories, strict=True)
        if known is not None
    }


def _rare_categories(tree: Tree) -> defaultdict[str, set[Any]]:
    """Find the categories that the tree sends where few people were counted."""
    rare: defaultdict[str, set[Any]] = defaultdict(set)
    seen = _people_behind(tree)
    if seen is None:
        return rare
    for node, (codes, _, _) in reaching_in_tree(tree).items():
        inside, j = tree.left_categories[node], int(tree.feature[node])
        for child, left in ((tree.children_left[node], True), (tree.children_right[node], False)):
            if codes is not None and inside is not None and seen[int(child)] < RARE:
                found = {(tree.categories[j] or ())[c] for c in codes if (c in inside) == left}
                rare[tree.feature_labels[j]] |= found
    return rare


def _numbered(categories: Iterable[Any]) -> dict[Any, str]:
    return {c: f"rare category {i}" for i, c in enumerate(categories, 1)}


def renamed_space(space: FeatureSpace, names: Names) -> FeatureSpace:
    """Return the space with its rare categories called otherwise."""
    return space.replace(categories=_renamed(space.feature_labels, space.categories, names))


def renamed_tree(tree: Tree, names: Names) -> Tree:
    """Return the tree with its rare categories called otherwise, in its space as well."""
    categories = _renamed(tree.feature_labels, tree.categories, names)
    space = None if tree.space is None else renamed_space(tree.space, names)
    return tree.replace(categories=categories, space=space)


def _renamed(labels: Any, categories: Any, names: Names) -> tuple[Any, ...]:
    return tuple(
        None if known is None else tuple(names.get(label, {}).get(c, c) for c in known)
        for label, known in zip(labels, categories, strict=True)
    )


# -- a diff ----------------------------------------------------------------------------


def names_of_diff(diff: TreeDiff) -> dict[str, dict[Any, str]]:
    """Say what the rare categories of a diff are called: in both trees, and in the space, alike."""
    space, counted = diff.space, rare_names(diff.space, diff.category_counts)
    return _names((diff.old, diff.new), space.feature_labels, space.categories, counted)


def rare_words(diff: TreeDiff) -> set[str]:
    """Return the names that a diff for others does not hold, as texts write them."""
    return {str(category) for known in names_of_diff(diff).values() for category in known}


# Where a change names categories, and of which feature they are.
_OF_FEATURE = {
    **dict.fromkeys(("allowed", "gained", "lost", "categories"), "name"),
    "new_categories": "new_name",
}


def names_for_others(diff: TreeDiff) -> TreeDiff:
    """Return a diff without names of rare categories, ranges of features and exact thresholds.

    A shift as a share of its feature's range would tell the range, that is, the extremes; a
    threshold taken from the rate of the training rows would count them.

    Parameters
    ----------
    diff : TreeDiff

    Returns
    -------
    TreeDiff
    """
    names = names_of_diff(diff)

    def for_others(item: Any) -> Any:
        if isinstance(item, tuple):
            return tuple(map(for_others, item))
        if not is_dataclass(item) or isinstance(item, type):
            return item
        found = {field.name: for_others(getattr(item, field.name)) for field in fields(item)}
        for key, owner in _OF_FEATURE.items():
            if found.get(key):
                other = names.get(getattr(item, owner), {})
                found[key] = tuple(other.get(category, category) for category in found[key])
        if "share_of_range" in found:
            found["share_of_range"] = None
        return replace(item, **found)

    old, new = (
        renamed_tree(tree, names).replace(decision=public_decision(tree.decision))
        for tree in (diff.old, diff.new)
    )
    return replace(
        diff,
        rules=for_others(diff.rules),
        splits=for_others(diff.splits),
        old=old,
        new=old if diff.new is diff.old else new,
        space=renamed_space(diff.space, names),
        category_counts={},
    )


# -- a tree ----------------------------------------------------------------------------


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
    >>> from steadytree.publish import publish_tree
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> tree = st.as_tree(DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, y))
    >>> published = publish_tree(tree)
    >>> published.observed is None, tree.value[2].round(4).tolist(), published.value[2].tolist()
    (True, [0.9421, 0.0579], [0.95, 0.05])
    >>> bool((published.predict(X) == tree.predict(X)).all())
    True
    """
    named = renamed_tree(tree, {**rare_of_tree(tree), **(names or {})}).replace(
        decision=public_decision(tree.decision)
    )
    value, label = _without_inner_nodes(named, published_values(named))
    return named.replace(
        value=value,
        label=label,
        observed=None,
        weight=None,
        impurity=None,
        space=None if named.space is None else _publish_space(named.space),
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


def _publish_space(space: FeatureSpace) -> FeatureSpace:
    """Round the bounds of a space outwards: an extreme is one person's value."""
    lower, upper = space.lower.copy(), space.upper.copy()
    for j, known in enumerate(space.categories):
        if known is None:
            lower[j], upper[j] = _outwards(float(lower[j]), float(upper[j]))
    response = space.response_range
    return space.replace(
        lower=lower,
        upper=upper,
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
