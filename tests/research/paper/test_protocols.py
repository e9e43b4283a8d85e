"""Who trains, who chooses, who is reported on."""

from __future__ import annotations

import numpy as np
import pytest

from research.paper.protocols import folds, grows_nested, make_split, partition
from research.paper.settings import PROTOCOLS, generator
from steadytree.exceptions import InputError

RNG = np.random.default_rng(0)
Y = (RNG.random(900) < 0.1).astype(np.int64)
GROUPS = RNG.integers(0, 300, 900)


@pytest.mark.parametrize("groups", [None, GROUPS])
def test_the_paper_chooses_on_what_it_reports(groups: np.ndarray | None) -> None:
    split = make_split(Y, groups, protocol="paper", rng=generator(0, "a"))
    np.testing.assert_array_equal(split.choose, split.report)
    assert not set(split.train) & set(split.report)
    assert len(split.train) + len(split.report) == len(Y)
    assert abs(len(split.report) / len(Y) - 0.33) < 0.01
    assert set(split.first) < set(split.train)
    assert abs(len(split.first) / len(split.train) - 0.5) < 0.01


@pytest.mark.parametrize("groups", [None, GROUPS])
def test_the_honest_protocol_leaves_the_test_rows_untouched(groups: np.ndarray | None) -> None:
    split = make_split(Y, groups, protocol="honest", rng=generator(0, "a"))
    parts = [set(split.train), set(split.choose), set(split.report)]
    assert sum(map(len, parts)) == len(set.union(*parts)) == len(Y)


def test_only_the_honest_protocol_keeps_the_prevalence() -> None:
    spread = {}
    for protocol in PROTOCOLS:
        splits = [make_split(Y, None, protocol=protocol, rng=generator(i)) for i in range(40)]
        spread[protocol] = np.std([Y[split.report].sum() for split in splits])
    assert spread["honest"] == 0
    # 297 of 900 rows without replacement: a hypergeometric count.
    expected = np.sqrt(297 * Y.mean() * (1 - Y.mean()) * 603 / 899)
    assert spread["paper"] == pytest.approx(expected, rel=0.3)


def test_the_paper_keeps_crashes_whole_too() -> None:
    split = make_split(Y, GROUPS, protocol="paper", rng=generator(3))
    assert not set(GROUPS[split.train]) & set(GROUPS[split.report])


def test_no_side_is_left_without_an_outcome() -> None:
    rare = np.zeros(60, dtype=np.int64)
    rare[[5, 40]] = 1
    for seed in range(20):
        for side in partition(np.arange(60), rare, None, 0.3, generator(seed), stratify=False):
            assert rare[side].sum() == 1


def test_only_the_paper_fits_every_tree_by_itself() -> None:
    assert [grows_nested(protocol) for protocol in PROTOCOLS] == [False, True]


def test_groups_stay_together_and_prevalence_is_kept() -> None:
    rows = np.arange(len(Y))
    a, b = partition(rows, Y, GROUPS, 0.4, generator(1))
    assert not set(GROUPS[a]) & set(GROUPS[b])
    a, b = partition(rows, Y, None, 0.4, generator(1))
    assert abs(Y[a].mean() - Y[b].mean()) < 0.01


@pytest.mark.parametrize("groups", [None, GROUPS])
def test_folds_cover_every_row_once(groups: np.ndarray | None) -> None:
    rows = np.arange(100, 700)
    tests = []
    for train, test in folds(rows, Y, groups, 5, generator(2)):
        assert not set(train) & set(test)
        assert len(train) + len(test) == len(rows)
        if groups is not None:
            assert not set(groups[train]) & set(groups[test])
        tests.append(test)
    np.testing.assert_array_equal(np.sort(np.concatenate(tests)), rows)


def test_an_unknown_protocol_is_named() -> None:
    with pytest.raises(InputError, match="got 'hopeful'"):
        make_split(Y, None, protocol="hopeful", rng=generator(0))


def test_generators_depend_on_their_words_alone() -> None:
    assert generator(0, "a", 1).random() == generator(0, "a", 1).random()
    assert generator(0, "a", 1).random() != generator(0, "a", 2).random()
