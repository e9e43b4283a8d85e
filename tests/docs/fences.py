"""Blocks of code on a page, told apart by their language."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

__all__ = ["DOCS", "ROOT", "START", "TRANSCRIPTS", "Fence", "fences", "pages", "written_pages"]

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
START = DOCS / "start.md"
TRANSCRIPTS = tuple(DOCS / "guide" / f"{name}.md" for name in ("decisions", "settings", "not-for"))
"""Guides that show what every block prints: `test_guides` runs them, `test_start` the start."""
GENERATED = ("paper", "gallery", "_build", "backreferences", "generated")
OPENING = re.compile(r"^(?P<indent> *)(?P<ticks>`{3,})(?P<language>[^\n`]*)$")


@dataclass(frozen=True)
class Fence:
    """A fenced block: its language ("" where none is given), its text and the line it begins on."""

    language: str
    text: str
    line: int


def fences(text: str) -> list[Fence]:
    """Return the outermost fenced blocks of a page, in the order they are read."""
    found: list[Fence] = []
    opened: tuple[str, str, int] | None = None
    inside: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        if opened is None:
            start = OPENING.match(line)
            if start:
                opened = (start["ticks"], start["language"].strip(), number)
                indent = len(start["indent"])
                inside = []
        elif line.strip() == opened[0]:
            found.append(Fence(opened[1], "".join(f"{one}\n" for one in inside), opened[2]))
            opened = None
        else:
            inside.append(line[indent:] if line[:indent].isspace() else line)
    assert opened is None, f"the block that begins on line {opened[2]} has no end"
    return found


def written_pages() -> list[Path]:
    """Return every page of the site that people wrote, and those beside the README."""
    found = [*ROOT.glob("*.md"), *DOCS.rglob("*.md")]
    return sorted(p for p in found if not set(p.relative_to(ROOT).parts) & set(GENERATED))


def pages() -> list[Path]:
    """Return the written pages that have code to run, but for those that show all they print."""
    return [
        page
        for page in written_pages()
        if page not in (START, *TRANSCRIPTS)
        and any(fence.language in ("python", "sh") for fence in fences(page.read_text("utf-8")))
    ]
