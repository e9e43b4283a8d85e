"""The number of leaves: chosen by rows left out, the smallest that is as good as any."""

from __future__ import annotations

import numpy as np
import pytest

from steadytree.core.rows import CodedRows
from steadytree.growing.distillation import distil_tree
from steadytree.growing.sizing import choose_size, one_error_rule
from steadytree.growing.teacher import fit_teacher, half_the_trees, row_losses, teach
from tests.growing.mixed import mixed_table, space_of

SETTINGS = {"min_leaf": 8, "max_depth": 5, "n_estimators": 8, "copies": 1, "n_jobs": None}


def test_the_rule_by_hand():
    losses = np.array([[3.0, 1.0, 1.0], [3.0, 2.0, 1.0], [3.0, 1.0, 2.0], [3.0, 2.0, 1.0]])
    choice = one_error_rule(losses, np.ones(4), (2, 3, 4))
    np.testing.assert_allclose(choice.loss, [3.0, 1.5, 1.25])
    excess = losses[:, 1] - losses[:, 2]
    np.testing.assert_allclose(choice.error[1], excess.std() / 2)
    assert excess.mean() < excess.std() / 2
    assert choice.chosen == 3
    np.testing.assert_allclose(choice.above_best, [1.75, 0.25, 0.0])


def test_weights_count_as_rows():
    rng = np.random.default_rng(1)
    losses = rng.random((40, 5))
    weight = rng.integers(0, 3, size=40)
    one = one_error_rule(losses, weight.astype(float), range(2, 7))
    repeated = one_error_rule(np.repeat(losses, weight, axis=0), np.ones(weight.sum()), range(2, 7))
    np.testing.assert_allclose(one.loss, repeated.loss)
    assert one.loss.argmin() == repeated.loss.argmin()


@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
def test_losses_are_those_of_trees_made_without_the_rows(task):
    X, y = mixed_table(300, 2, task=task)
    space = space_of(X, y, task)
    n_classes = {"binary": 2, "multiclass": 3, "regression": None}[task]
    rows = CodedRows(space.encode(X), y)
    choice = choose_size(space, rows, n_classes=n_classes, seed=3, **SETTINGS)
    from steadytree.evaluation.folds import make_folds

    total = 0.0
    for train, test in make_folds(y, classifier=n_classes is not None, n_folds=5, seed=3):
        part = rows.take(train)
        teacher = fit_teacher(
            space, part, n_classes=n_classes, n_estimators=half_the_trees(8), seed=3
        )
        taught = teach(teacher, part, teacher.out_of_bag, copies=1, seed=14)
        tree = distil_tree(
            taught,
            space,
            classes=None if n_classes is None else tuple(range(n_classes)),
            max_leaves=4,
            min_leaf=8,
            max_depth=5,
            precision="float32",
        )
        value = tree.value[tree.apply_coded(tree.round_values(rows.coded[test]))]
        shares = value[:, 1:] if n_classes == 2 else value
        total += row_losses(y[test], shares, n_classes).sum()
    assert choice.loss[list(choice.leaves).index(4)] == pytest.approx(total / len(y), rel=1e-12)


def test_a_class_of_one_row_cannot_be_left_out():
    X, y = mixed_table(60, 0)
    space = space_of(X, y, "binary")
    y = np.zeros(60, dtype=int)
    y[0] = 1
    rows = CodedRows(space.encode(X), y)
    assert choose_size(space, rows, n_classes=2, seed=0, **SETTINGS) is None
