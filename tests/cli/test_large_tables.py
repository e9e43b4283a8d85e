"""Parquet files that the command line leaves on disk."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from steadytree.cli import retrain_command as large_tables
from steadytree.cli.retrain_command import groups_of, leave_on_disk, rows_on_disk
from steadytree.cli.tables import read_rows
from steadytree.exceptions import InputError
from steadytree.retraining import on_disk as disk_rows
from steadytree.tree.json import load_tree
from tests.cli.conftest import Files, Run

FAST = ("--trees", 10, "--folds", 2)


@pytest.fixture
def small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_tables, "DISK_ROWS", 200)
    monkeypatch.setattr(disk_rows, "MEMORY_ROWS", 150)


def test_a_large_file_stays_on_disk(
    run: Run, files: Files, tmp_path: Path, small_limits: None
) -> None:
    n_new = len(pd.read_parquet(files.new_parquet))
    result = run(
        *("retrain", files.new_parquet, "--deployed", files.tree, "--target", "outcome"),
        *("--old", files.old, "--group", "patient", "--time", "year", "--subgroup", "clinic"),
        *("--out", tmp_path, "--json", *FAST),
    )
    assert result.code == 0, result.err
    assert f"new.parquet ({n_new} rows): more than 200 rows stay on disk" in result.err
    settings = result.document["settings"]
    assert settings["n_new"] == n_new == 289
    assert settings["n_old"] == 280  # CSV is read into memory
    assert settings["n_rows_values"] == 569
    assert settings["n_rows_scores"] <= 75
    assert settings["folds"] == "time"
    counted = [row["n"] for row in result.document["subgroups"]["clinic"]["flips"]]
    assert sum(counted) <= 75
    assert " of the 289 new rows." in result.document["explanation"]
    assert load_tree(tmp_path / "tree.json").observed is not None


def test_a_file_that_fits_is_read(run: Run, files: Files) -> None:
    result = run(
        *("retrain", files.new_parquet, "--deployed", files.tree, "--target", "outcome"),
        *("--json", *FAST),
    )
    assert result.code == 0, result.err
    assert "stay on disk" not in result.err
    assert result.document["settings"]["n_rows_scores"] == 289


def test_which_files_are_left(files: Files, small_limits: None) -> None:
    assert leave_on_disk([files.new, None]) == (frozenset(), "")
    left, told = leave_on_disk([files.new_parquet, files.new])
    assert left == {files.new_parquet}
    assert "a sample of" in told


def test_columns_are_checked_before_anything_is_read(
    run: Run, files: Files, small_limits: None
) -> None:
    call = ("retrain", files.new_parquet, "--deployed", files.tree)
    result = run(*call, "--target", "outcom")
    assert result.code == 2
    assert "as --target, got 'outcom'" in result.err
    assert "did you mean 'outcome'?" in result.err
    result = run(*call, "--target", "outcome", "--group", "patient", "--subgroup", "patient")
    assert result.code == 2
    assert "other columns as --subgroup" in result.err


def test_groups_have_one_type_in_both_tables(files: Files) -> None:
    there = rows_on_disk(files.new_parquet, "outcome", group="patient")
    assert groups_of(there, "patient") == "patient"
    assert groups_of(there, "ward") is None
    rows = read_rows(files.old, "outcome")
    assert groups_of(rows, "patient", as_text=False).dtype.kind == "i"
    assert groups_of(rows, "patient")[:2].tolist() == ["0", "0"]
    assert groups_of(rows, "ward") is None
    with pytest.raises(InputError, match="as --time, got 'when'"):
        rows_on_disk(files.new_parquet, "outcome", time="when")
