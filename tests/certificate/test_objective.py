"""The objective leaf by leaf: that of the search, with the kindest labels permitted."""

from __future__ import annotations

import pytest

from steadytree.certificate.family import LeafwiseObjective
from steadytree.tree.decision import STEADY
from tests.certificate.brute_force import Judge
from tests.certificate.samples import TASKS, small_search


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("steady", [STEADY, 0.0])
def test_it_is_that_of_brute_force_for_every_tree_on_the_path(task, steady):
    run = small_search(task, 2, leaves=4, steady=steady)
    for edited in run.path((0.5, 0.1, 0.02)):
        objective, judge = LeafwiseObjective(run, edited.price), Judge(run, edited.price)
        value = objective.of(edited.root)
        assert value == pytest.approx(judge(edited.root), abs=1e-9)
        charged = run.edit_cost if judge.differs(edited.root) else 0.0
        assert value <= run.objective(edited.root, edited.price) + charged + 1e-9


def test_a_deployed_leaf_without_rows_is_judged_by_what_it_says():
    run = small_search("binary", 0)
    empty = run.make.leaf(run.start.rows[:0], inherited_label=1, prior=run.start.prior)
    split, left, right = run.start.parts
    root = run.make.join(run.start.rows, split, left, right)
    lone = run.make.join(run.start.rows, split, empty, right)
    for tree in (root, lone):
        value = LeafwiseObjective(run, 0.2).terms(tree).value
        assert value <= run.objective(tree, 0.2) + 1e-9
