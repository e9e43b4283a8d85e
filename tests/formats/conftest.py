"""What all tests of readers share; those whose library this Python lacks are left out."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.modules import WITHOUT_WHEELS

collect_ignore_glob = [f"*/test_{name}.py" for name in WITHOUT_WHEELS if find_spec(name) is None]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Random models may well decide the same for everybody."""
    ignored = pytest.mark.filterwarnings("ignore::steadytree.exceptions.OneDecisionWarning")
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(ignored)
