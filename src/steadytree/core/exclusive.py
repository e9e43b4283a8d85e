"""One writer at a time: hold a file from reading it until it is replaced.

Two processes that read a file, add something and write it whole would each undo what the other
added. The lock is on the file itself, so it is one lock whatever path or link leads there, it
reaches over network file systems, ends with the process that holds it, and leaves nothing behind.
"""

from __future__ import annotations

import importlib.util
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from steadytree.exceptions import InputError

__all__ = ["exclusive"]

_CAN_LOCK = importlib.util.find_spec("fcntl") is not None
_PAUSE = 0.02


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Keep other writers of a file out until the block ends.

    The holder may replace the file once, as the last thing it does: from then on the next writer
    may hold the new file. Not to be entered twice by one thread.

    Parameters
    ----------
    path : Path
        The file itself, links followed. If there is none, it is made, empty, and is gone again
        after a block that wrote nothing.
    """
    with _by_lock(path) if _CAN_LOCK else _by_name(path):
        yield


@contextmanager
def _by_lock(path: Path) -> Iterator[None]:
    import fcntl

    while True:
        handle, made = _open(path)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX)
            except OSError as error:
                raise InputError(
                    f"expected a file system that can lock files, got {error.strerror} for "
                    f"{str(path)!r}; keep the file on a local disk"
                ) from error
            if not _is(handle, path):
                continue  # replaced while we waited: hold the new one
            try:
                yield
            finally:
                if made and _is(handle, path) and os.fstat(handle).st_size == 0:
                    path.unlink()
            return
        finally:
            # Said aloud: a process forked meanwhile has the file open as well.
            with suppress(OSError):
                fcntl.flock(handle, fcntl.LOCK_UN)
            os.close(handle)


def _open(path: Path) -> tuple[int, bool]:
    """Open a file to hold it, and say whether it is a new one."""
    while True:
        try:
            return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666), True
        except FileExistsError:
            pass
        except OSError as error:
            raise _cannot_write(path, error) from error
        try:
            return os.open(path, os.O_RDWR), False
        except FileNotFoundError:
            continue  # another writer made it and took it away again
        except OSError as error:
            raise _cannot_write(path, error) from error


def _cannot_write(path: Path, error: OSError) -> InputError:
    return InputError(
        f"expected a file that can be written, got {error.strerror}: {str(path)!r}; "
        "choose another path"
    )


def _is(handle: int, path: Path) -> bool:
    """Whether the path still leads to the open file.

    Asked by opening it: network file systems may answer other questions from memory.
    """
    try:
        now = os.open(path, os.O_RDONLY)
    except OSError:
        return False
    try:
        return os.path.sameopenfile(handle, now)
    finally:
        os.close(now)


@contextmanager
def _by_name(path: Path) -> Iterator[None]:
    """Hold a name beside the file: for Windows, where a file that is open cannot be replaced."""
    name = path.with_name(f".steadytree-{path.name}.lock")
    # Windows takes away a temporary file with the process that made it, however that ends.
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_TEMPORARY", 0)
    while True:
        try:
            handle = os.open(name, flags)
            break
        except OSError as error:
            if not isinstance(error, FileExistsError) and not name.exists():
                raise _cannot_write(path, error) from error
            time.sleep(_PAUSE)
    try:
        yield
    finally:
        os.close(handle)
        name.unlink(missing_ok=True)
