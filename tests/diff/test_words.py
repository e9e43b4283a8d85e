"""The diff in words: one change reads as one change, and nothing leaks into markup."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from steadytree.core.space import FeatureSpace
from steadytree.core.tree import Tree
from steadytree.diff import diff_trees
from tests.diff.trees import (
    COLOURS,
    NEW,
    OLD,
    Leaf,
    Split,
    build,
    compare,
    rows,
    seen,
)


def test_one_moved_split_reads_as_one_change() -> None:
    diff = diff_trees(build(OLD), build(NEW))
    text = diff.to_text()
    assert "4 rules before, 4 now: 4 moved. Dissimilarity" in text
    assert (
        "  - the first split on age moved from 50 to 53 (+3, 3.0 % of its range): 4 rules" in text
    )
    assert "  1. (age <= 50 or missing) and weight <= 50: no" in text
    assert "     -> (age <= 53 or missing) and weight <= 50: no" in text
    assert str(diff) == text
    assert repr(diff).startswith("TreeDiff(4 moved; dissimilarity ")


def test_text_with_rows() -> None:
    X = rows(3)
    diff = diff_trees(build(OLD), build(NEW), X, y=np.where(X["dose"] > 0.5, "yes", "no"))
    assert "Of 200 rows, fewer than 5 get another decision" in diff.to_text()
    assert "100.0 % of rows" not in diff.to_text()
    text = diff.to_text(min_cell=1)
    assert "Of 200 rows, " in text
    assert "4 rules, 100.0 % of rows" in text
    rule = next(r for r in diff.rules if r.new is not None and r.new.rows)
    assert rule.new is not None
    follows = build(NEW).apply(X) == rule.new.leaf
    assert rule.new.rows == follows.sum()
    assert rule.new.outcomes == (X["dose"][follows] > 0.5).sum()
    share = f"{100 * rule.new.outcomes / rule.new.rows:.1f} %"
    assert f"{rule.new.outcomes} of {rule.new.rows} ({share})" in text
    assert "observed in the rows " in text


def test_no_change_says_so() -> None:
    assert diff_trees(build(OLD), build(OLD)).to_text().startswith("No rule changed: 4 rules")


def test_labels_kept_against_the_share_are_marked() -> None:
    odd = replace(OLD, left=replace(OLD.left, left=Leaf(0, 0.7)))
    diff = diff_trees(build(OLD), build(odd))
    text = diff.to_text()
    assert "Rule 1 keeps its decision although the predicted share says otherwise." in text
    assert "label kept although the share says otherwise" in text
    assert "predicts yes 10.0 % -> 70.0 %" in text
    assert diff.to_frame()["kept_against_share"].tolist() == [True, False, False, False]
    assert diff.to_dict()["rules"][0]["new"]["kept_against_share"] is True


def test_a_label_kept_by_the_rule_says_so_with_its_rows() -> None:
    old = build(OLD)
    # 51 of 100 rows is a fifth of a standard error above one half, 70 is four.
    near = seen(old, [(51, 100), (60, 80), (10, 100), (90, 100)])
    diff = diff_trees(old, near)
    assert [r.number for r in diff.kept_against_share] == [1]
    assert "training rows" not in diff.to_text()
    text = diff.to_text(min_cell=1)
    assert "within half a standard error of the boundary (100 training rows)." in text
    assert "label kept: the share is within half a standard error of the boundary" in text
    far = seen(old, [(70, 100), (60, 80), (10, 100), (90, 100)])
    assert "standard error" not in diff_trees(old, far).to_text()
    assert "observed in training 51 of 100 -> 70 of 100" in diff_trees(near, far).to_text(
        min_cell=1
    )
    assert "observed in training" not in diff_trees(near, far).to_text()
    counted = diff_trees(old, near, rows(3))
    assert counted.rules[0].new is not None
    assert f"({counted.rules[0].new.rows} of 200 rows)." in counted.to_text()


def test_a_class_that_is_decided_on_no_longer_is_a_loud_warning() -> None:
    old = build(OLD)
    silent = old.replace(label=np.zeros(old.n_nodes, dtype=int))
    diff = diff_trees(old, silent)
    assert diff.lost_classes == ("yes",)
    first = diff.to_text().splitlines()[0]
    assert first == (
        "WARNING: the new tree decides yes for nobody any more, which the old tree does for some."
    )
    assert diff.to_dict()["lost_classes"] == ["yes"]
    assert diff_trees(silent, old).lost_classes == ()
    assert "WARNING" not in diff_trees(old, old).to_text()


def test_predictors_in_words() -> None:
    other = Split(1, 0.5, Leaf(0, 0.1), Leaf(1, 0.9))
    text = diff_trees(build(OLD), build(other)).to_text()
    assert "Predictors lost: age, colour." in text
    assert "Predictors gained: age, colour." in diff_trees(build(other), build(OLD)).to_text()


EVIL = '<script>alert("x")</script> | `a` _b_ *c*'


@pytest.fixture
def evil() -> tuple[Tree, Tree]:
    space = FeatureSpace(
        lower=np.zeros(1), upper=np.ones(1), names=(EVIL,), classes=("<b>no</b>", "yes|no")
    )

    def stump(threshold: float) -> Tree:
        return Tree(
            children_left=[1, -1, -1],
            children_right=[2, -1, -1],
            feature=[0, -1, -1],
            threshold=[threshold, np.nan, np.nan],
            value=[[0.5, 0.5], [1, 0], [0, 1]],
            classes=space.classes,
            feature_names=space.names,
            n_features=1,
            space=space,
        )

    return stump(0.3), stump(0.4)


def test_names_cannot_break_out_of_html_or_markdown(evil: tuple[Tree, Tree]) -> None:
    diff = diff_trees(*evil)
    html = diff._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert "&lt;b&gt;" in html
    markdown = diff.to_markdown()
    assert "<script>" not in markdown
    assert "\\|" in markdown
    cells = [line for line in markdown.splitlines() if line.startswith("| 1 ")]
    assert cells[0].replace("\\|", "").count("|") == 6


def test_unknown_colours_are_not_invented() -> None:
    """Every category in words comes from the space."""
    old = Split(3, frozenset({0, 1}), Leaf(0, 0.1), Leaf(1, 0.9))
    diff = compare(old, replace(old, at=frozenset({0})))
    texts = [c.text for r in diff.rules for c in r.changes]
    assert texts == ["colour: green no longer included", "colour: green now included"]
    assert diff.splits[0].text == "the first split on colour sends green the other way: 2 rules"
    assert COLOURS[1] == "green"
