"""Jobs run where joblib says, with the same bytes; worker processes end with their parent."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

import steadytree as st
from steadytree._jobs import run_jobs, threads_here
from steadytree.retraining.result import Retraining
from steadytree.tree.json import tree_to_dict
from tests.growing.mixed import mixed_table
from tests.processes import listen_to_signals


def add(common: int, factor: int, number: int) -> int:
    return common + factor * number


def test_results_come_in_order() -> None:
    each = [(number,) for number in range(20)]
    for n_jobs, prefer in ((1, "threads"), (2, "threads"), (2, "processes")):
        done = run_jobs(add, each, common=(100, 2), n_jobs=n_jobs, prefer=prefer)
        assert list(done) == [100 + 2 * number for number in range(20)]


def test_threads_are_those_of_joblib() -> None:
    assert threads_here(3) == 3
    with joblib.parallel_config(backend="threading", n_jobs=2):
        assert threads_here(None) == 2


# -- on a cluster ------------------------------------------------------------------------------


def bytes_of(result: Any) -> list[bytes]:
    """Everything that a call found out, to the last bit."""
    if isinstance(result, np.ndarray):
        return [result.tobytes()]
    if isinstance(result, Retraining):
        frames, trees = [result.frontier], list(result.trees.values())
    elif isinstance(result, st.StableTreeClassifier):
        frames, trees = [result.results_], [*result.reference_trees_, *result.candidates_]
    else:
        frames, trees = [result.summary, result.scores, result.dissimilarity], result.trees
    tables = [frame.to_csv(float_format="%a").encode() for frame in frames]
    return [*tables, *(json.dumps(tree_to_dict(tree)).encode() for tree in trees)]


def test_the_same_bytes_on_a_dask_cluster() -> None:
    distributed = pytest.importorskip("distributed")
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    mixed, outcome = mixed_table(500, 0)
    first = st.DistilledTreeClassifier(n_estimators=10, max_leaf_nodes=6, random_state=0)
    first.fit(mixed[:300], outcome[:300])
    calls: list[Callable[[], Any]] = [
        lambda: st.StableTreeClassifier(
            param_grid={"max_depth": [3, 8]}, n_bootstraps=2, random_state=0
        ).fit(X, y),
        lambda: st.assess_stability(
            DecisionTreeClassifier(max_depth=4), X, y, n_resamples=4, random_state=0
        ),
        lambda: st.retrain(
            first,
            mixed[300:],
            outcome[300:],
            search=st.SearchOptions(n_estimators=10),
            n_folds=2,
            random_state=0,
        ),
    ]
    here = [bytes_of(call()) for call in calls]
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs="CRITICAL"
        ) as cluster,
        distributed.Client(cluster) as client,
        joblib.parallel_config(backend="dask"),
    ):
        workers = set(client.run(os.getpid).values())
        assert set(run_jobs(os.getpid, [()] * 20, n_jobs=1)) <= workers
        assert list(run_jobs(threads_here, [(4,)] * 2, n_jobs=1)) == [1, 1]
        for call, expected in zip(calls, here, strict=True):
            assert bytes_of(call()) == expected


# -- worker processes end with their parent ----------------------------------------------------

# Each worker tells its number, then works for minutes.
PARENT = """
import os, sys, time
from steadytree._jobs import run_jobs

def work(folder):
    open(os.path.join(folder, str(os.getpid())), "w").close()
    time.sleep(600)

list(run_jobs(work, [(sys.argv[1],)] * 2, n_jobs=2, prefer="processes"))
"""


def alive(process: int) -> bool:
    """Whether a process runs: one that ended and was not asked about yet does not."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def wait_until(true: Callable[[], bool], what: str) -> None:
    for _ in range(1200):
        if true():
            return
        time.sleep(0.05)
    raise AssertionError(f"waited in vain until {what}")


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc")
def test_workers_end_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, tmp_path],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        preexec_fn=listen_to_signals,
    )
    wait_until(lambda: len(list(tmp_path.iterdir())) == 2, "both workers work")
    workers = [int(path.name) for path in tmp_path.iterdir()]
    assert all(alive(worker) for worker in workers)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    try:
        wait_until(lambda: not any(map(alive, workers)), "the workers end")
    finally:
        for worker in filter(alive, workers):
            os.kill(worker, signal.SIGKILL)
