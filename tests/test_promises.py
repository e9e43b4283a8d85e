"""The page of promises names tests that exist, and every fault tried has one."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "background" / "promises.md"
REFERENCE = re.compile(r"`(tests/[\w/]+(?:\.py)?)(?:::(\w+))?`")


def table_rows() -> list[list[str]]:
    """Cells of every table row of the page, without heads and rules."""
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("|")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [row for row in rows if not set(row[0]) <= {"-"} and row[-1] != "shown by"]


def references() -> list[tuple[str, str]]:
    return sorted({(file, name or "") for file, name in REFERENCE.findall(PAGE.read_text())})


def test_every_fault_names_what_shows_it() -> None:
    rows = table_rows()
    assert len(rows) > 40
    without = [row[0] for row in rows if not REFERENCE.search(row[-1])]
    assert not without


@pytest.mark.parametrize(("file", "name"), references())
def test_what_is_named_exists(file: str, name: str) -> None:
    path = ROOT / file
    assert path.exists()
    if name:
        tree = ast.parse(path.read_text())
        found = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        assert name in found
