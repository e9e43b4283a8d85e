"""``steadytree retrain``: the whole story, from the deployed tree to the history."""

from __future__ import annotations

import inspect
import json
import os
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from steadytree.cli.app import group
from steadytree.exceptions import HistoryError
from steadytree.retraining import retrain
from steadytree.retraining.history import History
from steadytree.tree.json import load_tree
from steadytree.tree.tree import Tree
from tests.cli.conftest import Files, Run

FAST = ("--trees", 10, "--folds", 2, "-q")


def test_the_whole_story(run: Run, files: Files, tmp_path: Path) -> None:
    past = tmp_path / "history.jsonl"
    History(past).approve(History(past).append(files.tree), by="Dr Adams")
    result = run(
        *("retrain", files.new_parquet, "--deployed", files.tree, "--target", "outcome"),
        *("--old", files.old, "--out", tmp_path / "out", "--history", past, "--json"),
        *("--subgroup", "clinic", "--plan", "max_flips=1", *FAST),
    )
    assert result.code == 0, result.err
    document = result.document
    out = tmp_path / "out"
    assert run("verify", out).code == 0
    assert {Path(f).name for f in document["files"]} == {
        *("tree.json", "candidates.csv", "diff.json", "diff.md", "report.html")
    }
    assert all(Path(f).exists() for f in document["files"])
    proposed, deployed = load_tree(out / "tree.json"), load_tree(files.tree)
    X = pd.read_parquet(files.new_parquet)
    flips = (proposed.predict(X) != deployed.predict(X)).mean()
    for cell in (document["affected"]["flips"], document["diff"]["flips"]):
        assert cell["count"] / cell["of"] == pytest.approx(flips)
    names = [row["name"] for row in document["candidates"]]
    assert {"keep", "re-estimate", "from scratch"} <= set(names)
    assert pd.read_csv(out / "candidates.csv")["candidate"].tolist() == names
    assert sum(row["chosen"] for row in document["candidates"]) == 1
    (clinics,) = document["groups"]
    assert sum(row["n"]["count"] for row in clinics["groups"]) == len(X)
    assert {row["group"]["words"] for row in clinics["groups"]} == set(X["clinic"])
    assert document["explanation"].startswith(document["action"].capitalize())
    assert document["plan"]["clauses"][0]["name"] == "max_flips"
    assert document["history_version"] == 2
    history = History(past)
    assert history.versions["status"][2] == "proposed"
    assert history.tree(2) == proposed
    assert history.current == 1


def test_a_plan_that_is_not_held_is_code_3_and_its_tree_is_none_to_deploy(
    run: Run, files: Files, tmp_path: Path
) -> None:
    """Nor is the tree of an earlier run left under the name that a script deploys."""
    given = ("retrain", files.new, "--deployed", files.tree, "--target", "outcome", *FAST)
    assert run(*given, "--out", tmp_path).code == 0
    assert (tmp_path / "tree.json").exists()
    past = tmp_path / "history.jsonl"
    History(past).append(files.tree)
    refused = ("--plan", "max_leaves=1", "--history", past)
    result = run(*given, *refused, "--out", tmp_path, "--json")
    assert result.code == result.document["exit_code"] == 3
    assert History(past).versions["status"][2] == "refused"
    with pytest.raises(HistoryError, match="got version 2, which was refused"):
        History(past).approve(2, by="Dr Adams")
    assert result.document["plan"]["held"] is False
    assert result.document["action"] == "keep"
    assert not (tmp_path / "tree.json").exists()
    assert str(tmp_path / "refused-tree.json") in result.document["files"]
    assert load_tree(tmp_path / "refused-tree.json").n_leaves > 1
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["accepted"] is False
    assert manifest["exit_code"] == 3
    assert set(manifest["files"]) == {Path(f).name for f in result.document["files"]}


