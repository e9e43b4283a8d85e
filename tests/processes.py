"""Child processes that tests fork, kill and wait for."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

__all__ = ["forked"]


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
