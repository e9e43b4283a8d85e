"""``steadytree compare``: what changed between two trees, and whether that is too much."""

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
    check,
    common_options,
    example,
    gate_options,
    out_option,
    subgroup_option,
)
from steadytree.cli.output import Output
from steadytree.cli.tables import LabelledTable, check_columns, read_labelled, read_table
from steadytree.core.format import load_tree
from steadytree.core.space import FeatureSpace
from steadytree.core.tree import Tree
from steadytree.diff import TreeDiff, diff_trees
from steadytree.distance import tree_distance
from steadytree.evaluation.flips import flip_table, prediction_moved, response_span
from steadytree.evaluation.scores import score_rows, standard_error
from steadytree.exceptions import GateError, InputError

__all__ = ["command"]


@click.command(
    "compare",
    epilog=example(
        "steadytree compare old.json new.json --data patients.csv --target died",
        "--max-dissimilarity 0.1 --max-flips 0.05 --min-score-change -0.01",
    ),
)
@click.argument("old", type=FILE)
@click.argument("new", type=FILE)
@click.option("--data", type=FILE, help="Rows to count: a CSV or Parquet file.")
@click.option("--target", metavar="COLUMN", help="The outcome in DATA, to score both trees.")
@click.option("--group", metavar="COLUMN", help="Rows that belong together, for the error.")
@subgroup_option
@gate_options
@out_option("diff.json, diff.md and report.html")
@common_options
def command(
    old: Path,
    new: Path,
    data: Path | None,
    target: str | None,
    group: str | None,
    subgroups: tuple[str, ...],
    out: Path | None,
    as_json: bool,
    seed: int,
    quiet: bool,
    verbose: bool,
    **gates: Any,
) -> int:
    """Say what changed from the tree file OLD to the tree file NEW.

    Ends with code 3 when a gate does not hold.
    """
    output = Output("compare", as_json=as_json, verbosity=verbose - quiet)
    folder = OutFolder(out, output)
    before, after = load_tree(old), load_tree(new)
    rows = _read(data, target, group, subgroups, before)
    if gates["max_flips"] is not None and rows is None:
        raise InputError("expected --data with --max-flips, got none; name the rows to count")
    if gates["min_score_change"] is not None and target is None:
        raise InputError(
            "expected --data and --target with --min-score-change, got none; "
            "a score needs rows and their outcomes"
        )
    diff = _diff(before, after, rows, target)
    score = None if rows is None or target is None else _score(before, after, rows)
    extra = {} if score is None else {"score_change": score["change"]}
    gate_check = check(diff, gates, **extra)
    tables = _subgroups(diff, rows, subgroups)
    folder.document("diff.json", diff.to_dict())
    folder.text("diff.md", diff.to_markdown())
    folder.report("report.html", diff)
    code = 0 if gate_check.passed else GateError.exit_code
    text = [diff.to_text()]
    if score is not None:
        text.append(
            f"{score['name']}: {score['old']:.3f} -> {score['new']:.3f} "
            f"({score['change']:+.3f}, standard error {score['change_se']:.3f})"
        )
    text += [f"By {name}\n{table.to_string()}" for name, table in tables.items()]
    if gate_check.results:
        text.append(gate_check.to_text())
    document = {
        "old": str(old),
        "new": str(new),
        "dissimilarity": diff.dissimilarity,
        "distance": tree_distance(before, after, space=diff.space),
        "flips": diff.flips,
        "score": score,
        "gates": gate_check.to_dict(),
        "subgroups": {name: {"flips": table} for name, table in tables.items()},
        "diff": diff.to_dict(),
        "files": folder.files,
    }
    output.result("\n\n".join(text), document, exit_code=code)
    if code:
        output.say(f"{len(gate_check.failed)} of {len(gate_check.results)} gates did not hold")
    return code


def _read(
    data: Path | None,
    target: str | None,
    group: str | None,
    subgroups: tuple[str, ...],
    tree: Tree,
) -> LabelledTable | None:
    if data is None:
        if target or group or subgroups:
            raise InputError("expected --data with --target, --group or --subgroup, got none")
        return None
    if target is not None:
        return read_labelled(data, target, group=group, subgroups=subgroups, tree=tree)
    table = read_table(data)
    named = [("--subgroup", s) for s in subgroups] + ([("--group", group)] if group else [])
    check_columns(table, data, named)
    X = table
    if tree.feature_names is not None:
        check_columns(table, data, (("a predictor", name) for name in tree.feature_names))
        X = table[list(tree.feature_names)]
    return LabelledTable(table, X, np.zeros(0), None, None)


def _diff(before: Tree, after: Tree, rows: LabelledTable | None, target: str | None) -> TreeDiff:
    space = before.space or after.space
    if space is None and rows is not None:
        flags = [c is not None for c in before.categories]
        y = rows.y if target is not None else None
        task = "classification" if before.is_classifier else "regression"
        space = FeatureSpace.from_data(rows.X, y, categorical_features=flags, task=task)
    if rows is None:
        return diff_trees(before, after, space=space)
    return diff_trees(before, after, rows.X, y=None if target is None else rows.y, space=space)


def _score(before: Tree, after: Tree, rows: LabelledTable) -> dict[str, Any]:
    """Score both trees on the rows, with the paired standard error of the change."""
    y = _codes(before, rows.y)
    classify = before.is_classifier
    if classify and after.classes != before.classes:
        raise InputError(
            f"expected the same classes to compare scores, got {before.classes} "
            f"and {after.classes}; leave --target out"
        )
    old, new = (
        score_rows(y, tree.value[tree.apply(rows.X)], classifier=classify)
        for tree in (before, after)
    )
    change = new.minus(old)
    return {
        "name": "AUC" if classify else "R2",
        "old": old.value,
        "new": new.value,
        "change": change.value,
        "change_se": standard_error(change.influence, rows.groups),
    }


def _codes(tree: Tree, y: NDArray[Any]) -> NDArray[Any]:
    if tree.classes is None:
        if y.dtype.kind not in "fiub":
            raise InputError(
                f"expected numbers as --target: the trees are regression trees, got {y.dtype}"
            )
        return y.astype(np.float64)
    position = {c: i for i, c in enumerate(tree.classes)}
    unseen = sorted({str(v) for v in y.tolist() if v not in position})
    if unseen:
        raise InputError(
            f"expected the trees' classes {list(tree.classes)} as --target, "
            f"got unseen {', '.join(unseen[:5])}"
        )
    return np.array([position[v] for v in y.tolist()], dtype=np.int64)


def _subgroups(
    diff: TreeDiff, rows: LabelledTable | None, names: tuple[str, ...]
) -> dict[str, pd.DataFrame]:
    if rows is None or not names:
        return {}
    before, after = diff.old.predict(rows.X), diff.new.predict(rows.X)
    span = response_span(diff.space, classifier=diff.classes is not None)
    changed = before != after if span is None else prediction_moved(before, after, span)
    return {
        name: flip_table(rows.table, rows.column(name), changed, min_cell=10, level=0.95)
        for name in names
    }
