"""``steadytree compare``: the diff, the scores, the gates and their exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from steadytree.tree.decision import Decision
from steadytree.tree.json import load_tree, save_tree
from steadytree.tree.tree import Tree
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
    flips = document["affected"]["flips"]
    assert flips["count"] / flips["of"] == pytest.approx(facts["flips"])
    assert document["score"]["change"]["change"] == pytest.approx(facts["change"], abs=5e-4)
    assert document["score"]["name"] == "AUC"
    named = [policy["positive"] for policy in document["diff"]["policy"].values()]
    assert named == ["malignant"] * 2
    assert document["plan"] == {"held": True, "clauses": []}
    clinics, sizes = (one["groups"] for one in document["groups"])
    assert [g["group"]["words"] for g in clinics] == [f"clinic {i}" for i in range(4)]
    n = sum(g["n"]["count"] for g in clinics)
    shares = sum(g["n"]["count"] * g["flips"]["measure"] for g in clinics) / n
    assert shares == pytest.approx(facts["flips"], abs=5e-4)
    assert {g["group"]["words"] for g in sizes} == {"s", "m", "l"}
    assert document["diff"]["kind"] == "diff"


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


# -- plans ----------------------------------------------------------------------------------


def test_without_rows_the_rules_alone_are_compared(
    run: Run, files: Files, other: Path, tmp_path: Path
) -> None:
    out = tmp_path / "new" / "out"
    result = run("compare", files.tree, other, "--plan", "max_dissimilarity=0", "--out", out)
    assert result.code == 3
    assert "the first split on " in result.out
    assert "get another decision" not in result.out
    assert ", at most 0.0 %: broken" in result.out
    names = {"diff.json", "diff.md", "report.html", "manifest.json"}
    assert {path.name for path in out.iterdir()} == names
    document = run("compare", files.tree, other, "--json").document
    assert json.loads((out / "diff.json").read_text()) == document["diff"]


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
        (["--data", "DATA", "--target", "radius"], "expected either tree's classes"),
        (["--data", "DATA", "--subgroup", "town"], "expected 'town' (--subgroup) among"),
        (["--data", "DIABETES"], "(which the tree uses) among"),
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


# -- ways to fool a plan --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def first_column(files: Files) -> str:
    tree = load_tree(files.tree)
    return tree.feature_labels[int(tree.feature[0])]


@pytest.fixture(scope="module")
def moved(files: Files, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The deployed tree with its first threshold moved: decisions change on intact rows."""
    tree = load_tree(files.tree)
    rows = pd.read_csv(files.new)[tree.feature_labels[int(tree.feature[0])]]
    threshold = tree.threshold.copy()
    threshold[0] = rows.quantile(0.9)
    path = tmp_path_factory.mktemp("moved") / "moved.json"
    save_tree(tree.replace(threshold=threshold), path)
    return path


BROKEN: dict[str, Any] = {
    "empty": lambda values: values * np.nan,
    "in other units": lambda values: values * 1000,
    "one number throughout": lambda values: values * 0 - 1,
}


@pytest.mark.parametrize("how", BROKEN)
def test_no_clause_holds_on_a_broken_column(
    run: Run, files: Files, moved: Path, first_column: str, how: str, tmp_path: Path
) -> None:
    plan = ("--target", "outcome", "--plan", "max_flips=0.02")
    intact = run("compare", files.tree, moved, "--data", files.new, *plan)
    assert intact.code == 3, "the moved threshold changes decisions"
    table = pd.read_csv(files.new)
    table[first_column] = BROKEN[how](table[first_column])
    broken = tmp_path / "broken.csv"
    table.to_csv(broken, index=False)
    result = run("compare", files.tree, moved, "--data", broken, *plan, "--json")
    assert result.code == 3
    (clause,) = result.document["plan"]["clauses"]
    assert clause["verdict"] == "not judged"
    assert f"column {first_column!r}" in clause["reason"]
    assert [one["column"] for one in result.document["changed_columns"]] == [first_column]
    assert f"Warning: column {first_column!r}" in result.err
    # Whoever knows better says so by name.
    accepted = run("compare", files.tree, moved, "--data", broken, *plan, *accept(first_column))
    assert accepted.code == 0
    assert run(*("compare", files.tree, moved, "--data", broken, *plan), *accept("size")).code == 3


