"""A sample for the rules, all rows for values and counts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steadytree.retraining import retrain, runs
from steadytree.retraining.given import draw_rows, share_sample, with_rate
from steadytree.tree.rows import CodedRows
from tests.growing.mixed import mixed_table
from tests.retraining.conftest import QUICK


@given(st.integers(0, 10**7), st.integers(1, 10**7), st.integers(100, 10**5))
def test_shares_of_a_sample(n_old, n_new, most):
    old, new = share_sample(n_old, n_new, most)
    assert 0 <= old <= n_old
    assert 1 <= new <= n_new
    if n_old + n_new <= most:
        assert (old, new) == (n_old, n_new)
    else:
        assert old + new <= most
        assert new == n_new or new >= most // 2


def test_classes_keep_their_share_and_the_seed_decides():
    y = np.repeat([0, 1, 2], [9000, 990, 10])
    rows = draw_rows(y, 1000, classifier=True, seed=3)
    assert np.bincount(y[rows]).tolist() == [900, 99, 1]
    assert (np.diff(rows) > 0).all()
    np.testing.assert_array_equal(rows, draw_rows(y, 1000, classifier=True, seed=3))
    assert not np.array_equal(rows, draw_rows(y, 1000, classifier=True, seed=4))
    assert len(draw_rows(y / 2, 1000, classifier=False, seed=3)) == 1000
    assert len(draw_rows(y, 20_000, classifier=True, seed=3)) == 10_000


def test_rows_stand_for_others_only_where_they_must():
    rows = CodedRows(np.zeros((3, 1)), np.zeros(3))
    assert with_rate(rows, 1.001) is rows
    assert with_rate(rows, 2.0).weights.tolist() == [2, 2, 2]


@pytest.mark.parametrize("with_old", [False, True])
def test_values_and_counts_come_from_all_rows(mixed, monkeypatch, with_old):
    """On a sample of 150 rows the counts were those of the sample."""
    X, y, first = mixed
    monkeypatch.setattr(runs, "STRUCTURE_ROWS", 150)
    new, old = slice(300, 700), slice(0, 120)
    before = {"old": (X[old], y[old])} if with_old else {}
    quick = {**QUICK, "n_folds": 0, "price": 0.05}
    result = retrain(first, X[new], y[new], **before, **quick)
    n_all = 520 if with_old else 400
    assert result.settings["n_rows_values"] == n_all
    assert result.settings["n_rows_structure"] <= 152
    for name in ("re-estimate", "price 0.05", "from scratch"):
        tree = result.trees[name]
        assert tree.observed.rows()[0] == n_all
        assert tree.observed.rows("old")[0] == (120 if with_old else 0)
        leaf = tree.apply(X[new])
        for node in np.flatnonzero(tree.is_leaf):
            inside = y[new][leaf == node]
            assert tree.observed.rows("new")[node] == len(inside)
            assert tree.observed.outcomes(1, "new")[node] == inside.sum()
        some = tree.observed.rows() > 0
        np.testing.assert_allclose(tree.observed.predicted()[some], tree.value[some], atol=1e-9)
    assert "Rules were searched on a sample of 15" in result.explain()
    again = retrain(first, X[new], y[new], **before, **quick)
    assert again.tree == result.tree


def test_a_response_has_its_means_from_all_rows(monkeypatch):
    from sklearn.tree import DecisionTreeRegressor

    X, _ = mixed_table(500, 1)
    X = X[["age"]].fillna(50.0)
    y = (X["age"] > 40) * 5.0 + np.sin(np.arange(500))
    deployed = DecisionTreeRegressor(max_depth=2, random_state=0).fit(X[:100], y[:100])
    monkeypatch.setattr(runs, "STRUCTURE_ROWS", 150)
    result = retrain(deployed, X[100:], y[100:], **{**QUICK, "n_folds": 0})
    tree = result.trees["re-estimate"]
    leaf = tree.apply(X[100:])
    for node in np.flatnonzero(tree.is_leaf):
        inside = y[100:][leaf == node]
        assert tree.observed.rows()[node] == len(inside)
        assert tree.observed.rate()[node, 0] == pytest.approx(inside.mean())
