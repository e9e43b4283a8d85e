"""One split of a case study, against what must be true of its numbers."""

from __future__ import annotations

import numpy as np
import pytest

from research.paper.experiments import study
from tests.research.paper.tiny import job


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


def test_the_balanced_rule_is_the_papers_on_both_scales(paper_unit) -> None:
    cloud, methods = paper_unit["cloud"], paper_unit["methods"]
    score = cloud["choose"]
    for name, d in (
        ("balanced", cloud["distance"] / (4096 * 25)),
        ("balanced_relative", cloud["dissimilarity"]),
    ):
        best = int(np.argmax((score - d) / 2))
        assert methods[name]["auc_choose"] == score[best]
        assert methods[name]["distance"] == pytest.approx(cloud["distance"][best])
        assert methods[name]["dissimilarity"] == pytest.approx(cloud["dissimilarity"][best])
        assert set(paper_unit["same_tree"][name]) == {"pareto_auc", "pareto_distance", "selected"}
    # Over a bound of 102,400 distances hardly count: the best score wins.
    assert paper_unit["same_tree"]["balanced"]["pareto_auc"]


def test_some_settings_of_the_grid_are_drawn_for_each_split() -> None:
    changes = {"n_bootstraps": 2, "depths": (1, 2, 3, 4), "min_leaves": (5,), "n_settings": 2}
    clouds = [
        study.compute(job("study", "wdbc", "paper", index=i, **changes))["cloud"] for i in range(4)
    ]
    grown = {tuple(cloud["depth"]) for cloud in clouds}
    assert all(len(depths) == 4 for depths in grown)
    # The same two settings on both bootstraps, and others on other splits.
    assert all(depths[:2] == depths[2:] for depths in grown)
    assert all(depths[0] < depths[1] for depths in grown)
    assert len(grown) > 1


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
