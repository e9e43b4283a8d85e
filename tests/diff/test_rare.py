"""Names of categories that few of the rows have are in no output."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd

from steadytree.core.space import FeatureSpace
from steadytree.diff import TreeDiff, diff_trees
from steadytree.diff.rare import diff_without_names
from steadytree.report.render import render
from tests.diff.trees import COLOURS, Leaf, Split, build, rows
from tests.report import samples

RARE = "JaneDoe"


def with_a_rare_category() -> TreeDiff:
    """The hand-made trees on rows of which two are of the colour "blue", called otherwise."""
    diff = samples.mixed_diff()
    colours = ("red", "green", RARE, "black")
    rng = np.random.default_rng(0)
    X = samples.mixed_rows(300, ("colour", "age", "share"), colours)
    codes = rng.choice([0, 1, 3], size=len(X))
    codes[[5, 50]] = 2
    X["colour"] = pd.Categorical.from_codes(codes, categories=list(colours))
    old, new = (
        tree.replace(categories=(colours, None, None), space=None) for tree in (diff.old, diff.new)
    )
    space = diff.space.replace(categories=(colours, None, None))
    y = np.where(np.arange(len(X)) % 3 == 0, *diff.classes[:2])
    return diff_trees(old, new, X, y=y, space=space)


def test_no_output_names_it() -> None:
    diff = with_a_rare_category()
    assert RARE in diff.to_text(min_cell=1)
    for text in (
        diff.to_text(),
        diff.to_markdown(),
        json.dumps(diff.to_dict()),
        render(diff),
        diff._repr_html_(),
    ):
        assert RARE not in text
        assert "rare category 1" in text


def test_a_rare_category_that_changes_sides_is_not_named() -> None:
    X = rows(0)
    codes = np.arange(len(X)) % 2 * 2  # red and blue; the two others have too few rows
    codes[:2], codes[2:5] = 1, 3
    X["colour"] = pd.Categorical.from_codes(codes, categories=list(COLOURS))
    old = Split(3, frozenset({0, 1}), Leaf(0, 0.1), Leaf(1, 0.9))
    new = Split(3, frozenset({0, 3}), Leaf(0, 0.1), Leaf(1, 0.9))
    diff = diff_trees(build(old), build(new), X)
    left, right = (rule.changes[0] for rule in diff.shown(5).rules)
    assert (left.gained, left.lost) == (("rare category 2",), ("rare category 1",))
    assert (right.gained, right.lost) == (("rare category 1",), ("rare category 2",))
    assert left.text == "colour: rare category 2 now included, rare category 1 no longer included"
    three = diff.shown(3).rules[0].changes[0]  # three rows are white
    assert (three.gained, three.lost) == (("white",), ("rare category 1",))


def test_nothing_else_changes() -> None:
    diff = with_a_rare_category()
    shown = diff.shown(5)
    assert shown is diff.shown(5)
    assert diff.shown(1) is diff
    assert shown.counts == diff.counts
    assert [r.status for r in shown.rules] == [r.status for r in diff.rules]
    assert diff_without_names(diff, {}).to_text(min_cell=1) == diff.to_text(min_cell=1)


def test_without_rows_nothing_is_known_to_be_rare() -> None:
    diff = samples.mixed_diff()
    bare = diff_trees(diff.old, diff.new, space=diff.space)
    assert bare.shown(5) is bare
    assert isinstance(bare.space, FeatureSpace)
