"""The learner that a user names, and the rows it is trained on."""

from __future__ import annotations

from typing import Any

import click
import pytest
from click.testing import CliRunner
from sklearn.base import is_classifier
from sklearn.tree import DecisionTreeClassifier

from steadytree.cli.fit_command import LearnerChoice, training_options
from steadytree.estimators import (
    DistilledTreeClassifier,
    DistilledTreeRegressor,
    StableTreeClassifier,
    StableTreeRegressor,
)
from steadytree.exceptions import InputError
from tests.cli.conftest import Files


@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("name", ["distilled", "stable", "cart"])
def test_the_seed_and_the_task_reach_the_learner(name: str, task: str) -> None:
    model = LearnerChoice(name, task, None).make(seed=7, jobs=1)
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
        model = LearnerChoice(name, task, None).make(seed=0, jobs=2)
        assert type(model) is kind
        assert model.get_params() == kind(n_jobs=2, random_state=0).get_params()


def test_the_number_of_leaves() -> None:
    def leaves(name: str, most: int | None) -> Any:
        model = LearnerChoice(name, "classification", most).make(seed=0, jobs=None)
        return model.max_leaf_nodes

    assert leaves("distilled", 5) == leaves("cart", 5) == 5
    assert leaves("cart", None) == 16
    with pytest.raises(InputError, match="no --max-leaves with --learner stable, whose sizes"):
        leaves("stable", 5)


def test_a_command_gets_the_rows_and_the_learner(files: Files) -> None:
    seen: dict[str, Any] = {}

    @click.command()
    @training_options
    def command(**got: Any) -> None:
        seen.update(got)

    arguments = [
        *(str(files.old), "--target", "outcome", "--time", "year", "--drop", "clinic"),
        *("--drop", "patient", "--learner", "cart", "--max-leaves", "4", "--jobs", "2"),
    ]
    result = CliRunner().invoke(command, arguments)
    assert result.exit_code == 0, result.output
    assert set(seen) == {"table", "learner", "jobs"}
    assert seen["jobs"] == 2
    assert seen["learner"] == LearnerChoice("cart", "classification", 4)
    assert isinstance(seen["learner"].make(seed=0, jobs=2), DecisionTreeClassifier)
    assert len(seen["table"].y) == 280
    assert not {"outcome", "year", "clinic", "patient"} & set(seen["table"].X)
