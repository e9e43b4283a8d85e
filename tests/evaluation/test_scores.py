"""Predictions of coded rows; scores against scikit-learn, their errors against simulation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_diabetes, load_iris
from sklearn.metrics import r2_score, roc_auc_score
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from steadytree.evaluation.scores import (
    Predictions,
    Score,
    auc,
    auc_influence,
    auc_parts,
    mean_parts,
    mean_score,
    predict_rows,
    roc_steps,
    score_rows,
    standard_error,
)
from steadytree.plugins import as_tree
from steadytree.tree.space import FeatureSpace


@given(st.integers(0, 10_000))
def test_auc_is_scikit_learns_with_ties(seed):
    rng = np.random.default_rng(seed)
    y = np.r_[True, False, rng.random(30) < 0.4]
    score = rng.integers(0, 6, y.size) / 5
    area = auc_influence(y, score)
    assert area.value == pytest.approx(roc_auc_score(y, score))
    assert auc(y, score) == pytest.approx(area.value, abs=1e-12)
    assert area.influence.sum() == pytest.approx(0, abs=1e-12)


def test_the_error_of_an_area_is_delongs():
    """Sample variances of the placements, over n - 1 within a class."""
    rng = np.random.default_rng(0)
    y = np.r_[np.ones(5, dtype=bool), np.zeros(9, dtype=bool)]
    score = rng.integers(0, 6, y.size) / 5
    pairs = (score[y][:, None] > score[~y]) + (score[y][:, None] == score[~y]) / 2
    variance = pairs.mean(axis=1).var(ddof=1) / 5 + pairs.mean(axis=0).var(ddof=1) / 9
    area = auc_influence(y, score)
    assert area.value == pytest.approx(pairs.mean())
    assert standard_error(area.influence) ** 2 == pytest.approx(variance)


def test_functions_of_scores_carry_their_errors():
    """Products and ratios of means: the delta method against the derivative by hand."""
    rng = np.random.default_rng(0)
    u, v = rng.random((2, 50))
    everyone = np.ones(50, dtype=bool)
    one, two = (mean_parts(x, everyone).score() for x in (u, v))
    assert one.times(two).value == pytest.approx(u.mean() * v.mean())
    np.testing.assert_allclose(
        one.times(two).influence, one.influence * v.mean() + two.influence * u.mean()
    )
    ratio = one.over(two)
    assert ratio.value == pytest.approx(u.mean() / v.mean())
    expected = one.influence / v.mean() - two.influence * u.mean() / v.mean() ** 2
    np.testing.assert_allclose(ratio.influence, expected)
    nobody = mean_parts(np.zeros(50), everyone).score()
    assert np.isnan(one.over(nobody).value)
    assert one.plus(two).minus(two).value == pytest.approx(one.value)
    assert one.times(3.0).clipped(0, 1).value == 1


def test_functions_of_scores_carry_what_was_learnt():
    """In the same way as their influences, and leaf by leaf it makes a variance."""
    rng = np.random.default_rng(1)
    first, second = rng.normal(size=(2, 40))
    one, two = Score(0.4, first, first), Score(0.7, second, second)
    for found in (one.plus(two), one.minus(two), one.times(two), one.over(two), one.times(2.0)):
        np.testing.assert_allclose(found.learnt, found.influence)
    rows = np.arange(5, 20)
    assert one.at(rows).learnt.tolist() == first[5:20].tolist()
    np.testing.assert_array_equal(one.at(rows).spread_to(40, rows).at(rows).learnt, first[5:20])
    assert one.at(rows).spread_to(40, rows).learnt[:5].tolist() == [0] * 5
    assert not Score(0.4, first).learnt.any()
    assert mean_score([one, two], 40).learnt == pytest.approx((first + second) / 2)
    leaf = np.arange(40) % 3
    expected = sum(first[leaf == k].sum() ** 2 for k in range(3))
    assert one.learning_variance(leaf) == pytest.approx(expected)


def test_rows_with_one_prediction_are_one_leaf_where_no_tree_is_known():
    shares = np.array([0.2, 0.5, 0.2, 0.5, 0.9])
    value = np.column_stack([1 - shares, shares])
    assert Predictions(value, np.zeros(5, dtype=np.int32)).leaves().tolist() == [2, 1, 2, 1, 0]


def test_ranks_by_leaf_are_ranks_by_row():
    X, y = load_iris(return_X_y=True)
    tree = as_tree(DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y))
    found = predict_rows(tree, FeatureSpace.from_data(X).encode(X))
    by_row = Predictions(found.value, found.label)
    for column in range(3):
        one, two = (
            auc_parts(y == column, *predicted.ranks(column)).score()
            for predicted in (found, by_row)
        )
        assert one.value == two.value
        np.testing.assert_array_equal(one.influence, two.influence)


def test_several_classes_and_responses():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 200)
    value = rng.dirichlet([1, 1, 1], 200)
    expected = np.mean([roc_auc_score(y == k, value[:, k]) for k in range(3)])
    assert score_rows(y, value, classifier=True).value == pytest.approx(expected)
    response = rng.normal(size=200)
    guess = response + rng.normal(size=200)
    scored = score_rows(response, guess[:, None], classifier=False)
    assert scored.value == pytest.approx(r2_score(response, guess))
    assert np.isnan(auc_influence(np.ones(5, dtype=bool), np.arange(5.0)).value)
    assert np.isnan(auc(np.ones(5, dtype=bool), np.arange(5.0)))


def test_equally_good_rankings_tie_exactly():
    y = np.repeat([True, False], [7, 3])
    rng = np.random.default_rng(0)
    areas = {}
    for _ in range(300):
        score = rng.permutation(10).astype(float)
        right = int((score[:7, None] > score[None, 7:]).sum())
        areas.setdefault(right, set()).add(auc(y, score))
    assert all(len(values) == 1 for values in areas.values())
    assert len(areas) > 15


@pytest.mark.parametrize("kind", ["auc", "r2"])
def test_standard_errors_match_the_spread_over_samples(kind):
    rng = np.random.default_rng(0)
    values, errors = [], []
    for _ in range(400):
        x = rng.normal(size=300)
        y = x + rng.normal(size=300)
        scored = (
            auc_influence(y > 0.5, x)
            if kind == "auc"
            else score_rows(y, x[:, None], classifier=False)
        )
        values.append(scored.value)
        errors.append(standard_error(scored.influence))
    assert np.mean(errors) == pytest.approx(np.std(values), rel=0.12)


def test_rows_of_a_group_count_together():
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    y = x + rng.normal(size=200) > 0
    twice = np.repeat(np.arange(200), 2)
    once = auc_influence(y, x)
    doubled = auc_influence(y[twice], x[twice])
    assert standard_error(doubled.influence) < 0.75 * standard_error(once.influence)
    # Rows count over n - 1 within a class, groups over their number less one.
    assert standard_error(doubled.influence, twice) == pytest.approx(
        standard_error(once.influence), rel=0.01
    )


def test_rows_and_leaves_have_one_area():
    """A leaf is many rows with one score: both ways to the area share their core."""
    rng = np.random.default_rng(0)
    step = rng.integers(0, 7, 400)
    y = rng.random(400) < (step + 1) / 9
    by_row = auc_influence(y, step / 6)
    positive = np.bincount(step[y], minlength=7).astype(float)
    negative = np.bincount(step[~y], minlength=7).astype(float)
    below, above = roc_steps(positive, negative)
    area = (positive * below).sum() / positive.sum()
    assert by_row.value == pytest.approx(area, rel=1e-14)
    assert (negative * above).sum() / negative.sum() == pytest.approx(area, rel=1e-14)
    assert roc_steps(3 * positive, negative)[0].tolist() == below.tolist()


@pytest.mark.parametrize("load", [load_iris, load_diabetes])
def test_coded_rows_are_predicted_as_the_model_would(load):
    X, y = load(return_X_y=True)
    classifies = y.dtype.kind == "i"
    model = (DecisionTreeClassifier if classifies else DecisionTreeRegressor)(max_depth=3)
    tree = as_tree(model.fit(X, y))
    coded = FeatureSpace.from_data(X).encode(X)
    found = predict_rows(tree, coded)
    if classifies:
        np.testing.assert_allclose(found.value, model.predict_proba(X))
        np.testing.assert_array_equal(model.classes_[found.label], model.predict(X))
    else:
        np.testing.assert_allclose(found.value[:, 0], model.predict(X))
        assert not found.label.any()
    some = found.take(np.array([3, 1]))
    np.testing.assert_array_equal(some.value, found.value[[3, 1]])
    np.testing.assert_array_equal(some.label, found.label[[3, 1]])


def test_numbers_are_rounded_as_the_learner_rounds_them():
    """scikit-learn compares float32: 0.1 + 1e-10 is its 0.1, on the left of a split at 0.1f."""
    X = np.array([[0.0], [0.2]])
    tree = as_tree(DecisionTreeClassifier().fit(X, [0, 1]))
    edge = tree.threshold[0]
    close = np.array([[edge * (1 + 1e-10)]])
    assert tree.precision == "float32"
    assert np.float32(close[0, 0]) == np.float32(edge)
    expected = DecisionTreeClassifier().fit(X, [0, 1]).predict(close)
    assert predict_rows(tree, close).label.tolist() == expected.tolist()


def test_errors_of_a_few_groups_by_hand():
    """The groups' sums, over one less than there are groups; one group alone counts as it is."""
    influence, groups = np.array([1.0, 2.0, -4.0, 1.0]), np.array(["a", "a", "b", "c"])
    assert standard_error(influence, groups) == pytest.approx(np.sqrt((9 + 16 + 1) * 3 / 2))
    assert standard_error(influence) == pytest.approx(np.sqrt(22))
    two = np.array([5, 5, 9, 9])
    assert standard_error(influence, two) == pytest.approx(np.sqrt((9 + 9) * 2))
    assert standard_error(influence, np.zeros(4)) == 0


