"""What a plan keeps out of a tree, and keeps in it: forbidden features and locked rules.

A lock names what people read: a condition or a rule as it is printed, of the tree as it was given
or as it stands in the space of the retraining (which may know further categories, or that a value
can be missing).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadytree.exceptions import InputError
from steadytree.tree.paths import tree_rules
from steadytree.tree.printing import branch_texts, split_condition
from steadytree.tree.space import FeatureSpace, listed_features
from steadytree.tree.tree import Tree

# -- features that no rule may use -----------------------------------------------------
# They stay columns of the table, so that people can ask what the tree does to each group.

FORBIDDEN = "forbidden"
"""Entry of a tree's metadata: names of the features that none of its rules may use."""


def forbidden_entry(space: FeatureSpace, features: Collection[int]) -> dict[str, list[str]]:
    """Entry of the metadata of a tree that was made without some features; none for none."""
    return {FORBIDDEN: [space.feature_labels[j] for j in sorted(features)]} if features else {}


def forbidden_before(tree: Tree) -> tuple[str, ...]:
    """Names of the features that a tree was made without by somebody's wish."""
    listed = tree.metadata.get(FORBIDDEN)
    names = listed if isinstance(listed, (list, tuple)) else ()
    return tuple(name for name in names if name in tree.feature_labels)


def forbidden_features(space: FeatureSpace, forbid: Any) -> frozenset[int]:
    """Positions of the features that the user forbids, by name or position."""
    found = listed_features(forbid, space.feature_labels, "forbid")
    if len(found) == space.n_features:
        raise InputError(
            f"expected forbid to leave a feature for the rules, got all {len(found)} of them; "
            "allow at least one"
        )
    return found


def unseen(coded: NDArray[np.float64], features: Collection[int]) -> NDArray[np.float64]:
    """Return coded rows with some features missing throughout: nobody can learn from these."""
    if not features:
        return coded
    out = coded.copy()
    out[:, sorted(features)] = np.nan
    return out


def without_splits(tree: Tree, features: Collection[int]) -> Tree:
    """Return the tree with every split on some features replaced by its heavier side.

    The conditions below that side stay; those of the lighter side go with the split. What was
    observed in its leaves is dropped: more people reach them now.
    """
    if not tree.used_features & set(features):
        return tree
    kept: list[int] = []
    children: dict[int, tuple[int, int]] = {}

    def resolve(node: int) -> int:
        while int(tree.feature[node]) in features:
            left, right = int(tree.children_left[node]), int(tree.children_right[node])
            node = left if tree.weight[left] >= tree.weight[right] else right
        return node

    stack = [resolve(0)]
    while stack:
        node = stack.pop()
        kept.append(node)
        if not tree.is_leaf[node]:
            children[node] = (
                resolve(int(tree.children_left[node])),
                resolve(int(tree.children_right[node])),
            )
            stack += reversed(children[node])
    place = {node: i for i, node in enumerate(kept)}
    index = np.array(kept)

    def side(which: int) -> list[int]:
        return [place[children[node][which]] if node in children else -1 for node in kept]

    fields: dict[str, Any] = {
        name: getattr(tree, name)[index]
        for name in ("feature", "threshold", "value", "missing_left", "weight", "label")
    }
    if tree.tells_unseen_from_missing:
        fields["unseen_left"] = tree.unseen_left[index]
    return tree.replace(
        **fields,
        children_left=side(0),
        children_right=side(1),
        left_categories=tuple(tree.left_categories[node] for node in kept),
        impurity=None,
        observed=None,
    )


# -- what the user locks ---------------------------------------------------------------

View = tuple[Tree, FeatureSpace | None]


def resolve_locks(
    locked: Any, tree: Tree, space: FeatureSpace, *, printed: Tree | None = None
) -> frozenset[int]:
    """Nodes of the deployed tree, written in the features of the space, to lock.

    ``locked`` is one of these or several: "root" (the first condition), the number of a node,
    a feature name (every condition on it), a condition as ``rules()`` prints it, or a rule as
    ``rules(style="list")`` does, with or without its outcome. ``printed`` is the tree as it was
    given, with the same nodes.
    """
    views: list[View] = [(tree, space)]
    if printed is not None and printed.n_nodes == tree.n_nodes:
        views.append((printed, None))
    several = isinstance(locked, Iterable) and not isinstance(locked, str)
    items: Iterable[Any] = locked if several else [locked]
    out: set[int] = set()
    for item in items:
        found = _nodes_of(item, tree, space, views)
        if not found:
            raise InputError(
                "expected locked to name the root, a node, a feature, a condition or a rule of "
                f"the deployed tree, got {item!r}; rules are listed by TreeClassifier(tree).rules()"
            )
        out |= found
    return frozenset(out)


def lock_nodes(tree: Tree, locked: Iterable[int]) -> frozenset[int]:
    """Nodes to lock: those given, and for a leaf every condition on its way."""
    out: set[int] = set()
    for node in locked:
        if not 0 <= node < tree.n_nodes:
            raise InputError(f"expected locked nodes below {tree.n_nodes}, got {node}")
        out.add(node)
        if tree.is_leaf[node]:
            above = node
            while (above := int(tree.parent[above])) >= 0:
                out.add(above)
    return frozenset(out)


def keeps_locks(tree: Tree, deployed: Tree, locked: Iterable[int], space: FeatureSpace) -> bool:
    """Whether a tree that edits did not make has what is locked, where the deployed tree has it.

    Both are written in the features of the space. A condition may have its sides exchanged.
    """
    kept = lock_nodes(deployed, locked)
    pairs = [(0, 0)]
    for node, twin in pairs:
        sides = _same_sides(deployed, node, tree, twin, space)
        if node in kept and sides is None:
            return False
        if not deployed.is_leaf[node] and not tree.is_leaf[twin]:
            left, right = sides or (tree.children_left[twin], tree.children_right[twin])
            pairs += [
                (int(deployed.children_left[node]), int(left)),
                (int(deployed.children_right[node]), int(right)),
            ]
    return kept <= {node for node, _ in pairs}


def _same_sides(
    one: Tree, node: int, two: Tree, twin: int, space: FeatureSpace
) -> tuple[int, int] | None:
    """Children of the second node in the order of the first's; None if they ask otherwise.

    Leaves are the same where their labels are, and have no children: (-1, -1).
    """
    if one.is_leaf[node] or two.is_leaf[twin]:
        same = one.is_leaf[node] and two.is_leaf[twin] and one.label[node] == two.label[twin]
        return (-1, -1) if same else None
    asked = split_condition(one, node, left=True, space=space)
    sides = (int(two.children_left[twin]), int(two.children_right[twin]))
    if split_condition(two, twin, left=True, space=space) == asked:
        return sides
    return sides[::-1] if split_condition(two, twin, left=False, space=space) == asked else None


def _nodes_of(item: Any, tree: Tree, space: FeatureSpace, views: list[View]) -> set[int]:
    if isinstance(item, (bool, np.bool_)):
        return set()
    if isinstance(item, (int, np.integer)):
        return {int(item)} if 0 <= int(item) < tree.n_nodes else set()
    text = str(item).strip()
    if text == "root":
        return {0}
    if text in space.feature_labels:
        asked = space.feature_labels.index(text)
        return {node for node in range(tree.n_nodes) if int(tree.feature[node]) == asked}
    found: set[int] = set()
    for shown, within in views:
        found |= {node for node, sides in branch_texts(shown, within).items() if text in sides}
        rules = tree_rules(shown, within)
        found |= {rule.leaf for rule in rules if text in (rule.text, rule.conditions_text)}
    return found
