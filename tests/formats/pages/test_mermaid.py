"""Mermaid pictures hold every split, condition and outcome, whatever the names."""

from __future__ import annotations

import re

import pytest

import steadytree as st
from steadytree.tree.printing import LeafNumbers, branch_texts
from steadytree.tree.words import PAGE, PAGE_BRANCH
from tests.foreign import random_tree
from tests.formats.odd_trees import marked_tree

PICTURE = True
NODE = re.compile(r'^  n(\d+)(\["|\(\[")([^"]*)("\]|"\]\))$')
EDGE = re.compile(r'^  n(\d+) -->\|"([^"]*)"\| n(\d+)$')


def shown(text: str) -> str:
    return re.sub(r"#(\d+);", lambda m: chr(int(m[1])), text)


@pytest.mark.parametrize("kind", ["binary", "multiclass", "regression", "marked"])
def test_every_rule_and_outcome_is_in_the_picture(kind: str) -> None:
    tree = marked_tree() if kind == "marked" else random_tree(7, kind=kind)
    lines = st.export_tree(tree, "mermaid").splitlines()
    assert lines[0] == "flowchart TD"
    nodes = {int(m[1]): m[3].split("<br/>") for line in lines if (m := NODE.match(line))}
    edges = {(int(m[1]), int(m[3])): m[2] for line in lines if (m := EDGE.match(line))}
    styles = [line for line in lines if line.startswith(("  class ", "  classDef "))]
    assert len(lines) == 1 + len(nodes) + len(edges) + len(styles)
    assert sorted(nodes) == list(range(tree.n_nodes))
    coloured: dict[int, int] = {}
    for leaf in tree.leaves.tolist():
        numbers = LeafNumbers.of(tree, leaf)
        assert shown(nodes[leaf][0]) == numbers.label_words(PAGE)
        if tree.is_classifier:
            said = f"predicts {PAGE.name(numbers.shown)} {numbers.predicted_words(PAGE)}"
            assert shown(nodes[leaf][1]) == said
            coloured[leaf] = int(tree.label[leaf])
    expected = {}
    for node, sides in branch_texts(tree, style=PAGE_BRANCH).items():
        assert shown(nodes[node][0]) == PAGE.name(tree.feature_labels[tree.feature[node]])
        expected[node, int(tree.children_left[node])] = sides[0]
        expected[node, int(tree.children_right[node])] = sides[1]
    assert {ends: shown(text) for ends, text in edges.items()} == expected
    found = {
        int(node): int(m[2])
        for line in styles
        if (m := re.match(r"^  class (\S+) label(\d+)$", line))
        for node in re.findall(r"n(\d+)", m[1])
    }
    assert found == coloured


def test_nothing_of_a_name_is_left_to_mermaid() -> None:
    texts = re.findall(r'"([^"]*)"', st.export_tree(marked_tree(), "mermaid"))
    for text in texts:
        plain = re.sub(r"#\d+;|<br/>", "", text)
        assert not set(plain) & set("#<>&`\\*|;$[]{}%"), text
