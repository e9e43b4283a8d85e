"""The Markdown table holds every rule, and names do not break out of their cells."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest

import steadytree as st
from steadytree.tree.paths import tree_rules
from tests.foreign import random_tree
from tests.formats.odd_trees import marked_tree
from tests.report import samples

PICTURE = True


def cells(line: str) -> list[str]:
    """Split a line of a table where Markdown does, and show each cell as Markdown would."""
    parts = re.split(r"(?<!\\)(?:\\\\)*\|", line)[1:-1]
    return [html.unescape(re.sub(r"\\([\\`*_\[\]|~#$])", r"\1", p.strip())) for p in parts]


@pytest.mark.parametrize("kind", ["binary", "multiclass", "regression", "marked"])
def test_every_rule_and_outcome_is_in_the_table(kind: str) -> None:
    tree = marked_tree() if kind == "marked" else random_tree(7, kind=kind)
    head, _, *lines = (
        cells(line)
        for line in st.export_tree(tree, "markdown").splitlines()
        if line.startswith("|")
    )
    rules = tree_rules(tree)
    assert len(lines) == len(rules)
    for line, rule in zip(lines, rules, strict=True):
        entry = dict(zip(head, line, strict=True))
        assert entry["rule"] == " ".join(rule.conditions_text.split())
        if tree.is_classifier:
            assert entry["decision"] == rule.numbers.label_words()
            assert line[2] == rule.numbers.predicted_words()
        else:
            assert entry["response"] == rule.numbers.label_words()
    assert ("observed" in head) == (tree.observed is not None)


def test_what_was_observed_has_its_column() -> None:
    tree = samples.retraining().tree
    assert tree.observed is not None
    text = st.export_tree(tree, "markdown")
    head = next(line for line in text.splitlines() if line.startswith("| rule"))
    assert "| observed |" in head
    for rule in tree_rules(tree):
        assert f"| {rule.numbers.observed_words()} |" in text


def test_html_and_marks_are_shown_not_read() -> None:
    text = st.export_tree(marked_tree(), "markdown")
    assert "<script>" not in text
    assert "&lt;script&gt;" in text
    assert "&amp;lt;" in text
    policy = next(line for line in text.splitlines() if line.startswith("Policy: "))
    assert policy.startswith("Policy: the class with the largest share; &lt;yes&gt;")
    assert policy.endswith("is the positive class, as nobody named one.")


def test_files(tmp_path: Path) -> None:
    path = st.export_tree(marked_tree(), path=tmp_path / "rules.md")
    assert path.read_text(encoding="utf-8") == st.export_tree(marked_tree(), "markdown")
