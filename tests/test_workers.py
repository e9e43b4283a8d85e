"""Worker processes end with their parent, whatever ends it: real processes, real signals."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from joblib import Parallel, delayed, parallel_config

from steadytree._jobs import processes_that_end
from tests.processes import listen_to_signals

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc")

# A parent whose workers each tell their number, then work for minutes. One more line of the
# parent says that all of them are at work.
PARENT = """
import os, sys, time
from joblib import Parallel, delayed
from steadytree._jobs import processes_that_end

def work(folder):
    open(os.path.join(folder, str(os.getpid())), "w").close()
    time.sleep(600)

Parallel(n_jobs=2, backend=processes_that_end())(delayed(work)(sys.argv[1]) for _ in range(2))
"""


def alive(process: int) -> bool:
    """Whether a process runs: one that ended and was not asked about yet does not."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def wait_until(true: object, what: str) -> None:
    for _ in range(1200):
        if true():  # type: ignore[operator]
            return
        time.sleep(0.05)
    raise AssertionError(f"waited in vain until {what}")


@pytest.mark.parametrize(
    ("number", "pidfd"),
    [
        (signal.SIGKILL, True),
        (signal.SIGTERM, True),
        (signal.SIGHUP, True),
        (signal.SIGKILL, False),
    ],
)
def test_workers_end_with_a_parent_that_is_killed(
    tmp_path: Path, number: signal.Signals, pidfd: bool
) -> None:
    """Also where the system cannot tell of a process's end, and workers have to look."""
    if not pidfd:
        (tmp_path / "sitecustomize.py").write_text("import os\ndel os.pidfd_open\n")
    started = tmp_path / "started"
    started.mkdir()
    here = os.pathsep.join([str(tmp_path), *sys.path])
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, started],
        env={**os.environ, "PYTHONPATH": here},
        preexec_fn=listen_to_signals,
    )
    wait_until(lambda: len(list(started.iterdir())) == 2, "both workers work")
    workers = [int(path.name) for path in started.iterdir()]
    assert all(alive(worker) for worker in workers)
    parent.send_signal(number)
    parent.wait()
    try:
        wait_until(lambda: not any(map(alive, workers)), "the workers end")
    finally:
        for worker in filter(alive, workers):
            os.kill(worker, signal.SIGKILL)


def test_a_worker_whose_parent_is_gone_before_it_starts_ends() -> None:
    code = "from steadytree._jobs import end_with_parent\nend_with_parent(1 << 30)\nprint('on')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stdout == ""


def test_only_the_pool_of_processes_is_watched() -> None:
    assert processes_that_end() is not None
    assert processes_that_end(prefer="threads") is None
    with parallel_config(backend="threading"):
        assert processes_that_end() is None


def test_what_the_user_asks_of_the_pool_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also that the pool is one that is used again: the same processes twice."""
    monkeypatch.delenv("VECLIB_MAXIMUM_THREADS", raising=False)
    with parallel_config(backend="loky", inner_max_num_threads=3):
        jobs = (delayed(os.getenv)("VECLIB_MAXIMUM_THREADS") for _ in range(2))
        assert Parallel(n_jobs=2, backend=processes_that_end())(jobs) == ["3", "3"]
        used = [
            set(Parallel(n_jobs=2, backend=processes_that_end())(delayed(_number)() for _ in "ab"))
            for _ in "ab"
        ]
        assert used[0] & used[1]


def _number() -> int:
    time.sleep(0.2)
    return os.getpid()
