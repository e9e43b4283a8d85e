"""Sixty writers at once and hundreds of kills: no entry is lost, no line is torn."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


def attack(*arguments: object) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.attack.history_writers", *map(str, arguments)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    outcome: dict[str, Any] = json.loads(done.stdout)
    return outcome


def test_sixty_writers_at_once(tmp_path: Path) -> None:
    assert attack("at-once", tmp_path, 60, 2) == {
        "failed": 0,
        "every entry": True,
        "every decision": True,
        "numbers": True,
        "intact": True,
        "link": True,
        "mode": "0o600",
        "files": ["history.jsonl", "links"],
    }


def killed(folder: Path, kills: int) -> dict[str, Any]:
    outcome = attack("killed", folder, kills, 0)
    assert outcome["kills"] == kills
    assert outcome["faults"] == []
    assert outcome["acknowledged"] > 0
    assert outcome["left at the end"] == []
    return outcome


def test_fifteen_kills_lose_nothing(tmp_path: Path) -> None:
    killed(tmp_path, 15)


@pytest.mark.slow
def test_three_hundred_kills_lose_nothing(tmp_path: Path) -> None:
    outcome = killed(tmp_path, 300)
    assert outcome["left a temporary"] > 0  # kills did hit the writing, and the next run tidied
