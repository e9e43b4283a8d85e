"""The rules of a tree as a Markdown table, for a wiki, a ticket or a pull request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from steadytree.plugins import Tree, harmless_words, tree_rules

SUFFIXES = (".md",)
# What Markdown or HTML would read as marks. A backslash comes first: it makes the others plain.
_MARKS = "\\`*_[]|~#$"
_HTML = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def write(tree: Tree) -> str:
    """Return the rules as a Markdown table, with how the tree decides above it."""
    lines = _table(tree)
    if tree.is_classifier:
        lines = [f"Policy: {escaped(tree.decision.words(tree.classes))}.", "", *lines]
    return "\n".join([*lines, ""])


def _table(tree: Tree) -> list[str]:
    """Lines of the table: a rule per line, what it decides, predicts and what was observed.

    What a tree does not store has no column.
    """
    total = float(tree.weight[tree.leaves].sum()) or 1.0
    rules = tree_rules(tree)
    columns: list[tuple[str, str, Sequence[Any]]] = [
        ("rule", "---", [harmless_words(rule.conditions_text) for rule in rules]),
        (
            "decision" if tree.is_classifier else "response",
            "---",
            [harmless_words(rule.numbers.label_words()) for rule in rules],
        ),
    ]
    if tree.classes is not None:
        # One class is shown throughout, or the one decided on: then its name is in the line.
        of = f" {rules[0].numbers.shown}" if len(tree.classes) == 2 else ""
        shares = [rule.numbers.predicted_words() for rule in rules]
        columns.append((f"predicted share{of and ' of' + of}", "--:", shares))
    if tree.observed is not None:
        columns.append(("observed", "--:", [rule.numbers.observed_words() for rule in rules]))
    shares = [f"{100 * float(tree.weight[rule.leaf]) / total:.1f} %" for rule in rules]
    if (tree.weight[tree.leaves] != 1).any():
        columns.append(("share of training weight", "--:", shares))
    lines = [[escaped(title) for title, _, _ in columns], [line for _, line, _ in columns]]
    lines += [[escaped(cell) for cell in row] for row in zip(*(c[2] for c in columns), strict=True)]
    return [f"| {' | '.join(line)} |" for line in lines]


def escaped(text: str) -> str:
    """Text that Markdown shows as it is, on one line."""
    marked = "".join(f"\\{c}" if c in _MARKS else _HTML.get(c, c) for c in text)
    return " ".join(marked.split())
