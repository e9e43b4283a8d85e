"""Shares, means and thresholds of a published tree: coarse where few people are behind them."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import steadytree as st
from steadytree.publish import published_values


@pytest.mark.parametrize(
    ("hits", "rows", "threshold", "expected"),
    [
        (3, 43, None, 0.0),  # a step of 20 %: 10 % would stand for four people
        (12, 43, None, 0.2),
        (27, 900, None, 0.03),
        (304, 1000, 0.3, 0.3),
        (296, 1000, 0.3, 0.29),  # 30 % would be across the threshold
        (14, 43, 0.31, 0.4),  # so would 20 %, where 32.6 % is decided yes
        (13, 22, None, 0.75),  # a quarter of 22 are five; half would be decided no
        (1, 9, None, 0.0),
    ],
)
def test_a_share_is_rounded_in_steps_of_five_people_and_never_across_the_threshold(
    hits: int, rows: int, threshold: float | None, expected: float
) -> None:
    X = np.repeat([0.0, 1.0], [rows, 2000])[:, None]
    others = 100 if hits / rows >= (threshold or 0.5) else 1900
    y = np.r_[np.arange(rows) < hits, np.arange(2000) < others].astype(int)
    tree = st.as_tree(DecisionTreeClassifier(max_depth=1).fit(X, y), threshold)
    leaf = int(tree.apply(X[:1])[0])
    assert published_values(tree)[leaf, 1] == pytest.approx(expected)


def test_a_threshold_that_is_a_rate_of_the_rows_is_rounded() -> None:
    tree = st.as_tree(
        DecisionTreeClassifier(max_depth=1).fit([[0.0], [1.0], [1.0]], [0, 1, 0]), 65 / 238
    )
    assert st.publish_tree(tree).decision_threshold == 0.27
    assert st.publish_tree(tree).label[1:].tolist() == tree.label[1:].tolist()


def test_means_of_few_people_are_coarse() -> None:
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    model = DecisionTreeRegressor(max_leaf_nodes=40, random_state=0).fit(X, y)
    tree = st.as_tree(model)
    public = st.publish_tree(tree)
    few = [leaf for leaf in tree.leaves.tolist() if tree.weight[leaf] < 20]
    assert few
    # A twentieth of 25 to 346 is 16: the next round step is 20.
    assert all(public.value[leaf, 0] % 20 == 0 for leaf in few)
    for leaf in set(tree.leaves.tolist()) - set(few):
        assert public.value[leaf, 0] == float(f"{tree.value[leaf, 0]:.3g}")
