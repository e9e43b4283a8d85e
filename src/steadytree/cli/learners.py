"""What ``fit`` and ``assess`` share: rows to train on, and the learner that is named."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from steadytree.cli.shared_options import FILE, data_options, jobs_option, options_in_order
from steadytree.cli.table_options import TableReading, table_options
from steadytree.cli.tables import read_training
from steadytree.estimators.distilled import DistilledTreeClassifier, DistilledTreeRegressor
from steadytree.estimators.stable import StableTreeClassifier, StableTreeRegressor
from steadytree.exceptions import InputError

__all__ = ["LearnerChoice", "training_options"]


@dataclass(frozen=True)
class LearnerChoice:
    """The learner that the user named, for a task."""

    name: str
    task: str
    max_leaves: int | None

    def make(self, *, seed: int, jobs: int | None, **stable_options: Any) -> Any:
        """Make the estimator; where nothing is asked for, its own defaults hold."""
        classify = self.task == "classification"
        if self.name == "cart":
            from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

            kind = DecisionTreeClassifier if classify else DecisionTreeRegressor
            return kind(min_samples_leaf=8, max_leaf_nodes=self.max_leaves or 16, random_state=seed)
        if self.name == "stable":
            if self.max_leaves is not None:
                raise InputError(
                    "expected no --max-leaves with --learner stable, whose sizes come from its "
                    "grid; use --learner distilled or cart"
                )
            stable = StableTreeClassifier if classify else StableTreeRegressor
            return stable(n_jobs=jobs, random_state=seed, **stable_options)
        distilled = DistilledTreeClassifier if classify else DistilledTreeRegressor
        return distilled(max_leaf_nodes=self.max_leaves, n_jobs=jobs, random_state=seed)


def training_options(function: Callable[..., Any]) -> Any:
    """Add DATA, its columns and the learner; the command gets ``table`` and ``learner``."""

    @functools.wraps(function)
    def call(
        *,
        data: Path,
        target: str,
        task: str,
        learner: str,
        max_leaves: int | None,
        time: str | None,
        group: str | None,
        drop: tuple[str, ...],
        table_reading: TableReading,
        **given: Any,
    ) -> Any:
        table, found = read_training(
            data, target, task, time=time, group=group, drop=drop, reading=table_reading
        )
        return function(table=table, learner=LearnerChoice(learner, found, max_leaves), **given)

    return options_in_order(
        click.argument("data", type=FILE),
        data_options,
        click.option(
            "--learner",
            type=click.Choice(["distilled", "stable", "cart"]),
            default="distilled",
            show_default=True,
            help="One tree from a forest, the paper's stable tree, or plain CART.",
        ),
        click.option(
            "--task",
            type=click.Choice(["auto", "classification", "regression"]),
            default="auto",
            show_default=True,
            help="What the target is.",
        ),
        click.option("--drop", multiple=True, metavar="COLUMN", help="Not a predictor. Repeat."),
        click.option(
            "--max-leaves",
            type=click.IntRange(2),
            help="Largest number of leaves; by default 16 at most.",
        ),
        table_options,
        jobs_option,
    )(call)
