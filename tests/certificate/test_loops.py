"""The loops of a certificate: plain as compiled, matchings as scipy's, widths that bound areas."""

from __future__ import annotations

import importlib.util
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from steadytree.certificate import bound, family, loops
from steadytree.certificate.bound import scaled_shape
from steadytree.certificate.certify import CertificateOptions, certify_search
from tests.certificate.samples import TASKS, small_search


@given(seed=st.integers(0, 10_000), n=st.integers(1, 8), rules=st.integers(1, 9))
@settings(max_examples=60, deadline=None)
def test_matchings_are_those_of_scipy_and_their_multipliers_are_exact(seed, n, rules):
    rng = np.random.default_rng(seed)
    reach = rng.normal(size=(n, rules + 1))
    reach[:, -1] = rng.random(n)
    partner, multipliers = np.zeros(n, dtype=np.int64), np.zeros(rules)
    total = loops.assign(reach, n, partner, multipliers)
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


@given(seed=st.integers(0, 10_000), depth=st.integers(0, 2))
@settings(max_examples=60, deadline=None)
def test_the_cheapest_subtree_is_the_cheapest_of_all_also_where_leaves_cost_less_than_nothing(
    seed, depth
):
    n_cuts = 4
    cost = np.random.default_rng(seed).normal(0.2, 0.5, size=1 + 2 * n_cuts + 4 * n_cuts**2)
    chosen = np.zeros(4, dtype=np.int64)
    least = loops.cheapest_subtree(cost, n_cuts, depth, chosen)
    every = loops.Subtrees(np.zeros((500, 4), dtype=np.int64), np.zeros(500))
    n = loops.list_subtrees(cost, n_cuts, depth, np.inf, every)
    assert n == (1, 5, 1 + n_cuts * n_cuts**2)[depth]
    assert least == pytest.approx(every.costs[:n].min(), abs=1e-12)
    assert least == pytest.approx(cost[chosen[chosen >= 0]].sum(), abs=1e-12)


def _leaves(shares):
    return loops.Leaves(np.zeros(shares.shape[1]), *shares, np.zeros((shares.shape[1], 1)))


@given(seed=st.integers(0, 10_000), n=st.integers(2, 8), m=st.integers(2, 8))
@settings(max_examples=100, deadline=None)
def test_widths_across_any_shape_bound_the_area_of_a_ranking(seed, n, m):
    rng = np.random.default_rng(seed)
    mine, other = rng.dirichlet(np.ones(n), 2), rng.dirichlet(np.ones(m), 2)
    shape = scaled_shape(_leaves(other))
    if shape is None:
        return
    _, area = loops.tree_value(_leaves(mine), n)
    across = np.abs(np.outer(mine[0], shape[:, 1]) - np.outer(mine[1], shape[:, 0])).sum()
    assert np.sqrt(area) <= across + 1e-12
    own = scaled_shape(_leaves(mine))
    if own is not None:
        alike = np.abs(np.outer(mine[0], own[:, 1]) - np.outer(mine[1], own[:, 0])).sum()
        assert alike == pytest.approx(np.sqrt(area), abs=1e-12)


@pytest.mark.parametrize("task", TASKS)
def test_plain_loops_certify_the_same(task, monkeypatch):
    run = small_search(task, 1, n=60)
    edited = run.path((0.05,))[0]
    options = CertificateOptions(depth=2, cut_points=5)
    compiled, _ = certify_search(run, edited, options)
    monkeypatch.setenv("STEADYTREE_NO_NUMBA", "1")
    spec = importlib.util.spec_from_file_location("plain_loops", loops.__file__)
    plain = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, plain)
    spec.loader.exec_module(plain)
    monkeypatch.setattr(sys.modules[certify_search.__module__], "loops", plain)
    for module in (bound, family):
        for name in vars(plain).keys() & vars(module).keys():
            if getattr(module, name) is getattr(loops, name):
                monkeypatch.setattr(module, name, getattr(plain, name))
    assert not plain.COMPILED
    again, _ = certify_search(run, edited, options)
    assert again.cut_points == compiled.cut_points
    assert again.lower_bound == pytest.approx(compiled.lower_bound, abs=1e-9)
    assert again.best_objective == pytest.approx(compiled.best_objective, abs=1e-9)
