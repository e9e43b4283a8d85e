"""Bytes and JSON from strangers: a value or our own error, in bounded time and memory.

Only regular files are read: a device or a pipe may never end, or keep whoever opens it waiting.
JSON is read once and for all here: an entry that is said twice would be read one way by us and
another way by the next program, so it is refused.
"""

from __future__ import annotations

import errno
import importlib.util
import json
import os
import re
import secrets
import shutil
import socket
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn

from steadytree._text import cut, quoted
from steadytree.exceptions import InputError, TreeFormatError, WriteError

# -- How large a tree, a space or a model file may be: small files ask for no long work --
# Far above what anybody could read and far below what would fill a machine. Each number is stated
# in the documentation (docs/guide/limits.md), which a test holds against this module.

MAX_FILE_BYTES = 256 * 2**20
"""Size of the largest model file that is read."""
MAX_NODES = 1_000_000
"""Nodes of a tree in a file, leaves included."""
MAX_DEPTH = 1_000
"""Levels of a tree below its root."""
MAX_FEATURES = 1_000_000
"""Features of a tree or a space."""
MAX_UNLISTED_FEATURES = 200_000
"""Features that a file counts without listing them, so that a few bytes stay cheap."""
MAX_CATEGORIES = 250_000
"""Categories of one feature."""
MAX_CATEGORY_CELLS = 10_000_000
"""Categories summed over all splits by category: what deciding with them keeps in memory."""
MAX_CLASSES = 100_000
"""Classes of a tree."""
MAX_VALUE_CELLS = 50_000_000
"""Nodes times classes: the shares that a tree in a file keeps in memory, 8 bytes each."""
MAX_TEXT = 100_000
"""Characters of the name of a feature, of a class or of a category."""
MAX_JSON_DEPTH = 500
"""Lists and objects inside one another in a JSON file or in metadata."""
MAX_MATCHING_BYTES = 6 * 2**30
"""Memory that comparing one pair of trees may take: 24 bytes for each pair of their rules."""


def check_size(count: int, most: int, what: str) -> None:
    """Refuse more of something than a tree, a space or a file may have."""
    if count > most:
        raise TreeFormatError(f"expected at most {most:,} {what}, got {count:,}")


def check_feature_count(count: int, *, listed: bool) -> None:
    """Refuse more features than a tree may have; fewer where the file does not list them.

    A number costs nothing to write, and a feature for each of its units much to keep.
    """
    most = MAX_FEATURES if listed else MAX_UNLISTED_FEATURES
    if not 0 <= count <= most:
        raise TreeFormatError(
            f"expected {'' if listed else 'names of the features, or '}0 to {most:,} features, "
            f"got {quoted(count)}"
        )


def check_matching(rules: int, others: int, what: str = "rules") -> None:
    """Refuse to compare trees that would fill the memory, before anything is laid out."""
    need = 3 * 8 * rules * others
    if need > MAX_MATCHING_BYTES:
        raise InputError(
            f"expected trees that can be compared in {MAX_MATCHING_BYTES / 2**30:.0f} GiB of "
            f"memory, got {rules:,} rules against {others:,} {what}, which would take "
            f"{need / 2**30:.1f} GiB; compare smaller trees, for example tree.truncate(max_depth)"
        )


def check_texts(values: Iterable[Any], what: str) -> None:
    """Refuse names that nobody could read, or that no file could hold."""
    for value in values:
        if not isinstance(value, str):
            continue
        if len(value) > MAX_TEXT:
            raise TreeFormatError(
                f"expected {what} of at most {MAX_TEXT:,} characters, got {quoted(value)}"
            )
        if not value.isascii():
            try:
                value.encode()
            except UnicodeEncodeError:
                raise TreeFormatError(
                    f"expected {what} that can be written as UTF-8, got half a character in "
                    f"{quoted(value)}; rename it"
                ) from None


def check_value_cells(n_nodes: int, n_classes: int) -> None:
    """Refuse shares that would fill the memory, before they are laid out."""
    if n_nodes * n_classes > MAX_VALUE_CELLS:
        raise TreeFormatError(
            f"expected at most {MAX_VALUE_CELLS:,} shares in a tree, got {n_nodes:,} nodes with "
            f"{n_classes:,} classes, which would take {8 * n_nodes * n_classes / 2**30:.1f} GiB"
        )


# -- Write files whole or not at all, and take away what killed writers left --
# A reader must never meet half a file, a power cut must not undo what was reported as written, and
# a file that somebody protected (by its mode, or by linking to it) must stay what it was. So the
# bytes go to a temporary file beside the target, which then takes its name in one step. The writer
# holds a lock on its temporary; whoever finds one without a lock knows that its writer is gone.

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


