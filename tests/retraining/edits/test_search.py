"""The search: exact distances, what each price buys, labels, locks and limits."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from steadytree.core.tree import Tree
from steadytree.distance import tree_distance
from steadytree.exceptions import InputError
from steadytree.growing.encoding import ColumnEncoder
from steadytree.growing.nodes import side_condition, split_of
from steadytree.growing.teacher import TaughtRows, target_columns
from steadytree.retraining.edits.candidates import EditLimits
from steadytree.retraining.edits.search import PricedEdits, lock_nodes
from steadytree.retraining.options import SearchOptions
from tests.growing.mixed import mixed_table, space_of

PRICES = (np.inf, 0.5, 0.2, 0.05, 0.0)
LIMITS = EditLimits(min_leaf=10, max_depth=6, max_leaves=12)


def problem(task="binary", seed=0, n=400):
    """A deployed CART tree on some rows, and other rows with soft targets."""
    X, y = mixed_table(n, seed, task=task)
    space = space_of(X, y, task)
    encoder = ColumnEncoder(space)
    kind = DecisionTreeRegressor if task == "regression" else DecisionTreeClassifier
    model = kind(max_leaf_nodes=5, min_samples_leaf=5, random_state=seed)
    deployed = encoder.to_tree(model.fit(encoder.transform(space.encode(X))[:80], y[:80]))
    n_classes = None if task == "regression" else len(deployed.classes)
    coded = deployed.round_values(space.encode(X))
    rng = np.random.default_rng(seed)
    soft = target_columns(y, n_classes) * 0.8 + 0.1 * rng.random((n, 1))
    if n_classes == 3:
        soft /= soft.sum(axis=1, keepdims=True)
    return deployed, TaughtRows(coded, soft, np.ones(n), n, n_classes), space, X, y


def search(deployed, taught, space, locked=(), limits=LIMITS, **changes):
    return PricedEdits(
        deployed,
        taught,
        space,
        outcome_variance=float(taught.targets.var(axis=0).sum()),
        limits=replace(limits, **changes),
        locked=locked,
    )


@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
@pytest.mark.parametrize("seed", [0, 1])
def test_distances_are_the_metric_distances_of_the_exported_trees(task, seed):
    deployed, taught, space, _, _ = problem(task, seed)
    path = search(deployed, taught, space).path(PRICES)
    for made in path:
        exact = tree_distance(deployed, made.tree, space=space, variant="metric")
        assert made.distance == pytest.approx(exact, abs=1e-9)


@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
def test_lower_prices_buy_less_loss_and_more_change(task):
    deployed, taught, space, _, _ = problem(task)
    run = search(deployed, taught, space)
    path, losses = [], []
    for price in PRICES:  # each price goes on from the tree of the one before
        path += run.path((price,))
        losses.append(run.root.loss / run.scale)
    assert [e.edits for e in path] == [
        e.edits for e in search(deployed, taught, space).path(PRICES)
    ]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < losses[0]
    assert path[0].edits == ()
    assert path[-1].edits
    assert len(path[-1].edits) >= len(path[1].edits)
    assert path[-1].tree.n_leaves <= LIMITS.max_leaves
    assert path[-1].tree.depth <= LIMITS.max_depth
    if task != "regression":  # for regression the leaves' values are part of the distance
        assert path[0].distance == 0


def test_an_infinite_price_re_estimates_leaves_and_changes_no_rule():
    deployed, taught, space, X, _ = problem()
    (made,) = search(deployed, taught, space).path((np.inf,))
    np.testing.assert_array_equal(made.tree.predict(X), deployed.predict(X))
    np.testing.assert_array_equal(np.sort(made.tree.threshold), np.sort(deployed.threshold))
    assert not np.allclose(np.sort(made.tree.value[:, 1]), np.sort(deployed.value[:, 1]))
    leaf = made.tree.apply_coded(taught.coded)
    for node in np.unique(leaf):
        rows = leaf == node
        prior = deployed.value[deployed.apply_coded(taught.coded[rows][:1])[0], 1]
        mean = (taught.targets[rows, 0].sum() + 2 * prior) / (rows.sum() + 2)
        assert made.tree.value[node, 1] == pytest.approx(mean)


def test_each_step_is_worth_its_price():
    """J goes down with every edit: loss saved covers price, distance and the edit's cost."""
    deployed, taught, space, _, _ = problem()
    run = search(deployed, taught, space)
    run.price = 0.1

    def objective():
        return run.root.loss / run.scale + run.price * run.distance(run.root)

    values = [objective()]
    while run._step():
        values.append(objective() + SearchOptions.edit_cost * len(run.edits))
    assert len(values) > 1
    assert all(b < a for a, b in pairwise(values))


def _stump(threshold, space, shares=(0.2, 0.8), **more):
    share = np.array([0.5, *shares])
    return Tree(
        children_left=[1, -1, -1],
        children_right=[2, -1, -1],
        feature=[0, -1, -1],
        threshold=[threshold, np.nan, np.nan],
        value=np.column_stack([1 - share, share]),
        classes=(0, 1),
        n_features=space.n_features,
        feature_names=space.names,
        categories=space.categories,
        space=space,
        **more,
    )


