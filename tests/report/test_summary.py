"""The one account of a result: in the published layout, true, and safe to pass on."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import jsonschema
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

import steadytree as st
from steadytree.publish import publish
from steadytree.publish.cells import EDIT_OF_RARE, group, mean, measure, people, risk, score
from tests.report import samples
from tests.report.samples import SCHEMA, summary

RESULTS = {
    "classes": samples.retraining,
    "a response": samples.regression_retraining,
    "several classes": samples.multiclass_diff,
    "of a response": samples.regression_diff,
    "mixed": samples.mixed_diff,
    "hostile": lambda: samples.mixed_diff(hostile=True),
    "single leaf": samples.single_leaf_diff,
    "large": samples.large_diff,
    "stable": lambda: samples.stable_result(2),
}
NUMBERS = {
    *("version", "level", "number", "leaf", "n_rules", "n_leaves", "depth", "price", "seconds"),
    *("left", "right", "feature", "threshold", "categories", "missing_left", "unseen_left"),
    *("label", "positive", "rule", "rules", "counts", "tree", "distance", "dissimilarity"),
    *("from", "to", "shift", "share_of_range", "lower", "upper", "columns", "class_weight"),
    *("steady", "class", "shown"),
}
"""Entries that hold plain numbers: of rules and nodes, not of people."""
OWNERS = {
    *("settings", "clauses", "drift", "mean_value_shift", "brier", "cost"),
    *("share", "sensitivity", "specificity"),
    *("f", "t", "c", "l", "v", "n"),
}
"""What only the owner of the data gets, besides."""


def bare_numbers(content: Any, key: str = "") -> set[str]:
    """Keys of numbers that are in no cell."""
    if isinstance(content, dict):
        if "words" in content and next(iter(content)) in ("count", *samples.SCHEMA["$defs"]):
            return set()
        inside = key if key in OWNERS or key == "counts" else ""
        return {k for name, one in content.items() for k in bare_numbers(one, inside or name)}
    if isinstance(content, list):
        return {k for entry in content for k in bare_numbers(entry, key)}
    return {key} if isinstance(content, (int, float)) and not isinstance(content, bool) else set()


@pytest.mark.parametrize("kind", RESULTS)
def test_every_number_about_people_is_a_cell_exact_or_published(kind: str) -> None:
    result = RESULTS[kind]()
    options = {"by": ["site"]} if kind == "classes" else {}
    for public in (False, True):
        told = summary(result, publish=public, **options)
        assert told["published"] is public
        assert bare_numbers(told) - NUMBERS - (set() if public else OWNERS) == set()
        assert ('"published": true, "words"' in json.dumps(told)) <= public


@pytest.fixture(scope="module")
def several_classes() -> st.Retraining:
    data = samples.load_iris(as_frame=True)
    model = DecisionTreeClassifier(max_leaf_nodes=4, random_state=0)
    X, y = data.data, data.target_names[data.target]
    return st.retrain(
        model.fit(X[::2], y[::2]),
        X[1::2],
        y[1::2],
        n_folds=0,
        search=st.SearchOptions(n_estimators=5),
        random_state=0,
    )


def test_kinds_that_no_sample_is_of_follow_the_schema(several_classes: st.Retraining) -> None:
    """No folds, several classes, a plan that refuses, a comparison, an assessment."""
    told = summary(several_classes)
    assert (told["confidence"], told["nothing_new"]) == ("unmeasured", False)
    assert told["diff"]["classes"] == ["setosa", "versicolor", "virginica"]
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    old = DecisionTreeClassifier(max_leaf_nodes=4, random_state=0).fit(X[:200], y[:200])
    refused = st.retrain(
        old,
        X[200:400],
        y[200:400],
        plan={"max_dissimilarity": 0.0, "min_gain": 0.9},
        n_folds=2,
        test=(X[400:], y[400:]),
        search=st.SearchOptions(n_estimators=10),
        random_state=0,
    )
    told = summary(refused)
    assert (told["action"], told["plan"]["held"]) == ("keep", False)
    assert told["refused"] == refused.answer.refused != ""
    assert [row["name"] for row in told["test"]["trees"]] == list(refused.test.index)
    # What the plan measured is told nobody else.
    public = summary(refused, publish=True)
    assert (public["reason"], public["plan"]["clauses"]) == (told["reason"].split(". ")[0], [])
    compared = st.compare(
        old, refused.trees["from scratch"], X[400:], y[400:], plan={"max_flips": 1.0}
    )
    for publish_it in (False, True):
        told = summary(compared, by=["mean radius"], publish=publish_it)
    assert told["score"]["new"]["score"] == round(compared.score.new, 2)
    assert summary(st.compare(old, refused.tree))["affected"] is None
    assessed = st.assess_stability(old, X[:200], y[:200], n_resamples=2, random_state=0)
    jsonschema.validate(json.loads(json.dumps(assessed.to_dict())), SCHEMA)


# -- numbers are those of the result -----------------------------------------------------


def test_the_answer_and_its_people_are_those_of_the_result() -> None:
    result = samples.retraining()
    told = summary(result)
    assert list(told)[:6] == ["schema", "version", "kind", "published", "action", "confidence"]
    assert told["affected"]["flips"]["count"] == result.changed_decisions.sum()
    for points, limit in (("5", 0.05), ("10", 0.1)):
        moved = told["affected"]["moved"][points]
        assert moved["count"] == (result.risk_moves > limit + 1e-9).sum()
    for one in told["gains"]:
        assert one["gain"]["change"] == result.answer.gains[one["of"]].value
    table = result.performance().reset_index().to_dict("records")
    for row, shown in zip(table, told["performance"]["measures"], strict=True):
        assert shown["metric"] == row["metric"]
        assert shown["meaning"]
        for column in ("deployed", "recipe", "own", "change"):
            assert shown[column]["measure"] == pytest.approx(row[column])
    assert told["diff"] == result.diff.to_dict() | {"features": told["diff"]["features"]}


def test_candidates_are_those_of_the_frontier() -> None:
    result = samples.retraining()
    told = summary(result)
    for row, shown in zip(result.frontier.itertuples(), told["candidates"], strict=True):
        assert (shown["name"], shown["kind"]) == (row.Index, row.kind)
        assert shown["dissimilarity"] == row.dissimilarity
        assert shown["score"]["score"] == row.score
        assert shown["score_change"]["change"] == row.score_change
        assert shown["flips"]["count"] == round(row.flips * len(result.rows))
        assert shown["moved"]["5"]["count"] == round(row.moved_5 * len(result.rows))
    assert told["candidates"][0]["counts"]["kept"] == result.deployed.n_leaves
    assert result.to_dict()["candidate_trees"] == []


def test_groups_are_those_of_the_tables() -> None:
    result = samples.retraining()
    (by,) = summary(result, by=["site"], level=0.9)["groups"]
    flips, scores = result.flips("site", level=0.9), result.performance("site", level=0.9)
    assert {g["group"]["group"]: g["n"]["count"] for g in by["groups"]}["ward 7"] == 3
    for one in by["groups"]:
        name = one["group"]["group"]
        cell = [one["flips"][key] for key in ("measure", "low", "high")]
        assert cell == pytest.approx(flips.loc[name, ["flips", "low", "high"]].tolist())
        for points, moved in one["moved"].items():
            assert moved["count"] == round(flips.loc[name, f"moved_{points}"] * moved["of"])
        for row in one["measures"]:
            expected = scores.loc[(name, row["metric"])]
            assert row["own"]["measure"] == pytest.approx(expected["own"], nan_ok=True) or (
                row["own"]["measure"] is None and np.isnan(expected["own"])
            )


@pytest.mark.parametrize("kind", ["classes", "several classes", "large", "mixed"])
def test_rules_count_the_rows_given_and_are_found_by_their_leaf(kind: str) -> None:
    result = RESULTS[kind]()
    diff = getattr(result, "diff", result)
    told = diff.to_dict()
    assert told["counts"] == diff.counts
    assert told["dissimilarity"] == diff.dissimilarity
    for change, row in zip(diff.rules, told["rules"], strict=True):
        assert row["status"] == change.status
        for side in ("old", "new"):
            rule, half = getattr(change, side), row[side]
            assert (rule is None) == (half is None)
            if rule is None:
                continue
            assert told["trees"][side]["rule"][half["leaf"]] == row["number"]
            assert (half["rows"]["count"], half["rows"]["of"]) == (rule.rows, diff.n_rows)
            if half["observed"] is not None:
                counted = half["observed"]["count"], half["observed"]["of"]
                assert counted == (rule.outcomes, rule.rows)
    for side in ("old", "new"):
        tree = getattr(diff, side)
        drawn = {i for i, number in enumerate(told["trees"][side]["rule"]) if number is not None}
        # One leaf of the old tree of the mixed ones is left out: nobody can reach it.
        assert set(tree.leaves.tolist()) - drawn == (
            {8} if (kind, side) == ("mixed", "old") else set()
        )


def test_trees_of_candidates_are_stored_once_and_within_the_budget(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told = summary(samples.stable_result(2))
    assert {c["tree"] for c in told["candidates"]} == set(range(len(told["candidate_trees"])))
    assert len(told["candidate_trees"]) <= 10 < len(told["candidates"])
    monkeypatch.setattr("steadytree.diff.candidate_trees.TREE_BUDGET", 1500)
    told = summary(samples.stable_result(2))
    left_out = [c for c in told["candidates"] if c["tree"] is None]
    assert 0 < len(left_out) < len(told["candidates"])
    assert not any(c["chosen"] for c in left_out)
    assert f"The trees of {len(left_out)} candidates were left out" in samples.page(
        samples.stable_result(2)
    )


@pytest.mark.parametrize("random_state", [7, None, np.random.RandomState(3)])
def test_the_seed_repeats_the_run(random_state: Any) -> None:
    X, y = samples.breast_cancer()
    model = DecisionTreeClassifier(max_leaf_nodes=4, random_state=0).fit(X[:200], y[:200])
    options: dict[str, Any] = {"n_folds": 2, "search": st.SearchOptions(n_estimators=10)}
    first = st.retrain(model, X[200:400], y[200:400], random_state=random_state, **options)
    seed = first.to_dict()["settings"]["seed"]
    assert random_state != 7 or seed == 7
    again = st.retrain(model, X[200:400], y[200:400], random_state=seed, **options)
    pd.testing.assert_frame_equal(first.frontier, again.frontier)
    assert first.tree == again.tree
    assert str(first) == str(again)


# -- nothing of single people ------------------------------------------------------------


def numbers_in(content: Any) -> list[float]:
    if isinstance(content, dict):
        return [v for item in content.values() for v in numbers_in(item)]
    if isinstance(content, list):
        return [v for item in content for v in numbers_in(item)]
    return [content] if isinstance(content, float) else []


@pytest.mark.parametrize("kind", ["classes", "of a response"])
def test_no_row_of_data_is_in_the_summary(kind: str) -> None:
    """No number of trees and rules, thresholds aside, is a value of a person.

    The measurements have many digits, so that a value would be recognised.
    """
    result = RESULTS[kind]()
    if kind == "classes":
        values = result.X_new.select_dtypes("number").to_numpy().ravel()
        trees = list(result.trees.values())
    else:
        values = samples.load_diabetes(as_frame=True, scaled=False).data[["s5"]].to_numpy().ravel()
        trees = [result.old, result.new]
    telling = {float(v) for v in values if len(f"{v:.10g}".replace(".", "").strip("0")) >= 4}
    assert len(telling) > 100
    known = {float(t) for tree in trees for t in tree.threshold if np.isfinite(t)}
    known |= {float(f"{t:.6g}") for t in known}
    told = summary(result)
    diff = told.get("diff", told)
    for row in diff["rules"]:
        for side in ("old", "new"):
            if row[side] is not None:
                row[side].pop("predicted")
    shared = {key: diff[key] for key in ("rules", "features", "trees", "splits")}
    assert set(numbers_in([shared, told.get("candidate_trees", [])])) & telling - known == set()


def test_no_extreme_of_the_data_and_no_digest_is_in_the_text() -> None:
    """Whoever guesses the rows, but for one person's, could confirm the guess with a digest."""
    result = samples.retraining()
    text = json.dumps(summary(result))
    for name in result.X_new.select_dtypes("number"):
        for extreme in (result.X_new[name].min(), result.X_new[name].max()):
            digits = f"{extreme:.10g}"
            if len(digits.replace(".", "").strip("0")) >= 5:
                assert digits not in text
    for other in (samples.multiclass_diff(), samples.stable_result(2)):
        text += json.dumps(summary(other))
    assert not re.search(r"\b(?=[0-9]*[a-f])[0-9a-f]{16,}\b", text)


