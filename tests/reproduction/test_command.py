"""``steadytree paper`` as a user calls it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from reproduction.__main__ import _command_line, _time_text, _workers
from reproduction.registry import EXPERIMENTS
from steadytree.cli import paper as command_module
from steadytree.cli.app import group
from tests.reproduction.tiny import TINY


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command_module, "QUICK", TINY)


def run(*arguments: str) -> object:
    return CliRunner().invoke(group, ["paper", *arguments], catch_exceptions=False)


def test_the_list_names_every_experiment() -> None:
    result = run("--list")
    assert result.exit_code == 0
    for name in EXPERIMENTS:
        assert name in result.stdout
    found = json.loads(run("--list", "--json").stdout)
    assert [e["name"] for e in found["experiments"]] == list(EXPERIMENTS)


def test_one_experiment_ends_with_the_page(tmp_path: Path) -> None:
    arguments = ("--quick", "--only", "indirect", "--data", "wdbc", "--out", str(tmp_path))
    result = run(*arguments, "--n-jobs", "1")
    assert result.exit_code == 0
    assert str(tmp_path / "index.html") in result.stdout
    assert "1/2" in result.stderr
    assert "left" in result.stderr
    assert "2/2 (0 found) indirect wdbc, done" in result.stderr
    page = (tmp_path / "index.md").read_text()
    assert "steadytree paper --quick --only indirect --data wdbc" in page
    again = run(*arguments, "--n-jobs", "1", "--json")
    document = json.loads(again.stdout)
    assert document["exit_code"] == 0
    assert document["tables"] == ["indirect"]
    assert "(2 found)" in again.stderr


def test_quiet_says_only_the_result(tmp_path: Path) -> None:
    result = run(
        "--quick", "--only", "datasets", "--data", "wdbc", "--out", str(tmp_path), "--quiet"
    )
    assert result.stderr == ""
    assert "The page:" in result.stdout


def test_the_command_on_the_page_leaves_out_what_does_not_matter() -> None:
    assert _command_line(False, (), (), 0) == "steadytree paper"
    assert _command_line(True, ("size",), ("wdbc",), 3) == (
        "steadytree paper --quick --only size --data wdbc --seed 3"
    )


def test_workers_and_words() -> None:
    assert _workers(None) == _workers(-1) == (os.cpu_count() or 1)
    assert _workers(3) == 3
    assert _workers(0) == 1
    assert _time_text(None) == "time left unknown"
    assert _time_text(59.6) == "1 min 00 s left"
    assert _time_text(12) == "12 s left"
