"""The command line: ``steadytree fit | compare | retrain | assess | show``.

This file imports nothing that takes time, so that an interrupt is told from the start.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from steadytree._progress import ignore_interrupts, remember_interrupt
from steadytree.cli.output import interrupted

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code, one of ``output.EXIT_CODES``.

    Parameters
    ----------
    arguments : sequence of str, optional
        By default those of the process.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    with remember_interrupt():
        try:
            from steadytree.cli.app import run

            code = run(given)
        except KeyboardInterrupt:
            code = interrupted(as_json="--json" in given)
    if arguments is None:
        # All is said: Python only tidies up, and an interrupt then would be a traceback.
        ignore_interrupts()
    return code
