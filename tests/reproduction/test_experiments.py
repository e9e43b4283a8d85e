"""Each experiment, small, against what must be true of its numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from reproduction.experiments import batch, example, geometry, perturbation, retraining, study
from reproduction.experiments.perturbation import clip_thresholds, literal_distance
from reproduction.jobs import Job
from reproduction.models import cross_validated_tree, load_problem
from reproduction.settings import generator
from steadytree.assessment import perturb_thresholds
from steadytree.core.tree import Tree
from steadytree.distance.distances import tree_distance
from tests.reproduction.tiny import TINY


def job(kind: str, dataset: str, protocol: str = "", index: int = 0, **changes: object) -> Job:
    return Job(kind, dataset, protocol, index, 0, replace(TINY, **changes))


@pytest.fixture(scope="module")
def paper_unit():
    return study.compute(job("study", "wdbc", "paper", n_bootstraps=2, depths=(3, 4, 6)))


def test_the_study_chooses_the_ends_of_the_frontier(paper_unit) -> None:
    cloud, methods = paper_unit["cloud"], paper_unit["methods"]
    assert len(cloud["distance"]) == 12
    frontier = list(cloud["frontier"])
    assert methods["pareto_auc"]["auc_choose"] == max(cloud["choose"])
    assert methods["pareto_distance"]["distance"] == pytest.approx(min(cloud["distance"]))
    for i in frontier:
        better = (cloud["distance"] <= cloud["distance"][i]) & (
            cloud["choose"] > cloud["choose"][i]
        )
        assert not better.any()
    selected = methods["selected"]
    assert selected["auc_choose"] >= 0.98 * methods["pareto_auc"]["auc_choose"]
    assert selected["distance"] <= methods["pareto_auc"]["distance"] + 1e-9


def test_the_paper_reports_what_it_chose_on(paper_unit) -> None:
    for method in paper_unit["methods"].values():
        assert method["auc_choose"] == method["auc_report"]
    assert "halves" in paper_unit
    for half in paper_unit["halves"]:
        assert half["pareto_auc_same"] >= half["pareto_distance_same"]


def test_the_honest_study_reports_on_other_rows() -> None:
    unit = study.compute(job("study", "colon", "honest"))
    assert unit["rows"]["choose"] != unit["rows"]["report"]
    assert unit["methods"]["forest"]["auc_choose"] != unit["methods"]["forest"]["auc_report"]
    assert "geometry" not in unit


def test_distances_on_four_scales_agree(paper_unit) -> None:
    method = paper_unit["methods"]["pareto_distance"]
    assert method["distance_bound"] == pytest.approx(method["distance"] / (4096 * 25))
    assert method["distance_pair_depth"] > method["distance_bound"]
    assert 0 <= method["dissimilarity"] <= 1


def test_first_splits_are_counted_for_every_tree(paper_unit) -> None:
    for counts in paper_unit["first_splits"].values():
        assert sum(counts.values()) == 12
    top = paper_unit["top"]
    assert top["root"]["share_of_rows"] == 1
    assert top["left"]["share_of_rows"] + top["right"]["share_of_rows"] == pytest.approx(1)


def test_geometry_has_no_violation_in_the_metric_form(paper_unit) -> None:
    found = paper_unit["geometry"]
    assert found["triangle"]["metric_1"]["violated"] == 0
    assert found["triangle"]["paper_1"]["triples"] == 12 * 11 * 10 // 6
    assert found["label_weight"]["1.0"]["ranking_agreement"] == pytest.approx(1)


def test_triangle_violations_are_counted() -> None:
    distances = np.array([[0, 1, 5], [1, 0, 1], [5, 1, 0]], dtype=float)
    found = geometry.triangle_violations(distances)
    assert found == {"triples": 1, "violated": 1, "share": 1.0, "worst_ratio": 2.5}
    distances[0, 2] = distances[2, 0] = 2
    assert geometry.triangle_violations(distances)["violated"] == 0


def test_partial_rank_correlation_removes_a_common_cause() -> None:
    rng = np.random.default_rng(0)
    cause = rng.normal(size=4000)
    a, b = cause + 0.5 * rng.normal(size=4000), cause + 0.5 * rng.normal(size=4000)
    assert geometry.rank_correlation(a, b) > 0.7
    assert abs(geometry.partial_rank_correlation(a, b, cause)) < 0.05
    assert geometry.rank_correlation(a, np.ones(4000)) is None


@pytest.fixture(scope="module")
def cv_tree() -> tuple[Tree, object]:
    problem = load_problem("colon")
    rows = np.arange(len(problem.y))
    tree = cross_validated_tree(
        problem, rows, depths=(4, 5), min_leaves=(10,), rng=generator(0, "p")
    )
    return tree, problem.space


def test_literal_and_clipped_agree_while_thresholds_stay_inside(cv_tree) -> None:
    tree, space = cv_tree
    moved = perturb_thresholds(tree, 0.01, np.random.default_rng(0))
    assert clip_thresholds(moved, space) == moved
    assert literal_distance(tree, moved, space) == pytest.approx(
        tree_distance(tree, moved, space=space), abs=1e-9
    )
    assert literal_distance(tree, tree, space) == 0


def test_a_threshold_outside_the_range_is_clipped_or_counted_in_full() -> None:
    problem = load_problem("wdbc")
    rows = np.arange(len(problem.y))
    stump = cross_validated_tree(
        problem, rows, depths=(1,), min_leaves=(10,), rng=generator(0, "s")
    )
    j = int(stump.feature[0])
    low, high = problem.space.lower[j], problem.space.upper[j]
    width = high - low
    far = stump.replace(threshold=[high + 2 * width, np.nan, np.nan], label=stump.label)
    inside = clip_thresholds(far, problem.space)
    assert inside.threshold[0] == high
    # Both paths move one bound by (high + 2 width - t) / 2 width.
    expected = 2 * (high + 2 * width - stump.threshold[0]) / (2 * width)
    assert literal_distance(stump, far, problem.space) == pytest.approx(expected)


def test_direct_perturbation_grows_with_its_size() -> None:
    found = perturbation.compute_direct(job("direct", "wdbc", perturbations=2))
    assert len(found["depth"]) == 2
    for row in found["literal"]:
        assert 0 < row[0] < row[-1]


def test_indirect_perturbation_repeats_itself() -> None:
    one = perturbation.compute_indirect(job("indirect", "colon"))
    two = perturbation.compute_indirect(job("indirect", "colon"))
    assert one == two
    assert len(one["distance"]) == len(TINY.replaced_shares)


def test_the_example_compares_half_with_all() -> None:
    found = example.compute(job("example", "colon", "paper"))
    for method in ("cv", "pareto"):
        one = found[method]
        assert one["distance_bound"] == pytest.approx(one["distance"] / 144)
        assert max(one["depths"]) <= 4
        assert len(one["files"]) == 2


def test_larger_collections_contain_the_smaller() -> None:
    sizes = batch.compute(job("batch", "wdbc", batch_sizes=(1, 3)))["sizes"]
    assert [s["trees"] for s in sizes] == [4, 12]
    assert sizes[1]["best_auc"] >= sizes[0]["best_auc"]


def test_retraining_compares_all_methods() -> None:
    found = retraining.compute(job("retraining", "mgus2"))
    methods = found["methods"]
    assert set(methods) == {
        "cart",
        "paper",
        "scratch",
        *(f"ours_{start}_{price:g}" for start in ("same", "own") for price in retraining.PRICES),
    }
    # Like for like: the same deployed tree.
    assert methods["ours_same_0.2"]["auc_before"] == methods["cart"]["auc_before"]
    assert methods["ours_own_0.2"]["metric"] <= methods["scratch"]["metric"]
