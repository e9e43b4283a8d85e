from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steadytree.core.disclosure import (
    PeopleCount,
    few,
    mask_partition,
    masking_note,
    range_words,
    share_bin,
    share_step,
    tell_outcomes,
    told_share,
    told_share_words,
)
from steadytree.core.words import PLAIN


@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=1, max_size=7),
    st.integers(1, 8),
)
def test_a_range_holds_the_count_and_is_wide_enough_for_whoever_knows_the_total(
    cells: list[tuple[int, int]], least: int
) -> None:
    """Whoever knows the total and all ranges learns no more of a number of few people."""
    rows = [yes + no for yes, no in cells]
    told = tell_outcomes([yes for yes, _ in cells], rows, least)
    total = sum(yes for yes, _ in cells)
    # A cell that is not told may hold anybody; the reader knows at least that.
    ranges = [(0, n) if t is None else (t.low, t.high) for t, n in zip(told, rows, strict=True)]
    for i, ((yes, no), count) in enumerate(zip(cells, told, strict=True)):
        if count is None:
            continue
        assert count.low <= yes <= count.high
        assert count.total == yes + no
        if not (few(yes, least) or few(no, least)):
            continue
        others = [r for j, r in enumerate(ranges) if j != i]
        low, high = total - sum(r[1] for r in others), total - sum(r[0] for r in others)
        possible = range(max(low, count.low), min(high, count.high) + 1)
        assert len(possible) >= least - 1


@pytest.mark.parametrize(
    ("counts", "rows", "words"),
    [
        ([3, 1, 25], [291, 22, 60], ["< 5 of 291", "< 5 of 22", "20–29 of 60"]),
        ([3, 2, 25], [291, 22, 60], ["< 5 of 291", "< 5 of 22", "25 of 60"]),
        ([160, 50], [163, 90], ["> 158 of 163", "40–59 of 90"]),
        ([4, 4], [50, 50], ["< 10 of 50"] * 2),  # "< 5" and a total of 8 would tell both
        ([0, 30], [20, 30], ["0 of 20", "30 of 30"]),
        ([3], [90], None),  # the total is the count
        ([25, 29, 40], [25, 30, 40], [None, None, "40 of 40"]),  # the total tells the only one
    ],
)
def test_counts_in_words(counts: list[int], rows: list[int], words: list[str] | None) -> None:
    told = tell_outcomes(counts, rows, 5)
    if words is None:
        assert told == [None] * len(counts)
    else:
        assert [t and t.words().replace("\u202f", " ") for t in told] == words


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [(0, 0.02, "≤ 2 %"), (0.961, 1, "≥ 96 %"), (0.381, 0.54, "38–54 %"), (0.004, 0.02, "≤ 2 %")],
)
def test_a_range_of_shares_is_rounded_outwards(low: float, high: float, words: str) -> None:
    assert range_words(low, high).replace("\u202f", " ") == words


cells = st.lists(st.integers(0, 60), min_size=1, max_size=12)


@given(cells, st.integers(1, 10))
def test_a_masked_cell_cannot_be_computed_from_the_rest(counts: list[int], least: int) -> None:
    masked = mask_partition(counts, least)
    small = np.array([few(count, least) for count in counts])
    assert np.all(masked[small])
    if not masked.any():
        return
    # Whoever knows the total and what is shown learns only the sum of the masked cells.
    people = int(np.array(counts)[masked].sum())
    everyone = all(masked[i] or counts[i] == 0 for i in range(len(counts)))
    assert everyone or (masked.sum() >= 2 and people >= least)


@given(cells, st.integers(1, 10))
def test_nothing_is_masked_without_need(counts: list[int], least: int) -> None:
    if not any(few(count, least) for count in counts):
        assert not mask_partition(counts, least).any()


def test_the_smallest_other_cell_is_masked_with_a_small_one() -> None:
    assert mask_partition([3, 200, 40], 5).tolist() == [True, False, True]
    assert mask_partition([3, 200, 40, 4], 5).tolist() == [True, False, False, True]
    assert mask_partition([1, 200, 40, 2], 5).tolist() == [True, False, True, True]
    assert mask_partition([3, 200], 5).tolist() == [True, True]
    assert mask_partition([0, 200, 40], 5).tolist() == [False, False, False]


@pytest.mark.parametrize(
    ("count", "total", "told"),
    [
        (0, 100, "0 of 100"),
        (3, 100, "fewer than 5 of 100"),
        (50, 100, "50 of 100"),
        (97, 100, "all but fewer than 5 of 100"),
        (100, 100, "100 of 100"),
        (2, 4, "a number that is not shown of None"),
    ],
)
def test_a_count_of_people_is_told_only_where_no_single_one_shows(
    count: int, total: int, told: str
) -> None:
    people = PeopleCount.of(count, total, 5)
    assert f"{people.replaced or people.count} of {people.total}" == told
    assert people.masked is (people.share is None) is (people.replaced is not None)


@given(st.integers(0, 500), st.integers(1, 500), st.integers(2, 10))
def test_a_range_of_a_share_leaves_enough_numbers_open(count: int, n: int, least: int) -> None:
    share = min(count, n) / n
    told = share_bin(share, n, least)
    if told is None:
        assert n < 5 * least
        return
    assert told.holds(share)
    assert sum(told.holds(k / n) for k in range(n + 1)) >= least
    # Nobody and everybody are not told apart from a few.
    assert told.low == 0 or not told.holds(0)
    assert told.low < told.middle < told.high


@pytest.mark.parametrize(
    ("n", "step"), [(600, 0.01), (300, 0.02), (171, 0.05), (40, 0.2), (9, None)]
)
def test_steps_for_five_people(n: int, step: float | None) -> None:
    assert share_step(n, 5) == step


@pytest.mark.parametrize(
    ("share", "words"), [(0.0, "< 2 %"), (0.019, "< 2 %"), (0.2, "20–22 %"), (0.99, "≥ 98 %")]
)
def test_ranges_in_words(share: float, words: str) -> None:
    told = share_bin(share, 300, 5)
    assert told is not None
    assert told.words(PLAIN) == words


def test_a_share_is_itself_its_range_or_not_told() -> None:
    assert told_share(30, 300, 5, exact=True) == 0.1
    assert told_share_words(30, 300, 5, exact=True) == "10.0 %"
    assert told_share(30, 300, 5) == 0.11
    assert told_share_words(30, 300, 5) == "10–12 %"
    assert told_share(3, 300, 5, exact=True) == 0.01
    assert told_share_words(3, 300, 5, exact=True) == "< 2 %"
    assert told_share(0, 300, 5) == 0.0
    assert told_share(3, 9, 5) is None
    assert told_share_words(3, 9, 5) == "not shown"
    assert told_share(3, 300, 1) == 0.01


def test_the_note_says_who_may_see_more() -> None:
    assert "fewer than 5 people" in masking_note(5)
    assert "--no-masking" in masking_note(5)
    assert masking_note(1) == ""
