"""A certificate: against brute force, of a finished retraining, and what it says."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as hs
from sklearn.datasets import load_wine
from sklearn.tree import DecisionTreeClassifier

import steadytree as st
from steadytree.certificate import family
from steadytree.certificate.certify import certify_search, count_trees
from steadytree.certificate.family import LeafObjective, choose_cuts, cut_key
from steadytree.exceptions import InputError
from steadytree.growing.best_first import Split
from steadytree.growing.nodes import leaves_of, nodes_of
from steadytree.retraining.edits.search import PricedEdits
from steadytree.tree.decision import STEADY
from tests.certificate.brute_force import (
    LIMITS,
    TASKS,
    Judge,
    all_trees,
    random_tree,
    small_search,
)
from tests.growing.mixed import mixed_table
from tests.retraining.conftest import QUICK
from tests.wording import refuses, said

ONCE = {**QUICK, "n_folds": 0}


# -- against brute force --------------------------------------------------------------------


def certified(run, price, cut_points):
    """The tree at a price, the cut points, the certificate and the better tree."""
    edited = run.path((price,))[0]
    certificate, better = certify_search(run, edited, cut_points)
    cuts = choose_cuts(run.make, [run.start, edited.root], cut_points, run.limits.min_leaf)
    assert certificate.cut_points == len(cuts)
    return edited, cuts, certificate, better


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize(
    ("seed", "price", "steady"),
    [(0, 0.3, STEADY), (1, 0.03, STEADY), (2, 0.1, 0.0), (4, 0.0, STEADY)],
)
def test_the_best_tree_is_that_of_brute_force(task, seed, price, steady):
    run = small_search(task, seed, steady=steady)
    edited, cuts, certificate, better = certified(run, price, cut_points=7)
    judge = Judge(run, price)
    values = [judge(tree) for tree in all_trees(run, cuts, 2, edited.root)]
    best = min(*values, judge(edited.root), judge(run.start))
    assert certificate.lower_bound == pytest.approx(best, abs=1e-8)
    assert certificate.best_objective == pytest.approx(best, abs=1e-8)
    assert certificate.proved
    if better is not None:
        assert judge(better.root) == pytest.approx(best, abs=1e-8)


@given(
    task=hs.sampled_from(TASKS),
    seed=hs.integers(0, 10_000),
    price=hs.sampled_from([0.0, 0.02, 0.1, 0.2, 0.5]),
    depth=hs.sampled_from([1, 4]),
    matched=hs.sampled_from([0, 20_000]),
    leaves=hs.integers(2, 5),
)
@settings(max_examples=25, deadline=None)
def test_no_tree_of_the_family_is_below_the_bound(task, seed, price, depth, matched, leaves):
    limits = replace(LIMITS, max_depth=depth, max_leaves=8)
    run = small_search(task, seed, n=60, leaves=leaves, limits=limits)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(family, "MOST_MATCHED", matched)
        patch.setattr(family, "ROUNDS", 2)
        edited, cuts, certificate, _ = certified(run, price, cut_points=8)
    assert certificate.depth == min(depth, 2)
    lower, judge = certificate.lower_bound, Judge(run, price)
    assert lower <= certificate.best_objective <= certificate.objective
    edited_once = run.edit_cost if judge.differs(edited.root) else 0.0
    found = run.objective(edited.root, price) + edited_once
    assert certificate.objective == pytest.approx(found, abs=1e-12)
    assert lower <= run.objective(run.start, price) + 1e-9
    rng = np.random.default_rng(seed)
    for _ in range(15):
        tree = random_tree(run, cuts, certificate.depth, edited.root, rng)
        if tree is not None:
            assert lower <= judge(tree) + 1e-8


def test_trees_that_are_too_many_to_be_matched_leave_a_gap(monkeypatch):
    run = small_search("binary", 1)
    edited = run.path((0.1,))[0]
    whole, _ = certify_search(run, edited, 7)
    monkeypatch.setattr(family, "MOST_MATCHED", 0)
    monkeypatch.setattr(family, "ROUNDS", 1)
    part, _ = certify_search(run, edited, 7)
    assert whole.proved
    assert part.lower_bound < whole.lower_bound
    assert not part.proved


def test_a_better_tree_is_exported_with_its_objective_and_labels():
    run = small_search("binary", 1)
    _, _, certificate, better = certified(run, 0.03, cut_points=7)
    assert better is not None
    assert certificate.objective - certificate.best_objective > run.edit_cost
    labels = [run.outcome(leaf) for leaf in leaves_of(better.root)]
    assert better.tree.label[better.tree.is_leaf].tolist() == labels
    value = run.objective(better.root, 0.03) + run.edit_cost
    assert value == pytest.approx(certificate.best_objective, abs=1e-12)


def test_the_deployed_tree_is_never_charged_for_an_edit():
    run = small_search("binary", 3)
    edited, _, certificate, better = certified(run, 50.0, cut_points=6)
    assert edited.edits == ()
    assert certificate.objective == pytest.approx(run.objective(run.start, 50.0), abs=1e-12)
    assert certificate.gap <= 1e-8
    assert better is None


def test_what_the_deployed_leaf_knows_of_before_counts_in_the_bound():
    """Without the old rows a leaf left alone may keep a label that a fresh one may not."""
    for seed in range(6):
        run = small_search("binary", seed, deployed_share=1.0)
        certificate, _ = certify_search(run, run.path((0.1,))[0], 6)
        assert certificate.lower_bound <= run.objective(run.start, 0.1) + 1e-9
        assert certificate.lower_bound <= certificate.objective


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("steady", [STEADY, 0.0])
def test_the_objective_by_leaves_is_that_of_the_search_with_the_kindest_labels(task, steady):
    run = small_search(task, 2, leaves=4, steady=steady)
    for edited in run.path((0.5, 0.1, 0.02)):
        objective, judge = LeafObjective(run, edited.price), Judge(run, edited.price)
        charged = run.edit_cost if judge.differs(edited.root) else 0.0
        value = objective.value(objective.of_tree(edited.root)) - run.edit_cost + charged
        assert value == pytest.approx(judge(edited.root), abs=1e-9)
        assert value <= run.objective(edited.root, edited.price) + charged + 1e-9


@pytest.mark.parametrize("task", TASKS)
def test_a_deployed_leaf_without_rows_is_judged_by_what_it_says(task):
    run = small_search(task, 0)
    label = -1 if task == "regression" else 1
    empty = run.make.leaf(run.start.rows[:0], inherited_label=label, prior=run.start.prior)
    split, _, right = run.start.parts
    lone = run.make.join(run.start.rows, split, empty, right)
    objective = LeafObjective(run, 0.2)
    value = objective.value(objective.of_tree(lone)) - run.edit_cost
    assert value <= run.objective(lone, 0.2) + 1e-9


# -- cut points -----------------------------------------------------------------------------


@pytest.mark.parametrize("task", TASKS)
def test_the_conditions_of_both_trees_are_always_among_the_cut_points(task):
    run = small_search(task, 2, leaves=5)
    edited = run.path((0.05,))[0]
    for most in (1, 12, 40):
        cuts = choose_cuts(run.make, [run.start, edited.root], most, run.limits.min_leaf)
        keys = [cut_key(cut, run.make.table) for cut in cuts]
        assert len(set(keys)) == len(keys)
        needed = {
            cut_key(node.parts[0], run.make.table)
            for root in (run.start, edited.root)
            for node in nodes_of(root)
            if not node.is_leaf
        }
        assert needed <= set(keys)
        assert len(cuts) <= max(most, len(needed))


def test_all_kinds_of_conditions_are_offered():
    run = small_search("binary", 0, n=200)
    cuts = choose_cuts(run.make, [run.start], 60, 6)
    assert len(cuts) == 60
    assert any(cut.left is not None for cut in cuts)
    dose = [cut for cut in cuts if cut.feature == 1]
    assert {cut.missing_left for cut in dose} == {False, True}
    assert any(cut.threshold == float("inf") for cut in dose)  # is it missing?


def test_conditions_that_divide_alike_are_one():
    table = small_search("binary", 0).make.table
    one = Split(2, float("nan"), (0, 1), False)
    two = Split(2, float("nan"), (2, 3), False)
    assert cut_key(one, table) == cut_key(two, table)
    assert cut_key(one, table) != cut_key(Split(2, float("nan"), (0,), False), table)
    # Nobody is missing an age: where missing values go makes no difference.
    ages = [Split(0, 50.0, None, side) for side in (False, True)]
    assert cut_key(ages[0], table) == cut_key(ages[1], table)
    doses = [Split(1, 0.0, None, side) for side in (False, True)]
    assert cut_key(doses[0], table) != cut_key(doses[1], table)


# -- a finished retraining ------------------------------------------------------------------


def test_a_better_tree_is_found_where_the_search_made_no_edit(monkeypatch):
    X, y = load_wine(return_X_y=True, as_frame=True)
    rows = np.random.default_rng(0).permutation(len(y))
    X, y = X.iloc[rows].reset_index(drop=True), y.iloc[rows].to_numpy()
    model = DecisionTreeClassifier(max_leaf_nodes=3, random_state=0).fit(X[:60], y[:60])
    monkeypatch.setattr(PricedEdits, "_step", lambda self, price: False)
    result = st.retrain(model, X[60:], y[60:], price=0.02, **ONCE)
    certificate = st.certify(result, cut_points=24)
    assert certificate.best_objective < certificate.objective - certificate.edit_cost
    assert certificate.tree != result.trees["price 0.02"]
    assert certificate.tree.metadata["edits"]
    assert certificate.to_dict()["better"]


def test_the_search_that_is_repeated_is_that_of_the_result(cancer, mixed):
    """Old rows, folds, a policy, other options and a pickled result: the same tree again."""
    X, y, _, result = cancer
    old = X[:250], y[:250]
    certificate = st.certify(pickle.loads(pickle.dumps(result)), old, cut_points=24)
    assert certificate.price == result.settings["price"]
    assert certificate == st.certify(result, old, cut_points=24)
    X, y, first = mixed
    result = st.retrain(
        *(first, X[300:500], y[300:500]),
        price=5.0,
        plan={"forbid": "noise"},
        decision=0.3,
        sample_weight=np.where(y[300:500] == 1, 2.0, 1.0),
        n_folds=0,
        search=st.SearchOptions(n_estimators=10, copies=1, max_depth=4),
        random_state=np.random.RandomState(3),
    )
    certificate = st.certify(result, cut_points=24)
    assert certificate.price == 5.0
    assert certificate.lower_bound <= certificate.objective


@pytest.mark.parametrize("task", ["regression", "multiclass"])
def test_other_outcomes(task):
    X, y = mixed_table(260, 1, task=task)
    kind = st.DistilledTreeRegressor if task == "regression" else st.DistilledTreeClassifier
    first = kind(n_estimators=10, max_leaf_nodes=4, random_state=0).fit(X[:130], y[:130])
    old = X[:130], y[:130]
    result = st.retrain(first, X[130:], y[130:], old=old, **ONCE)
    found = st.certify(result, old, cut_points=24)
    assert found.lower_bound <= found.best_objective <= found.objective


def test_what_cannot_be_certified_is_said(cancer, mixed):
    X, y, first = mixed
    locked = st.retrain(first, X[300:], y[300:], plan={"locked": "root"}, **ONCE)
    with refuses(InputError, "certificate: locks"):
        st.certify(locked)
    free = st.retrain(first, X[300:], y[300:], **ONCE)
    with refuses(InputError, "certificate: old rows that were not there"):
        st.certify(free, (X[:300], y[:300]))
    with refuses(InputError, "certificate: no rows"):
        st.certify(replace(free, rows=replace(free.rows, table=None)))
    with pytest.raises(InputError, match="cut_points"):
        st.certify(free, cut_points=0)
    with refuses(InputError, "certificate: a tree"):
        st.certify(free.tree)
    X, y, _, result = cancer
    with refuses(InputError, "certificate: old rows are needed"):
        st.certify(result)
    with refuses(InputError, "certificate: other rows"):
        st.certify(result, (X[:250], y[:250][::-1]))


# -- what it says ---------------------------------------------------------------------------

SAID = st.Certificate(
    price=0.2,
    depth=2,
    cut_points=64,
    features=("age", "dose"),
    n_trees=count_trees(2, 64),
    min_samples_leaf=8,
    objective=0.415,
    best_objective=0.415,
    lower_bound=0.415,
    edit_cost=0.001,
)


def test_in_words():
    said(SAID.words(), "certificate: none is better")
    said(replace(SAID, lower_bound=0.412).words(), "certificate: an open gap")
    small = replace(SAID, lower_bound=0.4145, best_objective=0.4145)
    said(small.words(), "certificate: less than an edit")
    better = replace(
        SAID,
        best_objective=0.40,
        lower_bound=0.40,
        tree=st.tree_from_rules("x <= 1: no\nelse: yes"),
    )
    said(better.words(), "certificate: a better tree")
    said(replace(better, lower_bound=0.39).words(), "certificate: a better tree and a gap")
    said(replace(SAID, depth=1, n_trees=10**7).words(), "certificate: one condition")


def test_as_data_it_holds_everything():
    data = json.loads(json.dumps(SAID.to_dict()))
    assert data["gap"] == 0
    assert data["proved"] is True
    assert data["features"] == ["age", "dose"]
    assert data["words"] == SAID.words()
    assert [count_trees(depth, 5) for depth in (0, 1, 2)] == [1, 6, 1 + 5 * 36]
