from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import jsonschema
import numpy as np
import pandas as pd
import pytest

from steadytree.exceptions import InputError
from steadytree.report import summarise
from steadytree.report.people import flips_data
from steadytree.report.summarise import fingerprint
from tests.report import samples

SCHEMA = json.loads(
    files("steadytree.report").joinpath("summary.schema.json").read_text(encoding="utf-8")
)
RESULTS = {
    "retraining": lambda: samples.retraining(),
    "multiclass": lambda: samples.multiclass_diff(),
    "regression": lambda: samples.regression_diff(),
    "mixed": lambda: samples.mixed_diff(),
    "hostile": lambda: samples.mixed_diff(hostile=True),
    "single leaf": lambda: samples.single_leaf_diff(),
    "stable": lambda: samples.stable_result(2),
}


@pytest.mark.parametrize("kind", list(RESULTS))
def test_summary_is_plain_data_in_the_documented_layout(kind: str) -> None:
    options = {"subgroups": ["site"]} if kind == "retraining" else {}
    summary = summarise(RESULTS[kind](), **options)
    again = json.loads(json.dumps(summary, allow_nan=False))
    jsonschema.validate(again, SCHEMA)
    assert again == summary


def test_counts_and_rules_are_those_of_the_diff() -> None:
    diff = samples.regression_diff()
    summary = summarise(diff)
    assert summary["counts"] == diff.counts
    assert [row["status"] for row in summary["rules"]] == [r.status for r in diff.rules]
    assert summary["dissimilarity"] == pytest.approx(diff.dissimilarity, abs=1e-4)


def numbers_in(content: Any) -> list[float]:
    if isinstance(content, dict):
        return [v for item in content.values() for v in numbers_in(item)]
    if isinstance(content, list):
        return [v for item in content for v in numbers_in(item)]
    return [content] if isinstance(content, float) else []


@pytest.mark.parametrize("kind", ["retraining", "regression"])
def test_no_row_of_data_is_in_the_summary(kind: str) -> None:
    """No number of the summary, thresholds of the trees aside, is a value of a person.

    The measurements have many digits, so that a value would be recognised.
    """
    result = RESULTS[kind]()
    if kind == "retraining":
        values = result.X_new.select_dtypes("number").to_numpy().ravel()
        trees = list(result.trees.values())
    else:
        X = samples.load_diabetes(as_frame=True, scaled=False).data
        values = X[["s5"]].to_numpy().ravel()
        trees = [result.old, result.new]
    telling = {float(v) for v in values if len(f"{v:.10g}".replace(".", "").strip("0")) >= 4}
    assert len(telling) > 100
    known = {float(t) for tree in trees for t in tree.threshold if np.isfinite(t)}
    known |= {float(f"{t:.6g}") for t in known}
    summary = summarise(result)
    del summary["dissimilarity"]
    scores = summary.pop("people"), summary["frontier"]
    if scores[1]:
        # Scores and shares are computed numbers; trees and rules could hold values.
        for c in scores[1]["candidates"]:
            for key in ("distance", "dissimilarity", "score", "score_se", "flips"):
                c.pop(key, None)
            for key in ("score_change", "score_change_se"):
                c.pop(key, None)
    for side in ("old", "new"):
        summary["trees"][side].pop("value")
    found = set(numbers_in(summary)) & telling - known
    assert found == set()


def test_text_of_the_summary_holds_no_extreme_of_the_data() -> None:
    """The smallest and largest value of a feature belong to single people."""
    result = samples.retraining()
    text = json.dumps(summarise(result))
    for name in result.X_new.select_dtypes("number"):
        column = result.X_new[name]
        for extreme in (column.min(), column.max()):
            digits = f"{extreme:.10g}"
            if len(digits.replace(".", "").strip("0")) >= 5:
                assert digits not in text


# -- small cells -----------------------------------------------------------------------


def test_a_small_subgroup_is_hidden_together_with_another() -> None:
    result = samples.retraining()
    summary = summarise(result, subgroups=["site"])
    (by,) = summary["people"]["subgroups"]
    groups = {group["name"]: group for group in by["groups"]}
    assert set(groups) == {"north", "south", "ward 7"}
    assert groups["ward 7"]["n"] is None
    assert sum(group["n"] is None for group in groups.values()) == 2
    for group in groups.values():
        if group["n"] is None:
            assert group["flips"] == {"share": None, "low": None, "high": None, "masked": True}
            for measure in group["measures"]:
                assert measure["masked"]
                assert measure["old"] == measure["new"] == [None] * 3
    shown = next(group for group in groups.values() if group["n"] is not None)
    expected = int((result.X_new["site"] == shown["name"]).sum())
    assert shown["n"] == expected


def test_lower_min_cell_shows_the_small_group() -> None:
    summary = summarise(samples.retraining(), subgroups=["site"], min_cell=1)
    (by,) = summary["people"]["subgroups"]
    assert {g["name"]: g["n"] for g in by["groups"]}["ward 7"] == 3


def test_subgroups_by_number_do_not_show_the_extremes() -> None:
    result = samples.retraining()
    summary = summarise(result, subgroups={"size": "mean radius"})
    names = [group["name"] for group in summary["people"]["subgroups"][0]["groups"]]
    assert names[0].startswith("up to ")
    assert names[-1].startswith("over ")
    assert len(names) == 4


@pytest.mark.parametrize(
    ("hits", "n", "masked"), [(0, 100, False), (3, 100, True), (5, 100, False), (97, 100, True)]
)
def test_few_changed_decisions_are_hidden(hits: int, n: int, masked: bool) -> None:
    data = flips_data(np.arange(n) < hits, 5)
    assert data["masked"] is masked
    assert data["count"] == (None if masked else hits)


