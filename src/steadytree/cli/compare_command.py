"""``steadytree compare``: what changed between two trees, and whether that is too much."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd

from steadytree.cli.output import Output
from steadytree.cli.run_folder import RunFolder
from steadytree.cli.show_command import tree_of
from steadytree.cli.tables import read_rows, reading_of, with_columns
from steadytree.diff import TreeDiff
from steadytree.diff.comparison import compare as compare_trees
from steadytree.evaluation.plan import LIMITS, ChangePlan, plan_setting
from steadytree.evaluation.plan_check import PlanCheck
from steadytree.exceptions import InputError, PlanError
from steadytree.tree.words import PLAIN


def compare(options: SimpleNamespace, output: Output, folder: RunFolder) -> int:
    """Say what changed from one tree to another."""
    old, new, target = options.old, options.new, options.target
    before = tree_of(options, old, options.old_tree_index)
    after = tree_of(options, new, options.new_tree_index)
    plan = plan_of(options.plans)
    if plan and options.old_tree_index == options.new_tree_index and old.samefile(new):
        raise InputError(
            f"expected two trees to hold a plan against, got the same tree twice: {old} and {new}; "
            "name the deployed tree and the new one"
        )
    identical = before == after
    if identical:
        output.say("Both files hold the very same tree.")
    if options.data is None:
        if target or options.group or options.subgroups:
            raise InputError("expected --data with --target, --group or --subgroup, got none")
        rows, counted = None, {}
    else:
        rows = read_rows(
            options.data,
            target,
            group=options.group,
            subgroups=options.subgroups,
            tree=before,
            reading=reading_of(options),
        )
        output.say(rows.read.to_text(everything=output.verbosity > 0))
        counted = {
            "X": with_columns(rows, plan.per_group),
            "y": None if target is None else rows.y,
            "groups": rows.groups,
        }
    found = compare_trees(before, after, plan=plan, trained_on=options.trained_on, **counted)
    by = {} if rows is None else {name: rows.column(name) for name in options.subgroups}
    if not options.publish:
        write_diff(folder, found.diff)
    folder.report("report.html", found, publish=options.publish)
    check = found.plan_check
    text = [found.to_text()]
    text += [f"By {PLAIN.name(name)}\n{table_text(found.flips(b))}" for name, b in by.items()]
    document = {
        "old": str(old),
        "new": str(new),
        "identical": identical,
        "read": None if rows is None else rows.read.to_dict(),
        **found.to_dict(by=by),
    }
    return finish(check, text, document, output, folder)


# -- what ``compare`` and ``retrain`` share ------------------------------------------------------


def plan_of(given: Sequence[str]) -> ChangePlan:
    """Read ``--plan``: files and single settings, joined."""
    return ChangePlan.read([_one_plan(text) for text in given])


def _one_plan(text: str) -> Any:
    if "=" not in text or (os.path.isfile(text) and text.partition("=")[0] not in LIMITS):
        return Path(text)
    return plan_setting(text)


def table_text(table: pd.DataFrame) -> str:
    """Write a table of numbers for a terminal."""
    return str(table.to_string(float_format=lambda v: f"{v:.3f}"))


def write_diff(folder: RunFolder, diff: TreeDiff) -> None:
    """Write what changed, with every count."""
    folder.document("diff.json", diff.to_dict())
    folder.text("diff.md", diff.to_markdown())


def finish(
    check: PlanCheck,
    text: Sequence[str],
    document: Mapping[str, Any],
    output: Output,
    folder: RunFolder,
) -> int:
    """Let the files take their names, print the result, and return what the plan amounts to."""
    code = 0 if check.held else PlanError.exit_code
    text = [*text, check.to_text()] if check.clauses else text
    folder.finish(code)
    output.result("\n\n".join(text), {**document, "files": folder.files}, exit_code=code)
    if not check.held:
        output.say(f"{len(check.not_held)} of {len(check.clauses)} clauses did not hold")
    return code
