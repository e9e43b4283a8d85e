"""``certify(result)``: the search runs again, and what it found is held against a family."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.tree import DecisionTreeClassifier

import steadytree as st
from steadytree.estimators.distilled import DistilledTreeClassifier
from steadytree.exceptions import InputError
from steadytree.retraining.edits.search import PricedEdits
from tests.growing.mixed import mixed_table
from tests.retraining.conftest import QUICK

SMALL = st.CertificateOptions(depth=2, cut_points=24)
ONCE = {**QUICK, "n_folds": 0}


def test_a_better_tree_is_found_where_the_search_made_no_edit(monkeypatch):
    X, y = load_wine(return_X_y=True, as_frame=True)
    rows = np.random.default_rng(0).permutation(len(y))
    X, y = X.iloc[rows].reset_index(drop=True), y.iloc[rows].to_numpy()
    model = DecisionTreeClassifier(max_leaf_nodes=3, random_state=0).fit(X[:60], y[:60])
    monkeypatch.setattr(PricedEdits, "_step", lambda self: False)
    result = st.retrain(model, X[60:], y[60:], price=0.02, **ONCE)
    certificate = st.certify(result, options=SMALL)
    assert certificate.tree is not None
    assert certificate.best_objective < certificate.objective - certificate.edit_cost
    assert certificate.tree != result.trees["price 0.02"]
    assert certificate.tree.metadata["edits"]
    assert "The best one met has an objective of" in certificate.words()
    assert certificate.to_dict()["better"]


def test_the_search_that_is_repeated_is_that_of_the_result(cancer, mixed):
    """Old rows, folds, a policy, other options and a pickled result: the same tree again."""
    X, y, _, result = cancer
    old = X[:250], y[:250]
    certificate = st.certify(pickle.loads(pickle.dumps(result)), old, SMALL)
    assert certificate.price == result.settings["price"]
    assert certificate.lower_bound <= certificate.objective
    X, y, first = mixed
    result = st.retrain(
        *(first, X[300:500], y[300:500]),
        price=5.0,
        plan={"forbid": "noise"},
        decision=0.3,
        sample_weight=np.where(y[300:500] == 1, 2.0, 1.0),
        n_folds=0,
        search=st.SearchOptions(n_estimators=10, copies=1, max_depth=4),
        random_state=np.random.RandomState(3),
    )
    certificate = st.certify(result, options=SMALL)
    assert certificate.price == 5.0
    assert certificate.lower_bound <= certificate.objective


def test_where_no_tree_is_better_there_is_none(mixed):
    X, y, first = mixed
    result = st.retrain(first, X[300:500], y[300:500], price=5.0, **ONCE)
    certificate = st.certify(result, options=SMALL)
    assert certificate.tree is None
    assert certificate.lower_bound <= certificate.objective


@pytest.mark.parametrize("task", ["regression", "multiclass"])
def test_other_outcomes(task):
    X, y = mixed_table(260, 1, task=task)
    kind = DistilledTreeClassifier
    if task == "regression":
        from steadytree.estimators.distilled import DistilledTreeRegressor as kind
    first = kind(n_estimators=10, max_leaf_nodes=4, random_state=0).fit(X[:130], y[:130])
    old = X[:130], y[:130]
    result = st.retrain(first, X[130:], y[130:], old=old, **ONCE)
    found = st.certify(result, old, SMALL)
    assert found.lower_bound <= found.best_objective <= found.objective


def test_what_cannot_be_certified_is_said(cancer, mixed):
    X, y, first = mixed
    locked = st.retrain(first, X[300:], y[300:], plan={"locked": "root"}, **ONCE)
    with pytest.raises(InputError, match=r"without locks to certify, got locked=\['root'\]"):
        st.certify(locked)
    free = st.retrain(first, X[300:], y[300:], **ONCE)
    with pytest.raises(InputError, match="which had no old rows, got 300"):
        st.certify(free, (X[:300], y[:300]))
    with pytest.raises(InputError, match="whose X_new is not there"):
        st.certify(replace(free, rows=replace(free.rows, table=None)))
    with pytest.raises(InputError, match="as options, got bool"):
        st.certify(free, None, True)
    with pytest.raises(InputError, match="expected what retrain returned to certify, got Tree"):
        st.certify(free.tree)
    X, y, _, result = cancer
    with pytest.raises(InputError, match="which had 250 old rows, got none"):
        st.certify(result)
    with pytest.raises(InputError, match="the search ended at another tree"):
        st.certify(result, (X[:250], y[:250][::-1]), SMALL)
