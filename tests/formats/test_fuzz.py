"""Spoilt files: every parser gives a tree or our own error, in time and bounded memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

import steadytree as st
import steadytree.exceptions
from tests.formats.fuzz import PARSERS
from tests.formats.mutations import spoil, spoil_json
from tests.retraining.histories import contents, seal_again, write

ROOT = Path(__file__).resolve().parent.parent.parent
LONG_RUN = float(os.environ.get("STEADYTREE_FUZZ_SECONDS", "600"))
"""Seconds for each parser."""


def run(name: str, seconds: float, seed: int, least: int) -> int:
    """Fuzz one parser in a process of its own: a crash ends that one, and fails the test."""
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "tests.formats.fuzz",
            name,
            str(seconds),
            str(seed),
            str(least),
        ],
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
    assert run(name, LONG_RUN, 1, 1000) >= 1000


def test_well_formed_files_are_spoilt_in_their_own_terms() -> None:
    """Else the fuzz would stop at the first bracket of every file."""
    text = json.dumps({"nodes": {"left": [1, -1, -1], "names": ["a", "b"]}, "n": 3})
    spoilt = {spoil_json(text, Random(seed)) for seed in range(300)}
    assert len(spoilt) > 200
    assert any('"n": 2000000' in one for one in spoilt)
    assert any("ud800" in one or "\ud800" in one for one in spoilt)
    assert any(one.count('"n":') > 1 or one.count('"nodes":') > 1 for one in spoilt)
    assert any("[" * 20 in one or '{"a": ' * 2 in one for one in spoilt)
    xml = b"<a><b value='1'/><c><d x='2'/></c></a>"
    assert len({spoil(xml, Random(seed)) for seed in range(100)}) > 50
    assert spoil(xml, Random("1-2")) == spoil(xml, Random("1-2"))


@pytest.mark.parametrize("previous", [2**53 + 1, 10**30, 0, -1, 3])
def test_a_history_whose_version_follows_none_that_came_before(
    previous: int, tmp_path: Path
) -> None:
    """Found by the fuzz: the table of versions failed on the number."""
    path = PARSERS["history"][0](tmp_path)[0]
    lines = contents(path)
    assert lines[1]["number"] == 2
    write(path, seal_again([lines[0], lines[1] | {"previous": previous}, *lines[2:]]))
    with pytest.raises(st.exceptions.HistoryError, match="expected an earlier version as previous"):
        len(st.History(path))
