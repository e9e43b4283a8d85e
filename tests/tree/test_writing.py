"""Files are written whole or not at all."""

from __future__ import annotations

import ctypes
import fcntl
import os
import platform
import re
import signal
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import steadytree as st
from steadytree import _io as atomic
from steadytree import _io as module
from steadytree._io import (
    check_writable,
    claim_temporary,
    exclusive,
    temporary_name,
    tidy_temporaries,
    write_atomic,
)
from steadytree.exceptions import InputError, WriteError
from tests.golden import build
from tests.processes import forked


def test_the_file_holds_what_was_given_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    target = tmp_path / "tree.json"
    assert write_atomic(target, "é\n") == target
    assert target.read_bytes() == "é\n".encode()
    write_atomic(target, b"second")
    assert target.read_bytes() == b"second"
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
        "except st.exceptions.WriteError as error:\n    print(error.exit_code, error)\n",
        str(path),
    )
    assert done.stdout.startswith("1 expected to write"), done.stderr
    assert "got File too large; make room" in done.stdout, done.stderr
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["tree.json"]


@pytest.mark.skipif(sys.platform != "linux", reason="mounts a small disk of its own")
def test_a_disk_without_room_is_a_failure_and_not_bad_usage(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounting = ["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(disk)]
    if subprocess.run(mounting, capture_output=True, check=False).returncode:
        pytest.skip("mounting a disk is not allowed here")
    try:
        target = write_atomic(disk / "tree.json", "old")
        with pytest.raises(WriteError, match="got No space left on device; make room") as caught:
            write_atomic(target, "x" * 100_000)
        assert caught.value.exit_code == 1
        assert target.read_text() == "old"
        assert os.listdir(disk) == ["tree.json"]
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def unprivileged(work: Callable[[], None]) -> str:
    """Do something as a user with no rights of their own; return the error's type and text."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        said = "done"
        try:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setgid(65534)
                os.setuid(65534)
            work()
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
        os.write(writing, said.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as answer:
        said = answer.read()
    os.waitpid(child, 0)
    return said


@pytest.fixture
def open_folder(tmp_path: Path) -> Iterator[Path]:
    """A folder that users without rights can reach and write to."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o777)
        yield folder


def test_folders_that_cannot_be_written(tmp_path: Path, open_folder: Path) -> None:
    tree = build("no")
    with pytest.raises(
        InputError, match=r"expected a place that can be written .*got No such file"
    ):
        st.save_tree(tree, tmp_path / "none" / "tree.json")
    with pytest.raises(InputError, match=re.escape(str(tmp_path)) + ".*got Is a directory"):
        st.save_tree(tree, tmp_path)
    closed = open_folder / "closed"
    closed.mkdir(mode=0o555)
    said = unprivileged(lambda: write_atomic(closed / "tree.json", "x") and None)
    assert said.startswith("InputError: expected a place that can be written")
    assert "got Permission denied; create the folder or choose" in said
    assert list(closed.iterdir()) == []


# -- rights and links ---------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o200])
def test_a_file_keeps_its_mode(tmp_path: Path, mode: int) -> None:
    target = write_atomic(tmp_path / "tree.json", "old")
    target.chmod(mode)
    write_atomic(target, "new")
    assert stat.S_IMODE(target.stat().st_mode) == mode
    target.chmod(0o600)
    assert target.read_text() == "new"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="gives files away")
def test_a_file_keeps_its_owner_or_at_least_shows_no_other_group(open_folder: Path) -> None:
    target = write_atomic(open_folder / "tree.json", "old")
    os.chown(target, 1234, 4321)
    target.chmod(0o664)
    write_atomic(target, "new")
    assert (target.stat().st_uid, target.stat().st_gid) == (1234, 4321)
    target.chmod(0o666)
    assert unprivileged(lambda: write_atomic(target, "newer") and None) == "done"
    assert target.read_text() == "newer"
    assert target.stat().st_uid == 65534
    assert stat.S_IMODE(target.stat().st_mode) == 0o606


def test_a_read_only_file_is_refused_whoever_writes(tmp_path: Path, open_folder: Path) -> None:
    target = write_atomic(tmp_path / "tree.json", "old")
    target.chmod(0o444)
    with pytest.raises(InputError, match="expected a file that may be written, got a read-only"):
        write_atomic(target, "new")
    assert target.read_text() == "old"
    others = write_atomic(open_folder / "tree.json", "old")
    others.chmod(0o644)
    if os.geteuid() == 0:
        said = unprivileged(lambda: write_atomic(others, "new") and None)
        assert said.startswith("InputError: expected a file that may be written")
    assert others.read_text() == "old"


def test_a_link_is_followed_and_stays(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "links").mkdir()
    target = write_atomic(tmp_path / "real" / "tree.json", "old")
    target.chmod(0o600)
    link = tmp_path / "links" / "tree.json"
    link.symlink_to(Path("..") / "real" / "tree.json")
    second = tmp_path / "second"
    second.symlink_to(link)
    assert write_atomic(second, "new") == second
    assert link.is_symlink()
    assert second.is_symlink()
    assert target.read_text() == "new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert os.listdir(tmp_path / "links") == ["tree.json"]


def test_links_that_lead_nowhere(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "new.json")
    write_atomic(link, "made")
    assert link.is_symlink()
    assert (tmp_path / "new.json").read_text() == "made"
    astray = tmp_path / "astray"
    astray.symlink_to(tmp_path / "none" / "new.json")
    with pytest.raises(InputError, match=r"none/new\.json', got No such file or directory; create"):
        write_atomic(astray, "x")
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    with pytest.raises(InputError, match="loop', got Too many levels of symbolic links"):
        write_atomic(loop, "x")
    assert astray.is_symlink()
    assert loop.is_symlink()


def test_devices_and_pipes_are_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for place in (pipe, Path("/dev/null")):
        before = place.stat()
        with pytest.raises(InputError, match="expected the name of a file, got a device or pipe"):
            write_atomic(place, "x")
        assert stat.S_IFMT(place.stat().st_mode) == stat.S_IFMT(before.st_mode)


def test_names_that_no_file_can_have(tmp_path: Path) -> None:
    for name in ("nul\0byte", "x" * 300):
        with pytest.raises(InputError, match="expected a place that can be written"):
            write_atomic(tmp_path / name, "x")
    long = write_atomic(tmp_path / ("é" * 120), "x")  # 240 of the 255 bytes a name may have
    assert os.listdir(tmp_path) == [long.name]


def test_asking_beforehand_changes_nothing(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "new.json")
    assert check_writable(link) == tmp_path / "new.json"
    assert os.listdir(tmp_path) == ["link"]


# -- what killed writers leave ------------------------------------------------------------------


def killed_while_writing(target: Path) -> Path:
    """Kill a real writer that holds its temporary; return that."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        atomic._new_temporary(target)
        os.write(writing, b"x")
        signal.pause()
        os._exit(0)
    os.read(reading, 1)
    os.close(reading)
    os.close(writing)
    (temporary,) = target.parent.glob(f".steadytree-*.{child}.*.tmp")
    assert tidy_temporaries(target.parent) == []  # the writer is alive
    assert temporary.exists()
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return temporary


def test_temporaries_of_the_dead_are_removed_and_of_the_living_kept(tmp_path: Path) -> None:
    left = killed_while_writing(tmp_path / "tree.json")
    assert left.exists()
    assert tidy_temporaries(tmp_path) == [left]
    assert os.listdir(tmp_path) == []


def test_the_next_writer_tidies(tmp_path: Path) -> None:
    killed_while_writing(tmp_path / "tree.json")
    write_atomic(tmp_path / "other.json", "x")
    assert os.listdir(tmp_path) == ["other.json"]


def test_folders_count_as_temporaries_too(tmp_path: Path) -> None:
    folder = tmp_path / temporary_name("out")
    folder.mkdir()
    (folder / "tree.json").write_text("half of a run")
    handle = claim_temporary(folder)
    assert tidy_temporaries(tmp_path) == []
    os.close(handle)
    assert tidy_temporaries(tmp_path) == [folder]
    assert not folder.exists()


def test_temporaries_of_other_machines_stay_for_a_day(tmp_path: Path) -> None:
    name = temporary_name("tree.json").replace(socket.gethostname(), "another-machine")
    elsewhere = tmp_path / name
    elsewhere.touch()
    assert tidy_temporaries(tmp_path) == []
    long_ago = time.time() - 2 * 24 * 60 * 60
    os.utime(elsewhere, (long_ago, long_ago))
    assert tidy_temporaries(tmp_path) == [elsewhere]


def test_nothing_else_is_tidied(tmp_path: Path) -> None:
    ours = temporary_name("tree.json")
    (tmp_path / ours).symlink_to("/etc")
    for name in (".steadytree-notes.tmp", "tree.json.tmp", ours.removeprefix("."), ours + "x"):
        (tmp_path / name).touch()
    before = sorted(os.listdir(tmp_path))
    assert tidy_temporaries(tmp_path) == []
    assert tidy_temporaries(tmp_path / "none") == []
    assert sorted(os.listdir(tmp_path)) == before


def test_writers_and_tidiers_at_once_do_not_disturb_each_other(tmp_path: Path) -> None:
    tidier = os.fork()
    if tidier == 0:
        while True:
            tidy_temporaries(tmp_path)
    try:
        for turn in range(300):
            write_atomic(tmp_path / f"{turn % 3}.json", f"{turn}")
    finally:
        os.kill(tidier, signal.SIGKILL)
        os.waitpid(tidier, 0)
    assert sorted(os.listdir(tmp_path)) == ["0.json", "1.json", "2.json"]
    assert (tmp_path / "2.json").read_text() == "299"


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX permissions")
def test_a_new_file_has_the_usual_permissions(tmp_path: Path) -> None:
    path = st.save_tree(build("no"), tmp_path / "tree.json")
    plain = tmp_path / "plain"
    plain.touch()
    assert path.stat().st_mode == plain.stat().st_mode


# -- one writer at a time, whatever path leads to the file, whoever dies, and nothing le


WAYS = [module._by_lock, module._by_name]


def add_one(path: Path, way: Callable[[Path], object]) -> None:
    with way(path):  # type: ignore[attr-defined]
        number = int(path.read_text() or "0") if path.exists() else 0
        write_atomic(path, str(number + 1))


@pytest.mark.parametrize("way", WAYS)
def test_nothing_that_was_counted_is_lost(tmp_path: Path, way: Callable[[Path], object]) -> None:
    path = tmp_path / "count"
    children = [forked(lambda: [add_one(path, way) for _ in range(25)]) for _ in range(4)]
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 4
    assert path.read_text() == "100"
    assert os.listdir(tmp_path) == ["count"]


@pytest.mark.parametrize("way", WAYS)
def test_a_block_that_writes_nothing_leaves_nothing(
    tmp_path: Path, way: Callable[[Path], object]
) -> None:
    with pytest.raises(KeyError), way(tmp_path / "new"):  # type: ignore[attr-defined]
        raise KeyError
    assert os.listdir(tmp_path) == []
    (tmp_path / "mine").touch()
    with way(tmp_path / "mine"):  # type: ignore[attr-defined]
        pass
    assert os.listdir(tmp_path) == ["mine"]


def test_a_holder_that_is_killed_lets_go(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.touch()
    reading, writing = os.pipe()

    def hold() -> None:
        with exclusive(path):
            os.write(writing, b"x")
            signal.pause()

    holder = forked(hold)
    os.read(reading, 1)
    os.kill(holder, signal.SIGKILL)
    os.waitpid(holder, 0)
    add_one(path, exclusive)
    assert path.read_text() == "1"


def test_whoever_waits_for_a_file_that_is_replaced_holds_the_new_one(tmp_path: Path) -> None:
    path = write_atomic(tmp_path / "count", "1")
    with exclusive(path):
        waiting = forked(lambda: add_one(path, exclusive))
        state = Path(f"/proc/{waiting}/wchan")
        while state.exists() and "lock" not in state.read_text():
            pass  # until it waits for the lock; where the system does not tell, at once
        write_atomic(path, "41")
    assert os.waitpid(waiting, 0)[1] == 0
    assert path.read_text() == "42"


def test_a_process_forked_while_a_file_is_written_does_not_keep_it_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_atomic(tmp_path / "count", "1")
    children: list[int] = []

    def fork_first(handle: int) -> None:
        """Fork while the new file is open and locked."""
        if not children:
            children.append(forked(signal.pause))

    monkeypatch.setattr(os, "fsync", fork_first)
    write_atomic(path, "2")
    try:
        with path.open("rb+") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        os.kill(children[0], signal.SIGKILL)
        os.waitpid(children[0], 0)


def test_a_place_without_rights_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="expected a file that can be written, got No such file"):
        add_one(tmp_path / "none" / "file", exclusive)
    with pytest.raises(InputError, match="expected a file that can be written, got Is a directory"):
        add_one(tmp_path, exclusive)
    with pytest.raises(InputError, match="expected a file that can be written, got No such file"):
        add_one(tmp_path / "none" / "file", module._by_name)


FLOCK = {"x86_64": 73, "aarch64": 32}


@pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() not in FLOCK, reason="asks Linux to refuse"
)
def test_a_file_system_without_locks_is_named(tmp_path: Path) -> None:
    """The kernel itself refuses the lock, as some network file systems make it do."""
    path = tmp_path / "file"
    path.touch()
    reading, writing = os.pipe()

    def without_locks() -> None:
        no_locks = 37  # ENOLCK
        program = b"".join(
            struct.pack("HBBI", *instruction)
            for instruction in [
                (0x20, 0, 0, 0),  # load the number of the system call
                (0x15, 0, 1, FLOCK[platform.machine()]),  # if it is flock
                (0x06, 0, 0, 0x00050000 | no_locks),  # answer with an error
                (0x06, 0, 0, 0x7FFF0000),  # else go on
            ]
        )
        buffer = ctypes.create_string_buffer(program, len(program))
        filters = struct.pack("HxxxxxxP", 4, ctypes.addressof(buffer))
        libc = ctypes.CDLL(None, use_errno=True)
        assert libc.prctl(38, 1, 0, 0, 0) == 0
        assert libc.prctl(22, 2, filters, 0, 0) == 0
        try:
            add_one(path, exclusive)
        except InputError as error:
            os.write(writing, str(error).encode())

    child = forked(without_locks)
    assert os.waitpid(child, 0)[1] == 0
    os.close(writing)
    with os.fdopen(reading) as answer:
        said = answer.read()
    assert said.startswith("expected a file system that can lock files, got No locks available")
    assert path.read_text() == ""
