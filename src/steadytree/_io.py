"""Bytes and JSON from strangers: a value or our own error, in bounded time and memory.

Only regular files are read: a device or a pipe may never end, or keep whoever opens it waiting.
JSON is read once and for all here: an entry that is said twice would be read one way by us and
another way by the next program, so it is refused.
"""

from __future__ import annotations

import errno
import json
import os
import re
import secrets
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from steadytree._text import cut, quoted
from steadytree.exceptions import InputError, TreeFormatError, WriteError

# -- How large a tree, a space or a model file may be: small files ask for no long work --
# Far above what anybody could read and far below what would fill a machine. Each number is stated
# in the documentation (docs/guide/limits.md), which a test holds against this module.

PIECE = 2**20
"""Bytes read at once."""
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


# -- Write files whole or not at all --
# A reader must never meet half a file, a power cut must not undo what was reported as written, and
# a file that somebody protected (by its mode, or by linking to it) must stay what it was. So the
# bytes go to a temporary file beside the target, which then takes its name in one step.

_BAD_PLACE = {
    errno.EACCES,
    errno.EPERM,
    errno.EROFS,
    errno.ENOENT,
    errno.ENOTDIR,
    errno.EISDIR,
    errno.ELOOP,
    errno.ENAMETOOLONG,
}


def write_atomic(path: str | os.PathLike[str], text: str | bytes) -> Path:
    """Write ``text`` to ``path`` so that a reader never sees half of it.

    A file that is there keeps its mode and, where the system allows, its owner; a link is
    followed, so the file it points to is replaced and the link stays.

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
    temporary = target.with_name(f".steadytree-{secrets.token_hex(8)}.tmp")
    try:
        old = target.stat() if target.exists() else None
        mode = 0o666 if old is None else stat.S_IMODE(old.st_mode) & 0o777
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        with os.fdopen(os.open(temporary, flags, mode), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if old is not None:
            with suppress(OSError, AttributeError):  # only the superuser can give files away
                os.chown(temporary, old.st_uid, old.st_gid)
            os.chmod(temporary, mode)
        os.replace(temporary, target)
        sync_folder(target.parent)
    except BaseException as error:
        with suppress(OSError):
            temporary.unlink()
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
        target = Path(os.path.realpath(path))
        is_there = os.path.lexists(target)
        mode = target.stat().st_mode if is_there else stat.S_IFREG | 0o600
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not target.parent.is_dir():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        if not os.access(target.parent, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except (OSError, ValueError) as error:
        _refuse(target, error)
    if not stat.S_ISREG(mode):
        raise InputError(
            f"expected the name of a file, got a device or pipe: {str(target)!r}; choose another "
            "path"
        )
    # Asked of the mode, since the superuser may write everywhere.
    if not mode & 0o222 or (is_there and not os.access(target, os.W_OK)):
        raise InputError(
            f"expected a file that may be written, got a read-only one: {str(target)!r}; choose "
            "another path, or allow it with chmod u+w"
        )
    return target


def _refuse(target: Path, error: OSError | ValueError) -> NoReturn:
    """Raise our own error: about the place if that is to blame, else about the writing."""
    reason = getattr(error, "strerror", None) or str(error)
    if isinstance(error, ValueError) or error.errno in _BAD_PLACE:
        raise InputError(
            f"expected a place that can be written for {str(target)!r}, got {reason}; "
            "create the folder or choose another path"
        ) from error
    raise WriteError(
        f"expected to write {str(target)!r}, got {reason}; make room or choose another path"
    ) from error


def sync_folder(folder: Path) -> None:
    """Make the new name survive a power cut, where the system can say so of a folder."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Keep other writers of a file out from reading it until it is replaced.

    Two processes that read a file, add something and write it whole would each undo what the
    other added. The lock is on an empty file beside it, ``.NAME.lock``, which stays; it ends with
    the process that holds it. Windows has no such lock: there writers must take turns themselves.

    Parameters
    ----------
    path : Path
        The file itself, links followed.
    """
    try:
        import fcntl
    except ImportError:
        yield
        return
    try:
        lock = path.with_name(f".{path.name}.lock").open("ab")
        fcntl.flock(lock, fcntl.LOCK_EX)
    except OSError as error:
        raise InputError(
            f"expected a file that can be locked and written, got {error.strerror}: "
            f"{str(path)!r}; keep it on a local disk, in a folder that you may write to"
        ) from error
    with lock:
        try:
            yield
        finally:
            # Said aloud: a process forked meanwhile has the file open as well.
            fcntl.flock(lock, fcntl.LOCK_UN)


# -- bytes and JSON from strangers -------------------------------------------------------------

_HALF_CHARACTER = re.compile(r"\\u[dD][89a-fA-F]")
_PERHAPS_INFINITE = re.compile(r"[eE]\+?[0-9]{3}|[0-9]{300}")
_SHOWN = 200
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
        with open(path, "rb", opener=lambda name, _: os.open(name, _OPENING)) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise TreeFormatError(
                    f"expected a readable {what}, got a pipe or a device: {path}; save what it "
                    "holds to a file first"
                )
            content = _read_up_to(file, max_bytes + 1 if most is None else most)
    except OSError as error:
        got = "a folder" if isinstance(error, IsADirectoryError) else error.strerror
        raise TreeFormatError(f"expected a readable {what}, got {got}: {path}") from error
    except TreeFormatError:
        raise
    except ValueError as error:  # a path with a zero byte
        raise TreeFormatError(f"expected a readable {what}, got {error}: {quoted(path)}") from None
    if most is None and len(content) > max_bytes:
        raise TreeFormatError(f"{path}: expected a file of at most {max_bytes:,} bytes, got more")
    return content


def _read_up_to(file: BinaryIO, most: int) -> bytes:
    """Read in pieces: one call would take all the memory that a file might need."""
    pieces: list[bytes] = []
    while most > 0 and (piece := file.read(min(most, PIECE))):
        pieces.append(piece)
        most -= len(piece)
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
        try:
            json.dumps(found, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            raise TreeFormatError(
                f"expected JSON of whole characters, got half of one: {error.object[error.start]!r}"
            ) from None
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
    level = [content]
    for _ in range(MAX_JSON_DEPTH + 1):
        level = [item for item in level if isinstance(item, (dict, list, tuple))]
        if not level:
            return
        level = [
            inner for item in level for inner in (item.values() if isinstance(item, dict) else item)
        ]
    raise _too_deep(what)


def _too_deep(what: str = "JSON") -> TreeFormatError:
    return TreeFormatError(
        f"expected {what} of at most {MAX_JSON_DEPTH} levels, "
        "got lists or objects nested too deeply"
    )
