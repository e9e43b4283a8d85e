"""Guides show what their blocks print, the defaults of the code, and what was measured."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import pytest

import steadytree as st
from tests.docs.fences import DOCS, ROOT, TRANSCRIPTS
from tests.docs.shown import agrees, steps_of, wrapped

GUIDE = DOCS / "guide"


@pytest.mark.parametrize("page", TRANSCRIPTS, ids=lambda page: page.stem)
def test_outputs_are_what_the_blocks_print(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {"__name__": "__docs__"}
    steps = steps_of(page)
    assert steps
    for step in steps:
        assert step.block.language == "python"
        exec(compile(step.block.text, page.name, "exec"), namespace)
        output = capsys.readouterr().out
        assert (step.shown is None) == (output == ""), f"line {step.block.line}: {output}"
        if step.shown is not None:
            assert agrees(step.shown, output), wrapped(output)


# Choosing settings

SETTING = re.compile(r"^\| `(\w+)` \| `([^`]*)` \|", re.MULTILINE)


def settings_page() -> str:
    return (GUIDE / "settings.md").read_text(encoding="utf-8")


def defaults_on_page() -> dict[str, dict[str, str]]:
    """Return the tables of settings: by function, the default that the page tells of each."""
    found = {}
    for section in re.split(r"^## ", settings_page(), flags=re.MULTILINE)[1:]:
        heading = re.match(r"`(\w+)`\n", section)
        if heading:
            own, _, space = section.partition("`FeatureSpace.from_data` has a setting of its own")
            found[heading[1]] = dict(SETTING.findall(own))
            if space:
                found["FeatureSpace.from_data"] = dict(SETTING.findall(space))
    return found


@pytest.mark.parametrize(("function", "told"), defaults_on_page().items())
def test_defaults_are_those_of_the_signatures(function: str, told: dict[str, str]) -> None:
    called: Any = st
    for part in function.split("."):
        called = getattr(called, part)
    parameters = inspect.signature(called).parameters
    assert told
    assert {name: repr(parameters[name].default).replace("'", '"') for name in told} == told


def test_every_setting_that_people_ask_about_is_on_the_page() -> None:
    on_page = {name for table in defaults_on_page().values() for name in table}
    asked = {
        "price",
        "plan",
        "select",
        "tolerance",
        "n_folds",
        "n_bootstraps",
        "label_weight",
        "variant",
    }
    asked |= {"outcome", "max_leaf_nodes", "decision_threshold", "n_jobs"}
    assert asked <= on_page
    assert len(defaults_on_page()) == 5


def benchmark(name: str) -> str:
    return (ROOT / "research" / "benchmarks" / f"{name}.md").read_text(encoding="utf-8")


def test_what_a_price_keeps_is_what_was_measured() -> None:
    table = benchmark("retraining").partition("## All sets (11)")[2].split("\n\n")[1].splitlines()
    header, _, *lines = ([cell.strip() for cell in line.split("|")[1:-1]] for line in table)
    rows = [dict(zip(header, line, strict=True)) for line in lines]
    measured = {
        (row["start"], row["method"]): (
            f"{row['less than our scratch %'].partition(' ')[0]} %",
            f"{row['gain kept %']} %",
        )
        for row in rows
    }
    told = re.findall(
        r"^\| (?:(default), as far as rows left out confirm|price alone, ([\d.]+)) \| (.*) \|$",
        settings_page(),
        re.MULTILINE,
    )
    assert len(told) == 5
    for default, price, cells in told:
        method = default or f"price {price}"
        assert tuple(cells.split(" | ")) == (
            *measured["our first tree", method],
            *measured["deployed CART", method],
        )


def test_seconds_are_those_that_were_measured() -> None:
    speed = benchmark("retraining_speed")
    page = " ".join(settings_page().split())
    without = re.search(r"50 × ([\d.]+) s at 20,000 × 40", speed)
    with_folds = re.search(r"5 folds, 20,000 × 40 \| ([\d.]+) s", speed)
    large = re.search(r"5 folds, 200,000 × 40 \| ([\d.]+) s", speed)
    jobs = re.search(r"`n_jobs=2`.*?\| ([\d.]+) \| ≥", speed)
    assert without
    assert with_folds
    assert large
    assert jobs
    assert (
        f"take {float(without[1]):.0f} CPU seconds without folds and {float(with_folds[1]):.0f} "
        f"with five; 200,000 rows take {float(large[1]):.0f}"
    ) in page
    assert f"five folds: {float(with_folds[1]) / float(without[1]):.1f} times as long" in page
    assert f"2 processes: {float(jobs[1]):.1f} times as fast" in page


def test_the_experiment_is_told_in_its_own_numbers() -> None:
    page = settings_page()
    rows = {
        name.strip(): [float(cell) for cell in cells.split()]
        for name, cells in re.findall(
            r"^(keep|price [\d.]+|from scratch) +([\d.]+(?: +[\d.]+)+)$", page, re.MULTILINE
        )
    }
    keep, proposed, scratch = rows["keep"], rows["price 0.3"], rows["from scratch"]
    assert "proposed: price 0.3\n" in page
    words = " ".join(page.split())
    assert "Keeping the tree gives up five points on the test years" in words
    assert round(100 * (proposed[-1] - keep[-1])) == 5
    assert "dissimilarity of 13 % and a tree of nine leaves" in words
    assert (round(100 * proposed[0]), proposed[2]) == (13, 9)
    assert "with 16 leaves and a dissimilarity of 56 %, gains no more" in words
    assert (scratch[2], round(100 * scratch[0])) == (16, 56)
    assert scratch[-1] <= proposed[-1]


# What it does not do


def test_widths_of_intervals_are_those_that_were_measured() -> None:
    page = " ".join((GUIDE / "not-for.md").read_text(encoding="utf-8").split())
    cells = re.findall(
        r"^\| 60 \| ([\d.]+) \| AUC \|.*\| ([\d.]+) \|$", benchmark("coverage"), re.MULTILINE
    )
    widths = dict(cells)
    assert f"interval of the AUC was {widths['0.3']} wide" in page
    assert f"of which 5 % have it, {widths['0.05']}" in page


def test_how_often_intervals_hold_is_what_was_measured() -> None:
    page = " ".join((GUIDE / "not-for.md").read_text(encoding="utf-8").split())
    held = re.findall(
        r"^\| (?:deployed|recipe|change) \| [\d,]+ \| ([\d.]+) ± ",
        benchmark("coverage"),
        re.MULTILINE,
    )
    assert len(held) == 12
    least, most = min(map(float, held)), max(map(float, held))
    assert f"hold the truth in {least:.0f} to {most:.0f} % of retrainings" in page
