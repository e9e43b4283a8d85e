"""The recipes for CI are real: each is run, step by step, in a repository with a real tree.

Two kinds of steps are not run here: those that a server does with a program of its own (checkout,
setting up Python, keeping artifacts), because there is no such server, and ``pip install``, because
the package under test is installed already.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

from research.paper.data import load_case_study
from steadytree.evaluation.plan import ChangePlan
from tests.docs.fences import DOCS, fences

RECIPES = DOCS / "guide" / "gates"

PAGE = DOCS / "guide" / "plan.md"
REFUSED = 3
EXPRESSIONS = {"${{ github.base_ref }}": "main"}
"""What GitHub puts in the place of an expression, for a pull request to main."""


def run(command: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run commands as a build server does: with bash, ended by the first failure."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-eo", "pipefail", "-c", command],
        cwd=folder,
        env={**os.environ, **GIT, "PATH": path, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


GIT = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_AUTHOR_NAME": "A. Doe",
    "GIT_AUTHOR_EMAIL": "doe@example.org",
    "GIT_COMMITTER_NAME": "A. Doe",
    "GIT_COMMITTER_EMAIL": "doe@example.org",
}


def must(command: str, folder: Path) -> str:
    done = run(command, folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def trees(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folders of three runs: the tree in force, one that follows it, and one made anew by CART."""
    folder = tmp_path_factory.mktemp("trees")
    study = load_case_study("colon")
    table = study.X.assign(died=study.y.map({0: "no", 1: "yes"})).sample(frac=1, random_state=0)
    (folder / "data").mkdir()
    table[:400].to_csv(folder / "data" / "2023.csv", index=False)
    table[400:700].to_csv(folder / "data" / "2024.csv", index=False)
    table[700:].to_csv(folder / "data" / "check.csv", index=False)
    fit = (
        "steadytree fit data/20{}.csv --target died --decision-threshold prevalence -q --out {} {}"
    )
    must(fit.format(23, "model", "--max-leaves 6"), folder)
    must(
        "steadytree retrain data/2024.csv --deployed model/tree.json --old data/2023.csv "
        "--target died -q --out follows",
        folder,
    )
    must(fit.format(24, "anew", "--learner cart"), folder)
    return folder


@pytest.fixture
def repository(trees: Path, tmp_path: Path) -> Path:
    """A clone of a repository whose main branch has the tree in force and the rows."""
    origin, clone = tmp_path / "origin", tmp_path / "clone"
    origin.mkdir()
    shutil.copytree(trees / "data", origin / "data")
    shutil.copytree(trees / "model", origin / "model")
    shutil.copy(RECIPES / "plan.toml", origin / "plan.toml")
    must("git init -q -b main && git add . && git commit -q -m 'The tree in force'", origin)
    must(f"git clone -q {origin} {clone}", tmp_path)
    return clone


def propose(repository: Path, run_folder: Path) -> None:
    """Commit another run's folder in place of the model, on a branch."""
    must("git switch -q -c proposal && rm -r model", repository)
    shutil.copytree(run_folder, repository / "model")
    must("git add -A && git commit -q -m 'Another tree'", repository)


def report_of(folder: Path) -> str:
    """Page that a run leaves behind, refused or not."""
    return (folder / "report.html").read_text(encoding="utf-8")


# A workflow of GitHub


def workflow() -> dict[str, Any]:
    loaded: dict[Any, Any] = yaml.safe_load((RECIPES / "github-actions.yml").read_text("utf-8"))
    loaded["on"] = loaded.pop(True)  # YAML 1.1 reads the word on as a truth value
    return loaded


def run_workflow(repository: Path, temporary: Path) -> tuple[int, list[str]]:
    """Run the steps that have commands; after a failure only those that always run."""
    temporary.mkdir()
    job = workflow()["jobs"]["gate"]
    environment = {name: EXPRESSIONS.get(value, value) for name, value in job["env"].items()}
    environment |= {"RUNNER_TEMP": str(temporary), "GITHUB_STEP_SUMMARY": str(temporary / "page")}
    code, ran = 0, []
    for step in job["steps"]:
        if "run" not in step or step["run"].startswith("pip install"):
            continue  # the server's own programs; installed already
        if code and step.get("if") != "always()":
            continue
        done = run(step["run"], repository, **environment)
        ran.append(step["name"])
        code = code or done.returncode
    return code, ran


