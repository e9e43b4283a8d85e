"""``steadytree show``: a tree file as rules."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np

from steadytree.cli.output import Output
from steadytree.cli.shared_options import FILE, example
from steadytree.core.format import load_tree
from steadytree.core.paths import Paths
from steadytree.core.space import FeatureSpace
from steadytree.core.tree import Tree
from steadytree.core.words import PLAIN, join_conditions, node_outcome_text, tree_text

__all__ = ["command"]


@click.command("show", epilog=example("steadytree show out/tree.json --format rules"))
@click.argument("tree_file", metavar="TREE", type=FILE)
@click.option(
    "--format",
    "style",
    type=click.Choice(["text", "rules", "markdown"]),
    default="text",
    show_default=True,
    help="An indented tree, one rule per line, or a table of rules.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.option("--seed", type=int, hidden=True)
@click.option("-q", "--quiet", is_flag=True, help="Only the rules, no heading.")
@click.option("-v", "--verbose", is_flag=True, help="The metadata stored with the tree as well.")
def command(
    tree_file: Path, style: str, as_json: bool, seed: int | None, quiet: bool, verbose: bool
) -> None:
    """Print the rules of the tree file TREE."""
    output = Output("show", as_json=as_json, verbosity=verbose - quiet)
    tree = load_tree(tree_file)
    rules = tree_rules(tree)
    lines = [] if quiet else [_heading(tree), ""]
    if verbose:
        lines = [_heading(tree), *(f"{k}: {v}" for k, v in tree.metadata.items()), ""]
    if style == "text":
        lines.append(tree_text(tree))
    elif style == "rules":
        lines += [f"{rule['text']}: {rule['outcome']}" for rule in rules]
    else:
        lines += ["| rule | outcome | share of training weight |", "| --- | --- | --: |"]
        for rule in rules:
            cells = (_md(rule["text"]), _md(rule["outcome"]), PLAIN.percent(rule["share"], 1))
            lines.append(f"| {' | '.join(cells)} |")
    document = {
        "file": str(tree_file),
        "task": "classification" if tree.is_classifier else "regression",
        "classes": tree.classes,
        "decision_threshold": tree.decision_threshold,
        "n_leaves": tree.n_leaves,
        "depth": tree.depth,
        "features": sorted({tree.feature_labels[j] for j in tree.feature.tolist() if j >= 0}),
        "rules": rules,
        "metadata": dict(tree.metadata),
    }
    output.result("\n".join(lines), document)


def _heading(tree: Tree) -> str:
    threshold = tree.decision_threshold
    if threshold is None:
        return repr(tree)
    return f"{tree!r}, positive from a share of {threshold:g}"


def _md(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace(">", "&gt;")


def tree_rules(tree: Tree) -> list[dict[str, Any]]:
    """List one entry per leaf: its conditions in words, its outcome, its share of the weight."""
    paths = Paths.from_tree(tree, tree.space or _display_space(tree))
    weight = np.asarray(tree.weight)
    total = float(weight[tree.leaves].sum()) or 1.0
    out = []
    for p in range(paths.n_paths):
        leaf = int(paths.leaf[p])
        label = None if tree.classes is None else tree.classes[tree.label[leaf]]
        out.append(
            {
                "leaf": leaf,
                "conditions": [str(c) for c in paths.conditions_of(p)],
                "text": join_conditions(paths.conditions_of(p)),
                "outcome": node_outcome_text(paths.tree, leaf),
                "label": label,
                "value": tree.value[leaf].tolist(),
                "share": float(weight[leaf]) / total,
            }
        )
    return out


def _display_space(tree: Tree) -> FeatureSpace:
    """Make up a space just wide enough to word the rules of a tree that has none."""
    lower, upper = np.zeros(tree.n_features), np.zeros(tree.n_features)
    for j in range(tree.n_features):
        cuts = tree.threshold[(tree.feature == j) & np.isfinite(tree.threshold)]
        if cuts.size:
            lower[j], upper[j] = cuts.min() - 1, cuts.max() + 1
    return FeatureSpace(
        lower=lower, upper=upper, categories=tree.categories, names=tree.feature_names
    )