def accept(column: str) -> tuple[str, str]:
    return ("--plan", f"accept={column}")


@pytest.mark.parametrize("how", ["in other units", "one number throughout"])
def test_nor_when_retraining(
    run: Run, files: Files, first_column: str, how: str, tmp_path: Path
) -> None:
    table = pd.read_csv(files.new)
    table[first_column] = BROKEN[how](table[first_column])
    broken = tmp_path / "broken.csv"
    table.to_csv(broken, index=False)
    arguments = [
        *("retrain", broken, "--deployed", files.tree, "--target", "outcome", "--json"),
        *(
            "--trees",
            "10",
            "--folds",
            "2",
            "--plan",
            "max_dissimilarity=1",
            "--plan",
            "max_flips=1",
        ),
    ]
    result = run(*arguments)
    assert result.code == 3
    assert [one["column"] for one in result.document["changed_columns"]] == [first_column]
    assert run(*arguments, *accept(first_column)).code == 0


def own_space(tree: Tree, bound: float) -> Tree:
    """The tree with a vast space of its own."""
    assert tree.space is not None
    numeric = [c is None for c in tree.space.categories]
    return tree.replace(
        space=tree.space.replace(
            lower=np.where(numeric, -bound, tree.space.lower),
            upper=np.where(numeric, bound, tree.space.upper),
        )
    )


def test_the_new_tree_brings_no_yardstick_of_its_own(
    run: Run, files: Files, moved: Path, tmp_path: Path
) -> None:
    bare, vast = tmp_path / "bare.json", tmp_path / "vast.json"
    save_tree(load_tree(files.tree).replace(space=None), bare)
    save_tree(own_space(load_tree(moved), 1e9), vast)
    honest = run("compare", files.tree, moved, "--json").document["dissimilarity"]
    assert honest > 0.02
    alone = run("compare", bare, vast, "--plan", "max_dissimilarity=0.01", "--json")
    assert alone.code == 3
    assert alone.document["dissimilarity"] < 1e-6, "what its own ranges make of the change"
    assert "own space" in alone.document["plan"]["clauses"][0]["reason"]
    with_rows = run(
        *("compare", bare, vast, "--data", files.new, "--plan", "max_dissimilarity=0.01", "--json")
    )
    assert with_rows.code == 3
    assert with_rows.document["dissimilarity"] > 0.02
    stored = run("compare", files.tree, vast, "--plan", "max_dissimilarity=0.01", "--json")
    assert stored.document["dissimilarity"] == pytest.approx(honest)


def test_one_outlier_is_not_the_yardstick(
    run: Run, files: Files, moved: Path, first_column: str, tmp_path: Path
) -> None:
    """Of a tree without a space; 999 in one of the rows made every change look small."""
    bare = tmp_path / "bare.json"
    save_tree(load_tree(files.tree).replace(space=None), bare)
    table = pd.read_csv(files.new)
    numbers: dict[str, list[float]] = {"compare": [], "retrain": []}
    for name, outlier in (("intact.csv", None), ("outlier.csv", 9_999.0)):
        if outlier is not None:
            table.loc[5, first_column] = outlier
        data = tmp_path / name
        table.to_csv(data, index=False)
        compared = run("compare", bare, moved, "--data", data, "--json")
        retrained = run(
            *("retrain", data, "--deployed", bare, "--target", "outcome", "--price", "0.02"),
            *("--trees", "10", "--folds", "0", "--json"),
        )
        for result in (compared, retrained):
            assert result.code == 0, result.err
            assert "No ranges are stored with" in result.document["space_note"]
        numbers["compare"].append(compared.document["dissimilarity"])
        numbers["retrain"].append(retrained.document["candidates"][-1]["dissimilarity"])
    for before, after in numbers.values():
        assert before > 0.02
        assert after == pytest.approx(before, rel=0.1)
    words = run("compare", bare, moved, "--data", data)
    assert "distances are over those of the rows given, from the 0.5 to the 99.5 %" in words.out
    stored = run("compare", files.tree, moved, "--data", data, "--json")
    assert stored.document["space_note"] is None


