"""The diff in words: one change reads as one change, and nothing leaks into markup."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from steadytree.diff import ConditionChange, diff_trees
from steadytree.diff.changes import change_words
from steadytree.diff.tree_diff import given_up_words
from steadytree.tree.decision import Decision
from steadytree.tree.space import FeatureSpace
from steadytree.tree.tree import Tree
from steadytree.tree.words import PAGE, Condition
from tests.diff.trees import NEW, OLD, Leaf, Split, build, compare, rows, seen
from tests.wording import said


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
    assert diff_trees(build(OLD), build(OLD)).to_text().startswith("No rule changed: 4 rules")


def test_labels_kept_against_the_share_are_marked() -> None:
    odd = replace(OLD, left=replace(OLD.left, left=Leaf(0, 0.7)))
    diff = diff_trees(build(OLD), build(odd))
    text = diff.to_text()
    assert "Rule 1 keeps its decision although the predicted share says otherwise." in text
    assert "label kept although the share says otherwise" in text
    assert "predicts yes 10.0 % -> 70.0 %" in text
    assert diff.to_dict()["rules"][0]["new"]["kept"]


def test_a_class_that_is_decided_on_no_longer_is_a_loud_warning() -> None:
    old = build(OLD)
    silent = old.replace(label=np.zeros(old.n_nodes, dtype=int))
    diff = diff_trees(old, silent)
    assert diff.classes_given_up == {"yes": True}
    first = diff.to_text().splitlines()[0]
    assert first == (
        "WARNING: the new tree decides yes for nobody any more, which the old tree does for some."
    )
    assert diff.to_dict()["lost_classes"] == ["yes"]
    assert not any(diff_trees(silent, old).classes_given_up.values())
    assert "WARNING" not in diff_trees(old, old).to_text()


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


FEWER = Split(0, 0.53, Split(1, 0.25, Leaf(0, 0.3), Leaf(0, 0.4)), Leaf(1, 0.8))
RIGHT = replace(OLD.right, at=frozenset({0, 3}))


SPLITS = {
    "removed": (OLD, FEWER),
    "added": (FEWER, OLD),
    "categories": (OLD, replace(OLD, right=RIGHT)),
    "missing": (OLD, replace(OLD, missing_left=False)),
    "replaced": (OLD, replace(OLD, right=replace(OLD.right, feature=4, at=frozenset({0, 2})))),
}


@pytest.mark.parametrize("name", SPLITS)
def test_changed_splits_in_words(name: str) -> None:
    words = [split.text for split in compare(*SPLITS[name]).splits]
    said("\n".join(words), f"diff: a split {name}")


def test_changed_conditions_in_words() -> None:
    first, last = compare(OLD, FEWER).with_status("moved")
    changes = (*first.changes, *last.changes)
    said("\n".join(change.text for change in changes), "diff: changed conditions")
    (grown,) = compare(Leaf(0, 0.1), Split(1, 0.5, Leaf(0, 0.1), Leaf(1, 0.9))).with_status("moved")
    assert grown.changes[0].text == "condition added: weight <= 100"
    assert change_words(grown.changes[0], PAGE) == "condition added: weight ≤ 100"
    moved = compare(OLD, replace(OLD, right=RIGHT)).with_status("moved")
    assert [change.text for rule in moved for change in rule.changes] == [
        "colour: white now included, green no longer included",
        "colour: green now included, white no longer included",
    ]


ANY = Condition(0, "age", 0.0, 50.0, missing=True)
PRESENT = replace(ANY, missing=False)
MISSING = Condition(0, "age", present=False, missing=True)


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        (PRESENT, ANY, "age: missing values now included"),
        (PRESENT, None, "age: missing values now included"),
        (ANY, PRESENT, "age: missing values no longer included"),
        (ANY, MISSING, "age: only missing values pass now"),
        (MISSING, ANY, "age: no longer only missing values pass"),
    ],
)
def test_where_missing_values_go_in_words(
    old: Condition | None, new: Condition | None, text: str
) -> None:
    change = ConditionChange("missing_changed", 0, "age", "missing", old, new)
    assert change.text == text


def counted() -> str:
    """50 people: 20 aged 10, 12 aged 52, 18 aged 90; 5, 6 and 12 of them are "yes"."""
    X = rows(0, 50)
    X["age"] = np.repeat([10.0, 52.0, 90.0], [20, 12, 18])
    y = np.concatenate([["yes"] * k + ["no"] * (n - k) for k, n in ((5, 20), (6, 12), (12, 18))])
    old = Split(0, 0.5, Leaf(0, 0.1), Leaf(1, 0.9))
    new = Split(0, 0.53, Leaf(0, 0.2), Leaf(1, 0.9))
    diff = diff_trees(build(old), build(new), X, y=y)
    return diff.to_text()


def test_the_whole_text() -> None:
    """Two bounds moved by 0.03 each; the four rules weigh one each."""
    text = counted()
    said(text, "diff: the whole text")


def test_a_relabelled_rule_is_written_as_it_stands_now() -> None:
    new = replace(OLD, left=replace(OLD.left, right=Leaf(0, 0.4)))
    diff = compare(OLD, new)
    lines = diff.to_text().splitlines()
    assert lines[2:5] == [
        "Relabelled (1)",
        "  2. (age <= 50 or missing) and weight > 50: no",
        "     label changed from yes to no; predicts yes 90.0 % -> 40.0 %",
    ]
    assert (
        "| 2 | relabelled | (age &lt;= 50 or missing) and weight &gt; 50: yes "
        "| (age &lt;= 50 or missing) and weight &gt; 50: no "
        "| label changed from yes to no; predicts yes 90.0 % -&gt; 40.0 % |"
    ) in diff.to_markdown().splitlines()


def test_classes_given_up_in_one_warning() -> None:
    assert given_up_words({"mild": True, "severe": False, "fatal": True}) == (
        "WARNING: the new tree decides mild and fatal for nobody any more, which the old tree does "
        "for some, and hardly finds severe any more, which the old tree finds."
    )
    assert given_up_words({}) == ""


def test_labels_kept_near_a_threshold_in_one_sentence() -> None:
    """31 of 100 are a fifth of a standard error above 0.3; two rules keep their "no"."""
    old = build(OLD)
    near = seen(old, [(31, 100), (60, 80), (31, 100), (90, 100)])
    near = near.replace(decision=Decision(threshold=0.3))
    said(diff_trees(old, near).to_text(), "diff: two labels kept near a threshold")
    one = seen(old, [(51, 100), (60, 80), (10, 100), (90, 100)])
    text = diff_trees(old, one).to_text()
    assert "within half a standard error of the boundary (100 training rows)." in text
    # Where the policy is steadier, both places say so: 35 of 100 are 1.1 standard errors above.
    old = build(OLD)
    near = seen(old, [(35, 100), (60, 80), (10, 100), (90, 100)])
    near = near.replace(decision=Decision(threshold=0.3, steady=2))
    text = diff_trees(old, near).to_text()
    assert "the predicted share is within 2 standard errors of the threshold (100" in text
    assert "label kept: the share is within 2 standard errors of the threshold" in text
