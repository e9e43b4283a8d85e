"""Jobs on the workers of a real Dask cluster: the same bytes as here, and workers may die."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import joblib
import numpy as np
import pytest
import sklearn
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

import steadytree as st
from steadytree import _jobs
from steadytree._jobs import Workers, run_jobs, threads_here
from steadytree.distance import _solver
from steadytree.exceptions import MissingDependencyError
from steadytree.retraining.result import Retraining
from steadytree.tree.json import tree_to_dict
from tests.growing.mixed import mixed_table

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")

ENTRIES = 60_000  # of an array too large for one message, once messages are made small


# -- here --------------------------------------------------------------------------------------


def add(common: int, factor: int, number: int) -> int:
    return common + factor * number


@pytest.mark.parametrize("verbose", [0, 1])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_results_come_in_order(n_jobs: int, verbose: int) -> None:
    each = ((number,) for number in range(20))
    options: dict[str, Any] = {"total": 20, "label": "Adding", "verbose": verbose}
    done = run_jobs(add, each, common=(100, 2), n_jobs=n_jobs, **options)
    assert done == [100 + 2 * number for number in range(20)]


def test_no_more_workers_than_jobs() -> None:
    assert Workers(8, most=3).count == 3
    assert Workers(2, most=3).count == 2
    assert not Workers(2).elsewhere


def test_threads_are_those_of_joblib() -> None:
    assert threads_here(3) == 3
    with joblib.parallel_config(backend="threading", n_jobs=2):
        assert threads_here(None) == 2


def test_without_cloudpickle_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'steadytree\[dask\]'"):
        _jobs._dumps(1)


def test_dask_is_not_imported_before_it_is_asked_for() -> None:
    code = (
        "import sys, steadytree as st; st.pairwise_tree_distances, st.StableTreeClassifier, "
        "st.assess_stability, st.retrain; print([m for m in ('dask', 'distributed') "
        "if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# -- on a cluster ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with (
        # A machine with much else to do may need long to start a worker again.
        dask.config.set({"distributed.deploy.lost-worker-timeout": "600s"}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs="CRITICAL"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture
def cluster(client: Any) -> Iterator[Any]:
    client.wait_for_workers(2)
    with joblib.parallel_config(backend="dask"):
        yield client


class Watch(distributed.SchedulerPlugin):  # type: ignore[misc]
    """Sees every task that ends, and kills worker processes after some of them."""

    def __init__(self, client: Any, kill: int = 0, after: int = 0) -> None:
        self.pids = list(client.run(os.getpid).values())[:kill]
        self.after, self.finished, self.shared = after, 0, set[str]()

    def transition(self, key: Any, start: str, finish: str, *_: Any, **__: Any) -> None:
        if finish != "memory":
            return
        if str(key).startswith("steadytree-shared"):
            self.shared.add(str(key))
            return
        self.finished += 1
        while self.finished >= self.after and self.pids:
            os.kill(self.pids.pop(), signal.SIGKILL)


def watched(client: Any, watch: Watch, call: Callable[[], Any]) -> Any:
    scheduler = client.cluster.scheduler
    scheduler.add_plugin(watch, name="watch")
    try:
        return call()
    finally:
        scheduler.remove_plugin("watch")


def bytes_of(result: Any) -> list[bytes]:
    """Everything that a call found out, to the last bit."""
    if isinstance(result, np.ndarray):
        return [result.tobytes()]
    if isinstance(result, st.StabilityAssessment):
        frames, trees = [result.summary, result.scores, result.dissimilarity], result.trees
    elif isinstance(result, Retraining):
        frames, trees = [result.frontier], list(result.trees.values())
    else:
        frames, trees = [result.results_], [*result.reference_trees_, *result.candidates_]
    tables = [frame.to_csv(float_format="%a").encode() for frame in frames]
    return [*tables, *(json.dumps(tree_to_dict(tree)).encode() for tree in trees)]


@pytest.fixture(scope="module")
def calls() -> dict[str, tuple[Callable[[], Any], list[bytes]]]:
    """The four calls, and what each gives here."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    grid = {"max_depth": [3, 5, 8], "min_samples_leaf": [3, 10]}
    rng = np.random.default_rng(0)
    trees = []
    for _ in range(60):
        rows = rng.integers(0, len(y), len(y))
        model = DecisionTreeClassifier(max_leaf_nodes=15, random_state=0)
        trees.append(st.as_tree(model.fit(X.iloc[rows], y.iloc[rows])))
    space = st.FeatureSpace.from_data(X, y)
    mixed, outcome = mixed_table(500, 0)
    first = st.DistilledTreeClassifier(n_estimators=10, max_leaf_nodes=6, random_state=0)
    first.fit(mixed[:300], outcome[:300])
    made: dict[str, Callable[[], Any]] = {
        "fit": lambda: st.StableTreeClassifier(param_grid=grid, n_bootstraps=4, random_state=0).fit(
            X, y
        ),
        "pairwise": lambda: st.pairwise_tree_distances(
            trees[:35], trees[30:], space=space, variant="metric", normalize="relative"
        ),
        "assess": lambda: st.assess_stability(
            DecisionTreeClassifier(max_depth=4), X, y, n_resamples=8, random_state=0
        ),
        "retrain": lambda: st.retrain(
            first,
            mixed[300:],
            outcome[300:],
            search=st.SearchOptions(n_estimators=10),
            n_folds=2,
            random_state=0,
        ),
    }
    return {name: (call, bytes_of(call())) for name, call in made.items()}


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_solver, "PART_LEAVES", 60)


