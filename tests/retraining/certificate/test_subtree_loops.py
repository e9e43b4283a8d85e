"""The loops over subtrees: matchings as scipy's, widths that bound areas."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from steadytree.certificate import subtree_loops
from steadytree.certificate.sides import scaled_shape


@given(seed=st.integers(0, 10_000), n=st.integers(1, 8), rules=st.integers(1, 9))
@settings(max_examples=60, deadline=None)
def test_matchings_are_those_of_scipy_and_their_multipliers_are_exact(seed, n, rules):
    rng = np.random.default_rng(seed)
    reach = rng.normal(size=(n, rules + 1))
    reach[:, -1] = rng.random(n)
    partner, multipliers = np.zeros(n, dtype=np.int64), np.zeros(rules)
    total = subtree_loops.assign(reach, n, partner, multipliers)
    wide = np.full((n, rules + n), 1e6)
    wide[:, :rules] = reach[:, :-1]
    wide[np.arange(n), rules + np.arange(n)] = reach[:, -1]
    rows, columns = linear_sum_assignment(wide)
    assert total == pytest.approx(wide[rows, columns].sum(), abs=1e-9)
    used = partner[partner < rules]
    assert len(set(used.tolist())) == len(used)
    assert total == pytest.approx(reach[np.arange(n), partner].sum(), abs=1e-9)
    # At these multipliers the relaxed problem loses nothing.
    relaxed = np.minimum(reach[:, -1], (reach[:, :-1] + multipliers).min(axis=1)).sum()
    assert relaxed - multipliers.sum() == pytest.approx(total, abs=1e-9)
    assert (multipliers >= 0).all()


@given(seed=st.integers(0, 10_000), n=st.integers(2, 8), m=st.integers(2, 8))
@settings(max_examples=100, deadline=None)
def test_widths_across_any_shape_bound_the_area_of_a_ranking(seed, n, m):
    rng = np.random.default_rng(seed)
    mine, other = rng.dirichlet(np.ones(n), 2), rng.dirichlet(np.ones(m), 2)
    shape = scaled_shape(*other)
    if shape is None:
        return
    _, area = subtree_loops.tree_value(np.zeros(n), *mine, n)
    across = np.abs(np.outer(mine[0], shape[:, 1]) - np.outer(mine[1], shape[:, 0])).sum()
    assert np.sqrt(area) <= across + 1e-12
    own = scaled_shape(*mine)
    if own is not None:
        alike = np.abs(np.outer(mine[0], own[:, 1]) - np.outer(mine[1], own[:, 0])).sum()
        assert alike == pytest.approx(np.sqrt(area), abs=1e-12)
