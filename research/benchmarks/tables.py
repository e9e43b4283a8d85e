"""Timing, and tables for people: printed as they come, written as markdown at the end."""

from __future__ import annotations

import platform
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = ("steadytree", "numpy", "scipy", "scikit-learn", "numba", "dt-distance", "lapx")


@dataclass
class Section:
    """A table with the words before and after it; ``holds`` is whether its goals were met."""

    title: str
    columns: list[str]
    intro: str = ""
    rows: list[list[str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    holds: bool = True

    def add(self, *cells: object) -> None:
        self.rows.append([str(cell) for cell in cells])

    def goal(self, what: str, value: float, least: float) -> None:
        """Note a ratio and the least it should be."""
        met = value >= least
        self.holds &= met
        self.notes.append(
            f"{what}: {number(value)} × (goal {least:,.0f} ×{'' if met else ', missed'})"
        )

    def show(self) -> Section:
        """Print the table, aligned, and return the section."""
        table = [self.columns, *self.rows]
        widths = [max(len(row[k]) for row in table) for k in range(len(self.columns))]
        print(f"\n{self.title}\n{'-' * len(self.title)}")
        for row in table:
            cells = zip(row, widths, strict=True)
            print("  ".join(f"{c:>{w}}" if k else f"{c:<{w}}" for k, (c, w) in enumerate(cells)))
        for note in self.notes:
            print(f"  {note}")
        sys.stdout.flush()
        return self

    def markdown(self) -> str:
        lines = [f"\n## {self.title}\n"]
        if self.intro:
            lines.append(self.intro + "\n")
        lines.append("| " + " | ".join(self.columns) + " |")
        lines.append("| --- |" + " ---: |" * (len(self.columns) - 1))
        lines += ["| " + " | ".join(row) + " |" for row in self.rows]
        if self.notes:
            lines.append("")
            lines += [f"- {note}" for note in self.notes]
        return "\n".join(lines) + "\n"


def number(value: float) -> str:
    """Three significant digits, thousands separated."""
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}" if value < 100 else f"{value:.0f}"


def interleave(methods: Mapping[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Least processor time of each method in seconds, the methods taking turns."""
    best = dict.fromkeys(methods, float("inf"))
    for _ in range(repeats):
        for name, run in methods.items():
            start = time.process_time()
            run()
            best[name] = min(best[name], time.process_time() - start)
    return best


def progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def machine() -> str:
    """Describe the processor and the versions in one paragraph."""
    name = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        found = [line for line in info.read_text().splitlines() if line.startswith("model name")]
        if found:
            name = found[0].split(":", 1)[1].strip()
    versions = []
    for package in PACKAGES:
        try:
            versions.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    return (
        f"{name}, {platform.system()}, Python {platform.python_version()}; "
        f"{', '.join(versions)}. One thread, processor time, methods interleaved in one run; "
        "all results compared with the peers' in that run.\n"
    )
