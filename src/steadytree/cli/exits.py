"""How a run of the command line ends: its exit code, and what is said when it was stopped."""

from __future__ import annotations

from steadytree._interrupts import interrupts_wait, stopped_by
from steadytree.cli.terminal import print_error_document, tell

__all__ = ["EXIT_CODES", "interrupted"]

SIGNALLED = 128
"""Added to a signal's number, as shells do."""
EXIT_CODES = {
    0: "done",
    1: "failed",
    2: "bad usage or input",
    3: "a clause of the plan did not hold, or could not be judged",
    130: "interrupted",
    143: "ended by SIGTERM",
}
"""What a command returns; 129 where its terminal closed."""


def interrupted(*, as_json: bool) -> int:
    """Say that the work was stopped, and return the exit code that tells by what."""
    with interrupts_wait():
        code = SIGNALLED + stopped_by()
        words = EXIT_CODES.get(code, "its terminal closed").capitalize()
        message = f"{words}; no file was left half written."
        tell(message)
        if as_json:
            print_error_document("KeyboardInterrupt", message, code)
        # Python ends as killed by the signal if an interrupt ever left code that was run from
        # text, as numba's is; running some forgets it.
        exec("")
    return code
