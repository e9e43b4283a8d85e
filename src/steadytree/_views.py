"""The one door from a result to its page, its notebook view or its picture.

A result lies below the report and the figures, so it cannot import them; it asks here, and
they are imported when somebody wants to look. No other module may import upwards.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

__all__ = ["notebook_view", "plot_assessment", "plot_versions", "write_report"]


def write_report(result: Any, path: str | os.PathLike[str], **options: Any) -> Path:
    """Write the decision report of a result to one HTML file and return its path."""
    from steadytree.report import write_report as write

    return write(result, path, **options)


def notebook_view(result: Any) -> str:
    """Return a result as a short piece of HTML, for ``_repr_html_``."""
    from steadytree.report import notebook_view as view

    return view(result)


def plot_assessment(assessment: Any, **options: Any) -> Any:
    """Draw which features the trees of an assessment split on, and where."""
    from steadytree.plotting import SplitFrequencyDisplay

    return SplitFrequencyDisplay.from_assessment(assessment, **options)


def plot_versions(versions: Any, **options: Any) -> Any:
    """Draw how far each version of a tree moved."""
    from steadytree.plotting import draw_versions

    return draw_versions(versions, **options)
