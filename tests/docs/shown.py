"""Whether a page shows what its blocks print."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from pathlib import Path

from tests.docs.fences import Fence, fences

__all__ = ["WIDTH", "Step", "agrees", "steps_of", "wrapped"]

WIDTH = 100
"""Lines longer than this are wrapped on a page."""


@dataclass(frozen=True)
class Step:
    """A block that a reader runs, and the output that the page shows for it."""

    block: Fence
    shown: str | None


def steps_of(page: Path) -> list[Step]:
    """Return the blocks of a page that run, each with the ``text`` that follows it."""
    blocks = fences(page.read_text(encoding="utf-8"))
    found: list[Step] = []
    for block, after in zip(blocks, [*blocks[1:], None], strict=True):
        if block.language in ("python", "sh"):
            shown = after.text if after is not None and after.language == "text" else None
            found.append(Step(block, shown))
    return found


def wrapped(output: str) -> str:
    """Wrap long lines as pages do, and leave out spaces at their ends."""
    lines: list[str] = []
    for line in output.splitlines():
        indent = " " * (len(line) - len(line.lstrip()))
        lines += textwrap.wrap(
            line, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
        ) or [""]
    return "\n".join(line.rstrip() for line in lines).strip("\n") + "\n"


def agrees(shown: str, output: str) -> bool:
    """Whether a page shows this output; a line of three dots stands for any lines."""
    pieces = re.split(r"^\.\.\.\n", shown, flags=re.MULTILINE)
    return re.fullmatch("(.*\n)*".join(map(re.escape, pieces)), wrapped(output)) is not None
