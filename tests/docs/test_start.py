"""The five-minute start, followed as a reader would, who ends with the report open."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.docs.fences import START as PAGE
from tests.docs.shown import agrees, steps_of, wrapped

SAY = "print('<<< end of block >>>', flush=True)\n"


def environment() -> dict[str, str]:
    return {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}


def run_script(blocks: list[str], folder: Path) -> list[str]:
    """Run blocks of Python as one script, and return what each printed."""
    script = folder / "five_minutes.py"
    script.write_text("".join(f"{block}{SAY}" for block in blocks), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "error", script.name],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.split("<<< end of block >>>\n")[:-1]


def run_commands(text: str, folder: Path) -> str:
    """Run commands with bash, the first failure ends them, and return what they print."""
    done = subprocess.run(
        ["bash", "-e", "-c", text],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def follow(folder: Path) -> dict[int, str]:
    """Follow the page in a folder, and return the output of each block by the block's line."""
    python = [step.block for step in steps_of(PAGE) if step.block.language == "python"]
    printed = run_script([block.text for block in python], folder)
    outputs = {block.line: text for block, text in zip(python, printed, strict=True)}
    for step in steps_of(PAGE):
        if step.block.language == "sh" and not step.block.text.startswith("pip "):
            outputs[step.block.line] = run_commands(step.block.text, folder)
    return outputs


def test_only_pip_is_needed_and_no_extra() -> None:
    """Installing is not done again here: the package under test is installed already."""
    first, *rest = (step.block for step in steps_of(PAGE))
    assert first.text.strip() == "pip install steadytree"
    assert not any("pip " in block.text for block in rest)
    assert {block.language for block in rest} == {"python", "sh"}
    # Modules that come with the package itself.
    code = "".join(block.text for block in rest if block.language == "python")
    imported = re.findall(r"^(?:import|from) (\w+)", code, re.MULTILINE)
    assert set(imported) == {"sklearn", "steadytree"}


@pytest.mark.browser
def test_what_the_page_shows_is_printed_and_the_reader_ends_with_the_report_open(
    tmp_path: Path, visit: Any
) -> None:
    """One test, so that the page is followed once."""
    outputs = follow(tmp_path)
    for step in steps_of(PAGE):
        output = outputs.get(step.block.line, "")
        assert (step.shown is None) == (output == ""), output
        if step.shown is not None:
            assert agrees(step.shown, output), wrapped(output)
    # The first words of the report are those that the page of the site shows.
    answer = "Change the deployed tree by 2 edits (confirmed)"
    assert f"\n{answer}.\n" in PAGE.read_text(encoding="utf-8")
    for name in ("report.html", "proposal/report.html"):
        page = visit(tmp_path / name)
        assert page.locator("h1").inner_text() == answer
        assert page.locator("svg.tree").first.is_visible()


def test_an_output_of_other_numbers_would_be_noticed() -> None:
    assert agrees("...\nb 1\n", "a\nb 1\n")
    assert agrees("a\n...\n", "a\nb\nc\n")
    assert not agrees("...\nb 1\n", "a\nb 2\n")
    assert not agrees("b 1\n", "a\nb 1\n")


def test_numbers_in_the_text_are_those_of_the_output() -> None:
    """What the sentence after the table says of it."""
    page = PAGE.read_text(encoding="utf-8")
    rows = {
        name.strip(): (float(dissimilarity), float(change), int(leaves), chosen == "True")
        for name, dissimilarity, change, leaves, chosen in re.findall(
            r"^([a-z][\w .]+?) +([\d.]+) +[\d.]+ +([\d.-]+) +[\d.]+ +(\d+) +(True|False)$",
            page,
            re.MULTILINE,
        )
    }
    (chosen,) = (row for row in rows.values() if row[3])
    scratch = rows["from scratch"]
    assert rows["keep"][:2] == (0, 0)
    sentences = " ".join(page.split())
    assert (
        f"gains {scratch[1]:.3f} with another tree: {scratch[2]} leaves, "
        f"{100 * scratch[0]:.0f} % dissimilar"
    ) in sentences
    assert f"gains {chosen[1]:.3f} and is {100 * chosen[0]:.0f} % dissimilar" in sentences
