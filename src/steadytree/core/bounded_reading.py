"""Bytes and JSON from strangers: a value or our own error, in bounded time and memory.

Only regular files are read: a device or a pipe may never end, or keep whoever opens it waiting.
JSON is read once and for all here: an entry that is said twice would be read one way by us and
another way by the next program, so it is refused.
"""

from __future__ import annotations

import json
import os
import re
import stat
from typing import Any

from steadytree.core.limits import MAX_FILE_BYTES, MAX_JSON_DEPTH
from steadytree.core.quoting import cut, quoted
from steadytree.exceptions import TreeFormatError

__all__ = ["check_json_depth", "parse_json", "read_bytes"]

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
            _refuse_other_than_file(os.fstat(handle).st_mode, path, what)
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


def _refuse_other_than_file(mode: int, path: str | os.PathLike[str], what: str) -> None:
    if stat.S_ISREG(mode):
        return
    got = "a folder" if stat.S_ISDIR(mode) else "a pipe or a device"
    raise TreeFormatError(
        f"expected a readable {what}, got {got}: {path}; "
        + ("name a file in it" if stat.S_ISDIR(mode) else "save what it holds to a file first")
    )


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
