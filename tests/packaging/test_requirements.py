"""What the package asks for: numba where it is published, floors, and extras that exist."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping

import pytest
from packaging.version import Version

from tests.packaging.environments import require_index, resolve
from tests.packaging.project import NOT_FOR_USERS, PROJECT, PYTHONS, ROOT, extra, requirements

LINUX = {"sys_platform": "linux", "platform_machine": "x86_64"}
INTEL_MAC = {"sys_platform": "darwin", "platform_machine": "x86_64"}
ARM_MAC = {"sys_platform": "darwin", "platform_machine": "arm64"}
WINDOWS = {"sys_platform": "win32", "platform_machine": "AMD64"}
BROWSER = {"sys_platform": "emscripten", "platform_machine": "wasm32"}


def asked(machine: Mapping[str, str], python: str) -> dict[str, str]:
    """Return what a machine's installer is asked for, and in which versions."""
    where = {**machine, "python_version": python, "python_full_version": f"{python}.0"}
    return {
        one.name: str(one.specifier)
        for one in requirements()
        if one.marker is None or one.marker.evaluate(where)
    }


@pytest.mark.parametrize("python", PYTHONS)
def test_numba_where_it_is_published(python: str) -> None:
    for machine in (LINUX, ARM_MAC, WINDOWS):
        assert asked(machine, python)["numba"] == ">=0.59"
    assert "numba" not in asked(BROWSER, python)
    last = {"3.11": "<0.63,>=0.59", "3.12": "<0.63,>=0.59", "3.13": "<0.63,>=0.59"}
    assert asked(INTEL_MAC, python).get("numba") == last.get(python)


def test_a_python_that_numba_does_not_know_gets_the_rest() -> None:
    everything = set(asked(LINUX, PYTHONS[-1]))
    major, minor = PYTHONS[-1].split(".")
    assert set(asked(LINUX, f"{major}.{int(minor) + 1}")) == everything - {"numba"}
    numbers = {"numpy", "scipy", "scikit-learn", "pandas", "joblib", "numba"}
    assert everything == numbers | {"click", "rich", "jinja2"}


def test_every_requirement_of_a_user_has_a_floor_and_only_numba_a_ceiling() -> None:
    users = [name for name in PROJECT["optional-dependencies"] if name not in NOT_FOR_USERS]
    for one in [*requirements(), *(r for name in users for r in extra(name))]:
        operators = {clause.operator for clause in one.specifier}
        assert ">=" in operators, one
        assert operators == {">="} or one.name == "numba", one


def test_the_versions_of_python_have_no_gap() -> None:
    minors = [int(version.partition(".")[2]) for version in PYTHONS]
    assert minors == list(range(minors[0], minors[-1] + 1))
    assert PROJECT["requires-python"] == f">={PYTHONS[0]}"
    assert f"{sys.version_info.major}.{sys.version_info.minor}" in PYTHONS


def test_all_is_every_extra_for_users_but_mlflow() -> None:
    users = set(PROJECT["optional-dependencies"]) - {*NOT_FOR_USERS, "all", "mlflow"}
    (inside,) = PROJECT["optional-dependencies"]["all"]
    assert set(re.findall(r"\w+", inside.partition("[")[2])) == users


def test_errors_name_extras_that_exist() -> None:
    known = set(PROJECT["optional-dependencies"])
    named = {
        name
        for path in (ROOT / "src").rglob("*.py")
        for found in re.findall(
            r"""steadytree\[([a-z,]+)\]|extra="(\w+)\"""", path.read_text("utf-8")
        )
        for name in ",".join(found).strip(",").split(",")
    }
    assert named
    assert named <= known


PLATFORMS = [
    "x86_64-unknown-linux-gnu",
    "aarch64-unknown-linux-gnu",
    "x86_64-apple-darwin",
    "aarch64-apple-darwin",
    "x86_64-pc-windows-msvc",
]


@pytest.mark.slow
@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("platform", PLATFORMS)
def test_the_core_has_wheels_everywhere(platform: str, python: str) -> None:
    """No compiler is needed on any machine that the package is for, oldest and newest."""
    require_index()
    for resolution in ("highest", "lowest-direct"):
        found = resolve(python, resolution, "--only-binary", ":all:", "--python-platform", platform)
        intel_mac = platform == "x86_64-apple-darwin"
        assert ("numba" in found) != (intel_mac and Version(python) >= Version("3.14"))
        assert Version(found["scikit-learn"]) >= Version("1.6")


@pytest.mark.slow
def test_a_command_that_asks_for_too_little_is_found_out() -> None:
    """The check above fails where no wheel exists: musl has none of scikit-learn."""
    require_index()
    with pytest.raises(subprocess.CalledProcessError):
        resolve(
            "3.12",
            "highest",
            "--only-binary",
            ":all:",
            "--python-platform",
            "x86_64-unknown-linux-musl",
        )
