"""Every example runs as a reader would run it, and leaves something to open."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs_and_ends_in_a_page(example: Path, tmp_path: Path) -> None:
    found = subprocess.run(
        [sys.executable, "-W", "error::FutureWarning", str(example), "--out", str(tmp_path)],
        cwd=tmp_path,
        env={**os.environ, "MPLBACKEND": "Agg"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    pages = [line.partition(": ")[2] for line in found.stdout.splitlines() if "browser: " in line]
    assert len(pages) == 1
    assert Path(pages[0]).read_text(encoding="utf-8").lower().startswith("<!doctype html>")
