"""The command line: ``steadytree fit | compare | retrain | assess | show``.

This file imports nothing optional, so that a missing package ends in a sentence that
says what to install, and nothing that takes time, so that an interrupt is told from the start.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from steadytree._optional import import_optional
from steadytree._progress import (
    ignore_interrupts,
    remember_interrupt,
)
from steadytree.cli.terminal import begin, interrupted, print_error_document, tell
from steadytree.exceptions import MissingDependencyError

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code, one of ``exits.EXIT_CODES``.

    Parameters
    ----------
    arguments : sequence of str, optional
        By default those of the process.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    as_json = "--json" in given
    begin()
    with remember_interrupt():
        try:
            for package in ("click", "rich"):
                import_optional(package, extra="cli", purpose="the steadytree command")
            from steadytree.cli.app import run

            code = run(given)
        except MissingDependencyError as error:
            tell(f"Error: {error}")
            if as_json:
                print_error_document(type(error).__name__, str(error), error.exit_code)
            code = error.exit_code
        except KeyboardInterrupt:
            code = interrupted(as_json=as_json)
    if arguments is None:
        # All is said: Python only tidies up, and an interrupt then would be a traceback.
        ignore_interrupts()
    return code
