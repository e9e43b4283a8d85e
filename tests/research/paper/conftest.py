"""One small run on all six case studies, shared by the tests of what people look at."""

from __future__ import annotations

import pytest

from research.paper.published import CASE_STUDY_NAMES
from research.paper.regenerate import Regenerated, regenerate
from research.paper.registry import EXPERIMENTS
from tests.research.paper.tiny import TINY

# What no claim is about, or what takes long: left to the tests of whole runs.
LEFT_OUT = ("collection-size", "retraining")


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Regenerated:
    return regenerate(
        tmp_path_factory.mktemp("whole"),
        settings=TINY,
        only=[name for name in EXPERIMENTS if name not in LEFT_OUT],
        data=list(CASE_STUDY_NAMES),
    )
