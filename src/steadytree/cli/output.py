"""Where words go: results to standard output, everything else to standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import click

from steadytree.core.format import plain_json
from steadytree.evaluation.gates import GateCheck

__all__ = ["SCHEMA_VERSION", "Output", "error_document"]

SCHEMA_VERSION = 1
"""Of the JSON that ``--json`` prints; entries are added within a version, never changed."""


def error_document(error: Exception, code: int, message: str) -> str:
    """Return what ``--json`` prints when a command fails."""
    content = {"type": type(error).__name__, "message": message, "exit_code": code}
    return json.dumps({"schema_version": SCHEMA_VERSION, "error": content}, ensure_ascii=False)


class Output:
    """Print a command's results and progress as the user asked for them.

    Parameters
    ----------
    command : str
        Name of the command, named in its JSON.
    as_json : bool
        Print one JSON document instead of text.
    verbosity : int
        -1 quiet (results only), 0 normal, 1 more.
    """

    def __init__(self, command: str, *, as_json: bool, verbosity: int) -> None:
        self.command, self.as_json, self.verbosity = command, as_json, verbosity

    @property
    def quiet(self) -> bool:
        """Whether only the result was asked for."""
        return self.verbosity < 0

    def say(self, text: str, *, level: int = 0) -> None:
        """Tell the user something on standard error."""
        if self.verbosity >= level:
            click.echo(text, err=True)

    def result(self, text: str, document: Mapping[str, Any], *, exit_code: int = 0) -> None:
        """Print the result: the text, or the document as JSON."""
        if not self.as_json:
            click.echo(text)
            return
        head = {"schema_version": SCHEMA_VERSION, "command": self.command, "exit_code": exit_code}
        content = {**head, **{k: plain_json(v) for k, v in document.items()}}
        click.echo(json.dumps(content, allow_nan=False, ensure_ascii=False, indent=1))

    def say_gates(self, check: GateCheck) -> None:
        """Tell how many gates did not hold, if any."""
        if not check.passed:
            self.say(f"{len(check.failed)} of {len(check.results)} gates did not hold")

    @contextmanager
    def progress(self, label: str) -> Iterator[Any]:
        """Show progress on standard error: a bar on a terminal, else plain lines.

        Yields a function ``report(step, done, total)``.
        """
        if self.quiet:
            yield lambda step, done, total: None
            return
        if not sys.stderr.isatty():

            def plain(step: str, done: int, total: int) -> None:
                click.echo(f"{label}: {done}/{total} {step}", err=True)

            yield plain
            return
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task(label, total=None)

            def report(step: str, done: int, total: int) -> None:
                bar.update(task, description=f"{label}: {step}", completed=done, total=total)

            yield report
