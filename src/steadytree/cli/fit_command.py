"""``steadytree fit``: train the first tree to deploy."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd

from steadytree.cli.options import (
    FILE,
    data_options,
    example,
    forbid_option,
    jobs_option,
    option_of,
    options_in_order,
    output_options,
    policy_of,
    policy_options,
    publish_option,
    scale_option,
)
from steadytree.cli.output import OutFolder, Output
from steadytree.cli.show_command import decision_data, heading, rules_data
from steadytree.cli.table_options import TableReading, table_options
from steadytree.cli.tables import RowTable, read_training
from steadytree.estimators.distilled import DistilledTreeClassifier, DistilledTreeRegressor
from steadytree.estimators.stable import StableTreeClassifier, StableTreeRegressor
from steadytree.evaluation.locks import forbidden_entry, forbidden_features, unseen
from steadytree.exceptions import InputError
from steadytree.growing.fitting import ColumnEncoder
from steadytree.publish import count_categories, publish_tree, rare_names
from steadytree.readers import as_tree, read_model
from steadytree.tree.decision import Decision, one_decision_of_leaves, warn_of_one_decision
from steadytree.tree.printing import tree_text
from steadytree.tree.space import FeatureSpace
from steadytree.tree.tree import Tree

# -- What ``fit`` and ``assess`` share: rows to train on, and the learner that is named --


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


# -- ``steadytree fit``: train the first tree to deploy --


@click.command("fit", epilog=example("steadytree fit patients.csv --target died --out model"))
@training_options
@forbid_option
@policy_options()
@option_of(
    "--bootstraps",
    StableTreeClassifier,
    "n_bootstraps",
    "Of each batch, for --learner stable.",
    type=click.IntRange(1),
)
@scale_option("range", "Distances over each feature's range, or by shares of DATA's rows.")
@publish_option
@output_options(
    "fit", "tree.json", "candidates.csv", "report.html", note="the middle two of a stable tree"
)
def command(
    table: RowTable,
    learner: LearnerChoice,
    jobs: int | None,
    forbidden: tuple[str, ...],
    decision_threshold: str | None,
    positive: str | None,
    bootstraps: int,
    scale: str,
    publish: bool,
    output: Output,
    folder: OutFolder,
    seed: int,
) -> None:
    """Train a tree on DATA (CSV or Parquet) and print its rules.

    With --learner stable, --time makes the earlier half of the rows the first batch, and
    --group keeps a group on one side of the holdout.
    """
    classes = None if learner.task == "regression" else np.unique(table.y).tolist()
    policy = policy_of(decision_threshold, positive, classes)
    if scale != "range" and learner.name == "stable":
        raise InputError(
            f"expected --scale range with --learner stable, got {scale}: its candidates are "
            "compared on the paper's scale; use --learner distilled or cart"
        )
    if forbidden and learner.name == "stable":
        raise InputError(
            "expected no --forbid with --learner stable, whose base learner may read the table "
            "itself; use --learner distilled or cart, or leave the column out with --drop"
        )
    model = learner.make(seed=seed, jobs=jobs, n_bootstraps=bootstraps)
    output.say(table.read.to_text(everything=output.verbosity > 0))
    tree, candidates = _fit(model, learner, table, policy, seed, forbidden)
    if scale == "quantile" and tree.space is not None:
        tree = tree.replace(space=tree.space.scaled_by(table.X))
    folder.tree(publish_tree(tree, _rare(tree, table.X)) if publish else tree)
    if candidates is not None:
        if not publish:
            folder.table("candidates.csv", candidates)
        folder.report("report.html", model, publish=publish)
    document = {
        "learner": learner.name,
        "task": learner.task,
        "rows": len(table.y),
        "columns": list(table.X.columns),
        "read": table.read.to_dict(),
        "forbidden": list(forbidden),
        "n_leaves": tree.n_leaves,
        "depth": tree.depth,
        "decision_threshold": tree.decision_threshold,
        "decision": decision_data(tree),
        "rules": rules_data(tree),
        "files": folder.files,
    }
    if candidates is not None:
        document["score_estimate"] = getattr(model, "score_estimate_", None)
        document["score_estimate_se"] = getattr(model, "score_estimate_se_", None)
    folder.finish()
    output.result("\n".join([*heading(tree), "", tree_text(tree)]), document)


def _rare(tree: Tree, X: pd.DataFrame) -> dict[str, dict[Any, str]]:
    """Say what categories of few rows are called in a published tree."""
    if tree.space is None:
        return {}
    used = [tree.space.position[tree.feature_labels[j]] for j in tree.used_features]
    counts = count_categories(tree.space, tree.space.encode(X), used)
    return rare_names(tree.space, counts)


def _fit(
    model: Any,
    learner: LearnerChoice,
    table: RowTable,
    policy: Decision | None,
    seed: int,
    forbidden: tuple[str, ...],
) -> tuple[Tree, pd.DataFrame | None]:
    X, y = table.X, table.y
    if learner.name == "cart":
        return _fit_cart(model, learner.task, X, y, policy, forbidden), None
    if policy is not None:
        model.set_params(decision_threshold=policy)
    if learner.name == "distilled":
        model.set_params(forbid=forbidden).fit(X, y)
        return read_model(model), None
    options: dict[str, Any] = {}
    rows = np.arange(len(y))
    if table.groups is not None:
        from sklearn.model_selection import GroupShuffleSplit

        split = GroupShuffleSplit(1, test_size=model.holdout, random_state=seed)
        rows, held = next(split.split(X, y, table.groups))
        options |= {"X_val": X.iloc[held], "y_val": y[held]}
    if table.time is not None:
        when = table.time[rows]
        options["first_batch"] = when <= np.median(when)
    model.fit(X.iloc[rows], y[rows], **options)
    return read_model(model), model.results_


def _fit_cart(
    model: Any,
    task: str,
    X: pd.DataFrame,
    y: Any,
    policy: Decision | None,
    forbidden: tuple[str, ...],
) -> Tree:
    """Let scikit-learn grow the tree on coded columns, and read it in the user's columns."""
    space = FeatureSpace.from_data(X, y, task=task)
    encoder = ColumnEncoder(space)
    features = forbidden_features(space, forbidden)
    coded = unseen(space.encode(X), features)
    fitted = model.fit(encoder.transform(coded), y)
    # The same nodes in the user's columns; what was observed at them is in scikit-learn's tree.
    tree = encoder.to_tree(fitted).replace(observed=read_model(fitted).observed)
    tree = tree.replace(metadata={**tree.metadata, **forbidden_entry(space, features)})
    tree = as_tree(tree, policy)
    warn_of_one_decision(one_decision_of_leaves(tree))
    return tree
