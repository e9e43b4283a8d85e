"""``steadytree fit`` and ``assess``: train the first tree to deploy, and see how stable it is."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import is_classifier
from sklearn.model_selection import GroupShuffleSplit
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from steadytree._text import quoted, some_of
from steadytree.cli.output import Output
from steadytree.cli.run_folder import RunFolder
from steadytree.cli.show_command import heading, tree_data
from steadytree.cli.tables import RowTable, as_known, read_training, reading_of
from steadytree.estimators.assessment import assess_stability
from steadytree.estimators.distilled import DistilledTreeClassifier, DistilledTreeRegressor
from steadytree.estimators.stable import StableTreeClassifier, StableTreeRegressor
from steadytree.evaluation.locks import forbidden_entry, forbidden_features, unseen
from steadytree.exceptions import InputError
from steadytree.growing.fitting import ColumnEncoder
from steadytree.plugins import as_tree, read_model
from steadytree.publish import count_categories, publish_tree, rare_names
from steadytree.tree.decision import (
    LARGEST_SHARE,
    PREVALENCE,
    Decision,
    obvious_positive,
    one_decision_of_leaves,
    warn_of_one_decision,
)
from steadytree.tree.printing import tree_text
from steadytree.tree.space import FeatureSpace
from steadytree.tree.tree import Tree


def fit(options: SimpleNamespace, output: Output, folder: RunFolder) -> None:
    """Train a tree and print its rules."""
    rows, task = _read(options, output)
    classes = None if task == "regression" else np.unique(rows.y).tolist()
    policy = policy_of(options, classes)
    is_stable = options.learner == "stable"
    if is_stable and options.forbidden:
        raise InputError(
            "expected no --forbid with --learner stable, whose base learner may read the table "
            "itself; use --learner distilled or cart, or leave the column out with --drop"
        )
    model = make_learner(options, task, jobs=options.jobs, n_bootstraps=options.bootstraps)
    fit_model = {"cart": _fit_cart, "stable": _fit_stable, "distilled": _fit_distilled}
    tree = fit_model[options.learner](model, rows, policy, options)
    folder.tree(publish_tree(tree, _rare(tree, rows.X)) if options.publish else tree)
    document = {
        "learner": options.learner,
        "rows": len(rows.y),
        "columns": list(rows.X.columns),
        "read": rows.read.to_dict(),
        "forbidden": list(options.forbidden),
        **tree_data(tree),
    }
    if is_stable:
        if not options.publish:
            folder.table("candidates.csv", model.results_)
        folder.report("report.html", model, publish=options.publish)
        document["score_estimate"] = getattr(model, "score_estimate_", None)
        document["score_estimate_se"] = getattr(model, "score_estimate_se_", None)
    folder.finish()
    text = "\n".join([*heading(tree), "", tree_text(tree)])
    output.result(text, {**document, "files": folder.files})


def assess(options: SimpleNamespace, output: Output, folder: RunFolder) -> None:
    """Refit a learner on resamples of the rows and compare its trees."""
    rows, task = _read(options, output)
    found = assess_stability(
        make_learner(options, task, jobs=None),
        rows.X,
        rows.y,
        n_resamples=options.resamples,
        n_jobs=options.jobs,
        random_state=options.seed,
        verbose=0 if output.quiet else 1,
    )
    content = found.to_dict()
    folder.document("assessment.json", content)
    for name in ("summary", "splits", "cut_points"):
        folder.table(f"{name}.csv", getattr(found, name))
    folder.finish()
    document = {"task": task, "read": rows.read.to_dict(), **content, "files": folder.files}
    output.result(str(found), document)


# -- the rows and the learner --------------------------------------------------------------------


def _read(options: SimpleNamespace, output: Output) -> tuple[RowTable, str]:
    """Read the rows to train on, say what was read, and return them with their task."""
    rows, task = read_training(
        options.data,
        options.target,
        options.task,
        time=options.time,
        group=options.group,
        drop=options.drop,
        reading=reading_of(options),
    )
    output.say(rows.read.to_text(everything=output.verbosity > 0))
    return rows, task


def make_learner(options: SimpleNamespace, task: str, *, jobs: int | None, **of_stable: Any) -> Any:
    """Make the estimator that the user names; where nothing is asked for, its defaults hold."""
    classify, seed, most = task == "classification", options.seed, options.max_leaves
    if options.learner == "cart":
        cart = DecisionTreeClassifier if classify else DecisionTreeRegressor
        return cart(min_samples_leaf=8, max_leaf_nodes=most or 16, random_state=seed)
    if options.learner == "distilled":
        distilled = DistilledTreeClassifier if classify else DistilledTreeRegressor
        return distilled(max_leaf_nodes=most, n_jobs=jobs, random_state=seed)
    if most is not None:
        raise InputError(
            "expected no --max-leaves with --learner stable, whose sizes come from its grid; use "
            "--learner distilled or cart"
        )
    stable = StableTreeClassifier if classify else StableTreeRegressor
    return stable(n_jobs=jobs, random_state=seed, **of_stable)


def _fit_distilled(
    model: Any, rows: RowTable, policy: Decision | None, options: SimpleNamespace
) -> Tree:
    given = {} if policy is None else {"decision_threshold": policy}
    return read_model(model.set_params(forbid=options.forbidden, **given).fit(rows.X, rows.y))


def _fit_stable(
    model: Any, rows: RowTable, policy: Decision | None, options: SimpleNamespace
) -> Tree:
    """Fit on all rows but those left out for validation, the earlier half as the first batch."""
    if policy is not None:
        model.set_params(decision_threshold=policy)
    parts: dict[str, Any] = {}
    train = np.arange(len(rows.y))
    if rows.groups is not None:
        split = GroupShuffleSplit(1, test_size=model.holdout, random_state=options.seed)
        train, held = next(split.split(rows.X, rows.y, rows.groups))
        parts |= {"X_val": rows.X.iloc[held], "y_val": rows.y[held]}
    if rows.time is not None:
        when = rows.time[train]
        parts["first_batch"] = when <= np.median(when)
    return read_model(model.fit(rows.X.iloc[train], rows.y[train], **parts))


def _fit_cart(
    model: Any, rows: RowTable, policy: Decision | None, options: SimpleNamespace
) -> Tree:
    """Let scikit-learn grow the tree on coded columns, and read it in the user's columns."""
    task = "classification" if is_classifier(model) else "regression"
    space = FeatureSpace.from_data(rows.X, rows.y, task=task)
    encoder = ColumnEncoder(space)
    features = forbidden_features(space, options.forbidden)
    coded = unseen(space.encode(rows.X), features)
    fitted = model.fit(encoder.transform(coded), rows.y)
    # The same nodes in the user's columns; what was observed at them is in scikit-learn's tree.
    tree = encoder.to_tree(fitted).replace(observed=read_model(fitted).observed)
    tree = tree.replace(metadata={**tree.metadata, **forbidden_entry(space, features)})
    tree = as_tree(tree, policy)
    warn_of_one_decision(one_decision_of_leaves(tree))
    return tree