def write_atomic(path: str | os.PathLike[str], text: str | bytes) -> Path:
    """Write ``text`` to ``path`` so that a reader never sees half of it.

    A file that is there keeps its mode and, where the system allows, its owner and group; a
    link is followed, so the file it points to is replaced and the link stays.

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
                _take_over_rights(file.fileno(), target)
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


def _take_over_rights(handle: int, target: Path) -> None:
    """Give the new file the rights of one that is there, else those of any new file."""
    try:
        old = target.stat()
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


# -- One writer at a time: hold a file from reading it until it is replaced --
# Two processes that read a file, add something and write it whole would each undo what the other
# added. The lock is on the file itself, so it is one lock whatever path or link leads there, it
# reaches over network file systems, ends with the process that holds it, and leaves nothing behind.

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
        handle, is_new = _exclusive_open(path)
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
                if is_new and _is(handle, path) and os.fstat(handle).st_size == 0:
                    path.unlink()
            return
        finally:
            # Said aloud: a process forked meanwhile has the file open as well.
            with suppress(OSError):
                fcntl.flock(handle, fcntl.LOCK_UN)
            os.close(handle)


def _exclusive_open(path: Path) -> tuple[int, bool]:
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


# -- bytes and JSON from strangers -------------------------------------------------------------

_HALF_CHARACTER = re.compile(r"\\u[dD][89a-fA-F]")
_PERHAPS_INFINITE = re.compile(r"[eE]\+?[0-9]{3}|[0-9]{300}")
_SHOWN = 200
_PIECE = 2**20
_OPENING = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def read_bytes(
    path: str | os.PathLike[str],
    max_bytes: int = MAX_FILE_BYTES,
    *,
    most: int | None = None,
    what: str = "model file",
) -> bytes:
    """Return what a regular file holds, if it is not larger than it may be.

    Parameters
    ----------
    path : path-like
    max_bytes : int
        More is refused.
    most : int, optional
        Read only so many bytes from the beginning, whatever the size.
    what : str
        How messages call the file.
    """
    try:
        # Without waiting for whoever writes into a pipe; files know no such waiting.
        handle = os.open(path, _OPENING)
        try:
            mode = os.fstat(handle).st_mode
            if not stat.S_ISREG(mode):
                got, mend = "a pipe or a device", "save what it holds to a file first"
                if stat.S_ISDIR(mode):
                    got, mend = "a folder", "name a file in it"
                raise TreeFormatError(f"expected a readable {what}, got {got}: {path}; {mend}")
            content = _read_up_to(handle, max_bytes + 1 if most is None else most)
        finally:
            os.close(handle)
    except OSError as error:
        raise TreeFormatError(
            f"expected a readable {what}, got {error.strerror}: {path}"
        ) from error
    except TreeFormatError:
        raise
    except ValueError as error:  # a path with a zero byte
        raise TreeFormatError(f"expected a readable {what}, got {error}: {quoted(path)}") from None
    if most is None and len(content) > max_bytes:
        raise TreeFormatError(f"{path}: expected a file of at most {max_bytes:,} bytes, got more")
    return content


def _read_up_to(handle: int, most: int) -> bytes:
    """Read in pieces: the size that a file claims may be wrong, and few are as large as allowed."""
    pieces, left = [], most
    while left > 0 and (piece := os.read(handle, min(left, _PIECE))):
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)


def parse_json(content: bytes | str, *, constants: bool = True) -> Any:
    """Return what JSON says, or raise an error that says what is wrong and where.

    Entries that are said twice, numbers beyond double precision, halves of characters and
    very deep nesting are refused.

    Parameters
    ----------
    content : bytes or str
        Bytes are UTF-8, with or without the mark at the beginning.
    constants : bool
        Whether NaN and Infinity, which JSON does not have, are let through to the caller.
    """
    try:
        # Strictly: json itself would let halves of characters pass.
        text = content if isinstance(content, str) else content.decode("utf-8-sig")
        found = json.loads(
            text,
            object_pairs_hook=_object,
            parse_constant=None if constants else _no_constant,
            # The plain function is ten times as quick, and few files hold such a number.
            parse_float=_finite if _PERHAPS_INFINITE.search(text) else None,
        )
    except json.JSONDecodeError as error:
        raise TreeFormatError(
            f"expected JSON, got {error.msg} at line {error.lineno}, column {error.colno}; "
            "the file may be cut off"
        ) from None
    except UnicodeDecodeError as error:
        raise TreeFormatError(f"expected JSON in UTF-8, got other bytes at {error.start}") from None
    except RecursionError:
        raise _too_deep() from None
    except TreeFormatError:
        raise
    except ValueError as error:
        raise TreeFormatError(f"expected JSON of a model, got {cut(str(error), _SHOWN)}") from None
    check_json_depth(found)
    if _HALF_CHARACTER.search(text):
        _refuse_half_characters(found)
    return found


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise TreeFormatError(
            f"expected every entry of a JSON object once, got {quoted(twice)} twice; "
            "keep the one that is meant"
        )
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f'the invalid JSON number {name} (write "inf", "-inf" or "nan" as text)')


def _finite(text: str) -> float:
    value = float(text)
    if value - value != 0:
        raise TreeFormatError(
            f"expected numbers in double precision, got {cut(text, 40)}; numbers end near 1.8e308"
        )
    return value


def check_json_depth(content: Any, what: str = "JSON") -> None:
    """Refuse lists and objects nested so deeply that other programs stumble over them."""
    level, depth = [content], 0
    while level := [item for item in level if isinstance(item, (dict, list, tuple))]:
        depth += 1
        if depth > MAX_JSON_DEPTH:
            raise _too_deep(what)
        level = [
            inner
            for item in level
            for inner in (item.values() if isinstance(item, dict) else item)
            if isinstance(inner, (dict, list, tuple))
        ]


def _too_deep(what: str = "JSON") -> TreeFormatError:
    return TreeFormatError(
        f"expected {what} of at most {MAX_JSON_DEPTH} levels, "
        "got lists or objects nested too deeply"
    )


def _refuse_half_characters(content: Any) -> None:
    waiting = [content]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            try:
                item.encode()
            except UnicodeEncodeError:
                raise TreeFormatError(
                    f"expected JSON of whole characters, got half of one in {quoted(item)}"
                ) from None
        elif isinstance(item, dict):
            waiting += [*item, *item.values()]
        elif isinstance(item, list):
            waiting += item
