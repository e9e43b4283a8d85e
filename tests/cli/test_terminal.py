"""Results on standard output, all else on standard error, files in a folder; nothing acts."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from steadytree._text import original_cell
from steadytree.cli import main, output
from steadytree.cli.run_folder import RunFolder
from tests.cli.conftest import Run

BAD = "\x1b[2J\u202e\u200b\r\nFORGED ::error:: [red]\x07\x9b1m"
TARGET = "died\nFORGED"
GATED = ("retrain", "compare")
GROUP, KIND = f"clinic{BAD}", f"kind{BAD}"


@pytest.fixture(scope="module")
def bad_files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """Tables whose names, categories, classes and file name are all attacks; a tree of them."""
    folder = tmp_path_factory.mktemp("bad")
    rng = np.random.default_rng(0)
    table = pd.DataFrame({f"age{BAD}": rng.normal(size=300), "::error::b": rng.normal(size=300)})
    table[KIND] = rng.choice([f"red{BAD}", "=cmd|' /C calc'!A0", "blue"], 300)
    table[GROUP] = rng.choice([f"north{BAD}", "south"], 300)
    risk = table.iloc[:, 0] + (table[KIND] == "blue") + 0.5 * rng.normal(size=300)
    table[TARGET] = np.where(risk > 0, f"yes{BAD}", "no")
    old, new = folder / "ol\x1b[31md\nFORGED.csv", folder / "new.csv"
    table[:200].to_csv(old, index=False)
    table[200:].to_csv(new, index=False)
    arguments = ["fit", str(old), "--target", TARGET, "--learner", "cart", "-q"]
    assert main([*arguments, "--out", str(folder / "model")]) == 0
    assert main([*arguments, "--max-leaves", "3", "--out", str(folder / "other")]) == 0
    return old, new, folder / "model" / "tree.json"


def assert_harmless(text: str) -> None:
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202e]", text), text
    for line in text.split("\n"):
        assert not line.startswith("FORGED"), text
        assert not line.lstrip().startswith("::"), text


def commands(old: Path, new: Path, tree: Path) -> dict[str, list[object]]:
    data = ["--target", TARGET, "--subgroup", GROUP, "--subgroup", KIND]
    return {
        "fit": ["fit", old, "--target", TARGET, "--learner", "cart"],
        "text": ["show", tree, "-v"],
        "rules": ["show", tree, "--format", "rules"],
        "markdown": ["show", tree, "--format", "markdown"],
        "retrain": [
            *("retrain", new, "--deployed", tree, "--old", old, *data),
            *("--trees", 5, "--folds", 2, "--plan", "max_leaves=1"),
        ],
        "compare": [
            "compare",
            tree,
            tree.parents[1] / "other" / "tree.json",
            "--data",
            new,
            *data,
            "--plan",
            "max_flips=0",
        ],
        "assess": ["assess", old, "--target", TARGET, "--learner", "cart", "--resamples", 3],
        "no file": ["fit", old.with_name("no\x1b]0;x\nFORGED.csv"), "--target", "x"],
        "no column": ["fit", old, "--target", "x\x1b\nFORGED"],
        "no command": ["dance\x1b\nFORGED"],
        "no option": ["fit", "--d\x1b\nFORGED"],
        "no choice": ["show", tree, "--format", "x\x1b\nFORGED"],
        "no lock": [
            "retrain",
            new,
            "--deployed",
            tree,
            "--target",
            TARGET,
            "--plan",
            "locked=x\x1b\nF",
        ],
    }


@pytest.mark.parametrize("name", list(commands(Path("a"), Path("b"), Path("c/c/c"))))
def test_names_out_of_files_act_on_no_terminal(
    run: Run, bad_files: tuple[Path, Path, Path], name: str
) -> None:
    arguments = commands(*bad_files)[name]
    result = run(*arguments)
    assert result.code == (2 if name.startswith("no ") else 3 if name in GATED else 0)
    assert result.out or name.startswith("no ")
    assert_harmless(result.out)
    assert_harmless(result.err)
    # The document holds the true names, escaped.
    printed = run(*arguments, "--json").out
    assert_harmless(printed)
    content = json.loads(printed)
    if name in ("text", "fit"):
        assert any(BAD in rule["label"] for rule in content["rules"])


def test_code_is_never_printed_otherwise_than_it_is(
    run: Run, bad_files: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    refused = run("export", bad_files[2], "--to", "sql")
    assert refused.code == 2
    assert "expected --out where names hold characters that a terminal acts upon" in refused.err
    assert run("export", bad_files[2], "--to", "sql", "--out", tmp_path / "tree.sql").code == 0
    assert BAD in (tmp_path / "tree.sql").read_bytes().decode()
    assert BAD in run("export", bad_files[2], "--to", "sql", "--json").document["text"]


@pytest.mark.filterwarnings("default")
def test_tracebacks_and_warnings_of_others_too(
    run: Run, monkeypatch: pytest.MonkeyPatch, bad_files: tuple[Path, Path, Path]
) -> None:
    def broken(*_: object, **__: object) -> None:
        warnings.warn(f"careful {BAD}", FutureWarning, stacklevel=1)
        raise RuntimeError(f"boom {BAD}")

    monkeypatch.setattr("steadytree.cli.show_command.read_model", broken)
    result = run("show", bad_files[2], "-v")
    assert result.code == 1
    assert "Traceback" in result.err
    assert r"FutureWarning: careful \x1b[2J\u202e\u200b\r" in result.err
    assert r"boom \x1b[2J\u202e\u200b\r" in result.err
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202e]", result.err)


@pytest.mark.parametrize("as_json", [True, False])
def test_whatever_the_locale(bad_files: tuple[Path, Path, Path], as_json: bool) -> None:
    flags = ["--json"] if as_json else []
    for chosen in ({"LC_ALL": "C", "PYTHONUTF8": "0"}, {"PYTHONIOENCODING": "ascii"}):
        done = subprocess.run(
            [sys.executable, "-m", "steadytree", "show", bad_files[2], *flags],
            capture_output=True,
            check=False,
            env={**os.environ, **chosen, "PYTHONCOERCECLOCALE": "0"},
        )
        assert done.returncode == 0, done.stderr
        text = done.stdout.decode("utf-8")
        if as_json:
            assert f"no{BAD}" not in text
            assert f"yes{BAD}" in json.loads(text)["classes"]
        else:
            assert r"age\x1b[2J" in text


def test_standard_output_that_cannot_be_written_is_a_failure(
    bad_files: tuple[Path, Path, Path],
) -> None:
    """A full disk and a closed stream, through a real shell; the code is not Python's own 120."""
    show = f"{sys.executable} -m steadytree show {bad_files[2]}"
    closed = subprocess.run(["sh", "-c", f"{show} >&-"], capture_output=True, check=False)
    assert closed.returncode == 1
    assert b"expected a standard output that can be written, got a closed one" in closed.stderr
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    for flag in ("", " --json"):
        full = subprocess.run(["sh", "-c", f"{show}{flag} > /dev/full"], capture_output=True)
        assert full.returncode == 1
        assert b"got No space left on device; make room" in full.stderr
        assert b"Traceback" not in full.stderr
        assert b"Exception ignored" not in full.stderr