def test_the_workflow_has_the_form_that_github_asks_for() -> None:
    loaded = workflow()
    assert set(loaded) == {"name", "on", "permissions", "jobs"}
    assert loaded["on"] == {"pull_request": {"paths": ["model/**"]}}
    assert loaded["permissions"] == {"contents": "read"}
    (job,) = loaded["jobs"].values()
    assert set(job) == {"runs-on", "env", "steps"}
    for step in job["steps"]:
        assert len({"uses", "run"} & set(step)) == 1
        assert set(step) <= {"name", "uses", "run", "with", "if"}
    used = [step["uses"] for step in job["steps"] if "uses" in step]
    assert all(re.fullmatch(r"actions/[a-z-]+@v\d+", name) for name in used)
    assert used[0].startswith("actions/checkout")
    assert job["steps"][0]["with"] == {"fetch-depth": 0}
    # Text that others choose, such as a branch's name, reaches the shell as a variable only.
    assert not any("${{" in step.get("run", "") for step in job["steps"])
    assert set(re.findall(r"\$\{\{.*?\}\}", str(job))) == set(EXPRESSIONS)
    last = job["steps"][-1]
    assert last["uses"].startswith("actions/upload-artifact")
    assert last["if"] == "always()"
    assert last["with"]["path"] == "gate/"


def test_the_workflow_lets_a_tree_pass_that_follows_the_old_one(
    repository: Path, trees: Path, tmp_path: Path
) -> None:
    propose(repository, trees / "follows")
    code, ran = run_workflow(repository, tmp_path / "runner")
    assert code == 0
    assert len(ran) == 4
    assert must("steadytree verify gate", repository)
    shown = (tmp_path / "runner" / "page").read_text(encoding="utf-8")
    assert shown == (repository / "gate" / "diff.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_workflow_refuses_a_tree_made_anew_and_keeps_the_report(
    repository: Path, trees: Path, tmp_path: Path
) -> None:
    propose(repository, trees / "anew")
    code, ran = run_workflow(repository, tmp_path / "runner")
    assert code == REFUSED
    assert ran[-2:] == ["Plan", "What changed, on the page of the run"]
    assert report_of(repository / "gate")
    assert (tmp_path / "runner" / "page").read_text(encoding="utf-8")


def test_the_workflow_refuses_a_tree_that_somebody_edited(
    repository: Path, trees: Path, tmp_path: Path
) -> None:
    propose(repository, trees / "follows")
    tree = repository / "model" / "tree.json"
    tree.write_text(tree.read_text(encoding="utf-8") + " ", encoding="utf-8")
    code, ran = run_workflow(repository, tmp_path / "runner")
    assert code == REFUSED
    assert "Plan" not in ran


# A pipeline of GitLab


def pipeline() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((RECIPES / "gitlab-ci.yml").read_text("utf-8"))
    return loaded


def run_job(name: str, repository: Path) -> int:
    """Run a job's script; what comes before it only installs, which was done."""
    loaded = pipeline()
    assert all(line.startswith("pip install ") for line in loaded["default"]["before_script"])
    script = "\n".join(loaded[name]["script"])
    return run(script, repository, **loaded["variables"], CI_DEFAULT_BRANCH="main").returncode


def test_the_pipeline_has_the_form_that_gitlab_asks_for() -> None:
    loaded = pipeline()
    jobs: Mapping[str, Any] = {
        name: job
        for name, job in loaded.items()
        if name not in ("stages", "default", "variables", "image", "workflow", "include")
    }
    assert {job["stage"] for job in jobs.values()} == set(loaded["stages"])
    for job in jobs.values():
        assert set(job) <= {"stage", "rules", "script", "artifacts", "needs"}
        assert all(isinstance(line, str) for line in job["script"])
        assert set(job.get("needs", [])) <= set(jobs)
    assert jobs["propose"]["artifacts"]["when"] == "always"
    assert jobs["propose"]["artifacts"]["paths"] == ["proposal/"]
    assert jobs["release"]["rules"][0]["when"] == "manual"


@pytest.mark.slow
def test_the_pipeline_proposes_and_releases(repository: Path) -> None:
    assert run_job("propose", repository) == 0
    assert report_of(repository / "proposal")
    assert run_job("release", repository) == 0
    released = repository / "released" / "tree.json"
    assert released.read_bytes() == (repository / "proposal" / "tree.json").read_bytes()


def test_the_pipeline_refuses_what_moves_too_many_decisions(repository: Path) -> None:
    """A world that turned round: who dies is a matter of age alone."""
    rows = repository / "data" / "2024.csv"
    table = pd.read_csv(rows)
    table.assign(died=np.where(table["age"] > 65, "yes", "no")).to_csv(rows, index=False)
    assert run_job("propose", repository) == REFUSED
    proposal = repository / "proposal"
    assert report_of(proposal)
    assert (proposal / "refused-tree.json").exists()
    assert not (proposal / "tree.json").exists()
    assert json.loads((proposal / "manifest.json").read_text("utf-8"))["accepted"] is False
    # Whoever presses the button all the same gets nothing.
    assert run_job("release", repository) == REFUSED
    assert not (repository / "released").exists()


