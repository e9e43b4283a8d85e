"""What counts as another decision, and how subgroups are counted."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeRegressor

import steadytree as st
from steadytree.evaluation.performance import (
    classes_given_up,
    flip_table,
    flipped,
    moved_shares,
    prediction_moved,
    response_span,
    risk_moves,
    subgroups,
)
from steadytree.evaluation.scores import Predictions, predict_rows, wilson
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
    assert risk_moves(*response, 0.5).tolist() == [0, 2]
    assert risk_moves(*response, 0.0).tolist() == [0, 0]  # a response that has no range
    assert np.isnan(moved_shares(moves[:0])["moved_5"])


def test_subgroups_have_wilsons_interval_of_their_flips():
    group = np.repeat(["a", "b"], [8, 40])
    changed = np.r_[np.ones(3, dtype=bool), np.zeros(45, dtype=bool)]
    table = flip_table(np.zeros((48, 1)), group, changed, np.zeros(48), level=0.95)
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


def test_missing_values_form_a_group():
    X = pd.DataFrame({"sex": ["f"] * 12 + ["m"] * 5 + [None] * 11})
    moves = np.where(np.arange(28) < 3, 0.2, 0.07)
    table = flip_table(X, "sex", np.arange(28) % 2 == 0, moves, level=0.95)
    assert table.index.tolist() == ["f", "m", "(missing)"]
    assert table["flips"].tolist() == pytest.approx([0.5, 0.6, 5 / 11])
    assert table.loc["f", ["moved_5", "moved_10"]].tolist() == [1, 0.25]
    assert table.loc["m", ["moved_5", "moved_10"]].tolist() == [1, 0]
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


def test_found_and_hardly_found_are_so_on_the_dot():
    """A fifth of the rows is found; a twentieth is still found, less is not."""
    y, rules = np.ones(100, dtype=int), ([0, 1], [0, 1])
    old, new = np.zeros(100, dtype=int), np.zeros(100, dtype=int)
    old[:20], new[:4] = 1, 1
    assert classes_given_up(rules, (old, new), y) == {1: False}
    new[4] = 1
    assert classes_given_up(rules, (old, new), y) == {}
    new[4], old[19] = 0, 0
    assert classes_given_up(rules, (old, new), y) == {}


def test_classes_are_told_in_the_order_of_the_old_rules():
    assert list(classes_given_up((["c", "a", "b"], ["b"]))) == ["c", "a"]
    # A class that no row has can be lost only if somebody was decided so.
    y, nobody = np.zeros(4, dtype=int), np.zeros(4, dtype=int)
    assert classes_given_up(([0, 1], [0, 1]), (nobody, nobody), y) == {}


def test_more_than_ten_numbers_are_cut_at_their_quartiles():
    for kind in (float, int):
        ten, eleven = (pd.DataFrame({"x": np.arange(22).astype(kind) % n}) for n in (10, 11))
        assert [name for name, _ in subgroups(ten, "x")] == list(range(10))
        parts = list(subgroups(eleven, "x"))
        assert len(parts) == 4
        assert all(isinstance(name, str) for name, _ in parts)
        assert sorted(np.concatenate([rows for _, rows in parts])) == list(range(22))
        for name, rows in parts:
            assert str(eleven["x"][rows].max()).split(".")[0] in name
    words = pd.DataFrame({"x": [f"word {i}" for i in range(30)]})
    assert len(list(subgroups(words, "x"))) == 30


def test_subgroups_by_an_array_or_a_function():
    X = pd.DataFrame({"age": [30.0, 50.0, np.nan, 70.0]})
    expected = [("old", [1, 3]), ("young", [0])]
    words = np.array(["young", "old", None, "old"], dtype=object)
    found = [(name, rows.tolist()) for name, rows in subgroups(X, words)]
    assert found == [*expected, ("(missing)", [2])]
    by_rule = subgroups(X, lambda rows: np.where(rows["age"] > 40, "old", "young"))
    assert [name for name, _ in by_rule] == ["old", "young"]
    with pytest.raises(InputError, match=r"one subgroup per row, 4 in all, got shape \(3,\)"):
        list(subgroups(X, [1, 2, 3]))
    with pytest.raises(InputError, match="unnamed: pass an array instead"):
        list(subgroups(np.zeros((2, 1)), "age"))


def test_groups_of_few_rows_are_counted_with_their_intervals():
    X = np.zeros((9, 1))
    moves = np.r_[np.full(4, 0.06), np.full(5, 0.2)]
    group, changed = np.repeat(["a", "b"], [4, 5]), np.arange(9) == 8
    table = flip_table(X, group, changed, moves, level=0.9)
    assert table["n"].tolist() == [4, 5]
    assert table.loc["b", ["flips", "moved_5", "moved_10"]].tolist() == [0.2, 1.0, 1.0]
    assert table.loc["b", ["low", "high"]].tolist() == pytest.approx(wilson(1, 5, 0.9))
    assert table.loc["a", ["flips", "low", "moved_5"]].tolist() == pytest.approx([0, 0, 1])
    assert list(table) == ["n", "flips", "low", "high", "moved_5", "moved_10"]


def test_a_space_without_responses_has_no_span():
    space = st.FeatureSpace.from_data(np.arange(6.0).reshape(3, 2))
    assert response_span(space, classifier=False) == 0
    assert response_span(space.replace(response_range=(-2.0, 5.0)), classifier=False) == 7
