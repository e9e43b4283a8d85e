"""Every error and warning that steadytree raises on purpose, so that callers can catch them."""

from __future__ import annotations

from typing import ClassVar

__all__ = [
    "ClippedThresholdWarning",
    "FeatureAlignmentError",
    "HistoryError",
    "InputError",
    "MissingDependencyError",
    "NotFittedTreeError",
    "OneDecisionWarning",
    "PlanError",
    "SteadyTreeError",
    "SteadyTreeWarning",
    "TreeFormatError",
    "UnsupportedModelError",
    "WriteError",
]


class SteadyTreeError(Exception):
    """Base of all errors of the package; `exit_code` is what the command line returns."""

    exit_code: ClassVar[int] = 1


class InputError(SteadyTreeError, ValueError):
    """An argument or a data set is not what the call needs."""

    exit_code: ClassVar[int] = 2


class TreeFormatError(InputError):
    """A saved tree cannot be read: truncated, inconsistent, or of a newer format."""


class FeatureAlignmentError(InputError):
    """Two trees, or a tree and a space, cannot be aligned; the message names the culprits."""


class UnsupportedModelError(InputError, TypeError):
    """The model is of a kind that cannot be read as one tree."""


class NotFittedTreeError(InputError, AttributeError):
    """The model has not been fitted, so it holds no tree yet."""


class HistoryError(InputError):
    """A history of retrained trees is inconsistent or cannot be extended."""


class WriteError(SteadyTreeError, OSError):
    """Writing began and failed, as on a full disk; what was there before is untouched."""


class MissingDependencyError(SteadyTreeError, ImportError):
    """An optional package is needed; the message names the extra that installs it."""


class PlanError(SteadyTreeError):
    """A clause of the plan for a new tree did not hold, or could not be judged."""

    exit_code: ClassVar[int] = 3


class SteadyTreeWarning(UserWarning):
    """Base of all warnings of the package."""


class ClippedThresholdWarning(SteadyTreeWarning):
    """A threshold lies outside its feature's bounds and was clipped to them."""


class OneDecisionWarning(SteadyTreeWarning):
    """A tree decides the same for everybody."""
