"""``steadytree compare``: the diff, the scores, the gates and their exit codes."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from steadytree.diff.comparison import compare
from steadytree.tree.decision import Decision
from steadytree.tree.json import load_tree, save_tree
from tests.cli.conftest import Files, Run


@pytest.fixture(scope="module")
def other(files: Files, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The deployed tree with its first threshold moved and one leaf relabelled."""
    tree = load_tree(files.tree)
    threshold = tree.threshold.copy()
    threshold[0] *= 1.05
    label = tree.label.copy()
    label[tree.leaves[1]] = 1 - label[tree.leaves[1]]
    path = tmp_path_factory.mktemp("other") / "other.json"
    save_tree(tree.replace(threshold=threshold, label=label), path)
    return path


@pytest.fixture(scope="module")
def facts(files: Files, other: Path) -> dict[str, float]:
    """What the measures are, counted here."""
    X = pd.read_csv(files.new)
    y = X["outcome"] == "malignant"
    a, b = load_tree(files.tree), load_tree(other)
    return {
        "flips": float(np.mean(a.predict(X) != b.predict(X))),
        "change": float(
            roc_auc_score(y, b.predict_proba(X)[:, 1]) - roc_auc_score(y, a.predict_proba(X)[:, 1])
        ),
    }


def test_what_changed_in_words(run: Run, files: Files, other: Path) -> None:
    result = run("compare", files.tree, other)
    assert result.code == 0
    assert "the first split on " in result.out
    assert "moved from" in result.out
    assert "get another decision" not in result.out


def test_with_rows_and_outcomes(
    run: Run, files: Files, other: Path, facts: dict[str, float]
) -> None:
    result = run(
        *("compare", files.tree, other, "--data", files.new_parquet, "--target", "outcome"),
        *("--subgroup", "clinic", "--subgroup", "size", "--json", "--group", "patient"),
    )
    assert result.code == 0, result.err
    document = result.document
    assert document["schema_version"] == 1
    assert document["exit_code"] == 0
    assert document["flips"] == pytest.approx(facts["flips"])
    assert document["score"]["change"] == pytest.approx(facts["change"], abs=5e-4)
    assert document["score"]["name"] == "AUC"
    named = [policy["positive"] for policy in document["decision"].values()]
    assert named == ["malignant"] * 2
    assert document["plan"] == {"held": True, "clauses": []}
    groups = document["subgroups"]["clinic"]["flips"]
    assert [g["group"] for g in groups] == [f"clinic {i}" for i in range(4)]
    n = sum(g["n"] for g in groups)
    shares = sum(g["n"] * g["flips"] for g in groups) / n
    assert shares == pytest.approx(facts["flips"], abs=5e-4)
    assert {g["group"] for g in document["subgroups"]["size"]["flips"]} == {"s", "m", "l"}
    assert document["diff"]["kind"] == "tree-diff"


def test_the_positive_class_is_named(run: Run, files: Files, tmp_path: Path) -> None:
    named = load_tree(files.tree).relabelled(Decision(0.3, positive="malignant"))
    path = save_tree(named, tmp_path / "t.json")
    result = run("compare", files.tree, path, "--data", files.new, "-q")
    assert result.code == 0, result.err
    assert "The risk of malignant moves by more than 5 points for" in result.out
    lines = result.out.splitlines()
    assert "Policy of the new tree: flags malignant from a risk of 30 % on." in lines
    document = run("compare", files.tree, path, "--json", "-q").document
    assert document["diff"]["positive"] == "malignant"
    assert document["one_decision"] == {}


def test_a_tree_that_decides_nothing_is_said(run: Run, files: Files, tmp_path: Path) -> None:
    policy = Decision(0.0, positive="malignant")
    path = save_tree(load_tree(files.tree).relabelled(policy), tmp_path / "t.json")
    says = 'he new tree decides "malignant" for all 289 rows: "malignant" needs a risk of 0 %'
    arguments = ("compare", files.tree, path, "--data", files.new, "--target", "outcome", "-q")
    result = run(*arguments)
    assert result.code == 0, result.err
    assert result.err.count(f"Warning: t{says} and 24 % of rows are malignant.") == 1
    assert result.err.count("decides") == 1
    assert result.out.count(f"T{says} and 24 % of rows are malignant.") == 1
    document = run(*arguments, "--json").document
    assert document["one_decision"]["new"].startswith(f"T{says}")


def test_files(run: Run, files: Files, other: Path, tmp_path: Path) -> None:
    result = run("compare", files.tree, other, "--out", tmp_path / "new" / "out", "--json")
    assert result.code == 0, result.err
    names = {Path(f).name for f in result.document["files"]}
    assert names == {"diff.json", "diff.md", "report.html"}
    content = json.loads((tmp_path / "new" / "out" / "diff.json").read_text())
    assert content == result.document["diff"]


def test_the_same_tree_twice(run: Run, files: Files, tmp_path: Path) -> None:
    copy = tmp_path / "copy.json"
    copy.write_bytes(files.tree.read_bytes())
    result = run("compare", files.tree, copy)
    assert result.code == 0
    assert result.out.startswith("No rule changed")


