"""The folder that ``--out`` names: checked before the work, written after it, whole files only."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from steadytree.cli.output import Output
from steadytree.core.atomic import write_atomic
from steadytree.core.format import plain_json, save_tree
from steadytree.core.tree import Tree
from steadytree.exceptions import InputError, MissingDependencyError

__all__ = ["OutFolder"]


class OutFolder:
    """Files of one run. Without a folder nothing is written.

    Every file is written whole under its final name or not at all, so an interrupt leaves
    no half-written file.
    """

    def __init__(self, folder: Path | None, output: Output) -> None:
        self.folder, self.output = folder, output
        self.files: list[str] = []
        if folder is None:
            return
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(
                f"expected a folder that can be written as --out, got {error.strerror}: {folder}; "
                "choose another"
            ) from error
        if not os.access(folder, os.W_OK | os.X_OK):
            raise InputError(
                f"expected a folder that can be written as --out, got no right to write: {folder}; "
                "choose another"
            )

    def _path(self, name: str) -> Path:
        assert self.folder is not None
        return self.folder / name

    def _done(self, path: Path) -> None:
        self.files.append(str(path))
        self.output.say(f"wrote {path}")

    def text(self, name: str, text: str) -> None:
        """Write a text file."""
        if self.folder is not None:
            self._done(write_atomic(self._path(name), text if text.endswith("\n") else text + "\n"))

    def document(self, name: str, content: Mapping[str, Any]) -> None:
        """Write a JSON file."""
        self.text(name, json.dumps(plain_json(content), ensure_ascii=False, indent=1))

    def table(self, name: str, frame: pd.DataFrame) -> None:
        """Write a CSV file."""
        if self.folder is not None:
            flat = frame.map(lambda v: "; ".join(map(str, v)) if isinstance(v, tuple) else v)
            self.text(name, flat.to_csv())

    def tree(self, name: str, tree: Tree) -> None:
        """Write a tree file."""
        if self.folder is not None:
            self._done(save_tree(tree, self._path(name)))

    def report(self, name: str, subject: Any, **options: Any) -> None:
        """Write the HTML report of something that has one; say so where it cannot be made."""
        if self.folder is None:
            return
        try:
            from steadytree.report import write_report

            self._done(write_report(subject, self._path(name), **options))
        except MissingDependencyError as error:
            self.output.say(f"no report: {error}")
