from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeRegressor

from steadytree.core.space import FeatureSpace
from steadytree.diff import diff_trees
from steadytree.readers import as_tree
from steadytree.report.disclosure import coarse_share, few, mask_partition, share_step
from steadytree.report.rules import RuleTable

cells = st.lists(st.integers(0, 60), min_size=1, max_size=12)


@given(cells, st.integers(1, 10))
def test_a_masked_cell_cannot_be_computed_from_the_rest(counts: list[int], least: int) -> None:
    masked = mask_partition(counts, least)
    small = np.array([few(count, least) for count in counts])
    assert np.all(masked[small])
    if not masked.any():
        return
    # Whoever knows the total and what is shown learns only the sum of the masked cells.
    people = int(np.array(counts)[masked].sum())
    everyone = all(masked[i] or counts[i] == 0 for i in range(len(counts)))
    assert everyone or (masked.sum() >= 2 and people >= least)


@given(cells, st.integers(1, 10))
def test_nothing_is_masked_without_need(counts: list[int], least: int) -> None:
    if not any(few(count, least) for count in counts):
        assert not mask_partition(counts, least).any()


def test_the_smallest_other_cell_is_masked_with_a_small_one() -> None:
    assert mask_partition([3, 200, 40], 5).tolist() == [True, False, True]
    assert mask_partition([3, 200, 40, 4], 5).tolist() == [True, False, False, True]
    assert mask_partition([1, 200, 40, 2], 5).tolist() == [True, False, True, True]
    assert mask_partition([3, 200], 5).tolist() == [True, True]
    assert mask_partition([0, 200, 40], 5).tolist() == [False, False, False]


@given(st.floats(0, 1), st.integers(1, 100_000), st.integers(1, 10))
def test_one_step_of_a_share_stands_for_enough_people(share: float, n: int, least: int) -> None:
    step = share_step(n, least)
    if n >= 10 * least:
        assert step * n >= least * 0.999999
    rounded = coarse_share(share, n, least)
    assert abs(rounded - share) <= step / 2 + 1e-4


@pytest.mark.parametrize(("n", "step"), [(600, 0.01), (300, 0.02), (171, 0.05), (40, 0.1)])
def test_steps_for_five_people(n: int, step: float) -> None:
    assert share_step(n, 5) == step


def test_a_mean_of_few_people_is_coarse_in_the_table_too() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.random((200, 2)), rng.random(200)
    model = DecisionTreeRegressor(min_samples_leaf=2, max_leaf_nodes=40, random_state=0).fit(X, y)
    space = FeatureSpace.from_data(X, y, task="regression")
    tree = as_tree(model, space=space)
    low, high = space.response_range or (0.0, 0.0)
    rows = RuleTable(diff_trees(tree, tree, space=space), min_cell=5).rows
    small = [row["new"] for row in rows if tree.weight[row["new"]["leaf"]] < 5]
    assert small
    for half in small:
        steps = (float(half["outcome"]) - low) / ((high - low) / 20)
        assert steps == pytest.approx(round(steps), abs=0.01)