# -- plans: every combination of limits, each unset, held or broken --------------------------

LIMITS = ("max_flips", "max_dissimilarity", "min_score_change", "max_leaves")


@pytest.fixture(scope="module")
def measured(files: Files, other: Path, facts: dict[str, float]) -> dict[str, Any]:
    """What each clause measures, with its interval."""
    rows = pd.read_csv(files.new)
    plan = dict.fromkeys(LIMITS, 1)
    check = compare(files.tree, other, rows, rows["outcome"], plan=plan).plan_check
    found = {clause.name: clause.to_dict() for clause in check.clauses}
    assert found["max_flips"]["measured"] == pytest.approx(facts["flips"])
    assert found["min_score_change"]["measured"] == pytest.approx(facts["change"])
    return found


def limit(name: str, state: str, clause: dict[str, Any]) -> float:
    """A limit that the pair of trees holds, or breaks."""
    held = state == "held"
    if name == "max_leaves":
        return float(clause["measured"]) - (not held)
    if name == "min_score_change":
        return float(clause["low"]) + (-0.01 if held else 0.01)
    end = "high" if name == "max_flips" else "measured"
    return float(clause[end]) + (0.01 if held else -0.001)


@pytest.mark.parametrize(
    "states", list(itertools.product(["unset", "held", "broken"], repeat=len(LIMITS)))
)
def test_every_combination_of_limits(
    run: Run, files: Files, other: Path, measured: dict[str, Any], states: tuple[str, ...]
) -> None:
    asked = [(n, s) for n, s in zip(LIMITS, states, strict=True) if s != "unset"]
    options = [("--plan", f"{name}={limit(name, s, measured[name]):.9g}") for name, s in asked]
    result = run(
        *("compare", files.tree, other, "--data", files.new, "--target", "outcome", "-q"),
        *(item for option in options for item in option),
        "--json",
    )
    expected = 3 if "broken" in states else 0
    assert result.code == expected
    plan = result.document["plan"]
    assert result.document["exit_code"] == expected
    assert plan["held"] == (expected == 0)
    assert [(c["name"], c["verdict"]) for c in plan["clauses"]] == asked


def test_a_broken_clause_in_words(run: Run, files: Files, other: Path) -> None:
    result = run("compare", files.tree, other, "--plan", "max_dissimilarity=0")
    assert result.code == 3
    assert ", at most 0.0 %: broken" in result.out
    assert "1 of 1 clauses did not hold" in result.err


def test_groups_and_locks_of_a_plan(run: Run, files: Files, other: Path) -> None:
    """The columns of groups need be no predictors."""
    plan = ("--plan", "per_group.clinic.max_flips=1", "--plan", "locked=root")
    result = run("compare", files.tree, other, "--data", files.new, *plan, "--json", "-q")
    locked, *groups = result.document["plan"]["clauses"]
    assert (locked["name"], locked["verdict"]) == ("locked", "broken")
    assert {clause["group"] for clause in groups} == {f"clinic = clinic {i}" for i in range(4)}


# -- bad input -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--plan", "max_flips=0.1"], "expected rows for max_flips, got none; pass the rows"),
        (["--plan", "min_score_change=0"], "expected rows with outcomes for min_score_change"),
        (["--target", "outcome"], "expected --data with --target, --group or --subgroup"),
        (["--plan", "max_dissimilarity=2"], "expected a share from 0 to 1 as max_dissimilarity"),
        (["--data", "DATA", "--target", "radius"], "expected the trees' classes"),
        (["--data", "DATA", "--subgroup", "town"], "as --subgroup, got 'town'"),
        (["--data", "DIABETES"], "got none called 'radius'"),
    ],
)
def test_bad_input(run: Run, files: Files, other: Path, options: list[str], message: str) -> None:
    places = {"DATA": files.new, "DIABETES": files.regression}
    used = [places.get(option, option) for option in options]
    result = run("compare", files.tree, other, *used)
    assert result.code == 2, result.err
    assert message in result.err


def test_trees_without_a_space_need_rows(run: Run, files: Files, tmp_path: Path) -> None:
    tree = load_tree(files.tree)
    save_tree(tree.replace(space=None, label=tree.label), tmp_path / "bare.json")
    alone = run("compare", tmp_path / "bare.json", tmp_path / "bare.json")
    assert alone.code == 2
    assert "expected space=..., got none" in alone.err
    with_rows = run("compare", tmp_path / "bare.json", tmp_path / "bare.json", "--data", files.new)
    assert with_rows.code == 0, with_rows.err


def test_trees_of_different_tasks(run: Run, files: Files, tmp_path: Path) -> None:
    assert run("fit", files.regression, "--target", "progress", "--out", tmp_path).code == 0
    result = run("compare", files.tree, tmp_path / "tree.json")
    assert result.code == 2
    assert result.err.startswith("Error: expected")
