"""``tree.to_...()``: one method for every format that can be written."""

from __future__ import annotations

import inspect

from steadytree.tree.exports import TreeExports
from steadytree.writers import WRITERS


def test_every_format_has_its_method() -> None:
    methods = {name for name, _ in inspect.getmembers(TreeExports, inspect.isfunction)}
    assert {f"to_{name}" for name in WRITERS} == methods
