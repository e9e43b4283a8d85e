"""Distances between collections: ours against the peers, on small, middling and large trees."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from research.benchmarks.peers import (
    Dense,
    DtDistance,
    cdist_scipy,
    lapx_distance,
    lapx_solvers,
    numpy_scipy,
)
from research.benchmarks.tables import Section, interleave, number, progress
from research.benchmarks.workloads import Workload, distinct_models, w1, w2, with_leaves
from steadytree import FeatureSpace, as_tree, pairwise_tree_distances, tree_distance
from steadytree.distance._solver import kernels
from steadytree.distance._solver.pack import pack
from steadytree.distance.equations import Measure, check_options
from steadytree.plugins import read_models
from steadytree.tree.paths import Paths

Pairs = Sequence[tuple[int, int]]
Peer = Callable[[Any, Any], float]
EXACT = 1e-9
DT_EXACT = 1e-6


def ours(
    a: Sequence[Paths], b: Sequence[Paths], *, variant: str = "paper", deduplicate: bool = False
) -> NDArray[np.float64]:
    """Distances of all pairs from paths, packing included, one thread."""
    measure = Measure.of(check_options(variant=variant))
    first, second = (pack(side, measure, deduplicate=deduplicate) for side in (a, b))
    return kernels.pairwise(first, second, 1)


def loop(peer: Peer, a: Sequence[Any], b: Sequence[Any], pairs: Pairs) -> NDArray[np.float64]:
    return np.array([peer(a[i], b[j]) for i, j in pairs])


def check(name: str, theirs: NDArray[np.float64], mine: NDArray[np.float64], limit: float) -> float:
    """Largest relative difference; a wrong result makes the times meaningless."""
    worst = float((np.abs(theirs - mine) / np.maximum(np.abs(mine), 1.0)).max())
    if not worst <= limit:
        raise AssertionError(f"expected agreement with {name} to {limit}, got {worst:.2g}")
    return worst


def sample(work: Workload, count: int, seed: int = 0) -> list[tuple[int, int]]:
    rng = np.random.default_rng(seed)
    shape = [len(side) for side in work.paths]
    if count >= shape[0] * shape[1]:
        return [(i, j) for i in range(shape[0]) for j in range(shape[1])]
    cells = rng.choice(shape[0] * shape[1], count, replace=False)
    return [(int(c) // shape[1], int(c) % shape[1]) for c in cells]


def best_lapx(a: Sequence[Dense], b: Sequence[Dense], pairs: Pairs) -> tuple[str, Peer]:
    """The solver of lapx that is quickest on a few of the pairs."""
    peers = {name: lapx_distance(solver) for name, solver in lapx_solvers().items()}
    times = interleave(
        {name: lambda p=peer: loop(p, a, b, pairs) for name, peer in peers.items()},  # type: ignore[misc]
        repeats=2,
    )
    best = min(times, key=times.__getitem__)
    return best, peers[best]


def dt_factor(work: Workload, dense: Sequence[Sequence[Dense]], count: int) -> tuple[float, int]:
    """Return how many times longer dt-distance takes than numpy+scipy on the same pairs."""
    peer = DtDistance(work)
    pairs = sample(work, count, seed=1)
    start = time.process_time()
    theirs = loop(peer, *work.models, pairs)
    seconds = time.process_time() - start
    mine = np.array(
        [ours([work.paths[0][i]], [work.paths[1][j]], variant="cover")[0, 0] for i, j in pairs]
    )
    check("dt-distance", theirs, mine, DT_EXACT)
    plain = interleave({"numpy": lambda: loop(numpy_scipy, *dense, pairs)}, repeats=3)["numpy"]
    return seconds / plain, len(pairs)


def compare(
    work: Workload, title: str, *, pairs: int, dt_pairs: int, repeats: int
) -> tuple[Section, dict[str, float]]:
    """One table: microseconds a pair of every method, and ours as a ratio to each."""
    progress(f"{title}: {work.describe()}")
    a, b = work.paths
    dense = [[Dense.of(paths) for paths in side] for side in work.paths]
    chosen = sample(work, pairs)
    where = tuple(np.array(chosen).T)
    solver, lapx = best_lapx(*dense, chosen[: max(10, len(chosen) // 20)])
    mine = ours(a, b)
    peers: dict[str, Peer] = {
        "numpy + scipy": numpy_scipy,
        "cdist + scipy": cdist_scipy,
        f"lapx ({solver}), cdist": lapx,
    }
    worst = {
        name: check(name, loop(peer, *dense, chosen), mine[where], EXACT)
        for name, peer in peers.items()
    }
    runs: dict[str, Callable[[], object]] = {
        name: (lambda p=peer: loop(p, *dense, chosen))  # type: ignore[misc]
        for name, peer in peers.items()
    }
    runs["ours"] = lambda: ours(a, b)
    seconds = interleave(runs, repeats)
    micro = {
        name: 1e6 * s / (mine.size if name == "ours" else len(chosen))
        for name, s in seconds.items()
    }
    if dt_pairs:
        factor, used = dt_factor(work, dense, dt_pairs)
        micro["dt-distance 0.1.4"] = factor * micro["numpy + scipy"]
    section = Section(title, ["method", "µs a pair", "ours is faster by"], work.describe() + ".")
    for name, value in sorted(micro.items(), key=lambda item: -item[1]):
        ratio = "" if name == "ours" else f"{number(value / micro['ours'])} ×"
        section.add(name, number(value), ratio)
    section.notes.append(
        f"{len(chosen):,} pairs for the peers, all {mine.size:,} for ours (packing included, no "
        f"deduplication); largest relative difference {max(worst.values()):.0e}."
    )
    if dt_pairs:
        section.notes.append(
            f"dt-distance: {number(factor)} × numpy + scipy on the same {used} pairs, and equal to "
            f'our variant="cover" to {DT_EXACT:.0e}; it was given the ranges of the features.'
        )
    return section, micro


def one_pair(quick: bool) -> Section:
    """Two trees of ten leaves, from fitted models to the number; nothing is prepared."""
    work = with_leaves((10,), 2)
    models = work.models[0][0], work.models[1][0]
    trees = [as_tree(model) for model in models]
    space = FeatureSpace(lower=work.lower, upper=work.upper)
    dt_distance = DtDistance(work)

    def straightforward() -> float:
        return numpy_scipy(*(Dense.of_model(m, work.lower, work.upper) for m in models))

    mine = tree_distance(*models, space=space)
    cover = tree_distance(*models, space=space, variant="cover")
    check("numpy + scipy", np.array([straightforward()]), np.array([mine]), EXACT)
    check("dt-distance", np.array([dt_distance(*models)]), np.array([cover]), DT_EXACT)
    methods: dict[str, tuple[int, Callable[[], object]]] = {
        "dt-distance 0.1.4": (2, lambda: dt_distance(*models)),
        "numpy + scipy": (200, straightforward),
        "ours": (200, lambda: tree_distance(*models, space=space)),
        "ours, of two Trees": (200, lambda: tree_distance(*trees, space=space)),
    }
    seconds = interleave(
        {
            name: (lambda times=times, run=run: [run() for _ in range(times)])  # type: ignore[misc]
            for name, (times, run) in methods.items()
        },
        repeats=3 if quick else 9,
    )
    micro = {name: 1e6 * seconds[name] / times for name, (times, _) in methods.items()}
    section = Section(
        "One pair: two trees of ten leaves",
        ["method", "µs a call", "ours is faster by"],
        "Fitted scikit-learn models in, a number out; reading the models is included.",
    )
    for name, value in micro.items():
        ratio = "" if name.startswith("ours") else f"{number(value / micro['ours'])} ×"
        section.add(name, number(value), ratio)
    section.notes += [
        "One call at a time, as people compare two trees: no kernel is compiled.",
        "numpy + scipy is the barest program: numeric features only, no names, no checks.",
    ]
    return section.show()


def end_to_end(quick: bool) -> Section:
    """Two collections of fitted models in, all their distances out; the peer's are prepared."""
    section = Section(
        "From fitted models to distances",
        [
            "collections",
            "ours, ms",
            "cdist + scipy, ms",
            "ratio",
            "read, µs a tree",
            "paths, µs a tree",
            "µs a distance",
        ],
        "Ours reads the models, walks the trees, packs them and matches their paths; the loop "
        "over cdist + scipy starts from tables of bounds that are there already.",
    )
    goals = {"W1": 25.0, "W2": 15.0}
    few, more = (30, 12) if quick else (120, 60)
    unlike = distinct_models(w1(1000), few)
    for name, work in (("W1", w1(few)), ("W1, no two equal", unlike), ("W2", w2(more))):
        a, b = work.models
        space = FeatureSpace(lower=work.lower, upper=work.upper)
        dense = [[Dense.of(paths) for paths in side] for side in work.paths]
        pairs = sample(work, len(a) * len(b))
        trees = list({id(tree): tree for tree in read_models([*a, *b])}.values())
        mine = pairwise_tree_distances(a, b, space=space, n_jobs=1)
        check("scipy", loop(cdist_scipy, *dense, pairs), mine.ravel(), EXACT)
        seconds = interleave(
            {
                "ours": lambda: pairwise_tree_distances(a, b, space=space, n_jobs=1),  # noqa: B023
                "peer": lambda: loop(cdist_scipy, *dense, pairs),  # noqa: B023
                "read": lambda: read_models([*a, *b]),  # noqa: B023
                "paths": lambda: Paths.from_trees(trees, space),  # noqa: B023
                "match": lambda: ours(*work.paths),  # noqa: B023
            },
            repeats=3 if quick else 9,
        )
        ratio = seconds["peer"] / seconds["ours"]
        section.add(
            f"{name}, {len(a)} × {len(b)}",
            number(1e3 * seconds["ours"]),
            number(1e3 * seconds["peer"]),
            f"{number(ratio)} ×",
            number(1e6 * seconds["read"] / (len(a) + len(b))),
            number(1e6 * seconds["paths"] / len(trees)),
            number(1e6 * seconds["match"] / mine.size),
        )
        section.notes.append(f"{name}: {work.describe()}, {len(trees)} different trees in all.")
        if name in goals and not quick:
            section.goal(name, ratio, goals[name])
    section.notes.append(
        "Models that are the same tree are read and compared once, as a grid of settings gives "
        "many; a distance as in the tables below, all trees taken as different."
    )
    return section.show()