def test_categories_of_a_column_that_no_tree_uses_stay_out() -> None:
    X, y = samples.breast_cancer()
    X = X[:400].iloc[:, :4].assign(patient=[f"Patient{i // 4:04d}" for i in range(400)])
    space = st.FeatureSpace.from_data(X, y[:400])
    model = DecisionTreeClassifier(max_depth=2, min_samples_leaf=20, random_state=0)
    old, new = (st.as_tree(model.fit(X.iloc[:end, :4], y[:end]), space=space) for end in (200, 400))
    diff = st.diff_trees(old, new, X, y=y[:400], space=space)
    assert "Patient" not in samples.page(diff)
    assert "Patient" not in diff._repr_html_()
    features = samples.mixed_diff().to_dict()["features"]
    assert features[0]["categories"] == ["red", "green", "blue", "black"]
    assert not {"lower", "upper"} & set(features[1])


# -- published ---------------------------------------------------------------------------


def published(cell: dict[str, Any]) -> str:
    return str(publish(cell)["words"]).replace("\u202f", " ")


@pytest.mark.parametrize(
    ("count", "of", "words"),
    [
        (12, 43, "10 of 45 (22 %)"),
        (13, 43, "15 of 45 (33 %)"),
        (0, 43, "< 8 of 45 (< 18 %)"),
        (7, 43, "< 8 of 45 (< 18 %)"),
        (8, 43, "10 of 45 (22 %)"),
        (36, 43, "> 37 of 45 (> 82 %)"),
        (43, 43, "> 37 of 45 (> 82 %)"),
        (5, 19, "– of 20"),
        (5, 7, "– of < 8"),
        (30, 1000, "30 of 1,000 (3.0 %)"),
    ],
)
def test_published_people(count: int, of: int, words: str) -> None:
    assert published(people(count, of)) == words


