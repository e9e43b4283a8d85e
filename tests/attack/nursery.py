"""A process that has everything loaded and forks children to be killed.

Starting Python and importing scikit-learn takes seconds; a fork takes milliseconds, so that
hundreds of real kills of real runs fit into minutes. The nursery has no thread of its own, runs
one child at a time, and is spoken to in lines of JSON.

A child can be killed after a time, or exactly before its n-th step on files below a folder
(opening, renaming, removing...): Python's audit hooks tell of each one before it is done.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MARK = "STEADYTREE_ATTACKED"
"""In the environment of a child, and so of every worker that it starts."""


@dataclass(frozen=True)
class Ended:
    """How a child ended: its exit code (negative: the signal), and what it had done."""

    code: int
    seconds: float
    steps: int
    out: str
    err: str
    mark: str

    @property
    def killed(self) -> bool:
        return self.code == -signal.SIGKILL

    def others(self) -> list[int]:
        """Processes that it left behind."""
        found = []
        for path in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if f"{MARK}={self.mark}".encode() in (path / "environ").read_bytes():
                    found.append(int(path.name))
        return found


class Nursery:
    """The side of the tests: starts children in the nursery and hears how they ended."""

    def __init__(self, folder: Path, warm_up: Sequence[Sequence[object]] = ()) -> None:
        self.folder = folder
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.attack.nursery"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
            env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        )
        for arguments in warm_up:
            self._ask({"here": [str(a) for a in arguments]})

    def _ask(self, question: dict[str, Any]) -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        return answer

    def run(
        self,
        *arguments: object,
        after: float | None = None,
        step: int | None = None,
        number: int = signal.SIGKILL,
        most_bytes: int | None = None,
    ) -> Ended:
        """Run a command in a child, and send it a signal after a time or before a step."""
        mark = secrets.token_hex(8)
        texts = [str(self.folder / f"{mark}.{which}") for which in ("out", "err")]
        answer = self._ask(
            {
                "child": [str(a) for a in arguments],
                "below": str(self.folder),
                "texts": texts,
                "mark": mark,
                "after": after,
                "step": step,
                "number": number,
                "most_bytes": most_bytes,
            }
        )
        out, err = (Path(text).read_text() for text in texts)
        for text in texts:
            Path(text).unlink()
        return Ended(**answer, out=out, err=err, mark=mark)

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        assert self.process.stdout is not None
        self.process.stdout.close()
        self.process.wait()


# -- within the nursery --------------------------------------------------------------------------

STEPS = {"open", "os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.chmod", "os.link"}


def _child(order: dict[str, Any], tell: int) -> None:
    """Be a run of the command line; never returns."""
    os.environ[MARK] = order["mark"]
    for stream, text in zip((1, 2), order["texts"], strict=True):
        os.dup2(os.open(text, os.O_WRONLY), stream)
    if order["most_bytes"] is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (order["most_bytes"],) * 2)
    done, own = 0, {*order["texts"]}

    def hook(event: str, found: tuple[Any, ...]) -> None:
        nonlocal done
        if event not in STEPS:
            return
        paths = [str(a) for a in found if isinstance(a, (str, Path)) and str(a) not in own]
        if any(path.startswith(order["below"]) for path in paths):
            if done == order["step"]:
                os.kill(os.getpid(), order["number"])
            done += 1
            os.pwrite(tell, done.to_bytes(4, "big"), 0)

    sys.addaudithook(hook)
    from steadytree.cli import main

    code = 70
    with contextlib.suppress(BaseException):
        code = main(order["child"])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _run(order: dict[str, Any]) -> dict[str, Any]:
    for text in order["texts"]:  # here, since a child may be killed before it does anything
        Path(text).touch()
    tell = os.memfd_create("steps")
    os.pwrite(tell, bytes(4), 0)
    started = time.perf_counter()
    child = os.fork()
    if child == 0:
        try:
            _child(order, tell)
        finally:
            os._exit(71)
    if order["after"] is not None:
        time.sleep(order["after"])
        os.kill(child, order["number"])
    _, status = os.waitpid(child, 0)
    steps = int.from_bytes(os.pread(tell, 4, 0), "big")
    os.close(tell)
    return {
        "code": os.waitstatus_to_exitcode(status),
        "seconds": time.perf_counter() - started,
        "steps": steps,
    }


def _serve() -> None:
    from steadytree.cli import app, main
    from steadytree.cli import compare_command as compare
    from steadytree.cli import fit_command as fit
    from steadytree.cli import retrain_command as retrain

    assert {app, compare, fit, retrain}  # loaded here once, for all children
    # What commands print here must not be taken for an answer.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for line in sys.stdin:
        order = json.loads(line)
        if "here" in order:
            answer = {"code": main(order["here"])}
            assert threading.active_count() == 1, "a fork would lose these threads"
        else:
            answer = _run(order)
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    _serve()
