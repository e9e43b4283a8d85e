"""The search: what each price buys, locks, weights, limits and labels."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from steadytree.distance import tree_distance
from steadytree.evaluation.locks import lock_nodes
from steadytree.exceptions import InputError
from steadytree.formats.rules.read_rules import tree_from_rules
from steadytree.growing.best_first import TaughtRows
from steadytree.growing.nodes import side_condition, split_of
from steadytree.retraining import retrain
from steadytree.retraining.edits.candidates import MOVED, REPLACED, Exchange
from steadytree.retraining.edits.search import PricedEdits, _Edit, _words_of
from steadytree.retraining.given import SearchOptions
from steadytree.tree.decision import STEADY, Decision
from steadytree.tree.space import FeatureSpace
from tests.growing.mixed import mixed_table, space_of
from tests.retraining.edits.samples import LIMITS, PRICES, problem, search, stump


@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
@pytest.mark.parametrize("seed", [0, 1])
def test_distances_are_the_metric_distances_of_the_exported_trees(task, seed):
    deployed, taught, space, _, _ = problem(task, seed)
    path = search(deployed, taught, space).path(PRICES)
    for edited in path:
        exact = tree_distance(deployed, edited.tree, space=space, variant="metric")
        assert edited.distance == pytest.approx(exact, abs=1e-9)


@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
def test_lower_prices_buy_more_change(task):
    deployed, taught, space, _, _ = problem(task)
    run = search(deployed, taught, space)
    path = run.path(PRICES)
    shown = [e for e in path if np.isfinite(e.price)]
    distances = [e.distance for e in shown]
    assert distances == sorted(distances)
    assert all(text.startswith("relabel") for text in path[0].edits)
    assert path[-1].edits
    assert len(path[-1].edits) >= len(path[1].edits)
    assert path[-1].tree.n_leaves <= LIMITS.max_leaves
    assert path[-1].tree.depth <= LIMITS.max_depth
    if task != "regression":  # for regression the leaves' values are part of the distance
        assert path[0].distance == len(path[0].edits)


@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
def test_at_each_price_no_tree_met_on_the_way_is_better(task):
    deployed, taught, space, _, _ = problem(task, seed=1)
    run = search(deployed, taught, space)
    met, step = [run.root], run._step

    def watched():
        moved = step()
        met.extend([run.root] if moved else [])
        return moved

    run._step = watched
    path = run.path((0.5, 0.2, 0.1, 0.05, 0.0))
    assert len(met) > 3
    for edited in path:
        values = [
            run.criterion.missed(root) + edited.price * run.distance(root) + run.edit_cost * i
            for i, root in enumerate(met)
        ]
        best = met[int(np.argmin(values))]
        assert edited.distance == pytest.approx(run.distance(best) * run.anchor.mass)
        assert edited.tree.n_leaves == best.n_leaves


def test_an_infinite_price_re_estimates_leaves_and_changes_no_rule():
    deployed, taught, space, X, _ = problem()
    (edited,) = search(deployed, taught, space).path((np.inf,))
    assert len(edited.edits) == 2  # labels follow shares that clearly contradict them
    assert all(text.startswith("relabel") for text in edited.edits)
    assert edited.distance == pytest.approx(2)
    kept = search(deployed, taught, space, decision=Decision(steady=1e6)).path((np.inf,))[0]
    assert kept.edits == ()
    assert kept.distance == 0
    np.testing.assert_array_equal(kept.tree.predict(X), deployed.predict(X))
    np.testing.assert_array_equal(edited.tree.value, kept.tree.value)
    rules = [[list(t.leaves).index(n) for n in t.apply(X)] for t in (edited.tree, deployed)]
    assert rules[0] == rules[1]
    np.testing.assert_array_equal(np.sort(edited.tree.threshold), np.sort(deployed.threshold))
    assert not np.allclose(np.sort(edited.tree.value[:, 1]), np.sort(deployed.value[:, 1]))
    leaf = edited.tree.apply_coded(taught.coded)
    for node in np.unique(leaf):
        rows = leaf == node
        assert edited.tree.value[node, 1] == pytest.approx(taught.targets[rows, 0].mean())


def test_each_step_is_worth_its_price():
    """J goes down with every edit: loss saved covers price, distance and the edit's cost."""
    deployed, taught, space, _, _ = problem()
    run = search(deployed, taught, space)
    run.price = 0.1

    def objective():
        return run.criterion.missed(run.root) + run.price * run.distance(run.root)

    values = [objective()]
    while run._step():
        values.append(objective() + run.edit_cost * len(run.edits))
    assert len(values) > 1
    assert all(b < a for a, b in pairwise(values))


