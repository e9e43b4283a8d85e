"""``steadytree retrain``: propose the tree that changes least, and say what changed."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd

from steadytree._io import check_writable
from steadytree.cli.compare_command import finish, plan_of, table_text, write_diff
from steadytree.cli.fit_command import policy_of
from steadytree.cli.output import Output
from steadytree.cli.run_folder import RunFolder
from steadytree.cli.show_command import tree_of
from steadytree.cli.tables import (
    RowTable,
    read_rows,
    reading_of,
    with_columns,
)
from steadytree.publish import names_of_diff, publish_tree
from steadytree.retraining import Retraining, Rows, SearchOptions
from steadytree.retraining import retrain as retrain_tree
from steadytree.retraining.history import History
from steadytree.tree.tree import Tree
from steadytree.tree.words import PLAIN


def retrain(options: SimpleNamespace, output: Output, folder: RunFolder) -> int:
    """Retrain the deployed tree on the rows of a file."""
    plan = plan_of(options.plans)
    tree = tree_of(options, options.deployed, options.tree_index)
    policy = policy_of(options, tree.classes, tree.decision)
    history = None
    if options.history is not None:
        check_writable(options.history)
        history = History(options.history)
        len(history)  # one that cannot be read is refused before the work
    rows, old, test = _read_tables(options, tree, output)
    with output.progress("retrain") as report:
        result = retrain_tree(
            tree,
            with_columns(rows, plan.per_group),
            rows.y,
            old=None if old is None else Rows(old.X, old.y, groups=_groups_of(old, options.group)),
            test=None if test is None else (test.X, test.y),
            price=options.price,
            plan=plan,
            decision=policy,
            groups=rows.groups,
            time=rows.time,
            n_folds=options.folds,
            search=SearchOptions(n_estimators=options.trees),
            n_jobs=options.jobs,
            random_state=options.seed,
            progress=report,
        )
    subgroups = {name: rows.column(name) for name in options.subgroups}
    _write_files(result, subgroups, folder, publish=options.publish)
    version = None
    if history is not None:
        version = history.append(result, note=f"retrained on {options.data.name}")
        status = history.versions["status"][version]
        output.say(f"recorded as version {version} of {options.history}: {status}")
    summary = result.to_dict(by=subgroups)
    document = {
        "deployed": str(options.deployed),
        "read": [table.read.to_dict() for table in (rows, old, test) if table is not None],
        **summary,
        "explanation": result.explain(),
        "history_version": version,
    }
    text = [result.explain()]
    if test is not None and result.test is not None:
        text.append(_test_text(result, result.test, len(test.y)))
    text.append(result.diff.to_text())
    text += [result.space_note] if result.space_note else []
    text.append(_frontier_text(result.frontier))
    text += [
        f"Decisions that change, by {PLAIN.name(name)}\n{table_text(result.flips(by))}"
        for name, by in subgroups.items()
    ]
    return finish(result.plan_check, text, document, output, folder)


# -- the rows ------------------------------------------------------------------------------------


def _read_tables(
    options: SimpleNamespace, tree: Tree, output: Output
) -> tuple[RowTable, RowTable | None, RowTable | None]:
    """Read the new, the old and the test rows, and say what was read."""

    def read(path: Path, *, is_old: bool = False) -> RowTable:
        roles: dict[str, Any] = {}
        if not is_old:
            roles = {name: getattr(options, name) for name in ("time", "group", "subgroups")}
        reading = reading_of(options)
        known: dict[str, Any] = {"tree": tree, "to_retrain": True, "reading": reading}
        return read_rows(path, options.target, is_old=is_old, **roles, **known)

    rows = read(options.data)
    old = None if options.old is None else read(options.old, is_old=True)
    test = None if options.test is None else read(options.test, is_old=True)
    for table in (rows, old, test):
        if table is not None:
            output.say(table.read.to_text(everything=output.verbosity > 0))
    return rows, old, test


def _groups_of(old: RowTable, group: str | None) -> Any:
    """Return the groups of the old rows, where they have the column."""
    if group is None or group not in old.table.columns:
        return None
    return old.table[group].astype(str).to_numpy()


# -- the result ----------------------------------------------------------------------------------


def _write_files(
    result: Retraining, subgroups: dict[str, Any], folder: RunFolder, *, publish: bool
) -> None:
    # The proposal itself is in its own columns, not in those of the space.
    tree = result.refused or result.tree
    if publish:
        tree = publish_tree(tree, names_of_diff(result.diff))
    folder.tree(tree, accepted=result.plan_check.held)
    if not publish:
        folder.table("candidates.csv", result.frontier)
        write_diff(folder, result.diff)
    folder.report("report.html", result, subgroups=subgroups, publish=publish)


def _test_text(result: Retraining, scores: pd.DataFrame, n_rows: int) -> str:
    head = f"Final test on {n_rows:,} rows that nothing was trained on"
    if "sensitivity" in scores:
        positive = (result.tree.classes or ())[result.tree.decision.position]
        head += f"; sensitivity to {PLAIN.name(positive)}"
    return f"{head}\n{table_text(scores.drop(columns=['n']))}"


def _frontier_text(frontier: pd.DataFrame) -> str:
    columns = ["dissimilarity", "score", "score_change", "flips", "n_leaves", "chosen"]
    shown = frontier.loc[frontier["on_frontier"] | frontier["chosen"], columns]
    return f"Candidates on the frontier\n{table_text(shown)}"
