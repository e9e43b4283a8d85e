"""Verdicts follow from the numbers: turn the numbers round and the verdict turns too."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reproduction.findings import VERDICTS, judge_all
from reproduction.findings.judge import by_majority
from reproduction.tables import Column, Table


def table(name: str, rows: list[dict[str, object]]) -> Table:
    columns = tuple(Column(key, key) for key in rows[0])
    return Table(name, name.replace("_", "-"), name, columns, rows)


def verdict(tables: dict[str, Table], words: str) -> str:
    found = [f for f in judge_all(tables) if words in f.claim]
    assert len(found) == 1
    assert found[0].verdict in VERDICTS
    assert found[0].sentence.endswith(".")
    return found[0].verdict


def price(reduction: float, lost: float) -> dict[str, Table]:
    rows = [
        {"dataset": d, "protocol": "paper", "reduction": reduction, "price": lost}
        for d in ("wdbc", "colon")
    ]
    takeaways = [
        {
            "protocol": "paper",
            "method": m,
            "importance_spread": v,
            "top_features": v,
            "nodes": v,
            "depth": v,
        }
        for m, v in (("pareto_auc", 2.0), ("pareto_distance", 1.0))
    ]
    return {
        "price_of_stability": table("price_of_stability", rows),
        "takeaways": table("takeaways", takeaways),
    }


@pytest.mark.parametrize(
    ("reduction", "lost", "expected"),
    [
        (0.4, 0.04, "holds"),
        (0.4, 0.0, "holds in part"),
        (0.1, 0.04, "holds in part"),
        (0.1, 0.0, "does not hold"),
    ],
)
def test_the_price_of_stability(reduction: float, lost: float, expected: str) -> None:
    tables = price(reduction, lost)
    assert verdict(tables, "38 % improvement") == expected
    sentence = next(f.sentence for f in judge_all(tables) if "38 %" in f.claim)
    assert ("almost free" in sentence) == (lost < 0.01)


def test_side_effects_are_counted_by_sign() -> None:
    tables = price(0.4, 0.04)
    assert verdict(tables, "smaller spread") == "holds"
    rows = [dict(r) for r in tables["takeaways"].rows]
    for key in ("importance_spread", "top_features", "nodes", "depth"):
        rows[1][key] = 3.0
    tables["takeaways"] = replace(tables["takeaways"], rows=rows)
    assert verdict(tables, "smaller spread") == "does not hold"


@pytest.mark.parametrize(("violated", "expected"), [(0, "holds"), (3, "does not hold")])
def test_proposition_one(violated: int, expected: str) -> None:
    rows = [
        {
            "dataset": "wdbc",
            "variant": v,
            "label_weight": 1.0,
            "triples": 10,
            "violated": violated if v == "paper" else 0,
            "share": violated / 10,
            "worst_ratio": 1.0 + violated,
        }
        for v in ("paper", "metric")
    ]
    assert verdict({"triangle": table("triangle", rows)}, "Proposition 1") == expected


def direct(distances: list[float]) -> dict[str, Table]:
    rows = [
        {"dataset": "wdbc", "size": s, "clipped": d, "literal": d, "outside": 0.0}
        for s, d in zip((0.1, 0.5, 0.75, 1.0), distances, strict=True)
    ]
    return {"direct": table("direct", rows)}


@pytest.mark.parametrize(
    ("distances", "expected"),
    [
        ([0.01, 0.05, 0.075, 0.1], "holds"),
        ([0.01, 0.011, 0.012, 0.1], "holds in part"),
        ([0.1, 0.05, 0.03, 0.01], "does not hold"),
    ],
)
def test_linear_growth(distances: list[float], expected: str) -> None:
    assert verdict(direct(distances), "(clipped)") == expected


def example(cv: float, pareto: float) -> dict[str, Table]:
    rows = [
        {"dataset": d, "protocol": "paper", "cv_bound": cv, "pareto_bound": pareto}
        for d in ("wdbc", "colon")
    ]
    return {"example": table("example", rows)}


@pytest.mark.parametrize(
    ("cv", "pareto", "expected"),
    [(0.1, 0.01, "holds"), (0.1, 0.08, "holds in part"), (0.05, 0.1, "does not hold")],
)
def test_hardly_moving_is_more_than_moving_less(cv: float, pareto: float, expected: str) -> None:
    assert verdict(example(cv, pareto), "hardly moves") == expected


def test_majorities() -> None:
    assert [by_majority(k, 6) for k in (6, 4, 3, 0)] == [
        "holds",
        "holds in part",
        "does not hold",
        "does not hold",
    ]
    assert by_majority(0, 0) == "does not hold"
