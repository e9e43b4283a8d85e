"""The teacher: honest targets, augmentation, the drift switch, and the blend without old rows."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import roc_auc_score

from steadytree.growing.leaf_values import target_columns
from steadytree.growing.teacher import (
    augment,
    blend_with_deployed,
    choose_teacher,
    fit_teacher,
    teach,
)
from steadytree.tree.rows import CodedRows
from steadytree.tree.space import FeatureSpace
from steadytree.tree.tree import Tree
from tests.growing.mixed import mixed_table, space_of


@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
def test_targets_have_the_columns_of_the_task(task):
    X, y = mixed_table(250, 0, task=task)
    space = space_of(X, y, task)
    n_classes = {"binary": 2, "multiclass": 3, "regression": None}[task]
    teacher = fit_teacher(
        space, CodedRows(space.encode(X), y), n_classes=n_classes, n_estimators=20
    )
    width = 3 if task == "multiclass" else 1
    assert teacher.out_of_bag.shape == (250, width)
    assert np.isfinite(teacher.out_of_bag).all()
    if task == "multiclass":
        np.testing.assert_allclose(teacher.out_of_bag.sum(axis=1), 1)
        np.testing.assert_allclose(teacher.predict(space.encode(X)).sum(axis=1), 1)
    target = target_columns(y, n_classes)
    own = ((teacher.predict(space.encode(X)) - target) ** 2).sum()
    honest = ((teacher.out_of_bag - target) ** 2).sum()
    assert own < honest  # rows it has seen look easier than they are


def test_own_rows_are_predicted_as_if_unseen():
    X, y = mixed_table(400, 3)
    rng = np.random.default_rng(0)
    noise = rng.permutation(y)  # outcomes that nothing predicts
    space = space_of(X, noise, "binary")
    coded = space.encode(X)
    teacher = fit_teacher(space, CodedRows(coded, noise), n_classes=2, n_estimators=100)
    assert roc_auc_score(noise, teacher.predict(coded)[:, 0]) > 0.75
    assert abs(roc_auc_score(noise, teacher.out_of_bag[:, 0]) - 0.5) < 0.1


def test_few_trees_leave_no_row_without_target():
    X, y = mixed_table(60, 0, task="regression")
    space = space_of(X, y, "regression")
    teacher = fit_teacher(space, CodedRows(space.encode(X), y), n_classes=None, n_estimators=2)
    assert np.isfinite(teacher.out_of_bag).all()
    assert np.abs(teacher.out_of_bag).max() <= np.abs(y).max() + 1


def test_augmentation_swaps_values_within_columns():
    X, _ = mixed_table(200, 1)
    coded = space_of(X, np.zeros(200), "regression").encode(X)
    extra = augment(coded, 3, np.random.default_rng(0))
    assert extra.shape == (600, 4)
    for j in range(4):
        assert set(np.unique(extra[:, j][~np.isnan(extra[:, j])])) <= set(coded[:, j])
    same = (extra == np.tile(coded, (3, 1)))[:, 0].mean()
    assert 0.4 < same < 0.6


def test_augmented_rows_weigh_as_much_as_the_real_ones():
    X, y = mixed_table(150, 1)
    space = space_of(X, y, "binary")
    weight = np.linspace(1, 2, 150)
    rows = CodedRows(space.encode(X), y)
    teacher = fit_teacher(space, rows, n_classes=2, n_estimators=20)
    taught = teach(teacher, rows.with_weight(weight), teacher.out_of_bag, copies=2)
    assert taught.weight[:150].sum() == pytest.approx(taught.weight[150:].sum())
    assert taught.n_real == 150
    assert len(teach(teacher, rows, teacher.out_of_bag, copies=0).weight) == 150


def _rows(n, seed, *, flipped):
    X, y = load_breast_cancer(return_X_y=True)
    rows = np.random.default_rng(seed).permutation(len(y))[:n]
    return X[rows], (1 - y[rows] if flipped else y[rows])


@pytest.mark.parametrize("flipped", [False, True])
def test_the_switch_sees_a_broken_concept_and_nothing_else(flipped):
    old, new = _rows(250, 0, flipped=False), _rows(250, 1, flipped=flipped)
    space = FeatureSpace.from_data(np.concatenate([old[0], new[0]]))
    teacher, targets, drift = choose_teacher(
        space, CodedRows(*old), CodedRows(*new), n_classes=2, n_estimators=40
    )
    assert drift is not None
    assert drift.detected == flipped
    assert (drift.statistic > 2) == flipped
    assert len(targets) == 500
    # The targets of the new rows follow the new outcomes in either case.
    assert roc_auc_score(new[1], targets[250:, 0]) > 0.9
    assert roc_auc_score(new[1], teacher.predict(new[0])[:, 0]) > 0.9


def test_too_few_new_cases_are_not_asked():
    old, new = _rows(200, 0, flipped=False), _rows(200, 1, flipped=True)
    keep = np.r_[np.flatnonzero(new[1] == 0), np.flatnonzero(new[1] == 1)[:5]]
    space = FeatureSpace.from_data(old[0])
    _, _, drift = choose_teacher(
        space, CodedRows(*old), CodedRows(*new).take(keep), n_classes=2, n_estimators=10
    )
    assert drift is not None
    assert not drift.detected
    assert np.isnan(drift.statistic)


@pytest.mark.parametrize(("value", "low", "high"), [(0.02, 0.3, 1.0), (0.98, 0.0, 0.05)])
def test_the_blend_believes_a_deployed_tree_as_far_as_it_fits(value, low, high):
    rng = np.random.default_rng(0)
    X = rng.random((120, 3))
    y = (rng.random(120) < np.where(X[:, 0] <= 0.5, 0.02, 0.98)).astype(np.int64)
    space = FeatureSpace.from_data(X)
    share = np.array([0.5, value, 1 - value])
    tree = Tree(
        children_left=[1, -1, -1],
        children_right=[2, -1, -1],
        feature=[0, -1, -1],
        threshold=[0.5, np.nan, np.nan],
        value=np.column_stack([1 - share, share]),
        classes=(0, 1),
        n_features=3,
    )
    teacher = fit_teacher(space, CodedRows(X, y), n_classes=2, n_estimators=30)
    blended, targets = blend_with_deployed(teacher, tree, CodedRows(X, y))
    assert low <= blended.share <= high
    expected = (1 - blended.share) * teacher.out_of_bag[:, 0]
    expected += blended.share * tree.value[tree.apply(X), 1]
    np.testing.assert_allclose(targets[:, 0], expected)
    assert blended.predict(X).shape == (120, 1)