def small_trees(quick: bool) -> Section:
    work = w1(50 if quick else 200)
    section, micro = compare(
        work,
        "W1: breast cancer, the paper's grid",
        pairs=2500 if quick else 20000,
        dt_pairs=20 if quick else 150,
        repeats=3,
    )
    mine = micro["ours"]
    if not quick:
        section.goal("numpy + scipy", micro["numpy + scipy"] / mine, 20)
        section.goal("dt-distance", micro["dt-distance 0.1.4"] / mine, 4000)
    many = w1(100 if quick else 1000)
    progress(f"with deduplication: {many.describe()}")
    a, b = many.paths
    seconds = interleave({"ours": lambda: ours(a, b, deduplicate=True)}, repeats=3)["ours"]
    per_pair = 1e6 * seconds / (len(a) * len(b))
    block = slice(0, 100)
    alike = ours(a[block], b[block])
    check("itself without deduplication", ours(a, b, deduplicate=True)[block, block], alike, 0.0)
    packed = [pack(side, Measure.of(check_options())).n_distinct for side in (a, b)]
    section.add(f"ours, deduplicated, {len(a):,} × {len(b):,}", number(per_pair), "")
    section.notes.append(
        f"Deduplicated: {packed[0]} and {packed[1]} distinct trees, {seconds:.3f} s for "
        f"{len(a) * len(b):,} distances."
    )
    if not quick:
        section.goal("numpy + scipy, deduplicated", micro["numpy + scipy"] / per_pair, 180)
        section.goal("dt-distance, deduplicated", micro["dt-distance 0.1.4"] / per_pair, 40000)
    return section.show()


