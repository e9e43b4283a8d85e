"""Every way that a table is spoiled, as a user meets it: the cases of docs/guide/tables.md."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pandas as pd
import pytest

from steadytree.cli.delimited import TableReading, read_table
from steadytree.exceptions import InputError
from tests.cli.conftest import Run
from tests.cli.table_cases import CASES, REFUSED, Case

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "tables.md"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_becomes_of_a_table(run: Run, tmp_path: Path, case: Case) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(case.content)
    options = ("fit", path, "--target", "y", "--learner", "cart", "--max-leaves", 4)
    result = run(*options)
    assert result.code == (2 if case.outcome == REFUSED else 0), result.err
    assert case.says.format(path=path) in result.err
    if case.fix:
        settled = run(*options, *case.fix)
        assert settled.code == 0, settled.err


def test_the_page_lists_every_case() -> None:
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    listed = [(name, outcome) for name, outcome in rows if outcome in ("refused", "said", "read")]
    assert listed == [(case.name, case.outcome) for case in CASES]
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    for case in (case for case in CASES if case.fix):
        (line,) = (text for text in lines if f"| {case.name} |" in text)
        assert case.fix[0] in line


def test_rows_know_their_place(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('a,b\n1,"x\ny"\n\n2,z\n3,z\n4,z\n5,z\n')
    table = read_table(path)
    assert table.places([0]) == "line 2"
    assert table.places([1]) == "line 5"
    assert table.places([0, 1, 2, 3, 4]) == "lines 2, 5, 6 and 2 more"
    table.frame.to_parquet(tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.parquet").places([0, 4]) == "rows 1, 5"


def test_a_stored_index_is_no_column(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": [1, 2, 3]}, index=[7, 8, 9])
    frame.to_parquet(tmp_path / "t.parquet")
    pd.testing.assert_frame_equal(
        read_table(tmp_path / "t.parquet").frame, frame.reset_index(drop=True)
    )


def test_the_user_says_how_text_is_written(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes("größe;n\n1,5;x\n2;y\n".encode("latin-1"))
    form = TableReading(separator=";", decimal=",", encoding="latin-1")
    assert read_table(path, form).frame.to_dict("list") == {"größe": [1.5, 2.0], "n": ["x", "y"]}


def test_a_pipe_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "t.csv")
    with pytest.raises(InputError, match="got a device or a pipe"):
        read_table(tmp_path / "t.csv")
