"""Print: the one place through which every line of the command line reaches a stream.

What is printed holds names and messages out of files, so nothing of it may act on the terminal
or on a log (:func:`steadytree._text.harmless`). With ``--json`` exactly one document goes
to standard output, whatever happens.

This module imports nothing that takes time: an interrupt while the others are imported is told
through it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from steadytree._progress import interrupts_wait, stopped_by
from steadytree._text import harmless, harmless_json
from steadytree.exceptions import WriteError

SCHEMA_VERSION = 1
"""Of the JSON that ``--json`` prints; entries are added within a version, never changed."""


class _Printed:
    document = False


def begin() -> None:
    """Start a run: no document is printed yet."""
    _Printed.document = False


def show(text: str, *, err: bool = False) -> None:
    """Print a result, whose line breaks are ours."""
    _write(harmless(text), err=err)


def tell(text: str) -> None:
    """Print a message on standard error; what looks like more lines is set in."""
    _write(harmless(text.rstrip("\n")).replace("\n", "\n  "), err=True)


def print_document(content: Mapping[str, Any]) -> None:
    """Print the one JSON document of a run; a second one is left out."""
    if _Printed.document:
        return
    ascii_only = "utf" not in _encoding(sys.stdout).lower()
    text = harmless_json(content, ascii_only=ascii_only, indent=1)
    _Printed.document = True
    _write(text, err=False)


def print_error_document(kind: str, message: str, code: int) -> None:
    """Print the document of a run that failed."""
    error = {"type": kind, "message": message, "exit_code": code}
    print_document({"schema_version": SCHEMA_VERSION, "exit_code": code, "error": error})


def _encoding(stream: Any) -> str:
    return getattr(stream, "encoding", None) or "utf-8"


def _write(text: str, *, err: bool) -> None:
    stream = sys.stderr if err else sys.stdout
    # Whatever the locale: characters that it lacks are shown by their numbers.
    encoding = _encoding(stream)
    try:
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")
        stream.flush()
    except (OSError, AttributeError) as error:  # a stream that was closed before is None
        if err:
            return  # the work goes on, though nobody listens
        if isinstance(error, BrokenPipeError):
            raise
        raise WriteError(
            "expected a standard output that can be written, got "
            f"{getattr(error, 'strerror', None) or 'a closed one'}; make room, or send it elsewhere"
        ) from error


def let_go() -> None:
    """Write nothing more to streams that cannot be written, not even when Python ends."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            try:
                stream.flush()
            except OSError:
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


# -- How a run of the command line ends: its exit code, and what is said when it was stopped --

SIGNALLED = 128
"""Added to a signal's number, as shells do."""
EXIT_CODES = {
    0: "done",
    1: "failed",
    2: "bad usage or input",
    3: "a clause of the plan did not hold, or could not be judged",
    130: "interrupted",
    143: "ended by SIGTERM",
}
"""What a command returns; 129 where its terminal closed."""


def interrupted(*, as_json: bool) -> int:
    """Say that the work was stopped, and return the exit code that tells by what."""
    with interrupts_wait():
        code = SIGNALLED + stopped_by()
        words = EXIT_CODES.get(code, "its terminal closed").capitalize()
        message = f"{words}; no file was left half written."
        tell(message)
        if as_json:
            print_error_document("KeyboardInterrupt", message, code)
        # Python ends as killed by the signal if an interrupt ever left code that was run from
        # text, as numba's is; running some forgets it.
        exec("")
    return code
