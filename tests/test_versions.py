"""Versions for tree files and bug reports."""

from __future__ import annotations

import numpy
import pytest

import steadytree
from steadytree._optional import library_versions, with_version


def test_versions_for_a_bug_report(capsys: pytest.CaptureFixture[str]) -> None:
    steadytree.show_versions()
    shown = dict(line.split(": ", 1) for line in capsys.readouterr().out.splitlines())
    assert shown["steadytree"] == steadytree.__version__
    assert shown["numpy"] == numpy.__version__
    assert "platform" in shown


def test_packages_that_are_not_installed_are_left_out() -> None:
    found = library_versions(("numpy", "no-such-package"))
    assert list(found) == ["python", "numpy"]
    assert found["numpy"] == numpy.__version__


def test_a_package_with_its_version() -> None:
    assert with_version("numpy") == f"numpy {numpy.__version__}"
    assert with_version("no-such-package") == "no-such-package"
