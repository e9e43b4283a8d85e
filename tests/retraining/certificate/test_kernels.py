"""Compiled loops: matchings as scipy's, widths that bound areas, the same without numba."""

from __future__ import annotations

import importlib.util
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from steadytree.retraining.certificate import bound, certify, kernels, objective, sides
from steadytree.retraining.certificate.sides import scaled_shape
from steadytree.retraining.certificate.statement import CertificateOptions
from tests.retraining.certificate.samples import TASKS, small_search


@given(seed=st.integers(0, 10_000), n=st.integers(1, 8), rules=st.integers(1, 9))
@settings(max_examples=60, deadline=None)
def test_matchings_are_those_of_scipy_and_their_multipliers_are_exact(seed, n, rules):
    rng = np.random.default_rng(seed)
    reach = rng.normal(size=(n, rules + 1))
    reach[:, -1] = rng.random(n)
    partner, multipliers = np.zeros(n, dtype=np.int64), np.zeros(rules)
    total = kernels.assign(reach, n, partner, multipliers)
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
    _, area = kernels.tree_value(np.zeros(n), *mine, n)
    across = np.abs(np.outer(mine[0], shape[:, 1]) - np.outer(mine[1], shape[:, 0])).sum()
    assert np.sqrt(area) <= across + 1e-12
    own = scaled_shape(*mine)
    if own is not None:
        alike = np.abs(np.outer(mine[0], own[:, 1]) - np.outer(mine[1], own[:, 0])).sum()
        assert alike == pytest.approx(np.sqrt(area), abs=1e-12)


@pytest.mark.parametrize("task", TASKS)
def test_plain_loops_certify_the_same(task, monkeypatch):
    run = small_search(task, 1, n=60)
    edited = run.path((0.05,))[0]
    options = CertificateOptions(depth=2, cut_points=5)
    compiled = certify.certify_search(run, edited, options).certificate
    monkeypatch.setenv("STEADYTREE_NO_NUMBA", "1")
    spec = importlib.util.spec_from_file_location("plain_kernels", kernels.__file__)
    plain = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "plain_kernels", plain)
    spec.loader.exec_module(plain)
    assert not plain.COMPILED
    for module in (bound, certify, objective, sides):
        if hasattr(module, "kernels"):
            monkeypatch.setattr(module, "kernels", plain)
    again = certify.certify_search(run, edited, options).certificate
    assert again.cut_points == compiled.cut_points
    assert again.lower_bound == pytest.approx(compiled.lower_bound, abs=1e-9)
    assert again.best_objective == pytest.approx(compiled.best_objective, abs=1e-9)
