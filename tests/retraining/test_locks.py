"""What is locked stays; whatever condition a listing prints can be locked by its words."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from steadytree.retraining.locks import keeps_locks, resolve_locks

from steadytree.core.rules import tree_rules
from steadytree.core.space import FeatureSpace
from steadytree.core.tree import Tree
from steadytree.core.tree_words import branch_texts
from steadytree.core.words import PAGE
from steadytree.estimators import DistilledTreeClassifier, TreeClassifier
from steadytree.exceptions import InputError
from steadytree.growing.nodes import split_of
from steadytree.readers.words.rules import tree_from_rules
from steadytree.retraining import retrain, retrain_sequence
from tests.growing.mixed import mixed_table
from tests.report.samples import mixed_diff
from tests.retraining.conftest import QUICK
from tests.strategies import Kind, random_space, random_tree


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
def test_locks(mixed, kind):
    X, y, first = mixed
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
    """Retrains a tree whose root, which is locked, tells nothing, beside three made anew."""
    X, y, first = uninformed()
    mine = DistilledTreeClassifier(n_estimators=20, random_state=0).fit(X[:300], y[:300])

    def run(**choice):
        given = {"locked": "root", "compare": True, "candidates": {"mine": mine}, **QUICK}
        return retrain(first, X[300:], y[300:], **{**given, **choice})

    return run


REBUILT = ["from scratch", "CART", "mine"]


@pytest.mark.parametrize("select", ["score", "one_se", "tolerance", "balanced"])
def test_no_rule_chooses_what_breaks_a_lock(locked_root, select):
    result = locked_root(select=select)
    table = result.frontier
    assert table.index[~table["keeps_locks"]].tolist() == REBUILT
    assert table["score"].idxmax() in REBUILT
    assert result.chosen not in REBUILT
    assert split_of(result.tree, 0) == split_of(result.deployed, 0)


def test_no_limit_is_met_by_breaking_a_lock(locked_root):
    gains = locked_root().frontier["score_change"]
    asked = float(gains.drop(REBUILT).max() + gains.max()) / 2
    assert gains.max() > asked
    free = locked_root(locked=(), min_gain=asked)
    assert free.frontier["keeps_locks"].all()
    assert free.chosen not in ("keep", "re-estimate")
    result = locked_root(min_gain=asked)
    assert result.chosen == "keep"
    assert "what does not keep what is locked is left out" in result.answer.reason
    assert result.forgone is not None
    assert not result.forgone.keeps_locks
    assert "It does not keep what is locked." in result.explain()


def test_a_function_cannot_break_a_lock(locked_root):
    for answer in (lambda _: "CART", lambda table: table.index.get_loc("CART")):
        with pytest.raises(InputError, match="keeps what is locked, got 'CART'; choose from"):
            locked_root(select=answer)
    kept = locked_root(select=lambda table: table["score"][table["keeps_locks"]].idxmax())
    assert kept.chosen not in REBUILT


def test_rebuilding_is_not_advised_against_a_lock(locked_root):
    free = locked_root(locked=(), select=None, price=1e9)
    assert free.rebuild_advised
    assert "Consider rebuilding" in free.explain()
    locked = locked_root(select=None, price=1e9)
    assert not locked.rebuild_advised
    assert "Consider rebuilding" not in locked.explain()


def test_a_sequence_keeps_what_is_locked():
    X, y, first = uninformed()
    batches = [(X[300:500], y[300:500]), (X[500:], y[500:])]
    given = {"deployed": first, "tolerance": 0.0, **QUICK}
    for locked, same in (((), False), ("root", True)):
        found = retrain_sequence(batches, locked=locked, **given)
        root = split_of(found.retrainings[0].deployed, 0)
        assert all(split_of(step.tree, 0) == root for step in found.steps) == same


@given(st.integers(0, 2**32), st.booleans())
def test_every_printed_rule_is_its_leaf(seed: int, ordered: bool) -> None:
    rng = Random(seed)
    space = random_space(rng, Kind(ordered=ordered))
    first = random_tree(rng, space, Kind()).replace(space=space)
    # The retraining's space knows more: further categories, and that values can be missing.
    wider = space.replace(
        categories=tuple(None if c is None else (*c, "new") for c in space.categories),
        can_be_missing=np.ones(space.n_features, dtype=bool),
    )
    tree = first.in_space(wider)
    for printed in (first, first.replace(space=None)):
        rules = tree_rules(printed)
        texts = [rule.conditions_text for rule in rules]
        assume(len(set(texts)) == len(texts))  # numbers are written with six digits
        for rule in rules:
            page = [c.words(PAGE, space.categories[c.feature]) for c in rule.conditions]
            forms = [rule.text, f"{rule.short_text} (predicts something else)"]
            if printed.space is not None:
                forms.append("\n".join([*(page or ["everyone"]), f"→ {rule.numbers.label}*"]))
            if len(rule.conditions) != 1:
                forms.append(rule.conditions_text)
            else:  # one condition is a condition as well, and locks the split that asks it
                forms.pop()
            for form in forms:
                found = resolve_locks(form, tree, wider, printed=printed)
                assert found == {rule.leaf}, form
        for node, sides in branch_texts(printed).items():
            for side in sides:
                assert node in resolve_locks(side, tree, wider, printed=printed)
