"""The files of one run in a folder: all of them or none, and a manifest that says so.

Files of two runs side by side (a new tree beside an old report) mislead whoever reads them. A run
collects its files in ``.steadytree-run`` inside the folder (so on the same disk), and only when
the last one is written do they take their names:

1. the collecting folder is renamed to ``.steadytree-finished``: from here on the run will be there;
2. the manifest of the run before is taken away, then its files that this run has not;
3. each new file takes its name, the tree last, and then the manifest.

Every step is one renaming, and a manifest stands only beside a whole run. A run that is killed
before the first leaves the folder as it was, one killed later is finished by the next run. Files of
others are never touched, and one run at a time writes into a folder.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd

from steadytree._io import (
    parse_json,
    read_bytes,
    sync_folder,
    write_atomic,
)
from steadytree._optional import CORE, library_versions
from steadytree._progress import interrupts_wait
from steadytree._text import harmless_cell, harmless_json, one_line
from steadytree.cli.output import Output
from steadytree.exceptions import InputError, PlanError, TreeFormatError
from steadytree.tree.json import plain_json, save_tree
from steadytree.tree.tree import Tree

MANIFEST = "manifest.json"
TREE = "tree.json"
REFUSED_TREE = "refused-tree.json"
"""Where a tree goes that a plan refused: no script that deploys ``tree.json`` takes it."""

FORMAT = "steadytree-run"
VERSION = 1
_RUN, _FINISHED = ".steadytree-run", ".steadytree-finished"
_BEFORE = "before.json"
"""Where the manifest of the run before goes while files take their names."""


# -- the manifest --------------------------------------------------------------------------------


def read_manifest(folder: Path, name: str = MANIFEST) -> dict[str, Any] | None:
    """Return the manifest in a folder; None where there is none.

    Raises
    ------
    InputError
        If a file of that name is there that no run wrote.
    """
    path = folder / name
    if not os.path.lexists(path):
        return None
    try:
        content = parse_json(read_bytes(path, what="manifest"))
        got = f"another file than a {FORMAT} of version {VERSION}"
    except TreeFormatError as error:
        content, got = None, str(error)
    if not (
        isinstance(content, dict)
        and content.get("format") == FORMAT
        and content.get("version") == VERSION
        and all(isinstance(content.get(name), str) for name in ("command", "finished"))
        and _is_listing(content.get("files"))
    ):
        raise InputError(
            f"expected no {MANIFEST} but one that a run wrote, got {got}: {path}; move it away or "
            "choose another folder"
        )
    return content


def _is_listing(files: Any) -> bool:
    """Whether this lists files by plain names: one that leads elsewhere would be followed."""
    return isinstance(files, dict) and all(
        name == os.path.basename(name) and not name.startswith(".") and isinstance(entry, dict)
        for name, entry in files.items()
    )


def _entry(path: Path) -> dict[str, Any]:
    """Return how a manifest lists a file."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"sha256": digest, "bytes": path.stat().st_size}


def _is_as_listed(path: Path, listed: Mapping[str, Any] | None) -> bool:
    if listed is None or path.is_symlink() or not path.is_file():
        return False
    return path.stat().st_size == listed.get("bytes") and _entry(path) == listed


def problems_of(folder: Path) -> list[str]:
    """Say what keeps a folder from being one whole run; nothing where it is one."""
    manifest = read_manifest(folder)
    if manifest is None:
        raise InputError(
            f"expected a folder with a {MANIFEST}, which every run with --out ends with, got none: "
            f"{folder}; a run that was stopped is finished by the next one with this --out"
        )
    out = []
    for name, listed in manifest["files"].items():
        if not os.path.lexists(folder / name):
            out.append(f"{name} is missing")
        elif not _is_as_listed(folder / name, listed):
            out.append(f"{name} is not the file that the run wrote")
    return out


# -- one run -------------------------------------------------------------------------------------


