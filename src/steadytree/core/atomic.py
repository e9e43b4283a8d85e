"""Write files whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from steadytree.exceptions import InputError

__all__ = ["write_atomic"]


def write_atomic(path: str | os.PathLike[str], text: str | bytes) -> Path:
    """Write ``text`` to ``path`` so that a reader never sees half of it.

    The bytes go to a temporary file in the same folder, are flushed to disk, and take
    the final name in one step.
    """
    target = Path(path)
    data = text.encode("utf-8") if isinstance(text, str) else text
    try:
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except OSError as error:
        raise InputError(
            f"expected a folder that can be written for {str(target)!r}, got {error.strerror}; "
            "create the folder or choose another path"
        ) from error
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, target)
    except BaseException as error:
        Path(temporary).unlink(missing_ok=True)
        if not isinstance(error, OSError):
            raise
        raise InputError(
            f"expected to write {str(target)!r}, got {error.strerror}; "
            "make room or choose another path"
        ) from error
    return target
