"""``python -m research.mutation [module ...]``: try the mutants, tell who survives.

A sample of each module's mutants unless ``--all`` is given. ``--results`` writes results.md.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from research.mutation.targets import ROOT, TARGETS

sys.path.insert(0, str(ROOT / "src"))

from research.mutation.judge import Verdict, explanations, judge
from research.mutation.mutants import mutants_of
from research.mutation.trial import preload

RESULTS = Path(__file__).with_name("results.md")
HEAD = """# Faults put in, and found

Written by `python -m research.mutation --results`. Each row: so many small faults were put into a
module, one at a time, and so many of them made a test fail. Every survivor is explained in
`survivors/`: no result can differ ("equivalent"), or we live with it ("accepted"). The share is
that of killed ones among those that are not equivalent; it must be 85 % or more. `--all` tries
every fault instead of a sample drawn with a fixed seed.

| Module | Faults there are | tried | killed | equivalent | accepted | share |
| --- | ---: | ---: | ---: | ---: | ---: | ---: |
"""


def row_of(verdict: Verdict, why: dict[str, str]) -> str:
    same = verdict.equivalent(why)
    numbers = (verdict.n_mutants, len(verdict.tried), verdict.killed, same)
    cells = [f"`{verdict.module}`", *map(str, numbers), str(len(verdict.survived) - same)]
    return f"| {' | '.join(cells)} | {verdict.share(why):.0%} |"


def write_results(rows: dict[str, str]) -> None:
    """Replace the rows of the modules that were tried; the others stay."""
    if RESULTS.exists():
        stored = RESULTS.read_text(encoding="utf-8").splitlines()
        old = {line.split("`")[1]: line for line in stored if line.startswith("| `")}
        rows = {m: row for m, row in (old | rows).items() if m in TARGETS}
    lines = [rows[module] for module in TARGETS if module in rows]
    RESULTS.write_text(HEAD + "\n".join(lines) + "\n", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m research.mutation", description=__doc__)
    parser.add_argument("modules", nargs="*", help="tree/paths, ...; default: all")
    parser.add_argument("--count", type=int, default=40, help="mutants per module")
    parser.add_argument("--all", action="store_true", help="every mutant")
    parser.add_argument("--only", action="append", default=[], help="mutants whose name holds this")
    parser.add_argument(
        "--cache",
        type=Path,
        help="a folder that keeps which tests reach what, and which mutants were killed",
    )
    parser.add_argument("--results", action="store_true", help="write results.md")
    options = parser.parse_args()
    unknown = set(options.modules) - set(TARGETS)
    if unknown:
        parser.error(f"expected modules out of {list(TARGETS)}, got {sorted(unknown)}")
    preload()
    explained = explanations()
    complaints = 0
    rows: dict[str, str] = {}
    for module in options.modules or TARGETS:
        target = TARGETS[module]
        count = None if options.all else options.count
        verdict = judge(target, count=count, cache=options.cache, only=options.only)
        names = {mutant.name for mutant in mutants_of(target.path.read_text(encoding="utf-8"))}
        why = explained.get(module, {})
        found = verdict.complaints(why, names)
        late = f"{verdict.timed_out} never ended" if verdict.timed_out else ""
        print(row_of(verdict, why), late, flush=True)
        for complaint in found:
            print("  " + complaint, flush=True)
        complaints += len(found)
        rows[module] = row_of(verdict, why)
        if options.results:
            write_results(rows)
    return 1 if complaints else 0


if __name__ == "__main__":
    raise SystemExit(main())
