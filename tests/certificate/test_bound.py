"""The bound: steps raise it, halved intervals close it, a margin is never overstated."""

from __future__ import annotations

import numpy as np
import pytest

from steadytree.certificate.bound import (
    Bounded,
    Relaxation,
    bound_part,
    close_gap,
    start_shape,
)
from tests.certificate.brute_force import Judge, all_subtrees
from tests.certificate.samples import TASKS, small_search
from tests.certificate.test_sides import whole_tree


def started(objective):
    return Relaxation(np.zeros(objective.judging.rule_price.size), start_shape([None]), (0, 0))


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("margin", [0.0, 0.01])
def test_from_nothing_known_the_best_tree_is_found_whatever_the_margin(task, margin):
    run, price = small_search(task, 3), 0.05
    cuts, objective, place = whole_tree(run, 2, price, most=7)
    out = Bounded(10.0)
    bounds = bound_part(place, 0, started(objective), out)
    first = min((value for value, _ in bounds.values()), default=out.best)
    lower = close_gap(lambda _: place, [bounds], margin, 1e12, out)
    judge = Judge(run, price)
    trees = [tree for tree in all_subtrees(run, cuts, 2, run.start.rows) if not tree.is_leaf]
    best = min(judge(tree) + (0 if judge.differs(tree) else run.edit_cost) for tree in trees)
    assert first <= lower
    assert lower == pytest.approx(best, abs=1e-8)
    assert out.best == pytest.approx(best, abs=1e-8)


def test_without_work_the_first_bounds_stand():
    run = small_search("binary", 3)
    _, objective, place = whole_tree(run, 2, 0.05, most=7)
    out = Bounded(0.0)
    bounds = bound_part(place, 0, started(objective), out)
    assert bounds == {}  # nothing can be better than a known tree that misses nothing
    out = Bounded(10.0)
    bounds = bound_part(place, 0, started(objective), out)
    lower = close_gap(lambda _: place, [bounds], 0.0, 0.0, out)
    assert lower == min(out.best, *(value for value, _ in bounds.values()))
    assert out.work == 0


def test_a_flat_shape_gives_way_to_the_unit_square():
    shape = np.array([[0.1, 0.2]])
    assert start_shape([None, shape]) is shape
    np.testing.assert_array_equal(start_shape([None]), [[0.5, 0], [0, 0.5]])