def test_other_published_cells() -> None:
    share = {"kind": "share", "of": 43}
    for cell, words in (
        (people(7), "< 8"),
        (people(31), "30"),
        (risk(0.2731, 0.25), "25 %"),
        (mean(12.3456, 10.0), "10"),
        (mean(12.3456, of=43), "12.3"),
        (mean(12.3456, of=19), "–"),
        (score(0.8123, 62, 0.0141), "0.81 ± 0.02"),
        (score(0.8123, 19), "–"),
        (measure(12 / 43, 0.1, 0.4, **share), "22 %"),
        (measure(3 / 43, 0.0, 0.2, **share), "< 18 %"),
        (measure(0.02, 0.0, 0.1, change=True, **share), "–"),
        (measure(0.8, 0.7, 0.9, kind="share", of=19), "–"),
        (group("ward 7", "ward 7", 19), "a small group"),
        (group("(20, 35]", "up to 35", 40), "up to 35"),
    ):
        assert published(cell) == words
        assert publish(publish(cell)) == publish(cell)


def test_publishing_leaves_out_what_quotes_the_rows_or_the_run() -> None:
    result = samples.retraining()
    by = {"site": "site", "size": "mean radius"}
    public = summary(replace(result, notes=("17 rows",)), by=by, publish=True)
    assert publish(public) == public
    assert public["notes"] == public["candidate_trees"] == []
    assert public["settings"] == {}
    assert all(c["tree"] is None for c in public["candidates"])
    sites, sizes = ([g["group"]["words"] for g in one["groups"]] for one in public["groups"])
    assert "ward 7" not in json.dumps(public)
    assert "a small group" in sites
    assert sizes[0].startswith("up to ")
    assert sizes[-1].startswith("over ")
    page = samples.page(result, publish=True)
    assert "<dt>Seed</dt>" not in page
    assert "<dt>New data</dt><dd>270 rows × 31 columns" in page


def test_an_edit_that_names_a_rare_category_is_not_told() -> None:
    told = summary(samples.retraining())
    name = next(edit for c in told["candidates"] for edit in c["edits"]).split()[-1]
    public = publish(told, {name})
    edits = [edit for c in public["candidates"] for edit in c["edits"]]
    assert not any(name in words for words in edits)
    assert EDIT_OF_RARE in edits
