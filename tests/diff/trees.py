"""Small trees written by hand or drawn at random, and edits whose effect is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from steadytree.diff import TreeDiff, diff_trees
from steadytree.tree.observed import Observed
from steadytree.tree.space import FeatureSpace
from steadytree.tree.tree import Tree

NAMES = ("age", "weight", "dose", "colour", "site")
COLOURS = ("red", "green", "blue", "white")
SITES = ("arm", "leg", "neck", "back", "foot")
CATEGORIES = (None, None, None, COLOURS, SITES)
SPACE = FeatureSpace(
    lower=np.zeros(5),
    upper=np.array([100.0, 200.0, 1.0, 0.0, 0.0]),
    categories=CATEGORIES,
    can_be_missing=np.array([True, False, False, True, False]),
    names=NAMES,
    classes=("no", "yes"),
)
UPPER = SPACE.upper


@dataclass(frozen=True)
class Leaf:
    """A leaf: its label and the share of "yes"."""

    label: int
    share: float


@dataclass(frozen=True)
class Split:
    """A split by threshold (a share of the range) or by the codes that go left."""

    feature: int
    at: float | frozenset[int]
    left: Any
    right: Any
    missing_left: bool = True


@dataclass
class _Arrays:
    left: list[int] = field(default_factory=list)
    right: list[int] = field(default_factory=list)
    feature: list[int] = field(default_factory=list)
    threshold: list[float] = field(default_factory=list)
    sets: list[tuple[int, ...] | None] = field(default_factory=list)
    missing_left: list[bool] = field(default_factory=list)
    share: list[float] = field(default_factory=list)
    label: list[int] = field(default_factory=list)

    def add(self, node: Leaf | Split) -> int:
        at = len(self.left)
        for column, value in (
            (self.left, -1),
            (self.right, -1),
            (self.feature, -1),
            (self.threshold, np.nan),
            (self.sets, None),
            (self.missing_left, True),
            (self.share, 0.5),
            (self.label, 0),
        ):
            column.append(value)  # type: ignore[attr-defined]
        if isinstance(node, Leaf):
            self.share[at], self.label[at] = node.share, node.label
            return at
        self.feature[at], self.missing_left[at] = node.feature, node.missing_left
        if isinstance(node.at, frozenset):
            self.sets[at] = tuple(sorted(node.at))
        else:
            self.threshold[at] = node.at * UPPER[node.feature]
        self.left[at] = self.add(node.left)
        self.right[at] = self.add(node.right)
        return at


def build(root: Leaf | Split) -> Tree:
    arrays = _Arrays()
    arrays.add(root)
    share = np.array(arrays.share)
    return Tree(
        children_left=arrays.left,
        children_right=arrays.right,
        feature=arrays.feature,
        threshold=arrays.threshold,
        left_categories=tuple(arrays.sets),
        missing_left=arrays.missing_left,
        value=np.column_stack([1 - share, share]),
        label=arrays.label,
        classes=("no", "yes"),
        n_features=5,
        feature_names=NAMES,
        categories=CATEGORIES,
        space=SPACE,
    )


OLD = Split(
    0,
    0.5,
    Split(1, 0.25, Leaf(0, 0.1), Leaf(1, 0.9)),
    Split(3, frozenset({0, 1}), Leaf(0, 0.2), Leaf(1, 0.8)),
)
NEW = replace(OLD, at=0.53)
"""Four rules, and the same with the first split moved."""


def seen(tree: Tree, shares: list[tuple[int, int]]) -> Tree:
    """The tree with outcomes of so many rows observed at each leaf, which it predicts."""
    counts = np.ones((tree.n_nodes, 2))
    for leaf, (hits, n) in zip(tree.leaves.tolist(), shares, strict=True):
        counts[leaf] = n - hits, hits
    observed = Observed.plain(counts, counts, classifier=True)
    return tree.replace(observed=observed, value=observed.predicted())


def steps(cuts: Sequence[float]) -> Tree:
    """Rules for ever greater numbers; no and yes by turns."""
    n = 2 * len(cuts) + 1
    split = np.arange(n) % 2 == 0
    split[-1] = False
    at = np.arange(n)
    return Tree(
        children_left=np.where(split, at + 1, -1),
        children_right=np.where(split, at + 2, -1),
        feature=np.where(split, 0, -1),
        threshold=np.where(split, np.repeat([*cuts, 0.0], 2)[:n], 0.0),
        value=[[0.9, 0.1] if k % 4 == 1 else [0.2, 0.8] for k in range(n)],
        classes=("no", "yes"),
        n_features=1,
    )


def stairs(sizes: Sequence[int], past: dict[int, int], beyond: Sequence[float] = ()) -> TreeDiff:
    """So many people follow each rule; some of the thresholds move past so many of them."""
    cuts = np.cumsum(sizes)[:-1] - 0.5
    moved = cuts + [past.get(k, 0) for k in range(len(cuts))]
    X = np.arange(float(sum(sizes)))[:, None]
    space = FeatureSpace(lower=[0], upper=[1000])
    return diff_trees(steps([*cuts, *beyond]), steps([*moved, *beyond]), X, space=space)


# -- drawing ---------------------------------------------------------------------------

thresholds = st.integers(5, 95).map(lambda k: k / 100)


@st.composite
def leaves(draw: st.DrawFn) -> Leaf:
    label = draw(st.integers(0, 1))
    return Leaf(label, draw(st.sampled_from([0.6, 0.75, 0.9] if label else [0.1, 0.25, 0.4])))


@st.composite
def cuts(draw: st.DrawFn, feature: int) -> float | frozenset[int]:
    categories = CATEGORIES[feature]
    if categories is None:
        return draw(thresholds)
    codes = st.integers(0, len(categories) - 1)
    return draw(st.frozensets(codes, min_size=1, max_size=len(categories) - 1))


@st.composite
def nodes(
    draw: st.DrawFn, depth: int = 3, features: tuple[int, ...] = (0, 1, 2, 3, 4)
) -> Leaf | Split:
    """A tree that uses every feature at most once on a path: each path is reachable."""
    if depth == 0 or not features or draw(st.integers(0, 3)) == 0:
        return draw(leaves())
    feature = draw(st.sampled_from(features))
    rest = tuple(f for f in features if f != feature)
    return Split(
        feature,
        draw(cuts(feature)),
        draw(nodes(depth - 1, rest)),
        draw(nodes(depth - 1, rest)),
        draw(st.booleans()),
    )


def splits(min_leaves: int = 2) -> st.SearchStrategy[Any]:
    return nodes().filter(lambda root: isinstance(root, Split) and count(root) >= min_leaves)


# -- reading and editing ---------------------------------------------------------------

Where = tuple[str, ...]  # "left", "right", ... from the root


def at(root: Leaf | Split, where: Where) -> Any:
    for side in where:
        root = getattr(root, side)
    return root


def put(root: Leaf | Split, where: Where, node: Leaf | Split) -> Leaf | Split:
    if not where:
        return node
    child = put(getattr(root, where[0]), where[1:], node)
    return replace(root, **{where[0]: child})  # type: ignore[arg-type]


def places(root: Leaf | Split, where: Where = ()) -> list[Where]:
    if isinstance(root, Leaf):
        return [where]
    return [where, *places(root.left, (*where, "left")), *places(root.right, (*where, "right"))]


def split_places(root: Leaf | Split) -> list[Where]:
    return [w for w in places(root) if isinstance(at(root, w), Split)]


def leaf_places(root: Leaf | Split) -> list[Where]:
    """Leaves from left to right, which is the order of the tree's rules."""
    return [w for w in places(root) if isinstance(at(root, w), Leaf)]


