"""Figures are drawn without a screen and closed after each test."""

from __future__ import annotations

from collections.abc import Iterator

import matplotlib
import pytest

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def closed_figures() -> Iterator[None]:
    from matplotlib import pyplot

    yield
    pyplot.close("all")
