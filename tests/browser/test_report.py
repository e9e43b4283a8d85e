"""The report in a browser: what people do with it works, and nothing leaves the page."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe

from steadytree.tree.tree import Tree
from tests.report import samples

pytestmark = pytest.mark.browser

KINDS = {
    "retraining": lambda: samples.retraining(),
    "graded": lambda: samples.graded_retraining(),
    "below": lambda: samples.below_retraining(),
    "pipeline": lambda: samples.pipeline_retraining(),
    "multiclass": lambda: samples.multiclass_diff(),
    "regression": lambda: samples.regression_diff(),
    "mixed": lambda: samples.mixed_diff(),
    "hostile": lambda: samples.mixed_diff(hostile=True),
    "large": lambda: samples.large_diff(),
    "single leaf": lambda: samples.single_leaf_diff(),
    "stable": lambda: samples.stable_result(2),
}


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Path of the report of one kind; each is written once."""
    folder = tmp_path_factory.mktemp("reports")

    def path_of(kind: str) -> Path:
        path = folder / f"{kind.replace(' ', '-')}.html"
        if not path.exists():
            options = {"subgroups": ["site"]} if kind == "retraining" else {}
            KINDS[kind]().report(path, **options)
        return path

    return path_of


@pytest.mark.parametrize("kind", list(KINDS))
def test_page_loads_without_error_or_request(kind: str, report: Any, visit: Any) -> None:
    page = visit(report(kind))
    assert page.locator("h1").inner_text()
    assert page.locator("svg.tree").count() >= 1
    # The script ran to its end: what it alone offers is shown.
    assert page.locator("#case-form").is_visible()


@pytest.mark.parametrize(
    ("kind", "scheme"),
    [
        ("retraining", "light"),
        ("retraining", "dark"),
        ("regression", "light"),
        ("hostile", "dark"),
        ("stable", "light"),
        ("single leaf", "light"),
    ],
)
def test_axe_finds_no_violation(kind: str, scheme: str, report: Any, visit: Any) -> None:
    page = visit(report(kind), color_scheme=scheme)
    if kind in ("retraining", "stable"):
        page.locator("svg.frontier .point[role=button]").first.dispatch_event("click")
        assert page.locator("#candidate").is_visible()
    fill_case(page, {})
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()


def test_hovering_a_rule_lights_its_partner_and_its_line_in_the_table(
    report: Any, visit: Any
) -> None:
    page = visit(report("mixed"))
    old = page.locator("#tree-old .row.leaf[data-rule='2']")
    new = page.locator("#tree-new .row.leaf[data-rule='2']")
    line = page.locator("#rule-table tr[data-rule='2']")
    assert page.locator(".lit").count() == 0
    old.locator(".t-back").hover()
    for one in (old, new, line):
        assert "lit" in one.get_attribute("class")
    assert page.locator(".lit").count() == 3
    page.mouse.move(2, 2)
    assert page.locator(".lit").count() == 0


def test_a_rule_lights_up_when_reached_by_keyboard(report: Any, visit: Any) -> None:
    page = visit(report("mixed"))
    row = page.locator("#tree-old .row.leaf[data-rule='1']")
    row.focus()
    assert page.locator("#tree-new .row.lit").get_attribute("data-rule") == "1"
    page.keyboard.press("Enter")
    assert row.get_attribute("aria-pressed") == "true"
    page.locator("#filter-text").focus()
    assert page.locator("#tree-new .row.lit").count() == 1, "a pinned rule stays lit"


def test_every_control_is_reached_by_tab(report: Any, visit: Any) -> None:
    page = visit(report("retraining"))
    reached = set()
    for _ in range(400):
        page.keyboard.press("Tab")
        tag = page.evaluate(
            "() => { const e = document.activeElement;"
            " return e === document.body ? '' : e.id || e.dataset.rule || e.dataset.candidate"
            " || e.textContent.trim().slice(0, 20) || e.tagName }"
        )
        if tag == "":
            break
        reached.add(tag)
    used = page.locator("#case-form [data-feature]").evaluate_all("all => all.map(e => e.id)")
    assert {"filter-status", "filter-text", *used} <= reached
    rules = page.locator("#tree-new .row.leaf").count()
    assert {str(i + 1) for i in range(min(rules, 3))} <= reached


