"""One writer at a time, whatever path leads to the file, whoever dies, and nothing left behind."""

from __future__ import annotations

import ctypes
import fcntl
import os
import platform
import signal
import struct
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from steadytree import _io as module
from steadytree._io import exclusive, write_atomic
from steadytree.exceptions import InputError
from tests.processes import forked

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
