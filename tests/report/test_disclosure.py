from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steadytree.core.observed import Observed
from steadytree.core.tree import Tree
from steadytree.estimators import TreeClassifier
from steadytree.report import render, summarise
from steadytree.report.disclosure import (
    PeopleCount,
    coarse_share,
    coarse_words,
    few,
    hidden_leaves,
    mask_partition,
    range_words,
    share_step,
    tell_outcomes,
)
from steadytree.report.notebook import notebook_view
from tests.golden import build
from tests.report import samples

leaf_counts = st.lists(
    st.tuples(*[st.integers(0, 30)] * 4), min_size=2, max_size=2
)  # of two leaves: old no, old yes, new no, new yes


def counted(leaves: list[tuple[int, ...]]) -> Tree:
    """A stump with so many rows of each outcome at its two leaves."""
    counts = np.array(leaves, dtype=float).reshape(2, 2, 2)
    both = np.concatenate([counts.sum(axis=0, keepdims=True), counts])
    steady = np.full((3, 2), 0.5)
    observed = Observed(both, both, steady, np.full(3, 10.0))
    return build(
        (0, 0.5, "no", "yes"),
        n_features=1,
        value=observed.predicted(),
        weight=both.sum(axis=(1, 2)),
        observed=observed,
    )


@given(leaf_counts, st.integers(1, 10))
def test_counts_of_few_people_at_a_leaf_are_hidden_with_what_they_follow_from(
    leaves: list[tuple[int, ...]], least: int
) -> None:
    hidden = hidden_leaves(counted(leaves), least)
    for leaf, cells in enumerate(leaves, start=1):
        old, new = sum(cells[:2]), sum(cells[2:])
        sums = (*cells, old, new, old + new, cells[0] + cells[2], cells[1] + cells[3])
        if any(few(count, least) for count in sums):
            assert leaf in hidden
    # Whoever knows the totals of the tree could compute the only leaf that is hidden.
    assert len(hidden) != 1 or any(sum(cells) == 0 for cells in leaves)


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


@given(st.integers(0, 500), st.integers(1, 500), st.integers(1, 10))
def test_a_coarse_share_is_none_or_all_only_if_it_is(count: int, n: int, least: int) -> None:
    share = min(count, n) / n
    words = coarse_words(share, n, least).replace("\u202f", " ")
    assert (words == "0 %") == (share == 0)
    assert (words == "100 %") == (share == 1)
    assert 0 < coarse_share(share, n, least) < 1 or share in (0, 1)


def test_no_listing_of_a_notebook_counts_a_handful_of_people() -> None:
    tree = counted([(20, 10, 20, 13), (2, 28, 0, 30)])
    assert "observed" not in notebook_view(TreeClassifier(tree))
    shown = counted([(20, 10, 20, 13), (9, 28, 9, 30)])
    assert "observed 23 of 63" in notebook_view(TreeClassifier(shown))
    assert TreeClassifier(shown)._repr_html_inner() == notebook_view(TreeClassifier(shown))


@pytest.mark.parametrize("kind", ["retraining", "large_diff", "multiclass_diff", "regression_diff"])
def test_every_count_on_the_page_is_what_was_observed_and_of_enough_people(kind: str) -> None:
    result = getattr(samples, kind)()
    diff = getattr(result, "diff", result)
    summary = summarise(result)
    told = 0
    for side, tree in (("old", diff.old), ("new", diff.new)):
        seen = tree.observed
        assert seen is not None
        for leaf in tree.leaves.tolist():
            text = summary["trees"][side]["observed"][leaf]
            rows = seen.rows()[leaf]
            if text == "hidden":
                continue
            told += 1
            at = 1 if len(tree.classes or ()) == 2 else tree.label[leaf]
            if found := re.fullmatch(r"([<>]?)\W*(\d+)(?:–(\d+))? of (\d+)", text):
                count, first = seen.outcomes(at)[leaf], int(found[2])
                assert int(found[4]) == rows
                if found[1] or found[3]:
                    last = first - 1 if found[1] == "<" else int(found[3] or rows)
                    assert (1 if found[1] == "<" else first + (found[1] == ">")) <= count <= last
                    continue
            if not tree.is_classifier:
                assert rows >= 5
                assert text.endswith(f" in {rows:.0f} rows")
                continue
            count = seen.outcomes(at)[leaf]
            assert text == f"{count:,.0f} of {rows:,.0f}"
            cells = (*seen.counts[leaf].ravel(), count, rows - count)
            assert not any(few(cell, 5) for cell in cells)
    assert told or kind == "large_diff"


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
