"""Write files whole or not at all, and take away what killed writers left.

A reader must never meet half a file, a power cut must not undo what was reported as written, and
a file that somebody protected (by its mode, or by linking to it) must stay what it was. So the
bytes go to a temporary file beside the target, which then takes its name in one step. The writer
holds a lock on its temporary; whoever finds one without a lock knows that its writer is gone.
"""

from __future__ import annotations

import errno
import importlib.util
import os
import re
import secrets
import shutil
import socket
import stat
import time
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from steadytree.exceptions import InputError, WriteError

__all__ = [
    "check_writable",
    "claim_temporary",
    "sync_folder",
    "temporary_name",
    "tidy_temporaries",
    "write_atomic",
]

_TEMPORARY = re.compile(r"\.steadytree-.*\.(?P<host>[0-9A-Za-z-]*)\.\d+\.[0-9a-f]{8}\.tmp")
_CAN_LOCK = importlib.util.find_spec("fcntl") is not None
"""Not so on Windows, which refuses to delete a file that is open."""
_NEW_FILE = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
_DAY = 24 * 60 * 60.0
_BAD_PLACE = {
    getattr(errno, name)
    for name in ("EACCES", "EPERM", "EROFS", "ENOENT", "ENOTDIR", "EISDIR", "ELOOP", "ENAMETOOLONG")
}
_FULL = {getattr(errno, name, errno.ENOSPC) for name in ("ENOSPC", "EDQUOT", "EFBIG")}

_tidied: set[tuple[int, Path]] = set()


def write_atomic(
    path: str | os.PathLike[str], text: str | bytes, *, like: Path | None = None
) -> Path:
    """Write ``text`` to ``path`` so that a reader never sees half of it.

    A file that is there keeps its mode and, where the system allows, its owner and group; a
    link is followed, so the file it points to is replaced and the link stays. A new file has
    the rights of the file ``like``, if that is given.

    Returns
    -------
    Path
        As given.

    Raises
    ------
    InputError
        The place cannot be written: no such folder, no right, a read-only file.
    WriteError
        Writing began and failed: the disk is full. What was there before is untouched.
    """
    target = check_writable(path)
    data = text.encode("utf-8") if isinstance(text, str) else text
    _tidy_once(target.parent)
    temporary: Path | None = None
    try:
        handle, temporary = _new_temporary(target)
        with os.fdopen(handle, "wb") as file:
            try:
                file.write(data)
                file.flush()
                _take_over_rights(file.fileno(), like or target)
                os.fsync(file.fileno())
                if _CAN_LOCK:  # still open, so the lock guards it to the end
                    os.replace(temporary, target)
            finally:
                # Said aloud: a process forked meanwhile has the file open as well.
                _unlock(file.fileno())
        if not _CAN_LOCK:  # Windows cannot rename a file that is open
            os.replace(temporary, target)
        sync_folder(target.parent)
    except BaseException as error:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):
            _refuse(target, error)
        raise
    return Path(path)


def check_writable(path: str | os.PathLike[str]) -> Path:
    """Say before the work whether a file can be written there.

    Returns
    -------
    Path
        The file itself, links followed.

    Raises
    ------
    InputError
        Saying what is in the way.
    """
    target = Path(path)
    try:
        found = target.stat()
        mode = found.st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    except FileNotFoundError:
        mode = None  # a new file, or a link to one
    except (OSError, ValueError) as error:
        _refuse(target, error)
    target = Path(os.path.realpath(target))
    if mode is not None and not stat.S_ISREG(mode):
        raise InputError(
            f"expected the name of a file, got a device or pipe: {str(target)!r}; choose another "
            "path"
        )
    # Asked of the mode, since the superuser may write everywhere.
    if mode is not None and not (mode & 0o222 and os.access(target, os.W_OK)):
        raise InputError(
            f"expected a file that may be written, got a read-only one: {str(target)!r}; choose "
            "another path, or allow it with chmod u+w"
        )
    folder = target.parent
    if not folder.is_dir():
        _refuse(target, FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT)))
    if not os.access(folder, os.W_OK | os.X_OK):
        _refuse(target, PermissionError(errno.EACCES, os.strerror(errno.EACCES)))
    return target


