"""Every printed rule of a pipeline's tree says where missing and new values go.

A pipeline fills missing values in and knows no category that arrived since. Each row is placed
by hand, from the words alone, and has to end where the pipeline puts it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

import steadytree as st
from steadytree.tree.paths import tree_rules
from steadytree.views.page import drawn_content
from steadytree.views.render import outline_svg
from tests.audit.by_hand import NOT_KNOWN, follow_words
from tests.report import samples

(NEW,) = NOT_KNOWN
PIPELINES = [(encoder, fills) for encoder in samples.ENCODERS for fills in (True, False)]


def by_hand(X: pd.DataFrame) -> pd.DataFrame:
    return X.astype({"town": "category", "job": "category"})


def check_places(rules: list[tuple[str, Any]], X: pd.DataFrame, expected: Any) -> None:
    """Each row follows one rule, and it is the one expected."""
    found = np.full(len(X), -1)
    doubtful = np.zeros(len(X), dtype=bool)
    for words, leaf in rules:
        follows, sure = follow_words(words, X)
        doubtful |= ~sure
        taken = follows & sure & (found >= 0)
        assert not (taken & ~doubtful).any(), words
        found[follows] = leaf
    assert doubtful.mean() < 0.01
    np.testing.assert_array_equal(found[~doubtful], np.asarray(expected)[~doubtful])


def listed(text: str) -> Iterator[tuple[str, str]]:
    """Conditions and outcome of each leaf of an indented listing."""
    way: list[str] = []
    for line in text.splitlines():
        depth = line.count("|")
        words, _, said = line.replace("|   ", "").removeprefix("|-- ").partition(": ")
        way = [*way[: depth - 1], words]
        if said:
            yield " and ".join(way), said


@pytest.mark.parametrize(("encoder", "fills"), PIPELINES)
def test_the_words_of_a_pipelines_tree_place_every_row(encoder: str, fills: bool) -> None:
    pipeline = samples.pipeline(encoder, fills)
    tree, X = st.as_tree(pipeline), samples.pipeline_rows(1500, 2, new=NEW)
    leaf = tree.apply(X)
    assert (tree.predict(X) == pipeline.predict(X)).all()
    drawn = list(listed(str(tree)))
    leaves = [node for node in tree.preorder.tolist() if tree.is_leaf[node]]
    assert len(drawn) == len(leaves)
    check_places(
        [(words, at) for (words, _), at in zip(drawn, leaves, strict=True)], by_hand(X), leaf
    )
    rules = [(rule.conditions_text, rule.leaf) for rule in tree_rules(tree)]
    check_places(rules, by_hand(X), leaf)


@pytest.mark.parametrize(("encoder", "fills"), PIPELINES)
def test_the_words_of_a_retraining_place_every_row(encoder: str, fills: bool) -> None:
    result = samples.pipeline_retraining(encoder, fills)
    X = samples.pipeline_rows(1500, 5, new=NEW)
    diff = result.diff.to_dict()
    for side, tree in (("old", result.deployed), ("new", result.tree)):
        leaf = tree.apply(X)
        halves = [row[side] for row in diff["rules"] if row[side] is not None]
        table = [
            (" and ".join(one["words"] for one in half["conditions"]) or "everyone", half["leaf"])
            for half in halves
        ]
        check_places(table, by_hand(X), leaf)
        told = [getattr(rule, side) for rule in result.diff.rules]
        check_places([(r.conditions_text, r.leaf) for r in told if r is not None], by_hand(X), leaf)
        for text in (result.diff.to_text(), result.diff.to_markdown()):
            plain = re.sub(r"\\(.)", r"\1", text).replace("&lt;", "<").replace("&gt;", ">")
            assert all(r.conditions_text in plain for r in told if r is not None)
        drawn = diff["trees"][side] | drawn_content(diff)["trees"][side]
        drawing = outline_svg(drawn, diff["features"], ["no", "yes"], {}, side=side)
        check_places(list(drawn_rules(drawing, drawn)), by_hand(X), leaf)


def drawn_rules(drawing: str, tree: dict[str, Any]) -> Iterator[tuple[str, int]]:
    """Return the words on the way to each leaf of a drawing."""
    found = re.findall(r'data-node="(\d+)".*?<title>(.*?)</title>', drawing, flags=re.S)
    words = {int(node): text.replace("&lt;", "<").replace("&gt;", ">") for node, text in found}
    waiting: list[tuple[int, tuple[str, ...]]] = [(0, ())]
    while waiting:
        node, way = waiting.pop()
        if tree["left"][node] < 0:
            yield " and ".join(way), node
            continue
        waiting += [(k, (*way, words[k])) for k in (tree["left"][node], tree["right"][node])]
