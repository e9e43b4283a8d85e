"""Child processes that tests fork, kill and wait for."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable

__all__ = ["forked", "listen_to_signals"]


def listen_to_signals() -> None:
    """Let a new process be ended by signals, whatever the one that runs the tests ignores.

    Under nohup hang-ups are ignored, in the background of some shells Ctrl-C; children inherit it.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def forked(work: Callable[[], object]) -> int:
    """Do some work in a fork of this process, which ends with 0 or, after an error, with 1."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            sys.stderr.flush()
            os._exit(code)
    return child
