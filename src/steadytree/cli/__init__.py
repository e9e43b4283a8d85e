"""The command line: ``steadytree fit | compare | retrain | assess | show``.

This file imports nothing optional, so that a missing package ends in a sentence that
says what to install.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from steadytree._optional import import_optional
from steadytree.exceptions import MissingDependencyError

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    0: done. 1: failed. 2: bad usage or input. 3: a gate did not hold. 130: interrupted.

    Parameters
    ----------
    arguments : sequence of str, optional
        By default those of the process.
    """
    try:
        for package in ("click", "rich"):
            import_optional(package, extra="cli", purpose="the steadytree command")
    except MissingDependencyError as error:
        print(f"Error: {error}", file=sys.stderr)
        return error.exit_code
    from steadytree.cli.app import run

    return run(arguments)
