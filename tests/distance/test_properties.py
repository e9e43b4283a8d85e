"""What must hold whatever the trees: metric axioms, the bound, invariances, golden numbers."""

from __future__ import annotations

import itertools
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as hs

import steadytree as st
from tests.golden import EPS, GOLDEN, MID_1, MID_2, UNIT, Golden, build
from tests.naive import NaivePath, cost_matrix, metric_weight, naive_distance, naive_paths
from tests.strategies import (
    Kind,
    examples,
    random_space,
    random_tree,
    shuffled_copy,
    tree_collections,
)

VARIANTS = ("paper", "metric", "cover")
CLOSE: dict[str, Any] = {"rel": 1e-9, "abs": 1e-12}
Collection = tuple[st.FeatureSpace, list[st.Tree]]

metric_options = hs.fixed_dictionaries(
    {
        "variant": hs.just("metric"),
        "normalize": hs.sampled_from([None, "relative"]),
        "label_weight": hs.sampled_from([1.0, 0.0, 0.4, 24.0]),
        "outcome": hs.sampled_from(["label", "distribution", "impurity"]),
        "merge_equal_siblings": hs.booleans(),
    }
)


def fitting(space: st.FeatureSpace, options: dict[str, Any]) -> dict[str, Any]:
    """Regression trees have one outcome term only."""
    return options if space.classes is not None else {**options, "outcome": "label"}


# -- golden numbers ---------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::steadytree.exceptions.ClippedThresholdWarning")
@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: case.name)
def test_golden(case: Golden) -> None:
    expected = pytest.approx(case.distance, **CLOSE)
    assert st.tree_distance(case.a, case.b, space=case.space, **case.options) == expected
    assert st.tree_distance(case.b, case.a, space=case.space, **case.options) == expected
    assert st.match_paths(case.a, case.b, space=case.space, **case.options).distance == expected
    if case.options.get("label_weight") != "balanced":
        assert naive_distance(case.a, case.b, case.space, **case.options) == expected


# -- metric axioms ----------------------------------------------------------------


@examples(200)
@given(tree_collections(3, max_leaves=7), metric_options)
def test_metric_triangle_inequality(collection: Collection, options: dict[str, Any]) -> None:
    space, trees = collection
    d = st.pairwise_tree_distances(trees, space=space, **fitting(space, options))
    for i, j, k in itertools.permutations(range(3)):
        assert d[i, j] <= d[i, k] + d[k, j] + 1e-9


@examples(100)
@given(tree_collections(1, max_leaves=9), hs.sampled_from(VARIANTS))
def test_a_tree_is_at_zero_from_itself(collection: Collection, variant: str) -> None:
    space, (tree,) = collection
    assert st.tree_distance(tree, tree, space=space, variant=variant) == 0.0
    again = tree.replace(metadata={"copy": True}, label=tree.label)
    assert st.tree_distance(tree, again, space=space, variant=variant) == 0.0
    assert st.match_paths(tree, again, space=space, variant=variant).relative == 0.0


@examples(200)
@given(tree_collections(2, kind=Kind(), max_leaves=3), hs.sampled_from([None, "relative"]))
def test_only_the_same_paths_are_at_zero(collection: Collection, normalize: str | None) -> None:
    space, (a, b) = collection
    distance = st.tree_distance(a, b, space=space, variant="metric", normalize=normalize)

    def essence(path: NaivePath) -> tuple[Any, ...]:
        bounds = [
            (c.present, c.missing) + ((c.lower, c.upper) if space.upper[j] > space.lower[j] else ())
            for j, c in path.numeric.items()
        ]
        return (path.label, *bounds, *path.allowed.values())

    first, second = (
        {p: [essence(q) for q in paths].count(p) for p in map(essence, paths)}
        for paths in (naive_paths(a, space), naive_paths(b, space))
    )
    assert distance >= 0
    assert (distance < 1e-12) == (first == second)


@examples(100)
@given(tree_collections(2, max_leaves=5), hs.sampled_from([1.0, 0.0, 24.0]))
def test_metric_weight_lies_between_the_distances(collection: Collection, weight: float) -> None:
    """|w'(p) - w'(q)| <= d(p, q) <= w'(p) + w'(q): what makes the metric form a metric."""
    space, (a, b) = collection
    first, second = naive_paths(a, space), naive_paths(b, space)
    cost = cost_matrix(first, second, space, weight)
    for (i, p), (j, q) in itertools.product(enumerate(first), enumerate(second)):
        wp, wq = metric_weight(p, space, weight), metric_weight(q, space, weight)
        assert abs(wp - wq) <= cost[i, j] + 1e-9
        assert cost[i, j] <= wp + wq + 1e-9


