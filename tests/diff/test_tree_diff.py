"""The diff as data: counts, frame and dictionary say the same."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings

from steadytree.core.space import FeatureSpace
from steadytree.diff import diff_trees
from steadytree.diff.words import STATUSES
from steadytree.report.notebook import MAX_ROWS
from tests.diff.trees import NEW, OLD, Leaf, Split, build, nodes, rows

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


def test_gates_are_given_what_is_known() -> None:
    without = diff_trees(build(OLD), build(NEW))
    assert without.gate_measures() == {
        "dissimilarity": without.dissimilarity,
        "flips": None,
        "n_leaves": 4.0,
    }
    with_rows = diff_trees(build(OLD), build(NEW), rows(0))
    assert with_rows.gate_measures()["flips"] == with_rows.flips is not None


def test_the_report_is_told_of_people_only_where_rows_were_counted() -> None:
    content = diff_trees(build(OLD), build(NEW)).report_content()
    assert content.affected is None
    assert "Rows counted" not in dict(content.provenance)
    diff = diff_trees(build(OLD), build(NEW), rows(0))
    content = diff.report_content()
    assert content.affected == ("", diff.changed_decisions.sum(), 200, "rows")
    assert dict(content.provenance)["Rows counted"] == "200"
    assert content.diff is diff
