"""Names that would break a format which does not escape them."""

from __future__ import annotations

from typing import Any

import steadytree as st
from steadytree.core.branches import Branch, Leaf, build_tree

NAME = 'a"b\\N|c <b>&amp;</b>\n`x` #quot; %% [*_$]; =1+1'
CATEGORIES = ('=cmd|" /C calc"!A1', "<script>&lt;", "two\nlines", "-->", "plain")
CLASSES = ('no"]', "<yes>|\\")


def nasty_tree() -> st.Tree:
    """Make a tree whose feature, categories and classes are full of marks."""
    root: Any = Branch(
        feature=0,
        left=Leaf([0.7, 0.3], 3.0),
        right=Branch(
            feature=1,
            threshold=-2.5,
            left=Leaf([0.2, 0.8], 5.0),
            right=Leaf([0.6, 0.4], 2.0, 1),
            missing_left=True,
        ),
        left_categories=(0, 1, 2),
        missing_left=False,
    )
    return build_tree(
        root,
        n_features=2,
        feature_names=(NAME, "@sum"),
        categories=(CATEGORIES, None),
        classes=CLASSES,
    )