def test_clicking_a_frontier_point_shows_that_tree_and_its_costs(report: Any, visit: Any) -> None:
    page = visit(report("retraining"))
    result = samples.retraining()
    assert page.locator("#candidate").is_hidden()
    names = list(result.frontier.index)
    shown = []
    for name in ("keep", "from scratch"):
        i = names.index(name)
        page.locator(f"svg.frontier [data-candidate='{i}']").dispatch_event("click")
        card = page.locator("#candidate")
        assert card.get_attribute("data-candidate") == str(i)
        assert name in card.locator("h3").inner_text()
        assert card.locator("svg.tree .row.leaf").count() == result.trees[name].n_leaves
        shown.append(card.locator("svg.tree").inner_html())
    assert shown[0] != shown[1]
    # Keeping the tree changes nothing, and the card says so.
    page.locator(f"svg.frontier [data-candidate='{names.index('keep')}']").dispatch_event("click")
    assert "Every rule is the same" in page.locator("#candidate").inner_text()


def test_candidate_diff_agrees_with_the_diff_computed_in_python(report: Any, visit: Any) -> None:
    from steadytree.diff import diff_trees

    page = visit(report("retraining"))
    result = samples.retraining()
    i = list(result.frontier.index).index("from scratch")
    page.locator(f"#candidate-table tr[data-candidate='{i}'] button").click()
    diff = diff_trees(result.deployed, result.trees["from scratch"], space=result.space)
    found = page.locator("table.candidate-diff tbody tr").evaluate_all(
        "rows => rows.map(r => r.dataset.status)"
    )
    expected = sorted(r.status for r in diff.rules if r.status != "kept")
    assert sorted(found) == expected


@pytest.mark.parametrize("kind", ["retraining", "graded", "below", "pipeline"])
def test_rules_of_a_candidate_are_worded_as_in_python(report: Any, visit: Any, kind: str) -> None:
    """The candidate that is the proposal itself reads as the proposal does."""
    page = visit(report(kind))
    result = KINDS[kind]()
    i = list(result.frontier.index).index(result.chosen)
    page.locator(f"svg.frontier [data-candidate='{i}']").dispatch_event("click")
    drawn = page.locator("#candidate svg.tree .row title").all_text_contents()
    assert drawn == page.locator("#tree-new svg.tree .row title").all_text_contents()
    if kind == "graded":
        assert all(any(words in text for text in drawn) for words in ("up to", "from", "missing"))
    if kind == "pipeline":
        assert all(any(words in text for text in drawn) for words in ("or missing", "never met"))
    if kind == "below":
        assert all(any(words in text for text in drawn) for words in ("< 110", "≥ 110", "≥ 0"))
    data = json.loads(page.locator("#report-data").text_content())
    rows = page.locator("table.candidate-diff tbody tr")
    for k in range(rows.count()):
        rule = int(rows.nth(k).locator("th").inner_text())
        told = next(row for row in data["diff"]["rules"] if row["number"] == rule)
        for side, cell in (("old", 2), ("new", 3)):
            if told[side] is not None:
                shown = rows.nth(k).locator("td").nth(cell - 1)
                conditions = [condition["words"] for condition in told[side]["conditions"]]
                assert shown.locator("li").all_text_contents() == conditions
                assert shown.locator("strong").inner_text() == told[side]["label"]


def test_script_draws_as_the_server_does(report: Any, visit: Any) -> None:
    """Unfolding redraws the tree by script: lines that were there before look the same."""
    page = visit(report("large"))
    take = """svg => [...svg.querySelectorAll('.row')].map(row => [row.dataset.node,
        row.querySelector('.t-text').textContent, row.querySelector('.t-text').getAttribute('x'),
        [...row.querySelectorAll('.t-label,.t-value,.t-share')].map(t => t.textContent)])"""
    before = page.locator("#tree-new svg.tree").evaluate(take)
    hidden = page.locator("#tree-new .row.fold").count()
    assert hidden > 0
    page.locator("#tree-new .unfold").click()
    after = page.locator("#tree-new svg.tree").evaluate(take)
    assert page.locator("#tree-new .row.leaf").count() == 200
    lines = {line[0]: line for line in after}
    depth_same = [line for line in before if lines[line[0]][2] == line[2]]
    # Deep trees are indented less: then only the words can be compared.
    for line in depth_same or before:
        assert lines[line[0]][1][:12] == line[1][:12]
        assert lines[line[0]][3] == line[3]


def test_a_folded_branch_opens(report: Any, visit: Any) -> None:
    page = visit(report("large"))
    fold = page.locator("#tree-old .row.fold").first
    assert "rules" in fold.text_content()
    lines = page.locator("#tree-old .row").count()
    node = fold.get_attribute("data-node")
    fold.focus()
    page.keyboard.press("Enter")
    assert page.locator("#tree-old .row").count() > lines
    assert page.locator(f"#tree-old .row.fold[data-node='{node}']").count() == 0


