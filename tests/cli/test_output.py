"""Results go to standard output, all else to standard error, files to the ``--out`` folder."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from steadytree._text import original_cell
from steadytree.cli.output import SCHEMA_VERSION, Output, begin
from steadytree.cli.run_folder import RunFolder
from steadytree.tree.json import load_tree
from tests.cli.conftest import Files, Run


def output(*, as_json: bool = False, verbosity: int = 0) -> Output:
    return Output("test", as_json=as_json, verbosity=verbosity)


def test_a_result_is_a_text_or_a_document(capsys: pytest.CaptureFixture[str]) -> None:
    document = {"flips": np.float64(0.25), "change": float("nan"), "name": "R²"}
    output().result("a quarter", document)
    assert capsys.readouterr().out == "a quarter\n"
    begin()
    output(as_json=True).result("a quarter", document, exit_code=3)
    printed = capsys.readouterr().out
    assert "R²" in printed
    assert json.loads(printed) == {
        **{"schema_version": SCHEMA_VERSION, "command": "test", "exit_code": 3},
        **{"flips": 0.25, "change": None, "name": "R²"},
    }


@pytest.mark.parametrize(("verbosity", "lines"), [(-1, []), (0, ["hello", "work: 1/2 halfway"])])
def test_quiet_means_nothing_but_the_result(
    capsys: pytest.CaptureFixture[str], verbosity: int, lines: list[str]
) -> None:
    told = output(verbosity=verbosity)
    told.say("hello")
    with told.progress("work") as report:
        report("halfway", 1, 2)
    captured = capsys.readouterr()
    assert captured.err.splitlines() == lines
    assert captured.out == ""


def test_files_are_written_listed_and_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "new" / "out"
    names = ["a.txt", "b.txt", "c.json", "d.csv"]
    with RunFolder(out, "test", names, output=output()) as folder:
        folder.text("a.txt", "one line")
        folder.text("b.txt", "one line\n")
        folder.document("c.json", {"score": float("inf")})
        folder.table("d.csv", pd.DataFrame({"edits": [("cut moved", "leaf split"), ()]}))
        assert not any((out / name).exists() for name in names)
        folder.finish()
    assert folder.files == [str(out / name) for name in names]
    assert capsys.readouterr().err.splitlines() == [f"wrote {out / name}" for name in names]
    assert sorted(path.name for path in out.iterdir()) == [*names, "manifest.json"]
    assert (out / "a.txt").read_text() == (out / "b.txt").read_text() == "one line\n"
    assert json.loads((out / "c.json").read_text()) == {"score": None}
    assert (out / "d.csv").read_text().splitlines() == [",edits", "0,cut moved; leaf split", "1,"]


def test_no_cell_is_a_formula_and_numbers_stay_numbers(tmp_path: Path) -> None:
    table = pd.DataFrame(
        {"=SUM(A1)": ["=cmd|' /C calc'!A0", "-1+1", "'quoted"], "change": [-0.5, 2.0, -3.0]},
        index=pd.Index(["@home", "+49", "plain"], name="candidate"),
    )
    with RunFolder(tmp_path, "test", ["d.csv"]) as folder:
        folder.table("d.csv", table)
        folder.finish()
    with (tmp_path / "d.csv").open(newline="") as file:
        cells = list(csv.reader(file))
    assert cells[1] == ["'@home", "'=cmd|' /C calc'!A0", "-0.5"]
    texts = [cell for row in cells for cell in (row[0], row[1])]
    assert not any(cell.startswith(("=", "+", "-", "@")) for cell in texts)
    back = pd.read_csv(tmp_path / "d.csv", index_col=0)
    assert back["change"].tolist() == [-0.5, 2.0, -3.0]
    back = back.map(original_cell).rename(index=original_cell, columns=original_cell)
    pd.testing.assert_frame_equal(back, table, check_dtype=False)


def test_a_refused_tree_has_another_name(tmp_path: Path, files: Files) -> None:
    tree = load_tree(files.tree)
    for accepted, name in ((True, "tree.json"), (False, "refused-tree.json")):
        with RunFolder(tmp_path, "test", ["tree.json"]) as folder:
            folder.tree(tree, accepted=accepted)
            folder.finish(0 if accepted else 3)
        assert sorted(path.name for path in tmp_path.iterdir()) == sorted([name, "manifest.json"])


def test_without_a_folder_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = RunFolder(None, "test", ())
    folder.text("a.txt", "one line")
    folder.report("report.html", None)
    folder.finish()
    assert folder.files == []
    assert list(tmp_path.iterdir()) == []
    assert capsys.readouterr().err == ""


def test_an_output_folder_that_cannot_be_made(run: Run, files: Files, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    result = run("fit", files.old, "--target", "outcome", "--out", tmp_path / "file" / "out")
    assert result.code == 2
    assert "expected a folder that can be written as --out, got Not a directory" in result.err
