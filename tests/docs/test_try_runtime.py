"""What the try-it page runs is put together whole, and nothing in it is what it should not be."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.docs.fences import ROOT

SCRIPT = ROOT / "scripts" / "assemble_pyodide.py"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("assemble_pyodide", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def distribution(folder: Path, script: ModuleType) -> Path:
    """Files named as a Pyodide distribution has them, and a package more than is needed."""
    folder.mkdir()
    packages = {}
    for name in (*script.CARRIED, *script.PURE, "openblas"):
        file_name = f"{name}-1.0-py3-none-any.whl"
        content = f"the wheel of {name}".encode()
        (folder / file_name).write_bytes(content)
        digest = hashlib.sha256(content).hexdigest()
        packages[name] = {"name": name, "file_name": file_name, "sha256": digest, "depends": []}
    for name in script.CORE:
        (folder / name).write_text(f"what is in {name}")
    lock = {"info": {"python": "3.14.0"}, "packages": packages}
    (folder / script.LOCK).write_text(json.dumps(lock))
    return folder


@pytest.fixture(scope="module")
def made(script: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("runtime")
    given = distribution(folder / "given", script)
    assert script.assemble(folder / "dest", given)
    return given, folder / "dest"


def test_everything_needed_is_there_and_nothing_else(made: Any, script: ModuleType) -> None:
    _, dest = made
    names = {path.name for path in dest.iterdir()}
    manifest = json.loads((dest / "runtime.json").read_text())
    lock = json.loads((dest / script.LOCK).read_text())
    assert set(lock["packages"]) == set(manifest["packages"])
    assert manifest["packages"][-1] == "steadytree"
    assert "openblas" not in lock["packages"]
    wheels = {entry["file_name"] for entry in lock["packages"].values()}
    assert names == {*script.CORE, *wheels, "runtime.json"}
    for entry in lock["packages"].values():
        content = (dest / entry["file_name"]).read_bytes()
        assert hashlib.sha256(content).hexdigest() == entry["sha256"]


def test_steadytrees_own_wheel_is_of_this_checkout(made: Any) -> None:
    _, dest = made
    manifest = json.loads((dest / "runtime.json").read_text())
    with zipfile.ZipFile(dest / manifest["wheel"]) as wheel:
        for name in ("steadytree/__init__.py", "steadytree/views/templates/report.js"):
            assert wheel.read(name) == (ROOT / "src" / name).read_bytes()


def test_packages_are_loaded_after_what_they_need(made: Any, script: ModuleType) -> None:
    order = [*script.CARRIED, *script.PURE, "steadytree"]
    assert set(script.DEPENDS) < set(order)
    assert order.index("numpy") < order.index("pandas")
    assert order.index("joblib") < order.index("scikit-learn")
    assert order.index("markupsafe") < order.index("jinja2")


def test_a_second_call_does_nothing(made: Any, script: ModuleType) -> None:
    given, dest = made
    before = {path: path.stat().st_mtime_ns for path in (dest, *dest.iterdir())}
    assert not script.assemble(dest, given)
    assert not script.assemble(dest)
    assert {path: path.stat().st_mtime_ns for path in (dest, *dest.iterdir())} == before


def test_a_damaged_runtime_is_made_again(script: ModuleType, tmp_path: Path) -> None:
    given, dest = distribution(tmp_path / "given", script), tmp_path / "dest"
    script.assemble(dest, given)
    (wheel,) = dest.glob("six-*.whl")
    wheel.unlink()
    wheel.write_bytes(b"half of")
    (dest / "left-over").write_text("of an earlier one")
    assert script.assemble(dest, given)
    assert wheel.read_bytes() == b"the wheel of six"
    assert not (dest / "left-over").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dest", "given"]


def test_a_file_that_the_lock_does_not_know_is_refused(script: ModuleType, tmp_path: Path) -> None:
    given = distribution(tmp_path / "given", script)
    (wheel,) = given.glob("scipy-*.whl")
    wheel.write_bytes(b"something else")
    got = hashlib.sha256(b"something else").hexdigest()
    expected = hashlib.sha256(b"the wheel of scipy").hexdigest()
    with pytest.raises(script.AssemblyError) as caught:
        script.assemble(tmp_path / "dest", given)
    said = str(caught.value)
    assert said.startswith(f"expected the SHA-256 {expected}")
    assert f"got {got}" in said
    assert "fetch it again" in said
    assert [path.name for path in tmp_path.iterdir()] == ["given"], "nothing half-made is left"


@pytest.mark.parametrize(
    ("lacking", "words"),
    [("pyodide.asm.wasm", "got no pyodide.asm.wasm"), ("pandas-*.whl", "the wheel of pandas")],
)
def test_a_distribution_that_lacks_something_is_refused(
    lacking: str, words: str, script: ModuleType, tmp_path: Path
) -> None:
    given = distribution(tmp_path / "given", script)
    next(given.glob(lacking)).unlink()
    with pytest.raises(script.AssemblyError, match=words):
        script.assemble(tmp_path / "dest", given)
    assert not (tmp_path / "dest").exists()


def test_the_page_is_written_with_its_runtime(
    made: Any, script: ModuleType, tmp_path: Path
) -> None:
    _, dest = made
    page = tmp_path / "site" / "try"
    page.mkdir(parents=True)
    (page / "old.html").write_text("of an earlier build")
    script.write_page(page, dest)
    sources = {p.name for p in (ROOT / "docs" / "try").iterdir()} - {"__pycache__"}
    assert {path.name for path in page.iterdir()} == sources | {"runtime"}
    assert {p.name for p in (page / "runtime").iterdir()} == {p.name for p in dest.iterdir()}
    for name in sources:
        assert (page / name).read_bytes() == (ROOT / "docs" / "try" / name).read_bytes()


def test_a_missing_client_is_named(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, SCRIPT, tmp_path / "dest"],
        env={**os.environ, "PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "expected the program npm, got none on the PATH" in done.stderr
    assert "--from" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_wheel_for_one_machine_becomes_one_for_any(script: ModuleType, tmp_path: Path) -> None:
    wheel = tmp_path / "markupsafe-1.0-cp311-cp311-linux_x86_64.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("markupsafe/__init__.py", "x = 1\n")
        archive.writestr("markupsafe/_speedups.cpython-311.so", "machine code")
        archive.writestr("markupsafe-1.0.dist-info/WHEEL", "Tag: cp311-cp311-linux_x86_64\n")
        archive.writestr("markupsafe-1.0.dist-info/RECORD", "")
    made = script._without_compiled(wheel)
    assert made == script._without_compiled(wheel), "the same bytes every time"
    (tmp_path / "made.whl").write_bytes(made)
    with zipfile.ZipFile(tmp_path / "made.whl") as archive:
        names = archive.namelist()
        assert not any("_speedups" in name for name in names)
        assert b"Tag: py3-none-any" in archive.read("markupsafe-1.0.dist-info/WHEEL")
        record = archive.read("markupsafe-1.0.dist-info/RECORD").decode()
    assert {line.split(",")[0] for line in record.splitlines()} == set(names)
