"""A tree with one part exchanged is the tree that has it, for criterion and distance."""

from __future__ import annotations

import pytest

from steadytree.retraining.edits.objective import TreeInParts, leaf_sums
from tests.retraining.edits.samples import problem, search


@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
def test_exchanged_parts_count_as_the_whole_tree(task):
    deployed, taught, space, _, _ = problem(task, 1)
    run = search(deployed, taught, space)
    run.price = 0.05
    tried = 0
    for _ in range(3):
        tree = TreeInParts(run.root, run.anchor, run.outcome)
        assert tree.distance == run.anchor.distance(run.root, run.outcome)
        for place in tree.places:
            for edit in run._candidates(place):
                root = edit.node
                for above, on_left in reversed(place.way):
                    split, left, right = above.parts
                    sides = (root, right) if on_left else (left, root)
                    root = run.make.join(above.rows, split, *sides, prior=above.prior)
                assert (tree.sums_with(place, edit.node) == leaf_sums(root)).all()
                exact = run.anchor.distance(root, run.outcome)
                assert tree.distance_with(place, edit.node) == exact
                tried += 1
        if not run._step():
            break
    assert tried > 10
