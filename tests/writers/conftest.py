"""What all tests of writers share."""

from __future__ import annotations

from pathlib import Path

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Random models may well decide the same for everybody."""
    ignored = pytest.mark.filterwarnings("ignore::steadytree.exceptions.OneDecisionWarning")
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(ignored)
