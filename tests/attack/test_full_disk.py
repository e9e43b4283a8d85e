"""A disk that fills up while a run writes: exit code 1, a sentence, and the run before is whole."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from steadytree.cli.run_folder import problems_of
from tests.attack.test_kills import Attack

pytestmark = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="Linux")


@pytest.fixture(scope="module")
def attack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attack]:
    made = Attack(tmp_path_factory.mktemp("full"))
    yield made
    made.nursery.close()


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("command", ["fit", "retrain"])
def test_files_that_may_not_grow(attack: Attack, command: str) -> None:
    """By a limit on the size of files, which the system keeps: some are written, then one fails."""
    out = attack.folder / command
    assert attack.nursery.run(*attack.arguments(command, out)).code in (0, 3)
    sizes = sorted(len(content) for content in contents(out).values())
    drawn = random.Random(0)
    codes = set()
    for _ in range(5):
        before = contents(out)
        past = attack.history.read_bytes()
        # What is printed is small, and must not be what fails.
        least = drawn.randint(3000, max(sizes[-1], 4000))
        arguments = [a for a in attack.arguments(command, out) if a != "--json"]
        ended = attack.nursery.run(*arguments, "-q", most_bytes=least)
        codes.add(ended.code)
        assert ended.code in (0, 1, 3), ended.err
        if ended.code == 1:
            assert "File too large; make room" in ended.err
            assert "Traceback" not in ended.err
            assert contents(out) == before
            assert attack.history.read_bytes() == past
        assert problems_of(out) == []
    assert 1 in codes


@contextlib.contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path]:
    """Mount a real disk of a few kilobytes; only the superuser can."""
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("needs the right to mount")
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("needs the right to mount")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_a_disk_that_is_full(attack: Attack, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "256k") as disk:
        out = disk / "out"
        assert attack.nursery.run(*attack.arguments("fit", out)).code == 0
        before = contents(out)
        with contextlib.suppress(OSError), (disk / "filler").open("wb", buffering=0) as filler:
            while filler.write(bytes(512)):
                pass
        ended = attack.nursery.run(*attack.arguments("fit", out))
        assert ended.code == 1, ended.err
        assert "No space left on device; make room" in ended.err
        assert json.loads(ended.out)["error"]["type"] == "WriteError"
        assert contents(out) == before
        (disk / "filler").unlink()
        assert attack.nursery.run(*attack.arguments("fit", out)).code == 0
        assert problems_of(out) == []
