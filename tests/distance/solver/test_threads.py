"""Sharing work among threads: all of it is done, no more threads than parts, errors surface."""

from __future__ import annotations

import itertools
import threading

import pytest

from steadytree._jobs import in_threads


@pytest.mark.parametrize("n_jobs", [1, 2, 3, None])
def test_every_part_is_done_once(n_jobs: int | None) -> None:
    turn, done = itertools.count(), []

    def work() -> None:
        while (k := next(turn)) < 50:
            done.append(k)

    in_threads([work] * 50, n_jobs)
    assert sorted(done) == list(range(50))


def test_as_many_threads_as_asked_and_never_more_than_parts() -> None:
    for n_jobs, parts, expected in ((3, 9, 3), (8, 2, 2)):
        meeting = threading.Barrier(expected, timeout=10)
        names = []

        def work(meeting: threading.Barrier = meeting, names: list[str] = names) -> None:
            names.append(threading.current_thread().name)
            meeting.wait()  # breaks unless all of them are there at once

        in_threads([work] * parts, n_jobs)
        assert len(set(names)) == expected


@pytest.mark.parametrize(("n_jobs", "parts"), [(1, 8), (8, 1), (8, 0)])
def test_a_single_thread_is_the_callers_own(n_jobs: int, parts: int) -> None:
    used = []
    in_threads([lambda: used.append(threading.current_thread())] * parts, n_jobs)
    assert used == [threading.current_thread()] * parts


def test_an_error_in_a_thread_is_raised() -> None:
    def work() -> None:
        raise MemoryError("no room for the costs")

    with pytest.raises(MemoryError, match="no room for the costs"):
        in_threads([work] * 4, 2)
