"""Tables that a page's commands speak of: a colon cancer trial, as two years of patients."""

from __future__ import annotations

from pathlib import Path

from reproduction.data import load_case_study

__all__ = ["write_tables"]


def write_tables(folder: Path) -> None:
    """Write 2023.csv and 2024.csv, one patient a row, with the outcome ``died``."""
    study = load_case_study("colon")
    table = study.X.assign(died=study.y.map({0: "no", 1: "yes"}))
    half = len(table) // 2
    table[:half].to_csv(folder / "2023.csv", index=False)
    table[half:].to_csv(folder / "2024.csv", index=False)
