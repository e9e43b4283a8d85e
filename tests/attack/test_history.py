"""Sixty writers at once and hundreds of kills: no entry is lost, no line is torn."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from steadytree.exceptions import HistoryError
from steadytree.retraining.history import History
from tests.retraining.histories import meaning, six_lines, to_line, without_digests

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
        "files": [".history.jsonl.lock", "history.jsonl", "links"],
    }


def killed(folder: Path, kills: int) -> None:
    outcome = attack("killed", folder, kills, 0)
    assert outcome["kills"] == kills
    assert outcome["faults"] == []
    assert outcome["acknowledged"] > 0


def test_fifteen_kills_lose_nothing(tmp_path: Path) -> None:
    killed(tmp_path, 15)


@pytest.mark.slow
def test_three_hundred_kills_lose_nothing(tmp_path: Path) -> None:
    killed(tmp_path, 300)


# -- whatever is changed in a history is noticed, or changes nothing that it says --


def byte_changes(data: bytes, every: int) -> Iterator[bytes]:
    """Flip each bit, take each byte away, put one in, and overwrite it."""
    for at in range(0, len(data), every):
        for bit in range(8):
            yield data[:at] + bytes([data[at] ^ (1 << bit)]) + data[at + 1 :]
        yield data[:at] + data[at + 1 :]
        for other in b'0" \n\xff':
            yield data[:at] + bytes([other]) + data[at:]
            yield data[:at] + bytes([other]) + data[at + 1 :]


def line_changes(lines: list[bytes]) -> Iterator[list[bytes]]:
    """Take lines out, repeat, move, swap, strip and cut them, and put others in."""
    count = len(lines)
    for i in range(count):
        yield lines[:i] + lines[i + 1 :]
        yield lines[:i]
        yield lines[i:]
        for version in (1, 2):
            stripped = [to_line(without_digests(line, version=version)) for line in lines]
            yield [*lines[:i], stripped[i], *lines[i + 1 :]]
            yield [*stripped[: i + 1], *lines[i + 1 :]]
            yield [*lines[:i], *stripped[i:]]
        for j in range(count + 1):
            yield [*lines[:j], lines[i], *lines[j:]]
            yield [*lines[:j], to_line(without_digests(lines[i])), *lines[j:]]
            rest = lines[:i] + lines[i + 1 :]
            yield [*rest[:j], lines[i], *rest[j:]]
        for j in range(i + 1, count):
            swapped = list(lines)
            swapped[i], swapped[j] = lines[j], lines[i]
            yield swapped
            yield lines[:i] + lines[j:]


def unnoticed(path: Path, changed: Iterator[bytes], head: str | None) -> tuple[int, int]:
    """Count what was tried, and what was neither noticed nor without meaning."""
    original, before = path.read_bytes(), meaning(History(path))
    tried = missed = 0
    for data in changed:
        if data == original:
            continue
        tried += 1
        path.write_bytes(data)
        check = History(path).verify(head)
        if check.ok:
            missed += meaning(History(path)) != before
        elif check.line is not None and tried % 20 == 0:
            with pytest.raises(HistoryError):
                len(History(path))
    path.write_bytes(original)
    return tried, missed


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return six_lines(tmp_path / "history.jsonl")


def test_every_change_of_lines_is_noticed(path: Path) -> None:
    lines = path.read_bytes().splitlines()
    changed = (b"".join(line + b"\n" for line in other) for other in line_changes(lines))
    tried, missed = unnoticed(path, changed, History(path).head)
    assert tried > 150
    assert missed == 0


def test_changes_of_bytes_are_noticed(path: Path) -> None:
    tried, missed = unnoticed(path, byte_changes(path.read_bytes(), every=197), None)
    assert tried > 400
    assert missed == 0


@pytest.mark.slow
def test_every_change_of_a_byte_is_noticed(path: Path) -> None:
    tried, missed = unnoticed(path, byte_changes(path.read_bytes(), every=1), None)
    assert tried > 50_000
    assert missed == 0
