"""``SearchOptions``: checked, and recorded in the settings of a result."""

from __future__ import annotations

import pytest

from steadytree.exceptions import InputError
from steadytree.retraining import SearchOptions


def test_options_are_read_back_from_the_settings_of_a_result():
    for given in ({}, {"copies": 1, "edit_cost": 0.01}, {"max_leaf_nodes": 5, "label_weight": 2.0}):
        options = SearchOptions(n_estimators=40, **given)
        settings = {"price": 0.25, **options.record()}
        assert SearchOptions.of_settings(settings) == options


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ({"n_estimators": 0}, "whole number >= 1 as n_estimators, got 0; the default is 100"),
        ({"max_depth": 2.5}, "as max_depth, got 2.5"),
        ({"min_samples_leaf": True}, "as min_samples_leaf, got True"),
        ({"max_leaf_nodes": -1}, "as max_leaf_nodes, got -1; the default is None"),
    ],
)
def test_bad_entries_are_named(entries, words):
    with pytest.raises(InputError, match=words):
        SearchOptions(**entries)


def test_runs_that_only_score_ask_half_the_trees():
    sizes = {n: SearchOptions(n_estimators=n).in_folds().n_estimators for n in (20, 80, 100, 300)}
    assert sizes == {20: 20, 80: 50, 100: 50, 300: 150}


def test_settings_hold_the_common_entries_and_what_is_not_the_default():
    assert list(SearchOptions().record()) == [
        *("n_estimators", "n_estimators_in_folds"),
        *("max_leaf_nodes", "max_depth", "min_samples_leaf"),
    ]
    assert SearchOptions(edit_cost=0.01).record()["edit_cost"] == 0.01
