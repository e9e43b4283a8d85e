"""The numbers that claims are judged by, worked out by hand on small long tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from research.paper.findings.claims import judge_claims, number_text
from research.paper.findings.intervals import Estimate, exact
from research.paper.findings.observed import Observed
from research.paper.findings.rules import load_rules
from research.paper.findings.statistics import STATISTICS
from steadytree.distance.equations import distance_bound

Cells = Mapping[tuple[str, str], float]


def table(
    splits: Mapping[str, list[Cells]], *, kind: str = "study", protocol: str = "paper"
) -> list[dict[str, Any]]:
    return [
        {
            "kind": kind,
            "dataset": name,
            "protocol": protocol,
            "split": split,
            "method": method,
            "measure": measure,
            "value": value,
        }
        for name, each in splits.items()
        for split, cells in enumerate(each)
        for (method, measure), value in cells.items()
    ]


def number(
    name: str, rows: list[dict[str, Any]], protocol: str = "paper", **parameters: Any
) -> Estimate:
    found = STATISTICS[name].judge(
        Observed.from_rows(rows, protocol),
        parameters,
        level=0.95,
        overlap={"study": 0.5, "direct": 0.5, "indirect": 1.0},
    )
    assert found is not None
    return found


def pair(a: float, b: float, measure: str = "m") -> Cells:
    return {("pareto_distance", measure): a, ("pareto_auc", measure): b}


BOTH = {"method": "pareto_distance", "than": "pareto_auc", "measure": "m"}


def test_the_papers_formula_divides_means_and_the_other_averages_ratios() -> None:
    rows = table({"wdbc": [pair(1, 2), pair(1, 2)], "colon": [pair(9, 10), pair(9, 10)]})
    found = {
        way: number("less", rows, kind="study", average=way, **BOTH).value
        for way in ("means", "sets", "median")
    }
    assert found["means"] == pytest.approx(1 - 10 / 12)
    assert found["sets"] == pytest.approx((0.5 + 0.1) / 2)
    assert found["median"] == pytest.approx(0.3)


def test_only_the_papers_case_studies_are_judged() -> None:
    rows = table({"wdbc": [pair(1, 2), pair(1, 2)], "flchain": [pair(9, 10), pair(9, 10)]})
    assert number("difference", rows, **BOTH).value == -1
    other = table({"flchain": [pair(9, 10), pair(9, 10)]})
    assert (
        STATISTICS["difference"].judge(
            Observed.from_rows(other, "paper"), BOTH, level=0.9, overlap={"study": 0.5}
        )
        is None
    )


def test_counts_of_data_sets_run_from_clearly_to_possibly() -> None:
    sure = [pair(2.0, 1.0), pair(2.1, 1.0), pair(1.9, 1.0)]
    unsure = [pair(2.0, 1.0), pair(0.5, 1.0), pair(1.0, 1.0)]
    against = [pair(1.0, 2.0), pair(1.0, 2.1), pair(1.0, 1.9)]
    rows = table({"wdbc": sure, "colon": unsure, "nhefs": against})
    found = number("sets_ahead", rows, measure="m", method="pareto_distance", than=["pareto_auc"])
    assert (found.low, found.value, found.high) == (1, 2, 2)
    assert number_text(found, "sets") == "2 of 6 (clearly 1, possibly 2)"


def test_a_factor_between_two_and_ten() -> None:
    def cells(forest: float) -> Cells:
        return {("forest", "nodes"): forest, ("pareto_auc", "nodes"): 10.0}

    rows = table(
        {
            "wdbc": [cells(50), cells(51)],
            "colon": [cells(150), cells(151)],
            "nhefs": [cells(15), cells(16)],
        }
    )
    what = {"measure": "nodes", "method": "forest", "than": ["pareto_auc"]}
    assert number("sets_with_factor", rows, between=[2, 10], **what).value == 1
    assert number("sets_with_factor", rows, between=[1, 1e6], **what).value == 3


def test_spread_of_importances_and_features_in_the_top_three() -> None:
    def cells(a: tuple[float, ...], b: tuple[float, ...]) -> Cells:
        return {
            (method, f"importances/{feature}"): value
            for method, values in (("pareto_distance", a), ("pareto_auc", b))
            for feature, value in zip("uvwxyz", values, strict=True)
        }

    same = (0.5, 0.3, 0.2, 0.0, 0.0, 0.0)
    rows = table(
        {
            "wdbc": [
                cells(same, (0.5, 0.3, 0.2, 0.0, 0.0, 0.0)),
                cells(same, (0.0, 0.0, 0.0, 0.5, 0.3, 0.2)),
                cells(same, (0.5, 0.5, 0.0, 0.0, 0.0, 0.0)),
            ]
        }
    )
    given = {"method": "pareto_distance", "than": "pareto_auc"}
    assert number("less_spread", rows, **given).value == 1.0
    assert number("fewer_top_features", rows, **given).value == 1 - 3 / 6
    assert number("sets_with_more_features", rows, **given).value == 0
    spread = np.std([[0.5, 0, 0.5], [0.3, 0, 0.5]], axis=1, ddof=1)
    only = STATISTICS["sets_with_less_spread"].compute(
        Observed.from_rows(rows, "paper"), method="pareto_distance", than=["pareto_auc"]
    )
    assert only > spread.sum() / 6


def test_perturbed_distances_are_shares_of_the_bound_of_each_tree() -> None:
    def cells(depth: int, small: float, large: float) -> Cells:
        shares = {"distance/0.5": small, "distance/1.0": large}
        bound = distance_bound(depth)
        return {
            ("", "depth"): depth,
            **{("clipped", m): share * bound for m, share in shares.items()},
        }

    splits = [cells(3, 0.1, 0.2), cells(5, 0.2, 0.4)]
    rows = table({"wdbc": splits, "colon": splits}, kind="direct", protocol="")
    assert number("perturbed_distance", rows, "", way="clipped").value == pytest.approx(0.3)
    assert number("straightness", rows, "", way="clipped").value == pytest.approx(1.0)


def test_a_trend_is_a_slope_over_the_mean() -> None:
    def cells(*values: float) -> Cells:
        return {("", f"distance/{k}"): v for k, v in zip((0.2, 0.6, 1.0), values, strict=True)}

    rows = table({"wdbc": [cells(1, 2, 3), cells(2, 2, 2)]}, kind="indirect", protocol="")
    found = number("trend", rows, "", measure="distance")
    assert found.value == pytest.approx((2 / 0.8 / 2 + 0) / 2)


def first(counts: Mapping[str, int], chosen: str) -> Cells:
    """All three places alike."""
    return {
        **{
            ("", f"first_splits/{place}/{feature}"): n
            for place in ("root", "left", "right")
            for feature, n in counts.items()
        },
        **{("", f"top/{place}/feature/{chosen}"): 1.0 for place in ("root", "left", "right")},
    }


def test_common_features_are_counted_beyond_chance() -> None:
    splits = [first({"u": 6, "v": 3, "w": 1}, "u"), first({"u": 6, "v": 1, "w": 3}, "w")]
    found = number("beyond_chance", table({"wdbc": splits}))
    # u and v are common (0.6 and, before w by name, 0.2); of the two trees one splits on them.
    assert found.value == pytest.approx(3 * (0.5 - 0.8))


def test_table_three_is_compared_place_by_place() -> None:
    splits = [
        {
            ("", "first_splits/root/worst perimeter"): 6.0,
            ("", "first_splits/root/mean concave points"): 4.0,
            ("", "first_splits/left/worst area"): 6.0,
            ("", "first_splits/left/worst concave points"): 4.0,
            ("", "first_splits/right/worst texture"): 10.0,
        }
    ] * 2
    rows = table({"wdbc": splits})
    assert number("features_in_order", rows, dataset="wdbc") == exact(3)
    found = number("largest_frequency_difference", rows, dataset="wdbc")
    assert found.value == pytest.approx(1 - 0.1738)


def test_a_frontier_is_clear_where_its_ends_differ() -> None:
    def cells(distance: float, auc: float) -> Cells:
        return {
            ("pareto_auc", "distance"): 10.0,
            ("pareto_auc", "auc_report"): 0.8,
            ("pareto_distance", "distance"): distance,
            ("pareto_distance", "auc_report"): auc,
        }

    rows = table(
        {
            "wdbc": [cells(6, 0.75)] * 2,  # clear, as in the paper
            "support2": [cells(9, 0.75)] * 2,  # in a corner, as in the paper
            "nasscds": [cells(6, 0.7)] * 2,  # clear, where the paper's is not
            "colon": [cells(6, 0.799)] * 2,  # not clear, where the paper's is
        }
    )
    assert number("frontiers_as_in_the_paper", rows) == exact(2)


def test_violations_are_added_up_where_they_were_looked_for() -> None:
    measure = "geometry/triangle/paper_1/violated"
    rows = table({"wdbc": [{("", measure): 3.0}, {("", "frontier_size"): 4.0}]})
    assert number("violated_triangles", rows, label_weight=1) == exact(3)


def test_propositions_are_held_against_their_worst_case() -> None:
    def cells(deviation: float, violated: int) -> Cells:
        return {
            ("", "corollary_1/largest_deviation"): deviation,
            ("", "corollary_1/largest_random_deviation"): 0.0,
            ("", "corollary_1/largest_difference"): 1e-12,
            ("", "proposition_2/1/paper_violated"): 0,
            ("", "proposition_2/24/paper_violated"): violated,
            ("", "proposition_2/24/attainable_violated"): 7,
        }

    rows = table(
        {"wdbc": [cells(0.0, 0), cells(0.5, 2)], "colon": [cells(0.0, 1)]},
        kind="propositions",
        protocol="",
    )
    assert number("relaxation_gap", rows, "") == exact(0.5)
    assert number("beyond_the_bound", rows, "", bound="paper") == exact(3)
    assert number("beyond_the_bound", rows, "", bound="attainable") == exact(21)


def test_findings_carry_number_interval_rule_and_verdict() -> None:
    rules = load_rules()
    price = replace(rules, claims=tuple(c for c in rules.claims if c.name == "price"))
    aucs = {("pareto_auc", "auc_report"): 0.8, ("pareto_distance", "auc_report"): 0.9}
    splits = [{k: v + e for k, v in aucs.items()} for e in (0.0, 0.01, 0.02)]
    rows = table(dict.fromkeys(("wdbc", "colon", "nhefs"), splits))
    (found,) = judge_claims(rows, price)
    assert found.verdict == "does not hold"
    assert found.value == pytest.approx(-0.1)
    assert found.level == 0.95
    assert "−10.0" in found.ours
    assert found.paper.startswith("0.04 (4.625 %")
    assert found.sentence.startswith("Rule: holds from +2.0 points to +6.0 points, in part")
    (quick,) = judge_claims(rows, price, verdicts=False)
    assert (found.stated, found.alone) == ("excluded", "does not hold")
    assert replace(quick, verdict=found.verdict, stated="excluded", alone=found.alone) == found
    assert quick.verdict == ""
