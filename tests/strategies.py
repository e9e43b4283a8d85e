"""Random feature spaces and trees, from a seed or drawn (and shrunk) by hypothesis.

Everything random comes from a ``random.Random``, which hypothesis can stand in for: the
same generators serve loops over seeds and property tests.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from steadytree.tree.space import FeatureSpace
from steadytree.tree.tree import Tree

CATEGORY_LISTS: tuple[tuple[Any, ...], ...] = (
    ("red", "green"),
    ("a", "b", "c", "d", "e"),
    (1, 2, 3),
    (0.5, -1.5, 2.0, 7.25),
    (True, False),
    ("only",),
    ("x", 3, 2.5, False),
)

CLASS_LISTS: tuple[tuple[Any, ...], ...] = (
    (0, 1),
    ("no", "yes"),
    (False, True),
    (-1, 1),
    ("a", "b", "c"),
    (10, 20, 30, 40),
    ("one class",),
)


@dataclass(frozen=True)
class Kind:
    """What a random problem may contain."""

    numeric: bool = True
    categorical: bool = True
    missing: bool = True
    regression: bool = False
    names: bool = True
    outside: bool = False  # thresholds and responses beyond the space's ranges
    ordered: bool = False  # every category list is an order


def random_space(rng: Random, kind: Kind, n_features: int | None = None) -> FeatureSpace:
    """A small feature space; some features constant, some with two values only."""
    count = n_features or rng.randint(1, 5)
    lower: list[float] = []
    upper: list[float] = []
    cats: list[tuple[Any, ...] | None] = []
    for _ in range(count):
        if kind.categorical and (not kind.numeric or rng.random() < 0.4):
            cats.append(rng.choice(CATEGORY_LISTS))
            lower.append(0.0)
            upper.append(0.0)
        else:
            cats.append(None)
            lower.append(rng.choice([0.0, -1.0, 3.5, -1e3]))
            upper.append(lower[-1] + rng.choice([1.0, 1.0, 10.0, 0.125, 1e4, 0.0]))
    classes = None if kind.regression else rng.choice(CLASS_LISTS)
    response = None
    if kind.regression:
        low = rng.choice([0.0, -5.0])
        response = (low, low + rng.choice([1.0, 20.0, 20.0, 0.0]))
    return FeatureSpace(
        lower=np.array(lower),
        upper=np.array(upper),
        categories=tuple(cats),
        can_be_missing=np.array([kind.missing and rng.random() < 0.5 for _ in range(count)]),
        names=tuple(f"f{j}" for j in range(count)) if kind.names else None,
        classes=classes,
        response_range=response,
        ordered=np.array([kind.ordered and c is not None for c in cats]),
    )


def random_tree(
    rng: Random,
    space: FeatureSpace,
    kind: Kind,
    *,
    max_leaves: int = 6,
    n_leaves: int | None = None,
    max_depth: int | None = None,
) -> Tree:
    """A tree over the space: any leaf may be split again, on any feature, at any value.

    Nothing keeps a split consistent with those above it, so contradictory paths (x <= 1,
    then x > 2) turn up by themselves.
    """
    wanted = n_leaves or rng.randint(1, max_leaves)
    left, right = [-1], [-1]
    feature, threshold, missing_left, depth = [-1], [math.nan], [True], [0]
    sets: list[tuple[int, ...] | None] = [None]
    open_leaves = [0]
    while len(open_leaves) < wanted:
        free = [i for i in open_leaves if max_depth is None or depth[i] < max_depth]
        if not free:
            break
        node = rng.choice(free)
        j = rng.randrange(space.n_features)
        cats = space.categories[j]
        feature[node] = j
        missing_left[node] = rng.random() < 0.5
        if cats is None:
            threshold[node] = random_threshold(rng, space, j, kind)
        else:
            sets[node] = tuple(code for code in range(len(cats)) if rng.random() < 0.5)
        left[node], right[node] = len(left), len(left) + 1
        for _ in range(2):
            left.append(-1)
            right.append(-1)
            feature.append(-1)
            threshold.append(math.nan)
            missing_left.append(True)
            sets.append(None)
            depth.append(depth[node] + 1)
        open_leaves.remove(node)
        open_leaves += [left[node], right[node]]
    n = len(left)
    labels = None
    if space.classes is None:
        value = [[random_response(rng, space, kind)] for _ in range(n)]
    else:
        value = [random_shares(rng, len(space.classes)) for _ in range(n)]
        if rng.random() < 0.2:  # labels kept against the shares
            labels = [rng.randrange(len(space.classes)) for _ in range(n)]
    return Tree(
        children_left=np.array(left),
        children_right=np.array(right),
        feature=np.array(feature),
        threshold=np.array(threshold),
        value=np.array(value),
        n_features=space.n_features,
        left_categories=tuple(sets),
        missing_left=np.array(missing_left),
        weight=np.array([float(rng.randint(0, 50)) for _ in range(n)]),
        label=None if labels is None else np.array(labels),
        classes=space.classes,
        feature_names=space.names,
        categories=space.categories,
    )


def random_threshold(rng: Random, space: FeatureSpace, j: int, kind: Kind) -> float:
    low, high = float(space.lower[j]), float(space.upper[j])
    draw = rng.random()
    if draw < 0.15 and space.can_be_missing[j]:
        return rng.choice([math.inf, math.inf, -math.inf])
    if draw < 0.25 and kind.outside:
        return rng.choice([low - 1.0, high + 2.0, high + 1e6])
    if draw < 0.3:
        return rng.choice([low, high])
    if draw < 0.6:  # a coarse grid, so that trees share thresholds
        return low + (high - low) * rng.randint(1, 7) / 8
    return min(max(low + (high - low) * rng.random(), low), high)


def random_response(rng: Random, space: FeatureSpace, kind: Kind) -> float:
    assert space.response_range is not None
    low, high = space.response_range
    if kind.outside and rng.random() < 0.2:
        return rng.choice([low - 3.0, high + 3.0])
    return low + (high - low) * rng.randint(0, 8) / 8


def random_shares(rng: Random, n_classes: int) -> list[float]:
    counts = [rng.randint(0, 6) for _ in range(n_classes)]
    counts[rng.randrange(n_classes)] += 1
    return [count / sum(counts) for count in counts]


def random_rows(rng: Random, space: FeatureSpace, n_rows: int) -> list[list[Any]]:
    """Rows of plain values: numbers inside and around the range, categories, None."""
    rows = []
    for _ in range(n_rows):
        row: list[Any] = []
        for j in range(space.n_features):
            cats = space.categories[j]
            if space.can_be_missing[j] and rng.random() < 0.2:
                row.append(None)
            elif cats is not None:
                row.append(rng.choice(cats))
            else:
                low, high = float(space.lower[j]), float(space.upper[j])
                row.append(low + (high - low) * rng.choice([rng.random(), rng.randint(-1, 9) / 8]))
        rows.append(row)
    return rows


def shuffled_copy(rng: Random, tree: Tree, space: FeatureSpace) -> Tree:
    """The same tree with its nodes numbered differently and its features in another order."""
    order = list(range(1, tree.n_nodes))
    rng.shuffle(order)
    order = [0, *order]  # new number -> old number; the root stays node 0
    new = {old: i for i, old in enumerate(order)}
    columns = list(range(tree.n_features))
    rng.shuffle(columns)  # new column -> old column
    at = {old: i for i, old in enumerate(columns)}
    assert tree.feature_names is not None
    assert tree.weight is not None
    assert tree.missing_left is not None

    def moved(nodes: NDArray[Any]) -> NDArray[np.int32]:
        found = [new[int(nodes[old])] if nodes[old] >= 0 else -1 for old in order]
        return np.array(found, dtype=np.int32)

    return Tree(
        children_left=moved(tree.children_left),
        children_right=moved(tree.children_right),
        feature=np.array([at.get(int(tree.feature[old]), -1) for old in order]),
        threshold=tree.threshold[order],
        value=tree.value[order],
        n_features=tree.n_features,
        left_categories=tuple(tree.left_categories[old] for old in order),
        missing_left=tree.missing_left[order],
        weight=tree.weight[order],
        label=tree.label[order],
        classes=tree.classes,
        feature_names=tuple(tree.feature_names[old] for old in columns),
        categories=tuple(tree.categories[old] for old in columns),
    )


# -- hypothesis -------------------------------------------------------------------


def examples(count: int) -> settings:
    """So many examples, however long a busy machine takes to draw and to run them."""
    return settings(max_examples=count, deadline=None, suppress_health_check=[HealthCheck.too_slow])


kinds = st.builds(
    Kind,
    numeric=st.just(True),
    categorical=st.booleans(),
    missing=st.booleans(),
    regression=st.booleans(),
)


@st.composite
def spaces(draw: st.DrawFn, kind: Kind | None = None) -> tuple[Kind, FeatureSpace]:
    chosen = kind or draw(kinds)
    return chosen, random_space(draw(st.randoms(use_true_random=False)), chosen)


@st.composite
def tree_collections(
    draw: st.DrawFn, size: int, *, kind: Kind | None = None, max_leaves: int = 6
) -> tuple[FeatureSpace, list[Tree]]:
    """A space and some trees over it."""
    chosen = kind or draw(kinds)
    rng = draw(st.randoms(use_true_random=False))
    space = random_space(rng, chosen)
    return space, [random_tree(rng, space, chosen, max_leaves=max_leaves) for _ in range(size)]
