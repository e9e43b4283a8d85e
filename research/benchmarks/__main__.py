"""Time the distance against its peers: ``python -m research.benchmarks`` writes results.md.

    python -m research.benchmarks                     # everything, about ten minutes
    python -m research.benchmarks --quick             # a smaller run of everything
    python -m research.benchmarks --only startup      # one benchmark; the other results stay

One process, one thread, methods interleaved, processor time, and every result compared
with the peers' in the same run. Only ratios within one run mean anything.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path

# Must precede the first import of a numeric library.
from research.benchmarks import single_thread  # noqa: F401
from research.benchmarks.tables import Section, machine

# Name and module; a module has ``run(quick: bool) -> list[Section]``.
REGISTRY = {
    "distances": "research.benchmarks.distances",
    "startup": "research.benchmarks.startup",
    "stable_trees": "research.benchmarks.stable_trees",
}
RESULTS = Path(__file__).with_name("results.md")


def replace_sections(text: str, sections: list[Section]) -> str:
    """Return the results with some sections measured anew; new ones go to the end."""
    head, *blocks = text.split("\n## ")
    found = {block.splitlines()[0]: f"\n## {block}" for block in blocks}
    found |= {section.title: section.markdown() for section in sections}
    return head.rstrip() + "\n" + "".join(block.rstrip() + "\n" for block in found.values())


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m research.benchmarks", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--only", choices=sorted(REGISTRY), action="append", help="run just this")
    parser.add_argument("--quick", action="store_true", help="fewer trees and repeats")
    parser.add_argument("--output", type=Path, help=f"where to write (default {RESULTS.name})")
    chosen = parser.parse_args(arguments)
    sections: list[Section] = []
    for name in chosen.only or REGISTRY:
        sections += importlib.import_module(REGISTRY[name]).run(quick=chosen.quick)
    text = "# Benchmark results\n\n" + machine() + "".join(s.markdown() for s in sections)
    target = chosen.output or (None if chosen.quick else RESULTS)
    if target is not None:
        if chosen.only and target.exists():
            text = replace_sections(target.read_text(encoding="utf-8"), sections)
        target.write_text(text, encoding="utf-8")
        print(f"wrote {target}", file=sys.stderr)
    failed = [s.title for s in sections if not s.holds]
    if failed:
        print(f"below the goal: {', '.join(failed)}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
