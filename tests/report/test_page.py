"""The page of a summary: well formed, asking for nothing, true, and never misread."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import subprocess
import sys
from html import escape
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import steadytree as st
from steadytree.diff.tree_diff import given_up_words
from steadytree.exceptions import InputError, SteadyTreeWarning
from steadytree.views.notebook import MAX_ROWS, notebook_view
from steadytree.views.page import drawn_content, page_words
from steadytree.views.render import (
    branch_words,
    frontier_svg,
    nice_ticks,
    outline_svg,
    reaching,
    script_safe_json,
)
from tests.report import samples
from tests.report.page import Page

KINDS = {
    "retraining": samples.retraining,
    "hostile": lambda: samples.mixed_diff(hostile=True),
    "single leaf": samples.single_leaf_diff,
    "regression": samples.regression_diff,
    "stable": lambda: samples.stable_result(2),
}


def body_of(page: str) -> str:
    return page[: page.index('<script type="application/json"')]


@pytest.mark.parametrize("kind", list(KINDS))
def test_page_is_well_formed_and_asks_for_nothing(kind: str) -> None:
    page = Page(samples.page(KINDS[kind]()))
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
    text = samples.page(samples.mixed_diff())
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


def test_hostile_names_appear_as_text_only(tmp_path: Path) -> None:
    diff = samples.mixed_diff(hostile=True)
    text = diff.report(tmp_path / "r.html", title="<b>title</b> & 'quotes'").read_text("utf-8")
    assert "<img" not in text
    assert "<b>title" not in text
    assert "&lt;b&gt;title" in text
    assert text.count("</script>") == 2
    assert "49" not in re.findall(r"\{\{ 7 \* 7 \}\}", text)
    assert "{%" not in re.sub(
        r'<script type="application/json".*?</script>', "", text, flags=re.S
    ).replace("{% raw %}", "")


def test_hundreds_of_candidates_stay_below_two_megabytes(tmp_path: Path) -> None:
    """Candidates of a real grid, and 500 large ones of which no two are equal."""
    model = samples.stable_result(10)
    assert len(model.candidates_) == 500
    assert model.report(tmp_path / "report.html").stat().st_size < 2_000_000
    big, rng = samples.large_diff(), np.random.default_rng(0)
    trees = [
        big.new.replace(threshold=big.new.threshold + rng.normal(0, 1e-6), label=big.new.label)
        for _ in range(500)
    ]
    numbers = rng.random(500), rng.random(500), np.arange(500) < 3
    known = {"candidates_": trees, "feature_space_": big.space}
    large = samples.StableResult(**{**vars(model), **known, **samples.candidate_results(*numbers)})
    import steadytree.diff.candidate_trees as candidates

    # The budget, not the time that 500 diffs of 200 rules take, is what is tested.
    diff = st.diff_trees(trees[3], trees[4], space=big.space)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(candidates, "diff_trees", lambda *args, **options: diff)
        path = large.report(tmp_path / "large.html")
    assert path.stat().st_size < 2_000_000
    assert "were left out to keep this file small" in path.read_text(encoding="utf-8")


# -- what it says ------------------------------------------------------------------------


def test_the_page_opens_with_the_lines_of_the_explanation_and_says_the_policy_once(
    tmp_path: Path,
) -> None:
    result = samples.retraining()
    path = result.report(tmp_path / "retraining.html", subgroups=["site"])
    page, told = path.read_text(encoding="utf-8"), result.explanation
    # Percentages are set apart by a narrow space on pages.
    body = " ".join(body_of(page).replace("\u202f", " ").split())
    assert "<h1>Change the deployed tree by 1 edit (likely)</h1>" in body
    lines = (told.headline.removesuffix("."), told.policy, told.changes, told.better)
    places = [body.index(escape(page_words(line))) for line in lines]
    assert places == sorted(places)
    assert body.count("flags malignant from a risk of 40") == 1
    assert "verdict" not in page.lower()
    for words in (
        *("By site", ">Predicted</text>", ">Observed</text>", "predicts malignant "),
        *("among the rows each tree was trained on", "Observed before"),
        *("counted among the 269 new rows", "Proposed tree, expected</th>"),
    ):
        assert words in body
    for words in result.performance().attrs["columns"].values():
        assert escape(words) in page
    assert body.count("Proposed tree, own rows</th>") == 2  # in all, and by group
    # Groups, and candidates.
    assert body.count("Risk of malignant moves by more than 5 points</th>") == 2
    facts = dict(
        re.findall(r"<dt>(.*?)</dt><dd[^>]*>.*?</dd><dd class=\"detail\">(.*?)</dd>", body)
    )
    count = int(result.changed_decisions.sum())
    assert facts["Decisions that change"] == f"{count} of 269 new rows"
    assert "<dt>Seed</dt><dd>0</dd>" in body
    assert re.search(r"<dt>Report made</dt><dd>\d{4}-\d\d-\d\d \d\d:\d\d UTC", body)
    assert "<dt>New data</dt><dd>269 rows × 31 columns</dd>" in body
    assert re.search(r"<dt>Versions</dt><dd>Python [\d.]+, steadytree ", body)


def test_risks_and_measures_name_the_class_that_they_are_of() -> None:
    body = " ".join(body_of(samples.page(samples.retraining())).split())
    for words in ("Sensitivity for", "Specificity for", "Flagged as", "Risk of", "risk of"):
        assert f"{words} malignant" in body
    for word, named in (
        ("risk", "risk of (malignant|40.% on)"),
        ("sensitivity", "sensitivity for malignant"),
        ("specificity", "specificity for malignant"),
    ):
        found = re.findall(rf"\b{word}\b.{{0,30}}", re.sub(r"<[^>]+>", " ", body), re.IGNORECASE)
        assert found
        assert [text for text in found if not re.match(named, text, re.IGNORECASE)] == []


def test_multiclass_and_regression_words() -> None:
    multiclass = samples.page(samples.multiclass_diff())
    for name in ("setosa", "versicolor", "virginica", "share of the class decided on"):
        assert name in multiclass
    regression = samples.page(samples.regression_diff())
    for words in ("Prediction", "Observed after", "mean response at the rule"):
        assert words in regression


def test_nothing_is_proposed_above_keep() -> None:
    result = samples.retraining()
    y = np.array(result.tree.classes)[result.y_new]
    with pytest.warns(SteadyTreeWarning, match="made from these very rows"):
        again = st.retrain(result.tree, result.X_new, y, n_folds=0, random_state=0)
    assert again.action == "keep"
    body = body_of(samples.page(again))
    assert "<h1>Keep the deployed tree" in body
    assert "propos" not in body.lower()


def test_a_final_test_is_the_first_table() -> None:
    X, y = samples.breast_cancer()
    X["site"] = pd.Categorical(["south"] * len(X), ["north", "south", "ward 7"])
    result = st.retrain(
        samples.retraining().deployed,
        X[300:500].reset_index(drop=True),
        y[300:500],
        test=(X[500:], y[500:]),
        n_folds=0,
        search=st.SearchOptions(n_estimators=10),
        random_state=0,
    )
    page = samples.page(result)
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


def test_a_class_that_is_decided_on_no_longer_heads_the_page_once() -> None:
    diff = samples.mixed_diff()
    silent = diff.old.replace(label=np.zeros(diff.old.n_nodes, dtype=int))
    lost = st.diff_trees(diff.old, silent)
    page = samples.page(lost)
    warning = given_up_words(lost.classes_given_up)
    assert warning.startswith("WARNING: the new tree decides high for nobody any more")
    assert body_of(page).count(f'<p class="warning" role="alert">{warning}') == 1
    assert page.index('role="alert"') < page.index('class="lead"')
    assert 'role="alert"' not in samples.page(diff)
    # Kept against their share, with how many rows that concerns.
    assert "although the predicted share says otherwise" in page
    assert warning in lost._repr_html_()


# -- drawings ----------------------------------------------------------------------------


def test_ticks_are_round_and_cover_the_interval() -> None:
    assert nice_ticks(0, 1) == [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    assert nice_ticks(0.743, 0.757)[0] >= 0.743
    assert nice_ticks(2, 2) == [2]


def test_every_status_has_a_shape_of_its_own() -> None:
    page = samples.page(samples.mixed_diff())
    keys = re.findall(r'<g class="mark (\w+)">(.*?)</g></svg><span>', page)
    assert {status for status, _ in keys} == {"kept", "moved", "relabelled", "added", "dropped"}
    assert len({shape for _, shape in keys}) == 5


@pytest.mark.parametrize("hostile", [False, True])
def test_an_outline_has_one_line_per_node_and_one_mark_per_rule(hostile: bool) -> None:
    diff = samples.summary(samples.mixed_diff(hostile=hostile))
    page = drawn_content(diff)
    tree = diff["trees"]["new"] | page["trees"]["new"]
    statuses = {row["number"]: row["status"] for row in diff["rules"]}
    args = (tree, diff["features"], page["classes"], statuses)
    drawn = Page(outline_svg(*args, side="new"))
    assert drawn.open == []
    classes = [attributes.get("class") or "" for _, attributes in drawn.tags]
    assert sum(name.startswith("row ") for name in classes) == len(tree["left"])
    assert sum(name.startswith("mark ") for name in classes) == tree["n_rules"]
    assert 'class="mark' not in outline_svg(*args, side="new", plain=True)
    assert not any(tag in ("img", "script") for tag, _ in drawn.tags)


def test_a_branch_says_what_its_value_must_be() -> None:
    diff = samples.mixed_diff().to_dict()
    features = diff["features"]

    def branch(side: str, node: int, left: bool, reach: object = None) -> tuple[str, str]:
        tree = diff["trees"][side]
        return branch_words(tree, features, node, left, reach or reaching(tree, features)[node])

    assert branch("old", 1, True) == ("age", "≤ 40 or missing")
    assert branch("old", 1, False) == ("age", "> 40")
    assert branch("new", 5, False) == ("age", "is missing")
    # Nothing that was sent elsewhere above is named.
    assert branch("old", 0, True, ((0, 1), True, False)) == ("colour", "is red")
    assert branch("old", 1, True, (None, False, False)) == ("age", "≤ 40")


def test_the_chosen_candidate_is_drawn_on_top_of_the_others() -> None:
    told = samples.stable_result(1).to_dict()
    frontier = drawn_content(told)["frontier"]
    drawn = Page(frontier_svg(frontier, told["candidates"]))
    points = [a["data-candidate"] for _, a in drawn.tags if "data-candidate" in a]
    assert sorted(map(int, points)) == list(range(len(told["candidates"])))
    assert int(points[-1]) == frontier["chosen"]
    unknown = [{**c, "score": {"score": None}} for c in told["candidates"]]
    assert frontier_svg(frontier, unknown) == ""


def test_a_rule_that_changed_is_drawn_however_deep_it_is() -> None:
    diff = samples.large_diff()
    leaf = max(diff.old.leaves.tolist(), key=diff.old.node_depth.tolist().__getitem__)
    labels = diff.old.label.copy()
    labels[leaf] = 1 - labels[leaf]
    changed = st.diff_trees(diff.old, diff.old.replace(label=labels), space=diff.space)
    for tree in drawn_content(changed.to_dict())["trees"].values():
        assert tree["folded"]
        above, node = set(), leaf
        while node:
            node = int(diff.old.parent[node])
            above.add(node)
        assert not above & set(tree["folded"])


# -- in a notebook -----------------------------------------------------------------------


def test_compact_views_are_escaped_and_well_formed() -> None:
    diff = samples.mixed_diff(hostile=True)
    stable = st.StableTreeClassifier(n_bootstraps=2, random_state=0, param_grid={"max_depth": [2]})
    X, y = samples.breast_cancer()
    for result, words in (
        (diff, "Dissimilarity"),
        (samples.retraining(), "★"),
        (stable.fit(X, y), "leaves, depth"),
    ):
        html = notebook_view(result)
        page = Page(html)
        assert page.open == []
        assert all(tag not in ("img", "script") for tag, _ in page.tags)
        assert words in html
    assert samples.retraining()._repr_html_() == notebook_view(samples.retraining())
    with pytest.raises(InputError, match="expected a result with a notebook view, got Tree"):
        notebook_view(diff.old)


def test_long_tables_are_cut_and_say_so() -> None:
    diff = samples.large_diff()
    changed = len(diff.rules) - diff.counts["kept"]
    html = notebook_view(diff)
    assert html.count("<tr>") == 1 + MAX_ROWS
    assert f"<p>and {changed - MAX_ROWS} more</p>" in html


def test_a_view_needs_no_jinja_and_nothing_is_imported_before_somebody_looks() -> None:
    code = (
        "import sys, steadytree._views\n"
        "late = ('steadytree.views', 'steadytree.plotting', 'matplotlib', 'jinja2')\n"
        "assert not [m for m in sys.modules if m.startswith(late)]\n"
        "sys.modules['jinja2'] = None\n"
        "import steadytree as st\n"
        "tree = st.tree_from_rules('age <= 50: no\\nelse: yes')\n"
        "space = st.FeatureSpace.from_data([[20.0], [70.0]]).replace(names=('age',))\n"
        "assert 'kept' in st.diff_trees(tree, tree, space=space)._repr_html_()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
