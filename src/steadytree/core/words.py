"""Trees, rules and conditions in words: the one place that puts them into text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from steadytree.core.space import FeatureSpace

if TYPE_CHECKING:
    from steadytree.core.tree import Tree

__all__ = [
    "Condition",
    "NumericState",
    "format_number",
    "join_conditions",
    "node_outcome_text",
    "split_text",
    "tree_text",
]

# (lower, upper, present allowed, missing allowed): lower < x <= upper
NumericState = tuple[float, float, bool, bool]


def format_number(value: float) -> str:
    """Six significant digits, without a trailing exponent where it can be avoided."""
    if not np.isfinite(value):
        return str(value)
    text = f"{value:.6g}"
    return text.replace("e+0", "e").replace("e-0", "e-").replace("e+", "e")


@dataclass(frozen=True)
class Condition:
    """The values of one feature that reach a leaf.

    Numeric: ``lower < x <= upper`` (infinite where unbounded) if ``present``.
    Categorical: ``allowed`` holds the categories. ``missing`` says whether a missing
    value reaches the leaf; None where the feature is never missing.
    """

    feature: int
    name: str
    lower: float = -np.inf
    upper: float = np.inf
    present: bool = True
    allowed: tuple[Any, ...] | None = None
    n_categories: int = 0
    missing: bool | None = None

    @classmethod
    def from_state(cls, space: FeatureSpace, feature: int, state: NumericState | int) -> Condition:
        """Condition for a walk's state: numeric bounds, or a bit set of categories."""
        name = space.feature_labels[feature]
        can_miss = bool(space.can_be_missing[feature])
        if isinstance(state, tuple):
            low, high, present, missing = state
            if not present:
                low, high = -np.inf, np.inf
            return cls(feature, name, low, high, present, missing=missing if can_miss else None)
        cats = space.categories[feature] or ()
        allowed = tuple(c for code, c in enumerate(cats) if state >> code & 1)
        return cls(
            feature,
            name,
            present=bool(allowed),
            allowed=allowed,
            n_categories=len(cats),
            missing=bool(state >> len(cats) & 1) if can_miss else None,
        )

    @property
    def is_categorical(self) -> bool:
        """Whether the feature is categorical."""
        return self.allowed is not None

    @property
    def unrestricted(self) -> bool:
        """Whether every value passes."""
        if self.missing is False or not self.present:
            return False
        if self.allowed is not None:
            return len(self.allowed) == self.n_categories
        return bool(np.isneginf(self.lower) and np.isposinf(self.upper))

    @property
    def needs_brackets(self) -> bool:
        """Whether the words hold an "or" of their own."""
        several = self.allowed is not None and 1 < len(self.allowed) < self.n_categories
        return self.present and not self.unrestricted and (bool(self.missing) or several)

    def __str__(self) -> str:
        """Return the condition in words: ``30 < age <= 50``, ``colour is red or blue``."""
        if not self.present:
            return f"{self.name} is missing"
        if self.allowed is not None:
            text = self._categories_text()
        elif np.isneginf(self.lower) and np.isposinf(self.upper):
            return f"{self.name} is not missing" if self.missing is False else f"any {self.name}"
        elif np.isneginf(self.lower):
            text = f"{self.name} <= {format_number(self.upper)}"
        elif np.isposinf(self.upper):
            text = f"{self.name} > {format_number(self.lower)}"
        else:
            text = f"{format_number(self.lower)} < {self.name} <= {format_number(self.upper)}"
        return f"{text} or missing" if self.missing and not self.unrestricted else text

    def _categories_text(self) -> str:
        assert self.allowed is not None
        if len(self.allowed) == self.n_categories:
            return f"{self.name} is not missing" if self.missing is False else f"any {self.name}"
        shown = [str(c) for c in self.allowed]
        if len(shown) == 1:
            return f"{self.name} is {shown[0]}"
        return f"{self.name} is {', '.join(shown[:-1])} or {shown[-1]}"


def join_conditions(conditions: Sequence[Condition]) -> str:
    """Join conditions with "and"; one that says "or" is bracketed, so that neither is misread."""
    words = [str(condition) for condition in conditions]
    if len(words) > 1:
        words = [
            f"({text})" if condition.needs_brackets else text
            for text, condition in zip(words, conditions, strict=True)
        ]
    return " and ".join(words) or "always"


def split_text(tree: Tree, node: int, *, left: bool) -> str:
    """Condition for going left (or right) at a split, in words."""
    j = int(tree.feature[node])
    name = tree.feature_labels[j]
    codes = tree.left_categories[node]
    cats = tree.categories[j]
    if codes is not None and cats is not None:
        chosen = [cats[c] for c in range(len(cats)) if (c in set(codes)) == left]
        if not chosen:
            return f"{name} is missing"
        return f"{name} is {_listed(chosen)}"
    t = float(tree.threshold[node])
    if t == float("inf"):
        return f"{name} is not missing" if left else f"{name} is missing"
    return f"{name} {'<=' if left else '>'} {format_number(t)}"


def _listed(items: list[Any]) -> str:
    words = [str(item) for item in items]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def node_outcome_text(tree: Tree, node: int, *, shares: bool = True) -> str:
    """Label and its share, or the mean response, of a node."""
    if tree.classes is None:
        return format_number(float(tree.value[node, 0]))
    label = int(tree.label[node])
    text = str(tree.classes[label])
    if not shares:
        return text
    # With two classes the share of the positive one is what people compare.
    shown = 1 if len(tree.classes) == 2 else label
    return f"{text} ({tree.classes[shown]}: {100 * tree.value[node, shown]:.1f} %)"


def tree_text(tree: Tree, *, shares: bool = True) -> str:
    """Return an indented listing of the tree, one line per branch and leaf.

    Parameters
    ----------
    tree : Tree
    shares : bool, default True
        Write the class share of each leaf beside its label.
    """
    lines: list[str] = []
    stack: list[tuple[int, int, str]] = [(0, 0, "")]
    while stack:
        node, depth, condition = stack.pop()
        indent = "|   " * (depth - 1) + ("|-- " if depth else "")
        leaf = bool(tree.is_leaf[node])
        outcome = f": {node_outcome_text(tree, node, shares=shares)}" if leaf else ""
        if depth or leaf:
            lines.append(f"{indent}{condition or 'always'}{outcome}")
        if not leaf:
            for side, child in ((False, tree.children_right), (True, tree.children_left)):
                stack.append((int(child[node]), depth + 1, split_text(tree, node, left=side)))
    return "\n".join(lines)
