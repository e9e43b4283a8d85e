"""One pair with scipy: the matching, its prices, and equal trees computed once."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from steadytree.distance import _solver
from steadytree.distance._solver import assign, match, pairwise_by_scipy
from steadytree.distance.variants import in_quanta
from tests.distance.solver.examples import VARIANTS, breast_cancer_paths, measure, plain_distance


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_matching_and_its_total(variant: str) -> None:
    small, large = breast_cancer_paths(4)[1::2]
    for first, second in ((small, large), (large, small), (large, large)):
        (a, b), _ = in_quanta([first, second], measure(variant))
        found = match(a, b)
        lone = np.delete(
            np.arange(max(len(a.x), len(b.x))),
            found.rows if len(a.x) >= len(b.x) else found.columns,
        )
        total = found.cost[found.rows, found.columns].sum() + found.price[lone].sum()
        assert total == found.total
        plain = plain_distance(first, second, variant, "label", 1.0)
        assert found.total * 2.0**-44 == pytest.approx(plain, rel=1e-9)


def test_the_nearest_column_is_the_price_where_nobody_gives_one() -> None:
    cost = np.array([[5.0], [1.0], [3.0]])
    rows, columns, price, total = assign(cost, lambda: None)
    assert price.tolist() == [5, 1, 3]
    assert len(rows) == len(columns) == 1
    assert total == 9
    *_, total = assign(cost, lambda: np.array([4, 4, 4]))
    assert total == 9
    *_, total = assign(cost[:1], lambda: pytest.fail("all have a partner"))
    assert total == 5


def test_two_collections_pair_by_pair() -> None:
    paths = breast_cancer_paths(6)
    distances = pairwise_by_scipy(paths[:2], paths[1:5], measure("metric"))
    for i, j in itertools.product(range(2), range(4)):
        plain = plain_distance(paths[i], paths[1 + j], "metric", "label", 1.0)
        assert distances[i, j] == pytest.approx(plain, rel=1e-9, abs=1e-12)
    assert pairwise_by_scipy(paths[:1], paths[4:5], measure("metric")) == distances[0, 3]


def test_equal_trees_are_solved_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    monkeypatch.setattr(_solver, "match", lambda a, b: calls.append(1) or match(a, b))
    paths = breast_cancer_paths(3)
    distances = pairwise_by_scipy([*paths, *paths], None, measure())
    assert len(calls) == 3
    np.testing.assert_array_equal(distances[:3, :3], distances[3:, :3])
    assert (np.diag(distances) == 0).all()
