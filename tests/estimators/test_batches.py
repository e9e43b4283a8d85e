from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steadytree.estimators.predictor import check_share
from steadytree.estimators.stable import split_share
from steadytree.exceptions import InputError


@given(
    st.lists(st.integers(0, 3), min_size=2, max_size=80),
    st.floats(0.05, 0.95),
    st.integers(0, 2**31),
)
def test_a_stratified_share_keeps_every_class_on_both_sides(
    labels: list[int], share: float, seed: int
) -> None:
    y = np.array(labels)
    rows = np.arange(100, 100 + y.size)
    drawn, rest = split_share(rows, y, share, np.random.default_rng(seed))
    assert sorted([*drawn, *rest]) == rows.tolist()
    for label in np.unique(y):
        size, taken = (y == label).sum(), (y[drawn - 100] == label).sum()
        if size == 1:
            assert taken == 0
        else:
            assert 1 <= taken <= size - 1
            assert abs(taken - share * size) <= 1


def test_a_share_is_random_and_of_the_right_size() -> None:
    rows = np.arange(1000)
    drawn, _ = split_share(rows, None, 0.3, np.random.default_rng(0))
    other, _ = split_share(rows, None, 0.3, np.random.default_rng(1))
    assert drawn.size == other.size == 300
    assert 50 < np.intersect1d(drawn, other).size < 130


@pytest.mark.parametrize("share", [0, 1, -0.1, True, "half", [0.5], None])
def test_shares_that_cannot_be(share: object) -> None:
    with pytest.raises(InputError, match="expected holdout to be a share between 0 and 1"):
        check_share(share, "holdout")
