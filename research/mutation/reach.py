"""Which tests reach which lines of the modules that are tried, and how long each takes."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import coverage
import pytest

from research.mutation.targets import ROOT, TARGETS, Target
from research.mutation.trial import in_a_fork, run_pytest

# Enough for the longest file of tests, as Python.
FILE_SECONDS = 900


@dataclass(frozen=True)
class Reach:
    """Of one file of tests: seconds of each test, and tests by module and line."""

    seconds: dict[str, float]
    lines: dict[str, dict[int, list[str]]]


class _Recorder:
    """Tells coverage which test is running."""

    def __init__(self, cov: coverage.Coverage) -> None:
        self.cov = cov
        self.seconds: dict[str, float] = {}

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.cov.switch_context(item.nodeid)
        start = time.process_time()
        yield
        self.seconds[item.nodeid] = time.process_time() - start
        self.cov.switch_context("")


def measure(file: str, *, plain: bool, slow: str = "", cache: Path | None) -> Reach:
    """Run one file of tests as it is, or read what a run told while nothing it reaches changed."""
    key = hashlib.sha256(f"{plain}{slow}:{(ROOT / file).read_text(encoding='utf-8')}".encode())
    stored = cache / f"{key.hexdigest()[:24]}.json" if cache else None
    if stored and stored.exists():
        told = stored.read_text(encoding="utf-8")
        if all(_digest(m) == digest for m, digest in json.loads(told)["sources"].items()):
            return _from_json(told)
    told = _run(file, plain, slow)
    if stored:
        stored.parent.mkdir(parents=True, exist_ok=True)
        stored.write_text(told, encoding="utf-8")
    return _from_json(told)


def _digest(module: str) -> str | None:
    target = TARGETS.get(module)
    return None if target is None else hashlib.sha256(target.path.read_bytes()).hexdigest()


def _from_json(text: str) -> Reach:
    told = json.loads(text)
    lines = {m: {int(k): v for k, v in by.items()} for m, by in told["lines"].items()}
    return Reach(told["seconds"], lines)


def _run(file: str, plain: bool, slow: str) -> str:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "reach.json"

        def work(scratch: str) -> int:
            files = {str(t.path): t.module for t in TARGETS.values()}
            cov = coverage.Coverage(data_file=None, include=list(files), config_file=False)
            recorder = _Recorder(cov)
            cov.start()
            without = ["-k", f"not ({slow})"] if slow else []
            code = run_pytest([file], recorder, scratch, *without)
            cov.stop()
            (Path(folder) / "output").write_text(
                Path(f"{scratch}/output").read_text(errors="replace"), encoding="utf-8"
            )
            lines = _lines_by_test(cov.get_data(), files)
            sources = {module: _digest(module) for module in lines}
            told = {"seconds": recorder.seconds, "lines": lines, "sources": sources}
            answer.write_text(json.dumps(told), encoding="utf-8")
            return code

        code = in_a_fork(work, plain=plain, seconds=FILE_SECONDS)
        if code not in (0, 5):  # 5: nothing but slow tests
            output = Path(folder) / "output"
            said = output.read_text(encoding="utf-8") if output.exists() else "nothing"
            raise RuntimeError(f"expected {file} to pass as it is, got {code}: {said[-3000:]}")
        return answer.read_text(encoding="utf-8")


def _lines_by_test(data: Any, files: dict[str, str]) -> dict[str, dict[int, list[str]]]:
    found = {}
    for file in data.measured_files():
        by_line = data.contexts_by_lineno(file)
        found[files[file]] = {line: [t for t in by if t] for line, by in by_line.items()}
    return found


def reaches(target: Target, cache: Path | None) -> list[tuple[str, Reach]]:
    """Every file of tests that reaches a module, with what it reaches."""
    found = []
    for file in target.test_files():
        reach = measure(file, plain=target.plain, slow=target.slow, cache=cache)
        if target.module in reach.lines:
            found.append((file, reach))
    return found


def tests_of(
    target: Target, lines: range | None, reached: Sequence[tuple[str, Reach]], budget: float
) -> list[str]:
    """Tests to ask about some lines (None: the module), the quickest of the likeliest first.

    First those that reach the lines, then the others in the same files: what one test computes
    another may find in a cache or a fixture. Together they take about ``budget`` seconds; one
    test is always named.
    """
    rank: dict[str, tuple[bool, bool, bool, float]] = {}
    for file, reach in reached:
        by_line = reach.lines[target.module]
        direct = {t for line, by in by_line.items() if lines is None or line in lines for t in by}
        if direct:
            for test, seconds in reach.seconds.items():
                other = file != target.own_test
                rank[test] = (seconds > budget / 6, test not in direct, other, seconds)
    chosen: list[str] = []
    spent = 0.0
    for test in sorted(rank, key=rank.__getitem__):
        spent += rank[test][-1]
        if chosen and spent > budget:
            break
        chosen.append(test)
    return chosen
