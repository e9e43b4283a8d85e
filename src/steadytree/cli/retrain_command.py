"""``steadytree retrain``: propose the tree that changes least, and say what changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import pandas as pd

from steadytree._io import check_writable
from steadytree.cli.options import (
    FILE,
    Reading,
    data_options,
    example,
    jobs_option,
    model_options,
    option_of,
    output_options,
    plan_of,
    plan_option,
    policy_of,
    policy_options,
    publish_option,
    subgroup_option,
    tree_index_option,
)
from steadytree.cli.output import OutFolder, Output, flips_text
from steadytree.cli.show_command import decision_data
from steadytree.cli.table_options import TableReading, table_options
from steadytree.cli.tables import ReadSummary, RowTable, check_columns, read_rows, with_columns
from steadytree.diff import published_diff
from steadytree.exceptions import InputError, PlanError
from steadytree.publish import names_of_diff, publish_tree
from steadytree.retraining import Retraining, Rows, SearchOptions, retrain
from steadytree.retraining.history import History
from steadytree.retraining.on_disk import MEMORY_ROWS, PARQUET, open_table, parquet_rows
from steadytree.tree.columns import column_values
from steadytree.tree.json import plain_json
from steadytree.tree.words import PLAIN

# -- Parquet files that are too large to read, named instead of read --
# How many rows a Parquet file has stands in its last few bytes. Beyond ``DISK_ROWS`` the files are
# left on disk, and the retraining goes through them a batch at a time.

DISK_ROWS = 1_000_000
"""Parquet files of more rows than this, old and new together, stay on disk."""


@dataclass(frozen=True)
class TableOnDisk:
    """A table that is not read: its path, and names of columns in place of their values."""

    X: Path
    y: str
    time: str | None
    groups: str | None
    names: tuple[str, ...]
    read: ReadSummary

    @classmethod
    def of(
        cls,
        path: Path,
        target: str,
        reading: TableReading | None = None,
        *,
        time: str | None = None,
        group: str | None = None,
        subgroups: Sequence[str] = (),
    ) -> TableOnDisk:
        """Check that the columns exist, and that nothing is asked that needs the rows."""
        if reading is not None and (reading.types or reading.drop_missing_target):
            raise InputError(
                f"expected no --types and no --drop-missing-target with {path.name}, whose rows "
                "stay on disk with the types that it stores, got one; write them into the file"
            )
        names = open_table(path, str(path)).names
        single = (("--target", target), ("--time", time), ("--group", group))
        named = [(option, name) for option, name in single if name]
        named += [("--subgroup", name) for name in subgroups]
        check_columns(pd.DataFrame(columns=list(names)), path, named)
        taken = sorted(set(subgroups) & {target, time, group})
        if taken:
            raise InputError(
                f"expected other columns as --subgroup than --target, --time and --group, as "
                f"{path.name} stays on disk, got {', '.join(map(repr, taken))}; write a copy of "
                "the column under another name"
            )
        read = ReadSummary(path, parquet_rows(path), on_disk=True)
        return cls(path, target, time, group, names, read)


def leave_on_disk(paths: Sequence[Path | None]) -> tuple[frozenset[Path], str]:
    """Return the Parquet files to leave on disk, and what to tell the user about it."""
    found = {
        path: parquet_rows(path)
        for path in paths
        if path is not None and path.name.lower().endswith(PARQUET) and path.is_file()
    }
    total = sum(found.values())
    if total <= DISK_ROWS:
        return frozenset(), ""
    names = " and ".join(f"{path.name} ({count:,} rows)" for path, count in found.items())
    return frozenset(found), (
        f"{names}: more than {DISK_ROWS:,} rows stay on disk; a sample of {MEMORY_ROWS:,} is read "
        "for rules and scores, what leaves predict and count comes from all rows"
    )


def groups_of(
    rows: RowTable | TableOnDisk | None, group: str | None, *, as_text: bool = True
) -> Any:
    """Return the groups of a table, where it has the column; ``as_text``: whatever their type."""
    if rows is None or group is None:
        return None
    if isinstance(rows, TableOnDisk):
        return group if group in rows.names else None
    if group not in rows.table.columns:
        return None
    values = rows.table[group]
    return (values.astype(str) if as_text else values).to_numpy()


# -- ``steadytree retrain``: propose the tree that changes least, and say what changed --


@click.command(
    "retrain",
    help=f"""Retrain the deployed tree on the rows of DATA (CSV or Parquet).

    Proposes the least change that rows left out do not speak against, within the plan, and
    explains it: keep, re-estimate or change, and how sure that is. Ends with code 3 where a
    clause of the plan does not hold: the deployed tree is then kept.

    Parquet files of more than {DISK_ROWS:,} rows, DATA and --old together, are not read into
    memory: rules and scores come from a sample of {MEMORY_ROWS:,}, leaves count all rows.
    """,
    epilog=example(
        "steadytree retrain 2024.csv --deployed model/tree.json --target died",
        "--old 2023.csv --out proposal --plan max_flips=0.03 --plan min_gain=0.01",
    ),
)
@click.argument("data", type=FILE)
@click.option("--deployed", type=FILE, required=True, metavar="FILE", help="The tree in force.")
@tree_index_option()
@model_options
@data_options
@click.option("--old", type=FILE, metavar="FILE", help="Rows the deployed tree was trained on.")
@click.option(
    "--test", type=FILE, metavar="FILE", help="Rows that nothing was trained on: a final test."
)
@table_options
@option_of("--price", retrain, "price", "Price of change.", type=float)
@plan_option
@policy_options(" By default as the deployed tree.")
@option_of("--folds", retrain, "n_folds", "For scores.", type=click.IntRange(0))
@option_of("--trees", SearchOptions, "n_estimators", "Of the teacher.", type=click.IntRange(1))
@jobs_option
@click.option("--history", type=FILE, metavar="FILE", help="Record the proposal in this history.")
@subgroup_option
@publish_option
@output_options(
    *("retrain", "tree.json", "candidates.csv", "diff.json", "diff.md", "report.html"),
    note="refused-tree.json alone where the plan does not hold",
)
def command(
    data: Path,
    deployed: Path,
    tree_index: int | None,
    reading: Reading,
    target: str,
    time: str | None,
    group: str | None,
    old: Path | None,
    test: Path | None,
    table_reading: TableReading,
    price: float,
    plans: tuple[str, ...],
    decision_threshold: str | None,
    positive: str | None,
    folds: int,
    trees: int,
    jobs: int | None,
    history: Path | None,
    subgroups: tuple[str, ...],
    publish: bool,
    output: Output,
    folder: OutFolder,
    seed: int,
) -> int:
    """Retrain the deployed tree on the rows of a file; the help page is above."""
    plan = plan_of(plans)
    tree = reading.tree(deployed, tree_index)
    policy = policy_of(decision_threshold, positive, tree.classes, tree.decision)
    past = None
    if history is not None:
        check_writable(history)
        past = History.open(history)
    known: dict[str, Any] = {"tree": tree, "to_retrain": True, "reading": table_reading}
    on_disk, told = leave_on_disk([data, old])
    if told:
        output.say(told)
    columns: dict[str, Any] = {"time": time, "group": group, "subgroups": subgroups}
    rows: RowTable | TableOnDisk
    before: RowTable | TableOnDisk | None = None
    if data in on_disk:
        rows = TableOnDisk.of(data, target, table_reading, **columns)
    else:
        rows = read_rows(data, target, **columns, **known)
    if old is not None:
        left = old in on_disk
        before = (
            TableOnDisk.of(old, target, table_reading)
            if left
            else read_rows(old, target, is_old=True, **known)
        )
    final = None if test is None else read_rows(test, target, is_old=True, **known)
    summaries = [table.read for table in (rows, before, final) if table is not None]
    for summary in summaries:
        output.say(summary.to_text(everything=output.verbosity > 0))
    with output.progress("retrain") as report:
        result = retrain(
            tree,
            with_columns(rows, plan.per_group) if isinstance(rows, RowTable) else rows.X,
            rows.y,
            old=None
            if before is None
            else Rows(before.X, before.y, groups=groups_of(before, group, as_text=not on_disk)),
            test=None if final is None else (final.X, final.y),
            price=price,
            plan=plan,
            decision=policy,
            groups=groups_of(rows, group, as_text=not on_disk),
            time=rows.time,
            n_folds=folds,
            search=SearchOptions(n_estimators=trees),
            n_jobs=jobs,
            random_state=seed,
            progress=report,
        )
    if result.settings["folds_interrupted"]:
        raise click.Abort  # the plan cannot be checked: nothing is written
    check = result.plan_check
    code = 0 if check.held else PlanError.exit_code
    people = {
        name: rows.column(name) if isinstance(rows, RowTable) else column_values(result.X_new, name)
        for name in subgroups
    }
    flips = {name: result.flips(by) for name, by in people.items()}
    explanation, diff = result.explain(), result.diff.to_dict()
    public = published_diff(result.diff) if publish else result.diff
    # The proposal itself is in its own columns, not in those of the space.
    shown = result.refused or result.tree
    names = names_of_diff(result.diff)
    tree_file = publish_tree(shown, names) if publish else shown
    folder.tree(tree_file, accepted=check.held)
    if not publish:
        folder.table("candidates.csv", result.frontier)
        folder.document("diff.json", diff)
    folder.text("diff.md", public.to_markdown())
    folder.report("report.html", result, subgroups=people, publish=publish)
    version = None
    if past is not None:
        version = past.append(result, note=f"retrained on {data.name}")
        output.say(f"recorded as version {version} of {history}: {past.status(version)}")
    document = {
        "deployed": str(deployed),
        "read": [summary.to_dict() for summary in summaries],
        "chosen": result.chosen,
        "dissimilarity": result.dissimilarity,
        "distance": result.distance,
        "flips": result.flips(),
        **result.answer.to_dict(),
        "explanation": explanation,
        "decision": decision_data(result.tree),
        "test": result.test,
        "edits": list(result.edits),
        "drift": _drift(result),
        "notes": list(result.notes),
        "space_note": result.space_note or None,
        "changed_columns": dict(result.changed_columns),
        "frontier": result.frontier,
        "performance": result.performance(),
        "plan": check.to_dict(),
        "subgroups": {
            name: {"flips": flips[name], "performance": result.performance(by)}
            for name, by in people.items()
        },
        "diff": diff,
        "settings": result.settings,
        "history_version": version,
        "files": folder.files,
    }
    parts = [explanation, result.diff.to_text(), _frontier_text(result.frontier)]
    if result.space_note:
        parts.insert(2, result.space_note)
    parts += [
        f"Decisions that change, by {PLAIN.name(name)}\n{flips_text(t)}"
        for name, t in flips.items()
    ]
    if final is not None and result.test is not None:
        words = result.test.drop(columns=["n"]).to_string(float_format=lambda v: f"{v:.3f}")
        head = f"Final test on {len(final.y):,} rows that nothing was trained on"
        if "sensitivity" in result.test:
            decision = result.tree.decision
            head += f"; sensitivity to {PLAIN.name((tree.classes or ())[decision.position])}"
        parts.insert(1, f"{head}\n{words}")
    parts += [check.to_text()] if check.clauses else []
    folder.finish(code)
    output.result("\n\n".join(parts), document, exit_code=code)
    output.say_plan(check)
    return code


def _drift(result: Retraining) -> dict[str, Any] | None:
    if result.drift is None:
        return None
    found = {k: v for k, v in vars(result.drift).items() if not k.startswith("_")}
    return dict(plain_json(found, 4))


def _frontier_text(frontier: pd.DataFrame) -> str:
    columns = ["dissimilarity", "score", "score_change", "flips", "n_leaves", "chosen"]
    shown = frontier.loc[frontier["on_frontier"] | frontier["chosen"], columns]
    words: str = shown.to_string(float_format=lambda v: f"{v:.3f}")
    return f"Candidates on the frontier\n{words}"