# -- try a case --------------------------------------------------------------------------


def fill_case(page: Any, values: dict[int, str]) -> None:
    """Type values by feature number; what is not given is missing."""
    page.evaluate(
        """values => {
            for (const field of document.querySelectorAll('#case-form [data-feature]'))
                field.value = values[field.dataset.feature] ?? '';
            const first = document.querySelector('#case-form [data-feature]');
            if (first) first.dispatchEvent(new Event('input', {bubbles: true}));
        }""",
        {str(j): text for j, text in values.items()},
    )


def reached(page: Any) -> dict[str, int]:
    return {
        side: int(page.locator(f"#case-{side}").get_attribute("data-leaf"))
        for side in ("old", "new")
    }


def typed(value: Any, categories: tuple[Any, ...] | None) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if categories is None:
        return repr(float(value))
    return str(categories.index(value)) if value in categories else "other"


@pytest.mark.parametrize(
    "kind", ["retraining", "pipeline", "multiclass", "regression", "mixed", "large"]
)
def test_try_a_case_reaches_the_same_leaf_as_apply(kind: str, report: Any, visit: Any) -> None:
    result = KINDS[kind]()
    diff = result.diff if kind in ("retraining", "pipeline") else result
    rng = np.random.default_rng(5)
    if kind == "mixed":
        X = samples.mixed_rows(100, diff.space.names, diff.space.categories[0])
    else:
        X = {
            "retraining": lambda: result.X_new,
            "pipeline": lambda: samples.pipeline_rows(300, 9, new="never seen"),
            "multiclass": lambda: samples.load_iris(as_frame=True).data,
            "regression": lambda: samples.load_diabetes(as_frame=True, scaled=False).data,
            "large": lambda: __import__("pandas").DataFrame(
                rng.normal(size=(200, 6)), columns=list(diff.space.names)
            ),
        }[kind]()
        X = X.iloc[rng.choice(len(X), 100, replace=len(X) < 100)].reset_index(drop=True)
    page = visit(report(kind))
    expected = {side: tree_of(diff, side).apply(X) for side in ("old", "new")}
    wrong = []
    for i in range(100):
        row = X.iloc[i]
        fill_case(
            page,
            {
                j: typed(row[name], diff.space.categories[j])
                for j, name in enumerate(diff.space.names)
            },
        )
        found = reached(page)
        if any(found[side] != expected[side][i] for side in found):
            wrong.append((i, found))
    assert wrong == []


def tree_of(diff: Any, side: str) -> Tree:
    return diff.old if side == "old" else diff.new


def test_a_case_is_shown_in_both_trees_and_in_words(report: Any, visit: Any) -> None:
    page = visit(report("mixed"))
    page.locator("#case-0").select_option("1")
    page.locator("#case-2").fill("0.05")
    assert page.locator("#tree-old .row.leaf.on-path").count() == 1
    assert "follows the stored direction" in page.locator("#case-old").inner_text()
    agreement = page.locator(".agreement").inner_text()
    labels = page.locator("#case-result figure strong").all_inner_texts()
    assert agreement == (
        "Both trees decide the same."
        if labels[0] == labels[1]
        else f"The decision changes from {labels[0]} to {labels[1]}."
    )


def test_a_value_that_is_no_number_is_refused_with_words(report: Any, visit: Any) -> None:
    page = visit(report("mixed"))
    page.locator("#case-1").fill("1,5")
    assert "not a number" in page.locator("#case-1-error").inner_text()
    assert page.locator("#case-1").get_attribute("aria-invalid") == "true"
    assert page.locator("#case-result").is_hidden()
    page.locator("#case-1").fill("1.5")
    assert page.locator("#case-result").is_visible()


# -- tables ------------------------------------------------------------------------------


def test_the_rule_table_sorts_both_ways(report: Any, visit: Any) -> None:
    page = visit(report("regression"))
    head = page.locator("#rule-table th", has_text="Rows after")
    numbers = """() => [...document.querySelectorAll('#rule-table tbody tr')]
        .map(r => parseFloat(r.cells[r.cells.length - 3].textContent)).filter(v => !isNaN(v))"""
    head.locator("button").click()
    up = page.evaluate(numbers)
    assert head.get_attribute("aria-sort") == "ascending"
    assert up == sorted(up)
    assert len(set(up)) > 2
    head.locator("button").click()
    assert page.evaluate(numbers) == sorted(up, reverse=True)
    assert head.get_attribute("aria-sort") == "descending"


