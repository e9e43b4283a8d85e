"""Tries the mutants of a module and holds the survivors against what is said about them."""

from __future__ import annotations

import hashlib
import os
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from research.mutation.mutants import Mutant, compiled, mutants_of, sample_of
from research.mutation.reach import Reach, reaches, tests_of
from research.mutation.targets import TARGETS, Target
from research.mutation.trial import PATIENCE_SECONDS, MutantFinder, in_a_fork, run_pytest

SURVIVORS = Path(__file__).with_name("survivors")
SEED = "steadytree"
LEAST_KILLED = 0.85
# Seconds of tests, as they are, that each mutant is held against.
BUDGET_SECONDS = 4.0
KINDS = ("equivalent: ", "accepted: ")


@dataclass
class Verdict:
    """What became of a module's mutants."""

    module: str
    n_mutants: int
    tried: list[Mutant]
    survived: list[Mutant] = field(default_factory=list)
    timed_out: int = 0

    @property
    def killed(self) -> int:
        return len(self.tried) - len(self.survived)

    def equivalent(self, why: dict[str, str]) -> int:
        """Count the survivors that no test could notice."""
        return sum(why.get(m.name, "").startswith("equivalent: ") for m in self.survived)

    def share(self, why: dict[str, str]) -> float:
        """Share of killed ones among those that a test could notice."""
        noticeable = len(self.tried) - self.equivalent(why)
        return self.killed / noticeable if noticeable else 1.0

    def complaints(self, why: dict[str, str], names: set[str]) -> list[str]:
        """What is wrong: too few killed, survivors nobody explains, explanations without one."""
        found = []
        if self.share(why) < LEAST_KILLED:
            found.append(f"expected {LEAST_KILLED:.0%} killed, got {self.share(why):.1%}")
        survived = {mutant.name for mutant in self.survived}
        tried = {mutant.name for mutant in self.tried}
        found += [f"unexplained survivor: {name}" for name in sorted(survived - set(why))]
        found += [f"explained, but there is no such mutant: {n}" for n in sorted(set(why) - names)]
        dead = (set(why) & tried) - survived
        found += [f"explained, but tests notice it: {name}" for name in sorted(dead)]
        found += [f"no reason of a known kind: {n}" for n, w in why.items() if not known_kind(w)]
        return found


def known_kind(why: str) -> bool:
    return why.startswith(KINDS) and len(why) > 20


def explanations() -> dict[str, dict[str, str]]:
    """Return, by module, why a mutant may survive."""
    told: dict[str, list[dict[str, str]]] = {}
    for file in sorted(SURVIVORS.glob("*.toml")):
        part = tomllib.loads(file.read_text(encoding="utf-8"))
        if twice := set(part) & set(told):
            raise LookupError(f"expected each module in one file, got {twice} in {file} too")
        told |= part
    unknown = set(told) - set(TARGETS)
    if unknown:
        raise LookupError(f"expected explanations for modules that are tried, got {unknown}")
    found: dict[str, dict[str, str]] = {}
    for module, entries in told.items():
        found[module] = {entry["mutant"]: " ".join(entry["why"].split()) for entry in entries}
        if len(found[module]) < len(entries):
            raise LookupError(f"expected each mutant of {module} once, got one twice")
    return found


class _Chosen:
    """Runs the chosen tests alone, in their order."""

    def __init__(self, tests: Sequence[str]) -> None:
        self.place = {test: k for k, test in enumerate(tests)}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted(
            (item for item in items if item.nodeid in self.place),
            key=lambda item: self.place[item.nodeid],
        )

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            os._exit(1)  # enough is known


def survives(target: Target, mutant: Mutant, reached: Sequence[tuple[str, Reach]]) -> bool | None:
    """Whether no test notices a mutant; None if it did not come to an end."""
    lines = None if mutant.everywhere else mutant.lines
    tests = tests_of(target, lines, reached, BUDGET_SECONDS)
    if not tests:
        return True
    source = target.path.read_text(encoding="utf-8")

    def work(scratch: str) -> int:
        import sys

        code = compiled(source, mutant, str(target.path))
        sys.meta_path.insert(0, MutantFinder(target, code))
        files = list(dict.fromkeys(test.split("::")[0] for test in tests))
        return run_pytest(files, _Chosen(tests), scratch)

    seconds = PATIENCE_SECONDS + 3 * BUDGET_SECONDS
    code = in_a_fork(work, plain=target.plain, seconds=seconds)
    return None if code is None else code == 0


def judge(
    target: Target, *, count: int | None, cache: Path | None, only: Iterable[str] = ()
) -> Verdict:
    """Try a sample of a module's mutants (None: all), or those whose names hold some text."""
    mutants = mutants_of(target.path.read_text(encoding="utf-8"))
    drawn = sample_of(mutants, count, f"{SEED}:{target.module}")
    if only:
        drawn = [m for m in mutants if any(text in m.name for text in only)]
    verdict = Verdict(target.module, len(mutants), drawn)
    reached = reaches(target, cache)
    dead = _Dead(target, cache)
    for mutant in drawn:
        if mutant.name in dead.names:
            continue
        outcome = survives(target, mutant, reached)
        if outcome:
            verdict.survived.append(mutant)
            if os.environ.get("MUTATION_VERBOSE"):
                print(f"  {mutant.lines.start}: {mutant.name}", flush=True)
        else:
            verdict.timed_out += outcome is None
            dead.add(mutant.name)
    return verdict


class _Dead:
    """Mutants of a module that were killed before, by a run with the same cache.

    For people who write tests: of an unchanged module only the survivors are tried again.
    """

    def __init__(self, target: Target, cache: Path | None) -> None:
        self.file, self.names = None, set[str]()
        if cache is not None:
            key = hashlib.sha256(target.path.read_bytes()).hexdigest()[:24]
            self.file = cache / f"dead-{key}.txt"
            if self.file.exists():
                self.names = set(self.file.read_text(encoding="utf-8").splitlines())

    def add(self, name: str) -> None:
        self.names.add(name)
        if self.file is not None:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            self.file.write_text("\n".join(sorted(self.names)), encoding="utf-8")
