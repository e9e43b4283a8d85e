"""``steadytree compare``: what changed between two trees, and whether that is too much."""

from __future__ import annotations

from pathlib import Path

import click
import pandas as pd

from steadytree.cli.options import (
    FILE,
    Reading,
    example,
    model_options,
    output_options,
    plan_of,
    plan_option,
    publish_option,
    scale_option,
    subgroup_option,
    tree_index_option,
)
from steadytree.cli.output import OutFolder, Output, flips_text
from steadytree.cli.show_command import decision_data
from steadytree.cli.table_options import TableReading, table_options
from steadytree.cli.tables import read_rows, with_columns
from steadytree.diff import published_diff
from steadytree.diff.comparison import TRAINED_ON, compare
from steadytree.exceptions import InputError, PlanError
from steadytree.tree.words import PLAIN


@click.command(
    "compare",
    epilog=example(
        "steadytree compare old.json new.json --data patients.csv --target died",
        "--plan max_dissimilarity=0.1 --plan max_flips=0.05",
    ),
)
@click.argument("old", type=FILE)
@click.argument("new", type=FILE)
@tree_index_option("--old-tree-index")
@tree_index_option("--new-tree-index")
@model_options
@click.option("--data", type=FILE, help="Rows to count: a CSV or Parquet file.")
@click.option("--target", metavar="COLUMN", help="The outcome in DATA, to score both trees.")
@click.option("--group", metavar="COLUMN", help="Rows that belong together, for the error.")
@click.option(
    "--trained-on",
    type=click.Choice([name for name in TRAINED_ON if name]),
    help="Which tree was trained on DATA, to be said beside the scores.",
)
@table_options
@subgroup_option
@plan_option
@publish_option
@scale_option(None, "Measure moves over each feature's range, or by shares of DATA's rows.")
@output_options("compare", "diff.json", "diff.md", "report.html")
def command(
    old: Path,
    new: Path,
    old_tree_index: int | None,
    new_tree_index: int | None,
    reading: Reading,
    data: Path | None,
    target: str | None,
    group: str | None,
    trained_on: str | None,
    table_reading: TableReading,
    subgroups: tuple[str, ...],
    scale: str | None,
    plans: tuple[str, ...],
    publish: bool,
    output: Output,
    folder: OutFolder,
    seed: int,
) -> int:
    """Say what changed from the tree in the file OLD to the one in NEW.

    The files are ours or another library's: whatever `steadytree show` reads.

    Ends with code 3 when a clause of the plan does not hold, or cannot be judged.
    """
    before, after = reading.tree(old, old_tree_index), reading.tree(new, new_tree_index)
    plan = plan_of(plans)
    if plan and old_tree_index == new_tree_index and old.samefile(new):
        raise InputError(
            f"expected two trees to hold a plan against, got the same tree twice: {old} and {new}; "
            "name the deployed tree and the new one"
        )
    identical = before == after
    if identical:
        output.say("Both files hold the very same tree.")
    if data is None and (target or group or subgroups):
        raise InputError("expected --data with --target, --group or --subgroup, got none")
    rows = None
    if data is not None:
        rows = read_rows(
            data, target, group=group, subgroups=subgroups, tree=before, reading=table_reading
        )
        output.say(rows.read.to_text(everything=output.verbosity > 0))
    if scale == "quantile" and rows is None:
        raise InputError(
            "expected --data with --scale quantile, got none; name the rows that thresholds pass"
        )
    found = compare(
        before,
        after,
        None if rows is None else with_columns(rows, plan.per_group),
        None if rows is None or target is None else rows.y,
        plan=plan,
        scale=scale,
        groups=None if rows is None else rows.groups,
        trained_on=trained_on,
    )
    check = found.plan_check
    tables: dict[str, pd.DataFrame] = {}
    if rows is not None:
        tables = {name: found.flips(rows.column(name)) for name in subgroups}
    public = published_diff(found.diff) if publish else found.diff
    if not publish:
        folder.document("diff.json", found.diff.to_dict())
    folder.text("diff.md", public.to_markdown())
    folder.report("report.html", found.diff, publish=publish)
    code = 0 if check.held else PlanError.exit_code
    text = [found.to_text()]
    text += [f"By {PLAIN.name(name)}\n{flips_text(table)}" for name, table in tables.items()]
    if check.clauses:
        text.append(check.to_text())
    content = found.to_dict()
    diff = content.pop("diff")
    document = {
        "old": str(old),
        "new": str(new),
        "identical": identical,
        "read": None if rows is None else rows.read.to_dict(),
        "decision": {"old": decision_data(before), "new": decision_data(after)},
        **content,
        "subgroups": {name: {"flips": t} for name, t in tables.items()},
        "diff": diff,
        "files": folder.files,
    }
    folder.finish(code)
    output.result("\n\n".join(text), document, exit_code=code)
    output.say_plan(check)
    return code
