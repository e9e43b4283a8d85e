"""What is locked stays; whatever condition a listing prints can be locked by its words."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from steadytree.core.rules import tree_rules
from steadytree.core.tree_words import branch_texts
from steadytree.core.words import PAGE
from steadytree.estimators import TreeClassifier
from steadytree.exceptions import InputError
from steadytree.growing.nodes import split_of
from steadytree.retraining import retrain
from steadytree.retraining.locks import resolve_locks
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
        first, X[300:], 1 - y[300:], locked=locked[kind], price=0.0, **{**QUICK, "n_folds": 0}
    )
    assert split_of(result.tree, 0) == split_of(result.deployed, 0)
    assert result.edits
    assert 0 in result.settings["locked_nodes"] or kind == "rule"


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
