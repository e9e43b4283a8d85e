"""The course of a deployed tree, version by version."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from steadytree.plotting import draw_versions


@pytest.fixture
def versions() -> pd.DataFrame:
    """Three versions, the last of them rejected."""
    return pd.DataFrame(
        {
            "status": ["approved", "approved", "rejected"],
            "dissimilarity_to_previous": [np.nan, 0.1, 0.25],
            "dissimilarity_to_first": [np.nan, 0.1, 0.3],
            "score_auc": [0.8, 0.82, 0.81],
        },
        index=pd.Index([1, 2, 3], name="version"),
    )


def test_every_version_is_drawn_in_per_cent(versions: pd.DataFrame) -> None:
    ax = draw_versions(versions)
    first, previous = ax.get_lines()
    np.testing.assert_allclose(first.get_ydata(), [0, 10, 30])
    np.testing.assert_allclose(previous.get_ydata(), [0, 10, 25])
    assert ax.get_xticks().tolist() == [1, 2, 3]
    assert ax.get_ylabel() == "dissimilarity (%)"
    assert ax.get_ylim()[0] == 0


def test_rejected_versions_are_crossed_out(versions: pd.DataFrame) -> None:
    ax = draw_versions(versions)
    (crosses,) = ax.collections
    np.testing.assert_allclose(crosses.get_offsets(), [[3, 30]])
    assert "rejected" in [text.get_text() for text in ax.get_legend().get_texts()]
    accepted = draw_versions(versions.assign(status="approved"))
    assert len(accepted.collections) == 0


def test_a_score_has_an_axis_of_its_own(versions: pd.DataFrame) -> None:
    from matplotlib import pyplot

    figure, given = pyplot.subplots()
    assert draw_versions(versions, score="auc", ax=given) is given
    (other,) = (ax for ax in figure.axes if ax is not given)
    np.testing.assert_allclose(other.get_lines()[0].get_ydata(), [0.8, 0.82, 0.81])
    assert other.get_ylabel() == "auc"
