"""The wheel and the source archive, built once, without the network."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tests.packaging.project import ROOT


def build(source: Path, out: Path, kind: str) -> Path:
    """Build what people install from a folder that holds the source."""
    program = [sys.executable, "-m", "hatchling", "build", "--target", kind, "--directory"]
    found = subprocess.run(
        [*program, str(out)], cwd=source, capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stdout + found.stderr
    (path,) = out.glob("*.whl" if kind == "wheel" else "*.tar.gz")
    return path


@pytest.fixture(scope="session")
def wheel_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(ROOT, tmp_path_factory.mktemp("wheel"), "wheel")


@pytest.fixture(scope="session")
def sdist_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(ROOT, tmp_path_factory.mktemp("sdist"), "sdist")


@pytest.fixture(scope="session")
def unpacked(sdist_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the source archive's folder, as somebody has it who downloads the archive."""
    folder = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(sdist_path) as archive:
        archive.extractall(folder, filter="data")
    (inside,) = folder.iterdir()
    return inside


@pytest.fixture(scope="session")
def wheel_of_the_sdist(unpacked: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(unpacked, tmp_path_factory.mktemp("rebuilt"), "wheel")
