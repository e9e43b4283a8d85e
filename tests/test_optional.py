"""Optional packages: imported late, and a missing one says how to install it."""

from __future__ import annotations

import json.decoder
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from steadytree._optional import SAFE_FROM, import_optional
from steadytree.exceptions import MissingDependencyError, SteadyTreeError


def test_optional_import_returns_the_module() -> None:
    assert import_optional("json.decoder", extra="x", purpose="y") is json.decoder


def test_missing_package_names_the_extra_and_the_purpose() -> None:
    with pytest.raises(MissingDependencyError) as caught:
        import_optional("no_such_package.sub", extra="onnx", purpose="Writing ONNX")
    message = str(caught.value)
    assert "Writing ONNX needs the package 'no_such_package'" in message
    assert "pip install 'steadytree[onnx]'" in message
    assert caught.value.name == "no_such_package"


def test_a_failure_inside_an_installed_package_is_passed_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "broken_package_for_test.py"
    package.write_text("import no_such_dependency_for_test\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ModuleNotFoundError, match="no_such_dependency_for_test") as caught:
        import_optional("broken_package_for_test", extra="onnx", purpose="x")
    assert not isinstance(caught.value, SteadyTreeError)


@pytest.mark.parametrize(
    ("package", "release", "refused"),
    [
        *(("pyarrow", old, True) for old in ("2.0.0", "14.0.0")),
        *(("pyarrow", safe, False) for safe in ("14.0.1", "100.0.dev1")),
        *(("skops", "0.11.0", True), ("skops", "0.12.0", False)),
    ],
)
def test_a_version_that_runs_code_from_files_is_refused_unseen(
    package: str, release: str, refused: bool, tmp_path: Path
) -> None:
    """A real package of that version on the path, whose import would leave a trace."""
    (tmp_path / package).mkdir()
    (tmp_path / package / "__init__.py").write_text("print('imported')\n")
    (tmp_path / f"{package}-{release}.dist-info").mkdir()
    (tmp_path / f"{package}-{release}.dist-info" / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {package}\nVersion: {release}\n"
    )
    code = (
        "from steadytree._optional import import_optional\n"
        f"import_optional({package!r}, extra='parquet', purpose='reading rows.parquet')\n"
    )
    here = os.pathsep.join([str(tmp_path), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": here},
    )
    assert ("imported" in done.stdout) is not refused, done.stderr
    least, fault = SAFE_FROM[package]
    if refused:
        assert f"needs {package} {least} or newer, got {release}, which {fault}" in done.stderr
        assert f"pip install '{package}>={least}'" in done.stderr


def test_what_is_installed_is_safe_from_the_start() -> None:
    """The extras ask for no version that would be refused."""
    settings = Path(__file__).parent.parent / "pyproject.toml"
    extras = tomllib.loads(settings.read_text())["project"]["optional-dependencies"]
    for package, (least, _) in SAFE_FROM.items():
        (asked,) = {r for some in extras.values() for r in some if re.match(rf"{package}\b", r)}
        assert asked.removesuffix(".0") == f"{package}>={least}".removesuffix(".0")
