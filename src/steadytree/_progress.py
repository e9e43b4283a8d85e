"""Show on the terminal how far a long run is (never on standard output)."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

# -- See the work stopped: by Ctrl-C, by a scheduler that ends it, by a terminal that closes --
# All three (SIGINT, SIGTERM, SIGHUP) arrive as ``KeyboardInterrupt``, so that whatever tidies up
# after one does so after each; :func:`stopped_by` tells them apart for the exit code.

_USUAL = {
    getattr(signal, name): usual
    for name, usual in (
        ("SIGINT", signal.default_int_handler),
        ("SIGTERM", signal.SIG_DFL),
        ("SIGHUP", signal.SIG_DFL),
    )
    if hasattr(signal, name)
}


class _Asked:
    """What was asked for so far; ``waiting``: nobody is to be stopped right now."""

    number: int | None = None
    waiting = False


_asked = _Asked()


def is_interrupt(error: BaseException) -> bool:
    """Whether Ctrl-C stopped the work: a compiled loop that it meets tells it as a SystemError."""
    at: BaseException | None = error
    while isinstance(at, SystemError):
        at = at.__cause__ or at.__context__
    return isinstance(at, KeyboardInterrupt)


@contextmanager
def remember_interrupt() -> Iterator[None]:
    """Keep in mind, while it lasts, that the work is to stop, and stop it.

    An interrupt that arrives while a compiled loop is loaded is lost: it is raised in a callback
    that cannot pass it on. :func:`check_interrupt` then stops the work at its next step. Signals
    that somebody else handles or ignores are left to them.
    """
    main = threading.current_thread() is threading.main_thread()
    if main and signal.getsignal(signal.SIGINT) is not _stop:
        # Whoever handles signals, what stopped the work before must not stop this.
        _asked.number, _asked.waiting = None, False
    ours = [number for number, usual in _USUAL.items() if signal.getsignal(number) == usual]
    if signal.SIGINT not in ours or not main:
        yield
        return
    before = {number: signal.signal(number, _stop) for number in ours}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _stop(number: int, frame: Any) -> None:
    _asked.number = number
    if not _asked.waiting:
        raise KeyboardInterrupt


def check_interrupt() -> None:
    """Stop where the work was to stop and nobody stopped yet."""
    if _asked.number is not None:
        raise KeyboardInterrupt


@contextmanager
def interrupts_wait() -> Iterator[None]:
    """Let nothing stop a short step that has to be whole; what was asked for is remembered."""
    before, _asked.waiting = _asked.waiting, True
    try:
        yield
    finally:
        _asked.waiting = before


def ignore_interrupts() -> None:
    """Ignore Ctrl-C from here on: there is nothing left to stop."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def stopped_by() -> int:
    """Return the number of the signal that stopped the work; Ctrl-C's where it is not known."""
    return int(_asked.number or signal.SIGINT)


# -- Show on the terminal how far a long run is (never on standard output) --

T = TypeVar("T")


def track(items: Iterable[T], *, total: int, label: str, verbose: int = 0) -> Iterator[T]:
    """Pass items on and report each on standard error.

    A bar where standard error is a terminal, otherwise a plain line for every tenth of the way.

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
        from rich.console import Console
        from rich.markup import escape
        from rich.progress import track as rich_track

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
