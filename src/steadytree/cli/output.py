"""Where a command's words go: results to standard output, everything else to standard error.

What is printed holds names and messages out of files, so nothing of it may act on the terminal
or on a log (:func:`steadytree._text.harmless`). With ``--json`` exactly one document goes
to standard output, whatever happens.

This module imports nothing that takes time: an interrupt while the others are imported is told
through it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from steadytree._progress import check_interrupt, interrupts_wait, stopped_by
from steadytree._text import harmless, harmless_json
from steadytree.exceptions import WriteError

SCHEMA_VERSION = 1
"""Of the JSON that ``--json`` prints; entries are added within a version, never changed."""
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


class Output:
    """Print a command's results and progress as the user asked for them.

    ``verbosity``: -1 quiet (results only), 0 normal, 1 more.
    """

    def __init__(self, command: str, *, as_json: bool, verbosity: int) -> None:
        self.command, self.as_json, self.verbosity = command, as_json, verbosity
        begin()

    @property
    def quiet(self) -> bool:
        """Whether only the result was asked for."""
        return self.verbosity < 0

    def say(self, text: str) -> None:
        """Tell the user something on standard error."""
        if not self.quiet:
            tell(text)

    def result(self, text: str, document: Mapping[str, Any], *, exit_code: int = 0) -> None:
        """Print the result: the text, or the document as JSON."""
        if not self.as_json:
            show(text)
            return
        from steadytree.tree.json import plain_json

        head = {"schema_version": SCHEMA_VERSION, "command": self.command, "exit_code": exit_code}
        print_document({**head, **{k: plain_json(v) for k, v in document.items()}})

    @contextmanager
    def progress(self, label: str) -> Iterator[Any]:
        """Show progress on standard error: a bar on a terminal, else plain lines.

        Yields a function ``report(step, done, total)``.
        """
        if self.quiet:
            yield lambda step, done, total: check_interrupt()
            return
        if not sys.stderr.isatty():

            def plain(step: str, done: int, total: int) -> None:
                check_interrupt()
                tell(f"{label}: {done}/{total} {step}")

            yield plain
            return
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        words = TextColumn("{task.description}", markup=False)
        columns = (words, BarColumn(), TimeElapsedColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task(label, total=None)

            def report(step: str, done: int, total: int) -> None:
                check_interrupt()
                words = harmless(f"{label}: {step}")
                bar.update(task, description=words, completed=done, total=total)

            yield report
