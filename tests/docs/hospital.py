"""Tables that a page's commands speak of: a colon cancer trial, as three years of patients."""

from __future__ import annotations

from pathlib import Path

from research.paper.data import load_case_study

__all__ = ["write_tables"]


def write_tables(folder: Path) -> None:
    """Write 2023.csv, 2024.csv and 2025.csv, one patient a row, with the outcome ``died``."""
    study = load_case_study("colon")
    table = study.X.assign(died=study.y.map({0: "no", 1: "yes"}))
    for part, year in enumerate((2023, 2024, 2025)):
        rows = slice(part * len(table) // 3, (part + 1) * len(table) // 3)
        table[rows].to_csv(folder / f"{year}.csv", index=False)