@pytest.mark.parametrize("seed", range(3))
def test_locked_conditions_and_leaves_are_not_touched(seed):
    deployed, taught, space, _, _ = problem(seed=seed, n=300)
    free = search(deployed, taught, space).path((0.0,))[0]
    assert free.edits
    root = search(deployed, taught, space, locked=[0]).path((0.0,))[0].tree
    assert split_of(root, 0) == split_of(deployed, 0)
    leaf = int(deployed.leaves[0])
    kept = search(deployed, taught, space, locked=[leaf]).path((0.0,))[0].tree
    node, wanted = 0, 0
    while not deployed.is_leaf[wanted]:
        assert split_of(kept, node) == split_of(deployed, wanted)
        node, wanted = int(kept.children_left[node]), int(deployed.children_left[wanted])
    assert kept.is_leaf[node]
    assert kept.label[node] == deployed.label[wanted]
    everything = range(deployed.n_nodes)
    none = search(deployed, taught, space, locked=everything).path((0.0,))[0]
    assert none.edits == ()
    assert none.distance == 0


def test_lock_of_a_leaf_locks_its_way():
    deployed, *_ = problem()
    leaf = int(deployed.leaves[-1])
    locked = lock_nodes(deployed, [leaf])
    assert {0, leaf} <= locked
    assert len(locked) == deployed.node_depth[leaf] + 1
    with pytest.raises(InputError, match=r"below \d+, got 99"):
        lock_nodes(deployed, [99])


def test_weights_count():
    deployed, taught, space, _, _ = problem()
    # Few values, so that both have the same cut points.
    taught = replace(taught, coded=np.round(taught.coded / [5, 1, 1, 1], 1) * [5, 1, 1, 1])
    twice = np.concatenate([np.arange(400), np.arange(200)])
    repeated = TaughtRows(taught.coded[twice], taught.targets[twice], np.ones(600), 600, 2)
    weighted = replace(taught, weight=np.r_[np.full(200, 2.0), np.ones(200)])
    limits = replace(LIMITS, min_leaf=1)
    a = search(deployed, repeated, space, limits=limits)
    b = search(deployed, weighted, space, limits=limits)
    trees = [run.path((0.3,))[0].tree for run in (a, b)]
    assert a.criterion.missed(a.root) == pytest.approx(b.criterion.missed(b.root))
    np.testing.assert_allclose(trees[0].value, trees[1].value)


def test_a_rule_is_never_moved_to_itself():
    deployed, taught, space, _, _ = problem("regression")
    mean = np.average(taught.targets, axis=0, weights=taught.weight)
    blind = replace(taught, targets=mean + 1e-3 * (taught.targets - mean), outcomes=taught.targets)
    options = SearchOptions(edit_cost=0.0)
    run = PricedEdits(deployed, blind, space, limits=LIMITS, options=options)
    for text in run.path((0.05, 0.0))[-1].edits:
        before, _, after = text.removeprefix("move ").partition(" to ")
        assert before != after


def test_a_condition_that_is_exchanged_again_is_told_by_its_ends():
    """A cut moved three times was told as three edits, two of them to cuts of no tree."""

    def edit(text, was, now, *sides):
        return _Edit(Exchange(text, was, now), sides)

    grown = _Edit("split a leaf in 2 on b <= 1", (True,))
    edits = [edit(MOVED, "a <= 5", "a <= 6"), grown, edit(MOVED, "a <= 6", "a <= 4")]
    assert _words_of(edits) == ["move a <= 5 to a <= 4", "split a leaf in 2 on b <= 1"]
    assert _words_of([*edits, edit(REPLACED, "a <= 4", "c <= 1")])[0] == "replace a <= 5 by c <= 1"
    assert _words_of([*edits, edit(MOVED, "a <= 4", "a <= 5")]) == ["split a leaf in 2 on b <= 1"]
    elsewhere = edit(MOVED, "a <= 4", "a <= 3", False)
    assert _words_of([*edits, elsewhere])[-1] == "move a <= 4 to a <= 3"


def test_prices_must_not_rise():
    deployed, taught, space, _, _ = problem()
    with pytest.raises(InputError, match="decreasing prices"):
        search(deployed, taught, space).path((0.1, 0.2))


