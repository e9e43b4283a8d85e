"""What readers of model files share: bounded bytes, JSON and nodes."""

from __future__ import annotations

import numpy as np
import pytest

from steadytree.exceptions import TreeFormatError
from steadytree.formats.stored_nodes import (
    check_category_sizes,
    check_features,
    nest_nodes,
    split_around_missing,
)
from steadytree.tree.nested import Branch, Leaf, Node, build_tree


def nest(*children: tuple[int, int] | None) -> Node:
    return nest_nodes(
        children,
        lambda i: Leaf([float(i)]),
        lambda i, left, right: Branch(
            feature=0, left=left, right=right, threshold=float(i), missing_left=True
        ),
    )


def test_a_table_of_nodes_becomes_conditions_and_forgets_pruned_ones() -> None:
    tree = build_tree(nest((4, 2), None, (1, 3), None, None, (0, 0)), n_features=1)
    assert tree.value[tree.leaves, 0].tolist() == [4.0, 1.0, 3.0]


@pytest.mark.parametrize(
    ("children", "match"),
    [
        ([], "1 to 1,000,000 nodes"),
        ([(1, 2), None], r"a child in \[0, 2\), got 2"),
        ([(1, -1), None], r"a child in \[0, 2\), got -1"),
        ([(1, 1), None], "a cycle or two parents"),
        ([(0, 1), None], "a cycle or two parents"),
        ([(1, 2), (0, 2), None], "a cycle or two parents"),
        ([*((i + 1, i + 2000) for i in range(1500)), *[None] * 2000], "at most 1000 levels"),
    ],
)
def test_tables_that_are_no_trees(children: list[tuple[int, int] | None], match: str) -> None:
    with pytest.raises(TreeFormatError, match=match):
        nest(*children)


def test_features_and_categories_have_bounds() -> None:
    check_features([0, 4], 5)
    with pytest.raises(TreeFormatError, match=r"node 1: expected feature in \[0, 5\), got 5"):
        check_features([0, 5], 5)
    check_category_sizes([])
    check_category_sizes([250_000])
    for sizes in ([250_001], [100_000] * 101):
        with pytest.raises(TreeFormatError, match="at most 250,000 categories"):
            check_category_sizes(sizes)


@pytest.mark.parametrize("missing_left", [False, True])
@pytest.mark.parametrize("threshold", [-3.0, -1.0, 0.0, 1.0, 3.0])
def test_values_that_count_as_missing(threshold: float, missing_left: bool) -> None:
    """Those above -1 up to 1 go with the missing ones, others by the threshold."""
    root = split_around_missing(0, threshold, (-1.0, 1.0), missing_left, Leaf([1.0]), Leaf([0.0]))
    x = np.array([-4.0, -3.0, -2.0, -1.0, -0.5, 0.0, 1.0, 2.0, 3.0, 4.0, np.nan])
    missing = np.isnan(x) | ((x > -1) & (x <= 1))
    left = np.where(missing, missing_left, x <= threshold)
    np.testing.assert_array_equal(build_tree(root, n_features=1).predict(x[:, None]), left)
