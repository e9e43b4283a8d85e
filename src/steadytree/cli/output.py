"""Where a command's words go: to standard output, to standard error, or to the ``--out`` folder.

Results go to standard output, everything else to standard error. The files of a run are all there
or none is (:mod:`steadytree.cli.run_folder`).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd

from steadytree._io import write_atomic
from steadytree._progress import check_interrupt, interrupts_wait
from steadytree._text import harmless, harmless_cell
from steadytree.cli.run_folder import REFUSED_TREE, TREE, RunFolder
from steadytree.cli.terminal import SCHEMA_VERSION, begin, print_document, show, tell
from steadytree.evaluation.plan_check import PlanCheck
from steadytree.exceptions import MissingDependencyError
from steadytree.tree.json import plain_json, save_tree
from steadytree.tree.tree import Tree


def flips_text(table: pd.DataFrame) -> str:
    """Write a table of changed decisions by subgroup."""
    words: str = table.to_string(float_format=lambda v: f"{v:.3f}")
    return words


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
        head = {"schema_version": SCHEMA_VERSION, "command": self.command, "exit_code": exit_code}
        print_document({**head, **{k: plain_json(v) for k, v in document.items()}})

    def say_plan(self, check: PlanCheck) -> None:
        """Tell how many clauses of a plan did not hold, if any."""
        if not check.held:
            self.say(f"{len(check.not_held)} of {len(check.clauses)} clauses did not hold")

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


class OutFolder:
    """The files of one run; checked before the work. Without a folder nothing is written.

    ``names`` are the files that may be written, ``inputs`` those that the run reads, ``options``
    what the manifest says about it. Nothing is there before :meth:`finish`.
    """

    def __init__(
        self,
        folder: Path | None,
        output: Output,
        *,
        names: Sequence[str] = (),
        inputs: Mapping[str, Path] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.folder, self.output, self.options = folder, output, dict(options or {})
        names = (*names, REFUSED_TREE) if TREE in names else tuple(names)
        self._run = (
            None if folder is None else RunFolder(folder, output.command, names, inputs or {})
        )

    def __enter__(self) -> OutFolder:
        return self

    def __exit__(self, *_: object) -> None:
        if self._run is not None:
            self._run.discard()

    @property
    def files(self) -> list[str]:
        """The files of the run, under the names that they have in the end."""
        if self.folder is None or self._run is None:
            return []
        return [str(self.folder / name) for name in self._run.files]

    def finish(self, exit_code: int = 0) -> None:
        """Let all files take their names at once, and say so; an interrupt waits for it."""
        if self._run is None:
            return
        with interrupts_wait():
            self._run.finish(exit_code, self.options)
        for file in self.files:
            self.output.say(f"wrote {file}")

    def _write(self, name: str, write: Callable[[Path], Any]) -> None:
        if self._run is not None:
            self._run.write(name, write)

    def text(self, name: str, text: str) -> None:
        """Write a text file."""
        self._write(name, lambda path: write_atomic(path, text.removesuffix("\n") + "\n"))

    def document(self, name: str, content: Mapping[str, Any]) -> None:
        """Write a JSON file."""
        self.text(name, json.dumps(plain_json(content), ensure_ascii=False, indent=1))

    def table(self, name: str, frame: pd.DataFrame) -> None:
        """Write a CSV file; no cell of it is a formula to a spreadsheet."""
        flat = frame.map(lambda v: "; ".join(map(str, v)) if isinstance(v, tuple) else v)
        safe = flat.map(harmless_cell).rename(index=harmless_cell, columns=harmless_cell)
        self.text(name, safe.to_csv())

    def tree(self, tree: Tree, *, accepted: bool = True) -> None:
        """Write the tree; under another name if the plan refused it, so that nobody deploys it."""
        self._write(TREE if accepted else REFUSED_TREE, lambda path: save_tree(tree, path))

    def report(self, name: str, subject: Any, **options: Any) -> None:
        """Write the HTML report of something that has one; say so where it cannot be made."""
        if self.folder is None:
            return
        try:
            from steadytree.views import write_report

            self._write(name, lambda path: write_report(subject, path, **options))
        except MissingDependencyError as error:
            self.output.say(f"no report: {error}")
