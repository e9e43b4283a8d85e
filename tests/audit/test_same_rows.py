"""Retraining again on the same rows, each time from the tree before, changes nothing."""

from __future__ import annotations

import dataclasses
import warnings
from typing import Any

import pytest

from steadytree.retraining import SearchOptions
from tests.audit.sets import SETS, Case, make_case

TIMES = 5
QUICK = {"search": SearchOptions(n_estimators=5, copies=0)}
QUICK_SETS = ("mortgage", "credit cards", "mgus2", "icu", "arrests", "hawks", "wine", "diabetes")
"""With and without old rows, of every kind of model and outcome; the slow test has all sets."""


def retrain_again_and_again(case: Case, **options: Any) -> list[Any]:
    trees: list[Any] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for _ in range(TIMES):
            trees.append(case.retrain(trees[-1] if trees else None, **options).tree)
    return trees


def assert_identical(trees: list[Any]) -> None:
    first = trees[0]
    for tree in trees[1:]:
        for field in dataclasses.fields(first):
            if field.name not in ("metadata", "impurity"):
                same = getattr(tree, field.name), getattr(first, field.name)
                try:
                    assert same[0] == same[1]
                except ValueError:  # arrays
                    assert same[0].tobytes() == same[1].tobytes(), field.name
        # A tree that is kept has none.
        assert tree.metadata.get("training_rows") == first.metadata.get("training_rows")


@pytest.mark.parametrize("name", QUICK_SETS)
def test_five_retrainings_are_one(name: str) -> None:
    assert_identical(retrain_again_and_again(make_case(name, 300), **QUICK))


@pytest.mark.slow
@pytest.mark.parametrize("old_rows", [True, False])
@pytest.mark.parametrize("name", SETS)
def test_five_retrainings_are_one_on_all_rows(name: str, old_rows: bool) -> None:
    case = dataclasses.replace(make_case(name), old_rows=old_rows)
    assert_identical(retrain_again_and_again(case, search=SearchOptions(n_estimators=50)))
