"""``steadytree verify``: whether a folder is one whole run that may be deployed."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Files, Run


def fit(run: Run, files: Files, out: Path) -> None:
    given = ("fit", files.old, "--target", "outcome", "--learner", "cart", "-q")
    assert run(*given, "--out", out).code == 0


def test_a_whole_run_passes_and_a_changed_one_does_not(
    run: Run, files: Files, tmp_path: Path
) -> None:
    fit(run, files, tmp_path)
    passed = run("verify", tmp_path)
    assert passed.code == 0
    assert "1 file of one run (fit of 20" in passed.out
    document = run("verify", tmp_path, "--json").document
    assert document["whole"] is document["accepted"] is True
    assert document["manifest"]["options"]["target"] == "outcome"
    with (tmp_path / "tree.json").open("a") as file:
        file.write(" ")
    failed = run("verify", tmp_path)
    assert failed.code == 3
    assert "tree.json is not the file that the run wrote" in failed.out


def test_a_run_whose_plan_did_not_hold_is_none_to_deploy(
    run: Run, files: Files, tmp_path: Path
) -> None:
    given = ("fit", files.old, "--target", "outcome", "--learner", "cart", "--max-leaves", 2, "-q")
    assert run(*given, "--out", tmp_path / "other").code == 0
    other, out = tmp_path / "other" / "tree.json", tmp_path / "compared"
    compared = run("compare", files.tree, other, "--plan", "max_dissimilarity=0", "--out", out)
    assert compared.code == 3, compared.err
    result = run("verify", out, "--json")
    assert result.code == 3
    assert result.document["whole"] is True
    assert result.document["accepted"] is False
    assert "it ended with code 3: its plan did not hold" in run("verify", out).out


def test_what_no_run_wrote_is_bad_input(run: Run, tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "no"):
        result = run("verify", folder)
        assert result.code == 2
        assert "expected a folder with a manifest.json" in result.err
