"""A certificate against brute force: at depth 2 the very best tree, never a bound too high."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steadytree.certificate.certify import CertificateOptions, certify_search
from steadytree.certificate.family import choose_cuts
from steadytree.growing.nodes import leaves_of
from steadytree.tree.decision import STEADY
from tests.certificate.brute_force import Judge, all_trees, random_tree
from tests.certificate.samples import LIMITS, TASKS, small_search


def certified(run, price, **options):
    """The tree at a price, the cut points, the certificate and the better tree."""
    edited = run.path((price,))[0]
    certificate, better = certify_search(run, edited, CertificateOptions(**options))
    cuts = choose_cuts(
        run.make, [run.start, edited.root], options["cut_points"], run.limits.min_leaf
    )
    assert certificate.cut_points == len(cuts)
    return edited, cuts, certificate, better


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize(
    ("seed", "price", "steady"),
    [(0, 0.3, STEADY), (1, 0.03, STEADY), (2, 0.1, 0.0), (4, 0.0, STEADY)],
)
def test_at_depth_2_the_best_tree_is_that_of_brute_force(task, seed, price, steady):
    run = small_search(task, seed, steady=steady)
    edited, cuts, certificate, better = certified(run, price, depth=2, cut_points=7)
    judge = Judge(run, price)
    values = [judge(tree) for tree in all_trees(run, cuts, 2, edited.root)]
    best = min(*values, judge(edited.root), judge(run.start))
    assert certificate.lower_bound == pytest.approx(best, abs=1e-8)
    assert certificate.best_objective == pytest.approx(best, abs=1e-8)
    assert certificate.proved
    if better is not None:
        assert judge(better.root) == pytest.approx(best, abs=1e-8)


@given(
    task=st.sampled_from(TASKS),
    seed=st.integers(0, 10_000),
    price=st.sampled_from([0.0, 0.02, 0.1, 0.2, 0.5]),
    depth=st.integers(1, 3),
    work=st.sampled_from([0.0, 1e6]),
    leaves=st.integers(2, 5),
)
@settings(max_examples=25, deadline=None)
def test_no_tree_of_the_family_is_below_the_bound(task, seed, price, depth, work, leaves):
    limits = replace(LIMITS, max_depth=4, max_leaves=8)
    run = small_search(task, seed, n=60, leaves=leaves, limits=limits)
    edited, cuts, certificate, _ = certified(run, price, depth=depth, cut_points=8, work=work)
    lower, judge = certificate.lower_bound, Judge(run, price)
    assert lower <= certificate.best_objective <= certificate.objective
    edited_once = run.edit_cost if judge.differs(edited.root) else 0.0
    found = run.objective(edited.root, price) + edited_once
    assert certificate.objective == pytest.approx(found, abs=1e-12)
    assert lower <= run.objective(run.start, price) + 1e-9
    rng = np.random.default_rng(seed)
    for _ in range(15):
        tree = random_tree(run, cuts, depth, edited.root, rng)
        if tree is not None:
            assert lower <= judge(tree) + 1e-8


def test_a_better_tree_is_exported_with_its_objective_and_labels():
    run = small_search("binary", 1)
    _, _, certificate, better = certified(run, 0.03, depth=2, cut_points=7)
    assert better is not None
    gain = certificate.objective - certificate.best_objective
    assert gain > run.edit_cost
    labels = [run.outcome(leaf) for leaf in leaves_of(better.root)]
    assert better.tree.label[better.tree.is_leaf].tolist() == labels
    value = run.objective(better.root, 0.03) + run.edit_cost
    assert value == pytest.approx(certificate.best_objective, abs=1e-12)


def test_the_deployed_tree_is_never_charged_for_an_edit():
    run = small_search("binary", 3)
    edited, _, certificate, better = certified(run, 50.0, depth=2, cut_points=6)
    assert edited.edits == ()
    kept = run.objective(run.start, 50.0)
    assert certificate.objective == pytest.approx(kept, abs=1e-12)
    assert certificate.gap <= 1e-8
    assert better is None


def test_what_the_deployed_leaf_knows_of_before_counts_in_the_bound():
    """Without the old rows a leaf left alone may keep a label that a fresh one may not."""
    for seed in range(6):
        run = small_search("binary", seed, deployed_share=1.0)
        edited = run.path((0.1,))[0]
        certificate, _ = certify_search(run, edited, CertificateOptions(depth=2, cut_points=6))
        assert certificate.lower_bound <= run.objective(run.start, 0.1) + 1e-9
        assert certificate.lower_bound <= certificate.objective


def test_more_work_never_gives_a_lower_bound():
    run = small_search("binary", 5, n=200, leaves=5, limits=replace(LIMITS, max_leaves=8))
    edited = run.path((0.05,))[0]
    bounds = [
        certify_search(run, edited, CertificateOptions(depth=3, cut_points=20, work=work))[
            0
        ].lower_bound
        for work in (0.0, 1e8)
    ]
    assert bounds[0] <= bounds[1] + 1e-12


def test_the_result_is_repeatable():
    run = small_search("multiclass", 1)
    edited = run.path((0.1,))[0]
    options = CertificateOptions(depth=2, cut_points=6)
    first, _ = certify_search(run, edited, options)
    assert first == certify_search(run, edited, options)[0]


def test_without_any_cut_the_found_tree_is_certified_against_pruning_alone():
    run = small_search("binary", 0, leaves=2, limits=replace(LIMITS, min_leaf=60))
    edited = run.path((0.5,))[0]
    certificate, _ = certify_search(run, edited, CertificateOptions(cut_points=1))
    assert certificate.lower_bound <= certificate.objective
    assert certificate.proved