def test_what_cannot_be_scored_has_no_part_in_it():
    one_class = auc_parts(np.ones(3, dtype=bool), np.arange(3), 3)
    assert one_class.stratum.tolist() == [-1, -1, -1]
    assert not one_class.known
    assert np.isnan(one_class.value)
    assert one_class.score().influence.tolist() == [0, 0, 0]
    constant = score_rows(np.full(4, 2.5), np.arange(4.0)[:, None], classifier=False)
    assert np.isnan(constant.value)
    assert constant.influence.tolist() == [0, 0, 0, 0]
    nobody = mean_parts(np.zeros(0), np.zeros(0, dtype=bool)).score()
    assert np.isnan(nobody.value)
    assert nobody.influence.size == 0
    nothing = mean_score([Score(float("nan"), np.ones(2))], 2)
    assert np.isnan(nothing.value)
    assert nothing.influence.tolist() == [0, 0]


def test_a_mean_of_three_rows_by_hand():
    parts = mean_parts(np.array([1.0, 2.0, 6.0, 100.0]), np.array([True, True, True, False]))
    found = parts.score()
    assert found.value == parts.value == 3
    np.testing.assert_allclose(found.influence, np.array([-2, -1, 3, 0]) / np.sqrt(3 * 2))
    assert standard_error(found.influence) == pytest.approx(np.std([1, 2, 6], ddof=1) / np.sqrt(3))
    alone = mean_parts(np.array([4.0]), np.array([True])).score()
    assert (alone.value, alone.influence.tolist()) == (4, [0])


def test_an_area_of_four_rows_by_hand():
    """Positives at 1 and 3, negatives at 1 and 2: one pair ties, one is ranked wrongly."""
    y, score = np.array([True, True, False, False]), np.array([1.0, 3.0, 1.0, 2.0])
    assert auc(y, score) == auc_influence(y, score).value == (0.5 + 0 + 1 + 1) / 4
    below, above = roc_steps(np.array([1.0, 0.0, 1.0]), np.array([1.0, 1.0, 0.0]))
    assert below.tolist() == [0.25, 0.75, 1.0]
    assert above.tolist() == [0.75, 0.5, 0.25]
