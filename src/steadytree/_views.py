"""The one door from a result to its page or its notebook view.

A result lies below the views, so it cannot import them; it asks
here, and they are imported when somebody wants to look. No other module may import upwards.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def write_report(
    summary: Mapping[str, Any], path: str | os.PathLike[str], *, title: str | None = None
) -> Path:
    """Write the page of a summary to one HTML file and return its path."""
    from steadytree.views import write_report as write

    return write(summary, path, title=title)


def notebook_view(result: Any) -> str:
    """Return a result as a short piece of HTML, for ``_repr_html_``."""
    from steadytree.views import notebook_view as view

    return view(result)