def test_rules_with_few_rows_hide_share_and_rate() -> None:
    diff = samples.large_diff()
    summary = summarise(diff)
    for side in ("old", "new"):
        rules = [getattr(r, side) for r in diff.rules if getattr(r, side) is not None]
        rows = [row[side] for row in summary["rules"] if row[side] is not None]
        small = 0
        for rule, row in zip(rules, rows, strict=True):
            count = round(rule.share * diff.n_rows)
            if 0 < count < 5:
                small += 1
                assert row["share"] is None
                assert row["rate"] is None
                assert row["masked"]
        assert small > 5
        leaf_share = summary["trees"][side]["share"]
        for rule, row in zip(rules, rows, strict=True):
            assert leaf_share[rule.leaf] == row["share"]


def test_values_of_leaves_that_rest_on_few_people_are_not_in_the_file() -> None:
    diff = samples.large_diff()
    tree = summarise(diff)["trees"]["new"]
    weight = diff.new.weight
    for leaf in diff.new.leaves.tolist():
        assert (tree["value"][leaf] is None) == (weight[leaf] < 5)
        assert (leaf in tree["few"]) == (weight[leaf] < 5)


def test_regression_leaves_of_one_person_are_rounded() -> None:
    from sklearn.tree import DecisionTreeRegressor

    from steadytree.core.space import FeatureSpace
    from steadytree.diff import diff_trees
    from steadytree.readers import as_tree

    X, y = samples.load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    space = FeatureSpace.from_data(X, y, task="regression")
    model = DecisionTreeRegressor(max_leaf_nodes=60, random_state=0).fit(X, y)
    tree = as_tree(model, space=space)
    data = summarise(diff_trees(tree, tree))["trees"]["new"]
    low, high = space.response_range
    lone = [leaf for leaf in tree.leaves.tolist() if tree.weight[leaf] < 5]
    assert lone
    for leaf in lone:
        steps = (data["value"][leaf][0] - low) / ((high - low) / 20)
        assert steps == pytest.approx(round(steps), abs=0.02)


def test_headline_hides_a_handful_of_people() -> None:
    result = samples.retraining()
    facts = {fact["label"]: fact for fact in summarise(result)["headline"]["facts"]}
    count = int(result.changed_decisions.sum())
    shown = facts["Decisions that change"]
    assert count >= 5
    assert shown["detail"].startswith(f"{count} of")
    strict = summarise(result, min_cell=count + 1)
    facts = {fact["label"]: fact for fact in strict["headline"]["facts"]}
    assert facts["Decisions that change"]["detail"].startswith(f"fewer than {count + 1} of")
    assert str(count) not in " ".join(strict["headline"]["sentences"]).split()


# -- the frontier ------------------------------------------------------------------------


def test_frontier_lists_every_candidate_with_its_costs() -> None:
    result = samples.retraining()
    frontier = summarise(result)["frontier"]
    assert [c["name"] for c in frontier["candidates"]] == list(result.frontier.index)
    chosen = frontier["candidates"][frontier["chosen"]]
    assert chosen["name"] == result.chosen
    assert chosen["distance"] == pytest.approx(result.dissimilarity, abs=1e-4)
    keep = frontier["candidates"][0]
    assert keep["counts"]["kept"] == result.deployed.n_leaves
    assert frontier["trees_left_out"] == 0
    # Flips of one to four people among the new rows are hidden.
    n = len(result.X_new)
    for c, share in zip(frontier["candidates"], result.frontier["flips"], strict=True):
        few = 0 < round(share * n) < 5
        assert c["flips_masked"] is few
        assert (c["flips"] is None) is few


def test_equal_trees_are_stored_once() -> None:
    frontier = summarise(samples.stable_result(2))["frontier"]
    used = [c["tree"] for c in frontier["candidates"]]
    assert len(used) == 100
    assert set(used) == set(range(len(frontier["trees"])))
    assert len(frontier["trees"]) <= 10


def test_trees_beyond_the_budget_are_left_out_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("steadytree.report.trees.TREE_BUDGET", 1500)
    frontier = summarise(samples.stable_result(2))["frontier"]
    without = [c for c in frontier["candidates"] if c["tree"] is None]
    assert frontier["trees_left_out"] == len(without) > 0
    assert frontier["candidates"][frontier["chosen"]]["tree"] is not None


# -- the rest ------------------------------------------------------------------------------


def test_provenance_tells_data_apart() -> None:
    X, y = samples.breast_cancer()
    same = fingerprint(X.copy(), y.copy())
    assert fingerprint(X, y) == same
    changed = X.copy()
    changed.iloc[3, 4] += 1e-9
    assert fingerprint(changed, y) != same
    assert fingerprint(X.rename(columns={X.columns[0]: "z"}), y) != same
    assert fingerprint(X, np.roll(y, 1)) != same
    assert len(fingerprint(pd.DataFrame({"a": ["x", None]}))) == 64


def test_provenance_names_data_seed_versions_and_how_the_score_was_made() -> None:
    labels = {e["label"]: e["value"] for e in summarise(samples.retraining())["provenance"]}
    assert labels["New data"] == "269 rows × 31 columns"
    assert "cross-fitted" in labels["How the score was estimated"]
    assert "steadytree" in labels["Versions"]
    assert "Seed" in labels
    assert labels["Report made"].endswith("UTC")


def test_other_things_are_refused() -> None:
    with pytest.raises(InputError, match="expected a Retraining, a TreeDiff"):
        summarise(samples.mixed_diff().old)
    with pytest.raises(InputError, match="min_cell of 1 or more, got 0"):
        summarise(samples.mixed_diff(), min_cell=0)
