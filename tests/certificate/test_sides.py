"""Trees that share their first condition: relaxed values below exact ones, leaves to trees."""

from __future__ import annotations

import numpy as np
import pytest

from steadytree.certificate.bound import FirstConditions, Part, Relaxation
from steadytree.certificate.family import LeafwiseObjective, choose_cuts, make_family
from steadytree.certificate.loops import Leaves
from tests.certificate.brute_force import Judge, all_subtrees
from tests.certificate.samples import TASKS, small_search


def whole_tree(run, depth, price, most=5):
    """All trees on some cuts, from the root."""
    cuts = choose_cuts(run.make, [run.start], most, run.limits.min_leaf)
    family = make_family(run, cuts, depth)
    objective = LeafwiseObjective(run, price)
    none = Leaves(*(np.zeros(0) for _ in range(3)), np.zeros((0, family.layout.base.size)))
    part = Part(run.start.rows, family.layout.full, none)
    return cuts, objective, FirstConditions(family, objective, part)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_any_relaxation_is_below_every_tree_with_that_first_condition(task, depth):
    run, price = small_search(task, 1, n=70), 0.1
    cuts, objective, place = whole_tree(run, depth, price, most=4)
    judge, rng = Judge(run, price), np.random.default_rng(0)
    for cut, split in enumerate(cuts):
        sides = run.make.divide(run.start.rows, split)
        enough = min(run.make.leaf(rows).n_real for rows in sides) >= run.limits.min_leaf
        assert place.prepare(cut) == enough
        if not enough:
            continue
        below = [list(all_subtrees(run, cuts, depth - 1, rows)) for rows in sides]
        some = [subtrees[:: max(1, len(subtrees) // 12)] for subtrees in below]
        trees = [
            run.make.join(run.start.rows, split, left, right)
            for left in some[0]
            for right in some[1]
        ]
        # The deployed tree itself is charged for an edit here, like all others.
        values = [judge(tree) + (0.0 if judge.differs(tree) else run.edit_cost) for tree in trees]
        square = np.array([[0.5, 0.0], [0.0, 0.5]])
        for _ in range(3):
            multipliers = rng.random(objective.judging.rule_price.size) * 0.3
            by = Relaxation(multipliers, square, (0.0, 0.0))
            by = Relaxation(multipliers, square, place.interval(by))
            relaxed, used = place.relax(by)
            assert relaxed <= min(values) + 1e-9
            assert relaxed <= place.met()[0] + 1e-9
            assert (used >= 0).all()


def test_leaves_tell_the_conditions_of_their_tree():
    run = small_search("binary", 2, n=120)
    cuts, objective, place = whole_tree(run, 3, 0.0, most=8)
    judge = Judge(run, 0.0)
    by = Relaxation(
        np.zeros(objective.judging.rule_price.size),
        np.array([[0.5, 0.0], [0.0, 0.5]]),
        (0.0, 0.0),
    )
    built = 0
    for cut in range(len(cuts)):
        if not place.prepare(cut):
            continue
        place.relax(by)
        value, _ = place.met()

        def build(tree, rows):
            if tree is None:
                return run.make.leaf(rows)
            at, one, two = tree
            below, above = run.make.divide(rows, cuts[at])
            return run.make.join(rows, cuts[at], build(one, below), build(two, above))

        tree = build(place.conditions(cut), run.start.rows)
        fresh = judge(tree) + (0.0 if judge.differs(tree) else run.edit_cost)
        assert value == pytest.approx(fresh, abs=1e-9)
        built += 1
    assert built > 3
