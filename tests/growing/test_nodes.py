"""Nodes that know their rows, loss and value; and the way from a tree to nodes and back."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from steadytree.growing._loops import loops
from steadytree.growing.best_first import BinnedTable, Split, TaughtRows
from steadytree.growing.fitting import ColumnEncoder
from steadytree.growing.leaf_values import target_columns
from steadytree.growing.nodes import (
    NodeFactory,
    count_rows,
    export_tree,
    side_condition,
    split_of,
)
from steadytree.tree.space import FeatureSpace
from tests.growing.mixed import mixed_table, space_of
from tests.growing.samples import grow_best_first

SMALL = {"max_leaves": 5, "min_leaf": 10, "max_depth": 4}


@pytest.fixture(scope="module")
def space():
    return space_of(*mixed_table(200, 0), "binary")


@pytest.fixture(scope="module")
def taught(space):
    """150 real rows and 50 others, with outcomes as targets and unequal weights."""
    X, y = mixed_table(200, 0)
    return TaughtRows(space.encode(X), y[:, None].astype(float), np.linspace(1, 2, 200), 150, 2)


@pytest.fixture(scope="module")
def factory(taught, space):
    return NodeFactory(taught, BinnedTable(taught.coded, space))


@pytest.fixture(scope="module")
def deployed(taught, space):
    encoder = ColumnEncoder(space)
    model = DecisionTreeClassifier(max_depth=3, random_state=0)
    model.fit(encoder.transform(taught.coded), taught.targets[:, 0].astype(int))
    return encoder.to_tree(model)


def test_the_prior_counts_as_rows(taught, space):
    make = NodeFactory(taught, BinnedTable(taught.coded, space, taught.n_real))
    rows, weight = np.arange(4), taught.weight[:4]
    plain, steady = make.leaf(rows), make.leaf(rows, prior=np.array([0.25]))
    total = weight @ make.targets[rows]
    np.testing.assert_allclose(plain.middle, total / weight.sum())
    before = np.pi / 6  # arcsine of a half
    np.testing.assert_allclose(steady.middle, (total + 2 * before) / (weight.sum() + 2))
    nobody = make.leaf(rows[:0])
    np.testing.assert_allclose(nobody.middle, np.average(make.targets, 0, taught.weight))


def test_a_leaf_predicts_its_real_rows_and_loses_over_all(factory, taught):
    rows = np.arange(100, 200)
    leaf = factory.leaf(rows)
    weight, target = taught.weight[rows], taught.targets[rows, 0]
    real = rows < 150
    # Outcomes are the targets here, so that there is nothing to be steadied by.
    assert leaf.value[0] == pytest.approx(np.average(target[real], weights=weight[real]))
    assert leaf.n_real == 50
    stable = np.pi / 2 * target  # outcomes on the scale of the search
    mean = np.average(stable, weights=weight)
    assert leaf.loss == pytest.approx((weight * (stable - mean) ** 2).sum())
    assert (leaf.weight, leaf.real_weight) == pytest.approx((weight.sum(), weight[real].sum()))
    # Without rows it says what the deployed tree said, or else what all rows say.
    none = np.zeros(0, dtype=np.intp)
    assert factory.leaf(none, prior=np.array([0.4])).value.tolist() == [0.4]
    np.testing.assert_allclose(factory.leaf(none).value, factory.overall_mean)


def test_a_deployed_tree_becomes_nodes(factory, taught, deployed):
    rows = np.arange(200)
    locked = frozenset({int(deployed.leaves[0])})
    root = factory.from_tree(deployed, rows, locked)
    assert root.n_leaves == deployed.n_leaves
    assert root.holds_lock
    assert not root.locked
    assert root.parts[0] == split_of(deployed, 0)
    assert root.weight == pytest.approx(taught.weight.sum())
    at = deployed.apply_coded(taught.coded)
    found = factory.predict(root, rows)[:, 0]
    for leaf in deployed.leaves:
        mine = at == leaf
        weight, target = taught.weight[mine], np.pi / 2 * taught.targets[mine, 0]
        prior = np.arcsin(np.sqrt(deployed.value[leaf, 1]))
        expected = (weight @ target + 2 * prior) / (weight.sum() + 2)
        np.testing.assert_allclose(found[at == leaf], expected)  # routes rows in the search


def test_a_subtree_on_other_rows_keeps_its_rules(factory, deployed):
    root = factory.from_tree(deployed, np.arange(200), frozenset({0}))
    some = np.arange(0, 200, 3)
    moved = factory.reroute(root, some)
    again = factory.from_tree(deployed, some, frozenset({0}))
    assert moved.locked
    assert moved.parts[0] == root.parts[0]
    assert (moved.n_leaves, moved.loss) == (again.n_leaves, pytest.approx(again.loss))
    np.testing.assert_allclose(factory.predict(moved, some), factory.predict(again, some))
    assert root.rows.size == 200  # nodes are never changed


def test_nodes_are_written_as_a_tree(factory, taught, space):
    rows = np.arange(200)
    grown = grow_best_first(factory.table, taught.weight, taught.targets, rows, **SMALL)
    root = factory.from_growth(grown, 4)
    leaf = root
    while not leaf.is_leaf:
        leaf = leaf.parts[1]
    plain = export_tree(root, space, classes=("no", "yes"), decision=0.5)
    assert (plain.n_leaves, plain.space) == (4, space)
    at = plain.apply_coded(taught.coded)
    for node in plain.leaves:
        mine = (at == node) & (rows < 150)
        observed = np.average(taught.targets[mine, 0], weights=taught.weight[mine])
        assert plain.value[node, 1] == pytest.approx(observed)
    np.testing.assert_allclose(plain.observed.predicted(), plain.value)
    assert plain.observed.rows()[plain.leaves].sum() == 150
    assert plain.weight[0] == pytest.approx(taught.weight[:150].sum())
    # A label may be another one than the shares give; the shares stay.
    first = int(plain.apply_coded(taught.coded[leaf.rows[:1]])[0])
    other = 1 - int(plain.label[first])
    other_label = export_tree(
        root, space, classes=("no", "yes"), decision=0.5, labels={id(leaf): other}
    )
    assert other_label.label[first] == other
    assert np.flatnonzero(other_label.label != plain.label).tolist() == [first]
    np.testing.assert_array_equal(other_label.value, plain.value)


def test_sides_of_a_split_in_words(space):
    colours = Split(2, np.nan, (0, 3), False)
    names = space.categories[2]
    assert str(side_condition(colours, space)) == f"colour is {names[0]} or {names[3]}"
    assert str(side_condition(Split(0, 50.0, None, False), space, left=False)) == "age > 50"


# -- where rows go -------------------------------------------------------------------------


@pytest.mark.parametrize("missing_left", [False, True])
@pytest.mark.parametrize("flipped", [False, True])
def test_rows_go_where_the_conditions_say(missing_left, flipped):
    X, y = mixed_table(200, 4)
    space = FeatureSpace.from_data(X, y)
    coded = space.encode(X)
    make = NodeFactory(
        TaughtRows(coded, y[:, None].astype(float), np.ones(200), 200, 2),
        BinnedTable(coded, space),
    )
    rows = np.arange(200)
    first, second = Split(2, np.nan, (0, 2), missing_left), Split(1, 0.2, None, missing_left)
    below, above = make.divide(rows, first)
    low, high = make.divide(above, second)
    inner = make.join(above, second, make.leaf(low), make.leaf(high))
    root = make.join(rows, first, make.leaf(below), inner)
    reached = loops().route(coded, rows, root.flat)
    for number, expected in enumerate((below, low, high)):
        np.testing.assert_array_equal(rows[reached == number], expected)
    new = Split(0, 45.0, None, missing_left)
    moved = make.reroute(root, rows, split=new, flipped=flipped)
    sides = make.divide(rows, new)
    np.testing.assert_array_equal(moved.parts[1].rows, sides[0])
    np.testing.assert_array_equal(moved.parts[2].rows, sides[1])
    assert moved.parts[1].n_leaves == (2 if flipped else 1)
    inside = moved.parts[1 if flipped else 2]
    again = make.divide(inside.rows, second)
    np.testing.assert_array_equal(inside.parts[1].rows, again[0])
    np.testing.assert_allclose(inside.parts[1].sums, make.leaf(again[0]).sums)


# -- what was observed ---------------------------------------------------------------------


def test_old_and_new_rows_are_counted_apart_and_give_the_values():
    X, y = mixed_table(300, 2)
    space = FeatureSpace.from_data(X, y)
    coded, outcomes = space.encode(X), target_columns(y, 2)
    weight = np.linspace(0.5, 2, 300)
    taught = TaughtRows(coded, outcomes, weight, 300, 2, outcomes, n_old=120)
    make = NodeFactory(taught, BinnedTable(coded, space))
    grown = grow_best_first(make.table, weight, outcomes, np.arange(300), **SMALL)
    tree = export_tree(make.from_growth(grown, 5), space, classes=("no", "yes"), decision=None)
    assert tree.n_leaves == 5
    leaf = tree.apply_coded(coded)
    for node in np.flatnonzero(tree.is_leaf):
        for which, rows in (("old", np.arange(120)), ("new", np.arange(120, 300))):
            inside = rows[leaf[rows] == node]
            assert tree.observed.rows(which)[node] == len(inside)
            assert tree.observed.outcomes(1, which)[node] == y[inside].sum()
    np.testing.assert_allclose(tree.observed.predicted(), tree.value)


def test_all_rows_are_counted_at_the_nodes_of_a_tree_that_saw_a_sample(factory, taught, space):
    """Old and new rows apart, each once and by its weight."""
    X, y = mixed_table(300, 7)
    coded, weight = space.encode(X), np.arange(300) % 4.0
    grown = grow_best_first(factory.table, taught.weight, taught.targets, np.arange(200), **SMALL)
    root = factory.from_growth(grown, 5)
    counts, weights = count_rows(root, coded, np.eye(2)[y], weight, 130)
    reached = loops().route(coded, np.arange(300), root.flat)
    for number, at in enumerate(np.flatnonzero(root.flat.leaf >= 0)):
        for part, old in enumerate((True, False)):
            inside = np.flatnonzero((reached == number) & ((np.arange(300) < 130) == old))
            weighted = np.bincount(y[inside], weight[inside], 2)
            counted = np.bincount(y[inside], weight[inside] > 0, 2)
            np.testing.assert_array_equal(counts[at, part], counted)
            np.testing.assert_allclose(weights[at, part], weighted, atol=1e-9)
    np.testing.assert_allclose(counts[0].sum(), (weight > 0).sum())