def test_messages_that_cannot_be_written_do_not_stop_the_work(
    bad_files: tuple[Path, Path, Path],
) -> None:
    fit = f"{sys.executable} -m steadytree fit {bad_files[1]} --learner cart --target '{TARGET}'"
    for where in (">&-", "> /dev/full"):
        done = subprocess.run(["sh", "-c", f"{fit} 2{where}"], capture_output=True, check=False)
        assert done.returncode == 0
        assert b"age" in done.stdout


def test_no_cell_of_a_markdown_table_is_a_formula(run: Run, tmp_path: Path) -> None:
    table = pd.DataFrame({"=1+1": [0, 1] * 20, "@x": [3, 1, 2, 2] * 10, "y": ["-no", "=yes"] * 20})
    table.to_csv(tmp_path / "rows.csv", index=False)
    given = ("fit", tmp_path / "rows.csv", "--target", "y", "--learner", "cart", "-q")
    assert run(*given, "--out", tmp_path / "model").code == 0
    shown = run("show", tmp_path / "model" / "tree.json", "--format", "markdown", "-q").out
    assert "'=1+1 &lt;= 0.5" in shown
    cells = [cell.strip() for line in shown.splitlines() for cell in line.split(" | ")]
    assert not [cell for cell in cells if cell.strip("| ").startswith(("=", "@", "-n"))]


# -- results, messages and files -----------------------------------------------------------------


def made(*, as_json: bool = False, verbosity: int = 0) -> output.Output:
    return output.Output("test", as_json=as_json, verbosity=verbosity)


def test_a_result_is_a_text_or_a_document(capsys: pytest.CaptureFixture[str]) -> None:
    document = {"flips": np.float64(0.25), "change": float("nan"), "name": "R²"}
    made().result("a quarter", document)
    assert capsys.readouterr().out == "a quarter\n"
    output.begin()
    made(as_json=True).result("a quarter", document, exit_code=3)
    printed = capsys.readouterr().out
    assert "R²" in printed
    assert json.loads(printed) == {
        **{"schema_version": output.SCHEMA_VERSION, "command": "test", "exit_code": 3},
        **{"flips": 0.25, "change": None, "name": "R²"},
    }
    output.print_error_document("KeyboardInterrupt", "too late", 130)
    assert capsys.readouterr().out == ""  # one document, and no second
    output.begin()
    output.print_error_document("InputError", "no rows", 2)
    error = {"type": "InputError", "message": "no rows", "exit_code": 2}
    content = json.loads(capsys.readouterr().out)
    assert content == {"schema_version": 1, "exit_code": 2, "error": error}


@pytest.mark.parametrize(("verbosity", "lines"), [(-1, []), (0, ["hello", "work: 1/2 halfway"])])
def test_quiet_means_nothing_but_the_result(
    capsys: pytest.CaptureFixture[str], verbosity: int, lines: list[str]
) -> None:
    told = made(verbosity=verbosity)
    told.say("hello")
    with told.progress("work") as report:
        report("halfway", 1, 2)
    captured = capsys.readouterr()
    assert captured.err.splitlines() == lines
    assert captured.out == ""


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