def test_a_teacher_who_sees_nothing_earns_no_edit():
    X, y = mixed_table(500, 0)
    space = space_of(X, y, "binary")
    rng = np.random.default_rng(0)
    soft = 0.4 + rng.normal(0, 0.02, (500, 1))
    taught = TaughtRows(space.encode(X), soft, np.ones(500), 500, 2)
    deployed = stump(55.0, space, shares=(0.38, 0.42))
    run = PricedEdits(deployed, taught, space, limits=LIMITS)
    assert run.path((0.05,))[0].edits == ()


def test_splits_in_words():
    X, y = mixed_table(100, 0)
    space = space_of(X, y, "binary")
    tree = stump(50.0, space)
    split = split_of(tree, 0)
    assert str(side_condition(split, space)) == "age <= 50"
    assert str(side_condition(split, space, left=False)) == "age > 50"


def test_an_edit_names_no_category_that_cannot_arrive_there():
    rng = np.random.default_rng(0)
    term = rng.choice(["a month", "a year", "two years"], 600)
    X = pd.DataFrame({"term": term, "age": rng.integers(20, 80, 600)})
    y = np.where((term == "a month") | (X["age"] > 50), "yes", "no")
    deployed = tree_from_rules("""
    categories of term: a month, a year, two years
    term in a month: yes
    else:
        term in a month, two years: yes
        else: no
    """)
    options = {
        "n_folds": 0,
        "price": 0.05,
        "search": SearchOptions(n_estimators=20),
        "random_state": 0,
    }
    found = retrain(deployed, X, y, space=FeatureSpace.from_data(X, y), **options)
    assert len(found.edits) == 1
    assert found.edits[0].startswith("rebuild the part below term is two years with 2 leaves")


# -- labels -----------------------------------------------------------------------------


@pytest.mark.parametrize(("share", "steady"), [(0.51, 0), (0.55, 1)])
def test_a_label_stays_while_the_share_is_within_half_an_error_of_the_threshold(share, steady):
    X, _ = mixed_table(400, 0)
    space = space_of(X, np.array([0, 1]), "binary")
    deployed = stump(55.0, space, shares=(0.4, 0.6))
    below = (X["age"] <= 55).to_numpy()
    assert 0.51 < 0.5 + 0.5 * np.sqrt(0.25 / below.sum()) < 0.55
    soft = np.where(below, share, 0.75)[:, None]  # the left leaf is now above one half
    taught = TaughtRows(space.encode(X), soft, np.ones(400), 400, 2)
    for errors, expected in ((STEADY, steady), (0.0, 1)):
        decision = Decision(steady=errors)
        for edited in search(deployed, taught, space, decision=decision).path((np.inf, 0.5)):
            left = edited.tree.children_left[0]
            assert edited.tree.value[left, 1] == pytest.approx(share)  # never altered
            assert edited.tree.label[left] == expected
            assert edited.tree.kept_against_share[left] == (expected == 0)
            assert ("relabel a leaf from 0 to 1" in edited.edits) == (expected == 1)


def test_a_new_policy_is_for_the_new_tree_alone():
    X, _ = mixed_table(400, 0)
    space = space_of(X, np.array([0, 1]), "binary")
    deployed = stump(55.0, space, shares=(0.2, 0.4))
    soft = np.where(X["age"] <= 55, 0.2, 0.4)[:, None]
    taught = TaughtRows(space.encode(X), soft, np.ones(400), 400, 2)
    run = PricedEdits(
        deployed,
        taught,
        space,
        limits=LIMITS,
        decision=Decision(threshold=0.3),
    )
    (edited,) = run.path((np.inf,))
    assert edited.tree.label[edited.tree.leaves].tolist() == [0, 1]
    assert edited.tree.decision_threshold == 0.3
    # The distance is to the decisions in force, which were all "no".
    assert deployed.label[deployed.leaves].tolist() == [0, 0]
    assert edited.distance == pytest.approx(
        tree_distance(deployed, edited.tree, space=space, variant="metric")
    )
    assert edited.distance > 0


def test_a_decision_threshold_is_inherited():
    X, _ = mixed_table(400, 0)
    space = space_of(X, np.array([0, 1]), "binary")
    deployed = stump(55.0, space, shares=(0.05, 0.3), decision=0.1)
    soft = np.where(X["age"] <= 55, 0.05, 0.3)[:, None]
    taught = TaughtRows(space.encode(X), soft, np.ones(400), 400, 2)
    (edited,) = search(deployed, taught, space).path((0.0,))
    assert edited.tree.decision_threshold == 0.1
    assert set(edited.tree.label[edited.tree.leaves]) == {0, 1}
