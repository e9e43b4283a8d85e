"""The teacher and its ensembles: honest targets, augmentation, drift, and what is distilled."""

from __future__ import annotations

from math import ceil

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.metrics import r2_score, roc_auc_score

from steadytree.growing import _loops
from steadytree.growing import teacher as ensembles
from steadytree.growing._loops import GrowthLimits
from steadytree.growing.leaf_values import shares_of, target_columns
from steadytree.growing.teacher import (
    MOST_BINS,
    Boosting,
    ColumnBins,
    Forest,
    augment,
    blend_with_deployed,
    choose_teacher,
    distil_tree,
    fit_teacher,
    leaf_rows,
    size_by_minority,
    teach,
)
from steadytree.tree.rows import CodedRows
from steadytree.tree.space import FeatureSpace
from steadytree.tree.tree import Tree
from tests.growing.mixed import mixed_table, space_of

FOREST = GrowthLimits(MOST_BINS + 1, 5, 5, 1e-12, 0)


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


# -- ensembles -----------------------------------------------------------------------------


def boosted(X, targets, n_classes=2, *, rows=None, weight=None, n_rounds=30):
    """Bins, and a model of small trees with its scores; a third of the features for each split."""
    bins = ColumnBins(X)
    table = bins.transform(X)
    limits = GrowthLimits(MOST_BINS + 1, ceil(0.3 * X.shape[1]), 20, 1e-3, 4)
    rows = np.arange(len(X)) if rows is None else rows
    weight = np.ones(len(X)) if weight is None else weight
    options = {"n_classes": n_classes, "n_rounds": n_rounds, "step": 0.1, "seed": 0}
    return bins, *Boosting.fit(table, targets, weight, limits, rows=rows, **options)


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(y))
    return X[rows], y[rows]


def test_bins_hold_the_order_of_the_values():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=900), rng.integers(0, 3, 900), np.full(900, np.nan)])
    X[::7, 0] = np.nan
    bins = ColumnBins(X)
    table = bins.transform(X)
    assert table.by_row.dtype == np.uint8
    np.testing.assert_array_equal(table.by_row.T, table.by_column)
    codes = table.by_column[0].astype(int)
    assert (codes[::7] == 255).all()
    assert codes[np.arange(900) % 7 > 0].max() < 255
    order = np.argsort(X[:, 0])
    assert (np.diff(codes[order]) >= 0).all()  # missing values come last
    assert set(table.by_column[1]) == {0, 1, 2}
    assert set(table.by_column[2]) == {255}
    assert bins.transform(np.array([[-99.0, 99.0, 1.0]])).by_row.tolist() == [[0, 2, 0]]


def test_a_forest_ranks_as_well_as_scikit_learns(cancer):
    X, y = cancer
    table = ColumnBins(X).transform(X)
    kept = {"n_trees": 60, "seed": 0}
    forest, out = Forest.fit(table, target_columns(y, 2), np.ones(len(y)), FOREST, **kept)
    theirs = RandomForestClassifier(60, min_samples_leaf=5, oob_score=True, random_state=0)
    expected = roc_auc_score(y, theirs.fit(X, y).oob_decision_function_[:, 1])
    assert roc_auc_score(y, out[:, 0]) == pytest.approx(expected, abs=0.01)
    assert roc_auc_score(y, forest.predict(table)[:, 0]) > roc_auc_score(y, out[:, 0])


def test_boosting_ranks_as_well_as_scikit_learns(cancer):
    X, y = cancer
    train, test = np.arange(380), np.arange(380, len(y))
    bins, model, score = boosted(X, target_columns(y, 2), rows=train, n_rounds=50)
    theirs = HistGradientBoostingClassifier(
        learning_rate=0.1, max_iter=50, max_leaf_nodes=4, max_features=0.3, early_stopping=False
    ).fit(X[train], y[train])
    expected = roc_auc_score(y[test], theirs.predict_proba(X[test])[:, 1])
    found = model.predict(bins.transform(X[test]))
    assert roc_auc_score(y[test], found[:, 0]) == pytest.approx(expected, abs=0.02)
    np.testing.assert_allclose(model.shares(score)[test], found, atol=1e-9)


def test_classes_and_responses():
    X, y = load_wine(return_X_y=True)
    bins, model, _ = boosted(X, target_columns(y, 3), 3)
    shares = model.predict(bins.transform(X))
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert (shares.argmax(axis=1) == y).mean() > 0.95
    X, y = load_diabetes(return_X_y=True)
    bins, model, _ = boosted(X, y[:, None], None, n_rounds=50)
    assert 0.4 < r2_score(y, model.predict(bins.transform(X))[:, 0]) < 0.9


def test_weights_count_as_repeats_of_what_is_learnt(cancer):
    """Rows without weight change nothing, and twice the weight everywhere nothing either."""
    X, y = cancer
    table = ColumnBins(X).transform(X)
    targets, weight = target_columns(y, 2), np.ones(len(y))
    weight[300:] = 0.0
    flipped = targets.copy()
    flipped[300:] = 1 - flipped[300:]
    fits = [
        Forest.fit(table, outcome, times * weight, FOREST, n_trees=10, seed=0)[0].predict(table)
        for outcome, times in ((targets, 1.0), (flipped, 1.0), (targets, 2.0))
    ]
    np.testing.assert_array_equal(fits[0], fits[1])
    np.testing.assert_allclose(fits[0], fits[2])
    one, other = (boosted(X, t, weight=weight, n_rounds=10)[1] for t in (targets, flipped))
    np.testing.assert_array_equal(one.predict(table), other.predict(table))


def test_large_tables_are_drawn_from(cancer, monkeypatch):
    """A tree is fitted to a bounded number of rows, and the others are predicted out of bag."""
    X, y = cancer
    monkeypatch.setattr(ensembles, "ROWS_PER_TREE", 100)
    seen = []
    plain = _loops.loops().grow_tree

    class Watched:
        add_values = staticmethod(_loops.loops().add_values)

        @staticmethod
        def grow_tree(*args):
            seen.append(len(args[1]))
            return plain(*args)

    monkeypatch.setattr(ensembles, "loops", lambda: Watched)
    table, targets = ColumnBins(X).transform(X), target_columns(y, 2)
    _, out = Forest.fit(table, targets, np.ones(len(y)), FOREST, n_trees=40, seed=0)
    assert max(seen) <= 100
    assert roc_auc_score(y, out[:, 0]) > 0.95
    seen.clear()
    *_, score = boosted(X, targets)
    assert set(seen) == {100}
    assert roc_auc_score(y, score[:, 0]) > 0.95


def test_scores_far_beyond_any_share_overflow_nowhere() -> None:
    shares = Boosting([], np.zeros(1), 0.1, 2).shares(np.array([-1e4, 0.0, 1e4]))
    assert shares.tolist() == [0.0, 0.5, 1.0]


# -- distilled trees -----------------------------------------------------------------------


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
    assert size_by_minority(np.arange(9), 9) == 9  # a leaf for every class
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
