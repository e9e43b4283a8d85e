"""Optional packages: imported late, and a missing one says how to install it."""

from __future__ import annotations

import json.decoder
from pathlib import Path

import pytest

from steadytree._optional import import_optional
from steadytree.exceptions import MissingDependencyError, SteadyTreeError


def test_optional_import_returns_the_module() -> None:
    assert import_optional("json.decoder", extra="x", purpose="y") is json.decoder


def test_missing_package_names_the_extra_and_the_purpose() -> None:
    with pytest.raises(MissingDependencyError) as caught:
        import_optional("no_such_package.sub", extra="report", purpose="TreeDiff.report")
    message = str(caught.value)
    assert "TreeDiff.report needs the package 'no_such_package'" in message
    assert "pip install 'steadytree[report]'" in message
    assert caught.value.name == "no_such_package"


def test_a_failure_inside_an_installed_package_is_passed_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "broken_package_for_test.py"
    package.write_text("import no_such_dependency_for_test\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ModuleNotFoundError, match="no_such_dependency_for_test") as caught:
        import_optional("broken_package_for_test", extra="report", purpose="x")
    assert not isinstance(caught.value, SteadyTreeError)
