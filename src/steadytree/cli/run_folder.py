"""The files of one run in a folder: all of them or none, and a manifest that says so.

Files of two runs side by side (a new tree beside an old report) mislead whoever reads them. A run
collects its files in a folder of its own inside the target (so on the same disk), and only when
the last one is written do they take their names:

1. the collecting folder is renamed to ``.steadytree-finished``: from here on the run will be there;
2. ``manifest.json`` is replaced by one that says "complete": false;
3. files of the run before that this one has not are removed, and each new one takes its name, the
   tree last;
4. ``manifest.json`` is replaced by the one that says "complete": true.

Every step is one renaming. A run that is killed before the first leaves the folder as it was, one
killed later is finished by the next run, and the manifest says so meanwhile. Files of others are
never touched.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd

from steadytree._io import (
    claim_temporary,
    parse_json,
    read_bytes,
    sync_folder,
    temporary_name,
    tidy_temporaries,
    write_atomic,
)
from steadytree._optional import CORE, library_versions
from steadytree._progress import interrupts_wait
from steadytree._text import harmless_cell, harmless_json, one_line
from steadytree.cli.output import Output
from steadytree.exceptions import InputError, PlanError, TreeFormatError, WriteError
from steadytree.tree.json import plain_json, save_tree
from steadytree.tree.tree import Tree

MANIFEST = "manifest.json"
TREE = "tree.json"
REFUSED_TREE = "refused-tree.json"
"""Where a tree goes that a plan refused: no script that deploys ``tree.json`` takes it."""

FORMAT = "steadytree-run"
VERSION = 1
_FINISHED = ".steadytree-finished"
_INCOMPLETE = "incomplete.json"

Files = dict[str, dict[str, Any]]


# -- the manifest --------------------------------------------------------------------------------


def read_manifest(folder: Path) -> dict[str, Any] | None:
    """Return the manifest in a folder; None where there is none.

    Raises
    ------
    InputError
        If a file of that name is there that no run wrote.
    """
    path = folder / MANIFEST
    if not os.path.lexists(path):
        return None
    try:
        content = parse_json(read_bytes(path, what="manifest"))
    except TreeFormatError as error:
        raise _not_ours(path, str(error)) from None
    if not (
        isinstance(content, dict)
        and content.get("format") == FORMAT
        and content.get("version") == VERSION
        and all(isinstance(content.get(name), str) for name in ("command", "finished"))
        and all(_is_listing(content.get(name)) for name in ("files", "replaces") if name in content)
        and "files" in content
    ):
        raise _not_ours(path, f"another file than a {FORMAT} of version {VERSION}")
    return content


def _is_listing(files: Any) -> bool:
    """Whether this lists files by plain names: one that leads elsewhere would be followed."""
    return isinstance(files, dict) and all(
        name == os.path.basename(name) and not name.startswith(".") and isinstance(entry, dict)
        for name, entry in files.items()
    )


def _not_ours(path: Path, got: str) -> InputError:
    return InputError(
        f"expected no {MANIFEST} but one that a run wrote, got {got}: {path}; move it away or "
        "choose another folder"
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
            f"expected a folder with a {MANIFEST}, which every run with --out writes, got none: "
            f"{folder}"
        )
    if not manifest.get("complete"):
        return [
            "a run was stopped while its files took their names; the next run with this --out "
            "finishes it"
        ]
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
        self._staging: Path | None = None
        self._claim: int | None = None
        self._is_asked, self.folder = folder is not None, folder or Path()
        if folder is None:
            return
        problem = None
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            problem = error.strerror
        if problem is None and not os.access(folder, os.W_OK | os.X_OK):
            problem = "no right to write"
        if problem is not None:
            raise InputError(
                f"expected a folder that can be written as --out, got {problem}: {folder}; "
                "choose another"
            )
        with _locked(folder):
            _finish_killed(folder)
            tidy_temporaries(folder)
            self._look()

    def __enter__(self) -> RunFolder:
        return self

    def __exit__(self, *_: object) -> None:
        self.discard()

    @property
    def files(self) -> list[str]:
        """The files of the run, under the names that they have in the end."""
        return [str(self.folder / name) for name in self._written]

    def _look(self) -> Files:
        """Refuse what is in the way, and return the files of the run before."""
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
        known: Files = before["files"]
        for name in self.names:
            path = self.folder / name
            if os.path.lexists(path) and not _is_as_listed(path, known.get(name)):
                why = "that was changed since a run wrote it" if name in known else "of yours"
                raise InputError(
                    f"expected as {path} nothing or the file of an earlier run, got one {why}; "
                    "move it away or choose another folder as --out"
                )
            if os.path.lexists(path) and not path.stat().st_mode & 0o222:
                raise InputError(
                    f"expected files that may be written in --out, got a read-only one: {path}; "
                    "choose another folder, or allow it with chmod u+w"
                )
        return known

    def write(self, name: str, write: Callable[[Path], Any]) -> None:
        """Let a function write a file, to the path it is given, that will have this name."""
        if not self._is_asked:
            return
        if name not in self.names:
            raise ValueError(f"{name} is not among the files that {self.command} declares")
        if self._staging is None:
            self._staging = self.folder / temporary_name("run")
            try:
                self._staging.mkdir()
            except OSError as error:
                raise WriteError(
                    f"expected to write into {self.folder}, got {error.strerror}; make room or "
                    "choose another folder as --out"
                ) from error
            with contextlib.suppress(OSError):  # where folders cannot be opened, none is tidied
                self._claim = claim_temporary(self._staging)
        write(self._staging / name)
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
            from steadytree.views import write_report

            self.write(name, lambda path: write_report(subject, path, **options))

    def finish(self, exit_code: int = 0) -> None:
        """Let all files take their names at once, and say so; an interrupt waits for it."""
        with interrupts_wait():
            self._finish(exit_code)
        for file in self.files:
            self.output.say(f"wrote {file}")

    def _finish(self, exit_code: int) -> None:
        if self._staging is None or not self._written:
            return
        # In the order of taking names: the tree last, when all that speaks of it is there.
        names = sorted(self._written, key=lambda name: name in (TREE, REFUSED_TREE))
        manifest = {
            "format": FORMAT,
            "version": VERSION,
            "complete": True,
            "run": secrets.token_hex(8),
            "command": self.command,
            "exit_code": exit_code,
            "accepted": exit_code == 0,
            "finished": datetime.now(UTC).isoformat(timespec="seconds"),
            "options": {name: _plain(value) for name, value in sorted(self.options.items())},
            "versions": library_versions(CORE),
            "files": {name: _entry(self._staging / name) for name in names},
        }
        with _locked(self.folder):
            _finish_killed(self.folder)
            begun = {**manifest, "complete": False, "replaces": self._look()}
            for name, content in ((_INCOMPLETE, begun), (MANIFEST, manifest)):
                write_atomic(self._staging / name, harmless_json(content, indent=1) + "\n")
            os.rename(self._staging, self.folder / _FINISHED)
            self._staging = None
            _take_names(self.folder)
        self.discard()

    def discard(self) -> None:
        """Remove what did not take its name; nothing where all did."""
        if self._staging is not None:
            shutil.rmtree(self._staging, ignore_errors=True)
            self._staging = None
        if self._claim is not None:
            os.close(self._claim)
            self._claim = None


def _plain(value: Any) -> Any:
    """Return an option as JSON can hold it; halves of characters escaped."""
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if value is None or isinstance(value, (bool, int, float)):
        return value
    return str(value).encode("utf-8", "backslashreplace").decode()


def _finish_killed(folder: Path) -> None:
    """Finish what a run began that was killed while its files took their names."""
    if (folder / _FINISHED).is_dir():
        _take_names(folder)


def _take_names(folder: Path) -> None:
    """Do, or go on with, what remains of a finished run; each step may be the last."""
    finished = folder / _FINISHED
    if (finished / MANIFEST).exists():
        if (finished / _INCOMPLETE).exists():
            os.replace(finished / _INCOMPLETE, folder / MANIFEST)
            sync_folder(folder)
        begun = read_manifest(folder) or {}
        for name, listed in begun.get("replaces", {}).items():
            if name not in begun["files"] and _is_as_listed(folder / name, listed):
                (folder / name).unlink()
        for name in begun["files"]:
            if (finished / name).exists():
                with contextlib.suppress(FileNotFoundError):
                    mode = stat.S_IMODE((folder / name).stat().st_mode) & 0o777
                    os.chmod(finished / name, mode)
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


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Keep other runs out of a folder, where the system can lock one."""
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(ImportError, OSError):
            import fcntl

            handle = os.open(folder, os.O_RDONLY)
            stack.callback(os.close, handle)
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


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
