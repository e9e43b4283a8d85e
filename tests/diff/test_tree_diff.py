"""The diff as data: counts, frame and dictionary say the same."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from jsonschema import Draft202012Validator
from sklearn.datasets import load_diabetes
from sklearn.tree import DecisionTreeRegressor

from steadytree.diff import diff_trees
from steadytree.diff.tree_diff import STATUSES, positive_class
from steadytree.estimators import DistilledTreeClassifier
from steadytree.plugins import as_tree
from steadytree.tree.decision import Decision
from steadytree.tree.space import FeatureSpace
from steadytree.views.notebook import MAX_ROWS
from tests.diff.trees import NEW, OLD, Leaf, Split, build, nodes, rows, stairs
from tests.report.samples import SCHEMA


@given(nodes(), nodes())
@settings(max_examples=40)
def test_the_dictionary_keeps_its_layout(old: Any, new: Any) -> None:
    diff = diff_trees(build(old), build(new), rows(0, 30))
    content = json.loads(json.dumps(diff.to_dict(), allow_nan=False))
    Draft202012Validator(SCHEMA["$defs"]["diff"] | {"$defs": SCHEMA["$defs"]}).validate(content)
    # Every other form lists the same rules.
    table = [line for line in diff.to_markdown().splitlines() if line.startswith("| ")]
    assert len(table) == 2 + len(content["rules"])
    changed = sum(rule["status"] != "kept" for rule in content["rules"])
    assert diff._repr_html_().count("<tr>") == (1 + min(changed, MAX_ROWS) if changed else 0)
    for split in diff.splits[:12]:
        assert split.text in diff.to_text()


def test_counts_and_statuses_agree() -> None:
    diff = diff_trees(build(OLD), build(Split(0, 0.53, OLD.left, Leaf(1, 0.7))))
    assert sum(len(diff.with_status(status)) for status in STATUSES) == len(diff.rules)
    assert {s: len(diff.with_status(s)) for s in STATUSES} == {s: diff.counts[s] for s in STATUSES}
    assert (diff.counts["old_rules"], diff.counts["new_rules"]) == (4, 3)
    assert len(diff.with_status("moved", "dropped")) == 4


def test_people_are_counted_only_where_rows_were_given() -> None:
    content = diff_trees(build(OLD), build(NEW)).to_dict()
    assert (content["flips"], content["n_rows"]) == (None, None)
    diff = diff_trees(build(OLD), build(NEW), rows(0))
    flips = diff.to_dict()["flips"]
    assert (flips["count"], flips["of"]) == (diff.changed_decisions.sum(), 200)


def test_what_a_regression_tells() -> None:
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    old = DecisionTreeRegressor(max_depth=1).fit(X[::2], y[::2])
    new = DecisionTreeRegressor(max_depth=2).fit(X, y)
    space = FeatureSpace.from_data(X, y, task="regression")
    diff = diff_trees(old, new, X, y=y, space=space)
    content = diff.to_dict()
    assert (content["task"], content["classes"], content["positive"]) == ("regression", None, None)
    assert content["mean_value_shift"] == diff.mean_value_shift > 0
    assert diff.positive is None
    kept = diff_trees(old, old, X, y=y, space=space)
    assert kept.unchanged
    moved = as_tree(old).replace(value=as_tree(old).value + 1.0)
    assert not diff_trees(old, moved, space=space).unchanged
    assert repr(kept).startswith("TreeDiff(")
    assert repr(kept).endswith("dissimilarity 0.0 %)")


def test_what_a_tree_was_trained_on_is_told() -> None:
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    event = (y > 140).to_numpy()
    model = DistilledTreeClassifier(n_estimators=5, max_leaf_nodes=3, random_state=0).fit(X, event)
    leaf = as_tree(model).apply(X)
    rules = diff_trees(model, model).to_dict()["rules"]
    assert len(rules) == 3
    for rule in rules:
        inside = leaf == rule["old"]["leaf"]
        told = rule["old"]["trained_on"]
        assert told == rule["new"]["trained_on"]
        assert (told["count"], told["of"]) == (event[inside].sum(), inside.sum())


def test_a_split_tells_the_share_of_its_rows() -> None:
    """Three people passed the fourth threshold, ten the seventh, which parts rules 7 and 8."""
    diff = stairs(range(20, 100, 10), {3: 3, 6: 10})
    all_no = {"value": np.tile([0.9, 0.1], (diff.old.n_nodes, 1)), "label": None}
    old, new = (tree.replace(**all_no) for tree in (diff.old, diff.new))
    diff = diff_trees(old, new, np.arange(440.0)[:, None], space=diff.space)
    content = diff.to_dict()
    assert [rule["old"]["rows"]["count"] for rule in content["rules"]] == list(range(20, 100, 10))
    assert [(split["rules"], split["share"]) for split in content["splits"]] == [
        ([4, 5], pytest.approx(110 / 440)),
        ([7, 8], pytest.approx(170 / 440)),
    ]


def test_classes_given_up_are_told_apart() -> None:
    """Decided for nobody any more, or hardly found any more."""
    diff = diff_trees(build(OLD), build(Leaf(0, 0.4)), rows(0))
    assert diff.classes_given_up == {"yes": True}
    by_rules = diff_trees(build(OLD), build(Leaf(0, 0.4)))
    assert by_rules.classes_given_up == {"yes": True}
    assert diff.to_dict()["lost_classes"] == ["yes"]
    assert diff.to_dict()["hardly_found"] == []
    rare = Split(2, 0.02, Leaf(1, 0.9), Leaf(0, 0.1))
    X = rows(0, 1000)
    found = diff_trees(
        build(Split(2, 0.5, Leaf(1, 0.9), Leaf(0, 0.1))), build(rare), X, y=["yes"] * 1000
    )
    assert not any(found.classes_given_up.values())
    assert found.to_dict()["hardly_found"] == ["yes"]


def test_the_positive_class_is_the_one_that_is_decided_on() -> None:
    stump = build(Split(0, 0.5, Leaf(0, 0.1), Leaf(1, 0.9)))
    assert positive_class(stump, ("no", "yes")) == 1
    assert positive_class(stump, ("yes", "no")) == 0
    first = stump.replace(decision=Decision(threshold=0.3, positive="no"), label=None)
    assert positive_class(first, ("no", "yes")) == 0
    assert positive_class(first, ("yes", "no")) == 1
    assert positive_class(stump, ("no", "yes", "perhaps")) is None
    assert positive_class(stump, None) is None
    alone = build(Leaf(0, 0.0)).replace(classes=("no",), value=[[1.0]], label=None, space=None)
    assert positive_class(alone, ("no", "yes")) == 1
