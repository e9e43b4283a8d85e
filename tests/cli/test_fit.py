"""``steadytree fit``: each learner, and what is left out of the predictors."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from steadytree.core.format import load_tree
from tests.cli.conftest import Files, Run


@pytest.mark.parametrize("learner", ["distilled", "cart"])
def test_a_tree_is_written_and_shown(run: Run, files: Files, tmp_path: Path, learner: str) -> None:
    result = run(
        *("fit", files.old, "--target", "outcome", "--learner", learner, "--max-leaves", 5),
        *("--drop", "clinic", "--drop", "patient", "--time", "year", "--out", tmp_path, "--json"),
        *("--decision-threshold", "prevalence"),
    )
    assert result.code == 0, result.err
    document = result.document
    tree = load_tree(tmp_path / "tree.json")
    assert document["n_leaves"] == tree.n_leaves <= 5
    assert document["columns"] == [
        *("radius", "texture", "smoothness", "concavity", "points", "size")
    ]
    assert tree.feature_names == tuple(document["columns"])
    assert tree.classes == ("benign", "malignant")
    rate = (pd.read_csv(files.old)["outcome"] == "malignant").mean()
    assert tree.decision_threshold == pytest.approx(rate)
    assert tree.space is not None
    assert tree.space.categories[5] == ("l", "m", "s")
    assert document["files"] == [str(tmp_path / "tree.json")]
    assert f"wrote {tmp_path / 'tree.json'}" in result.err


def test_a_stable_tree_with_time_and_groups(run: Run, files: Files, tmp_path: Path) -> None:
    result = run(
        *("fit", files.old, "--target", "outcome", "--learner", "stable", "--bootstraps", 2),
        *("--time", "year", "--group", "patient", "--drop", "clinic", "--out", tmp_path),
        *("--json", "--jobs", 1),
    )
    assert result.code == 0, result.err
    table = pd.read_csv(tmp_path / "candidates.csv")
    assert table["on_frontier"].any()
    assert result.document["score_estimate"] is not None
    assert {Path(f).name for f in result.document["files"]} == {
        *("tree.json", "candidates.csv", "report.html")
    }


def test_the_seed_makes_it_repeatable(run: Run, files: Files) -> None:
    arguments = ("fit", files.old, "--target", "outcome", "--max-leaves", 6, "-q")
    assert run(*arguments, "--seed", 3).out == run(*arguments, "--seed", 3).out


def test_regression(run: Run, files: Files) -> None:
    result = run("fit", files.regression, "--target", "progress", "--learner", "cart", "--json")
    assert result.code == 0, result.err
    assert result.document["task"] == "regression"
    assert result.document["rules"][0]["label"] is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--target", "outcom"], "got 'outcom', which it does not have; did you mean 'outcome'?"),
        (["--target", "zzz"], "expected a column of"),
        (["--target", "outcome", "--time", "when"], "as --time, got 'when'"),
        (["--target", "outcome", "--drop", "nix"], "as --drop, got 'nix'"),
        (["--target", "texture"], "missing in 'texture'; drop these rows first"),
        (["--target", "patient"], "different whole numbers; say --task"),
        (
            ["--target", "outcome", "--decision-threshold", "often"],
            "expected a number or \"prevalence\" as --decision-threshold, got 'often'",
        ),
        (
            ["--target", "outcome", "--learner", "stable", "--max-leaves", "4"],
            "expected no --max-leaves with --learner stable",
        ),
        (
            ["--target", "radius", "--decision-threshold", "0.5"],
            "expected no --decision-threshold in regression",
        ),
    ],
)
def test_bad_input(run: Run, files: Files, options: list[str], message: str) -> None:
    result = run("fit", files.old, *options)
    assert result.code == 2
    assert message in result.err


def test_a_target_with_one_class(run: Run, files: Files, tmp_path: Path) -> None:
    table = pd.read_csv(files.old).assign(outcome="benign")
    table.to_csv(tmp_path / "one.csv", index=False)
    result = run("fit", tmp_path / "one.csv", "--target", "outcome")
    assert result.code == 2
    assert "two or more different values, got only 'benign'" in result.err


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("none.csv", None, "expected a readable table, got No such file or directory"),
        ("empty.csv", b"", "expected a table with rows, got an empty file"),
        ("head.csv", b"a,b\n", "expected a table with rows and columns, got none"),
        ("ragged.csv", b"a,b\n1,2\n1,2,3\n", "got a file that cannot be read"),
        ("binary.csv", b"a,b\n\xff\xfe,1\n", "got a file that cannot be read"),
        ("table.xlsx", b"x", "expected a CSV or Parquet file"),
        ("broken.parquet", b"PAR1 no", "expected Parquet in"),
        ("only.csv", b"y\n1\n2\n", "got no column besides the target"),
    ],
)
def test_unreadable_tables(
    run: Run, tmp_path: Path, name: str, content: bytes | None, message: str
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    result = run("fit", path, "--target", "y")
    assert result.code == 2, result.err
    assert message in result.err
    assert str(path) in result.err


def test_a_folder_instead_of_a_table(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "folder.csv"
    folder.mkdir()
    result = run("fit", folder, "--target", "y")
    assert result.code == 2
    assert "expected a readable table, got Is a directory" in result.err


def test_an_output_folder_that_cannot_be_made(run: Run, files: Files, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    result = run("fit", files.old, "--target", "outcome", "--out", tmp_path / "file" / "out")
    assert result.code == 2
    assert "expected a folder that can be written as --out, got Not a directory" in result.err
