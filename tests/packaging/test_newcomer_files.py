"""The files that a newcomer meets first are whole, and true to the project."""

from __future__ import annotations

import datetime
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from steadytree import __version__
from tests.packaging.environments import require_index
from tests.packaging.project import PROJECT, PYTHONS, ROOT

VERSIONS = 'python -c "import steadytree; steadytree.show_versions()"'
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
QUESTIONS = [form for form in FORMS if form.name != "config.yml"]


def parsed(path: Path) -> Any:
    return yaml.safe_load(path.read_text("utf-8"))


def targets() -> set[str]:
    """Return what `make` can do here."""
    return set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))


def test_the_citation_is_the_software_and_names_the_paper() -> None:
    citation = parsed(ROOT / "CITATION.cff")
    assert citation["cff-version"] == "1.2.0"
    assert citation["type"] == "software"
    assert citation["title"].startswith("steadytree")
    assert citation["version"] == __version__
    assert citation["license"] == PROJECT["license"]
    assert citation["keywords"] == PROJECT["keywords"]
    assert [a["name"] for a in citation["authors"]] == [a["name"] for a in PROJECT["authors"]]
    assert citation["message"]
    assert citation["abstract"]
    # A preferred citation would hide the software's own behind the paper's.
    assert "preferred-citation" not in citation
    (paper,) = citation["references"]
    assert paper["title"] == "Improving Stability in Decision Tree Models"
    assert paper["url"] == "https://arxiv.org/abs/2305.17299"
    assert [a["family-names"] for a in paper["authors"]] == ["Bertsimas", "Digalakis"]


def test_the_date_of_the_citation_is_the_changelogs() -> None:
    released = parsed(ROOT / "CITATION.cff")["date-released"]
    assert isinstance(released, datetime.date)
    log = (ROOT / "CHANGELOG.md").read_text("utf-8")
    heading = re.search(rf"^## \[{re.escape(__version__)}\] - (\S+)$", log, re.MULTILINE)
    assert heading or f"[{__version__}]" not in log
    if heading:
        assert released.isoformat() == heading[1]


@pytest.mark.slow
def test_the_citation_keeps_to_its_format(tmp_path: Path) -> None:
    require_index()
    tool = [sys.executable, "-m", "uv", "tool", "run", "cffconvert==2.0.0"]
    for text, good in (((ROOT / "CITATION.cff").read_text("utf-8"), True), ("title: no\n", False)):
        path = tmp_path / "CITATION.cff"
        path.write_text(text, "utf-8")
        found = subprocess.run(
            [*tool, "--validate", "--infile", str(path)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert (found.returncode == 0) == good, found.stdout + found.stderr


@pytest.mark.parametrize("form", QUESTIONS, ids=lambda path: path.stem)
def test_a_form_asks_what_it_must(form: Path) -> None:
    content = parsed(form)
    assert set(content) == {"name", "description", "labels", "body"}
    fields = [item for item in content["body"] if item["type"] != "markdown"]
    names = [field["id"] for field in fields]
    assert len(set(names)) == len(names)
    assert all(field["type"] == "textarea" and field["attributes"]["label"] for field in fields)
    assert any(field.get("validations", {}).get("required") for field in fields)


def test_there_is_a_form_for_each_reason_to_write() -> None:
    assert [form.stem for form in QUESTIONS] == ["bug", "feature", "question"]
    assert parsed(ROOT / ".github" / "ISSUE_TEMPLATE" / "config.yml") == {
        "blank_issues_enabled": True
    }


@pytest.mark.parametrize("name", ["bug", "question"])
def test_the_command_that_a_form_asks_for_works(name: str) -> None:
    form = (ROOT / ".github" / "ISSUE_TEMPLATE" / f"{name}.yml").read_text("utf-8")
    assert VERSIONS in form
    code = VERSIONS.removeprefix('python -c "').removesuffix('"')
    found = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True
    )
    assert f"steadytree: {__version__}" in found.stdout


def test_pages_that_a_form_names_exist() -> None:
    for form in FORMS:
        for page in re.findall(r"docs/[\w./-]*\w", form.read_text("utf-8")):
            assert (ROOT / page).exists(), page


def test_the_workflow_runs_what_a_developer_runs() -> None:
    workflow = parsed(ROOT / ".github" / "workflows" / "ci.yml")
    # YAML reads the key `on` as true.
    assert set(workflow[True]) == {"push", "pull_request"}
    assert workflow["permissions"] == {"contents": "read"}
    (job,) = workflow["jobs"].values()
    python = job["strategy"]["matrix"]["python"]
    assert all(isinstance(version, str) for version in python)
    assert python == PYTHONS[: len(python)]
    assert [step["run"] for step in job["steps"] if "run" in step] == ["make test"]


def test_the_container_has_a_python_for_the_package_and_sets_it_up() -> None:
    container = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text("utf-8"))
    assert container["image"].partition(":")[2] in PYTHONS
    assert container["postCreateCommand"] == "make setup"


@pytest.mark.parametrize(
    "page",
    [
        "CONTRIBUTING.md",
        "RELEASING.md",
        ".github/pull_request_template.md",
        ".github/workflows/ci.yml",
        ".devcontainer/devcontainer.json",
    ],
)
def test_make_knows_what_is_asked_of_it(page: str) -> None:
    text = (ROOT / page).read_text("utf-8")
    asked = set(re.findall(r"(?:`|run: |\"|^)make (?:[A-Z]+=\S+ )*([a-z-]+)", text, re.MULTILINE))
    assert asked
    assert asked <= targets()


def test_files_that_releasing_names_exist() -> None:
    text = (ROOT / "RELEASING.md").read_text("utf-8")
    named = re.findall(r"`((?:\.?[\w-]+/)+[\w.-]*|[A-Z]+\.(?:md|cff))`", text)
    named = [name for name in named if not name.startswith(("dist/", "."))]
    assert {"tests/packaging/", "CITATION.cff"} <= set(named)
    assert [name for name in named if not (ROOT / name).exists()] == ["distance/", "growing/"]
