"""The module that is written decides as the tree, in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import steadytree as st
from steadytree.exceptions import InputError
from steadytree.formats.code.python import write
from tests.foreign import probe_rows, random_tree

DRIVER = """
import json, sys
sys.path.insert(0, ".")
before = set(sys.modules)
import written_tree
assert not set(sys.modules) - before - {"written_tree"}, "it imported something"
rows = json.load(open("rows.json"))
print(json.dumps([
    [written_tree.predict(r), written_tree.leaf(r),
     list(written_tree.predict_proba(r).values()) if hasattr(written_tree, "CLASSES") else None]
    for r in rows
]))
"""


def run(tree: st.Tree, rows: pd.DataFrame, folder: Path) -> tuple[Any, Any]:
    st.export_tree(tree, "python", folder / "written_tree.py")
    (folder / "rows.json").write_text(json.dumps(rows.to_dict("records")))
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-W", "error", "-c", DRIVER],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found, leaves, shares = zip(*json.loads(done.stdout), strict=True)
    np.testing.assert_array_equal(leaves, tree.apply(rows))
    return list(found), None if shares[0] is None else np.array(shares)


def test_missing_values_of_every_kind() -> None:
    tree = random_tree(5, depth=4)
    space: dict[str, Any] = {}
    exec(write(tree), space)
    rows = probe_rows(tree, 200)
    for empty in (None, float("nan"), pd.NA, pd.NaT, np.float32("nan")):
        records = rows.astype(object).where(rows.notna(), empty).to_dict("records")
        assert [space["leaf"](r) for r in records] == tree.apply(rows).tolist()


def test_a_lacking_feature_is_an_error() -> None:
    space: dict[str, Any] = {}
    exec(write(random_tree(5)), space)
    with pytest.raises(KeyError):
        space["predict"]({})


def test_what_no_language_writes_is_refused() -> None:
    sizes = [1.0, 2.0, float("inf"), float("-inf")]
    tree = random_tree(1, depth=6).replace(
        categories=[None, None, None, ["a", "b", "c", "d", "e"], sizes, [False, True]]
    )
    with pytest.raises(InputError, match=r"expected finite categories.*'size'"):
        write(tree)
    with pytest.raises(InputError, match="expected finite classes"):
        write(random_tree(5).replace(classes=(float("inf"), 1.0)))
    with pytest.raises(InputError, match="text, numbers or booleans"):
        write(random_tree(5).replace(classes=((1,), (2,))))