def _refuse(target: Path, error: OSError | ValueError) -> NoReturn:
    """Raise our own error: about the place if that is to blame, else about the writing."""
    reason = getattr(error, "strerror", None) or str(error)
    if isinstance(error, ValueError) or error.errno in _BAD_PLACE:
        raise InputError(
            f"expected a place that can be written for {str(target)!r}, got {reason}; "
            "create the folder or choose another path"
        ) from error
    mend = "make room" if error.errno in _FULL else "try again"
    raise WriteError(
        f"expected to write {str(target)!r}, got {reason}; {mend} or choose another path"
    ) from error


def _take_over_rights(handle: int, like: Path) -> None:
    """Give the new file the rights of one that is there, else those of any new file."""
    try:
        old = like.stat()
    except FileNotFoundError:
        umask = os.umask(0)
        os.umask(umask)
        mode = 0o666 & ~umask
    else:
        mode = stat.S_IMODE(old.st_mode) & 0o777
        new = os.fstat(handle)
        if (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid) and hasattr(os, "fchown"):
            with suppress(PermissionError):  # only the superuser can give files away
                os.fchown(handle, old.st_uid, -1)
            try:
                os.fchown(handle, -1, old.st_gid)
            except PermissionError:
                mode &= ~0o070  # what one group could see is not for another
    if hasattr(os, "fchmod"):
        os.fchmod(handle, mode)


def sync_folder(folder: Path) -> None:
    """Make the new name survive a power cut, where the system can say so of a folder."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno in {errno.EIO, *_FULL}:
            raise
    finally:
        os.close(handle)


# -- temporaries -------------------------------------------------------------------------------


def _host() -> str:
    return re.sub("[^0-9A-Za-z-]", "-", socket.gethostname())[:64]


def temporary_name(name: str) -> str:
    """Return a name for what will become ``name``: ours, of this process, and new."""
    # Names may have 255 bytes, of which the rest takes at most 110.
    short = name.encode("utf-8", "replace")[:120].decode("utf-8", "ignore")
    return f".steadytree-{short}.{_host()}.{os.getpid()}.{secrets.token_hex(4)}.tmp"


def claim_temporary(path: Path) -> int:
    """Mark a temporary file or folder as in use until the returned descriptor is closed.

    Not for folders on Windows, which cannot open them.
    """
    handle = _open(path)
    _try_lock(handle)
    return handle


def _open(path: Path) -> int:
    # Network file systems lock only what is open for writing, and folders are never.
    return os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)


def _try_lock(handle: int) -> bool | None:
    """Return whether nobody else holds this; None where the file system cannot tell."""
    if not _CAN_LOCK:
        return None
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _unlock(handle: int) -> None:
    if _CAN_LOCK:
        import fcntl

        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_UN)


def _new_temporary(target: Path) -> tuple[int, Path]:
    while True:
        path = target.with_name(temporary_name(target.name))
        handle = os.open(path, _NEW_FILE, 0o600)
        # Somebody who tidies may have met it between its making and its lock.
        if _try_lock(handle) is not False and path.exists():
            return handle, path
        os.close(handle)


def tidy_temporaries(folder: str | os.PathLike[str]) -> list[Path]:
    """Remove temporary files and folders whose writer is no longer alive.

    Those of a living writer carry its lock and stay. Where locks do not reach (another
    machine, a file system without locks), only those untouched for a day are removed.

    Returns
    -------
    list of Path
        What was removed.
    """
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    removed = []
    for name in names:
        if (found := _TEMPORARY.fullmatch(name)) is not None:
            path = Path(folder, name)
            with suppress(OSError):  # gone meanwhile, or not ours to remove
                if _remove_abandoned(path, on_this_host=found["host"] == _host()):
                    removed.append(path)
    return removed


def _remove_abandoned(path: Path, *, on_this_host: bool) -> bool:
    if path.is_symlink():
        return False  # never one of ours
    handle = _open(path)
    try:
        free = _try_lock(handle)
        old = time.time() - path.stat().st_mtime > _DAY
        if free is False or not (old or (free and on_this_host)):
            return False
        if not _CAN_LOCK:  # Windows deletes nothing that is open, by us or by its writer
            os.close(handle)
            handle = -1
        # Under the lock, so that a writer that has just made it sees that it is gone.
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
    finally:
        if handle >= 0:
            os.close(handle)
    return True


def _tidy_once(folder: Path) -> None:
    """Tidy a folder at the first writing into it; not each time, since folders can be large."""
    key = (os.getpid(), folder)
    if key not in _tidied:
        _tidied.add(key)
        tidy_temporaries(folder)
