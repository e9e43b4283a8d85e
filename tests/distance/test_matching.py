"""The matching itself: which rule goes with which, what it costs and why."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pandas as pd
import pytest

import steadytree as st
from tests.golden import MID_1, UNIT, build
from tests.naive import (
    cost_matrix,
    feature_distance,
    naive_paths,
    outcome_distance,
    unmatched_costs,
)
from tests.strategies import Kind, random_space, random_tree
from tests.wording import said

VARIANTS = ("paper", "metric", "cover")
CLOSE: dict[str, Any] = {"rel": 1e-9, "abs": 1e-12}


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("seed", range(60))
def test_the_objective_recomputed_from_the_matching(variant: str, seed: int) -> None:
    rng = Random(f"{variant} {seed}")
    kind = Kind(regression=seed % 5 == 0)
    space = random_space(rng, kind)
    a, b = (random_tree(rng, space, kind, max_leaves=10) for _ in range(2))
    weight = rng.choice([1.0, 0.0, 6.0])
    outcome = "label" if kind.regression else rng.choice(["label", "distribution", "impurity"])
    options: dict[str, Any] = {"variant": variant, "label_weight": weight, "outcome": outcome}
    options["merge_equal_siblings"] = merge = rng.random() < 0.3
    matching = st.match_paths(a, b, space=space, **options)
    first, second = (naive_paths(tree, space, merge_equal_siblings=merge) for tree in (a, b))

    # Every path of the smaller tree is matched, every path once.
    assert len({pair.path_a for pair in matching.pairs}) == len(matching.pairs)
    assert len({pair.path_b for pair in matching.pairs}) == len(matching.pairs)
    assert len(matching.pairs) == min(len(first), len(second))
    assert len(matching.unmatched) == abs(len(first) - len(second))
    larger = "a" if len(first) > len(second) else "b"
    assert {lone.tree for lone in matching.unmatched} <= {larger}
    seen = {pair.path_a for pair in matching.pairs} | {
        lone.path for lone in matching.unmatched if lone.tree == "a"
    }
    assert seen == set(range(len(first)))

    # Each cost is what the definition says, and they add up to the distance.
    total = 0.0
    for pair in matching.pairs:
        p, q = first[pair.path_a], second[pair.path_b]
        assert (pair.leaf_a, pair.leaf_b) == (p.leaf, q.leaf)
        assert pair.feature_cost == pytest.approx(feature_distance(p, q, space), **CLOSE)
        assert pair.outcome_cost == pytest.approx(
            weight * outcome_distance(p, q, space, outcome), **CLOSE
        )
        assert pair.cost == pytest.approx(pair.feature_cost + pair.outcome_cost, **CLOSE)
        assert all(part.cost > 0 for part in pair.parts)
        total += pair.cost
    large, small = (first, second) if larger == "a" else (second, first)
    prices = unmatched_costs(
        large, cost_matrix(large, small, space, weight, outcome), space, variant, weight
    )
    for lone in matching.unmatched:
        assert lone.cost == pytest.approx(prices[lone.path], **CLOSE)
        assert lone.leaf == large[lone.path].leaf
        total += lone.cost
    assert matching.distance == pytest.approx(total, **CLOSE)
    assert matching.distance == pytest.approx(
        st.tree_distance(a, b, space=space, **options), **CLOSE
    )


def test_parts_name_the_feature_and_the_side() -> None:
    space = st.FeatureSpace(
        lower=np.array([0.0, 0.0, 0.0]),
        upper=np.array([10.0, 0.0, 1.0]),
        categories=(None, ("red", "green"), None),
        can_be_missing=np.array([True, True, False]),
        names=("age", "colour", "dose"),
    )
    fields: dict[str, Any] = {"categories": space.categories, "feature_names": space.names}
    a = build((0, 4.0, (1, (0,), "no", "yes", True), "no", True), 3, **fields)
    b = build((0, 5.0, (1, (0,), "no", "yes", False), "yes", False), 3, **fields)
    parts = {
        (pair.path_a, part.name, part.side): part.cost
        for pair in st.match_paths(a, b, space=space, label_weight=0.25).pairs
        for part in pair.parts
    }
    assert parts == pytest.approx(
        {
            (0, "age", "upper"): 0.05,
            (0, "age", "missing"): 0.5,
            (0, "colour", "missing"): 1 / 3,
            (1, "age", "upper"): 0.05,
            (1, "age", "missing"): 0.5,
            (1, "colour", "missing"): 1 / 3,
            (2, "age", "lower"): 0.05,
            (2, "age", "missing"): 0.5,
        }
    )
    costs = [pair.outcome_cost for pair in st.match_paths(a, b, space=space).pairs]
    assert costs == [0.0, 0.0, 1.0]


def test_categories_as_a_part() -> None:
    space = st.FeatureSpace(
        lower=np.array([0.0]), upper=np.array([0.0]), categories=(("r", "g", "b", "k"),)
    )
    a = build((0, (0, 1), "no", "yes"), 1, categories=space.categories)
    b = build((0, (0, 2, 3), "no", "yes"), 1, categories=space.categories)
    (first, second) = st.match_paths(a, b, space=space).pairs
    assert [(part.side, part.cost) for part in first.parts] == [("categories", 0.75)]
    assert [(part.side, part.cost) for part in second.parts] == [("categories", 0.75)]


@pytest.mark.parametrize("swap", [False, True])
def test_the_unmatched_path_and_its_tree(swap: bool) -> None:
    trees = [MID_1, build("no")]
    matching = st.match_paths(*(reversed(trees) if swap else trees), space=UNIT)
    (lone,) = matching.unmatched
    assert (lone.tree, lone.path, lone.leaf, lone.cost) == ("b" if swap else "a", 1, 2, 0.5)
    (pair,) = matching.pairs
    assert pair.cost == 0.25
    assert matching.distance == 0.75


def test_to_frame() -> None:
    frame = st.match_paths(MID_1, build("no"), space=UNIT).to_frame()
    expected = pd.DataFrame(
        {
            "rule_a": ["x0 <= 0.5: no", "x0 > 0.5: yes"],
            "rule_b": ["always: no", None],
            "leaf_a": [1, 2],
            "leaf_b": [0, None],
            "cost": [0.25, 0.5],
            "feature_cost": [0.25, 0.5],
            "outcome_cost": [0.0, 0.0],
        }
    ).astype({"leaf_a": "Int64", "leaf_b": "Int64"})
    pd.testing.assert_frame_equal(frame, expected, check_dtype=False)
    assert frame["cost"].sum() == 0.75


def test_in_words() -> None:
    trees = [build((0, 0.5, "no", "yes")), build((0, 0.7, "no", (1, 0.5, "yes", "no")))]
    said(st.match_paths(*trees, space=UNIT), "distance: a matching")
    said(st.match_paths(*reversed(trees), space=UNIT), "distance: a rule of the first tree alone")
    said(st.match_paths(MID_1, MID_1, space=UNIT), "distance: the same rules")
    several = st.match_paths(MID_1, build((1, 0.5, "no", "no")), space=UNIT)
    said(several, "distance: several reasons")
