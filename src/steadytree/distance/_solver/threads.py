"""Share work among threads the way joblib counts them."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from steadytree._jobs import threads_here

__all__ = ["in_threads"]


def in_threads(work: Callable[[], None], n_jobs: int | None, most: int) -> None:
    """Run ``work``, which takes parts off a common list until none is left, in threads.

    At most ``most`` threads, one per part.
    """
    threads = min(threads_here(n_jobs), most) if most > 1 else 1
    if threads <= 1:
        work()
        return
    with ThreadPoolExecutor(threads) as pool:
        for done in [pool.submit(work) for _ in range(threads)]:
            done.result()