def _rare(tree: Tree, X: pd.DataFrame) -> dict[str, dict[Any, str]]:
    """Say what categories of few rows are called in a published tree."""
    if tree.space is None:
        return {}
    used = [tree.space.position[tree.feature_labels[j]] for j in tree.used_features]
    counts = count_categories(tree.space, tree.space.encode(X), used)
    return rare_names(tree.space, counts)


# -- the policy ----------------------------------------------------------------------------------


def policy_of(
    options: SimpleNamespace, classes: Sequence[Any] | None, known: Decision = LARGEST_SHARE
) -> Decision | None:
    """Read ``--decision-threshold`` and ``--positive``; None where neither is given.

    ``classes`` of the outcome (None in regression), ``known`` the policy that is inherited.
    """
    threshold, positive = options.decision_threshold, options.positive
    if threshold is None and positive is None:
        return None
    if classes is None or len(classes) != 2:
        option = "--decision-threshold" if positive is None else "--positive"
        where = "in regression" if classes is None else f"with {len(classes)} classes"
        raise InputError(f"expected no {option} {where}, got one; leave it out")
    named = None if positive is None else as_known([positive], classes)[0]
    if positive is not None and named not in classes:
        raise InputError(
            f"expected one of the classes {some_of(classes)} as --positive, got {quoted(positive)}"
        )
    asked = Decision(positive=named, steady=known.steady)
    if threshold is None:
        return asked
    asked = replace(asked, threshold=_share(threshold))
    if named is None and known.positive is None and obvious_positive(classes) is None:
        one, two = (f"--positive {shlex.quote(str(c))}" for c in classes)
        raise InputError(
            "expected --positive with --decision-threshold, got none: which outcome is to be "
            f"detected: {one} or {two}"
        )
    return asked


def _share(text: str) -> Any:
    """Read a share, or the word for the rate of the positive class."""
    try:
        if text == PREVALENCE or 0 <= float(text) <= 1:
            return text if text == PREVALENCE else float(text)
    except ValueError:
        pass
    raise InputError(
        f'expected a number from 0 to 1 or "prevalence" as --decision-threshold, got {quoted(text)}'
    )