def middling_trees(quick: bool) -> Section:
    work = w2(30 if quick else 100)
    section, micro = compare(
        work,
        "W2: 20,000 rows, the paper's grid",
        pairs=200 if quick else 2500,
        dt_pairs=3 if quick else 25,
        repeats=3,
    )
    mine = micro["ours"]
    if not quick:
        section.goal("numpy + scipy", micro["numpy + scipy"] / mine, 40)
        section.goal("cdist + scipy", micro["cdist + scipy"] / mine, 20)
        section.goal("dt-distance", micro["dt-distance 0.1.4"] / mine, 2200)
        sizes = [np.array([paths.n_paths for paths in side]) for side in work.paths]
        cells = float(np.mean(np.outer(*sizes)))
        theirs = micro["cdist + scipy"]
        section.notes.append(
            f"A pair has {cells:,.0f} cells: cdist + scipy takes {1e3 * theirs / cells:.0f} ns for "
            f"each, ours {1e3 * mine / cells:.1f}."
        )
        if mine > theirs / 20:
            section.notes.append(
                "Why not 20 ×: over a quarter of ours builds the costs, with two passes a cell; "
                "half are searches, two to three further passes. A pass of vector instructions "
                "takes 0.35 to 0.55 ns a cell. An auction for smaller trees and other sizes of the "
                "core gained nothing."
            )
    return section.show()


