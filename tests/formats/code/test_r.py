"""What R makes of the function that is written decides as the tree."""

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
from steadytree.formats.code.parts import is_plain_decimal
from steadytree.formats.code.r import write
from tests.foreign import random_tree
from tests.programs import require_program

DRIVER = """
options(warn = 2)
source("written_tree.R", encoding = "ASCII")
data <- list()
for (j in seq_len({n_columns}) - 1) {{
  file <- function(kind) file.path(paste0(j, ".", kind))
  name <- readChar(file("name"), file.size(file("name")), useBytes = TRUE)
  Encoding(name) <- "UTF-8"
  if (file.exists(file("bin"))) {{
    values <- readBin(file("bin"), "double", n = {n_rows})
  }} else {{
    values <- strsplit(
      readChar(file("txt"), file.size(file("txt")), useBytes = TRUE), "\\x1f", fixed = TRUE)[[1]]
    Encoding(values) <- "UTF-8"
    values[values == "<NA>"] <- NA
    if ({factors}) values <- factor(values)
  }}
  data[[name]] <- values
}}
data <- structure(data, class = "data.frame", row.names = seq_len({n_rows}))
out <- predict_tree(data)
writeBin(as.double(predict_tree(data, "leaf")), "leaf.out")
if ("shares" %in% eval(formals(predict_tree)$type)) {{
  writeBin(as.vector(t(predict_tree(data, "shares"))), "shares.out")
  cat(paste(as.character(out), collapse = "\\x1f"))
}} else {{
  writeBin(out, "value.out")
}}
"""


def run(tree: st.Tree, rows: pd.DataFrame, folder: Path, factors: bool = True) -> tuple[Any, Any]:
    """Write text columns as factors, so that TRUE and a category never met fit one column."""
    st.export_tree(tree, "r", folder / "written_tree.R")
    for old in folder.glob("*.txt"):
        old.unlink()
    for old in folder.glob("*.bin"):
        old.unlink()
    for j, name in enumerate(rows.columns):
        (folder / f"{j}.name").write_bytes(str(name).encode())
        values = rows[name]
        if tree.categories[j] is None:
            (folder / f"{j}.bin").write_bytes(values.to_numpy(dtype=float).tobytes())
        else:
            texts = ["<NA>" if pd.isna(v) else _text(v) for v in values]
            (folder / f"{j}.txt").write_bytes("\x1f".join(texts).encode() + b"\x1f")
    code = DRIVER.format(
        n_columns=rows.shape[1], n_rows=len(rows), factors="TRUE" if factors else "FALSE"
    )
    out = rscript(code, folder)
    leaves = np.frombuffer((folder / "leaf.out").read_bytes())
    np.testing.assert_array_equal(leaves, tree.apply(rows))
    if tree.classes is None:
        return np.frombuffer((folder / "value.out").read_bytes()), None
    shares = np.frombuffer((folder / "shares.out").read_bytes()).reshape(len(rows), -1)
    by_name = {_text(c): c for c in tree.classes}
    return [by_name[label] for label in out.split("\x1f")], shares


def _text(value: Any) -> str:
    return str(value).upper() if isinstance(value, bool) else str(value)


def rscript(code: str, folder: Path) -> str:
    (folder / "driver.R").write_text(code)
    done = subprocess.run(
        [require_program("Rscript", package="r-base-core"), "--vanilla", "driver.R"],
        cwd=folder,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def test_text_is_not_a_number_and_a_factor_no_code(tmp_path: Path) -> None:
    tree = random_tree(0)
    st.export_tree(tree, "r", tmp_path / "written_tree.R")
    names = ", ".join(f"{json.dumps(n)} = factor('1')" for n in tree.feature_labels)
    code = (
        "source('written_tree.R')\n"
        f"data <- data.frame({names}, check.names = FALSE)\n"
        "cat(conditionMessage(tryCatch(predict_tree(data), error = identity)))\n"
        "cat(conditionMessage(tryCatch(predict_tree(data.frame(z = 1)), error = identity)))\n"
    )
    out = rscript(code, tmp_path)
    assert "expected numbers, got factor" in out
    assert "expected columns: " in out


def test_numbers_that_r_reads_one_bit_off_are_written_in_hexadecimal(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    values = np.concatenate(
        [
            rng.normal(size=4000) * 10.0 ** rng.integers(-8, 9, 4000),
            np.round(rng.normal(size=4000) * 10.0 ** rng.integers(0, 6, 4000), 3),
            rng.normal(size=1000) * 10.0 ** rng.integers(-300, 300, 1000),
            [5e-324, 1.7976931348623157e308, 0.1, 0.5, 30000.0],
        ]
    )
    written = [repr(float(v)) if is_plain_decimal(v) else float(v).hex() for v in values]
    assert written[-3:] == ["0.1", "0.5", "30000.0"]
    code = f"writeBin(c({', '.join(written)}), 'numbers.out')"
    rscript(code, tmp_path)
    found = np.frombuffer((tmp_path / "numbers.out").read_bytes())
    np.testing.assert_array_equal(found, values)


def test_columns_of_two_kinds_are_refused() -> None:
    mixed = [None, None, None, ["a", "b", "c", "d", 5], [1, 2, 3, 4], [False, True]]
    with pytest.raises(InputError, match="one kind in feature 'colour', as a column of R"):
        write(random_tree(5).replace(categories=mixed))
    with pytest.raises(InputError, match="one kind in the classes"):
        write(random_tree(5).replace(classes=("a", 1)))
    with pytest.raises(InputError, match="as name of the function"):
        write(random_tree(5), name="1st")