def test_a_threshold_that_moved_is_moved():
    X, _ = mixed_table(500, 0)
    y = (X["age"] > 60).to_numpy().astype(np.int64)
    space = space_of(X, y, "binary")
    deployed = _stump(50.0, space)
    taught = TaughtRows(space.encode(X), target_columns(y, 2) * 0.9, np.ones(500), 500, 2)
    (made,) = search(deployed, taught, space).path((0.2,))
    assert made.tree.n_leaves == 2
    assert made.tree.threshold[0] == pytest.approx(60, abs=1)
    assert made.edits[0].startswith("move age <= 50 to age <= ")


def test_a_category_that_changed_sides_is_moved():
    X, _ = mixed_table(600, 0)
    space = space_of(X, np.array([0, 1]), "binary")
    assert space.categories[2] == ("blue", "green", "grey", "red")
    share = np.array([0.5, 0.1, 0.9])
    deployed = Tree(
        children_left=[1, -1, -1],
        children_right=[2, -1, -1],
        feature=[2, -1, -1],
        threshold=[np.nan] * 3,
        left_categories=((0, 1), None, None),
        value=np.column_stack([1 - share, share]),
        classes=(0, 1),
        n_features=4,
        feature_names=space.names,
        categories=space.categories,
        space=space,
    )
    y = X["colour"].isin(["grey", "red", "green"]).to_numpy().astype(np.int64)
    taught = TaughtRows(space.encode(X), target_columns(y, 2) * 0.9, np.ones(600), 600, 2)
    (made,) = search(deployed, taught, space).path((0.2,))
    assert made.tree.left_categories[0] == (0,)
    assert made.edits == ("move colour is blue or green to colour is blue",)


def test_missing_values_that_changed_sides_are_moved():
    X, _ = mixed_table(600, 0)
    gone = X["dose"].isna().to_numpy()
    y = ((X["dose"] > 0).to_numpy() | gone).astype(np.int64)
    space = space_of(X, y, "binary")
    deployed = _stump(0.0, space).replace(feature=[1, -1, -1], missing_left=[True, False, False])
    taught = TaughtRows(space.encode(X), target_columns(y, 2) * 0.9, np.ones(600), 600, 2)
    (made,) = search(deployed, taught, space).path((0.2,))
    assert made.tree.n_leaves == 2
    assert not made.tree.missing_left[0]


def test_labels_stay_until_the_evidence_pays():
    X, _ = mixed_table(400, 0)
    space = space_of(X, np.array([0, 1]), "binary")
    deployed = _stump(55.0, space, shares=(0.4, 0.6))
    below = (X["age"] <= 55).to_numpy()
    soft = np.where(below, 0.55, 0.75)[:, None]  # the left leaf is now just above one half
    taught = TaughtRows(space.encode(X), soft, np.ones(400), 400, 2)
    dear, cheap = search(deployed, taught, space).path((0.5, 1e-6))
    left = dear.tree.children_left[0]
    assert dear.tree.value[left, 1] > 0.5  # the share is never altered
    assert dear.tree.label[left] == 0
    assert dear.tree.kept_against_share[left]
    assert cheap.tree.label[cheap.tree.children_left[0]] == 1
    assert cheap.edits[-1] == "relabel a leaf from 0 to 1"


def test_a_decision_threshold_is_inherited():
    X, _ = mixed_table(400, 0)
    space = space_of(X, np.array([0, 1]), "binary")
    deployed = _stump(55.0, space, shares=(0.05, 0.3), decision_threshold=0.1)
    soft = np.where(X["age"] <= 55, 0.05, 0.3)[:, None]
    taught = TaughtRows(space.encode(X), soft, np.ones(400), 400, 2)
    (made,) = search(deployed, taught, space).path((0.0,))
    assert made.tree.decision_threshold == 0.1
    assert set(made.tree.label[made.tree.leaves]) == {0, 1}


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
    twice = np.concatenate([np.arange(400), np.arange(200)])
    repeated = TaughtRows(taught.coded[twice], taught.targets[twice], np.ones(600), 600, 2)
    weighted = replace(taught, weight=np.r_[np.full(200, 2.0), np.ones(200)])
    limits = replace(LIMITS, min_leaf=1)
    a = search(deployed, repeated, space, limits=limits)
    b = search(deployed, weighted, space, limits=limits)
    trees = [run.path((0.3,))[0].tree for run in (a, b)]
    assert a.root.loss / a.scale == pytest.approx(b.root.loss / b.scale)
    np.testing.assert_allclose(trees[0].value, trees[1].value)


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
    deployed = _stump(55.0, space, shares=(0.38, 0.42))
    run = PricedEdits(deployed, taught, space, outcome_variance=0.24, limits=LIMITS)
    assert run.path((0.05,))[0].edits == ()


def test_splits_in_words():
    X, y = mixed_table(100, 0)
    space = space_of(X, y, "binary")
    tree = _stump(50.0, space)
    split = split_of(tree, 0)
    assert str(side_condition(split, space)) == "age <= 50"
    assert str(side_condition(split, space, left=False)) == "age > 50"
