"""Finished work done again: the same bytes, or the names of what differs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from research.paper import __main__ as command_module
from research.paper.__main__ import command
from research.paper.registry import config_of, find_experiments, plan
from research.paper.runs import run_jobs
from research.paper.store import UnitStore
from steadytree.exceptions import InputError
from tests.research.paper.tiny import TINY

JOBS = plan(find_experiments(["indirect"]), ["wdbc", "colon"], TINY, 0)


def run(out: Path, *arguments: str) -> object:
    words = ["--quick", "--only", "indirect", "--data", "wdbc", "--data", "colon"]
    return CliRunner().invoke(command, [*words, "--out", str(out), "--n-jobs", "1", *arguments])


@pytest.fixture
def out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(command_module, "QUICK", TINY)
    return tmp_path


def test_the_same_numbers_come_out(out: Path) -> None:
    store = UnitStore(out / "units")
    run_jobs(JOBS, store)
    before = {p: p.read_bytes() for p in (out / "units").rglob("*.json")}
    result = run(out, "--recheck", "3")
    assert result.exit_code == 0
    assert "3 units done again: 0 differ." in result.stdout
    assert len(set(result.stdout.split("same: ")[1:])) == 3
    # What is stored is only looked at.
    assert before == {p: p.read_bytes() for p in (out / "units").rglob("*.json")}


def test_a_number_that_differs_is_named(out: Path) -> None:
    store = UnitStore(out / "units")
    run_jobs(JOBS, store)
    config = config_of(JOBS[1])
    result = store.load(config)
    assert result is not None
    result["distance"][0] += 1e-12
    path = store.save(config, result)
    found = run(out, "--recheck", "99", "--json")
    assert found.exit_code == 1
    document = json.loads(found.stdout)
    assert document["differing"] == [f"indirect/{path.name}"]
    assert document["exit_code"] == 1
    assert len(document["checked"]) == len(JOBS)


def test_without_finished_work_there_is_nothing_to_check(out: Path) -> None:
    found = run(out, "--recheck", "2")
    assert isinstance(found.exception, InputError)
    assert "run it first without --recheck" in str(found.exception)
