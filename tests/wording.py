"""What our messages say, word for word, in one file: ``tests/wording.txt``.

A test says which message is due and where; the words themselves stand in the file, a line each.
So words are mended in one place: change them in the package, run ``make wording``, and read the
difference that git shows. A test that needs no exact words asserts what matters of them itself.
"""

from __future__ import annotations

import ast
import json
import os
import re
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).parent
FILE = TESTS / "wording.txt"
UPDATE = bool(os.environ.get("STEADYTREE_UPDATE_WORDING"))
CALLS = ("said", "refuses", "warns")
"""Functions of this module whose last place is the name of a text."""

# Temporary folders have another name in every run.
_FOLDER = re.compile(rf"{re.escape(tempfile.gettempdir())}[\\/](?:[^\s'\",;:]*[\\/])?")


def said(text: object, name: str) -> None:
    """Assert that a text is the one that the file has under a name."""
    words = _FOLDER.sub("<folder>/", str(text))
    if UPDATE:
        _record(name, words)
    known = read()
    assert name in known, f"no text {name!r} in {FILE.name}; run make wording. It is:\n{words}"
    assert words == known[name]


@contextmanager
def refuses(error: type[BaseException], name: str) -> Iterator[pytest.ExceptionInfo[Any]]:
    """Assert that a block raises an error with the words that the file has under a name."""
    with pytest.raises(error) as caught:
        yield caught
    said(caught.value, name)


@contextmanager
def warns(warning: type[Warning], name: str) -> Iterator[None]:
    """Assert that a block gives one such warning, with the words that the file has."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    ours = [w for w in caught if issubclass(w.category, warning)]
    for other in caught:
        if other not in ours:
            warnings.warn_explicit(other.message, other.category, other.filename, other.lineno)
    assert len(ours) == 1, f"expected one {warning.__name__}, got {[str(w.message) for w in ours]}"
    said(ours[0].message, name)


def read() -> dict[str, str]:
    """Return every text by its name."""
    if not FILE.exists():
        return {}
    lines = FILE.read_text(encoding="utf-8").splitlines()
    return {name: json.loads(text) for name, _, text in (line.partition("\t") for line in lines)}


def names_in_tests() -> list[re.Pattern[str]]:
    """Return what the tests call their texts; a pattern, as a name may hold a parameter."""
    found = []
    for path in sorted(TESTS.rglob("test_*.py")):
        source = path.read_text(encoding="utf-8")
        if "tests.wording" not in source:
            continue
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in CALLS:
                name = node.args[-1]
                parts = name.values if isinstance(name, ast.JoinedStr) else [name]
                found.append(
                    "".join(
                        re.escape(part.value) if isinstance(part, ast.Constant) else ".+"
                        for part in parts
                    )
                )
    return [re.compile(name) for name in found]


def _write(texts: dict[str, str]) -> None:
    lines = [f"{k}\t{json.dumps(v, ensure_ascii=False)}\n" for k, v in sorted(texts.items())]
    FILE.write_text("".join(lines), encoding="utf-8")


def _record(name: str, words: str) -> None:
    texts = read()
    if texts.get(name) != words:
        _write(texts | {name: words})


if __name__ == "__main__":  # make wording: forget what no test asks for, then record the rest
    asked = names_in_tests()
    _write({k: v for k, v in read().items() if any(name.fullmatch(k) for name in asked)})
    os.environ["STEADYTREE_UPDATE_WORDING"] = "1"
    files = [str(p) for p in TESTS.rglob("test_*.py") if "tests.wording" in p.read_text("utf-8")]
    sys.exit(pytest.main(["-q", "-m", "not slow", *sys.argv[1:], *files]))
