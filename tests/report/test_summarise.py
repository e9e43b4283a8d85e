from __future__ import annotations

import json
import re
from dataclasses import replace
from importlib.resources import files
from typing import Any

import jsonschema
import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from steadytree.diff import diff_trees
from steadytree.exceptions import InputError
from steadytree.plugins import as_tree
from steadytree.retraining import SearchOptions, retrain
from steadytree.tree.space import FeatureSpace
from steadytree.views import summarise
from steadytree.views.render import render
from tests.report import samples

SCHEMA = json.loads(
    files("steadytree.views").joinpath("summary.schema.json").read_text(encoding="utf-8")
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
            for key in ("score_change", "score_change_se", "moved_5", "moved_10"):
                c.pop(key, None)
    for side in ("old", "new"):
        summary["trees"][side].pop("predicted")
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


def test_headline_counts_people() -> None:
    result = samples.retraining()
    facts = {fact["label"]: fact for fact in summarise(result)["headline"]["facts"]}
    count = int(result.changed_decisions.sum())
    shown = facts["Decisions that change"]
    assert shown["detail"]["words"].startswith(f"{count} of")


def test_no_digest_of_the_data_is_shown() -> None:
    # Whoever guesses the rows, but for one person's, could confirm the guess with it.
    for result in (samples.retraining(), samples.multiclass_diff(), samples.stable_result(2)):
        text = json.dumps(summarise(result))
        assert not re.search(r"\b(?=[0-9]*[a-f])[0-9a-f]{16,}\b", text)


def test_categories_of_a_column_that_no_tree_uses_stay_out() -> None:
    X, y = samples.breast_cancer()
    X = X[:400].iloc[:, :4].assign(patient=[f"Patient{i // 4:04d}" for i in range(400)])
    space = FeatureSpace.from_data(X, y[:400])
    model = DecisionTreeClassifier(max_depth=2, min_samples_leaf=20, random_state=0)
    old, new = (as_tree(model.fit(X.iloc[:end, :4], y[:end]), space=space) for end in (200, 400))
    diff = diff_trees(old, new, X, y=y[:400], space=space)
    assert "Patient" not in render(diff)
    assert "Patient" not in diff._repr_html_()


def test_provenance_names_data_seed_versions_and_how_the_score_was_made() -> None:
    labels = {
        e["label"]: e["value"]["words"] for e in summarise(samples.retraining())["provenance"]
    }
    assert labels["New data"] == "269 rows × 31 columns"
    assert "rows that the tree has not seen" in labels["How the score was estimated"]
    assert "steadytree" in labels["Versions"]
    assert labels["Seed"] == "0"
    assert labels["Report made"].endswith("UTC")


@pytest.mark.parametrize("random_state", [7, None, np.random.RandomState(3)])
def test_the_seed_on_the_page_repeats_the_run(random_state: Any) -> None:
    X, y = samples.breast_cancer()
    model = DecisionTreeClassifier(max_leaf_nodes=4, random_state=0).fit(X[:200], y[:200])
    options: dict[str, Any] = {"n_folds": 2, "search": SearchOptions(n_estimators=10)}
    first = retrain(model, X[200:400], y[200:400], random_state=random_state, **options)
    labels = {e["label"]: e["value"]["words"] for e in summarise(first)["provenance"]}
    if random_state == 7:
        assert labels["Seed"] == "7"
    again = retrain(model, X[200:400], y[200:400], random_state=int(labels["Seed"]), **options)
    pd.testing.assert_frame_equal(first.frontier, again.frontier)
    assert first.edits == again.edits
    assert first.tree == again.tree
    assert str(first) == str(again)


def test_other_things_are_refused() -> None:
    with pytest.raises(InputError, match="expected a Retraining, a TreeDiff"):
        summarise(samples.mixed_diff().old)


def test_a_class_that_is_given_up_is_warned_of_once() -> None:
    result = samples.retraining()
    silent = result.tree.replace(label=np.zeros_like(result.tree.label))
    scores = replace(result.scores, own={**result.scores.own, result.chosen: silent})
    mute = replace(result, tree=silent, scores=scores)
    summary = summarise(mute)
    assert summary["warnings"] == [
        "WARNING: the proposed tree decides malignant for nobody any more, which the deployed "
        "tree does for some."
    ]
    assert "WARNING" not in " ".join(s["words"] for s in summary["headline"]["sentences"])
    assert mute.explain().count("WARNING") == 1
