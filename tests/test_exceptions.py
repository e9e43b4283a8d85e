from __future__ import annotations

import inspect

import pytest

from steadytree import exceptions
from steadytree.exceptions import (
    ClippedThresholdWarning,
    InputError,
    MissingDependencyError,
    NotFittedTreeError,
    PlanError,
    SteadyTreeError,
    UnsupportedModelError,
    WriteError,
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
        (WriteError, OSError, 1),
        (PlanError, SteadyTreeError, 3),
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
