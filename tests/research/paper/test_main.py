"""``python -m research.paper`` as a user calls it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from research.paper import __main__ as command_module
from research.paper.__main__ import _command_line, _settings, _time_text, _workers, command, main
from research.paper.registry import EXPERIMENTS
from research.paper.settings import FULL, INFERRED
from tests.research.paper.tiny import TINY

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command_module, "QUICK", TINY)


def run(*arguments: str) -> object:
    return CliRunner().invoke(command, list(arguments), catch_exceptions=False)


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
    assert "python -m research.paper --quick --only indirect --data wdbc" in page
    again = run(*arguments, "--n-jobs", "1", "--json")
    document = json.loads(again.stdout)
    assert document["exit_code"] == 0
    assert document["tables"] == ["indirect"]
    assert "(2 found)" in again.stderr


def test_a_page_is_made_again_without_computing(tmp_path: Path) -> None:
    run("--quick", "--only", "datasets", "--data", "wdbc", "--out", str(tmp_path))
    page = (tmp_path / "index.html").read_bytes()
    (tmp_path / "index.html").unlink()
    result = run("--redraw", "--out", str(tmp_path), "--json")
    assert json.loads(result.stdout)["tables"] == ["datasets"]
    assert (tmp_path / "index.html").read_bytes() == page
    assert "found" not in result.stderr


def test_quiet_says_only_the_result(tmp_path: Path) -> None:
    result = run(
        "--quick", "--only", "datasets", "--data", "wdbc", "--out", str(tmp_path), "--quiet"
    )
    assert result.stderr == ""
    assert "The page:" in result.stdout


def test_the_command_on_the_page_leaves_out_what_does_not_matter() -> None:
    assert _command_line(FULL, (), (), 0) == "python -m research.paper"
    assert _command_line(TINY, ("size",), ("wdbc",), 3) == (
        "python -m research.paper --quick --only size --data wdbc --seed 3"
    )
    assert _command_line(INFERRED, (), (), 0) == "python -m research.paper --trees 210"


def test_the_number_of_trees_can_be_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert _settings(False, None) is _settings(False, "300") is FULL
    assert _settings(False, "210") is INFERRED
    assert main(["--quick", "--trees", "210"]) == 2
    assert "a quick run has few trees" in capsys.readouterr().err
    assert main(["--trees", "7"]) == 2


def test_workers_and_words() -> None:
    assert _workers(None) == _workers(-1) == (os.cpu_count() or 1)
    assert _workers(3) == 3
    assert _workers(0) == 1
    assert _time_text(None) == "time left unknown"
    assert _time_text(59.6) == "1 min 00 s left"
    assert _time_text(12) == "12 s left"


def test_errors_end_in_a_sentence_and_a_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--only", "frontier"]) == 2
    assert "did you mean 'frontiers'?" in capsys.readouterr().err
    assert main(["--no-such-option"]) == 2
    assert main(["--data", "sarcoma", "--json"]) == 2
    error = json.loads(capsys.readouterr().out)["error"]
    assert error["type"] == "InputError"
    assert "got 'sarcoma'" in error["message"]


def test_the_module_runs_as_a_program() -> None:
    program = [sys.executable, "-m", "research.paper", "--list"]
    found = subprocess.run(program, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "Experiments (--only NAME):" in found.stdout
