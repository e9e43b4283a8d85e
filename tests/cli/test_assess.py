"""``steadytree assess``: what is printed is what the assessment found."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from tests.cli.conftest import Files, Run


def test_the_assessment_in_words_and_files(run: Run, files: Files, tmp_path: Path) -> None:
    arguments = (
        *("assess", files.old, "--target", "outcome", "--learner", "cart", "--resamples", 4),
        *("--drop", "clinic", "--group", "patient", "--time", "year", "-q", "--max-leaves", 5),
    )
    text = run(*arguments)
    assert text.code == 0, text.err
    assert "refitted on 4 bootstraps" in text.out
    assert text.err == ""
    result = run(*arguments, "--json", "--out", tmp_path)
    document = result.document
    assert document["n_resamples"] == 4
    assert len(document["dissimilarity"]) == 4
    assert all(row["n_leaves"] <= 5 for row in document["sizes"])
    assert {Path(f).name for f in document["files"]} == {
        *("assessment.json", "summary.csv", "splits.csv", "cut_points.csv")
    }
    written = json.loads((tmp_path / "assessment.json").read_text())
    assert written["summary"] == document["summary"]
    splits = pd.read_csv(tmp_path / "splits.csv", index_col=0)
    assert splits["root"].sum() == pytest.approx(1)
    assert not {"clinic", "patient", "year", "outcome"} & set(splits.index)


def test_progress_goes_to_stderr(run: Run, files: Files) -> None:
    result = run(
        *("assess", files.old, "--target", "outcome", "--learner", "cart"),
        *("--resamples", 3, "--resample", "subsample", "--json"),
    )
    assert result.code == 0
    assert "Refitting" in result.err
    assert result.document["resample"] == "subsample"


def test_bad_input(run: Run, files: Files) -> None:
    assert run("assess", files.old, "--target", "outcome", "--resamples", 1).code == 2
    result = run("assess", files.old, "--target", "nix")
    assert result.code == 2
    assert "as --target, got 'nix'" in result.err
