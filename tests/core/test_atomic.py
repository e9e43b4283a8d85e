"""Files are written whole or not at all."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

import steadytree as st
from steadytree.core.atomic import write_atomic
from steadytree.exceptions import InputError
from tests.golden import build


def test_the_file_holds_what_was_given_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    target = tmp_path / "tree.json"
    assert write_atomic(target, "é\n") == target
    assert target.read_bytes() == "é\n".encode()
    write_atomic(target, b"second")
    assert target.read_bytes() == b"second"
    assert os.listdir(tmp_path) == ["tree.json"]


def test_a_failed_write_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = write_atomic(tmp_path / "tree.json", "old")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match="got No space left on device; make room"):
        write_atomic(target, "new")
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["tree.json"]


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="create the folder or choose another path"):
        write_atomic(tmp_path / "none" / "tree.json", "x")


# -- tree files, written by other processes, to full disks, in closed folders ----------------

WRITER = """
import sys
import numpy as np
import steadytree as st

n = 2 * 400 + 1
split = np.arange(n) % 2 == 0
split[-1] = False
at = np.arange(n)
trees = [
    st.Tree(children_left=np.where(split, at + 1, -1), children_right=np.where(split, at + 2, -1),
            feature=np.where(split, 0, -1), threshold=np.full(n, float(i)),
            value=np.zeros((n, 1)), n_features=1)
    for i in range(2)
]
"""


def run(code: str, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", WRITER + code, *args], capture_output=True, text=True, check=False
    )


def test_a_killed_writer_leaves_a_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "tree.json"
    st.save_tree(build("no"), path)
    code = "while True:\n    [st.save_tree(tree, sys.argv[1]) for tree in trees]\n"
    writer = subprocess.Popen([sys.executable, "-c", WRITER + code, str(path)])
    try:
        seen: set[float] = set()
        reads, deadline = 0, time.monotonic() + 120
        while (reads < 60 or len(seen) < 2) and time.monotonic() < deadline:
            tree = st.load_tree(path)  # never half a file
            if tree.n_nodes > 1:
                reads += 1
                seen.add(float(tree.threshold[0]))
    finally:
        writer.kill()
        writer.wait()
    assert seen == {0.0, 1.0}  # it was indeed rewritten all the time
    assert st.load_tree(path).n_nodes == 801


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX limits")
def test_a_full_disk_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "tree.json"
    st.save_tree(build("no"), path)
    before = path.read_bytes()
    done = run(
        "import resource\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (9000, 9000))\n"
        "try:\n    st.save_tree(trees[0], sys.argv[1])\n"
        "except st.exceptions.InputError as error:\n    print(error)\n",
        str(path),
    )
    assert "got File too large" in done.stdout, done.stderr
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["tree.json"]


def test_folders_that_cannot_be_written(tmp_path: Path) -> None:
    tree = build("no")
    with pytest.raises(
        InputError, match=r"expected a folder that can be written .*got No such file"
    ):
        st.save_tree(tree, tmp_path / "none" / "tree.json")
    with pytest.raises(InputError, match=re.escape(str(tmp_path)) + ".*got Is a directory"):
        st.save_tree(tree, tmp_path)
    closed = tmp_path / "closed"
    closed.mkdir()
    closed.chmod(0o500)
    if not os.access(closed, os.W_OK):  # the superuser may write everywhere
        with pytest.raises(InputError, match="got Permission denied; create the folder or choose"):
            st.save_tree(tree, closed / "tree.json")
    assert [p.name for p in tmp_path.iterdir()] == ["closed"]


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX permissions")
def test_a_new_file_has_the_usual_permissions(tmp_path: Path) -> None:
    path = st.save_tree(build("no"), tmp_path / "tree.json")
    plain = tmp_path / "plain"
    plain.touch()
    assert path.stat().st_mode == plain.stat().st_mode
