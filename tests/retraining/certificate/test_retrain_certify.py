"""``retrain(certify=...)`` end to end: said everywhere, cross-fitted where a tree is better."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.tree import DecisionTreeClassifier

from steadytree.estimators.distilled import DistilledTreeClassifier
from steadytree.exceptions import InputError
from steadytree.retraining import CertificateOptions, SearchOptions, retrain
from steadytree.retraining.edits.search import PricedEdits
from tests.growing.mixed import mixed_table
from tests.retraining.conftest import QUICK

SMALL = CertificateOptions(depth=2, cut_points=24)


@pytest.fixture(scope="module")
def improved():
    """A retraining whose search makes no edit, so that it can be beaten."""
    X, y = load_wine(return_X_y=True, as_frame=True)
    rows = np.random.default_rng(0).permutation(len(y))
    X, y = X.iloc[rows].reset_index(drop=True), y.iloc[rows].to_numpy()
    model = DecisionTreeClassifier(max_leaf_nodes=3, random_state=0).fit(X[:60], y[:60])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PricedEdits, "_step", lambda self: False)
        return retrain(model, X[60:], y[60:], price=0.02, certify=SMALL, **QUICK)


def test_a_better_tree_is_a_candidate_that_is_scored_like_the_others(improved):
    row = improved.frontier.loc["exact"]
    assert row["kind"] == "exact"
    assert row["cross_fitted"]
    assert np.isfinite(row["score"])
    assert np.isnan(row["price"])
    assert improved.trees["exact"].metadata["edits"] == list(row["edits"])
    assert improved.trees["exact"].metadata["training_rows"]
    assert all("exact" in trees for trees in improved.scores.in_folds)
    price = improved.settings["price"]
    assert improved.trees["exact"] != improved.trees[f"price {price:g}"]
    assert 'the candidate "exact"' in improved.explain()
    assert improved.settings["certify"] == {"depth": 2, "cut_points": 24, "work": 2e8}


def test_the_sentence_stands_in_explanation_and_report(improved, tmp_path):
    words = improved.certificate.words()
    assert improved.explanation.warnings.endswith(words)
    assert improved.explain().endswith(words)
    page = improved.report(tmp_path / "report.html").read_text()
    assert "Certificate, for all trees with at most 2 conditions in a rule" in page


def test_without_being_asked_there_is_no_certificate(cancer):
    *_, result = cancer
    assert result.certificate is None
    assert "Certificate" not in result.explain()
    assert "certify" not in result.settings


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_where_no_tree_is_better_there_is_no_candidate(mixed, n_jobs):
    X, y, first = mixed
    result = retrain(
        first, X[300:500], y[300:500], price=5.0, certify=SMALL, n_jobs=n_jobs, **QUICK
    )
    assert not result.certificate.better
    assert "exact" not in result.frontier.index
    assert result.certificate.lower_bound <= result.certificate.objective
    assert len(result.scores.in_folds) == 2


@pytest.mark.parametrize("task", ["regression", "multiclass"])
def test_other_outcomes_and_no_folds(task):
    X, y = mixed_table(260, 1, task=task)
    kind = DistilledTreeClassifier
    if task == "regression":
        from steadytree.estimators.distilled import DistilledTreeRegressor as kind
    first = kind(n_estimators=10, max_leaf_nodes=4, random_state=0).fit(X[:130], y[:130])
    result = retrain(
        *(first, X[130:], y[130:]),
        old=(X[:130], y[:130]),
        certify=SMALL,
        n_folds=0,
        search=SearchOptions(n_estimators=10),
        random_state=0,
    )
    said = result.certificate
    assert said.lower_bound <= said.best_objective <= said.objective
    assert said.price == result.settings["price"]


def test_locks_and_certificates_exclude_each_other(mixed):
    X, y, first = mixed
    with pytest.raises(InputError, match="expected nothing locked where a certificate"):
        retrain(first, X[300:], y[300:], plan={"locked": "root"}, certify=True, **QUICK)
    with pytest.raises(InputError, match="expected certify True, False"):
        retrain(first, X[300:], y[300:], certify="yes", **QUICK)


def test_the_name_of_the_candidate_is_taken(mixed):
    X, y, first = mixed
    with pytest.raises(InputError, match="exact"):
        retrain(first, X[300:], y[300:], candidates={"exact": first}, **QUICK)
