"""Block by block: the same bits as the whole matrix, in an array, a memory map, or as means."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from joblib._parallel_backends import ThreadingBackend
from numpy.typing import NDArray

import steadytree as st
from steadytree.distance import _solver
from steadytree.distance._solver import DistanceBlocks, by_blocks, is_large, part_distances
from steadytree.distance.distances import pairwise_paths, weighted_means
from steadytree.distance.variants import check_options
from steadytree.tree.paths import Paths
from steadytree.tree.tree import Tree
from tests.distance.solver.examples import breast_cancer_paths, measure
from tests.golden import MID_1, MID_2, UNIT

OPTIONS: list[dict[str, Any]] = [
    {},
    {"variant": "metric", "normalize": "relative"},
    {"variant": "cover", "normalize": "bound", "max_depth": 12},
]


@pytest.fixture(scope="module")
def paths() -> list[Paths]:
    """Some stand there twice, one three times."""
    some = breast_cancer_paths(40)
    return [*some, *some[5:15], some[10]]


@pytest.fixture(scope="module")
def trees(paths: list[Paths]) -> list[Tree]:
    return [one.tree for one in paths]


@pytest.fixture(params=["kernels", "scipy"])
def solver(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_solver, "PART_LEAVES", 60)
    if request.param == "scipy":
        monkeypatch.setenv("STEADYTREE_NO_NUMBA", "1")


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_memory_map_gets_the_bits_of_the_matrix(
    trees: list[Tree],
    paths: list[Paths],
    tmp_path: Path,
    solver: None,
    options: dict[str, Any],
    n_jobs: int,
) -> None:
    options = {"space": paths[0].space, "n_jobs": n_jobs, **options}
    for a, b in ((trees, None), (trees[:35], trees[20:])):
        whole = st.pairwise_tree_distances(a, b, **options)
        out: Any = np.memmap(tmp_path / "d", dtype="float64", mode="w+", shape=whole.shape)
        assert st.pairwise_tree_distances(a, b, out=out, **options) is out
        assert out.tobytes() == whole.tobytes()
        means = st.pairwise_tree_distances(a, b, reduce="mean", **options)
        if b is None:
            # Half of the pairs are computed; the sums are made part by part.
            np.testing.assert_allclose(means, whole.mean(axis=1), rtol=1e-14)
        else:
            assert means.tobytes() == whole.mean(axis=1).tobytes()
        place = np.empty(len(a))
        assert st.pairwise_tree_distances(a, b, reduce="mean", out=place, **options) is place
        assert place.tobytes() == means.tobytes()


def test_means_within_a_collection_do_not_depend_on_the_workers(
    trees: list[Tree], paths: list[Paths], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_solver, "PART_LEAVES", 60)
    options: dict[str, Any] = {"space": paths[0].space, "reduce": "mean"}
    one = st.pairwise_tree_distances(trees, n_jobs=1, **options)
    three = st.pairwise_tree_distances(trees, n_jobs=3, **options)
    assert one.tobytes() == three.tobytes()


def test_every_pair_within_a_collection_is_computed_once(
    paths: list[Paths], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_solver, "PART_LEAVES", 60)
    cells = 0

    def counted(a: Any, b: Any) -> NDArray[np.float64]:
        nonlocal cells
        found = part_distances(a, b)
        cells += found.size
        return found

    monkeypatch.setattr(_solver, "part_distances", counted)
    DistanceBlocks(paths, None, measure()).means(lambda values, rows, columns: values)
    # 40 distinct trees: half of the square, and the blocks on its diagonal.
    assert 40 * 40 / 2 < cells < 0.65 * 40 * 40


def test_never_more_than_a_band_is_held(
    paths: list[Paths], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_solver, "BAND_CELLS", 3 * len(paths))
    rows = []
    for at, band in DistanceBlocks(paths[:40], paths, measure()).bands():
        assert band.shape == (at.size, len(paths))
        assert at.size <= 3
        rows += at.tolist()
    assert sorted(rows) == list(range(40))
    # One tree at a time where its distances alone are more than that.
    monkeypatch.setattr(_solver, "BAND_CELLS", len(paths) // 2)
    bands = DistanceBlocks(paths[:5], paths, measure()).bands()
    assert [at.tolist() for at, _ in bands] == [[0], [1], [2], [3], [4]]


def test_what_is_held_at_once_is_what_the_documentation_says() -> None:
    """docs/guide/scaling.md: blocks of at most 8 MiB, bands and whole matrices of at most 128."""
    assert [8 * cells / 2**20 for cells in (_solver.PART_TREES**2, _solver.BAND_CELLS)] == [8, 128]
    stump = [Paths.from_tree(MID_1, UNIT)]
    assert not is_large(stump * 4096, stump * 4096)  # 8 bytes each
    assert is_large(stump * 4096, stump * 4097)


def test_parts_have_about_as_many_leaves_and_end_somewhere() -> None:
    def parts_of(trees: list[Paths], most: int) -> list[slice]:
        shares = _solver._shares(trees, np.arange(len(trees)), most)
        for share in shares:
            assert share.at.tolist() == list(range(len(trees)))[share.trees]
            assert share.local.tolist() == list(range(share.at.size))
        return [share.trees for share in shares]

    many = breast_cancer_paths(30)
    parts = parts_of(many, most=7)
    assert [p.start for p in parts[1:]] == [p.stop for p in parts[:-1]]
    assert (parts[0].start, parts[-1].stop) == (0, 30)
    assert all(1 <= part.stop - part.start <= 7 for part in parts)
    assert parts_of(many, most=100) == [slice(0, 30)]
    stumps = [Paths.from_tree(MID_1, UNIT)] * 10
    assert parts_of(stumps, most=6) == [slice(0, 5), slice(5, 10)]


def test_one_tree_may_be_larger_than_a_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_solver, "PART_LEAVES", 2)
    some = breast_cancer_paths(6)
    assert [share.at.tolist() for share in _solver._shares(some, np.arange(6), most=10)] == [
        [k] for k in range(6)
    ]


def test_a_large_matrix_is_filled_block_by_block(
    paths: list[Paths], monkeypatch: pytest.MonkeyPatch
) -> None:
    options = check_options()
    share = np.full(len(paths), 1 / len(paths))
    whole = pairwise_paths(paths, paths, options)
    (means,) = weighted_means(paths, paths, share, options, [options])
    assert means.tobytes() == (whole @ share).tobytes()
    assert not is_large(paths, paths)
    monkeypatch.setattr(_solver, "LARGE_MATRIX", 100)
    monkeypatch.setattr(_solver, "pairwise_by_scipy", None)
    monkeypatch.setattr("steadytree.distance.distances.pairwise", None)
    assert by_blocks(paths, None)
    assert pairwise_paths(paths, paths, options).tobytes() == whole.tobytes()
    (means,) = weighted_means(paths, paths, share, options, [options])
    np.testing.assert_allclose(means, whole @ share, rtol=1e-14)


class ElsewhereBackend(ThreadingBackend):  # type: ignore[misc]
    """Threads, from a backend that is not joblib's own: as far as anybody knows, a cluster."""


