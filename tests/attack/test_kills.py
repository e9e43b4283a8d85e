"""Runs killed at any moment: no torn file, no folder of two runs, nothing lost, nobody left.

The kills are real (SIGKILL), before every step on files and at random times. After each one: the
deployed tree is untouched, the history opens, the folder is wholly of one run or says that it is
not and is put right by what the next run does first, and no worker lives.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from steadytree.cli.run_folder import MANIFEST, RunFolder, problems_of, read_manifest
from steadytree.retraining.history import History
from steadytree.tree.json import load_tree
from tests.attack.nursery import Ended, Nursery

pytestmark = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="reads /proc")

FILES = {
    "retrain": ("tree.json", "candidates.csv", "diff.json", "diff.md", "report.html"),
    "fit": ("tree.json", "candidates.csv", "report.html"),
    "compare": ("diff.json", "diff.md", "report.html"),
}


LAST = 40
"""Steps of a run in which it writes, and its files take their names."""


class Attack:
    """A deployed tree, tables, a history, and an out folder that run after run is written to."""

    def __init__(self, folder: Path) -> None:
        rng = np.random.default_rng(0)
        table = pd.DataFrame({"age": rng.normal(50, 10, 160), "dose": rng.normal(size=160)})
        table["died"] = (table["age"] / 10 + table["dose"] + rng.normal(size=160) > 5).astype(int)
        self.folder = folder
        self.data, self.new = folder / "old.csv", folder / "new.csv"
        table[:80].to_csv(self.data, index=False)
        table[80:].to_csv(self.new, index=False)
        self.deployed = folder / "deployed" / "tree.json"
        self.history = folder / "history.jsonl"
        self.seed = 0
        fit = ["fit", self.data, "--target", "died", "--learner", "cart", "--max-leaves", 4, "-q"]
        self.nursery = Nursery(
            folder,
            [
                [*fit, "--out", self.deployed.parent],
                *(self.arguments(name, folder / "warm" / name) for name in FILES),
            ],
        )
        self.untouched = self.deployed.read_bytes()

    def arguments(self, command: str, out: Path, jobs: int | None = None) -> list[object]:
        self.seed += 1
        seen = ["--target", "died", "--out", out, "--seed", self.seed, "--json"]
        if command == "fit":
            return ["fit", self.data, "--learner", "cart", "--max-leaves", 3 + self.seed % 3, *seen]
        if command == "compare":
            # The same file would be a tree held against itself.
            other = self.folder / "warm" / "fit" / "tree.json"
            return ["compare", self.deployed, other, "--data", self.new, *seen]
        # Every other proposal is refused, so that the names of the trees change places.
        gate = ["--plan", "max_leaves=1"] if self.seed % 2 else []
        search = ["--trees", 3, "--folds", 2 if jobs else 0, *(["--jobs", jobs] if jobs else [])]
        return [
            *("retrain", self.new, "--deployed", self.deployed, *search, *gate, *seen),
            *("--history", self.history),
        ]

    def check(self, command: str, out: Path, ended: Ended) -> str:
        """Hold the state after a kill against all that is promised; say what it is."""
        assert self.deployed.read_bytes() == self.untouched
        past = History(self.history)
        for number in past.versions.index:
            past.tree(number)
        state = self.state_of(out)
        # What the next run does first puts it right.
        RunFolder(out, command, (*FILES[command], "refused-tree.json")).discard()
        assert self.state_of(out) in ("empty", "whole")
        assert not (out / ".steadytree-finished").exists()
        deadline = time.monotonic() + 60
        while ended.others() and time.monotonic() < deadline:
            time.sleep(0.02)
        assert ended.others() == []
        return state

    @staticmethod
    def state_of(out: Path) -> str:
        if not out.exists():
            return "empty"
        seen = sorted(path.name for path in out.iterdir() if not path.name.startswith("."))
        for name in seen:  # no torn file, of whatever run
            if name.endswith("tree.json"):
                load_tree(out / name)
            elif name.endswith(".json"):
                json.loads((out / name).read_bytes())
            else:
                assert (out / name).read_bytes().endswith((b"\n", b"</html>")), name
        manifest = read_manifest(out)
        if manifest is None:
            unfinished = (out / ".steadytree-finished").exists()
            assert unfinished or seen == []
            return "unfinished" if unfinished else "empty"
        assert problems_of(out) == []
        assert seen == sorted([*manifest["files"], MANIFEST])
        return "whole"

    def kill(self, command: str, out: Path, *, jobs: int | None = None, **when: float) -> str:
        ended = self.nursery.run(*self.arguments(command, out, jobs), **when)
        assert ended.killed or ended.code in (0, 3), ended.err
        return self.check(command, out, ended)


@pytest.fixture(scope="module")
def attack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attack]:
    made = Attack(tmp_path_factory.mktemp("attack"))
    yield made
    made.nursery.close()


def attack_with(
    attack: Attack, command: str, kills: int, *, jobs: int | None = None
) -> Counter[str]:
    """Kill runs: three of four before a step on files, the others at any time."""
    out = attack.folder / f"{command}-{jobs}-{kills}"
    for _ in "12":  # the second one has the files of another to replace, as all that follow
        first = attack.nursery.run(*attack.arguments(command, out, jobs))
        assert first.code in (0, 3), first.err
    drawn = random.Random(kills)
    states: Counter[str] = Counter()
    for number in range(kills):
        if number % 4:
            # Most steps are reads at the beginning: files take their names in the last ones.
            least = 0 if number % 4 == 1 else first.steps - LAST
            states[
                attack.kill(command, out, jobs=jobs, step=drawn.randint(least, first.steps))
            ] += 1
        else:
            after = drawn.uniform(0, first.seconds)
            states[attack.kill(command, out, jobs=jobs, after=after)] += 1
    last = attack.nursery.run(*attack.arguments(command, out, jobs))
    assert last.code in (0, 3), last.err
    assert attack.check(command, out, last) == "whole"
    return states


def test_a_few_kills(attack: Attack) -> None:
    assert sum(attack_with(attack, "retrain", 8).values()) == 8


@pytest.mark.slow  # tests/cli/test_run_folder.py does the same without a command around it
def test_before_every_step_of_taking_names(attack: Attack) -> None:
    """All of them, one after the other: both runs are met whole, and the state between."""
    out = attack.folder / "steps"
    assert attack.nursery.run(*attack.arguments("compare", out)).code == 0
    whole = attack.nursery.run(*attack.arguments("compare", out))
    states = Counter(
        attack.kill("compare", out, step=step) for step in range(whole.steps - 40, whole.steps)
    )
    assert states["whole"] > 0
    assert states["unfinished"] > 0
    assert attack.kill("compare", out, step=whole.steps) == "whole"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_stopped_prints_one_document(attack: Attack, number: int) -> None:
    out = attack.folder / f"stopped-{number}"
    whole = attack.nursery.run(*attack.arguments("retrain", out))
    drawn = random.Random(number)
    codes = set()
    for _ in range(3):
        step = drawn.randint(0, whole.steps - 1)
        ended = attack.nursery.run(*attack.arguments("retrain", out), step=step, number=number)
        assert ended.code in (0, 3, 128 + number), ended.err
        assert json.loads(ended.out)["exit_code"] == ended.code
        assert "Traceback" not in ended.err
        assert attack.check("retrain", out, ended) == "whole"
        codes.add(ended.code)
    assert 128 + number in codes


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "kills", "jobs"),
    [("fit", 200, None), ("retrain", 400, None), ("compare", 100, None), ("retrain", 60, 2)],
)
def test_many_kills(attack: Attack, command: str, kills: int, jobs: int | None) -> None:
    states = attack_with(attack, command, kills, jobs=jobs)
    assert sum(states.values()) == kills
    assert states["whole"] > 0
    assert states["unfinished"] > 0 or jobs


# -- a disk that fills up while a run writes: the run before is whole --


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_files_that_may_not_grow(attack: Attack) -> None:
    """By a limit on the size of files, which the system keeps: some are written, then one fails."""
    command = "retrain"
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
