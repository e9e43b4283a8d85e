"""Show on the terminal how far a long run is (never on standard output)."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

__all__ = ["track"]

T = TypeVar("T")


def track(items: Iterable[T], *, total: int, label: str, verbose: int = 0) -> Iterator[T]:
    """Pass items on and report each on standard error.

    A bar where standard error is a terminal and ``rich`` is installed, otherwise a plain
    line for every tenth of the way.

    Parameters
    ----------
    items : iterable
    total : int
        How many items will come.
    label : str
        What is being done.
    verbose : int, default 0
        0 is silent.
    """
    if verbose <= 0:
        yield from items
        return
    if sys.stderr.isatty():
        try:
            from rich.console import Console
            from rich.progress import track as rich_track
        except ModuleNotFoundError:
            pass
        else:
            from rich.markup import escape

            yield from rich_track(
                items, description=escape(label), total=total, console=Console(file=sys.stderr)
            )
            return
    start = time.perf_counter()
    shown = 0
    for done, item in enumerate(items, start=1):
        yield item
        if done == total or done * 10 // total > shown:
            shown = done * 10 // total
            seconds = time.perf_counter() - start
            print(f"{label}: {done} of {total} ({seconds:.1f} s)", file=sys.stderr, flush=True)
