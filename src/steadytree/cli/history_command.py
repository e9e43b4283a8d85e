"""``steadytree history``: look at a history, and check that nobody changed it."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace

import pandas as pd

from steadytree.cli.output import Output
from steadytree.exceptions import InputError, PlanError
from steadytree.retraining.history import History
from steadytree.tree.words import clean

_SHOWN = {
    "date": "date",
    "status": "status",
    "decided_by": "by",
    "n_leaves": "leaves",
    "dissimilarity_to_previous": "moved",
    "dissimilarity_to_first": "from the first",
}
_SHOWN_TOO = {"reason": "reason", "note": "note"}


def show(options: SimpleNamespace, output: Output) -> None:
    """Print the versions of a history, who decided about them, and which is in force."""
    file = _existing(options.file)
    history = History(file)
    lines = [] if output.quiet else [f"{file}: {_in_force(history)}", f"head: {history.head}"]
    if len(history):
        lines += ["", _table(history.versions, more=output.verbosity > 0)]
    document = {
        "file": str(file),
        "current": history.current,
        "head": history.head,
        "versions": history.versions,
    }
    output.result("\n".join(lines), document)


def verify(options: SimpleNamespace, output: Output) -> int:
    """Check that every line of a history is what was written."""
    file = _existing(options.file)
    check = History(file).verify(options.head)
    code = 0 if check.ok else PlanError.exit_code
    lines = [f"{'intact' if check.ok else 'not intact'}: {check.message}"]
    if check.head is not None:
        lines.append(f"head: {check.head}")
    output.result("\n".join(lines), {"file": str(file), **asdict(check)}, exit_code=code)
    return code


def _existing(file: Path) -> Path:
    if not file.exists():
        raise InputError(
            f"expected a history file, got none: {file}; "
            "`steadytree retrain --history` or History.append makes one"
        )
    return file


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
