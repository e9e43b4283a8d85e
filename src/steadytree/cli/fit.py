"""``steadytree fit``: train the first tree to deploy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from steadytree.cli.files import OutFolder
from steadytree.cli.options import (
    FILE,
    common_options,
    data_options,
    example,
    learner_options,
    out_option,
)
from steadytree.cli.output import Output
from steadytree.cli.show import tree_rules
from steadytree.cli.tables import LabelledTable, guess_task, read_labelled
from steadytree.core.space import FeatureSpace
from steadytree.core.tree import Tree
from steadytree.core.words import tree_text
from steadytree.exceptions import InputError
from steadytree.readers import as_tree

__all__ = ["check_target", "command", "make_learner", "threshold_of"]


@click.command("fit", epilog=example("steadytree fit patients.csv --target died --out model"))
@click.argument("data", type=FILE)
@data_options
@learner_options
@click.option(
    "--decision-threshold",
    metavar="SHARE",
    help='Two classes: positive from this share; a number or "prevalence".',
)
@click.option(
    "--bootstraps",
    type=click.IntRange(1),
    default=10,
    show_default=True,
    help="Of each batch, for --learner stable.",
)
@out_option("tree.json (and candidates.csv and report.html of a stable tree)")
@common_options
def command(
    data: Path,
    target: str,
    time: str | None,
    group: str | None,
    learner: str,
    task: str,
    drop: tuple[str, ...],
    max_leaves: int | None,
    jobs: int | None,
    decision_threshold: str | None,
    bootstraps: int,
    out: Path | None,
    as_json: bool,
    seed: int,
    quiet: bool,
    verbose: bool,
) -> None:
    """Train a tree on DATA (CSV or Parquet) and print its rules.

    With --learner stable, --time makes the earlier half of the rows the first batch, and
    --group keeps a group on one side of the holdout.
    """
    output = Output("fit", as_json=as_json, verbosity=verbose - quiet)
    folder = OutFolder(out, output)
    table = read_labelled(data, target, time=time, group=group, drop=drop)
    task = guess_task(table.y, task)
    check_target(table.y)
    threshold = threshold_of(decision_threshold, task)
    model = make_learner(
        learner, task, seed=seed, jobs=jobs, max_leaves=max_leaves, bootstraps=bootstraps
    )
    output.say(f"training on {len(table.y):,} rows and {table.X.shape[1]} columns")
    tree, candidates = _fit(model, learner, task, table, threshold, seed)
    folder.tree("tree.json", tree)
    if candidates is not None:
        folder.table("candidates.csv", candidates)
        folder.report("report.html", model)
    document = {
        "learner": learner,
        "task": task,
        "rows": len(table.y),
        "columns": list(table.X.columns),
        "n_leaves": tree.n_leaves,
        "depth": tree.depth,
        "decision_threshold": tree.decision_threshold,
        "rules": tree_rules(tree),
        "files": folder.files,
    }
    if candidates is not None:
        document["score_estimate"] = getattr(model, "score_estimate_", None)
        document["score_estimate_se"] = getattr(model, "score_estimate_se_", None)
    output.result(tree_text(tree), document)


def check_target(y: NDArray[Any]) -> None:
    """Refuse an outcome that never varies."""
    if len(np.unique(y)) < 2:
        raise InputError(
            f"expected a target with two or more different values, got only {y[0]!r}; "
            "nothing can be learned from it"
        )


def threshold_of(text: str | None, task: str) -> float | str | None:
    """Read ``--decision-threshold``."""
    if text is None or text == "prevalence":
        value: float | str | None = text
    else:
        try:
            value = float(text)
        except ValueError:
            raise InputError(
                f'expected a number or "prevalence" as --decision-threshold, got {text!r}'
            ) from None
    if value is not None and task == "regression":
        raise InputError("expected no --decision-threshold in regression, got one; leave it out")
    return value


def make_learner(
    learner: str,
    task: str,
    *,
    seed: int,
    jobs: int | None,
    max_leaves: int | None = None,
    bootstraps: int = 10,
) -> Any:
    """Make the estimator that a name stands for."""
    classify = task == "classification"
    if learner == "cart":
        from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

        kind = DecisionTreeClassifier if classify else DecisionTreeRegressor
        return kind(min_samples_leaf=8, max_leaf_nodes=max_leaves or 16, random_state=seed)
    if learner == "stable":
        from steadytree.estimators.stable import StableTreeClassifier, StableTreeRegressor

        if max_leaves is not None:
            raise InputError(
                "expected no --max-leaves with --learner stable, whose sizes come from its "
                "grid; use --learner distilled or cart"
            )
        stable = StableTreeClassifier if classify else StableTreeRegressor
        return stable(n_bootstraps=bootstraps, n_jobs=jobs, random_state=seed)
    from steadytree.estimators.distilled import DistilledTreeClassifier, DistilledTreeRegressor

    distilled = DistilledTreeClassifier if classify else DistilledTreeRegressor
    return distilled(max_leaf_nodes=max_leaves, n_jobs=jobs, random_state=seed)


def _fit(
    model: Any,
    learner: str,
    task: str,
    table: LabelledTable,
    threshold: float | str | None,
    seed: int,
) -> tuple[Tree, pd.DataFrame | None]:
    X, y = table.X, table.y
    if learner == "cart":
        return _fit_cart(model, task, X, y, threshold), None
    if threshold is not None:
        model.set_params(decision_threshold=threshold)
    if learner == "distilled":
        model.fit(X, y)
        return as_tree(model), None
    options: dict[str, Any] = {}
    rows = np.arange(len(y))
    if table.groups is not None:
        from sklearn.model_selection import GroupShuffleSplit

        split = GroupShuffleSplit(1, test_size=0.25, random_state=seed)
        rows, held = next(split.split(X, y, table.groups))
        options |= {"X_val": X.iloc[held], "y_val": y[held]}
    if table.time is not None:
        when = table.time[rows]
        options["first_batch"] = when <= np.median(when)
    model.fit(X.iloc[rows], y[rows], **options)
    return as_tree(model), model.results_


def _fit_cart(
    model: Any, task: str, X: pd.DataFrame, y: Any, threshold: float | str | None
) -> Tree:
    """Let scikit-learn grow the tree on coded columns, and read it in the user's columns."""
    from steadytree.growing.encoding import ColumnEncoder

    space = FeatureSpace.from_data(X, y, task=task)
    encoder = ColumnEncoder(space)
    tree = encoder.to_tree(model.fit(encoder.transform(space.encode(X)), y))
    return tree if threshold is None else as_tree(tree, threshold)