def test_the_deployed_tree_is_never_replaced(run: Run, files: Files, tmp_path: Path) -> None:
    """By a refused proposal nor by any other, whatever way leads to its file."""
    deployed = tmp_path / "dep" / "tree.json"
    deployed.parent.mkdir()
    deployed.write_bytes(files.tree.read_bytes())
    (tmp_path / "linked").symlink_to(deployed.parent)
    for name, link in (("soft", os.symlink), ("hard", os.link)):
        (tmp_path / name).mkdir()
        link(deployed, tmp_path / name / "tree.json")
    spellings = ["dep", "linked", "soft", "hard", "dep/../dep"]
    for spelling in spellings:
        result = run(
            *("retrain", files.new, "--deployed", deployed, "--target", "outcome"),
            *("--plan", "max_leaves=1", "--out", f"{tmp_path}/{spelling}", *FAST),
        )
        assert result.code == 2, spelling
        assert "tree.json is the file given as --deployed" in result.err
        assert "choose another, such as" in result.err
        assert deployed.read_bytes() == files.tree.read_bytes()
        assert [path.name for path in deployed.parent.iterdir()] == ["tree.json"]


@pytest.mark.parametrize("option", ["DATA", "--old", "--history"])
def test_nothing_that_is_read_is_replaced(
    run: Run, files: Files, tmp_path: Path, option: str
) -> None:
    given = {"DATA": files.new, "--old": files.old, "--history": tmp_path / "history.jsonl"}
    name = "report.html" if option == "--history" else "candidates.csv"
    given[option] = tmp_path / "out" / name
    given[option].parent.mkdir()
    if option != "--history":
        given[option].write_bytes((files.new if option == "DATA" else files.old).read_bytes())
    result = run(
        *("retrain", given["DATA"], "--deployed", files.tree, "--target", "outcome"),
        *("--old", given["--old"], "--history", given["--history"]),
        *("--out", tmp_path / "out", *FAST),
    )
    assert result.code == 2
    assert f"{name} is the file given as {option}" in result.err


def test_a_history_that_cannot_be_written_is_found_before_the_work(
    run: Run, files: Files, tmp_path: Path
) -> None:
    """The table is not even looked for."""
    locked = tmp_path / "history.jsonl"
    History(locked).append(files.tree)
    locked.chmod(0o444)
    for history in (locked, tmp_path / "no" / "folder.jsonl", tmp_path):
        result = run(
            *("retrain", tmp_path / "no.csv", "--deployed", files.tree, "--target", "outcome"),
            *("--history", history, *FAST),
        )
        assert result.code == 2
        assert str(history) in result.err
        assert "no.csv" not in result.err


def test_a_plan_of_a_file_and_of_settings(run: Run, files: Files, tmp_path: Path) -> None:
    given = ("retrain", files.new, "--deployed", files.tree, "--target", "outcome", "--json", *FAST)
    plan = tmp_path / "plan.toml"
    plan.write_text(
        'schema = "steadytree-plan"\nversion = 1\nmax_dissimilarity = 0.4\n'
        "[per_group.clinic]\nmax_flips = 1.0\n[per_group.size]\nmax_flips = 1.0\n"
    )
    result = run(*given, "--plan", plan, "--plan", "max_leaves=40", "--subgroup", "clinic")
    assert result.code in (0, 3), result.err
    asked = result.document["settings"]["plan"]
    assert asked["max_dissimilarity"] == 0.4
    assert asked["max_leaves"] == 40
    clauses = result.document["plan"]["clauses"]
    groups = {clause["group"].partition(" = ")[0] for clause in clauses if clause["group"]}
    assert groups == {"clinic", "size"}
    lost = run(*given, "--plan", "per_group.town.max_flips=0.1")
    assert lost.code == 2
    assert "expected 'town' (--plan per_group) among" in lost.err
    assert "max_flips=0.03" in run("retrain", "--help").out


def test_defaults_are_those_of_the_python_call(run: Run, files: Files, tmp_path: Path) -> None:
    """The first version asked a teacher of 200 trees here, and of 100 in Python."""
    tree = load_tree(files.tree)
    new, old = pd.read_csv(files.new)[::3], pd.read_csv(files.old)[::3]
    new.to_csv(tmp_path / "new.csv", index=False)
    old.to_csv(tmp_path / "old.csv", index=False)
    result = run(
        *("retrain", tmp_path / "new.csv", "--deployed", files.tree, "--target", "outcome"),
        *("--old", tmp_path / "old.csv", "--out", tmp_path, "-q", "--json"),
    )
    assert result.code == 0, result.err
    columns = list(tree.feature_names)
    in_python = retrain(
        *(tree, new[columns], new["outcome"].to_numpy()),
        old=(old[columns], old["outcome"].to_numpy()),
        random_state=0,
    )
    assert load_tree(tmp_path / "tree.json") == in_python.tree
    assert result.document["settings"] == in_python.to_dict()["settings"]
    shared = {
        **{"price": "price", "folds": "n_folds"},
        **{"decision_threshold": "decision", "jobs": "n_jobs"},
    }
    given = ["rows.csv", "--deployed", "tree.json", "--target", "outcome"]
    defaults = group.commands["retrain"].make_context("retrain", given).params
    for option, parameter in shared.items():
        assert defaults[option] == inspect.signature(retrain).parameters[parameter].default


