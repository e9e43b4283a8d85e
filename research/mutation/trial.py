"""One run of pytest in a process of its own, with a module replaced by a mutant of it.

The parent has imported the large libraries but not the package; each trial is a fork of it, so
that it starts in no time and a mutant that hangs, exits or breaks something harms nobody.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import importlib.util
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import CodeType
from typing import Any

import pytest

from research.mutation.targets import ROOT, Target

# A mutant may compute for so much longer than the tests do, and never outlives a waiting parent.
PATIENCE_SECONDS = 30
MEMORY_BYTES = 6 << 30
LIBRARIES = ("hypothesis.extra.numpy", "numba", "pandas", "scipy.optimize", "scipy.stats")
LIBRARIES += tuple(
    f"sklearn.{name}"
    for name in ("datasets", "ensemble", "linear_model", "model_selection", "pipeline", "tree")
)


def preload() -> None:
    """Import what every trial needs, and nothing of the package."""
    for name in LIBRARIES:
        importlib.import_module(name)
    gc.freeze()  # what is here stays; forks need not look at it again
    loaded = [name for name in sys.modules if name.split(".")[0] == "steadytree"]
    assert not loaded, f"expected the package not to be imported yet, got {loaded}"


class _MutantLoader(SourceFileLoader):
    def __init__(self, name: str, path: str, code: CodeType) -> None:
        super().__init__(name, path)
        self._code = code

    def get_code(self, fullname: str) -> CodeType:
        return self._code


class MutantFinder(MetaPathFinder):
    """Finds the mutant where the module is asked for."""

    def __init__(self, target: Target, code: CodeType) -> None:
        self.target, self.code = target, code

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        if fullname != self.target.dotted:
            return None
        file = str(self.target.path)
        return importlib.util.spec_from_file_location(
            fullname, file, loader=_MutantLoader(fullname, file, self.code)
        )


def run_pytest(files: Sequence[str], plugin: object, scratch: str, *options: str) -> int:
    """Run tests here, quietly; only what ``make test`` runs."""
    sys.argv[0] = "pytest"
    arguments = ["-q", "-m", "not slow and not browser", "-p", "no:cacheprovider", *options]
    arguments += ["-p", "no:unraisableexception", "-p", "no:threadexception", "--tb=no"]
    arguments += ["-p", "_hypothesis_pytestplugin", f"--basetemp={scratch}/pytest"]
    arguments += ["-W", "ignore::pytest.PytestAssertRewriteWarning", f"--rootdir={ROOT}"]
    return int(pytest.main([*arguments, *(str(ROOT / f) for f in files)], plugins=[plugin]))


def in_a_fork(work: Callable[[str], int], *, plain: bool, seconds: float) -> int | None:
    """Return the exit code of ``work(scratch folder)``; None if it did not come to an end."""
    scratch = tempfile.mkdtemp(prefix="mutation-")
    pid = os.fork()
    if pid == 0:
        _child(work, scratch, plain, seconds)
    try:
        return _wait(pid, time.monotonic() + 20 * seconds)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
        shutil.rmtree(scratch, ignore_errors=True)


def _wait(pid: int, deadline: float) -> int | None:
    while time.monotonic() < deadline:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.WEXITSTATUS(status) if os.WIFEXITED(status) else None
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return None


def _child(work: Callable[[str], int], scratch: str, plain: bool, seconds: float) -> None:
    code = 99
    try:
        os.setsid()
        limit = int(seconds) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
        with open(f"{scratch}/output", "w") as output:
            os.dup2(output.fileno(), 1)
            os.dup2(output.fileno(), 2)
        os.chdir(ROOT)
        sys.dont_write_bytecode = False
        # Examples are drawn the same way every time; programs that tests start find the package.
        os.environ["PYTHONPATH"] = f"{ROOT / 'src'}:{ROOT}"
        os.environ |= {"CI": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        if plain:
            import numba

            os.environ["NUMBA_DISABLE_JIT"] = "1"
            numba.config.DISABLE_JIT = True
        code = work(scratch)
    finally:
        os._exit(code)
