from __future__ import annotations

import os
import subprocess
import sys

import pytest

from steadytree._progress import track


def test_silence_by_default(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(track(iter(range(5)), total=5, label="Counting")) == [0, 1, 2, 3, 4]
    assert capsys.readouterr().err == ""


def test_a_line_for_every_tenth_where_there_is_no_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert list(track(range(100), total=100, label="Counting", verbose=1)) == list(range(100))
    shown = capsys.readouterr()
    lines = shown.err.splitlines()
    assert len(lines) == 10
    assert lines[0].startswith("Counting: 10 of 100 (")
    assert lines[-1].startswith("Counting: 100 of 100 (")
    assert shown.out == ""


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a pseudo-terminal")
def test_a_bar_on_a_terminal() -> None:
    code = (
        "from steadytree._progress import track\n"
        "print(sum(track(range(7), total=7, label='Counting', verbose=1)))"
    )
    ours, theirs = os.openpty()
    done = subprocess.run(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=theirs,
        text=True,
        check=True,
        env={**os.environ, "TERM": "xterm"},
    )
    os.close(theirs)
    shown = os.read(ours, 65536).decode()
    os.close(ours)
    assert done.stdout.strip() == "21"
    assert "Counting" in shown
    assert "100%" in shown
