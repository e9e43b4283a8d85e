"""Graphviz pictures hold every split, condition and outcome, whatever the names."""

from __future__ import annotations

import html
import re
import subprocess
from pathlib import Path

import pytest

import steadytree as st
from steadytree.tree.printing import LeafNumbers, branch_texts
from steadytree.tree.words import PAGE, PAGE_BRANCH
from tests.foreign import random_tree
from tests.formats.odd_trees import marked_tree
from tests.programs import require_program

PICTURE = True
QUOTED = r'"((?:[^"\\]|\\.)*)"'
NODE = re.compile(rf'^  n(\d+) \[label={QUOTED}(?:, fillcolor="(#\w+)", color="#\w+")?\];$')
EDGE = re.compile(rf"^  n(\d+) -> n(\d+) \[label={QUOTED}\];$")


def shown(text: str) -> list[str]:
    """Undo what Graphviz undoes: its escapes, then entities; one entry per line of a label."""
    lines = re.sub(r"\\(.)", lambda m: "\0" if m[1] == "n" else m[1], text).split("\0")
    return [html.unescape(line) for line in lines]


@pytest.mark.parametrize("kind", ["binary", "multiclass", "regression", "marked"])
def test_every_rule_and_outcome_is_in_the_picture(kind: str) -> None:
    tree = marked_tree() if kind == "marked" else random_tree(7, kind=kind)
    lines = st.export_tree(tree, "dot").splitlines()
    assert lines[0] == "digraph tree {"
    assert lines[-1] == "}"
    nodes = {int(m[1]): (shown(m[2]), m[3]) for line in lines if (m := NODE.match(line))}
    edges = {(int(m[1]), int(m[2])): shown(m[3]) for line in lines if (m := EDGE.match(line))}
    assert len(lines) == 5 + len(nodes) + len(edges)
    assert sorted(nodes) == list(range(tree.n_nodes))
    for leaf in tree.leaves.tolist():
        numbers = LeafNumbers.of(tree, leaf)
        words, colour = nodes[leaf]
        assert words[0] == numbers.label_words(PAGE)
        assert (colour is not None) == tree.is_classifier
        if tree.is_classifier:
            said = f"predicts {PAGE.name(numbers.shown)} {numbers.predicted_words(PAGE)}"
            assert words[1] == said
    expected = {}
    for node, sides in branch_texts(tree, style=PAGE_BRANCH).items():
        assert nodes[node][0] == [PAGE.name(tree.feature_labels[tree.feature[node]])]
        expected[node, int(tree.children_left[node])] = [sides[0]]
        expected[node, int(tree.children_right[node])] = [sides[1]]
    assert edges == expected


def test_files_and_what_graphviz_makes_of_them(tmp_path: Path) -> None:
    path = st.export_tree(marked_tree(), path=tmp_path / "tree.gv")
    assert path.read_text(encoding="utf-8") == st.export_tree(marked_tree(), "dot")
    dot = require_program("dot", package="graphviz")
    drawn = subprocess.run([dot, "-Tsvg", path], capture_output=True, text=True, check=True)
    assert drawn.stdout.count('class="node"') == 5
    assert drawn.stdout.count('class="edge"') == 4
