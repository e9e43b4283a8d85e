"""Files are written whole or not at all, by one writer at a time, and read within bounds."""

from __future__ import annotations

import os
import re
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

import steadytree as st
from steadytree import _io
from steadytree._io import check_writable, exclusive, parse_json, read_bytes, write_atomic
from steadytree.exceptions import InputError, TreeFormatError, WriteError
from tests.golden import build
from tests.processes import forked
from tests.wording import refuses

# -- written whole or not at all -----------------------------------------------------------------

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
while True:
    [st.save_tree(tree, sys.argv[1]) for tree in trees]
"""


def test_the_file_holds_what_was_given_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    target = tmp_path / ("é" * 120)  # 240 of the 255 bytes a name may have
    assert write_atomic(target, "é\n") == target
    assert target.read_bytes() == "é\n".encode()
    (tmp_path / "plain").touch()
    assert target.stat().st_mode == (tmp_path / "plain").stat().st_mode
    write_atomic(target, b"second")
    assert target.read_bytes() == b"second"
    assert sorted(os.listdir(tmp_path)) == ["plain", target.name]


def test_a_killed_writer_leaves_a_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "tree.json"
    st.save_tree(build("no"), path)
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(path)])
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
    import resource

    path = write_atomic(tmp_path / "tree.json", "old")

    def write_much() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (9000, 9000))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        with refuses(WriteError, "files: no room") as caught:
            write_atomic(path, "x" * 10_000)
        assert caught.value.exit_code == 1

    assert os.waitpid(forked(write_much), 0)[1] == 0
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["tree.json"]


@pytest.mark.parametrize("mode", [0o600, 0o664, 0o200])
def test_a_file_keeps_its_mode(tmp_path: Path, mode: int) -> None:
    target = write_atomic(tmp_path / "tree.json", "old")
    target.chmod(mode)
    write_atomic(target, "new")
    assert stat.S_IMODE(target.stat().st_mode) == mode
    target.chmod(0o600)
    assert target.read_text() == "new"


def test_a_read_only_file_is_refused_whoever_writes(tmp_path: Path) -> None:
    target = write_atomic(tmp_path / "tree.json", "old")
    target.chmod(0o444)
    with refuses(InputError, "files: read-only"):
        write_atomic(target, "new")
    assert target.read_text() == "old"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="gives files away")
def test_a_file_keeps_its_owner_and_closed_folders_are_named() -> None:
    with tempfile.TemporaryDirectory() as folder:  # which others can reach
        target = write_atomic(Path(folder, "tree.json"), "old")
        os.chown(target, 1234, 4321)
        write_atomic(target, "new")
        assert (target.stat().st_uid, target.stat().st_gid) == (1234, 4321)
        os.chmod(folder, 0o555)

        def as_nobody() -> None:
            os.setgid(65534)
            os.setuid(65534)
            with pytest.raises(InputError, match="got Permission denied; create the folder"):
                write_atomic(Path(folder, "other.json"), "x")

        assert os.waitpid(forked(as_nobody), 0)[1] == 0


def test_a_link_is_followed_and_stays(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    link, second = tmp_path / "link", tmp_path / "second"
    link.symlink_to(Path("real") / "tree.json")
    second.symlink_to(link)
    assert check_writable(second) == tmp_path / "real" / "tree.json"
    assert os.listdir(tmp_path / "real") == []
    for text in ("old", "new"):
        assert write_atomic(second, text) == second
        assert (tmp_path / "real" / "tree.json").read_text() == text
    assert link.is_symlink()
    assert second.is_symlink()


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name, path in {
        "no such folder": tmp_path / "none" / "tree.json",
        "a folder": tmp_path / "folder",
        "a loop of links": loop,
        "a long name": tmp_path / ("x" * 300),
        "a pipe": tmp_path / "pipe",
        "a device": Path("/dev/null"),
    }.items():
        with refuses(InputError, f"files: {name}"):
            write_atomic(path, "x")
    with pytest.raises(InputError, match="a place that can be written"):
        write_atomic(tmp_path / "nul\0byte", "x")
    assert sorted(os.listdir(tmp_path)) == ["folder", "loop", "pipe"]
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


# -- one writer at a time ------------------------------------------------------------------------


def add_one(path: Path) -> None:
    with exclusive(path):
        number = int(path.read_text()) if path.exists() else 0
        write_atomic(path, str(number + 1))


def test_nothing_that_was_counted_is_lost_and_a_killed_holder_lets_go(tmp_path: Path) -> None:
    path = tmp_path / "count"
    reading, writing = os.pipe()

    def hold() -> None:
        with exclusive(path):
            os.write(writing, b"x")
            signal.pause()

    holder = forked(hold)
    os.read(reading, 1)
    children = [forked(lambda: [add_one(path) for _ in range(25)]) for _ in range(4)]
    assert not path.exists()
    os.kill(holder, signal.SIGKILL)
    assert [os.waitpid(child, 0)[1] for child in (holder, *children)] == [9, 0, 0, 0, 0]
    assert path.read_text() == "100"


def test_a_process_forked_by_the_holder_does_not_keep_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "count"
    with exclusive(path):
        child = forked(signal.pause)
    try:
        add_one(path)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    with refuses(InputError, "files: no place for a lock"):
        add_one(tmp_path / "none" / "file")


# -- read within bounds --------------------------------------------------------------------------


def test_files_are_read_up_to_a_size(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"12345")
    assert read_bytes(path, 5) == b"12345"
    assert read_bytes(path, 5, most=2) == b"12"
    with pytest.raises(TreeFormatError, match="at most 4 bytes, got more"):
        read_bytes(path, 4)
    with refuses(TreeFormatError, "files: none to read"):
        read_bytes(tmp_path / "none")
    with pytest.raises(TreeFormatError, match=r"a readable model file, got .*embedded null"):
        read_bytes("a\x00b")


@pytest.mark.parametrize("read", [read_bytes, st.load_tree, st.as_tree])
def test_only_regular_files_are_read(read: object, tmp_path: Path) -> None:
    """A pipe without a writer would keep us waiting, a device would be read for ever."""
    assert callable(read)
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        for path in (tmp_path / "pipe", "/dev/zero", "/dev/null", tmp_path / "socket", tmp_path):
            with pytest.raises(TreeFormatError, match=r"expected a readable .*, got "):
                read(path)


JSON = {
    "no text": b"\x22\xed\xa0\x80\x22",
    "half a character at the end": b'"\xc3',
    "deep": "[" * 100_000,
    "a level too deep": "[" * 501 + "]" * 501,
    "an entry twice": '{"a": 1, "b": 2, "a": 3}',
    "an entry twice within": '[{"x": {"a": 1, "a": 1}}]',
    "an infinite number": "[1, 1e400]",
    "a long infinite number": "[" + "1" * 400 + ".5]",
    "half a character": r'["\ud800"]',
    "half a character as a name": r'{"\udfff": 1}',
}


@pytest.mark.parametrize("name", JSON)
def test_json_that_is_none(name: str) -> None:
    with refuses(TreeFormatError, f"files: JSON, {name}") as error:
        parse_json(JSON[name])
    assert len(str(error.value)) < 400
    for text in (b"", b"{", "9" * 10_000):  # in Python's words
        with pytest.raises(TreeFormatError, match=r"expected JSON.*, got ") as error:
            parse_json(text)
        assert len(str(error.value)) < 400


def test_json_that_is_some() -> None:
    assert parse_json('{"a": [1], "b": {"a": 1}}') == {"a": [1], "b": {"a": 1}}
    assert parse_json("\ufeff[1e300]".encode()) == [1e300]
    assert parse_json(r'["\ud83d\ude00"]') == ["😀"]
    assert parse_json("[" * 500 + "]" * 500) is not None
    assert parse_json("[NaN]")[0] != 0
    with refuses(TreeFormatError, "files: JSON, not a number"):
        parse_json("[NaN]", constants=False)
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(TreeFormatError, match="expected metadata of at most"):
        _io.check_json_depth(deep, "metadata")


# -- limits --------------------------------------------------------------------------------------


def test_limits_are_refused_with_the_number() -> None:
    _io.check_size(10, 10, "nodes")
    _io.check_texts(["a", 1, None, "é" * _io.MAX_TEXT], "feature names")
    _io.check_value_cells(1_000_000, 50)
    _io.check_feature_count(1_000_000, listed=True)
    _io.check_feature_count(200_000, listed=False)
    _io.check_matching(16_384, 16_384)
    with refuses(TreeFormatError, "files: too many nodes"):
        _io.check_size(1001, 1000, "nodes")
    with refuses(TreeFormatError, "files: a name too long"):
        _io.check_texts(["a" * (_io.MAX_TEXT + 1)], "feature names")
    with refuses(TreeFormatError, "files: half a character in a name"):
        _io.check_texts(["x\udc80"], "classes")
    with refuses(TreeFormatError, "files: too many shares"):
        _io.check_value_cells(100_000, 100_000)
    with refuses(TreeFormatError, "files: too many features"):
        _io.check_feature_count(200_001, listed=False)
    with refuses(TreeFormatError, "files: fewer features than none"):
        _io.check_feature_count(-1, listed=True)
    with refuses(InputError, "files: trees too large to compare"):
        _io.check_matching(65_536, 65_536)


def test_the_documentation_states_every_limit() -> None:
    page = Path(__file__).resolve().parents[1] / "docs" / "guide" / "limits.md"
    stated = {
        name: int(number.replace(",", ""))
        for number, name in re.findall(
            r"^\|[^|]*\| ([\d,]+)[^|]*\| `(MAX_\w+)` \|$", page.read_text("utf-8"), re.MULTILINE
        )
    }
    assert stated == {name: value for name, value in vars(_io).items() if name.startswith("MAX_")}
