"""Pictures and tables for people hold every rule and outcome, whatever the names."""

from __future__ import annotations

import html
import re
import subprocess
from pathlib import Path

import pytest

import steadytree as st
from steadytree.tree.paths import tree_rules
from steadytree.tree.printing import LeafNumbers, branch_texts
from steadytree.tree.words import PAGE, PAGE_BRANCH
from tests.foreign import random_tree
from tests.formats.odd_trees import marked_tree
from tests.programs import require_program
from tests.report import samples

PICTURE = True
QUOTED = r'"((?:[^"\\]|\\.)*)"'
MARKS = {
    "dot": (
        re.compile(rf"^  n(\d+) \[label={QUOTED}\];$"),
        re.compile(rf"^  n(\d+) -> n(\d+) \[label={QUOTED}\];$"),
    ),
    "mermaid": (
        re.compile(r'^  n(\d+)(?:\["|\(\[")([^"]*)(?:"\]|"\]\))$'),
        re.compile(r'^  n(\d+) -->\|"(?P<words>[^"]*)"\| n(\d+)$'),
    ),
}


def shown(text: str, to: str) -> list[str]:
    """Undo what Graphviz or Mermaid undoes; one entry per line of a label."""
    if to == "mermaid":
        lines = text.split("<br/>")
        return [re.sub(r"#(\d+);", lambda m: chr(int(m[1])), line) for line in lines]
    lines = re.sub(r"\\(.)", lambda m: "\0" if m[1] == "n" else m[1], text).split("\0")
    return [html.unescape(line) for line in lines]


def sample(kind: str) -> st.Tree:
    return marked_tree() if kind == "marked" else random_tree(7, kind=kind)


@pytest.mark.parametrize("kind", ["binary", "multiclass", "regression", "marked"])
@pytest.mark.parametrize("to", MARKS)
def test_every_rule_and_outcome_is_in_the_picture(to: str, kind: str) -> None:
    tree = sample(kind)
    lines = st.export_tree(tree, to).splitlines()
    node, edge = MARKS[to]
    nodes = {int(m[1]): shown(m[2], to) for line in lines if (m := node.match(line))}
    edges = {}
    for line in lines:
        if m := edge.match(line):
            words = m["words"] if to == "mermaid" else m[3]
            edges[int(m[1]), int(m[3] if to == "mermaid" else m[2])] = shown(words, to)
    assert len(lines) == {"dot": 5, "mermaid": 1}[to] + len(nodes) + len(edges)
    assert sorted(nodes) == list(range(tree.n_nodes))
    for leaf in tree.leaves.tolist():
        numbers = LeafNumbers.of(tree, leaf)
        assert nodes[leaf][0] == numbers.label_words(PAGE)
        if tree.is_classifier:
            predicts = f"predicts {PAGE.name(numbers.shown)} {numbers.predicted_words(PAGE)}"
            assert nodes[leaf][1] == predicts
    assert (kind == "marked") == any(
        "kept although the share says otherwise" in words for words in nodes.values()
    )
    expected = {}
    for at, sides in branch_texts(tree, style=PAGE_BRANCH).items():
        assert nodes[at] == [PAGE.name(tree.feature_labels[tree.feature[at]])]
        expected[at, int(tree.children_left[at])] = [sides[0]]
        expected[at, int(tree.children_right[at])] = [sides[1]]
    assert edges == expected


def test_what_graphviz_and_mermaid_make_of_names(tmp_path: Path) -> None:
    path = st.export_tree(marked_tree(), path=tmp_path / "tree.gv")
    dot = require_program("dot", package="graphviz")
    drawn = subprocess.run([dot, "-Tsvg", path], capture_output=True, text=True, check=True)
    assert drawn.stdout.count('class="node"') == 5
    assert drawn.stdout.count('class="edge"') == 4
    for text in re.findall(r'"([^"]*)"', st.export_tree(marked_tree(), "mermaid")):
        plain = re.sub(r"#\d+;|<br/>", "", text)
        assert not set(plain) & set("#<>&`\\*|;$[]{}%"), text


def cells(line: str) -> list[str]:
    """Split a line of a table where Markdown does, and show each cell as Markdown would."""
    parts = re.split(r"(?<!\\)(?:\\\\)*\|", line)[1:-1]
    return [html.unescape(re.sub(r"\\([\\`*_\[\]|~#$])", r"\1", p.strip())) for p in parts]


@pytest.mark.parametrize("kind", ["binary", "multiclass", "regression", "marked", "observed"])
def test_every_rule_and_outcome_is_in_the_table(kind: str) -> None:
    tree = samples.retraining().tree if kind == "observed" else sample(kind)
    text = st.export_tree(tree, "markdown")
    head, _, *lines = (cells(line) for line in text.splitlines() if line.startswith("|"))
    for line, rule in zip(lines, tree_rules(tree), strict=True):
        entry = dict(zip(head, line, strict=True))
        assert entry["rule"] == " ".join(rule.conditions_text.split())
        decided = entry["decision" if tree.is_classifier else "response"]
        assert decided == rule.numbers.label_words()
        if tree.is_classifier:
            assert line[2] == rule.numbers.predicted_words()
        if kind == "observed":
            assert entry["observed"] == rule.numbers.observed_words()


def test_html_and_marks_are_shown_not_read() -> None:
    text = st.export_tree(marked_tree(), "markdown")
    assert "<script>" not in text
    assert "&lt;script&gt;" in text
    assert "&amp;lt;" in text
    policy = next(line for line in text.splitlines() if line.startswith("Policy: "))
    assert policy.startswith("Policy: the class with the largest share; &lt;yes&gt;")
