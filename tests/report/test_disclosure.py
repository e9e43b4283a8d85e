from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steadytree.report import render
from steadytree.report.disclosure import (
    PeopleCount,
    coarse_share,
    few,
    mask_partition,
    share_step,
)
from tests.report import samples

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


@given(st.floats(0, 1), st.integers(1, 100_000), st.integers(1, 10))
def test_one_step_of_a_share_stands_for_enough_people(share: float, n: int, least: int) -> None:
    step = share_step(n, least)
    if n >= 10 * least:
        assert step * n >= least * 0.999999
    rounded = coarse_share(share, n, least)
    assert abs(rounded - share) <= step / 2 + 1e-4


@pytest.mark.parametrize(("n", "step"), [(600, 0.01), (300, 0.02), (171, 0.05), (40, 0.1)])
def test_steps_for_five_people(n: int, step: float) -> None:
    assert share_step(n, 5) == step


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


def _visible(page: str) -> str:
    """Text of a page without its script and data."""
    page = re.sub(r"<(script|style).*?</\1>", "", page, flags=re.S)
    return " ".join(re.sub(r"<[^>]+>", " ", page).split())


@pytest.mark.parametrize("hits", [3, 218])
@pytest.mark.parametrize("view", ["report", "notebook"])
@pytest.mark.parametrize("kind", ["regression_retraining", "retraining"])
def test_no_view_of_a_retraining_counts_a_handful_of_people(
    kind: str, view: str, hits: int
) -> None:
    whole = getattr(samples, kind)()
    n = len(whole.X_new)
    hits = hits if hits < 5 else n - 3
    result = samples.with_changed_decisions(whole, hits)
    text = _visible(render(result) if view == "report" else result._repr_html_())
    assert re.search(rf"\b{hits} of (the )?{n}\b", text) is None
    assert f"fewer than 5 of {'the ' if view == 'notebook' else ''}{n}" in text
