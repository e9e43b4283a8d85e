"""What a tree is judged by, against sums over all pairs of rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import log_loss, roc_auc_score

from steadytree.retraining.edits.objective import Criterion, deviance, expected_auc
from tests.retraining.edits.samples import problem, search

COUNTS = st.lists(
    st.tuples(st.integers(0, 6), st.integers(0, 6)).filter(lambda c: sum(c) > 0),
    min_size=1,
    max_size=6,
)


def rows_of(counts):
    """Outcome and leaf of each row, from (events, others) by leaf."""
    leaf = [i for i, (p, n) in enumerate(counts) for _ in range(p + n)]
    outcome = [o for p, n in counts for o in [1] * p + [0] * n]
    return np.array(outcome), np.array(leaf)


@given(COUNTS)
def test_leaf_sums_give_the_scores_of_the_rows(counts):
    outcome, leaf = rows_of(counts)
    sums = np.array([[p + n, p] for p, n in counts], dtype=float)
    share = (sums[:, 1] / sums[:, 0])[leaf]
    expected = roc_auc_score(outcome, share) if 0 < outcome.mean() < 1 else 0.5
    assert expected_auc(sums) == pytest.approx(expected)
    whole = log_loss(outcome, np.clip(share, 1e-15, 1 - 1e-15), labels=[0, 1], normalize=False)
    assert deviance(sums) == pytest.approx(whole, abs=1e-6)
    by_class = np.array([[p + n, n, p] for p, n in counts], dtype=float)
    assert deviance(by_class) == pytest.approx(deviance(sums), abs=1e-9)


@given(COUNTS, st.randoms(use_true_random=False))
def test_the_order_of_leaves_does_not_matter(counts, random):
    mixed = list(counts)
    random.shuffle(mixed)
    one, two = (np.array([[p + n, p] for p, n in c], dtype=float) for c in (counts, mixed))
    assert expected_auc(one) == pytest.approx(expected_auc(two))
    assert deviance(one) == pytest.approx(deviance(two))


@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
def test_one_leaf_misses_all_and_splitting_never_misses_more(task):
    deployed, taught, space, _, _ = problem(task)
    run = search(deployed, taught, space)
    alone = run.make.leaf(np.arange(len(taught.weight)))
    assert run.criterion.missed(alone) == pytest.approx(1.0)
    kept = run.make.reroute(run.root, run.root.rows)
    assert 0.0 <= run.criterion.missed(kept) < 1.0


def test_two_classes_are_judged_half_by_ranking_and_half_by_deviance():
    deployed, taught, space, _, _ = problem()
    run = search(deployed, taught, space)
    leaf = np.empty(len(taught.weight), dtype=int)
    stack, i = [run.root], 0
    while stack:
        node = stack.pop()
        if node.is_leaf:
            leaf[node.rows], i = i, i + 1
        else:
            stack += node.parts[1:]
    p = taught.targets[:, 0]
    sums = np.array([[np.sum(leaf == k), p[leaf == k].sum()] for k in range(i)])
    rows = np.column_stack([np.ones_like(p), p])
    whole = rows.sum(axis=0, keepdims=True)
    ranking = (expected_auc(rows) - expected_auc(sums)) / (expected_auc(rows) - 0.5)
    shares = (deviance(sums) - deviance(rows)) / (deviance(whole) - deviance(rows))
    assert run.criterion.missed(run.root) == pytest.approx((ranking + shares) / 2)


@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
def test_a_teacher_who_sees_almost_nothing_is_worth_almost_nothing(task):
    """What is to be seen has a floor, so that not every scrap of it pays for an edit."""
    deployed, taught, space, _, _ = problem(task)
    mean = np.average(taught.targets, axis=0, weights=taught.weight)
    blind = replace(
        taught,
        targets=mean + 1e-3 * (taught.targets - mean),
        outcomes=taught.targets,
    )
    run = search(deployed, blind, space)
    make = run.make
    if task != "regression":  # what the deployed leaves said is in the loss of a response
        edits = run.path((0.05,))[-1].edits
        assert not [text for text in edits if not text.startswith("relabel")]
    alone = make.leaf(np.arange(len(taught.weight)))
    assert Criterion(make, floor=0.1).missed(alone) < 0.02
    assert Criterion(make, floor=0.0).missed(alone) == pytest.approx(1.0)
