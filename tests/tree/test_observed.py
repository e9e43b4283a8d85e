"""What was observed is counted once, and predictions follow from it."""

from __future__ import annotations

import numpy as np
import pytest

from steadytree.exceptions import TreeFormatError
from steadytree.tree.observed import Observed

TWO = Observed(
    counts=np.array([[[6, 2], [1, 3]], [[0, 0], [0, 0]]]),
    weighted=np.array([[[12, 4], [2, 6]], [[0, 0], [0, 0]]]),
    steadied_by=np.array([[0.5, 0.5], [0.9, 0.1]]),
    strength=np.array([4.0, 0.0]),
)


def test_rows_and_rates() -> None:
    assert TWO.rows().tolist() == [12, 0]
    assert (TWO.rows("old").tolist(), TWO.rows("new").tolist()) == ([8, 0], [4, 0])
    assert TWO.rate()[0].tolist() == [7 / 12, 5 / 12]
    assert TWO.rate("new")[0].tolist() == [0.25, 0.75]
    assert np.isnan(TWO.rate()[1]).all()
    assert TWO.outcomes(1).tolist() == [5, 0]


def test_predictions_follow_from_the_weighted_rows() -> None:
    np.testing.assert_allclose(TWO.predicted()[0], [(14 + 2) / 28, (10 + 2) / 28])
    assert np.isnan(TWO.predicted()[1]).all()
    half = Observed(TWO.counts, TWO.weighted, TWO.steadied_by, TWO.strength, 0.5)
    np.testing.assert_allclose(half.predicted()[0], [(6 + 2 + 2) / 20, (2 + 6 + 2) / 20])
    assert half != TWO


def test_a_response() -> None:
    sums = np.array([[4.0, 10.0], [1.0, -2.0]])
    seen = Observed.plain(sums, sums, classifier=False)
    assert seen.rows("new").tolist() == [4, 1]
    assert seen.rate()[:, 0].tolist() == [2.5, -2.0]
    np.testing.assert_array_equal(seen.predicted(), seen.rate())


def test_some_nodes_and_further_classes() -> None:
    assert TWO.take(np.array([1])).rows().tolist() == [0]
    more = TWO.with_classes(np.array([0, 2]), 3)
    assert more.rate()[0].tolist() == [7 / 12, 0, 5 / 12]
    assert TWO.take(np.array([0, 1])) == TWO


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(TreeFormatError, match="shape"):
        Observed(np.zeros((1, 3, 2)), np.zeros((1, 3, 2)), np.zeros((1, 2)), np.zeros(1))
    with pytest.raises(TreeFormatError, match="one entry per node"):
        Observed(np.zeros((1, 2, 2)), np.zeros((1, 2, 2)), np.zeros((2, 2)), np.zeros(1))
    with pytest.raises(TreeFormatError, match="rows >= 0"):
        Observed(np.full((1, 2, 2), -1.0), np.zeros((1, 2, 2)), np.zeros((1, 2)), np.zeros(1))
    with pytest.raises(TreeFormatError, match="old_share"):
        Observed(np.zeros((1, 2, 2)), np.zeros((1, 2, 2)), np.zeros((1, 2)), np.zeros(1), 2.0)
