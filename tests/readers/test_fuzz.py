"""Damaged model files: every parser gives a tree or our own error, in time and bounded memory."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from steadytree.readers import READERS

ROOT = Path(__file__).resolve().parent.parent.parent
PARSERS = [
    name
    for name, module in READERS.items()
    if hasattr(import_module(module), "reads_file")
    # A pickle runs what it holds: it is refused, not parsed.
    and not getattr(import_module(module), "EXECUTES_FILES", False)
]
LONG_RUN = 600  # seconds, over all parsers


def run(name: str, seconds: float, seed: int, least: int) -> int:
    """Fuzz one parser in a process of its own: a crash ends that one, and fails the test."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.readers.fuzz", name, str(seconds), str(seed), str(least)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return int(done.stdout.split()[-1])


@pytest.mark.parametrize("name", PARSERS)
def test_a_short_run(name: str) -> None:
    assert run(name, 0, 0, 200) == 200


@pytest.mark.slow
@pytest.mark.parametrize("name", PARSERS)
def test_a_long_run(name: str) -> None:
    assert run(name, LONG_RUN / len(PARSERS), 1, 1000) >= 1000
