"""``steadytree fit`` and ``assess``: each learner, what is left out, and what is printed."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from steadytree.cli.fit_command import make_learner
from steadytree.estimators import (
    DistilledTreeClassifier,
    DistilledTreeRegressor,
    StableTreeClassifier,
    StableTreeRegressor,
)
from steadytree.tree.json import load_tree
from tests.cli.conftest import Files, Run


@pytest.mark.parametrize("learner", ["distilled", "cart"])
def test_a_tree_is_written_and_shown(run: Run, files: Files, tmp_path: Path, learner: str) -> None:
    arguments = (
        *("fit", files.old, "--target", "outcome", "--learner", learner, "--max-leaves", 5),
        *("--drop", "clinic", "--drop", "patient", "--time", "year", "--seed", 3),
        *("--decision-threshold", "prevalence", "--positive", "malignant"),
    )
    result = run(*arguments, "--out", tmp_path, "--json")
    assert result.code == 0, result.err
    document = result.document
    tree = load_tree(tmp_path / "tree.json")
    assert document["n_leaves"] == tree.n_leaves <= 5
    columns = ["radius", "texture", "smoothness", "concavity", "points", "size"]
    assert document["columns"] == list(tree.feature_names or ()) == columns
    assert tree.classes == ("benign", "malignant")
    rate = (pd.read_csv(files.old)["outcome"] == "malignant").mean()
    assert tree.decision_threshold == pytest.approx(rate)
    assert document["decision"]["positive"] == "malignant"
    assert tree.space is not None
    assert tree.space.categories[5] == ("l", "m", "s")
    assert document["files"] == [str(tmp_path / "tree.json")]
    assert f"wrote {tmp_path / 'tree.json'}" in result.err
    text = run(*arguments, "-q").out
    assert text.splitlines()[1] == "Policy: flags malignant from a risk of 50.7 % on (prevalence)."
    assert text == run(*arguments, "-q").out


@pytest.mark.parametrize("learner", ["distilled", "cart"])
def test_a_tree_that_decides_nothing_is_said_once(run: Run, files: Files, learner: str) -> None:
    result = run(
        *("fit", files.old, "--target", "outcome", "--learner", learner, "--max-leaves", 5, "-q"),
        *("--types", "patient=ignore", "--decision-threshold", 0, "--positive", "benign"),
    )
    assert result.code == 0, result.err
    assert result.err.startswith('Warning: the tree decides "benign" for all 280 rows: "benign" ')
    assert result.err.count("decides") == 1


@pytest.mark.parametrize(
    ("name", "task", "kind"),
    [
        ("distilled", "classification", DistilledTreeClassifier),
        ("distilled", "regression", DistilledTreeRegressor),
        ("stable", "classification", StableTreeClassifier),
        ("stable", "regression", StableTreeRegressor),
    ],
)
def test_where_nothing_is_asked_for_the_own_defaults_hold(name: str, task: str, kind: Any) -> None:
    options = SimpleNamespace(learner=name, max_leaves=None, seed=7)
    model = make_learner(options, task, jobs=2)
    assert type(model) is kind
    assert model.get_params() == kind(n_jobs=2, random_state=7).get_params()


def test_regression(run: Run, files: Files) -> None:
    result = run("fit", files.regression, "--target", "progress", "--learner", "cart", "--json")
    assert result.code == 0, result.err
    assert result.document["task"] == "regression"
    assert result.document["rules"][0]["label"] is None


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


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--target", "outcom"], "got none of that name; did you mean 'outcome'?"),
        (["--target", "outcome", "--time", "when"], "expected 'when' (--time) among"),
        (["--target", "outcome", "--drop", "nix"], "expected 'nix' (--drop) among"),
        (["--target", "texture"], "missing in 'texture' (lines 2, 11, 20 and 29 more); fill them"),
        (["--target", "patient"], "140 different whole numbers; name another column"),
        (
            ["--target", "outcome", "--decision-threshold", "1.5", "--positive", "malignant"],
            "expected a number from 0 to 1 or \"prevalence\" as --decision-threshold, got '1.5'",
        ),
        (
            ["--target", "outcome", "--decision-threshold", "0.2"],
            "expected --positive with --decision-threshold, got none: which outcome is to be "
            "detected: --positive benign or --positive malignant",
        ),
        (
            ["--target", "outcome", "--learner", "stable", "--max-leaves", "4"],
            "expected no --max-leaves with --learner stable",
        ),
        (
            ["--target", "outcome", "--positive", "sick"],
            "expected one of the classes 'benign', 'malignant' as --positive, got 'sick'",
        ),
        (
            ["--target", "radius", "--decision-threshold", "0.5"],
            "expected no --decision-threshold in regression",
        ),
        (["--target", "size", "--positive", "l"], "expected no --positive with 3 classes"),
    ],
)
def test_bad_input(run: Run, files: Files, options: list[str], message: str) -> None:
    result = run("fit", files.old, *options)
    assert result.code == 2
    assert message in result.err


@pytest.mark.parametrize("learner", ["distilled", "cart"])
def test_forbidden_columns(run: Run, files: Files, tmp_path: Path, learner: str) -> None:
    arguments = ("fit", files.old, "--target", "outcome", "--learner", learner, "--max-leaves", 4)
    first = run(*arguments, "--json", "-q", "--out", tmp_path)
    root = load_tree(tmp_path / "tree.json")
    name = root.feature_labels[root.feature[0]]
    second = run(*arguments, "--json", "-q", "--out", tmp_path, "--forbid", name)
    assert first.code == second.code == 0, second.err
    tree = load_tree(tmp_path / "tree.json")
    assert name in (tree.feature_names or ())
    assert name not in {tree.feature_labels[j] for j in tree.used_features}
    assert tree.n_leaves > 1
    assert second.document["forbidden"] == [name]
    stable = run("fit", files.old, "--target", "outcome", "--learner", "stable", "--forbid", name)
    assert stable.code == 2
    assert "expected no --forbid with --learner stable" in stable.err


def test_the_assessment_in_words_and_files(run: Run, files: Files, tmp_path: Path) -> None:
    arguments = (
        *("assess", files.old, "--target", "outcome", "--learner", "cart", "--resamples", 4),
        *("--drop", "clinic", "--group", "patient", "--time", "year", "--max-leaves", 5),
    )
    text = run(*arguments, "-q")
    assert text.code == 0, text.err
    assert "refitted on 4 bootstraps" in text.out
    assert text.err == ""
    result = run(*arguments, "--json", "--out", tmp_path)
    document = result.document
    assert "Refitting" in result.err
    assert document["n_resamples"] == 4
    assert len(document["dissimilarity"]) == 4
    assert all(row["n_leaves"] <= 5 for row in document["sizes"])
    names = {"assessment.json", "summary.csv", "splits.csv", "cut_points.csv"}
    assert {Path(f).name for f in document["files"]} == names
    written = json.loads((tmp_path / "assessment.json").read_text())
    assert written["summary"] == document["summary"]
    splits = pd.read_csv(tmp_path / "splits.csv", index_col=0)
    assert splits["root"].sum() == pytest.approx(1)
    assert not {"clinic", "patient", "year", "outcome"} & set(splits.index)
