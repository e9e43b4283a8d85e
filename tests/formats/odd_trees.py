"""Trees that put text and depth to the test: names that mean something in code, long chains."""

from __future__ import annotations

import numpy as np

import steadytree as st
from steadytree.tree.nested import Branch, Leaf, Node, build_tree

NASTY = (
    "it's",
    'say "hi"',
    "back\\slash",
    "ends in \\",
    "two\nlines",
    "*/ int x; /*",
    "// comment",
    "-- comment",
    "'; DROP TABLE rows; --",
    '"; import os; os.abort()',
    "\u2028system()",
    "</script><script>",
    "??/ ??'",
    "{braces} %s $1 `tick`",
    "coding: rot13",
    "größe 漢字 😀",
    "tab\tand \x07",
    "]] or 1=1",
)
"""Names and categories that would do harm or break code if they were written as they are."""


def nasty_tree() -> st.Tree:
    """Return a tree whose features, categories, classes and source carry such names."""
    n = len(NASTY)
    root: Node = Leaf([0.3, 0.7])
    for k in range(n):
        here = Leaf([1 - 1 / (k + 2), 1 / (k + 2)])
        if k % 2:
            root = Branch(feature=k, left=here, right=root, threshold=float(k), missing_left=k > 9)
        else:
            codes = tuple(c for c in range(n) if (c + k) % 3)
            root = Branch(
                feature=k,
                left=here,
                right=root,
                left_categories=codes,
                missing_left=k % 4 == 0,
                unseen_left=k > 9,
            )
    return build_tree(
        root,
        n_features=n,
        feature_names=NASTY,
        categories=tuple(None if k % 2 else NASTY for k in range(n)),
        classes=(NASTY[4], NASTY[8]),
        metadata={"source": "\n".join(NASTY)},
    )


MARKED_NAME = 'a"b\\N|c <b>&amp;</b>\n`x` #quot; %% [*_$]; =1+1'
MARKED_CATEGORIES = ('=cmd|" /C calc"!A1', "<script>&lt;", "two\nlines", "-->", "plain")
MARKED_CLASSES = ('no"]', "<yes>|\\")


def marked_tree() -> st.Tree:
    """Return a small tree whose names are full of the marks of tables, pictures and sheets.

    Its last leaf keeps its label against its share.
    """
    root: Node = Branch(
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
        feature_names=(MARKED_NAME, "@sum"),
        categories=(MARKED_CATEGORIES, None),
        classes=MARKED_CLASSES,
    )


def chain(length: int, *, leftwards: bool = False) -> st.Tree:
    """Return a tree as deep as it has splits, on two numbers."""
    rng = np.random.default_rng(length)
    root: Node = Leaf([0.5])
    for k in range(length):
        leaf = Leaf([float(rng.normal())])
        threshold = float(k if leftwards else length - k) + float(rng.normal(scale=0.01))
        sides = (root, leaf) if leftwards else (leaf, root)
        root = Branch(
            feature=k % 2,
            left=sides[0],
            right=sides[1],
            threshold=threshold,
            missing_left=k % 7 == 0,
        )
    return build_tree(root, n_features=2, feature_names=("a", "b"))


def bushy(depth: int) -> st.Tree:
    """Return a tree with every leaf at one depth."""
    rng = np.random.default_rng(depth)

    def grow(level: int) -> Node:
        if level == depth:
            return Leaf(rng.dirichlet(np.ones(3)))
        return Branch(
            feature=int(rng.integers(4)),
            left=grow(level + 1),
            right=grow(level + 1),
            threshold=float(rng.normal()),
            missing_left=bool(rng.random() < 0.5),
        )

    return build_tree(grow(0), n_features=4, classes=(1, 2, 3))
