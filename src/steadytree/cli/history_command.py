"""``steadytree history``: look at a history, and check that nobody changed it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
import pandas as pd

from steadytree.cli.options import FILE, example, options_in_order
from steadytree.cli.output import Output
from steadytree.exceptions import HistoryError, InputError
from steadytree.retraining.history import History
from steadytree.retraining.history_chain import NO_HEAD, UNREADABLE
from steadytree.tree.words import clean

NOT_INTACT = 3
_SHOWN = {
    "date": "date",
    "status": "status",
    "decided_by": "by",
    "n_leaves": "leaves",
    "dissimilarity_to_previous": "moved",
    "dissimilarity_to_first": "from the first",
}
_SHOWN_TOO = {"reason": "reason", "note": "note"}


@click.group("history", epilog=example("steadytree history verify tree.history.jsonl"))
def command() -> None:
    """Look at the history of a deployed tree, or check it."""


def _about_a_file(name: str) -> Callable[[Callable[..., Any]], Any]:
    """Add the history FILE and the usual options; the command is called with ``output``."""

    def decorate(function: Callable[..., Any]) -> Any:
        @functools.wraps(function)
        def call(*, file: Path, as_json: bool, quiet: bool, verbose: bool, **given: Any) -> Any:
            if not file.exists():
                raise InputError(
                    f"expected a history file, got none: {file}; "
                    "`steadytree retrain --history` or History.append makes one"
                )
            output = Output(f"history {name}", as_json=as_json, verbosity=verbose - quiet)
            return function(file=file, output=output, **given)

        return options_in_order(
            click.argument("file", metavar="FILE", type=FILE),
            click.option("--json", "as_json", is_flag=True, help="Print one JSON document."),
            click.option("-q", "--quiet", is_flag=True, help="Only the result."),
            click.option("-v", "--verbose", is_flag=True, help="Say more."),
        )(call)

    return decorate


@command.command("show", epilog=example("steadytree history show tree.history.jsonl -v"))
@_about_a_file("show")
@click.option("--unverified", is_flag=True, help="Show a file whose digests do not fit, too.")
def show(file: Path, output: Output, unverified: bool) -> None:
    """Print the versions in FILE, who decided about them, and which is in force."""
    history = History.open(file, verify=not unverified)
    check = history.verify()
    lines = [] if output.quiet else [f"{file}: {_in_force(history)}", check.message]
    if not output.quiet and check.head is not None:
        lines.append(f"head: {check.head}")
    if len(history):
        lines += ["", _table(history.versions, more=output.verbosity > 0)]
    document = {
        "file": str(file),
        "current": history.current,
        "head": check.head,
        "intact": check.ok,
        "message": check.message,
        "versions": history.versions,
    }
    output.result("\n".join(lines), document)


@command.command(
    "verify",
    epilog=example("steadytree history verify tree.history.jsonl --head 3f1c5b9e07d2a864"),
)
@_about_a_file("verify")
@click.option(
    "--head",
    metavar="DIGEST",
    help="A head that was noted earlier, or its first 16 digits: its line must still be there.",
)
def verify(file: Path, output: Output, head: str | None) -> int:
    """Check that every line of FILE is what was written. Ends with code 3 if not."""
    check = History(file).verify(head)
    if check.kind in (UNREADABLE, NO_HEAD):
        raise HistoryError(check.message)
    code = 0 if check.ok else NOT_INTACT
    lines = [f"{'intact' if check.ok else 'not intact'}: {check.message}"]
    if check.head is not None:
        lines.append(f"head: {check.head}")
    output.result("\n".join(lines), {"file": str(file), **asdict(check)}, exit_code=code)
    return code


def _in_force(history: History) -> str:
    count = f"{len(history)} version{'' if len(history) == 1 else 's'}"
    if history.current is None:
        return f"{count}, none in force"
    return f"{count}, version {history.current} in force"


def _table(versions: pd.DataFrame, *, more: bool) -> str:
    """Return the versions as a table for a terminal, the one in force with a star."""
    names = _SHOWN | _SHOWN_TOO if more else _SHOWN
    scores = [str(name) for name in versions if more and str(name).startswith("score_")]
    shown = versions[[*names, *scores]].astype(object)
    for name in ("dissimilarity_to_previous", "dissimilarity_to_first"):
        shown[name] = [None if pd.isna(v) else f"{100 * v:.1f} %" for v in versions[name]]
    shown = shown.fillna("").map(lambda cell: clean(cell) if str(cell) else "")
    names |= {score: score.removeprefix("score_") for score in scores}
    index = [f"{n} *" if current else f"{n}  " for n, current in versions["current"].items()]
    return str(shown.rename(columns=names).set_axis(index).to_string())
