"""Priced edits: what is minimised, which edits are found, and what each price buys."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import log_loss, roc_auc_score

from steadytree.distance import tree_distance
from steadytree.distance.equations import Measure, check_options
from steadytree.formats.rules.read_rules import tree_from_rules
from steadytree.growing.best_first import BinnedTable, Split, TaughtRows
from steadytree.growing.leaf_values import target_columns
from steadytree.growing.nodes import NodeFactory, split_of
from steadytree.retraining import retrain
from steadytree.retraining.edits import objective
from steadytree.retraining.edits.candidates import (
    MOVED,
    REPLACED,
    Candidate,
    Exchange,
    _moves,
    edit_words,
)
from steadytree.retraining.edits.objective import (
    Criterion,
    TreeInParts,
    deviance,
    expected_auc,
    leaf_sums,
)
from steadytree.retraining.edits.search import PricedEdits, _Edit, _words_of
from steadytree.retraining.inputs import SearchOptions
from steadytree.tree.decision import STEADY, Decision
from steadytree.tree.paths import Paths
from steadytree.tree.space import FeatureSpace
from steadytree.tree.tree import Tree
from tests.growing.mixed import mixed_table, space_of
from tests.retraining.edit_samples import LIMITS, PRICES, problem, search, stump

# -- the criterion ---------------------------------------------------------------------

COUNTS = st.lists(
    st.tuples(st.integers(0, 6), st.integers(0, 6)).filter(lambda c: sum(c) > 0),
    min_size=1,
    max_size=6,
)


def rows_of(counts):
    """Outcome and leaf of each row, from (events, others) by leaf."""
    leaf = [i for i, (p, n) in enumerate(counts) for _ in range(p + n)]
    outcome = [o for p, n in counts for o in [1] * p + [0] * n]
    return np.array(outcome), np.array(leaf)


@given(COUNTS)
def test_leaf_sums_give_the_scores_of_the_rows(counts):
    outcome, leaf = rows_of(counts)
    sums = np.array([[p + n, p] for p, n in counts], dtype=float)
    share = (sums[:, 1] / sums[:, 0])[leaf]
    expected = roc_auc_score(outcome, share) if 0 < outcome.mean() < 1 else 0.5
    assert expected_auc(sums) == pytest.approx(expected)
    whole = log_loss(outcome, np.clip(share, 1e-15, 1 - 1e-15), labels=[0, 1], normalize=False)
    assert deviance(sums) == pytest.approx(whole, abs=1e-6)
    by_class = np.array([[p + n, n, p] for p, n in counts], dtype=float)
    assert deviance(by_class) == pytest.approx(deviance(sums), abs=1e-9)


@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
def test_one_leaf_misses_all_and_splitting_never_misses_more(task):
    deployed, taught, space, _, _ = problem(task)
    run = search(deployed, taught, space)
    alone = run.make.leaf(np.arange(len(taught.weight)))
    assert run.criterion.missed(alone) == pytest.approx(1.0)
    kept = run.make.reroute(run.root, run.root.rows)
    assert 0.0 <= run.criterion.missed(kept) < 1.0


def test_two_classes_are_judged_half_by_ranking_and_half_by_deviance():
    deployed, taught, space, _, _ = problem()
    run = search(deployed, taught, space)
    leaf = np.empty(len(taught.weight), dtype=int)
    stack, i = [run.root], 0
    while stack:
        node = stack.pop()
        if node.is_leaf:
            leaf[node.rows], i = i, i + 1
        else:
            stack += node.parts[1:]
    p = taught.targets[:, 0]
    sums = np.array([[np.sum(leaf == k), p[leaf == k].sum()] for k in range(i)])
    rows = np.column_stack([np.ones_like(p), p])
    whole = rows.sum(axis=0, keepdims=True)
    ranking = (expected_auc(rows) - expected_auc(sums)) / (expected_auc(rows) - 0.5)
    shares = (deviance(sums) - deviance(rows)) / (deviance(whole) - deviance(rows))
    assert run.criterion.missed(run.root) == pytest.approx((ranking + shares) / 2)


@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
def test_a_teacher_who_sees_almost_nothing_is_worth_almost_nothing(task, monkeypatch):
    """What is to be seen has a floor, so that not every scrap of it pays for an edit."""
    deployed, taught, space, _, _ = problem(task)
    mean = np.average(taught.targets, axis=0, weights=taught.weight)
    blind = replace(
        taught,
        targets=mean + 1e-3 * (taught.targets - mean),
        outcomes=taught.targets,
    )
    run = search(deployed, blind, space)
    make = run.make
    if task != "regression":  # what the deployed leaves said is in the loss of a response
        edits = run.path((0.05,))[-1].edits
        assert not [text for text in edits if not text.startswith("relabel")]
    alone = make.leaf(np.arange(len(taught.weight)))
    assert Criterion(make).missed(alone) < 0.02
    monkeypatch.setattr(objective, "FLOOR", 0.0)
    assert Criterion(make).missed(alone) == pytest.approx(1.0)


@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_bit_for_bit_the_metric_distance(task: str, seed: int) -> None:
    deployed, taught, space, *_ = problem(task, seed)
    run = search(deployed, taught, space)
    path = run.path(PRICES)
    assert len({edited.distance for edited in path}) > 1
    for edited in path:
        exact = tree_distance(deployed, edited.tree, space=space, variant="metric")
        assert edited.distance == exact
    mass = Measure.of(check_options(variant="metric")).mass(Paths.from_tree(deployed, space))
    assert run.anchor.mass == pytest.approx(mass, rel=1e-12)


@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
def test_exchanged_parts_count_as_the_whole_tree(task):
    deployed, taught, space, _, _ = problem(task, 1)
    run = search(deployed, taught, space)
    tried = 0
    for _ in range(3):
        tree = TreeInParts(run.root, run.anchor, run.outcome)
        assert tree.distance == run.anchor.distance(run.root, run.outcome)
        for place in tree.places:
            for edit in run._candidates(place, 0.05):
                root = edit.node
                for above, on_left in reversed(place.way):
                    split, left, right = above.parts
                    sides = (root, right) if on_left else (left, root)
                    root = run.make.join(above.rows, split, *sides, prior=above.prior)
                assert (tree.sums_with(place, edit.node) == leaf_sums(root)).all()
                exact = run.anchor.distance(root, run.outcome)
                assert tree.distance_with(place, edit.node) == exact
                tried += 1
        if not run._step(0.05):
            break
    assert tried > 10


# -- which edits are found -------------------------------------------------------------


def split_by_colour(left, share, space):
    """A tree that asks for the colour alone."""
    return Tree(
        children_left=[1, -1, -1],
        children_right=[2, -1, -1],
        feature=[2, -1, -1],
        threshold=[np.nan] * 3,
        left_categories=(left, None, None),
        value=np.column_stack([1 - share, share]),
        classes=(0, 1),
        n_features=4,
        feature_names=space.names,
        categories=space.categories,
        space=space,
    )


def test_a_threshold_that_moved_is_moved():
    X, _ = mixed_table(500, 0)
    y = (X["age"] > 60).to_numpy().astype(np.int64)
    space = space_of(X, y, "binary")
    deployed = stump(50.0, space)
    taught = TaughtRows(space.encode(X), target_columns(y, 2) * 0.9, np.ones(500), 500, 2)
    (edited,) = search(deployed, taught, space).path((0.2,))
    assert edited.tree.n_leaves == 2
    assert edited.tree.threshold[0] == pytest.approx(60, abs=1)
    assert edited.edits[0].startswith("move age <= 50 to age <= ")


def test_a_category_that_changed_sides_is_moved():
    X, _ = mixed_table(600, 0)
    space = space_of(X, np.array([0, 1]), "binary")
    assert space.categories[2] == ("blue", "green", "grey", "red")
    share = np.array([0.5, 0.1, 0.9])
    deployed = split_by_colour((0, 1), share, space)
    y = X["colour"].isin(["grey", "red", "green"]).to_numpy().astype(np.int64)
    taught = TaughtRows(space.encode(X), target_columns(y, 2) * 0.9, np.ones(600), 600, 2)
    (edited,) = search(deployed, taught, space).path((0.2,))
    assert edited.tree.left_categories[0] == (0,)
    assert edited.edits == ("move colour is blue or green to colour is blue",)


@pytest.mark.parametrize(
    ("left", "moved"),
    [((0,), (0, 1, 2)), ((1, 2, 3), (3,)), ((0, 2), (0, 1, 2)), ((2,), (0, 1, 2))],
)
def test_a_cut_along_an_order_that_moved_is_moved(left, moved):
    """Only grey is high now; the lower categories stay on the side they are on."""
    X, _ = mixed_table(600, 0)
    X["colour"] = X["colour"].astype(
        pd.CategoricalDtype(["blue", "green", "red", "grey"], ordered=True)
    )
    space = space_of(X, np.array([0, 1]), "binary")
    share = np.array([0.5, 0.9, 0.1] if 3 in moved else [0.5, 0.1, 0.9])
    deployed = split_by_colour(left, share, space)
    y = (X["colour"] == "grey").to_numpy().astype(np.int64)
    taught = TaughtRows(space.encode(X), target_columns(y, 2) * 0.9, np.ones(600), 600, 2)
    make = NodeFactory(taught, BinnedTable(taught.coded, space, 600))
    node = make.from_tree(deployed, np.arange(600))
    moves = list(_moves(node, LIMITS, 1.0))
    assert max(moves, key=lambda edit: edit.gain).node.parts[0].left == moved
    (edited,) = search(deployed, taught, space).path((0.2,))
    assert edited.tree.left_categories[0] in (moved, (0, 1, 2))  # or the same, mirrored
    if left == (0,):
        assert edited.edits == ("move colour is blue to colour up to red",)


def test_a_split_may_give_way_to_a_cut_along_an_order():
    X, _ = mixed_table(600, 0)
    order = pd.CategoricalDtype(["green", "blue", "red", "grey"], ordered=True)
    X["colour"] = X["colour"].astype(order)
    y = X["colour"].isin(["green", "blue", "grey"]).to_numpy().astype(np.int64)
    space = space_of(X, y, "binary")
    taught = TaughtRows(space.encode(X), target_columns(y, 2) * 0.9, np.ones(600), 600, 2)
    (edited,) = search(stump(50.0, space), taught, space).path((0.0,))
    sets = [left for left in edited.tree.left_categories if left is not None]
    assert sets
    assert all(left == tuple(range(len(left))) for left in sets)


def test_missing_values_that_changed_sides_are_moved():
    X, _ = mixed_table(600, 0)
    gone = X["dose"].isna().to_numpy()
    y = ((X["dose"] > 0).to_numpy() | gone).astype(np.int64)
    space = space_of(X, y, "binary")
    deployed = stump(0.0, space).replace(feature=[1, -1, -1], missing_left=[True, False, False])
    taught = TaughtRows(space.encode(X), target_columns(y, 2) * 0.9, np.ones(600), 600, 2)
    (edited,) = search(deployed, taught, space).path((0.2,))
    assert edited.tree.n_leaves == 2
    assert not edited.tree.missing_left[0]


def test_a_rebuilt_part_that_starts_as_before_is_named_once():
    space = FeatureSpace(lower=[0.0], upper=[100.0], names=("age",))

    def part(threshold, n_leaves):
        split = Split(0, threshold, None, False)
        make = SimpleNamespace(table=SimpleNamespace(space=space))
        parts = split, None, None
        return SimpleNamespace(is_leaf=False, n_leaves=n_leaves, parts=parts, make=make)

    words = edit_words(part(50.0, 3), Candidate(1.0, part(50.0, 4)), ())
    assert words == "rebuild the part below age <= 50 with 4 leaves"
    words = edit_words(part(50.0, 3), Candidate(1.0, part(60.0, 4)), ())
    assert words == "rebuild the part below age <= 50 with 4 leaves, starting at age <= 60"


# -- what each price buys --------------------------------------------------------------


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

    def watched(price):
        moved = step(price)
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
    run = search(deployed, blind, space)
    run.edit_cost = 0.0
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


def test_a_teacher_who_sees_nothing_earns_no_edit():
    X, y = mixed_table(500, 0)
    space = space_of(X, y, "binary")
    rng = np.random.default_rng(0)
    soft = 0.4 + rng.normal(0, 0.02, (500, 1))
    taught = TaughtRows(space.encode(X), soft, np.ones(500), 500, 2)
    deployed = stump(55.0, space, shares=(0.38, 0.42))
    run = PricedEdits(deployed, taught, space, limits=LIMITS)
    assert run.path((0.05,))[0].edits == ()


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