class RunFolder:
    """The files of one run on their way into a folder; what is in the way is found before the work.

    Nothing is there before :meth:`finish`, and without a folder nothing is written.

    Parameters
    ----------
    folder : Path or None
    command : str
        A folder holds one run of one command; the next run of it takes its place.
    names : sequence of str
        What the run may write.
    inputs : mapping of option to Path
        What the run reads, none of which it may replace.
    options : mapping
        How the command was called, for the manifest.
    output : Output, optional
        Where to tell which files were written.
    """

    def __init__(
        self,
        folder: Path | None,
        command: str,
        names: Sequence[str],
        inputs: Mapping[str, Path] | None = None,
        options: Mapping[str, Any] | None = None,
        output: Output | None = None,
    ) -> None:
        self.command, self.inputs, self.options = command, inputs or {}, options or {}
        self.names = (*names, REFUSED_TREE) if TREE in names else tuple(names)
        self.output = output or Output(command, as_json=False, verbosity=-1)
        self._written: list[str] = []
        self._lock: int | None = None
        self._is_asked, self.folder = folder is not None, folder or Path()
        if folder is None:
            return
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._lock = _locked(folder)
            if (folder / _FINISHED).is_dir():
                _take_names(folder)
            shutil.rmtree(folder / _RUN, ignore_errors=True)
            (folder / _RUN).mkdir()
        except OSError as error:
            raise InputError(
                f"expected a folder that can be written as --out, got {error.strerror}: {folder}; "
                "choose another"
            ) from None
        try:
            self._check()
        except InputError:
            self.discard()
            raise

    def __enter__(self) -> RunFolder:
        return self

    def __exit__(self, *_: object) -> None:
        self.discard()

    @property
    def files(self) -> list[str]:
        """The files of the run, under the names that they have in the end."""
        return [str(self.folder / name) for name in self._written]

    def _check(self) -> None:
        """Refuse what is in the way of the files of the run."""
        for name in (*self.names, MANIFEST):
            for option, given in self.inputs.items():
                if same_file(given, self.folder / name):
                    raise InputError(
                        f"expected another folder as --out than one where {name} is the file given "
                        f"as {option}, got {self.folder}: the run would replace what it reads; "
                        f"choose another, such as {self.folder / 'proposal'}"
                    )
        before = read_manifest(self.folder) or {"command": self.command, "files": {}}
        if before["command"] != self.command:
            raise InputError(
                f"expected a folder of its own as --out of {self.command}, got one that holds a "
                f"run of {before['command']}: {self.folder}; choose another"
            )
        for name in self.names:
            path, listed = self.folder / name, before["files"].get(name)
            if os.path.lexists(path) and not _is_as_listed(path, listed):
                why = "of yours" if listed is None else "that was changed since a run wrote it"
                raise InputError(
                    f"expected as {path} nothing or the file of an earlier run, got one {why}; "
                    "move it away or choose another folder as --out"
                )

    def write(self, name: str, write: Callable[[Path], Any]) -> None:
        """Let a function write a file, to the path it is given, that will have this name."""
        if not self._is_asked:
            return
        if name not in self.names:
            raise ValueError(f"{name} is not among the files that {self.command} declares")
        write(self.folder / _RUN / name)
        self._written.append(name)

    def text(self, name: str, text: str) -> None:
        """Write a text file."""
        self.write(name, lambda path: write_atomic(path, text.removesuffix("\n") + "\n"))

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
        self.write(TREE if accepted else REFUSED_TREE, lambda path: save_tree(tree, path))

    def report(self, name: str, subject: Any, **options: Any) -> None:
        """Write the HTML report of something that has one."""
        if self._is_asked:
            self.write(name, lambda path: subject.report(path, **options))

    def finish(self, exit_code: int = 0) -> None:
        """Let all files take their names at once, and say so; an interrupt waits for it."""
        with interrupts_wait():
            self._finish(exit_code)
        for file in self.files:
            self.output.say(f"wrote {file}")

    def _finish(self, exit_code: int) -> None:
        if not self._written:
            return
        staging = self.folder / _RUN
        # In the order of taking names: the tree last, when all that speaks of it is there.
        names = sorted(self._written, key=lambda name: name in (TREE, REFUSED_TREE))
        manifest = {
            "format": FORMAT,
            "version": VERSION,
            "command": self.command,
            "exit_code": exit_code,
            "accepted": exit_code == 0,
            "finished": datetime.now(UTC).isoformat(timespec="seconds"),
            "options": {name: _plain(value) for name, value in sorted(self.options.items())},
            "versions": library_versions(CORE),
            "files": {name: _entry(staging / name) for name in names},
        }
        write_atomic(staging / MANIFEST, harmless_json(manifest, indent=1) + "\n")
        self._check()
        os.rename(staging, self.folder / _FINISHED)
        _take_names(self.folder)

    def discard(self) -> None:
        """Remove what did not take its name, and let others write into the folder."""
        if self._is_asked:
            shutil.rmtree(self.folder / _RUN, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def _plain(value: Any) -> Any:
    """Return an option as JSON can hold it; halves of characters escaped."""
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if value is None or isinstance(value, (bool, int, float)):
        return value
    return str(value).encode("utf-8", "backslashreplace").decode()


def _take_names(folder: Path) -> None:
    """Do, or go on with, what remains of a finished run; each step may be the last."""
    finished = folder / _FINISHED
    manifest = read_manifest(finished)
    if manifest is not None:
        if (folder / MANIFEST).exists():
            os.replace(folder / MANIFEST, finished / _BEFORE)
            sync_folder(folder)
        before = read_manifest(finished, _BEFORE) or {"files": {}}
        for name, listed in before["files"].items():
            if name not in manifest["files"] and _is_as_listed(folder / name, listed):
                (folder / name).unlink()
        for name in manifest["files"]:
            if (finished / name).exists():
                os.replace(finished / name, folder / name)
        os.replace(finished / MANIFEST, folder / MANIFEST)
        sync_folder(folder)
    shutil.rmtree(finished)


def same_file(one: Path, two: Path) -> bool:
    """Whether two paths are one file: by whatever links and spellings, also if it is not there."""
    try:
        return os.path.samefile(one, two)
    except (OSError, ValueError):
        return os.path.realpath(one) == os.path.realpath(two)


def _locked(folder: Path) -> int | None:
    """Keep other runs out of a folder until the descriptor is closed, where the system can."""
    try:
        import fcntl
    except ImportError:
        return None
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise InputError(
            f"expected a folder as --out that no other run writes into, got one: {folder}; wait "
            "for that run, or choose another folder"
        ) from None
    except OSError:  # a file system without locks
        pass
    return handle


# -- ``steadytree verify``: whether a folder that ``--out`` wrote is one whole run ---------------


def verify(options: SimpleNamespace, output: Output) -> int:
    """Check that a folder holds one whole run, and that its plan held."""
    folder = options.folder
    problems = problems_of(folder)
    manifest = read_manifest(folder) or {}
    n_files = len(manifest["files"])
    accepted = bool(manifest.get("accepted"))
    ran = f"{one_line(manifest['command'])} of {one_line(manifest['finished'])}"
    shown = one_line(folder)
    lines = [f"{shown}: {n_files} file{'' if n_files == 1 else 's'} of one run ({ran})"]
    if problems:
        lines = [f"{shown}: not one whole run ({ran})", *(f"  {p}" for p in problems)]
    elif not accepted:
        lines.append(f"  it ended with code {manifest['exit_code']}: its plan did not hold")
    code = 0 if accepted and not problems else PlanError.exit_code
    document = {
        "folder": str(folder),
        "whole": not problems,
        "accepted": accepted,
        "problems": problems,
        "manifest": manifest,
    }
    output.result("\n".join(lines), document, exit_code=code)
    return code
