"""A run that is killed loses no finished work and leaves no file that cannot be read."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from research.paper.regenerate import regenerate
from research.paper.settings import Settings
from tests.research.paper.tiny import TINY, numbers

ROOT = Path(__file__).parents[3]
SETTINGS = {"n_splits": 8, "perturbations": 20}
ASKED = {"only": ["frontier-sizes", "direct"], "data": ["wdbc"], "draw": False}

PROGRAM = """
import sys
from dataclasses import replace
from tests.research.paper.tiny import TINY
from research.paper.regenerate import regenerate
regenerate(sys.argv[1], settings=replace(TINY, **{settings}), **{asked})
"""


def start(out: Path) -> subprocess.Popen[bytes]:
    program = PROGRAM.format(settings=SETTINGS, asked=ASKED)
    return subprocess.Popen([sys.executable, "-c", program, str(out)], cwd=ROOT)


def finished(out: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in (out / "units").rglob("[!.]*.json")}


@pytest.mark.slow
def test_killed_five_times_it_loses_nothing(tmp_path: Path) -> None:
    rng = random.Random(0)
    out = tmp_path / "killed"
    done: dict[Path, bytes] = {}
    total = 2 * 8 + 2
    for _ in range(5):
        wanted = min(len(done) + rng.randint(1, 3), total - 1)
        process = start(out)
        while process.poll() is None and len(finished(out)) < wanted:
            time.sleep(0.005)
        time.sleep(rng.random() * 0.3)
        process.send_signal(signal.SIGKILL)
        process.wait()
        now = finished(out)
        for content in now.values():
            assert set(json.loads(content)) == {"checksum", "config", "result", "seconds"}
        for path, content in done.items():
            assert now[path] == content
        done = now
        if process.returncode == 0:
            break
    assert done
    stamps = {path: path.stat().st_mtime_ns for path in done}
    assert start(out).wait() == 0
    for path, stamp in stamps.items():
        assert path.stat().st_mtime_ns == stamp, "finished work was done again"
    assert len(finished(out)) == total

    settings = Settings(**{**TINY.__dict__, **SETTINGS})
    whole = regenerate(tmp_path / "whole", settings=settings, **ASKED)
    assert numbers(out) == numbers(whole.out)


def test_a_worker_whose_run_is_gone_ends_before_the_next_piece() -> None:
    program = "from research.paper.runs import _work; _work(0, None, {}, None, 1)"
    ended = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, check=False
    )
    assert ended.returncode == 1
    assert ended.stderr == b""
