"""What distances between many trees cost: one core, two threads, two processes of a Dask cluster.

``python -m research.benchmarks.scaling`` (``make bench-scaling``) takes 1,000 × 1,000 trees of 60
leaves, each way in turn, several times over, and writes ``scaling.md`` beside this file:

- seconds of the clock and of all processors (this process and the cluster's workers), least and
  median; the first call on the cluster apart, as it loads the package on the workers;
- what the cluster adds to two threads on the same two cores, goal: less than 30 %;
- the peak of memory of 4,000 × 4,000 small trees as a matrix, into a memory map, and as means,
  each in a process of its own.

On a machine that others use as well, the processors' seconds are the ones to look at.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from sklearn.tree import DecisionTreeClassifier

import steadytree as st
from research.benchmarks.memory import forget_peak, peak_mebibytes
from research.benchmarks.synthetic import hard_rows
from research.benchmarks.tables import Section, machine, progress
from steadytree._optional import import_optional
from steadytree.tree.tree import Tree

TABLE = Path(__file__).with_suffix(".md")
GOAL = 0.30
Times = list[tuple[float, float]]


def collections(n_trees: int, n_leaves: int) -> tuple[list[Tree], list[Tree], st.FeatureSpace]:
    """Two collections of different trees with as many leaves each, grown on bootstraps."""
    X, y = hard_rows(3_000, 20, n_informative=12, majority=0.5)
    rng = np.random.default_rng(0)
    models = []
    for b in range(2 * n_trees):
        rows = rng.integers(0, len(y), len(y))
        model = DecisionTreeClassifier(
            max_leaf_nodes=n_leaves, max_features=8, min_samples_leaf=3, random_state=b
        )
        models.append(model.fit(X[rows], y[rows]))
    trees = [st.as_tree(model) for model in models]
    return trees[:n_trees], trees[n_trees:], st.FeatureSpace.from_data(X, y)


# -- time --------------------------------------------------------------------------------------


def processor_seconds() -> float:
    used = os.times()
    return used.user + used.system


def take_turns(
    ways: dict[str, tuple[Callable[[], Any], Callable[[], float]]], repeats: int
) -> tuple[dict[str, Times], bool]:
    """Clock and processor seconds of every way, in turn, and whether all gave the same bytes."""
    taken: dict[str, Times] = {name: [] for name in ways}
    found = set()
    for turn in range(repeats):
        for name, (run, processors) in ways.items():
            clock, used = time.perf_counter(), processors()
            found.add(run().tobytes())
            taken[name].append((time.perf_counter() - clock, processors() - used))
            seconds = "{:.1f} s, processors {:.1f} s".format(*taken[name][-1])
            progress(f"turn {turn + 1} of {repeats}: {name} {seconds}")
    return taken, len(found) == 1


def time_section(n_trees: int, n_leaves: int, repeats: int) -> Section:
    distributed = import_optional("distributed", purpose="the Dask benchmark", extra="dask")
    progress(f"growing 2 x {n_trees:,} trees of {n_leaves} leaves")
    a, b, space = collections(n_trees, n_leaves)

    def here(n_jobs: int) -> Callable[[], Any]:
        return lambda: st.pairwise_tree_distances(a, b, space=space, n_jobs=n_jobs)

    def on_the_cluster() -> Any:
        with joblib.parallel_config(backend="dask"):
            return st.pairwise_tree_distances(a, b, space=space)

    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):

        def everywhere() -> float:
            return processor_seconds() + sum(client.run(processor_seconds).values())

        st.pairwise_tree_distances(a[:60], b[:60], space=space)  # compiles
        first, _ = take_turns({"first": (on_the_cluster, everywhere)}, 1)
        ways = {
            "one core": (here(1), processor_seconds),
            "two threads": (here(2), processor_seconds),
            "two processes of a Dask cluster": (on_the_cluster, everywhere),
        }
        taken, same = take_turns(ways, repeats)
    taken["the same, its first call"] = first["first"]
    section = Section(
        f"{n_trees:,} × {n_trees:,} trees of {n_leaves} leaves",
        ["way", "clock, least", "clock, median", "processors, least", "processors, median", "µs"],
        intro=f"Seconds of {repeats} calls in turn; µs are processor time a pair, the least. "
        f"Reading the trees is part of every call. Results: "
        f"{'the same bytes every time' if same else '**different bytes**'}.",
    )
    for name, times in taken.items():
        clock, used = (np.array(column) for column in zip(*times, strict=True))
        section.add(
            name,
            *(f"{x:.1f}" for x in (clock.min(), np.median(clock), used.min(), np.median(used))),
            f"{used.min() / n_trees**2 * 1e6:.1f}",
        )
    section.holds &= same
    threads, dask = (taken[name] for name in list(ways)[1:])
    for at, unit in enumerate(("clock", "processors")):
        pair = [np.array([turn[at] for turn in times]) for times in (threads, dask)]
        least = pair[1].min() / pair[0].min() - 1
        median = float(np.median(pair[1] / pair[0])) - 1
        section.notes.append(
            f"the cluster against two threads, {unit}: {least:+.0%} by the least, "
            f"{median:+.0%} by the median of turns (goal: less than {GOAL:+.0%})"
        )
        if unit == "processors":
            section.holds &= median < GOAL
    return section.show()


# -- memory ------------------------------------------------------------------------------------


def memory_section(n_trees: int, n_leaves: int) -> Section:
    section = Section(
        f"Memory, {n_trees:,} × {n_trees:,} trees of {n_leaves} leaves",
        ["way", "peak, MiB", "before the call", "added"],
        intro="Peak of a process of its own during the call; before it the trees are there. "
        "A memory map's pages are the system's: it takes them back.",
    )
    for way in ("matrix", "memory map", "means"):
        command = [sys.executable, "-m", "research.benchmarks.scaling", "--child", way]
        command += ["--trees", str(n_trees), "--leaves", str(n_leaves)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        found = json.loads(done.stdout)
        numbers = (found["peak"], found["before"], found["peak"] - found["before"])
        section.add(way, *(f"{x:,.0f}" for x in numbers))
    return section.show()


def child(way: str, n_trees: int, n_leaves: int) -> None:
    a, b, space = collections(n_trees, n_leaves)
    st.pairwise_tree_distances(a[:60], b[:60], space=space)  # compiles
    forget_peak()
    before = peak_mebibytes()
    with tempfile.TemporaryDirectory() as folder:
        options: dict[str, Any] = {}
        if way == "memory map":
            shape = (n_trees, n_trees)
            options["out"] = np.memmap(f"{folder}/d", dtype="float64", mode="w+", shape=shape)
        elif way == "means":
            options["reduce"] = "mean"
        st.pairwise_tree_distances(a, b, space=space, **options)
    print(json.dumps({"before": before, "peak": peak_mebibytes()}))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m research.benchmarks.scaling", description=__doc__
    )
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--trees", type=int, default=1_000)
    parser.add_argument("--leaves", type=int, default=60)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--memory-trees", type=int, default=4_000)
    parser.add_argument("--output", type=Path, default=TABLE)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    if chosen.child:
        child(chosen.child, chosen.trees, chosen.leaves)
        return 0
    sections = [time_section(chosen.trees, chosen.leaves, chosen.repeats)]
    if chosen.memory_trees:
        sections.append(memory_section(chosen.memory_trees, 8))
    text = "# Many trees\n\n" + machine() + "".join(section.markdown() for section in sections)
    chosen.output.write_text(text, encoding="utf-8")
    progress(f"wrote {chosen.output}")
    return 0 if all(section.holds for section in sections) else 1


if __name__ == "__main__":
    sys.exit(main())
