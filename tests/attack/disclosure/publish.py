"""Everything that one run of the command line publishes, gathered as an outsider finds it."""

from __future__ import annotations

import io
import json
import re
import warnings
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from functools import cached_property
from html import unescape
from pathlib import Path
from typing import Any

from steadytree.cli import main

__all__ = ["Published", "publish"]

_DATA = re.compile(r'<script[^>]*type="application/json"[^>]*>(?P<json>.*?)</script>', re.DOTALL)


NOT_PUBLISHED = ("tree.json", "refused-tree.json", "manifest.json")
"""The model itself, which holds counts, and the file with its digest, which stays with it."""


@dataclass(frozen=True)
class Published:
    """What a run printed and wrote, but for what is not published."""

    files: Mapping[str, bytes]
    out: str
    err: str
    document: Mapping[str, Any]
    printed_json: str = ""
    more: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def page(self) -> str:
        """The report."""
        return self.files["report.html"].decode()

    @cached_property
    def summary(self) -> dict[str, Any]:
        """What the page embeds."""
        found = _DATA.search(self.page)
        assert found is not None, "expected the page to embed its data"
        summary: dict[str, Any] = json.loads(found["json"])
        return summary

    @cached_property
    def texts(self) -> dict[str, str]:
        """All that was published, by where, as bytes are read and with entities undone."""
        texts = {name: content.decode("utf-8", "replace") for name, content in self.files.items()}
        texts |= {"standard output": self.out, "standard error": self.err}
        texts |= {"--json": self.printed_json, **self.more}
        undone = {f"{name}, unescaped": _undone(text) for name, text in texts.items()}
        return texts | undone


def _undone(text: str) -> str:
    """Undo what keeps a name harmless: entities, escapes of JSON and of Markdown."""
    text = unescape(text)
    text = re.sub(r"\\u([0-9a-fA-F]{4})", lambda m: chr(int(m[1], 16)), text)
    return re.sub(r"\\([\\`*_\[\]|])", r"\1", text)


def publish(arguments: Sequence[object], folder: Path, *codes: int) -> Published:
    """Run a command twice, for people and with ``--json``, and gather what can be seen."""
    out, err = run([*arguments, "--out", folder], *codes)
    printed, more = run([*arguments, "--json", "--out", f"{folder}-json"], *codes)
    files = {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in NOT_PUBLISHED
    }
    return Published(files, out, err + more, json.loads(printed), printed)


def run(arguments: Sequence[object], *codes: int) -> tuple[str, str]:
    """Run a command in this process; return standard output and standard error."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err), warnings.catch_warnings():
        # As for people: a warning of a library is no error of theirs.
        warnings.simplefilter("ignore")
        code = main([str(a) for a in arguments])
    assert code in (codes or (0, 3)), f"exit code {code}: {err.getvalue()}"
    return out.getvalue(), err.getvalue()
