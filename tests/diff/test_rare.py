"""Names of categories that few of the rows have are in no output."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd

from steadytree.core.space import FeatureSpace
from steadytree.diff import TreeDiff, diff_trees
from steadytree.diff.rare import diff_without_names
from steadytree.report.render import render
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
