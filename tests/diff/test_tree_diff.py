"""The diff as data: counts, frame and dictionary say the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from sklearn.datasets import load_diabetes
from sklearn.tree import DecisionTreeRegressor

from steadytree.diff import diff_trees
from steadytree.diff.tree_diff import STATUSES, positive_class
from steadytree.estimators import DistilledTreeClassifier
from steadytree.plugins import as_tree
from steadytree.tree.decision import Decision
from steadytree.tree.space import FeatureSpace
from steadytree.views.notebook import MAX_ROWS
from tests.diff.trees import NEW, OLD, Leaf, Split, build, nodes, rows, seen, stairs

TOP = {
    *("schema_version", "kind", "task", "classes", "unchanged", "dissimilarity", "distance"),
    *(
        "positive",
        "lost_classes",
        "hardly_found",
        "decision",
        "counts",
        "predictors",
        "n_rows",
        "flips",
        "mean_value_shift",
        "splits",
        "rules",
    ),
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
    *("trained_on", "kept", "rows", "outcomes", "conditions"),
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


def test_counts_and_statuses_agree() -> None:
    diff = diff_trees(build(OLD), build(Split(0, 0.53, OLD.left, Leaf(1, 0.7))))
    assert sum(len(diff.with_status(status)) for status in STATUSES) == len(diff.rules)
    assert {s: len(diff.with_status(s)) for s in STATUSES} == {s: diff.counts[s] for s in STATUSES}
    assert (diff.counts["old_rules"], diff.counts["new_rules"]) == (4, 3)
    assert len(diff.with_status("moved", "dropped")) == 4


def test_the_report_is_told_of_people_only_where_rows_were_counted() -> None:
    content = diff_trees(build(OLD), build(NEW)).report_content()
    assert content.affected is None
    assert "Rows counted" not in dict(content.provenance)
    diff = diff_trees(build(OLD), build(NEW), rows(0))
    content = diff.report_content()
    assert content.affected == ("", diff.changed_decisions.sum(), 200, "rows")
    assert dict(content.provenance)["Rows counted"] == "200"
    assert content.diff is diff
    told = dict(content.provenance)
    assert (told["Old tree"], told["New tree"]) == (diff.old, diff.new)
    assert told["Feature space"] is diff.space


def varied() -> Any:
    """Rules kept, moved, relabelled, added and dropped; rows and outcomes counted."""
    new = Split(0, 0.53, Split(1, 0.25, Leaf(0, 0.3), Leaf(0, 0.4)), Leaf(1, 0.8))
    X = rows(3)
    y = np.where(X["dose"] > 0.4, "yes", "no")
    return diff_trees(build(OLD), build(new), X, y=y)


def test_the_frame_holds_the_numbers_of_each_rule() -> None:
    diff = varied()
    frame = diff.to_frame()
    assert len(frame) == len(diff.rules)
    for row, rule in zip(frame.to_dict("records"), diff.rules, strict=True):
        assert (row["number"], row["status"]) == (rule.number, rule.status)
        assert row["kinds"] == ", ".join(rule.kinds)
        assert row["changes"] == "; ".join(change.text for change in rule.changes)
        for name in ("value_change", "share_in_both", "cost", "overlap"):
            known = getattr(rule, name)
            assert row[name] == known or (known is None and np.isnan(row[name]))
        against = rule.new is not None and rule.new.kept_against_share
        assert row["kept_against_share"] == against
        assert row["kept"] == (rule.new.kept if rule.new else "")
        for side, one in (("old", rule.old), ("new", rule.new)):
            shown = {name: row[f"{side}_{name}"] for name in ("rule", "label", "value", "rows")}
            if one is None:
                assert pd.Series(shown).isna().all()
                continue
            assert shown == {
                "rule": one.text,
                "label": one.label,
                "value": one.value[1],
                "rows": one.rows,
            }
            assert row[f"{side}_share"] == one.share
            assert row[f"{side}_outcomes"] == one.outcomes
            assert row[f"{side}_observed"] == one.numbers.observed_words()
            assert row[f"{side}_outcome_rate"] == one.outcome_rate
    assert frame["kept_against_share"].tolist().count(True) == len(diff.kept_against_share)
    assert {"moved", "dropped"} <= set(frame["status"])


def test_the_dictionary_holds_the_numbers_of_each_rule() -> None:
    diff = varied()
    content = diff.to_dict()
    assert (content["kind"], content["task"]) == ("tree-diff", "classification")
    assert (content["classes"], content["positive"]) == (["no", "yes"], "yes")
    assert content["counts"] == diff.counts
    assert content["predictors"] == {"gained": [], "lost": ["colour"], "kept": ["age", "weight"]}
    assert (content["flips"], content["n_rows"]) == (diff.flips, 200)
    assert (content["dissimilarity"], content["distance"]) == (diff.dissimilarity, diff.distance)
    assert content["mean_value_shift"] is None
    assert content["unchanged"] is diff.unchanged is False
    words = [tree.decision.words(tree.classes) for tree in (diff.old, diff.new)]
    assert content["decision"] == dict(zip(("old", "new"), words, strict=True))
    for told, split in zip(content["splits"], diff.splits, strict=True):
        assert (told["kind"], told["feature"], told["text"]) == (split.kind, split.name, split.text)
        assert (told["from"], told["to"]) == (split.old_bound, split.new_bound)
        assert (told["shift"], told["share_of_range"]) == (split.shift, split.share_of_range)
        assert (told["first"], told["only_conditions"]) == (split.first, split.only_conditions)
        assert (told["rules"], told["share"]) == (list(split.rules), split.share)
        assert told["categories"] == list(split.categories)
        assert (told["new_feature"], told["new_categories"]) == (split.new_name, [])
    for told, rule in zip(content["rules"], diff.rules, strict=True):
        same = ("number", "status", "relabelled", "value_change", "cost", "overlap")
        for name in (*same, "share_in_both"):
            assert told[name] == getattr(rule, name)
        assert told["kinds"] == list(rule.kinds)
        for one, change in zip(told["changes"], rule.changes, strict=True):
            assert (one["kind"], one["feature"]) == (change.kind, change.name)
            assert (one["side"], one["text"]) == (change.side, change.text)
            assert (one["from"], one["to"]) == (change.old_bound, change.new_bound)
            assert (one["shift"], one["share_of_range"]) == (change.shift, change.share_of_range)
            assert (one["gained"], one["lost"]) == (list(change.gained), list(change.lost))
        for side, one in (("old", rule.old), ("new", rule.new)):
            assert (told[side] is None) == (one is None)
            if one is not None:
                for name in ("leaf", "text", "label", "kept", "share", "rows", "outcomes"):
                    assert told[side][name] == getattr(one, name)
                assert told[side]["value"] == list(one.value)
                assert told[side]["outcome_rate"] == one.outcome_rate
                assert told[side]["kept_against_share"] == one.kept_against_share
                assert told[side]["trained_on"] is None  # these trees store no counts
                for written, condition in zip(
                    told[side]["conditions"], one.conditions, strict=True
                ):
                    assert written["feature"] == condition.name
                    assert written["text"] == str(condition)
                    assert written["lower"] == (
                        None if condition.lower == -np.inf else condition.lower
                    )
                    assert written["upper"] == (
                        None if condition.upper == np.inf else condition.upper
                    )
                    allowed = condition.allowed
                    assert written["categories"] == (None if allowed is None else list(allowed))
                    assert written["present"] is condition.present
                    assert written["missing"] is condition.missing


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
        counted = {"rows": inside.sum(), "outcomes": event[inside].sum(), "mean": None}
        assert rule["old"]["trained_on"] == rule["new"]["trained_on"] == counted


def test_counts_of_training_are_in_the_document() -> None:
    shares = [(20, 100), (60, 80), (10, 100), (90, 120)]
    tree = seen(build(OLD), shares)
    diff = diff_trees(tree, tree)
    told = [rule["new"]["trained_on"] for rule in diff.to_dict()["rules"]]
    assert told == [{"rows": n, "outcomes": hits, "mean": None} for hits, n in shares]


def test_a_split_tells_the_share_of_its_rows() -> None:
    """Three people passed the fourth threshold, ten the seventh, which parts rules 7 and 8."""
    diff = stairs(range(20, 100, 10), {3: 3, 6: 10})
    all_no = {"value": np.tile([0.9, 0.1], (diff.old.n_nodes, 1)), "label": None}
    old, new = (tree.replace(**all_no) for tree in (diff.old, diff.new))
    diff = diff_trees(old, new, np.arange(440.0)[:, None], space=diff.space)
    content = diff.to_dict()
    assert [rule["old"]["rows"] for rule in content["rules"]] == list(range(20, 100, 10))
    assert [(split["rules"], split["share"]) for split in content["splits"]] == [
        ([4, 5], pytest.approx(110 / 440)),
        ([7, 8], pytest.approx(170 / 440)),
    ]


def test_every_form_says_what_changed() -> None:
    diff = diff_trees(build(OLD), build(NEW))
    opening = "4 rules before, 4 now: 4 moved. Dissimilarity "
    assert diff.to_text().startswith(opening)
    assert str(diff) == diff.to_text()
    assert diff.to_markdown().startswith(f"**{opening}")


def test_classes_given_up_are_told_apart() -> None:
    """Decided for nobody any more, or hardly found any more."""
    diff = diff_trees(build(OLD), build(Leaf(0, 0.4)), rows(0))
    assert diff.lost_classes == ("yes",)
    assert diff_trees(build(OLD), build(Leaf(0, 0.4))).lost_classes == ("yes",)  # by its rules
    assert diff.to_dict()["lost_classes"] == ["yes"]
    assert diff.to_dict()["hardly_found"] == []
    rare = Split(2, 0.02, Leaf(1, 0.9), Leaf(0, 0.1))
    X = rows(0, 1000)
    found = diff_trees(
        build(Split(2, 0.5, Leaf(1, 0.9), Leaf(0, 0.1))), build(rare), X, y=["yes"] * 1000
    )
    assert found.lost_classes == ()
    assert found.to_dict()["hardly_found"] == ["yes"]


def test_one_rule_that_changed_is_a_change() -> None:
    new = Split(0, 0.5, OLD.left, Split(3, frozenset({0, 1}), Leaf(0, 0.2), Leaf(0, 0.3)))
    diff = diff_trees(build(OLD), build(new))
    assert diff.counts["kept"] == 3
    assert not diff.unchanged
    assert diff_trees(build(OLD), build(OLD)).unchanged


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


def test_a_report_of_a_diff_is_written_where_it_is_asked_for(tmp_path: Path) -> None:
    diff = diff_trees(build(OLD), build(NEW), rows(0))
    page = diff.report(tmp_path / "diff.html")
    assert page == tmp_path / "diff.html"
    assert "What changed between two decision trees" in page.read_text(encoding="utf-8")
