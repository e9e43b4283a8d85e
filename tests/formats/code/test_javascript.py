"""What node makes of the file that is written decides as the tree."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import steadytree as st
from steadytree.exceptions import InputError
from steadytree.formats.code.javascript import write
from tests.foreign import probe_rows, random_tree
from tests.formats.odd_trees import nasty_tree
from tests.programs import require_program

DRIVER = """
import { readFileSync } from "node:fs";
import * as tree from "./written_tree.mjs";
const rows = JSON.parse(readFileSync("rows.json", "utf-8"));
console.log(JSON.stringify(rows.map((r) =>
  [tree.predict(r), tree.leaf(r), tree.classes ? tree.predictShares(r) : null])));
"""


def node(code: str, folder: Path, name: str = "driver.mjs") -> str:
    (folder / name).write_text(code)
    node = require_program("node", package="nodejs")
    done = subprocess.run([node, name], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def run(tree: st.Tree, rows: pd.DataFrame, folder: Path) -> tuple[Any, Any]:
    st.export_tree(tree, "javascript", folder / "written_tree.mjs")
    plain = rows.astype(object).where(rows.notna(), None)
    (folder / "rows.json").write_text(json.dumps(plain.to_dict("records")))
    found, leaves, shares = zip(*json.loads(node(DRIVER, folder)), strict=True)
    np.testing.assert_array_equal(leaves, tree.apply(rows))
    return list(found), None if shares[0] is None else np.array(shares)


def test_a_script_for_a_page(tmp_path: Path) -> None:
    tree = random_tree(2, depth=3)
    rows = probe_rows(tree, 50, missing=False, unseen=False)
    code = write(tree, module=False, name="churn")
    assert "export" not in code
    data = json.dumps(rows.to_dict("records"))
    out = node(f"{code}\nconsole.log(JSON.stringify({data}.map(churn.leaf)))", tmp_path, "page.js")
    assert json.loads(out) == tree.apply(rows).tolist()


def test_nothing_in_it_ends_a_script_element() -> None:
    assert "</" not in write(nasty_tree(), module=False)


def test_missing_values_of_every_kind_and_what_is_no_number(tmp_path: Path) -> None:
    tree = random_tree(2, depth=3)
    st.export_tree(tree, "javascript", tmp_path / "written_tree.mjs")
    rows = (
        "[{"
        + "}, {".join(
            ", ".join(f"{json.dumps(n)}: {empty}" for n in tree.feature_labels)
            for empty in ("null", "undefined", "NaN")
        )
        + "}, {}]"
    )
    code = 'import * as tree from "./written_tree.mjs";\n'
    out = node(f"{code}console.log(JSON.stringify({rows}.map(tree.leaf)));", tmp_path)
    empty = tree.apply(pd.DataFrame({n: [None] for n in tree.feature_labels}, dtype=object))[0]
    assert json.loads(out) == [empty] * 4
    numeric = next(tree.feature_labels[j] for j in tree.used_features if not tree.categories[j])
    caught = (
        f"try {{ tree.leaf({{[{json.dumps(numeric)}]: 'x'}}); }} "
        "catch (e) { console.log(e.name, e.message); }"
    )
    assert "TypeError expected a number in" in node(code + caught, tmp_path)


def test_whole_numbers_that_javascript_confuses_are_refused() -> None:
    with pytest.raises(InputError, match=r"up to 2\*\*53"):
        write(random_tree(5).replace(classes=(1, 2**60)))
