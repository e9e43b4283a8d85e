"""``steadytree show``: the tree in a model file as rules."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np

from steadytree.cli.options import (
    FILE,
    Reading,
    example,
    model_options,
    publish_option,
    tree_index_option,
)
from steadytree.cli.output import Output
from steadytree.publish import publish_tree
from steadytree.tree.decision import one_decision_of_leaves, warn_of_one_decision
from steadytree.tree.json import plain_json
from steadytree.tree.observed import Observed
from steadytree.tree.paths import tree_rules
from steadytree.tree.printing import tree_text
from steadytree.tree.tree import Tree
from steadytree.tree.words import PLAIN
from steadytree.writers.markdown import rules_table


@click.command("show", epilog=example("steadytree show out/tree.json --format rules"))
@click.argument("tree_file", metavar="MODEL", type=FILE)
@tree_index_option()
@model_options
@click.option(
    "--format",
    "style",
    type=click.Choice(["text", "rules", "markdown"]),
    default="text",
    show_default=True,
    help="An indented tree, one rule per line, or a table of rules.",
)
@publish_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.option("--seed", type=int, hidden=True)
@click.option("-q", "--quiet", is_flag=True, help="Only the rules, no heading.")
@click.option("-v", "--verbose", is_flag=True, help="The metadata stored with the tree as well.")
def command(
    tree_file: Path,
    tree_index: int | None,
    reading: Reading,
    style: str,
    publish: bool,
    as_json: bool,
    seed: int | None,
    quiet: bool,
    verbose: bool,
) -> None:
    """Print the rules of the tree in the file MODEL, ours or another library's."""
    output = Output("show", as_json=as_json, verbosity=verbose - quiet)
    tree = reading.tree(tree_file, tree_index)
    tree = publish_tree(tree) if publish else tree
    one = one_decision_of_leaves(tree)
    warn_of_one_decision(one)
    rules = rules_data(tree)
    lines = [] if quiet else [*heading(tree), ""]
    if verbose:
        lines = [*heading(tree), *(f"{k}: {v}" for k, v in tree.metadata.items()), ""]
    if style == "text":
        lines.append(tree_text(tree))
    elif style == "rules":
        lines += [f"{rule['text']}: {rule['outcome']}" for rule in rules]
    else:
        lines += rules_table(tree)
    document = {
        "file": str(tree_file),
        "task": "classification" if tree.is_classifier else "regression",
        "classes": tree.classes,
        "decision_threshold": tree.decision_threshold,
        "decision": decision_data(tree),
        "one_decision": None if one is None else one.words(),
        "n_leaves": tree.n_leaves,
        "depth": tree.depth,
        "features": sorted({tree.feature_labels[j] for j in tree.feature.tolist() if j >= 0}),
        "rules": rules,
        "metadata": tree.metadata,
    }
    output.result("\n".join(lines), document)


def heading(tree: Tree) -> list[str]:
    """Size of the tree, how it decides, and what its numbers are."""
    lines = [repr(tree)]
    if tree.is_classifier:
        named = [PLAIN.name(c) for c in tree.classes or ()]
        lines.append(f"Policy: {tree.decision.words(named)}.")
    if tree.observed is not None:
        counted = "Observed: among the rows the tree was trained on."
        if tree.observed.old_share < 1:
            share = PLAIN.percent(tree.observed.old_share)
            counted += f" In its predictions an old row counts {share} of a new one."
        lines.append(counted)
    return lines


def rules_data(tree: Tree) -> list[dict[str, Any]]:
    """List one entry per leaf: its conditions, what it decides and predicts, what was observed."""
    weight = np.asarray(tree.weight)
    total = float(weight[tree.leaves].sum()) or 1.0
    against = tree.kept_against_share
    return [
        {
            "leaf": rule.leaf,
            "conditions": [str(c) for c in rule.conditions],
            "text": rule.conditions_text,
            "outcome": rule.numbers.words(),
            "label": rule.numbers.label,
            "value": tree.value[rule.leaf].tolist(),
            "kept_against_share": bool(against[rule.leaf]),
            "observed": _observed_data(tree.observed, rule.leaf),
            "share": float(weight[rule.leaf]) / total,
        }
        for rule in tree_rules(tree)
    ]


def _observed_data(seen: Observed | None, leaf: int) -> dict[str, Any] | None:
    """Return what the prediction of a leaf can be recomputed from; None where nothing is stored."""
    if seen is None:
        return None
    parts = {}
    for at, which in enumerate(("old", "new")):
        counts, weighted = seen.counts[leaf, at].tolist(), seen.weighted[leaf, at].tolist()
        if seen.is_classifier:
            parts[which] = {"rows": sum(counts), "outcomes": counts, "weighted_outcomes": weighted}
        else:
            parts[which] = dict(
                zip(
                    ("rows", "sum", "weighted_rows", "weighted_sum"),
                    (*counts, *weighted),
                    strict=True,
                )
            )
    return {
        **parts,
        "rate": plain_json(seen.rate()[leaf].tolist()),
        "steadied_by": seen.steadied_by[leaf].tolist(),
        "strength": float(seen.strength[leaf]),
        "old_share": seen.old_share,
    }


def decision_data(tree: Tree) -> dict[str, Any] | None:
    """Return the policy that turns shares into decisions; None in regression."""
    if tree.classes is None:
        return None
    decision = tree.decision
    two = len(tree.classes) == 2
    return {
        "words": decision.words(tree.classes),
        "threshold": decision.threshold,
        "positive": tree.classes[decision.position] if two else None,
        "class_weight": decision.class_weight,
        "origin": decision.origin,
        "steady": decision.steady,
    }
