"""What is locked stays; whatever condition a listing prints can be locked by its words."""

from __future__ import annotations

import numpy as np
import pytest

from steadytree.estimators import DistilledTreeClassifier, TreeClassifier
from steadytree.evaluation.locks import keeps_locks, resolve_locks
from steadytree.exceptions import InputError
from steadytree.formats.rules.read_rules import tree_from_rules
from steadytree.growing.nodes import split_of
from steadytree.retraining import retrain
from steadytree.tree.space import FeatureSpace
from steadytree.tree.tree import Tree
from tests.growing.mixed import mixed_table
from tests.report.samples import mixed_diff
from tests.retraining.conftest import QUICK


def test_every_condition_of_the_listing_is_found() -> None:
    tree = mixed_diff().old
    space = tree.space
    assert space is not None
    lines = TreeClassifier(tree).rules().splitlines()
    conditions = [line.lstrip("| -").partition(": ")[0] for line in lines]
    assert sum("or missing" in text for text in conditions) >= 2
    inner = set(np.flatnonzero(~tree.is_leaf).tolist())
    found = [resolve_locks(text, tree, space) for text in conditions]
    assert set().union(*found) == inner


def test_a_condition_may_leave_out_where_missing_values_go() -> None:
    tree = mixed_diff().old
    assert tree.space is not None
    assert resolve_locks("age <= 40", tree, tree.space) == {1}
    assert resolve_locks("age <= 40 or missing", tree, tree.space) == {1}
    with pytest.raises(InputError, match="got 'age <= 41'"):
        resolve_locks("age <= 41", tree, tree.space)


@pytest.mark.parametrize("kind", ["root", "node", "feature", "condition", "rule"])
def test_locks(kind):
    X, y = mixed_table(700, 0)
    first = DistilledTreeClassifier(n_estimators=20, max_leaf_nodes=6, random_state=0)
    first.fit(X[:300], y[:300])
    tree = first.to_tree()
    root = first.rules().splitlines()[0].removeprefix("|-- ")
    rule = first.rules(style="list").splitlines()[0]
    feature = tree.feature_labels[tree.feature[0]]
    locked = {"root": "root", "node": 0, "feature": [feature], "condition": root, "rule": rule}
    result = retrain(
        first,
        X[300:],
        1 - y[300:],
        plan={"locked": locked[kind]},
        price=0.0,
        **{**QUICK, "n_folds": 0},
    )
    assert split_of(result.tree, 0) == split_of(result.deployed, 0)
    assert result.edits
    assert 0 in result.settings["locked_nodes"] or kind == "rule"


def rules(text: str) -> Tree:
    return tree_from_rules(f"classes: no, yes\ncategories of c: a, b, d\n{text}")


SPACE = FeatureSpace(
    lower=np.zeros(2),
    upper=np.array([5.0, 0.0]),
    names=("x", "c"),
    categories=(None, ("a", "b", "d")),
)
DEPLOYED = rules("""
x <= 1:
    c in a: no
    else: yes
else:
    x <= 2: yes
    else: no
""")


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("x <= 1: no\nelse: yes", {0}),
        ("x <= 1.5: no\nelse: yes", set()),
        ("c in a: no\nelse: yes", set()),
        ("no", set()),
        # The other side first, and other conditions around.
        ("x <= 1:\n    c in b, d: yes\n    else: no\nelse: no", {0, 1, 2, 3}),
        ("x <= 1:\n    c in a: yes\n    else: no\nelse: no", {0, 1}),
        ("x <= 1.5:\n    c in a: no\n    else: no\nelse: no", {1}),
        ("x <= 1: no\nelse:\n    x <= 2: no\n    else: no", {0, 4, 6}),
    ],
)
def test_a_tree_made_anew_keeps_what_it_has_in_its_place(text: str, kept: set[int]) -> None:
    start, tree = DEPLOYED.in_space(SPACE), rules(text).in_space(SPACE)
    held = {node for node in range(7) if keeps_locks(tree, start, [node], SPACE)}
    assert held == kept
    assert keeps_locks(start, start, range(7), SPACE)
    assert keeps_locks(tree, start, [], SPACE)


def uninformed():
    """Rows, and a tree of two leaves that learnt nothing from the first 300 of them."""
    X, y = mixed_table(700, 0)
    first = DistilledTreeClassifier(n_estimators=20, max_leaf_nodes=2, random_state=0)
    return X, y, first.fit(X[:300], np.random.default_rng(0).permutation(y[:300]))


@pytest.fixture(scope="module")
def locked_root():
    """Retrains a tree whose root, which is locked, tells nothing, beside two made anew."""
    X, y, first = uninformed()
    mine = DistilledTreeClassifier(n_estimators=20, random_state=0).fit(X[:300], y[:300])

    def run(**choice):
        plan = {"locked": "root", **choice.pop("plan", {})}
        given = {"plan": plan, "candidates": {"mine": mine}, **QUICK, **choice}
        return retrain(first, X[300:], y[300:], **given)

    return run


REBUILT = ["from scratch", "mine"]


def test_what_breaks_a_lock_is_there_for_comparison_only(locked_root):
    result = locked_root()
    table = result.frontier
    assert table.index[~table["keeps_locks"]].tolist() == REBUILT
    assert table["score"].idxmax() in REBUILT
    assert result.chosen not in REBUILT
    assert split_of(result.tree, 0) == split_of(result.deployed, 0)
    assert result.plan_check.held


def test_no_limit_is_held_by_breaking_a_lock(locked_root):
    gains = locked_root().frontier["score_change"]
    asked = float(gains.drop(REBUILT).max() + gains.max()) / 2
    assert gains.max() > asked
    result = locked_root(plan={"min_gain": asked})
    assert result.action == "keep"
    assert not result.plan_check.held
    assert result.forgone is not None
    assert not result.forgone.keeps_locks
    assert "It does not keep what is locked." in result.explain()


def test_rebuilding_is_not_advised_against_a_lock(locked_root):
    free = locked_root(plan={"locked": ()}, price=1e9)
    assert free.rebuild_advised
    assert "Consider rebuilding" in free.explain()
    locked = locked_root(price=1e9)
    assert not locked.rebuild_advised
    assert "Consider rebuilding" not in locked.explain()
