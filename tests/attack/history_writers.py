"""Real processes that write to one history at once, or are killed while they do.

Run as a program of its own, ``python -m tests.attack.history_writers``: it loads the package once,
has no threads, and forks a child for every writer. It prints what happened as JSON.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from steadytree.retraining.history import History
from steadytree.tree.tree import Tree
from tests.diff.trees import build
from tests.processes import forked
from tests.retraining.histories import STUMP, A, B, C

TREES = (A, B, C)
ROUNDS_PER_FILE = 25


# -- many at once ------------------------------------------------------------------------------


def write_at_once(folder: Path, writers: int, appends: int) -> dict[str, Any]:
    """Let writers append and decide, along three paths to one file."""
    path = folder / "history.jsonl"
    linked = folder / "links" / "link.jsonl"
    linked.parent.mkdir()
    linked.symlink_to(path)
    beside = folder / "links" / ".." / "history.jsonl"
    path.touch(mode=0o600)
    path.chmod(0o600)

    def writer(who: int) -> None:
        history = History((path, linked, beside)[who % 3])
        for turn in range(appends):
            # Every tree another: what somebody put in force meanwhile is refused.
            tree = build(replace(STUMP, at=(1 + who * appends + turn) / 1000))
            number = history.append(tree, note=f"{who}-{turn}")
        history.approve(number, by=f"writer {who}")

    children = [forked(lambda who=who: writer(who)) for who in range(writers)]
    failed = sum(os.waitpid(child, 0)[1] != 0 for child in children)
    history = History(path)
    wanted = sorted(f"{who}-{turn}" for who in range(writers) for turn in range(appends))
    decided = [line["by"] for line in _lines(path) if line["event"] == "decision"]
    return {
        "failed": failed,
        "every entry": sorted(history.versions["note"]) == wanted,
        "every decision": sorted(decided) == sorted(f"writer {who}" for who in range(writers)),
        "numbers": history.versions.index.tolist() == list(range(1, len(wanted) + 1)),
        "intact": History(path).verify().ok,
        "link": linked.is_symlink(),
        "mode": oct(path.stat().st_mode & 0o777),
        "files": sorted(os.listdir(folder)),
    }


# -- killed ------------------------------------------------------------------------------------


def kill_writers(folder: Path, kills: int, seed: int) -> dict[str, Any]:
    """Kill writers at random moments; count what was lost, torn or left behind."""
    moments = random.Random(seed)
    counts = {"kills": 0, "acknowledged": 0}
    faults: list[str] = []
    span = _time_of_one(folder / "warm.jsonl")
    (folder / "warm.jsonl").unlink()
    for turn in range(kills):
        path = folder / f"history-{turn // ROUNDS_PER_FILE}.jsonl"
        if turn % ROUNDS_PER_FILE == 0:
            kept: list[str] = []
            head = None
        told = _one_killed(path, str(turn), moments.uniform(0, 3 * span))
        counts["kills"] += 1
        kept += told
        counts["acknowledged"] += len(told)
        faults += [f"kill {turn}: {fault}" for fault in _look(path, kept, head)]
        head = History(path).head
    return {**counts, "faults": faults}


def _another(history: History) -> Tree:
    """Return a tree that is not in force: that one is refused."""
    return next(tree for tree in TREES if history.current is None or tree != history.tree())


def _time_of_one(path: Path) -> float:
    """Return the seconds that an append and an approval take here, warm."""
    history = History(path)
    for turn in range(3):
        start = time.perf_counter()
        history.approve(history.append(TREES[turn]), by="me")
    return time.perf_counter() - start


def _one_killed(path: Path, turn: str, delay: float) -> list[str]:
    """Start a writer, kill it after a while, return what it was told is written."""
    reading, writing = os.pipe()

    def writer() -> None:
        history = History(path)
        os.write(writing, b"ready\n")
        for step in range(1_000_000):
            number = history.append(_another(history), note=f"{turn}-{step}")
            os.write(writing, f"note {turn}-{step}\n".encode())
            history.approve(number, by=f"{turn}-{step}")
            os.write(writing, f"by {turn}-{step}\n".encode())

    child = forked(writer)
    os.close(writing)
    with os.fdopen(reading) as told:
        assert told.readline() == "ready\n"
        time.sleep(delay)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return told.read().splitlines()


def _look(path: Path, kept: list[str], head: str | None) -> list[str]:
    """Return all that is wrong with a history after a kill."""
    data = path.read_bytes() if path.exists() else b""
    faults = [] if not data or data.endswith(b"\n") else ["half a line"]
    check = History(path).verify(head) if data else None
    if check is not None and not check.ok:
        return [*faults, check.message]
    lines = _lines(path) if data else []
    there = {f"note {line['note']}" for line in lines if line["event"] == "version"}
    there |= {f"by {line['by']}" for line in lines if line["event"] == "decision"}
    return [*faults, *(f"lost: {entry}" for entry in kept if entry not in there)]


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


if __name__ == "__main__":
    what, place, *numbers = sys.argv[1:]
    work = {"at-once": write_at_once, "killed": kill_writers}[what]
    json.dump(work(Path(place), *map(int, numbers)), sys.stdout)
