"""Rows, measures and the coin line of every study of retraining."""

from __future__ import annotations

import numpy as np
import pytest

from research.paper.data import TIME_ORDERED, load_case_study
from research.paper.retraining_methods import baselines, cart
from research.paper.retraining_protocol import (
    NAMES,
    TUNING,
    UNTOUCHED,
    coin_gain,
    measure,
    split_set,
    time_parts,
)
from steadytree.distance.distances import tree_distance


def test_time_parts_are_whole_years_in_order() -> None:
    time = np.repeat(np.arange(1990, 2000), 50)
    old, new, test = time_parts(time)
    assert time[old].max() < time[new].min() <= time[new].max() < time[test].min()
    assert (len(old), len(new), len(test)) == (200, 150, 150)


def test_the_halves_share_no_set() -> None:
    assert sorted((*TUNING, *UNTOUCHED)) == list(NAMES)
    assert not set(TUNING) & set(UNTOUCHED)


@pytest.mark.parametrize("name", ["wdbc", "nasscds"])
def test_a_split_is_40_30_30_and_repeats_itself(name: str) -> None:
    rows, again = split_set(name, 0), split_set(name, 0)
    sizes = np.array([len(rows.y_old), len(rows.y_new), len(rows.y_test)])
    assert sizes.sum() <= min(4_000, 0.9 * len(load_case_study(name).y))
    assert sizes / sizes.sum() == pytest.approx([0.4, 0.3, 0.3], abs=0.01)
    assert rows.X_test.equals(again.X_test)
    assert not rows.X_test.equals(split_set(name, 1).X_test)
    assert name in TIME_ORDERED or len(rows.X_all) == len(rows.y_all) == sizes[:2].sum()
    assert rows.base_rate == rows.y_old.mean()


def test_a_kept_tree_has_not_moved_and_flips_nobody() -> None:
    rows = split_set("mgus2", 0)
    tree = cart(rows, 0, everything=False)
    found = measure(rows, tree, tree)
    assert found["distance"] == found["metric"] == found["dissimilarity"] == found["flips"] == 0
    assert found["auc_before"] == found["auc_after"] > 0.6


def test_retrained_cart_is_measured_in_the_space_of_the_known_rows() -> None:
    rows = split_set("mgus2", 0)
    (row,) = baselines(rows, 0)
    trees = [cart(rows, 0, everything=everything) for everything in (False, True)]
    assert row["distance"] == tree_distance(*trees, space=rows.space) > 0
    labels = [tree.predict(rows.X_test) for tree in trees]
    assert row["flips_base"] == np.mean(labels[0] != labels[1])


def test_a_coin_gains_in_proportion_to_how_far_it_moves() -> None:
    assert coin_gain(0.04, 1.0, 4.0) == 0.01
    assert coin_gain(0.04, 4.0, 4.0) == 0.04
    assert coin_gain(0.04, 1.0, 0.0) == 0.0
