"""The rules of a tree in words, one per leaf, with the numbers of the leaf."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steadytree.core.paths import Paths
from steadytree.core.space import FeatureSpace
from steadytree.core.tree import Tree
from steadytree.core.tree_words import LeafNumbers, odd_values
from steadytree.core.words import Condition, join_conditions

__all__ = ["RuleWords", "display_space", "tree_rules"]


@dataclass(frozen=True)
class RuleWords:
    """One rule: its leaf, what it demands, and the numbers of the leaf."""

    leaf: int
    conditions: tuple[Condition, ...]
    numbers: LeafNumbers

    @property
    def conditions_text(self) -> str:
        """Return the conditions in words."""
        return join_conditions(self.conditions)

    @property
    def text(self) -> str:
        """Return the whole rule in words, with the numbers of its leaf."""
        return f"{self.conditions_text}: {self.numbers.words()}"

    @property
    def short_text(self) -> str:
        """Return the rule with its decision only."""
        return f"{self.conditions_text}: {self.numbers.label_words()}"


def tree_rules(tree: Tree, space: FeatureSpace | None = None) -> list[RuleWords]:
    """Rules of a tree that some value can follow, from left to right.

    In the given space, else the tree's own, else one made up from its thresholds.
    """
    paths = Paths.from_tree(tree, space or tree.space or display_space(tree))
    return [
        RuleWords(leaf, paths.conditions_of(p), LeafNumbers.of(paths.tree, leaf))
        for p, leaf in enumerate(paths.leaf.tolist())
    ]


def display_space(tree: Tree, *, all_can_miss: bool = False) -> FeatureSpace:
    """Make up a space just wide enough to word the rules of a tree that has none.

    With ``all_can_miss`` every condition says whether missing values pass.
    """
    lower, upper = np.zeros(tree.n_features), np.zeros(tree.n_features)
    for j in range(tree.n_features):
        cuts = tree.threshold[(tree.feature == j) & np.isfinite(tree.threshold)]
        if cuts.size:
            lower[j], upper[j] = cuts.min() - 1, cuts.max() + 1
    response = None
    if tree.classes is None:
        response = (float(tree.value.min()), float(tree.value.max()))
    return FeatureSpace(
        lower=lower,
        upper=upper,
        categories=tree.categories,
        names=tree.feature_names,
        classes=tree.classes,
        response_range=response,
        # A threshold of infinity asks whether there is a value: so it can be missing.
        can_be_missing=all_can_miss
        | np.isin(np.arange(tree.n_features), tree.feature[np.isinf(tree.threshold)])
        | np.array([odd_values(tree, j)[0] for j in range(tree.n_features)], dtype=bool),
    )