def test_the_papers_distance_is_no_metric() -> None:
    """Proposition 1 of the paper fails for trees of unequal size."""
    slice_1 = build((0, EPS, "no", "no"))
    slice_2 = build((1, EPS, "no", "no"))
    leaf = build("no")
    detour = st.tree_distance(slice_1, leaf, space=UNIT) + st.tree_distance(
        leaf, slice_2, space=UNIT
    )
    direct = st.tree_distance(slice_1, slice_2, space=UNIT)
    assert direct == pytest.approx(1.0)
    assert detour == pytest.approx(3 * EPS)
    assert direct > 20 * detour
    metric = st.pairwise_tree_distances([slice_1, leaf, slice_2], space=UNIT, variant="metric")
    assert metric[0, 2] <= metric[0, 1] + metric[1, 2]


# -- the bound --------------------------------------------------------------------


@examples(150)
@given(
    hs.integers(0, 2**32),
    hs.integers(0, 4),
    hs.sampled_from(["paper", "metric"]),
    hs.sampled_from([1.0, 0.0, 8.0]),
)
def test_the_bound_holds(seed: int, depth: int, variant: str, weight: float) -> None:
    """Proposition 2 of the paper: d <= 2^D (2D + lambda)."""
    rng = Random(seed)
    space = random_space(rng, Kind(), n_features=rng.randint(1, 8))
    a, b = (random_tree(rng, space, Kind(), max_leaves=2**depth, max_depth=depth) for _ in range(2))
    distance = st.tree_distance(a, b, space=space, variant=variant, label_weight=weight)
    bound = st.distance_bound(depth, weight)
    assert bound == 2**depth * (2 * depth + weight)
    assert distance <= bound + 1e-9
    share = st.tree_distance(
        a,
        b,
        space=space,
        variant=variant,
        label_weight=weight,
        normalize="bound",
        max_depth=max(depth, 1),
    )
    assert 0 <= share <= 1 + 1e-9


# -- invariances ------------------------------------------------------------------


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_order_of_splits_does_not_matter(variant: str) -> None:
    one = build((0, 0.3, (1, 0.6, "no", "yes"), (1, 0.6, "yes", "no")))
    two = build((1, 0.6, (0, 0.3, "no", "yes"), (0, 0.3, "yes", "no")))
    assert one != two
    assert st.tree_distance(one, two, space=UNIT, variant=variant) == 0.0
    assert st.tree_distance(MID_1, one, space=UNIT, variant=variant) == pytest.approx(
        st.tree_distance(MID_1, two, space=UNIT, variant=variant), **CLOSE
    )


@examples(60)
@given(tree_collections(2, kind=Kind(), max_leaves=6), hs.randoms(), hs.sampled_from(VARIANTS))
def test_columns_and_nodes_in_another_order(
    collection: Collection, rng: Random, variant: str
) -> None:
    """Features are matched by name, and node numbers mean nothing."""
    space, (a, b) = collection
    distance = st.tree_distance(a, b, space=space, variant=variant)
    shuffled = shuffled_copy(rng, b, space)
    assert st.tree_distance(a, shuffled, space=space, variant=variant) == pytest.approx(
        distance, **CLOSE
    )
    order = list(range(space.n_features))
    rng.shuffle(order)
    permuted = st.FeatureSpace(
        lower=space.lower[order],
        upper=space.upper[order],
        categories=tuple(space.categories[j] for j in order),
        can_be_missing=space.can_be_missing[order],
        names=tuple(space.feature_labels[j] for j in order),
    )
    assert st.tree_distance(a, shuffled, space=permuted, variant=variant) == pytest.approx(
        distance, **CLOSE
    )


# -- calibration ------------------------------------------------------------------


def test_dissimilarity_of_two_stumps_is_half() -> None:
    options: dict[str, Any] = {"space": UNIT, "variant": "metric", "normalize": "relative"}
    assert st.tree_distance(MID_1, MID_2, **options) == pytest.approx(0.5)
    assert st.tree_distance(MID_1, MID_1, **options) == 0.0
    turned = build((1, 0.5, "yes", "no"))
    assert st.tree_distance(MID_1, turned, **options) == pytest.approx(0.5)


