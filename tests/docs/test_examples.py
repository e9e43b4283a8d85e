"""Every example of the gallery runs as a reader would run it, and ends in a picture."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import steadytree

ROOT = Path(__file__).resolve().parents[2]
GALLERY = ROOT / "examples"
EXAMPLES = sorted(GALLERY.glob("*/*.py"))
SECTIONS = sorted({example.parent for example in EXAMPLES})
QUICK = ("compare_two_trees", "grow_a_stable_tree", "rules_on_paper")
"""Run each time; the others wait for ``make test-slow`` and ``make docs``, which runs them all."""
DEMO = "retrain_a_deployed_tree"

# SurvSet unpickles its tables with names that NumPy has renamed; and where there is a screen,
# matplotlib says that its test backend shows nothing.
WARNINGS = (
    *("-W", "error"),
    *("-W", "ignore:numpy.core.numeric is deprecated:DeprecationWarning"),
    *("-W", "ignore:FigureCanvasAgg is non-interactive:UserWarning"),
)
AS_A_READER = """
import runpy, sys
import matplotlib.pyplot as plt

runpy.run_path(sys.argv[1], run_name="__main__")
figures = [plt.figure(number) for number in plt.get_fignums()]
assert figures, "no figure was drawn"
for figure in figures:
    assert figure.axes, "a figure has no axes"
    assert all(ax.has_data() or ax.texts for ax in figure.axes), "an axes shows nothing"
    figure.canvas.draw()
"""


def run(folder: Path, *arguments: str) -> str:
    """Run Python in an empty folder, warnings as errors; return what it prints."""
    found = subprocess.run(
        [sys.executable, *WARNINGS, *arguments],
        cwd=folder,
        env={**os.environ, "MPLBACKEND": "Agg"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    return found.stdout


def parsed(example: Path) -> ast.Module:
    return ast.parse(example.read_text(encoding="utf-8"))


def test_there_is_a_gallery() -> None:
    assert len(EXAMPLES) >= 16
    assert not list(GALLERY.glob("*.py")), "examples live in sections"


@pytest.mark.parametrize(
    "example",
    [
        pytest.param(path, id=path.stem, marks=[pytest.mark.slow] * (path.stem not in QUICK))
        for path in EXAMPLES
        if path.stem != DEMO
    ],
)
def test_it_runs_and_draws(example: Path, tmp_path: Path) -> None:
    run(tmp_path, "-c", AS_A_READER, str(example))
    left = [path.name for path in tmp_path.iterdir() if not path.name.endswith("-output")]
    assert not left, "files belong into a temporary folder or into one that ends in -output"


def test_the_demo_leaves_a_page_to_open(tmp_path: Path) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    command = re.search(r"^demo:.*\n\t\$\(BIN\)/python (\S+)$", makefile, re.MULTILINE)
    assert command is not None
    demo = ROOT / command.group(1)
    assert demo.stem == DEMO
    printed = run(tmp_path, "-c", AS_A_READER, str(demo))
    pages = re.findall(r"^Open this in a browser: (.+)$", printed, re.MULTILINE)
    assert len(pages) == 1
    page = Path(pages[0])
    assert page.is_absolute()
    assert page.read_text(encoding="utf-8").lower().startswith("<!doctype html>")


@pytest.mark.parametrize("section", SECTIONS, ids=lambda path: path.name)
def test_a_section_has_a_title(section: Path) -> None:
    title, line, *text = (section / "GALLERY_HEADER.rst").read_text(encoding="utf-8").splitlines()
    assert title
    assert line == "-" * len(title)
    assert "".join(text)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_it_has_a_title_and_names_its_data(example: Path) -> None:
    tree = parsed(example)
    title, line, *text = (ast.get_docstring(tree) or "\n").splitlines()
    assert title
    assert line == "=" * len(title)
    assert "The data are" in " ".join(text)
    assert example.read_text(encoding="utf-8").count("\n# %%\n") >= 2, "cells tell the story"
    assert not [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_it_uses_public_names_only(example: Path) -> None:
    nodes = list(ast.walk(parsed(example)))
    imports = [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]
    ours = [text for node in imports if "steadytree" in (text := ast.unparse(node))]
    drawing = "from steadytree.plotting import "
    assert [line for line in ours if not line.startswith(drawing)] == ["import steadytree as st"]
    attributes = [node for node in nodes if isinstance(node, ast.Attribute)]
    used = {
        node.attr
        for node in attributes
        if isinstance(node.value, ast.Name) and node.value.id == "st"
    }
    assert used
    assert used <= set(steadytree.__all__)
    assert not [node.attr for node in attributes if node.attr.startswith("_")]
