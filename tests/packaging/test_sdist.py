"""The source archive: all that the repository holds, so tests and documentation work from it."""

from __future__ import annotations

import subprocess
import zipfile
from pathlib import Path

import pytest

from tests.packaging.project import ROOT
from tests.programs import require_program


def listed(*options: str) -> set[str]:
    """Return files that git lists and that are there."""
    git = require_program("git", package="git")
    if not (ROOT / ".git").exists():
        pytest.skip("this folder is no clone, so nobody knows which files belong to it")
    found = subprocess.run(
        [git, "ls-files", "-z", *options], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return {name for name in found.stdout.split("\0") if name and (ROOT / name).is_file()}


def files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_the_archive_is_the_repository(unpacked: Path) -> None:
    tracked = listed()
    inside = files(unpacked)
    assert tracked - inside == set()
    # What is new and not yet known to git may be inside; what git ignores may not.
    assert inside - tracked - listed("--others", "--exclude-standard") == {"PKG-INFO"}


@pytest.mark.parametrize(
    "needed",
    [
        "pyproject.toml",
        "Makefile",
        "LICENSE",
        "tests/conftest.py",
        "tests/packaging/checks/core_alone.py",
        "research/paper/__main__.py",
        "docs/conf.py",
        "docs/index.md",
        "docs/images/report.png",
        "examples/retraining/retrain_a_deployed_tree.py",
        "scripts/ensure_programs.sh",
        ".ci/run",
    ],
)
def test_what_tests_and_documentation_need_is_inside(needed: str, unpacked: Path) -> None:
    assert (unpacked / needed).is_file()


def test_the_archive_builds_the_same_wheel(wheel_path: Path, wheel_of_the_sdist: Path) -> None:
    assert wheel_of_the_sdist.name == wheel_path.name
    with zipfile.ZipFile(wheel_path) as ours, zipfile.ZipFile(wheel_of_the_sdist) as theirs:
        assert sorted(theirs.namelist()) == sorted(ours.namelist())
        for name in ours.namelist():
            assert theirs.read(name) == ours.read(name), name
