from __future__ import annotations

import inspect
import json.decoder
from pathlib import Path

import pytest

from steadytree import exceptions
from steadytree._optional import import_optional
from steadytree.exceptions import (
    ClippedThresholdWarning,
    GateError,
    InputError,
    MissingDependencyError,
    NotFittedTreeError,
    SteadyTreeError,
    UnsupportedModelError,
)


def test_all_names_are_errors_or_warnings_with_a_docstring() -> None:
    classes = {n: c for n, c in vars(exceptions).items() if inspect.isclass(c)}
    assert set(exceptions.__all__) <= set(classes)
    for name in exceptions.__all__:
        assert issubclass(classes[name], (SteadyTreeError, UserWarning)), name
        assert classes[name].__doc__, name


@pytest.mark.parametrize(
    ("error", "builtin", "code"),
    [
        (InputError, ValueError, 2),
        (UnsupportedModelError, TypeError, 2),
        (UnsupportedModelError, ValueError, 2),
        (NotFittedTreeError, AttributeError, 2),
        (MissingDependencyError, ImportError, 1),
        (GateError, SteadyTreeError, 3),
    ],
)
def test_errors_can_be_caught_as_the_natural_builtin(
    error: type[SteadyTreeError], builtin: type[Exception], code: int
) -> None:
    with pytest.raises(builtin, match="what went wrong") as caught:
        raise error("what went wrong")
    assert isinstance(caught.value, SteadyTreeError)
    assert caught.value.exit_code == code


def test_clipping_can_be_silenced_as_a_user_warning() -> None:
    assert issubclass(ClippedThresholdWarning, UserWarning)


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
