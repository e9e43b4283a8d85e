from __future__ import annotations

import base64
import hashlib
import json
import re
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from steadytree.diff import diff_trees
from steadytree.diff.tree_diff import given_up_words
from steadytree.exceptions import SteadyTreeWarning
from steadytree.retraining import SearchOptions, retrain
from steadytree.views import render, summarise, write_report
from steadytree.views.notebook import tree_diff_html
from steadytree.views.render import script_safe_json
from steadytree.views.report_trees import sentence
from tests.report import samples
from tests.report.page import Page

KINDS = {
    "retraining": lambda: samples.retraining(),
    "hostile": lambda: samples.mixed_diff(hostile=True),
    "single leaf": lambda: samples.single_leaf_diff(),
    "regression": lambda: samples.regression_diff(),
    "stable": lambda: samples.stable_result(2),
}


@pytest.mark.parametrize("kind", list(KINDS))
def test_page_is_well_formed_and_asks_for_nothing(kind: str) -> None:
    text = render(KINDS[kind]())
    page = Page(text)
    assert page.open == []
    for tag, attributes in page.tags:
        assert tag not in ("img", "link", "iframe", "object", "embed", "base")
        for name, value in attributes.items():
            assert not name.startswith("on"), f"inline handler {name} on {tag}"
            assert name != "style", f"style attribute on {tag}"
            if name in ("src", "href", "action"):
                assert value is not None
                assert value.startswith("#"), f"{tag} points to {value}"
    ids = [a["id"] for _, a in page.tags if "id" in a]
    assert len(ids) == len(set(ids))


def test_policy_allows_exactly_the_page_s_own_style_and_script() -> None:
    text = render(samples.mixed_diff())
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text).group(1)
    policy = policy.replace("&#39;", "'")
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    for tag in ("style", "script"):
        body = re.search(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL).group(1)
        digest = base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy


@pytest.mark.parametrize("text", list(samples.HOSTILE.values()))
def test_embedded_data_survives_and_cannot_end_its_script(text: str) -> None:
    content = {"name": text, text: ["\u2028\u2029", "<!--", "]]>"]}
    safe = script_safe_json(content)
    assert json.loads(safe) == content
    for forbidden in ("<", ">", "&", "\u2028", "\u2029"):
        assert forbidden not in safe


def test_hostile_names_appear_as_text_only() -> None:
    text = render(samples.mixed_diff(hostile=True), title="<b>title</b> & 'quotes'")
    assert "<img" not in text
    assert "<b>title" not in text
    assert "&lt;b&gt;title" in text
    assert text.count("</script>") == 2


def test_the_script_may_not_contain_what_would_end_it() -> None:
    text = render(samples.mixed_diff())
    assert "49" not in re.findall(r"\{\{ 7 \* 7 \}\}", text)
    assert "{%" not in re.sub(r'<script type="application/json".*?</script>', "", text, flags=re.S)


def test_five_hundred_candidates_stay_below_two_megabytes(tmp_path: Path) -> None:
    """Candidates of a real grid: no two trees need be equal, and the largest have many rules."""
    model = samples.stable_result(10)
    path = write_report(model, tmp_path / "report.html")
    assert len(model.candidates_) == 500
    assert path.stat().st_size < 2_000_000


def test_size_is_kept_even_for_five_hundred_large_different_trees(tmp_path: Path) -> None:
    import numpy as np

    model = samples.stable_result(1)
    big = samples.large_diff()
    rng = np.random.default_rng(0)
    trees = [
        big.new.replace(threshold=big.new.threshold + rng.normal(0, 1e-6), label=big.new.label)
        for _ in range(500)
    ]
    large = samples.StableResult(
        **{
            **vars(model),
            "candidates_": trees,
            "feature_space_": big.space,
            **samples.candidate_results(rng.random(500), rng.random(500), np.arange(500) < 3),
        }
    )
    import steadytree.views.report_trees as candidates

    # The budget, not the time that 500 diffs of 200 rules take, is what is tested.
    before = candidates.diff_trees
    cached: list[Any] = []

    def once(*args: Any, **options: Any) -> Any:
        if not cached:
            cached.append(before(*args, **options))
        return cached[0]

    candidates.diff_trees = once
    try:
        path = write_report(large, tmp_path / "large.html")
    finally:
        candidates.diff_trees = before
    assert path.stat().st_size < 2_000_000
    assert "were left out to keep this file small" in path.read_text(encoding="utf-8")


def test_report_methods_write_the_file(tmp_path: Path) -> None:
    path = samples.mixed_diff().report(tmp_path / "diff.html", title="Colours")
    assert "<h1>Colours</h1>" in path.read_text(encoding="utf-8")
    path = samples.retraining().report(tmp_path / "retraining.html", subgroups=["site"])
    text = path.read_text(encoding="utf-8")
    assert "By site" in text
    assert "<h1>Change the deployed tree by 1 edit (likely)</h1>" in text