# -- bad input -------------------------------------------------------------------------------


def unused_by(tree: Tree) -> list[str]:
    return [name for j, name in enumerate(tree.feature_labels) if j not in tree.used_features]


def write_changed(old: Path, path: Path, *, lacking: Any = (), **changed: Any) -> Path:
    pd.read_csv(old).drop(columns=list(lacking)).assign(**changed).to_csv(path, index=False)
    return path


def test_columns_that_the_tree_does_not_use_may_be_lacking(
    run: Run, files: Files, tmp_path: Path
) -> None:
    unused = unused_by(load_tree(files.tree))
    assert len(unused) > 1
    new = write_changed(files.new, tmp_path / "n.csv", lacking=unused)
    old = write_changed(files.old, tmp_path / "o.csv", lacking=unused[:1])
    names = ", ".join(map(repr, unused))
    arguments = ("--deployed", files.tree, "--target", "outcome", "--trees", 5, "--folds", 0, "-q")
    drop = ("--types", "clinic=ignore", "--time", "year", "--group", "patient")
    alone = run("retrain", new, *arguments, *drop)
    assert alone.code == 0, alone.err
    no_rule = "the deployed tree has no rule on that, and no new rule will be"
    assert alone.err == f"Warning: the new rows lack {names}: {no_rule}\n"
    both = run("retrain", new, *arguments, *drop, "--old", old)
    assert both.code == 0, both.err
    assert f"Warning: the new rows lack {names}: {no_rule}\n" in both.err
    assert f"Warning: the old rows lack {unused[0]!r}: {no_rule}\n" in both.err


def test_columns_that_the_tree_does_not_use_may_hold_anything(
    run: Run, files: Files, tmp_path: Path
) -> None:
    tree = load_tree(files.tree)
    unused = unused_by(tree)
    odd = {
        n: "many" if tree.categories[tree.feature_labels.index(n)] is None else 7 for n in unused
    }
    new = write_changed(files.new, tmp_path / "n.csv", **odd)
    arguments = ("--target", "outcome", "--trees", 5, "--folds", 0, "-q")
    drop = ("--types", "clinic=ignore", "--time", "year", "--group", "patient")
    result = run("retrain", new, "--deployed", files.tree, *arguments, *drop)
    assert result.code == 0, result.err
    (line,) = result.err.splitlines()
    names = ", ".join(map(repr, unused))
    assert line.startswith(f"Warning: columns that cannot be read: {names} (the first: expected")
    # Whoever says what a column is is asked to mend it.
    asked = run(
        *("retrain", new, "--deployed", files.tree, *arguments, "--types", f"{unused[0]}=category")
    )
    assert asked.code == 2
    assert "what 'concavity' can be, which is a number to the tree" in asked.err


@pytest.mark.parametrize("which", ["new", "old"])
def test_columns_that_the_tree_uses_are_all_named(
    run: Run, files: Files, tmp_path: Path, which: str
) -> None:
    tree = load_tree(files.tree)
    used = [tree.feature_labels[j] for j in sorted(tree.used_features)]
    assert len(used) > 1
    path = write_changed(getattr(files, which), tmp_path / "t.csv", lacking=used)
    tables = (path,) if which == "new" else (files.new, "--old", path)
    result = run("retrain", *tables, "--deployed", files.tree, "--target", "outcome", "-q")
    assert result.code == 2
    names = ", ".join(map(repr, used))
    assert result.err.startswith(
        f"Error: expected {names} (which the tree uses) among the columns of {path}, got none"
    )
    if which == "new":
        close = write_changed(path, tmp_path / "c.csv", **{f"{used[0]}s": 1.0})
        result = run("retrain", close, "--deployed", files.tree, "--target", "outcome", "-q")
        assert f"did you mean '{used[0]}s'?" in result.err