def test_a_cluster_is_used_where_there_is_more_than_one_job(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_solver, "PART_LEAVES", 4)
    stump, other = (Paths.from_tree(tree, UNIT) for tree in (MID_1, MID_2))
    assert not by_blocks([stump] * 3, None)
    with joblib.parallel_config(backend=ElsewhereBackend()):
        assert by_blocks([stump] * 3, None)  # 6 leaves to 6
        assert by_blocks([stump] * 2, [other] * 3)
        assert by_blocks([stump] * 3, [other] * 2)
        assert by_blocks([stump] * 2, None) is False  # 4 leaves to 4 are one job
        matrix = pairwise_paths([stump, other], [other, stump, other], check_options())
    np.testing.assert_array_equal(matrix, [[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])


def test_what_an_interrupted_run_has_not_reached_is_nan(
    trees: list[Tree], paths: list[Paths], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_solver, "PART_LEAVES", 60)
    done = 0

    def interrupted(a: Any, b: Any) -> NDArray[np.float64]:
        nonlocal done
        done += 1
        if done == 4:
            raise KeyboardInterrupt
        return part_distances(a, b)

    whole = st.pairwise_tree_distances(trees, trees, space=paths[0].space)
    monkeypatch.setattr(_solver, "part_distances", interrupted)
    out = np.zeros(whole.shape)
    with pytest.raises(KeyboardInterrupt):
        st.pairwise_tree_distances(trees, trees, space=paths[0].space, out=out)
    there = ~np.isnan(out)
    assert 0 < there.sum() < out.size
    np.testing.assert_array_equal(out[there], whole[there])
