"""Cut points: those of both trees first, then promising ones, each once."""

from __future__ import annotations

import pytest

from steadytree.certificate.family import choose_cuts, cut_key
from steadytree.growing.best_first import Split
from steadytree.growing.nodes import nodes_of
from tests.certificate.samples import TASKS, small_search


@pytest.mark.parametrize("task", TASKS)
def test_the_conditions_of_both_trees_are_always_among_them(task):
    run = small_search(task, 2, leaves=5)
    edited = run.path((0.05,))[0]
    for most in (1, 12, 40):
        cuts = choose_cuts(run.make, [run.start, edited.root], most, run.limits.min_leaf)
        keys = [cut_key(cut, run.make.table) for cut in cuts]
        assert len(set(keys)) == len(keys)
        needed = {
            cut_key(node.parts[0], run.make.table)
            for root in (run.start, edited.root)
            for node in nodes_of(root)
            if not node.is_leaf
        }
        assert needed <= set(keys)
        assert len(cuts) <= max(most, len(needed))
        assert [cut.feature for cut in cuts] == sorted(cut.feature for cut in cuts)


def test_all_kinds_of_conditions_are_offered():
    run = small_search("binary", 0, n=200)
    cuts = choose_cuts(run.make, [run.start], 60, 6)
    assert len(cuts) == 60
    assert any(cut.left is not None for cut in cuts)
    dose = [cut for cut in cuts if cut.feature == 1]
    assert {cut.missing_left for cut in dose} == {False, True}
    assert any(cut.threshold == float("inf") for cut in dose)  # is it missing?


def test_a_set_and_the_rest_of_its_categories_are_one_condition():
    table = small_search("binary", 0).make.table
    one = Split(2, float("nan"), (0, 1), False)
    two = Split(2, float("nan"), (2, 3), False)
    assert cut_key(one, table) == cut_key(two, table)
    assert cut_key(one, table) != cut_key(Split(2, float("nan"), (0,), False), table)
    # Nobody is missing an age: where missing values go makes no difference.
    ages = [Split(0, 50.0, None, side) for side in (False, True)]
    assert cut_key(ages[0], table) == cut_key(ages[1], table)
    doses = [Split(1, 0.0, None, side) for side in (False, True)]
    assert cut_key(doses[0], table) != cut_key(doses[1], table)