def test_the_rule_table_filters(report: Any, visit: Any) -> None:
    page = visit(report("regression"))
    counts = samples.regression_diff().counts
    status = next(s for s in ("added", "moved", "dropped", "kept") if counts[s])
    page.locator("#filter-status").select_option(status)
    assert page.locator("#rule-table tbody tr:visible").count() == counts[status]
    page.locator("#filter-text").fill("no such rule")
    assert page.locator("#rule-table tbody tr:visible").count() == 0
    assert page.locator("#filter-count").inner_text().startswith("0 of ")


# -- without script, on paper, on a phone ----------------------------------------------------


@pytest.mark.parametrize("kind", ["retraining", "hostile", "large"])
def test_everything_is_there_without_javascript(kind: str, report: Any, visit: Any) -> None:
    page = visit(report(kind), java_script_enabled=False)
    result = KINDS[kind]()
    diff = result.diff if kind == "retraining" else result
    assert page.locator("#rule-table tbody tr").count() == len(diff.rules)
    assert page.locator("#tree-old svg.tree").is_visible()
    assert page.locator("#tree-new svg.tree").is_visible()
    assert page.locator("#provenance dd").first.is_visible()
    assert page.locator("#case-form").is_hidden()
    assert "needs JavaScript" in page.locator("#case").inner_text()
    if kind == "retraining":
        assert page.locator("svg.frontier .point").count() >= 5
        assert page.locator("#candidate-table tbody tr").count() == len(result.frontier)
        assert "Sensitivity for malignant" in page.locator("#people").inner_text()
    if kind == "large":
        signs = page.locator("#tree-new .t-fold").all_text_contents()
        hidden = sum(int(sign.split()[0].lstrip("+")) for sign in signs)
        assert hidden + page.locator("#tree-new .row.leaf").count() == 200


@pytest.mark.parametrize("kind", ["retraining", "large", "hostile"])
def test_no_tree_is_clipped_on_paper(kind: str, report: Any, visit: Any) -> None:
    # A4 less its margins, at 96 dots per inch.
    page = visit(report(kind), viewport={"width": 688, "height": 1017})
    page.emulate_media(media="print")
    boxes = page.evaluate(
        """() => [...document.querySelectorAll('svg.tree, svg.frontier')]
            .filter(s => s.getClientRects().length).map(s => {
            const box = s.getBoundingClientRect(), text = [...s.querySelectorAll('text')]
                .map(t => t.getBoundingClientRect());
            return {left: box.left, right: box.right, height: box.height,
                textLeft: Math.min(...text.map(t => t.left)),
                textRight: Math.max(...text.map(t => t.right))};
        })"""
    )
    assert len(boxes) >= 2
    for box in boxes:
        assert box["left"] >= 0
        assert box["right"] <= 688.5
        assert box["height"] <= 1017
        assert box["textLeft"] >= box["left"] - 1
        assert box["textRight"] <= box["right"] + 1
    assert page.locator("#case").is_hidden()
    assert page.pdf(format="A4").startswith(b"%PDF")


def test_texts_of_a_tree_do_not_overlap(report: Any, visit: Any) -> None:
    for kind in ("retraining", "hostile", "large", "regression"):
        page = visit(report(kind))
        fill_case(page, {})
        overlaps = page.evaluate(
            """() => [...document.querySelectorAll('svg.tree .row')].flatMap(row => {
                const boxes = [...row.querySelectorAll('text')].map(t => [t.textContent,
                    t.getBoundingClientRect()]).sort((a, b) => a[1].left - b[1].left);
                return boxes.slice(1).filter((b, i) => b[1].left < boxes[i][1].right - 0.5)
                    .map(b => b[0]);
            })"""
        )
        assert overlaps == [], kind


def test_a_phone_shows_the_page_without_sideways_scrolling(report: Any, visit: Any) -> None:
    for kind in ("retraining", "hostile", "large"):
        page = visit(report(kind), viewport={"width": 390, "height": 800})
        wide = page.evaluate("() => document.documentElement.scrollWidth")
        assert wide <= 390, kind


def test_hostile_names_are_shown_as_text(report: Any, visit: Any) -> None:
    page = visit(report("hostile"))
    text = page.locator("#rule-table").inner_text()
    assert samples.HOSTILE["html"] in text
    assert samples.HOSTILE["braces"] in text
    assert page.locator("main img, main script").count() == 0
    assert page.title().startswith("What changed")
    labels = page.locator("#case-form label").all_inner_texts()
    assert samples.HOSTILE["html"] in labels
    assert samples.HOSTILE["long"].strip() in labels