@pytest.mark.parametrize(
    ("options", "threshold", "positive"),
    [
        (("--positive", "benign"), None, "benign"),
        (("--decision-threshold", "0.2", "--positive", "malignant"), 0.2, "malignant"),
    ],
)
def test_the_positive_class(
    run: Run,
    files: Files,
    tmp_path: Path,
    options: tuple[str, ...],
    threshold: float | None,
    positive: str,
) -> None:
    shared = ("--target", "outcome", "--trees", 5, "--folds", 0, "-q")
    found = run(
        *("retrain", files.new, "--deployed", files.tree, *shared, *options),
        *("--test", files.old, "--json", "--out", tmp_path),
    )
    assert found.code == 0, found.err
    decision = found.document["diff"]["policy"]["new"]
    assert decision["positive"] == positive
    assert decision["threshold"] == pytest.approx(threshold)
    tree = load_tree(tmp_path / "tree.json")
    assert tree.decision.positive == positive
    # It is inherited, and an option's threshold is then for the same class.
    again = run(
        *("retrain", files.old, "--deployed", tmp_path / "tree.json", *shared),
        *("--decision-threshold", "0.3"),
    )
    assert again.code == 0, again.err
    assert again.out.splitlines()[1].startswith(f"Policy: flags {positive} from a risk of 30 % on.")


def test_a_final_test_is_in_the_document_and_in_the_text(run: Run, files: Files) -> None:
    shared = ("retrain", files.new, "--deployed", files.tree, "--target", "outcome", *FAST)
    result = run(*shared, "--test", files.old, "--json")
    assert result.code == 0, result.err
    assert "retrain:" not in result.err  # -q: no progress
    assert result.document["test"]["n"]["count"] == 280
    for row in result.document["test"]["trees"]:
        assert 0 < row["sensitivity"] <= 1
    text = run(*shared, "--test", files.old).out
    assert "Final test on 280 rows that nothing was trained on; sensitivity to malignant\n" in text


def test_an_unseen_class(run: Run, files: Files, tmp_path: Path) -> None:
    table = pd.read_csv(files.new)
    table.loc[0, "outcome"] = "unsure"
    table.to_csv(tmp_path / "n.csv", index=False)
    result = run("retrain", tmp_path / "n.csv", "--deployed", files.tree, "--target", "outcome")
    assert result.code == 2
    assert "got unseen unsure" in result.err


def test_a_history_cut_in_half(run: Run, files: Files, tmp_path: Path) -> None:
    past = tmp_path / "history.jsonl"
    History(past).append(files.tree)
    whole = past.read_bytes()
    past.write_bytes(whole + whole[: len(whole) // 2])
    result = run(
        *("retrain", files.new, "--deployed", files.tree, "--target", "outcome"),
        *("--history", past, "--out", tmp_path / "out", *FAST),
    )
    assert result.code == 2
    assert "line 2: " in result.err
    assert "put a copy of the file back" in result.err
    # It is found before the work: nothing was trained or written.
    assert list((tmp_path / "out").iterdir()) == []


def test_an_output_folder_that_cannot_be_written(run: Run, files: Files, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = run(
        *("retrain", files.new, "--deployed", files.tree, "--target", "outcome"),
        *("--out", tmp_path / "file", *FAST),
    )
    assert result.code == 2
    assert "expected a folder that can be written as --out, got File exists" in result.err


def test_what_is_published_counts_nobody_and_the_owner_still_reads_all(
    run: Run, files: Files, tmp_path: Path
) -> None:
    shared = ("retrain", files.new, "--deployed", files.tree, "--target", "outcome", *FAST)
    result = run(*shared, "--subgroup", "clinic", "--out", tmp_path, "--publish")
    assert result.code == 0, result.err
    found = {path.name for path in tmp_path.iterdir()}
    assert found == {"tree.json", "report.html", "manifest.json"}
    tree = load_tree(tmp_path / "tree.json")
    assert tree.observed is None
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "published: counts rounded to 5, none below 8" in page
    assert "exact counts" not in page
    assert "of the 289 new rows" in result.out
    run(*shared, "--out", tmp_path / "exact")
    exact = (tmp_path / "exact" / "report.html").read_text(encoding="utf-8")
    assert "exact counts: for internal use" in exact
