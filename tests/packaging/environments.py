"""Pythons of this machine, and clean environments made with them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from tests.packaging.project import ROOT

__all__ = ["CHECKS", "Environment", "require_index", "require_python", "resolve"]

CHECKS = Path(__file__).parent / "checks"
UV = (sys.executable, "-m", "uv")


def _candidates(version: str) -> list[Path]:
    """Return where a version of Python may be, the likeliest place first."""
    found = []
    if f"{sys.version_info.major}.{sys.version_info.minor}" == version:
        found.append(Path(sys._base_executable))  # type: ignore[attr-defined]
    on_path = shutil.which(f"python{version}")
    if on_path is not None:
        found.append(Path(on_path).resolve())
    homes = {
        Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions": f"{version}.*",
        Path.home() / ".local" / "share" / "uv" / "python": f"cpython-{version}.*",
    }
    for home, pattern in homes.items():
        found += sorted(home.glob(f"{pattern}/bin/python{version}"), reverse=True)
    return found


def require_python(version: str) -> Path:
    """Return an interpreter that can make environments; skip where the machine has none."""
    question = "import ensurepip, sys, venv; print('%d.%d' % sys.version_info[:2])"
    for path in _candidates(version):
        # pyenv leaves commands on the path that only say that a version is not chosen.
        answer = subprocess.run(
            [str(path), "-c", question], capture_output=True, text=True, check=False
        )
        if answer.stdout.strip() == version:
            return path
    pytest.skip(
        f"no Python {version} with venv on this machine; "
        f"install one, for instance with: uv python install {version}"
    )


def run(*program: str | Path, cwd: Path | None = None, **variables: str) -> str:
    """Run a program to its good end and return what it printed."""
    found = subprocess.run(
        [str(part) for part in program],
        cwd=cwd,
        env={**_clean(), **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, f"{program}\n{found.stdout[-6000:]}\n{found.stderr[-6000:]}"
    return found.stdout


def _clean() -> dict[str, str]:
    """Return the environment without what would let one Python see another's packages."""
    leaks = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "STEADYTREE_NO_NUMBA", "PYTEST_ADDOPTS")
    kept = {name: value for name, value in os.environ.items() if name not in leaks}
    kept = {name: value for name, value in kept.items() if not name.startswith("COV_CORE")}
    return {**kept, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "MPLBACKEND": "Agg"}


@cache
def _index_answers() -> bool:
    probe = subprocess.run(
        [*UV, "pip", "compile", "--quiet", "--no-cache", "-"],
        input="toolz\n",
        capture_output=True,
        text=True,
        check=False,
    )
    return probe.returncode == 0


def require_index() -> None:
    """Skip where packages cannot be had, or fail where nothing may skip."""
    if _index_answers():
        return
    reason = "no package index answers, so no clean environment can be filled"
    if os.environ.get("STEADYTREE_REQUIRE_PROGRAMS") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


def resolve(python: str, resolution: str, *options: str, extra: str = "") -> dict[str, str]:
    """Return the versions that an installer would choose for what pyproject.toml asks for."""
    wanted = ["--extra", extra] if extra else []
    found = subprocess.run(
        [
            *(*UV, "pip", "compile", str(ROOT / "pyproject.toml"), "--quiet"),
            *("--no-header", "--no-annotate", "--no-config"),
            *("--python-version", python, "--resolution", resolution),
            *wanted,
            *options,
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(re.findall(r"^([\w.-]+)==(\S+)$", found.stdout, re.MULTILINE))


def _ignoring(kinds: Sequence[str]) -> list[str]:
    return [part for kind in kinds for part in ("-W", f"ignore::{kind}")]


@dataclass(frozen=True)
class Environment:
    """A virtual environment that nothing but the test fills."""

    folder: Path

    @classmethod
    def made_with(cls, python: Path, folder: Path) -> Environment:
        run(python, "-m", "venv", folder)
        return cls(folder)

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    def pip(self, *arguments: str | Path) -> str:
        return run(self.python, "-m", "pip", *arguments)

    def command(self, *arguments: str | Path, cwd: Path) -> str:
        """Run the ``steadytree`` command."""
        return run(self.folder / "bin" / "steadytree", *arguments, cwd=cwd)

    def check(
        self, script: str, *arguments: str | Path, cwd: Path, quiet: Sequence[str] = ()
    ) -> str:
        """Run one of the scripts in ``checks``; warnings are errors but for quiet kinds."""
        return run(
            *(self.python, "-W", "error", *_ignoring(quiet), CHECKS / script),
            *arguments,
            cwd=cwd,
        )

    def tests(self, source: Path, *paths: str, cwd: Path, quiet: Sequence[str] = ()) -> str:
        """Run tests of an unpacked source archive against the installed package."""
        where = run(self.python, "-c", "import steadytree; print(steadytree.__file__)", cwd=cwd)
        assert Path(where.strip()).is_relative_to(self.folder)
        return run(
            *(self.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not slow"),
            *_ignoring(quiet),
            *paths,
            cwd=source,
            OMP_NUM_THREADS="1",
        )