def test_multiclass_and_regression_words() -> None:
    multiclass = render(samples.multiclass_diff())
    for name in ("setosa", "versicolor", "virginica"):
        assert name in multiclass
    assert "share of the class decided on" in multiclass
    regression = render(samples.regression_diff())
    assert "Prediction" in regression
    assert "Observed after" in regression
    assert "mean response at the rule" in regression


def test_the_page_names_every_number_of_a_leaf_and_says_the_policy_once() -> None:
    page = render(samples.retraining())
    assert "learnt from" not in page
    assert "the evidence does not pay" not in page
    assert ">Predicted</text>" in page
    assert ">Observed</text>" in page
    body = page[: page.index('<script type="application/json"')]
    assert body.count("flags malignant from a risk of 40 % on") == 1
    assert "predicts malignant " in body
    assert "among the rows each tree was trained on" in " ".join(body.split())
    assert "Observed before" in body
    assert "counted among the 269 new rows" in body


def test_the_page_names_each_column_of_scores_and_counts_moved_risks() -> None:
    result = samples.retraining()
    summary = summarise(result)
    table = result.performance().reset_index()
    for row, shown in zip(table.to_dict("records"), summary["people"]["performance"], strict=True):
        for name, column in (("old", "deployed"), ("new", "recipe")):
            assert shown[name]["measure"] == pytest.approx(row[column])
        assert shown["own"]["measure"] == pytest.approx(row["own"])
    for points, share in (("5", 0.05), ("10", 0.1)):
        moved = summary["people"]["moved"][points]
        assert moved["count"] == (result.risk_moves > share + 1e-9).sum()
    page = render(result)
    for words in result.performance().attrs["columns"].values():
        assert escape(words) in page
    assert "Proposed tree, expected</th>" in page
    assert "Proposed tree, own rows</th>" in page


def test_the_page_opens_with_the_lines_of_the_explanation() -> None:
    result = samples.retraining()
    page, told = render(result), result.explanation
    lines = [told.headline.removesuffix("."), told.policy, told.changes, told.better, told.forgone]
    shown = [sentence(line)["words"] for line in lines]
    places = [page.index(escape(line)) for line in shown]
    assert places == sorted(places)
    assert "verdict" not in page.lower()


def test_nothing_is_proposed_above_keep() -> None:
    result = samples.retraining()
    y = np.array(result.tree.classes)[result.y_new]
    with pytest.warns(SteadyTreeWarning, match="made from these very rows"):
        again = retrain(result.tree, result.X_new, y, n_folds=0, random_state=0)
    assert again.action == "keep"
    page = render(again)
    body = page[: page.index('<script type="application/json"')]
    assert "<h1>Keep the deployed tree" in body
    assert "propos" not in body.lower()


def test_risks_and_measures_name_the_class_that_they_are_of() -> None:
    page = render(samples.retraining())
    body = " ".join(page[: page.index('<script type="application/json"')].split())
    for words in ("Sensitivity for", "Specificity for", "Flagged as", "Risk of", "risk of"):
        assert f"{words} malignant" in body
    for word, named in (
        ("risk", r"risk of (malignant|40 % on)"),
        ("sensitivity", "sensitivity for malignant"),
        ("specificity", "specificity for malignant"),
    ):
        found = re.findall(rf"\b{word}\b.{{0,30}}", re.sub(r"<[^>]+>", " ", body), re.IGNORECASE)
        assert found
        assert [text for text in found if not re.match(named, text, re.IGNORECASE)] == []


def test_a_final_test_is_the_first_table() -> None:
    X, y = samples.breast_cancer()
    X["site"] = pd.Categorical(["south"] * len(X), ["north", "south", "ward 7"])
    result = retrain(
        samples.retraining().deployed,
        X[300:500].reset_index(drop=True),
        y[300:500],
        test=(X[500:], y[500:]),
        n_folds=0,
        search=SearchOptions(n_estimators=10),
        random_state=0,
    )
    page = render(result)
    first = page[page.index("<table") : page.index("</table>")]
    cells = re.findall(r"<t[hd][^>]*>([^<]*)</t[hd]>", first)
    assert cells[:3] == ["Tree", "AUC", "Change"]
    table = result.test
    assert table is not None
    names = ("Deployed tree", "Proposed tree", "From scratch")
    for name, score in zip(names, table["score"], strict=True):
        assert cells[cells.index(name) + 1] == f"{score:.3f}"
    assert f"{table['brier']['from scratch']:.4f}" in cells
    assert "On 69 rows that nothing was trained or chosen on" in page


def test_a_class_that_is_decided_on_no_longer_heads_the_page() -> None:
    diff = samples.mixed_diff()
    silent = diff.old.replace(label=np.zeros(diff.old.n_nodes, dtype=int))
    lost = diff_trees(diff.old, silent)
    page = render(lost)
    warning = given_up_words(lost.classes_given_up)
    assert warning.startswith("WARNING: the new tree decides high for nobody any more")
    assert f'<p class="warning" role="alert">{warning}' in page
    assert page.index('role="alert"') < page.index('class="lead"')
    assert 'role="alert"' not in render(diff)
    # Kept against their share, with how many rows that concerns.
    assert "although the predicted share says otherwise" in page
    assert warning in tree_diff_html(lost)