CALLS = ["fit", "pairwise", "assess", "retrain"]


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("killed", [0, 1])
def test_the_same_bytes_as_here(
    calls: Any, cluster: Any, small_parts: None, name: str, killed: int
) -> None:
    """With one worker killed half-way too: what it held used to be lost, and all with it."""
    call, here = calls[name]
    watch = Watch(cluster, killed, after=2 if name != "retrain" else 1)
    found = watched(cluster, watch, call)
    assert bytes_of(found) == here
    assert watch.finished > 2  # it did run there
    assert not watch.pids  # and who was to be killed was


def test_not_even_the_death_of_all_workers_loses_the_run(
    calls: Any, cluster: Any, small_parts: None
) -> None:
    call, here = calls["pairwise"]
    watch = Watch(cluster, kill=2, after=3)
    assert bytes_of(watched(cluster, watch, call)) == here
    assert not watch.pids


def test_each_part_of_a_collection_travels_once(
    calls: Any, cluster: Any, small_parts: None
) -> None:
    """A list of trees used to travel with every task."""
    call, _ = calls["pairwise"]
    watch = Watch(cluster)
    watched(cluster, watch, call)
    parcels = {key for key in watch.shared if key.count("-") == 2}
    assert watch.finished > 4 * len(parcels)  # every part meets many others


def test_a_job_is_a_short_message(cluster: Any) -> None:
    shared = Workers(None).share(np.zeros(ENTRIES))
    message, futures = _jobs._message(add, (shared, 1, 2), {})
    assert len(message) < 1_000
    assert futures == [shared.held]


def test_what_is_shared_is_sent_in_pieces_and_its_size_is_known(
    cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_jobs, "PIECE", 100_000)
    values = np.random.default_rng(0).random(ENTRIES)
    shared = Workers(None).share({"values": values})
    (total,) = Workers(None).run(lambda held: held["values"].sum(), [(shared,)])
    assert total == values.sum()
    task = cluster.cluster.scheduler.tasks[shared.held.key]
    assert len(task.dependencies) == 5
    assert values.nbytes <= task.nbytes < 1.01 * values.nbytes


def test_objects_that_are_one_come_back_as_one(cluster: Any) -> None:
    """Settings that gave the same tree share it, and it is measured and counted once."""

    def twins() -> tuple[list[int], list[int]]:
        one = [1, 2]
        return one, one

    (found,) = Workers(None).run(twins, [()])
    assert found[0] is found[1]


def test_a_worker_starts_no_jobs_of_its_own(cluster: Any) -> None:
    """A cluster counts all its cores, and each worker would have started as many threads."""

    def inside() -> tuple[int, bool]:
        return threads_here(None), Workers(None).elsewhere

    ((threads, elsewhere),) = Workers(None).run(inside, [()])
    assert threads == 1
    assert not elsewhere
    assert Workers(None).elsewhere
    assert threads_here(4) == 1


def test_a_cluster_of_one_core_is_a_cluster(client: Any) -> None:
    """joblib runs everything here where it counts a single core."""
    one = [next(iter(client.scheduler_info()["workers"]))]
    with joblib.parallel_config(backend="dask", workers=one):
        found = set(Workers(None).run(os.getpid, [()] * 5))
    assert len(found) == 1
    assert os.getpid() not in found


def test_the_settings_of_scikit_learn_hold_on_workers(cluster: Any) -> None:
    with sklearn.config_context(assume_finite=True):
        (there,) = Workers(None).run(lambda: sklearn.get_config()["assume_finite"], [()])
    assert there


def test_what_is_no_longer_wanted_is_given_up(cluster: Any) -> None:
    watch = Watch(cluster)

    def first_of_many() -> None:
        jobs = Workers(None).run(time.sleep, [(0.2,)] * 30)
        assert next(jobs) is None
        jobs.close()
        assert len(list(Workers(None).run(os.getpid, [()] * 2))) == 2

    watched(cluster, watch, first_of_many)
    assert watch.finished < 15  # of 32


def test_an_error_on_a_worker_is_raised_here(cluster: Any) -> None:
    def fails(number: int) -> int:
        raise st.exceptions.InputError(f"expected another number, got {number}")

    with pytest.raises(st.exceptions.InputError, match="got 7"):
        list(Workers(None).run(fails, [(7,)]))


def test_dask_sees_the_size_of_trees(calls: Any) -> None:
    """It took a packed collection of 367,000 bytes for 56."""
    from dask.sizeof import sizeof

    from steadytree.distance._solver.pack import pack
    from steadytree.distance.variants import Measure, check_options, paths_of

    found = calls["fit"][0]()
    tree = found.candidates_[-1]
    assert sizeof(tree) > tree.threshold.nbytes + tree.value.nbytes + tree.feature.nbytes
    options = check_options()
    paths = paths_of(found.candidates_, found.feature_space_, options)
    assert sizeof(paths[-1]) > paths[-1].tightening.nbytes
    packed = pack(paths, Measure.of(options))
    assert 0.9 < sizeof(packed) / len(pickle.dumps(packed)) < 1.1
