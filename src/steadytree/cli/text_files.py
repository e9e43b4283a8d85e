"""Bring the bytes of a text table into one form: unpacked, UTF-8, lines that end in a line feed.

A table comes from Excel with a byte order mark, from Windows in UTF-16, from an old export in
Latin-1, or packed. What says of itself how it is written is read; what does not is refused with
the line, instead of being read as other letters.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import lzma
import zipfile
import zlib
from pathlib import Path
from typing import Any

from steadytree.exceptions import InputError

__all__ = ["PACKED", "first_line_of", "line_at", "read_text_bytes"]

PACKED = (".gz", ".zip", ".bz2", ".xz")
MOST_UNPACKED = 100
"""A packed file that unpacks to more than this many times its size is refused ..."""
SMALL_UNPACKED = 256 << 20
"""... unless that is less than this many bytes."""

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def read_text_bytes(path: Path, encoding: str | None) -> bytes:
    """Return the text of a file as UTF-8 whose lines end in a line feed, the last one too."""
    content = _unpacked(path)
    mark, marked = next((m for m in _MARKS if content.startswith(m[0])), (b"", ""))
    if marked == "utf-8" and encoding in (None, "utf-8"):
        content = content[len(mark) :]
    elif marked or encoding not in (None, "utf-8"):
        try:
            text = content.decode(encoding or marked)
        except (UnicodeError, LookupError) as error:
            raise InputError(
                f"expected {encoding or marked} in {path}, got: {error}; name what it was written "
                "in with --encoding"
            ) from None
        content = text.removeprefix("\ufeff").encode("utf-8")
    at = content.find(b"\0")
    if at >= 0:
        raise InputError(
            f"expected text in {path}, got a NUL byte in line {line_at(content, at)}; it may be "
            "UTF-16 (say --encoding utf-16-le) or no text at all"
        )
    if b"\r" in content and b"\n" not in content:  # as old Macintoshes wrote
        content = content.replace(b"\r", b"\n")
    return content if content.endswith(b"\n") or not content else content + b"\n"


def line_at(content: bytes, offset: int) -> int:
    """Return the number of the line, from 1 on, that a byte is in."""
    return content.count(b"\n", 0, offset) + 1


def first_line_of(error: BaseException) -> str:
    """Return the first line of what a library says is wrong."""
    return (str(error).splitlines() or [type(error).__name__])[0]


def _unpacked(path: Path) -> bytes:
    name = path.name.lower()
    kind = next((suffix for suffix in PACKED if name.endswith(suffix)), None)
    if kind is None:
        return path.read_bytes()
    most = max(SMALL_UNPACKED, MOST_UNPACKED * path.stat().st_size)
    try:
        with _opened(path, kind) as file:
            content: bytes = file.read(most + 1)
    except (gzip.BadGzipFile, zlib.error, zipfile.BadZipFile, lzma.LZMAError, EOFError) as error:
        raise _not_packed(path, kind, error) from None
    except OSError as error:
        if error.errno is not None:
            raise
        raise _not_packed(path, kind, error) from None  # bz2 says it so
    if len(content) > most:
        raise InputError(
            f"expected a table in {path}, got a file that unpacks to more than {MOST_UNPACKED} "
            "times its size; unpack it first if that is right"
        )
    return content


def _not_packed(path: Path, kind: str, error: Exception) -> InputError:
    return InputError(
        f"expected a file packed as {kind} in {path}, got: {first_line_of(error)}; "
        "write it again, or name it after what it is"
    )


def _opened(path: Path, kind: str) -> Any:
    if kind == ".zip":
        archive = zipfile.ZipFile(path)
        members = [member for member in archive.namelist() if not member.endswith("/")]
        if len(members) != 1:
            raise InputError(
                f"expected one file inside {path}, got {len(members)}; unpack it and name the table"
            )
        return archive.open(members[0])
    opens: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
    return opens[kind](path, "rb")