# The script before a merge


def pre_merge(repository: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return run(str(RECIPES / "pre-merge.sh"), repository, **environment)


@pytest.mark.slow
def test_the_script_lets_a_tree_pass_that_follows_the_old_one(
    repository: Path, trees: Path
) -> None:
    propose(repository, trees / "follows")
    done = pre_merge(repository)
    assert done.returncode == 0, done.stderr
    assert ": held" in done.stdout
    assert "broken" not in done.stdout


@pytest.mark.slow
def test_the_script_refuses_a_tree_made_anew_and_keeps_the_report(
    repository: Path, trees: Path
) -> None:
    propose(repository, trees / "anew")
    done = pre_merge(repository)
    assert done.returncode == REFUSED
    assert "rows with another decision" in done.stdout
    assert report_of(repository / "gate")


def test_the_script_has_nothing_to_say_of_a_tree_that_did_not_change(repository: Path) -> None:
    done = pre_merge(repository)
    assert done.returncode == 0
    assert done.stdout == "model/tree.json is that of main\n"


def test_the_script_lets_the_first_tree_pass_and_no_typing_error(repository: Path) -> None:
    first = pre_merge(repository, TREE="model/other.json")
    assert first.returncode == 0
    assert "the first one" in first.stdout
    wrong = pre_merge(repository, BASE="mian")
    assert wrong.returncode == 2
    assert "got no 'mian'" in wrong.stderr


def test_the_script_ends_with_another_code_where_nothing_could_be_said(
    repository: Path, trees: Path
) -> None:
    propose(repository, trees / "follows")
    assert pre_merge(repository, ROWS="data/lost.csv").returncode == 2


def test_the_script_can_be_run_and_is_sound() -> None:
    script = RECIPES / "pre-merge.sh"
    assert os.access(script, os.X_OK)
    assert run(f"bash -n {script}", RECIPES).returncode == 0


# A branch that brings a plan of its own

LOOSE = 'schema = "steadytree-plan"\nversion = 1\n'


def bring_a_loose_plan(repository: Path) -> None:
    (repository / "plan.toml").write_text(LOOSE)
    must("git add -A && git commit -q -m 'A looser plan'", repository)


def test_a_plan_of_the_branch_itself_changes_nothing(
    repository: Path, trees: Path, tmp_path: Path
) -> None:
    propose(repository, trees / "anew")
    bring_a_loose_plan(repository)
    assert run_workflow(repository, tmp_path / "runner")[0] == REFUSED
    assert pre_merge(repository).returncode == REFUSED
    # Merged by itself it counts.
    must("git switch -q main && cp plan.toml old.toml", repository)
    bring_a_loose_plan(repository)
    must("git switch -q proposal", repository)
    assert pre_merge(repository).returncode == 0


@pytest.mark.slow
def test_a_schedule_on_another_branch_keeps_to_the_plan_of_the_default_branch(
    repository: Path,
) -> None:
    rows = repository / "data" / "2024.csv"
    table = pd.read_csv(rows)
    must("git switch -q -c other", repository)
    bring_a_loose_plan(repository)
    table.assign(died=np.where(table["age"] > 65, "yes", "no")).to_csv(rows, index=False)
    assert run_job("propose", repository) == REFUSED


# The page


def test_the_page_shows_every_recipe_by_including_it() -> None:
    page = PAGE.read_text(encoding="utf-8")
    included = re.findall(r"^```\{literalinclude\} gates/(\S+)$", page, re.MULTILINE)
    assert sorted(included) == sorted(path.name for path in RECIPES.iterdir())


def test_the_page_lists_every_entry_of_a_plan() -> None:
    page = PAGE.read_text(encoding="utf-8")
    named = re.findall(r"^\| `([a-z_0-9]+)` \| ", page, re.MULTILINE)
    assert named == [one.name for one in fields(ChangePlan)]
    assert ChangePlan.from_file(RECIPES / "plan.toml")


def test_the_page_shows_what_its_block_prints(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = fences(PAGE.read_text(encoding="utf-8"))
    assert [block.language for block in blocks[:2]] == ["python", "text"]
    namespace: dict[str, Any] = {}
    exec(blocks[0].text, namespace)
    assert capsys.readouterr().out == blocks[1].text
    told = namespace["compared"].to_text()
    assert "standard error 0.016" in told
    assert "On the 149 rows above it is 0.016" in PAGE.read_text(encoding="utf-8")
    assert len(namespace["X"][420:]) == 149
