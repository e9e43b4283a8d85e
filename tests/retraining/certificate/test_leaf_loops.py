"""The loops over leaves certify the same compiled and plain."""

from __future__ import annotations

import importlib.util
import sys

import pytest

from steadytree.certificate import certify as certify_search
from steadytree.certificate import family as objective
from steadytree.certificate import leaf_loops, sides, subtree_loops
from steadytree.certificate.statement import CertificateOptions
from tests.retraining.certificate.samples import TASKS, small_search


@pytest.mark.parametrize("task", TASKS)
def test_plain_loops_certify_the_same(task, monkeypatch):
    run = small_search(task, 1, n=60)
    edited = run.path((0.05,))[0]
    options = CertificateOptions(depth=2, cut_points=5)
    compiled = certify_search.certify_search(run, edited, options).certificate
    monkeypatch.setenv("STEADYTREE_NO_NUMBA", "1")
    for loops in (leaf_loops, subtree_loops):
        name = loops.__name__.rpartition(".")[2]
        spec = importlib.util.spec_from_file_location(f"plain_{name}", loops.__file__)
        plain = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, spec.name, plain)
        spec.loader.exec_module(plain)
        for module in (certify_search, objective, sides):
            if hasattr(module, name):
                monkeypatch.setattr(module, name, plain)
    assert not certify_search.leaf_loops.COMPILED
    again = certify_search.certify_search(run, edited, options).certificate
    assert again.cut_points == compiled.cut_points
    assert again.lower_bound == pytest.approx(compiled.lower_bound, abs=1e-9)
    assert again.best_objective == pytest.approx(compiled.best_objective, abs=1e-9)
