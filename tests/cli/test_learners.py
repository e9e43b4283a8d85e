"""The learner that a user names."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from sklearn.base import is_classifier

from steadytree.cli.fit_command import make_learner
from steadytree.estimators import (
    DistilledTreeClassifier,
    DistilledTreeRegressor,
    StableTreeClassifier,
    StableTreeRegressor,
)
from steadytree.exceptions import InputError


def made(name: str, task: str, max_leaves: int | None, seed: int, jobs: int | None) -> Any:
    options = SimpleNamespace(learner=name, max_leaves=max_leaves, seed=seed)
    return make_learner(options, task, jobs=jobs)


@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("name", ["distilled", "stable", "cart"])
def test_the_seed_and_the_task_reach_the_learner(name: str, task: str) -> None:
    model = made(name, task, None, 7, 1)
    assert model.random_state == 7
    assert is_classifier(model) == (task == "classification")


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("distilled", (DistilledTreeClassifier, DistilledTreeRegressor)),
        ("stable", (StableTreeClassifier, StableTreeRegressor)),
    ],
)
def test_where_nothing_is_asked_for_the_own_defaults_hold(
    name: str, kinds: tuple[Any, Any]
) -> None:
    for task, kind in zip(("classification", "regression"), kinds, strict=True):
        model = made(name, task, None, 0, 2)
        assert type(model) is kind
        assert model.get_params() == kind(n_jobs=2, random_state=0).get_params()


def test_the_number_of_leaves() -> None:
    def leaves(name: str, most: int | None) -> Any:
        return made(name, "classification", most, 0, None).max_leaf_nodes

    assert leaves("distilled", 5) == leaves("cart", 5) == 5
    assert leaves("cart", None) == 16
    with pytest.raises(InputError, match="no --max-leaves with --learner stable, whose sizes"):
        leaves("stable", 5)