def test_rows_do_not_widen_a_stored_range(
    run: Run, files: Files, first_column: str, tmp_path: Path
) -> None:
    """Else the limit of one command would hold where that of the other does not."""
    table = pd.read_csv(files.new)
    table.loc[table.index % 5 == 0, first_column] = 2 * table[first_column].max()
    data, out = tmp_path / "beyond.csv", tmp_path / "proposal"
    table.to_csv(data, index=False)
    options = ("--target", "outcome", "--trees", "10", "--folds", "0", "--price", "0.02")
    retrained = run(*("retrain", data, "--deployed", files.tree, *options, "--json", "--out", out))
    assert retrained.code == 0
    assert "out of range" in retrained.err
    for rows in ((), ("--data", data)):
        compared = run("compare", files.tree, out / "tree.json", *rows, "--json")
        assert compared.document["dissimilarity"] == retrained.document["dissimilarity"] > 0


def test_a_tree_is_not_held_against_itself(run: Run, files: Files, tmp_path: Path) -> None:
    link = tmp_path / "link.json"
    link.symlink_to(files.tree)
    copy = tmp_path / "copy.json"
    copy.write_bytes(files.tree.read_bytes())
    for twin in (files.tree, link, copy):
        result = run("compare", files.tree, twin, "--plan", "max_dissimilarity=0.1")
        assert result.code == 2
        assert "expected two trees to hold a plan against, got the same tree twice" in result.err
        # Without a plan nobody is fooled.
        assert run("compare", files.tree, twin).code == 0
    assert "Both files hold the very same tree." in run("compare", files.tree, copy).err


def test_few_rows_and_turned_outcomes_hold_nothing(
    run: Run, files: Files, moved: Path, tmp_path: Path
) -> None:
    """One row held max_flips, two rows min_score_change; turned outcomes gained."""
    table = pd.read_csv(files.new)
    few, turned = tmp_path / "few.csv", tmp_path / "turned.csv"
    pd.concat([part[:1] for _, part in table.groupby("outcome")]).to_csv(few, index=False)
    names = {"malignant": "benign", "benign": "malignant"}
    table.assign(outcome=table["outcome"].map(names)).to_csv(turned, index=False)
    for rows, plan in (
        (few, "max_flips=1"),
        (few, "min_score_change=-1"),
        (turned, "min_score_change=-1"),
        (turned, "min_gain=0.001"),
    ):
        data = ("--data", rows, "--target", "outcome", "--plan", plan, "--json")
        result = run("compare", files.tree, moved, *data)
        assert result.code == 3
        (clause,) = result.document["plan"]["clauses"]
        assert clause["verdict"] == "not judged"


def test_compare_after_a_retraining_that_met_a_new_category(
    run: Run, files: Files, tmp_path: Path
) -> None:
    table = pd.read_csv(files.new)
    table.loc[table.index % 7 == 0, "size"] = "xl"
    data = tmp_path / "xl.csv"
    table.to_csv(data, index=False)
    out = tmp_path / "proposal"
    options = ("--target", "outcome", "--trees", "10", "--folds", "2", "--json", "--out", out)
    retrained = run("retrain", data, "--deployed", files.tree, *options)
    assert retrained.code == 0
    new = out / "tree.json"
    assert "xl" in str(load_tree(new).categories)
    for rows in ((), ("--data", data, "--target", "outcome")):
        compared = run("compare", files.tree, new, *rows, "--plan", "max_dissimilarity=1", "--json")
        assert compared.code == 0
    assert compared.document["diff"]["flips"] == retrained.document["diff"]["flips"]
