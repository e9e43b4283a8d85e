"""Masked tables as the commands print them, and the word that they are masked."""

from __future__ import annotations

from typing import Any

import pandas as pd

from steadytree.core.disclosure import masking_note

__all__ = ["flips_text", "masking_document", "published_frame"]

_DIGITS = 3


def flips_text(table: pd.DataFrame) -> str:
    """Write a table of changed decisions by subgroup; what is not told is "hidden"."""
    shown = table.drop(columns="masked").copy()
    shown["n"] = [None if pd.isna(n) else f"{n:.0f}" for n in shown["n"]]
    words: str = shown.to_string(na_rep="hidden", float_format=lambda v: f"{v:.3f}")
    return words.replace("None", "hidden")


def masking_document(min_cell: int) -> dict[str, Any]:
    """Say in JSON from how many people on numbers are told, and who may have the others."""
    return {"min_cell": min_cell, "note": masking_note(min_cell)}


def published_frame(table: pd.DataFrame) -> pd.DataFrame:
    """Return a told table with few digits and ranges in words, for JSON."""
    out = table.copy()
    numbers = out.select_dtypes("float").columns
    out[numbers] = out[numbers].round(_DIGITS)
    for column in (c for c in out if str(c).endswith("_range")):
        out[column] = [None if told is None else told.words() for told in out[column]]
    return out
