"""``steadytree show`` and ``export``: the tree in a model file, as rules or for another system."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import numpy as np

from steadytree._io import check_writable
from steadytree._text import harmless
from steadytree.cli.output import Output
from steadytree.cli.run_folder import same_file
from steadytree.diff.diff_summary import policy_data
from steadytree.exceptions import InputError
from steadytree.plugins import (
    export_tree,
    format_of,
    load_model,
    options_of,
    read_model,
    save_like,
    write_like,
    writers,
)
from steadytree.publish import publish_tree
from steadytree.tree.decision import one_decision_of_leaves, warn_of_one_decision
from steadytree.tree.json import plain_json
from steadytree.tree.observed import Observed
from steadytree.tree.paths import tree_rules
from steadytree.tree.printing import tree_text
from steadytree.tree.tree import Tree
from steadytree.tree.words import PLAIN

OBJECTS = ("like", "columns")
"""Options of formats that take more than a word, and so cannot be set here."""


def tree_of(options: SimpleNamespace, path: Path, tree_index: int | None) -> Tree:
    """Read the tree in a model file of whatever library."""
    return read_model(path, tree_index=tree_index, allow_pickle=options.allow_pickle)


def show(options: SimpleNamespace, output: Output) -> None:
    """Print the rules of a tree."""
    tree = tree_of(options, options.model, options.tree_index)
    tree = publish_tree(tree) if options.publish else tree
    one = one_decision_of_leaves(tree)
    warn_of_one_decision(one)
    content = tree_data(tree)
    lines = [] if output.quiet else [*heading(tree), ""]
    if options.verbose:
        lines = [*heading(tree), *(f"{k}: {v}" for k, v in tree.metadata.items()), ""]
    if options.style == "text":
        lines.append(tree_text(tree))
    elif options.style == "rules":
        lines += [f"{rule['text']}: {rule['outcome']}" for rule in content["rules"]]
    else:
        table = export_tree(tree, "markdown").splitlines()
        lines += [line for line in table if line.startswith("|")]
    document = {
        "file": str(options.model),
        **content,
        "classes": tree.classes,
        "one_decision": None if one is None else one.words(),
        "features": sorted({tree.feature_labels[j] for j in tree.feature.tolist() if j >= 0}),
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


def tree_data(tree: Tree) -> dict[str, Any]:
    """Return what a tree is: its size, its policy and its rules."""
    return {
        "task": "classification" if tree.is_classifier else "regression",
        "n_leaves": tree.n_leaves,
        "depth": tree.depth,
        "decision_threshold": tree.decision_threshold,
        "decision": policy_data(tree),
        "rules": _rules_data(tree),
    }


def _rules_data(tree: Tree) -> list[dict[str, Any]]:
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
            names = ("rows", "sum", "weighted_rows", "weighted_sum")
            parts[which] = dict(zip(names, [*counts, *weighted], strict=True))
    return {
        **parts,
        "rate": plain_json(seen.rate()[leaf].tolist()),
        "steadied_by": seen.steadied_by[leaf].tolist(),
        "strength": float(seen.strength[leaf]),
        "old_share": seen.old_share,
    }


# -- ``steadytree export`` -----------------------------------------------------------------------


def export(options: SimpleNamespace, output: Output) -> None:
    """Write a tree so that another system decides exactly as it does."""
    out: Path | None = options.out
    if options.to not in (None, *writers()):
        known = ", ".join(map(repr, writers()))
        words = f"{options.to!r} is not one of {known}."
        raise click.BadParameter(words, click.get_current_context(), param_hint="'--to'")
    if out is not None:
        check_writable(out)
        for option, given in (("MODEL", options.model), ("--like", options.like)):
            if given is not None and same_file(given, out):
                raise InputError(
                    f"expected another file as --out than {option}, got {out}: what is read is "
                    "never replaced; write beside it, and move it into place"
                )
    if options.like is not None:
        _export_like(options, output)
        return
    if options.to is None and out is None:
        raise InputError(
            f"expected --to or --out, got neither; --to is one of {', '.join(writers())}"
        )
    to = options.to or format_of(str(out))
    settings = _settings(options.settings, to)
    tree = tree_of(options, options.model, options.tree_index)
    written = export_tree(tree, to, out, publish=options.publish, **settings)
    document = {
        "model": str(options.model),
        "format": to,
        "file": None if out is None else str(out),
    }
    if out is not None:
        output.result(f"wrote {out}", document)
        return
    if not isinstance(written, str):
        raise InputError(f"expected --out with --to {to}, which is no text, got none; name a file")
    if not output.as_json and harmless(written) != written:
        # Shown by its numbers it would be another program.
        raise InputError(
            "expected --out where names hold characters that a terminal acts upon, got none; "
            "name a file"
        )
    output.result(written.removesuffix("\n"), {**document, "text": written})


def _export_like(options: SimpleNamespace, output: Output) -> None:
    """Write the tree as a model of the kind of another, to a file of the same kind."""
    out, to = options.out, options.to
    if options.publish:
        raise InputError(
            "expected --publish or --like, got both: a model of another library stores counts of "
            "people; export to a format instead"
        )
    if out is None or to is not None:
        raise InputError(
            "expected --out and no --to with --like, whose file says what kind of model to write, "
            f"got {'no --out' if out is None else f'--to {to}'}"
        )
    settings = _settings(options.settings, "sklearn")
    tree = tree_of(options, options.model, options.tree_index)
    model = load_model(options.like, allow_pickle=options.allow_pickle)
    save_like(write_like(tree, model, **settings), out)
    document = {
        "model": str(options.model),
        "format": "like",
        "like": str(options.like),
        "file": str(out),
    }
    output.result(f"wrote {out}", document)


def _settings(given: tuple[str, ...], to: str) -> dict[str, Any]:
    """Read ``--set dialect=postgres``, in the type of the option's default."""
    known = {name: default for name, default in options_of(to).items() if name not in OBJECTS}
    settings: dict[str, Any] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or name not in known:
            raise InputError(
                f"expected OPTION=VALUE as --set, with an option of {to} "
                f"({', '.join(sorted(known)) or 'it has none'}), got {text!r}"
            )
        settings[name] = _value(value, known[name])
    return settings


def _value(text: str, default: Any) -> Any:
    """Read a value: flags and numbers where the option's default is one."""
    if isinstance(default, bool):
        if text.lower() not in ("true", "false"):
            raise InputError(f"expected true or false, got {text!r}")
        return text.lower() == "true"
    if isinstance(default, (int, float)):
        try:
            return type(default)(text)
        except ValueError:
            raise InputError(f"expected a number, got {text!r}") from None
    return text
