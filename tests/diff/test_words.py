"""The diff in words and as data: every form says the same, and nothing leaks into markup."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from steadytree.core.space import FeatureSpace
from steadytree.core.tree import Tree
from steadytree.diff import diff_trees
from steadytree.report.notebook import MAX_ROWS
from tests.diff.test_rows import rows
from tests.diff.trees import Leaf, Split, build, nodes

OLD = Split(
    0,
    0.5,
    Split(1, 0.25, Leaf(0, 0.1), Leaf(1, 0.9)),
    Split(3, frozenset({0, 1}), Leaf(0, 0.2), Leaf(1, 0.8)),
)
NEW = replace(OLD, at=0.53)


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
    text = diff.to_text()
    assert "Of 200 rows, " in text
    assert "4 rules, 100.0 % of rows" in text
    assert "outcome " in text


def test_no_change_says_so() -> None:
    assert diff_trees(build(OLD), build(OLD)).to_text().startswith("No rule changed: 4 rules")


def test_labels_kept_against_the_share_are_marked() -> None:
    odd = replace(OLD, left=replace(OLD.left, left=Leaf(0, 0.7)))
    diff = diff_trees(build(OLD), build(odd))
    text = diff.to_text()
    assert "Rule 1 keeps its label against its own share." in text
    assert "label kept against its own share" in text
    assert "share of yes 10.0 % -> 70.0 %" in text
    assert diff.to_frame()["kept_against_share"].tolist() == [True, False, False, False]
    assert diff.to_dict()["rules"][0]["new"]["kept_against_share"] is True


def test_predictors_in_words() -> None:
    other = Split(1, 0.5, Leaf(0, 0.1), Leaf(1, 0.9))
    text = diff_trees(build(OLD), build(other)).to_text()
    assert "Predictors lost: age, colour." in text
    assert "Predictors gained: age, colour." in diff_trees(build(other), build(OLD)).to_text()


TOP = {
    *("schema_version", "kind", "task", "classes", "unchanged", "dissimilarity", "distance"),
    *("counts", "predictors", "n_rows", "flips", "mean_value_shift", "splits", "rules"),
}
SPLIT = {
    *("kind", "feature", "new_feature", "first", "from", "to", "shift", "share_of_range"),
    *("categories", "new_categories", "rules", "share", "text", "only_conditions"),
}
RULE = {
    *("number", "status", "kinds", "relabelled", "value_change", "cost", "overlap"),
    *("share_in_both", "changes", "old", "new"),
}
SIDE = {
    *("leaf", "text", "label", "value", "kept_against_share", "share", "outcome_rate"),
    "conditions",
}
CHANGE = {
    *("kind", "feature", "side", "from", "to", "shift", "share_of_range", "gained", "lost"),
    "text",
}
CONDITION = {"feature", "lower", "upper", "categories", "present", "missing", "text"}


@given(nodes(), nodes())
@settings(max_examples=40)
def test_the_dictionary_keeps_its_layout(old: Any, new: Any) -> None:
    diff = diff_trees(build(old), build(new), rows(0, 30))
    content = json.loads(json.dumps(diff.to_dict(), allow_nan=False))
    assert content["schema_version"] == 1
    assert set(content) == TOP
    for split in content["splits"]:
        assert set(split) == SPLIT
    for rule in content["rules"]:
        assert set(rule) == RULE
        for change in rule["changes"]:
            assert set(change) == CHANGE
        for side in (rule["old"], rule["new"]):
            if side is not None:
                assert set(side) == SIDE
                assert all(set(c) == CONDITION for c in side["conditions"])
    # Every other form lists the same rules.
    frame = diff.to_frame()
    assert frame["status"].tolist() == [rule["status"] for rule in content["rules"]]
    table = [line for line in diff.to_markdown().splitlines() if line.startswith("| ")]
    assert len(table) == 2 + len(content["rules"])
    changed = sum(rule["status"] != "kept" for rule in content["rules"])
    assert diff._repr_html_().count("<tr>") == (1 + min(changed, MAX_ROWS) if changed else 0)
    for split in diff.splits[:12]:
        assert split.text in diff.to_text()


def test_labels_in_the_frame_keep_their_type() -> None:
    tree = build(OLD).replace(classes=(0, 1), label=build(OLD).label, space=None)
    space = FeatureSpace.from_data(rows(0), [0, 1] * 100)
    grown = build(Leaf(0, 0.1)).replace(classes=(0, 1), label=[0], space=None)
    frame = diff_trees(grown, tree, space=space).to_frame()
    assert frame["new_label"].map(type).eq(int).all()
    assert frame["old_label"].isna().sum() == 3


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
