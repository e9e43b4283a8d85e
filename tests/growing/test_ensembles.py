"""The teacher's ensembles: as good as scikit-learn's, honest out of bag, the same everywhere."""

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
from steadytree.growing.leaf_values import target_columns
from steadytree.growing.teacher import MOST_BINS, Boosting, ColumnBins, Forest

BOOSTED = {"step": 0.1, "seed": 0}
FOREST = GrowthLimits(MOST_BINS + 1, 5, 5, 1e-12, 0)


def _small_trees(table):
    """A third of the features for each split, as the teacher's boosting has it."""
    return GrowthLimits(MOST_BINS + 1, ceil(0.3 * len(table.by_column)), 20, 1e-3, 4)


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(y))
    return X[rows], y[rows]


def _table(X):
    bins = ColumnBins(X)
    return bins, bins.transform(X)


def test_bins_hold_the_order_of_the_values():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=900), rng.integers(0, 3, 900), np.full(900, np.nan)])
    X[::7, 0] = np.nan
    bins, table = _table(X)
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
    _, table = _table(X)
    kept = {"n_trees": 60, "seed": 0}
    forest, out = Forest.fit(table, target_columns(y, 2), np.ones(len(y)), FOREST, **kept)
    theirs = RandomForestClassifier(60, min_samples_leaf=5, oob_score=True, random_state=0)
    expected = roc_auc_score(y, theirs.fit(X, y).oob_decision_function_[:, 1])
    assert roc_auc_score(y, out[:, 0]) == pytest.approx(expected, abs=0.01)
    assert roc_auc_score(y, forest.predict(table)[:, 0]) > roc_auc_score(y, out[:, 0])


def test_boosting_ranks_as_well_as_scikit_learns(cancer):
    X, y = cancer
    bins, table = _table(X)
    train, test = np.arange(380), np.arange(380, len(y))
    weight = np.ones(len(y))
    model, score = Boosting.fit(
        table,
        target_columns(y, 2),
        weight,
        _small_trees(table),
        rows=train,
        n_classes=2,
        n_rounds=50,
        **BOOSTED,
    )
    theirs = HistGradientBoostingClassifier(
        learning_rate=0.1, max_iter=50, max_leaf_nodes=4, max_features=0.3, early_stopping=False
    ).fit(X[train], y[train])
    expected = roc_auc_score(y[test], theirs.predict_proba(X[test])[:, 1])
    found = model.predict(bins.transform(X[test]))
    assert roc_auc_score(y[test], found[:, 0]) == pytest.approx(expected, abs=0.02)
    np.testing.assert_allclose(model.shares(score)[test], found, atol=1e-9)


def test_classes_and_responses():
    X, y = load_wine(return_X_y=True)
    _, table = _table(X)
    every = np.arange(len(y))
    model, _ = Boosting.fit(
        table,
        target_columns(y, 3),
        np.ones(len(y)),
        _small_trees(table),
        rows=every,
        n_classes=3,
        n_rounds=30,
        **BOOSTED,
    )
    shares = model.predict(table)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert (shares.argmax(axis=1) == y).mean() > 0.95
    X, y = load_diabetes(return_X_y=True)
    _, table = _table(X)
    every = np.arange(len(y))
    model, _ = Boosting.fit(
        table,
        y[:, None],
        np.ones(len(y)),
        _small_trees(table),
        rows=every,
        n_classes=None,
        n_rounds=50,
        **BOOSTED,
    )
    assert 0.4 < r2_score(y, model.predict(table)[:, 0]) < 0.9


def test_weights_count_as_repeats_of_what_is_learnt(cancer):
    """Rows without weight change nothing, and twice the weight everywhere nothing either."""
    X, y = cancer
    _, table = _table(X)
    targets, weight = target_columns(y, 2), np.ones(len(y))
    weight[300:] = 0.0
    flipped = targets.copy()
    flipped[300:] = 1 - flipped[300:]
    common = {"n_trees": 10, "seed": 0}
    fits = [
        Forest.fit(table, outcome, times * weight, FOREST, **common)[0].predict(table)
        for outcome, times in ((targets, 1.0), (flipped, 1.0), (targets, 2.0))
    ]
    np.testing.assert_array_equal(fits[0], fits[1])
    np.testing.assert_allclose(fits[0], fits[2])
    rounds = {"n_classes": 2, "n_rounds": 10, **BOOSTED}
    every = np.arange(len(y))
    boosted = [
        Boosting.fit(table, outcome, weight, _small_trees(table), rows=every, **rounds)[0].predict(
            table
        )
        for outcome in (targets, flipped)
    ]
    np.testing.assert_array_equal(*boosted)


def test_large_tables_are_drawn_from(cancer, monkeypatch):
    """A tree is fitted to a bounded number of rows, and the others are predicted out of bag."""
    X, y = cancer
    _, table = _table(X)
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
    common = {"n_trees": 40, "seed": 0}
    _, out = Forest.fit(table, target_columns(y, 2), np.ones(len(y)), FOREST, **common)
    assert max(seen) <= 100
    assert roc_auc_score(y, out[:, 0]) > 0.95
    seen.clear()
    every = np.arange(len(y))
    _, score = Boosting.fit(
        table,
        target_columns(y, 2),
        np.ones(len(y)),
        _small_trees(table),
        rows=every,
        n_classes=2,
        n_rounds=30,
        **BOOSTED,
    )
    assert set(seen) == {100}
    assert roc_auc_score(y, score[:, 0]) > 0.95


def test_scores_far_beyond_any_share_overflow_nowhere() -> None:
    shares = Boosting([], np.zeros(1), 0.1, 2).shares(np.array([-1e4, 0.0, 1e4]))
    assert shares.tolist() == [0.0, 0.5, 1.0]
