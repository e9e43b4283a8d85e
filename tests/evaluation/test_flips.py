"""What counts as another decision, and how subgroups are counted."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeRegressor

import steadytree as st
from steadytree.evaluation.flips import (
    classes_given_up,
    flip_table,
    flipped,
    moved_shares,
    prediction_moved,
    response_span,
    risk_moves,
    subgroups,
)
from steadytree.evaluation.scores import Predictions, predict_rows
from steadytree.exceptions import InputError


def predictions(value, label=None):
    shares = np.asarray(value, dtype=float)
    labels = np.zeros(len(shares), dtype=np.int32) if label is None else np.asarray(label)
    return Predictions(shares.reshape(len(shares), -1), labels)


def test_a_prediction_has_moved_beyond_a_twentieth_of_the_range():
    old, new = np.zeros(4), np.array([0.0, 0.5, 0.51, -0.51])
    assert prediction_moved(old, new, 10.0).tolist() == [False, False, True, True]
    assert flipped(predictions(old), predictions(new), 10.0).tolist() == [False, False, True, True]


def test_a_class_that_differs_is_another_decision():
    old, new = predictions(np.ones((3, 2)), [0, 1, 1]), predictions(np.zeros((3, 2)), [0, 0, 1])
    assert flipped(old, new, None).tolist() == [False, True, False]


def test_a_risk_moves_without_any_decision_changing():
    """Every leaf says "no" at 0.5: no flips, but the risks are others."""
    old = predictions([[0.98, 0.02], [0.9, 0.1], [0.8, 0.2], [0.7, 0.3]])
    new = predictions([[0.98, 0.02], [0.85, 0.15], [0.74, 0.26], [0.58, 0.42]])
    assert not flipped(old, new, None).any()
    moves = risk_moves(old, new, None)
    np.testing.assert_allclose(moves, [0, 0.05, 0.06, 0.12])
    assert moved_shares(moves) == {"moved_5": 0.5, "moved_10": 0.25}  # 5 points are not more
    several = predictions([[0.5, 0.3, 0.2]]), predictions([[0.4, 0.3, 0.3]])
    assert risk_moves(*several, None).tolist() == pytest.approx([0.1])
    response = predictions([1.0, 2.0]), predictions([1.0, 3.0])
    assert risk_moves(*response, 4.0).tolist() == [0, 0.25]
    assert risk_moves(*response, 0.0).tolist() == [0, 0]  # a response that has no range
    assert np.isnan(moved_shares(moves[:0])["moved_5"])


def test_subgroups_have_wilsons_interval_of_their_flips():
    group = np.repeat(["a", "b"], [8, 40])
    changed = np.r_[np.ones(3, dtype=bool), np.zeros(45, dtype=bool)]
    table = flip_table(np.zeros((48, 1)), group, changed, np.zeros(48), min_cell=5, level=0.95)
    z = 1.959963984540054
    for name, hits, n in (("a", 3, 8), ("b", 0, 40)):
        middle = (hits + z**2 / 2) / (n + z**2)
        half = z / (n + z**2) * np.sqrt(hits * (n - hits) / n + z**2 / 4)
        row = table.loc[name]
        assert (row["n"], row["flips"]) == (n, pytest.approx(hits / n))
        assert row["low"] == pytest.approx(max(middle - half, 0.0), abs=1e-12)
        assert row["high"] == pytest.approx(middle + half)


def test_diff_and_retraining_rule_count_the_same_flips():
    """The rule is one: the diff's share equals the mean over rows."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(300, 3)), columns=list("abc"))
    y = X["a"] + rng.normal(size=300)
    space = st.FeatureSpace.from_data(X, y, task="regression")
    old, new = (
        st.as_tree(DecisionTreeRegressor(max_depth=3).fit(X[part], y[part]), space=space)
        for part in (slice(0, 150), slice(150, 300))
    )
    span = response_span(space, classifier=False)
    moved = flipped(*(predict_rows(t, space.encode(X)) for t in (old, new)), span)
    assert 0 < moved.mean() < 1
    assert st.diff_trees(old, new, X, space=space).flips == pytest.approx(moved.mean())
    assert response_span(space, classifier=True) is None


def test_few_rows_are_masked_and_missing_values_form_a_group():
    X = pd.DataFrame({"sex": ["f"] * 12 + ["m"] * 5 + [None] * 11})
    moves = np.where(np.arange(28) < 3, 0.2, 0.07)
    table = flip_table(X, "sex", np.arange(28) % 2 == 0, moves, min_cell=10, level=0.95)
    assert table.index.tolist() == ["f", "m", "(missing)"]
    assert table["masked"].tolist() == [False, True, False]
    assert table.loc["f", "flips"] == 0.5
    assert np.isnan(table.loc["m", "flips"])
    assert table.loc["f", ["moved_5", "moved_10"]].tolist() == [1, 0.25]
    assert table.loc["m", ["moved_5", "moved_10"]].isna().all()
    assert len(list(subgroups(pd.DataFrame({"age": np.arange(40.0)}), "age"))) == 4
    with pytest.raises(InputError, match="expected a column of the new rows"):
        list(subgroups(X, "age"))


@pytest.mark.parametrize(
    ("old", "new", "lost"),
    [
        ([0, 1, 1, 0], [0, 0, 0, 0], {1: True}),
        ([0, 1, 1, 0], [0, 1, 0, 0], {}),
        ([0, 0, 0, 0], [0, 0, 0, 0], {}),  # there was nothing to lose
        ([0, 1, 0, 1], [0, 1, 1, 1], {}),
        ([0, 1, 1, 0], [1, 1, 1, 1], {0: True}),
    ],
)
def test_a_class_that_is_decided_for_nobody_any_more(old, new, lost):
    y, rules = np.array([0, 1, 1, 0]), ([0, 1], [0, 1])
    assert classes_given_up(rules, (np.array(old), np.array(new)), y) == lost
    assert classes_given_up(rules, (np.array(old), np.array(new))) == lost


def test_a_class_that_is_hardly_found_any_more():
    """Found in 20 of its 50 rows before, now in 2, though 12 others are decided so."""
    y = np.repeat([0, 1], 50)
    old, new = np.zeros(100, dtype=int), np.zeros(100, dtype=int)
    old[50:70], new[50:52], new[:12] = 1, 1, 1
    assert classes_given_up(([0, 1], [0, 1]), (old, new), y) == {1: False}
    assert classes_given_up(([0, 1], [0, 1]), (old, new)) == {}  # nobody knows whom it is about
    new[52] = 1
    assert classes_given_up(([0, 1], [0, 1]), (old, new), y) == {}


def test_a_class_that_no_rule_decides_on_any_more():
    nobody = np.zeros(3, dtype=int)
    assert classes_given_up((["no", "yes", "yes"], ["no"])) == {"yes": True}
    assert classes_given_up((["no"], ["no", "yes"])) == {}
    # None of the rows would have been decided so, but somebody could.
    assert classes_given_up(([0, 1], [0]), (nobody, nobody), nobody) == {1: True}
