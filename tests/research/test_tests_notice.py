"""Small faults in the code that everything rests on make tests fail, or are explained."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from research.mutation.targets import ROOT, TARGETS


@pytest.fixture(scope="session")
def reached(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Which tests reach which lines is found out once for all modules."""
    return tmp_path_factory.mktemp("reach")


@pytest.mark.slow
@pytest.mark.parametrize("module", TARGETS)
def test_tests_notice_faults(module: str, reached: Path) -> None:
    # A process of its own: the package must not be imported before the fault is in it.
    told = subprocess.run(
        [sys.executable, "-m", "research.mutation", module, "--cache", str(reached)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 0, told.stdout + told.stderr[-2000:]