def test_dissimilarity_of_trees_that_share_no_feature() -> None:
    """About four fifths, as people are told."""
    rng = np.random.default_rng(0)
    X = rng.random((400, 12))
    from sklearn.tree import DecisionTreeClassifier

    shares = []
    for seed in range(10):
        first, second = (
            DecisionTreeClassifier(max_depth=4, max_features=1, random_state=seed).fit(
                np.where(np.arange(12) % 2 == odd, X, 0.5),
                rng.random(400) < 0.5,
            )
            for odd in (0, 1)
        )
        shares.append(
            st.tree_distance(
                first,
                second,
                space=st.FeatureSpace.from_data(X),
                variant="metric",
                normalize="relative",
            )
        )
    assert 0.7 < float(np.mean(shares)) < 0.9


# -- extreme numbers --------------------------------------------------------------


@examples(150)
@given(tree_collections(2, max_leaves=6), hs.floats(1e-6, 1e6))
def test_dissimilarity_never_leaves_zero_to_one(collection: Collection, weight: float) -> None:
    space, (a, b) = collection
    options: dict[str, Any] = {"variant": "metric", "normalize": "relative"}
    for two in (b, a):
        relative = st.tree_distance(a, two, space=space, label_weight=weight, **options)
        assert 0.0 <= relative <= 1.0
    assert relative == 0.0


def test_what_has_nothing_in_common_is_at_one_exactly() -> None:
    """The label weight is rounded in the distance and not in the masses: 1 + 2e-11."""
    yes, no = build("yes"), build("no")
    options: dict[str, Any] = {"variant": "metric", "normalize": "relative"}
    relative = [
        st.tree_distance(yes, no, space=UNIT, label_weight=float(weight), **options)
        for weight in np.random.default_rng(0).uniform(1e-3, 0.1, 50)
    ]
    assert max(relative) == 1.0
    assert min(relative) == pytest.approx(1.0, abs=1e-9)


@examples(150)
@given(
    tree_collections(2, max_leaves=5),
    hs.sampled_from(VARIANTS),
    hs.one_of(hs.just(0.0), hs.floats(1e-6, 1e6)),
)
def test_any_label_weight_allowed_gives_the_definition(
    collection: Collection, variant: str, weight: float
) -> None:
    space, (a, b) = collection
    ours = st.tree_distance(a, b, space=space, variant=variant, label_weight=weight)
    plain = naive_distance(a, b, space, variant=variant, label_weight=weight)
    assert ours == pytest.approx(plain, rel=1e-9, abs=1e-12 if weight <= 256 else 3e-8)


@examples(150)
@given(
    hs.tuples(hs.floats(-1.7e308, 1.7e308), hs.floats(-1.7e308, 1.7e308)).filter(
        lambda bounds: bounds[0] < bounds[1]
    ),
    hs.lists(hs.floats(0, 1), min_size=2, max_size=2),
    hs.booleans(),
)
def test_any_range_gives_the_definition(
    bounds: tuple[float, float], at: list[float], regression: bool
) -> None:
    low, high = bounds
    values = [min(max(low * (1 - share) + high * share, low), high) for share in at]
    space = st.FeatureSpace(
        lower=[low], upper=[high], response_range=(low, high) if regression else None
    )
    kind: dict[str, Any] = {"n_features": 1, "classes": None if regression else ("no", "yes")}
    outcomes = [(low, high), (values[0], low)] if regression else [("no", "yes")] * 2
    a, b = (build((0, v, *ends), **kind) for v, ends in zip(values, outcomes, strict=True))
    for variant in VARIANTS:
        ours = st.tree_distance(a, b, space=space, variant=variant)
        assert ours == pytest.approx(naive_distance(a, b, space, variant=variant), **CLOSE)


def test_a_range_beyond_the_largest_number() -> None:
    space = st.FeatureSpace(lower=[-1.7e308], upper=[1.7e308])
    a, b = (build((0, t, "no", "yes"), n_features=1) for t in (0.0, 0.85e308))
    # A quarter of the range, half of it on each of two bounds.
    assert st.tree_distance(a, b, space=space) == pytest.approx(0.25, rel=1e-12)
    assert {rule.status for rule in st.diff_trees(a, b, space=space).rules} == {"moved"}