def count(root: Leaf | Split) -> int:
    return len(leaf_places(root))


def below(root: Leaf | Split, where: Where) -> set[int]:
    """Positions (from 1) of the leaves below a place."""
    found = enumerate(leaf_places(root), start=1)
    return {i for i, leaf in found if leaf[: len(where)] == where}


def features_above(root: Leaf | Split, where: Where) -> set[int]:
    return {at(root, where[:depth]).feature for depth in range(len(where))}


# -- comparing -------------------------------------------------------------------------


def rows(seed: int, n: int = 200) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.uniform(0, 100, n)
    age[rng.random(n) < 0.2] = np.nan
    colour = rng.choice(np.array([*COLOURS, None], dtype=object), n)
    return pd.DataFrame(
        {
            "age": age,
            "weight": rng.uniform(0, 200, n),
            "dose": rng.uniform(0, 1, n),
            "colour": pd.Categorical(colour, categories=COLOURS),
            "site": pd.Categorical(rng.choice(SITES, n), categories=SITES),
        }
    )[list(NAMES)]


def compare(old: Any, new: Any) -> TreeDiff:
    return diff_trees(build(old), build(new))


def changed(diff: TreeDiff) -> dict[int, str]:
    return {rule.number: rule.status for rule in diff.rules if rule.status != "kept"}
