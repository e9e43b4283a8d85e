"""The one door from a result to its page, its notebook view or its picture."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest

from steadytree import _views
from steadytree.exceptions import InputError
from steadytree.views import render
from steadytree.views.notebook import tree_diff_html
from tests.report import samples


def test_nothing_is_imported_before_somebody_looks() -> None:
    code = (
        "import sys, steadytree._views\n"
        "print([m for m in sys.modules if m.startswith(('steadytree.views', "
        "'steadytree.plotting', 'matplotlib', 'jinja2'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"


def test_the_report_is_written_where_it_was_asked_for(tmp_path: Path) -> None:
    path = _views.write_report(samples.mixed_diff(), tmp_path / "diff.html", title="Colours")
    assert path == tmp_path / "diff.html"
    assert "<h1>Colours</h1>" in path.read_text(encoding="utf-8")
    with pytest.raises(InputError, match="expected a Retraining, a TreeDiff"):
        _views.write_report(3, tmp_path / "other.html")
    assert not (tmp_path / "other.html").exists()


def test_a_notebook_shows_the_view_of_the_result() -> None:
    diff = samples.mixed_diff()
    assert _views.notebook_view(diff) == tree_diff_html(diff)
    with pytest.raises(InputError, match="notebook view, got int"):
        _views.notebook_view(3)


def test_what_a_result_gives_to_the_report_cannot_be_changed() -> None:
    content = samples.mixed_diff().report_content()
    assert content.candidates is None
    with pytest.raises(FrozenInstanceError):
        content.title = "other"  # type: ignore[misc]
    assert content.title in render(samples.mixed_diff())
