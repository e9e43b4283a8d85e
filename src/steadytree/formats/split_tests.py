"""What a split asks of a row, in terms that every other system has.

Values are compared as doubles, categories listed by their own values, and where missing values
and categories never met go is said for each split.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from steadytree.formats.thresholds import double_threshold
from steadytree.plugins import Tree


@dataclass(frozen=True)
class SplitTest:
    """The question at a split.

    Attributes
    ----------
    feature, name
        Which feature, and what it is called.
    threshold : float or None
        A double x goes left if ``x <= threshold``. Infinite: every present value does, or with a
        minus none. None: the feature is categorical.
    left, right : tuples
        The categories that go either way.
    missing_left, unseen_left : bool
        Where missing values go, and categories that are in neither list.
    """

    feature: int
    name: str
    threshold: float | None
    left: tuple[Any, ...]
    right: tuple[Any, ...]
    missing_left: bool
    unseen_left: bool

    @property
    def listed(self) -> tuple[tuple[Any, ...], bool]:
        """Categories to name, and whether being one of them means going left.

        Those of the side that a category never met does not take: all others take that side.
        """
        return (self.right, False) if self.unseen_left else (self.left, True)


def split_test(tree: Tree, node: int) -> SplitTest:
    """Return what a split of a tree asks."""
    feature = int(tree.feature[node])
    codes, categories = tree.left_categories[node], tree.categories[feature] or ()
    goes_left, threshold = set(codes or ()), float(tree.threshold[node])
    return SplitTest(
        feature=feature,
        name=tree.feature_labels[feature],
        threshold=None if np.isnan(threshold) else double_threshold(threshold, tree.precision),
        left=tuple(categories[code] for code in codes or ()),
        right=tuple(c for code, c in enumerate(categories) if code not in goes_left),
        missing_left=bool(tree.missing_left[node]),
        unseen_left=bool(tree.unseen_left[node]),
    )


def fits(number: Any, kind: type[np.floating[Any]]) -> bool:
    """Whether a number is one of this precision."""
    try:
        with np.errstate(over="ignore"):
            return bool(np.isfinite(kind(number)) and float(kind(number)) == number)
    except OverflowError:
        return False
