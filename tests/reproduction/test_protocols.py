"""Who trains, who chooses, who is reported on."""

from __future__ import annotations

import numpy as np
import pytest

from reproduction.protocols import folds, make_split, partition
from reproduction.settings import generator
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
    paper = make_split(Y, groups, protocol="paper", rng=generator(0, "a"))
    np.testing.assert_array_equal(split.report, paper.report)


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
