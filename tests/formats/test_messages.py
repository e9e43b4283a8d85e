"""What a file says may be as long as the file: messages of readers quote it cut."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from steadytree.exceptions import UnsupportedModelError
from steadytree.formats.boosting.leaf_scores import link_of

# Writers quote what the caller gave.
WRITES = re.compile("write_|like_|pipeline_(tree|numbers)|^(code|pages)/")
FORMATS = Path(__file__).parents[2] / "src" / "steadytree" / "formats"


def test_values_out_of_files_go_through_the_one_quoting_function() -> None:
    """`repr` of a foreign value, not even cut by a slice, is a message of any length."""
    bare = [
        f"{path.name}:{node.lineno}: {ast.unparse(node.value)}"
        for path in sorted(FORMATS.rglob("*.py"))
        if not WRITES.search(str(path.relative_to(FORMATS)))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FormattedValue)
        and node.conversion == ord("r")
        and not (isinstance(node.value, ast.Subscript) and isinstance(node.value.slice, ast.Slice))
    ]
    assert bare == []


def test_an_objective_of_any_length() -> None:
    """Found by ten minutes of fuzz: a CatBoost model names its loss."""
    with pytest.raises(UnsupportedModelError, match="got 'xxx") as caught:
        link_of("x" * 100_000, {"RMSE": "identity"}, "CatBoost")
    assert len(str(caught.value)) < 300
