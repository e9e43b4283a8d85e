"""Drawings of the page: every line says what its branch demands."""

from __future__ import annotations

import re

import pytest

from steadytree.views import summarise
from steadytree.views.render import (
    branch_words,
    frontier_svg,
    nice_ticks,
    outline_svg,
    reaching,
    render,
)
from tests.report import samples
from tests.report.page import Page

STATUSES = ("kept", "moved", "relabelled", "added", "dropped")


def test_ticks_are_round_and_cover_the_interval() -> None:
    assert nice_ticks(0, 1) == [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    assert nice_ticks(0.743, 0.757)[0] >= 0.743
    assert nice_ticks(2, 2) == [2]


def test_every_status_has_a_shape_of_its_own() -> None:
    keys = re.findall(r'<g class="mark (\w+)">(.*?)</g></svg><span>', render(samples.mixed_diff()))
    assert {status for status, _ in keys} == set(STATUSES)
    assert len({shape for _, shape in keys}) == len(STATUSES)


@pytest.mark.parametrize("hostile", [False, True])
def test_an_outline_has_one_line_per_node_and_one_mark_per_rule(hostile: bool) -> None:
    summary = summarise(samples.mixed_diff(hostile=hostile))
    tree = summary["trees"]["new"]
    statuses = {row["number"]: row["status"] for row in summary["rules"]}
    args = (tree, summary["features"], summary["classes"], statuses)
    page = Page(outline_svg(*args, side="new"))
    assert page.open == []
    classes = [attributes.get("class") or "" for _, attributes in page.tags]
    assert sum(name.startswith("row ") for name in classes) == len(tree["left"])
    assert sum(name.startswith("mark ") for name in classes) == tree["n_rules"]
    assert 'class="mark' not in outline_svg(*args, side="new", plain=True)
    assert not any(tag in ("img", "script") for tag, _ in page.tags)


def test_a_branch_says_what_its_value_must_be() -> None:
    summary = summarise(samples.mixed_diff())
    tree, features = summary["trees"]["old"], summary["features"]
    reach = reaching(tree, features)
    name, left = branch_words(tree, features, 1, True, reach[1])
    assert (name, left) == ("age", "≤ 40 or missing")
    assert branch_words(tree, features, 1, False, reach[1]) == ("age", "> 40")
    new = summary["trees"]["new"]
    assert branch_words(new, features, 5, False, reaching(new, features)[5]) == (
        "age",
        "is missing",
    )
    # Nothing that was sent elsewhere above is named.
    assert branch_words(tree, features, 0, True, ((0, 1), True, False)) == ("colour", "is red")
    assert branch_words(tree, features, 1, True, (None, False, False)) == ("age", "≤ 40")


def test_the_chosen_candidate_is_drawn_on_top_of_the_others() -> None:
    frontier = summarise(samples.stable_result(1))["frontier"]
    drawn = Page(frontier_svg(frontier))
    points = [a["data-candidate"] for _, a in drawn.tags if "data-candidate" in a]
    assert sorted(map(int, points)) == list(range(len(frontier["candidates"])))
    assert int(points[-1]) == frontier["chosen"]
    unknown = [{**c, "score": {"score": None}} for c in frontier["candidates"]]
    assert frontier_svg({**frontier, "candidates": unknown}) == ""
