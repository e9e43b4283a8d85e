"""Distilled trees: their size, their values, and that they say what the teacher says."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from steadytree.growing.leaf_values import shares_of, target_columns
from steadytree.growing.teacher import (
    distil_tree,
    fit_teacher,
    leaf_rows,
    size_by_minority,
    teach,
)
from steadytree.tree.rows import CodedRows
from tests.growing.mixed import mixed_table, space_of


def test_size_follows_the_rows_outside_the_largest_class():
    y = np.zeros(1000, dtype=int)
    assert size_by_minority(y, 2) == 6
    y[:30] = 1
    assert size_by_minority(y, 2) == 12
    y[:500] = 1
    assert size_by_minority(y, 2) == 16
    assert size_by_minority(y, 2, most=24) == 24
    three = np.repeat([0, 1, 2], [970, 15, 15])
    assert size_by_minority(three, 3) == 12
    assert size_by_minority(np.zeros(100), None) == 10


def test_every_class_may_have_a_leaf():
    assert size_by_minority(np.arange(9), 9) == 9
    assert size_by_minority(np.repeat(np.arange(26), 100), 26) == 26


def test_few_rows_can_still_be_split():
    assert [leaf_rows(n) for n in (30, 80, 150, 200, 10_000)] == [8, 8, 15, 20, 20]


@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
def test_leaf_values_are_rates_of_real_rows_steadied_by_the_teacher(task):
    X, y = mixed_table(400, 5, task=task)
    space = space_of(X, y, task)
    n_classes = {"binary": 2, "multiclass": 3, "regression": None}[task]
    coded = space.encode(X)
    rows = CodedRows(coded, y)
    teacher = fit_teacher(space, rows, n_classes=n_classes, n_estimators=20)
    taught = teach(teacher, rows, teacher.out_of_bag, copies=1)
    classes = None if n_classes is None else tuple(range(n_classes))
    tree = distil_tree(taught, space, classes=classes, max_leaves=6, min_leaf=20, max_depth=4)
    assert 2 <= tree.n_leaves <= 6
    assert tree.depth <= 4
    leaf = tree.apply_coded(coded)
    outcomes = target_columns(y, n_classes)
    for node in np.unique(leaf):
        here = leaf == node
        teachers, rate = teacher.out_of_bag[here].mean(axis=0), outcomes[here].mean(axis=0)
        k = tree.observed.strength[node]
        value = (here.sum() * rate + k * teachers) / (here.sum() + k)
        np.testing.assert_allclose(tree.value[node], shares_of(value, n_classes), atol=1e-9)
        np.testing.assert_allclose(tree.observed.rate()[node], shares_of(rate, n_classes))
        assert tree.weight[node] == tree.observed.rows()[node] == here.sum() >= 20
    assert tree.feature_importances().sum() == pytest.approx(1)


def test_a_distilled_tree_finds_the_rule():
    X, y = mixed_table(1500, 0)
    space = space_of(X, y, "binary")
    coded = space.encode(X)
    rows = CodedRows(coded, y)
    teacher = fit_teacher(space, rows, n_classes=2, n_estimators=50)
    taught = teach(teacher, rows, teacher.out_of_bag)
    tree = distil_tree(taught, space, classes=(0, 1), max_leaves=8, min_leaf=32, max_depth=8)
    X_test, y_test = mixed_table(2000, 9)
    assert roc_auc_score(y_test, tree.predict_proba(X_test)[:, 1]) > 0.75
    used = {space.feature_labels[j] for j in tree.feature[tree.feature >= 0]}
    assert used == {"age", "dose", "colour"}
