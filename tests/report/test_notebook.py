"""Compact views: escaped, well formed, and free of what the page needs."""

from __future__ import annotations

import pytest

from steadytree.exceptions import InputError
from steadytree.views.notebook import (
    MAX_ROWS,
    notebook_view,
    path_matching_html,
    retraining_html,
    stable_tree_html,
    tree_diff_html,
)
from tests.report import samples
from tests.report.page import Page


def test_compact_views_are_escaped_and_well_formed() -> None:
    from steadytree.distance import match_paths

    diff = samples.mixed_diff(hostile=True)
    matching = match_paths(diff.old, diff.new, space=diff.space, variant="metric")
    views = {
        "diff": tree_diff_html(diff),
        "matching": path_matching_html(matching),
        "retraining": retraining_html(samples.retraining()),
        "stable": stable_tree_html(samples.stable_result(1)),
    }
    for name, html in views.items():
        page = Page(html)
        assert page.open == [], name
        assert all(tag not in ("img", "script") for tag, _ in page.tags), name
    assert "Dissimilarity" in views["diff"]
    assert "★" in views["retraining"]
    assert matching._repr_html_() == views["matching"]


def test_compact_views_need_no_jinja() -> None:
    import subprocess
    import sys

    code = (
        "import sys; sys.modules['jinja2'] = None\n"
        "from tests.report.samples import mixed_diff\n"
        "from steadytree.views.notebook import tree_diff_html\n"
        "assert 'rules' in tree_diff_html(mixed_diff())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_each_kind_of_result_has_its_view() -> None:
    diff = samples.mixed_diff()
    assert notebook_view(diff) == tree_diff_html(diff)
    assert notebook_view(samples.retraining()) == retraining_html(samples.retraining())
    with pytest.raises(InputError, match="expected a result with a notebook view, got Tree"):
        notebook_view(diff.old)


def test_long_tables_are_cut_and_say_so() -> None:
    diff = samples.large_diff()
    changed = len(diff.rules) - diff.counts["kept"]
    html = tree_diff_html(diff)
    assert html.count("<tr>") == 1 + MAX_ROWS
    assert f"<p>and {changed - MAX_ROWS} more</p>" in html