def large_trees(quick: bool) -> Section:
    leaves = (500,) if quick else (500, 700, 900)
    section, micro = compare(
        with_leaves(leaves, 1 if quick else 2),
        "Large trees: 500 leaves and more",
        pairs=2 if quick else 12,
        dt_pairs=0,
        repeats=1 if quick else 2,
    )
    section.notes.append("dt-distance is left out: its linear program has a variable per cell.")
    if not quick:
        section.goal("cdist + scipy", micro["cdist + scipy"] / micro["ours"], 10)
    return section.show()


def growth(quick: bool) -> Section:
    """How the time grows with the number of leaves."""
    leaves = (8, 16, 32, 64, 128) if quick else (8, 16, 32, 64, 128, 256, 512, 1024)
    section = Section(
        "Growth with the number of leaves",
        ["leaves", "ours, µs a pair", "cdist + scipy, µs", "ratio", "exponent of ours"],
        "Both trees of a pair have the same number of leaves, the hardest case.",
    )
    before: tuple[int, float] | None = None
    for count in leaves:
        work = with_leaves((count,), 3)
        a, b = work.paths
        dense = [[Dense.of(paths) for paths in side] for side in work.paths]
        pairs = sample(work, 9 if count < 500 else 3)
        rounds = max(1, 2000 // count) if count < 500 else 1
        check(
            "scipy", loop(cdist_scipy, *dense, pairs), ours(a, b)[tuple(np.array(pairs).T)], EXACT
        )
        # Many copies of the same trees: packing must not weigh more than it does in use.
        seconds = interleave(
            {
                "ours": lambda: ours(a * rounds, b * rounds),  # noqa: B023
                "peer": lambda: loop(cdist_scipy, *dense, pairs),  # noqa: B023
            },
            repeats=3 if count < 500 else 1,
        )
        mine = 1e6 * seconds["ours"] / (9 * rounds**2)
        theirs = 1e6 * seconds["peer"] / len(pairs)
        slope = ""
        if before is not None:
            slope = f"{np.log(mine / before[1]) / np.log(count / before[0]):.1f}"
        section.add(count, number(mine), number(theirs), f"{number(theirs / mine)} ×", slope)
        before = count, mine
    return section.show()


def run(quick: bool) -> list[Section]:
    ours(*(side[:1] for side in with_leaves((8,), 3).paths))  # compile, or read the cache
    return [
        one_pair(quick),
        end_to_end(quick),
        small_trees(quick),
        middling_trees(quick),
        large_trees(quick),
        growth(quick),
    ]
