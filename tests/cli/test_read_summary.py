"""What is said of a table before anything is trained on it."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd

from steadytree.cli.column_types import SettledColumn
from steadytree.cli.tables import ReadColumn, ReadSummary
from tests.cli.conftest import Files, Run

FAST = ("--learner", "cart", "--max-leaves", 4)


def test_every_command_says_what_it_read(run: Run, files: Files) -> None:
    options = ("fit", files.old, "--target", "outcome", *FAST, "--drop", "clinic")
    result = run(*options, "--time", "year", "--types", "patient=ignore", "--json")
    assert result.code == 0, result.err
    for line in (
        "read old.csv: 280 rows; columns: 5 number, 1 category, 3 ignored",
        "  target outcome: benign 138, malignant 142",
        "  texture     number        11 % missing",
        "  size        category (3)",
        "  clinic ignored --drop",
        "  patient ignored --types",
    ):
        assert line.split() in [shown.split() for shown in result.err.splitlines()]
    read = result.document["read"]
    assert read["rows"] == 280
    assert read["target"] == {"name": "outcome", "classes": {"benign": 138, "malignant": 142}}
    assert read["columns"][1] == {
        **{
            "name": "texture",
            "type": "number",
            "categories": None,
            "missing": 32 / 280,
            "note": None,
        }
    }
    assert run(*options, "-q").err == ""
    old = ("--deployed", files.tree, "--old", files.old, "--trees", 5, "--folds", 0)
    again = run("retrain", files.new, "--target", "outcome", *old, "--json")
    assert [Path(part["file"]).name for part in again.document["read"]] == ["new.csv", "old.csv"]
    assert re.search("clinic +ignored +not in the tree", again.err)
    both = run("compare", files.tree, files.tree, "--data", files.new, "--json")
    assert both.document["read"]["target"] is None
    assert "read new.csv: 289 rows" in both.err
    assessed = run("assess", files.old, "--target", "outcome", *FAST, "--resamples", 2, "--json")
    assert assessed.document["read"]["rows"] == 280
    assert "read old.csv: 280 rows" in assessed.err


def test_people_are_counted() -> None:
    y = np.array(["no"] * 90 + ["yes"] * 7 + ["perhaps"] * 3)
    summary = ReadSummary(Path("t.csv"), 100, dropped=3).with_target("y", y, regression=False)
    assert summary.classes == {"no": 90, "perhaps": 3, "yes": 7}
    assert "target y: no 90, perhaps 3, yes 7" in summary.to_text().splitlines()
    values = pd.Series([None, *[1.0] * 99])
    column = ReadColumn.of("x", SettledColumn(values, "number"))
    assert column.missing == 0.01
    assert "1.0 % missing" in column.cells()
    assert summary.to_dict()["dropped_rows"] == 3
    assert "3 rows without an outcome" in summary.to_text()


def test_of_many_columns_those_with_a_note_are_shown() -> None:
    columns = [ReadColumn(f"x{i}", "number", missing=0.0) for i in range(99)]
    columns[77] = ReadColumn("odd", "number", missing=0.0, note="no value")
    summary = ReadSummary(Path("t.csv"), 9, columns=columns)
    short, whole = summary.to_text().splitlines(), summary.to_text(everything=True).splitlines()
    assert len(short) == 1 + 30 + 1
    assert any(line.startswith("odd") for line in short)
    assert short[-1] == "and 69 more columns (-v shows them)"
    assert len(whole) == 100


def test_names_of_strangers_stay_on_their_line() -> None:
    summary = ReadSummary(
        Path("t.csv"), 9, columns=[ReadColumn("a\n::error::x\x1b[2J", "number", note="say \x1b[0m")]
    )
    assert len(summary.to_text().splitlines()) == 2
    assert "\x1b" not in summary.to_text()
