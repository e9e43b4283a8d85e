"""Conditions of three outcomes, written out as splits: row by row what the conditions say."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from steadytree.exceptions import TreeFormatError, UnsupportedModelError
from steadytree.formats.conditions import (
    FALSE,
    TRUE,
    UNKNOWN,
    All,
    AnyOf,
    AtMost,
    Condition,
    Constant,
    FirstKnown,
    IsMissing,
    Not,
    OddlyMany,
    OneOf,
    below,
    equals,
)
from steadytree.formats.forks import MAX_PARTS, Column, Fork, Refusal, nested_splits
from steadytree.tree.nested import Leaf, build_tree
from steadytree.tree.tree import Tree

COLUMNS = (Column(), Column(), Column(3), Column(3, unseen_is_missing=True))
CATEGORIES = (None, None, ("a", "b", "c"), ("a", "b", "c"))
NUMBERS = (-np.inf, -1.0, 0.0, 1.0, 2.0, np.inf, np.nan)
ROWS = np.array(
    list(product(NUMBERS, NUMBERS, ("a", "b", "c", "z", None), ("a", "b", "c", "z", None))),
    dtype=object,
)


def outcome(condition: Condition, row: Any) -> int:
    """What a condition says, in the plainest way."""
    if isinstance(condition, Constant):
        return condition.outcome
    if isinstance(condition, Not):
        return {TRUE: FALSE, FALSE: TRUE, UNKNOWN: UNKNOWN}[outcome(condition.part, row)]
    if isinstance(condition, AtMost | OneOf | IsMissing):
        value = row[condition.feature]
        missing = value is None or value != value or (condition.feature == 3 and value == "z")
        if isinstance(condition, IsMissing):
            return TRUE if missing else FALSE
        if missing:
            return condition.missing
        if isinstance(condition, AtMost):
            return TRUE if value <= condition.threshold else FALSE
        if value == "z":
            return condition.unseen
        return TRUE if "abc".index(value) in condition.codes else FALSE
    parts = [outcome(part, row) for part in condition.parts]
    if isinstance(condition, FirstKnown):
        return next((p for p in parts if p != UNKNOWN), UNKNOWN)
    if isinstance(condition, OddlyMany):
        return UNKNOWN if UNKNOWN in parts else FALSE if parts.count(TRUE) % 2 == 0 else TRUE
    decides = FALSE if isinstance(condition, All) else TRUE
    if decides in parts:
        return decides
    return UNKNOWN if UNKNOWN in parts else {FALSE: TRUE, TRUE: FALSE}[decides]


def answer(target: Any, row: Any) -> float:
    while isinstance(target, Fork):
        for condition, child in target.choices:
            found = outcome(condition, row)
            if found == TRUE:
                target = child
                break
            if found == UNKNOWN and target.unknown is not None:
                target = target.unknown
                break
        else:
            target = target.otherwise
    return float(target.value[0])


def built(root: Any) -> Tree:
    return build_tree(nested_splits(root, COLUMNS), n_features=4, categories=CATEGORIES)


def random_condition(rng: np.random.Generator, level: int = 0) -> Condition:
    kind = int(rng.integers(9 if level < 2 else 5))
    if kind < 2:
        t = float(rng.choice([-np.inf, -1.0, 0.0, 1.0, np.inf]))
        return AtMost(int(rng.integers(2)), t, int(rng.integers(3)))
    if kind == 2:
        codes = frozenset(np.flatnonzero(rng.random(3) < 0.5).tolist())
        return OneOf(int(rng.integers(2, 4)), codes, int(rng.integers(2)), int(rng.integers(3)))
    if kind == 3:
        return IsMissing(int(rng.integers(4)))
    if kind == 4:
        if rng.random() < 0.3:
            return Constant(int(rng.integers(3)))
        return equals(int(rng.integers(2)), float(rng.integers(-1, 3)), "float64")
    if kind == 5:
        return Not(random_condition(rng, level + 1))
    parts = tuple(random_condition(rng, level + 1) for _ in range(int(rng.integers(4))))
    return (All, AnyOf, OddlyMany, FirstKnown)[int(rng.integers(4))](parts)


def random_fork(rng: np.random.Generator, level: int = 0) -> Any:
    if level == 3 or (level > 0 and rng.random() < 0.3):
        return Leaf([float(rng.integers(1000))], 1.0)
    choices = [
        (random_condition(rng), random_fork(rng, level + 1)) for _ in range(int(rng.integers(1, 4)))
    ]
    unknown = [None, choices[0][1], Leaf([-1.0])][int(rng.integers(3))]
    return Fork(choices, Leaf([-2.0]), unknown)


@pytest.mark.parametrize("seed", range(60))
def test_every_row_goes_where_the_conditions_say(seed: int) -> None:
    root = random_fork(np.random.default_rng(seed))
    tree = built(root)
    np.testing.assert_array_equal(tree.predict(ROWS), [answer(root, row) for row in ROWS])


def test_missing_values_take_one_side_where_they_can() -> None:
    a, b = Leaf([1.0], 3.0), Leaf([2.0], 4.0)
    tree = built(Fork([(AnyOf((IsMissing(0), AtMost(0, 5.0))), a)], b))
    assert (tree.n_nodes, tree.missing_left[0], tree.threshold[0]) == (3, True, 5.0)
    assert tree.weight.tolist() == [7.0, 3.0, 4.0]


def test_a_surrogate_is_asked_only_where_a_value_is_missing() -> None:
    a, b = Leaf([1.0], 10.0), Leaf([2.0], 4.0)
    primary = FirstKnown((AtMost(0, 5.0), AtMost(1, 1.0)))
    tree = built(Fork([(primary, a)], b, unknown=a))
    assert tree.threshold[tree.preorder].tolist()[:2] == [np.inf, 5.0]
    assert tree.n_leaves == 4
    # The rows of a leaf are shared by its copies.
    assert tree.weight[0] == 14.0


def test_what_is_decided_above_stays_unless_it_is_a_copy() -> None:
    deep = Fork([(AtMost(0, 9.0), Leaf([1.0]))], Leaf([2.0]))
    plain = built(Fork([(AtMost(0, 5.0), deep)], Leaf([3.0])))
    assert plain.n_leaves == 3
    twice = built(Fork([(equals(0, 5.0, "float64"), Leaf([3.0]))], deep))
    # Below 5 the question for 9 is settled; above 5 it is not.
    assert twice.n_leaves == 4


def test_equality_in_either_precision() -> None:
    for precision, x in (("float32", np.float32(0.1)), ("float64", np.float64(0.1))):
        leaf = Fork([(equals(0, float(x), precision), Leaf([1.0]))], Leaf([0.0]))
        tree = build_tree(nested_splits(leaf, COLUMNS[:1]), n_features=1, precision=precision)
        near = [np.nextafter(x, x - 1), x, np.nextafter(x, x + 1), np.nan]
        found = tree.predict(np.array(near, dtype=np.float64).reshape(-1, 1))
        assert found.tolist() == [0.0, 1.0, 0.0, 0.0]
    assert below(0, 0.1, "float32").threshold < 0.1 < float(np.float32(0.1))


def test_many_equalities_do_not_multiply() -> None:
    root: Any = Leaf([-1.0])
    for k in range(60):
        root = Fork([(equals(0, float(k), "float64"), Leaf([float(k)]))], root)
    tree = built(root)
    assert tree.n_nodes < 500
    X = np.array([[k, 0.0, 0, 0] for k in (*range(60), 0.5, -3, 1e9)], dtype=float)
    rows = np.column_stack([X[:, :2].astype(object), np.full((len(X), 2), "a", dtype=object)])
    assert tree.predict(rows).tolist() == [*range(60), -1.0, -1.0, -1.0]


def test_categories_named_one_by_one_are_one_split() -> None:
    one_by_one = AnyOf((OneOf(2, frozenset({0})), OneOf(2, frozenset({2}))))
    tree = built(Fork([(one_by_one, Leaf([1.0]))], Leaf([0.0])))
    assert (tree.n_leaves, tree.left_categories[0], tree.unseen_left[0]) == (2, (0, 2), False)
    neither = All((Not(OneOf(2, frozenset({0}))), Not(OneOf(2, frozenset({2})))))
    tree = built(Fork([(neither, Leaf([1.0]))], Leaf([0.0])))
    assert tree.n_leaves == 2
    assert tree.predict(ROWS[:10]).tolist() == [
        answer(Fork([(neither, Leaf([1.0]))], Leaf([0.0])), r) for r in ROWS[:10]
    ]


def test_too_much_is_refused() -> None:
    wide = tuple(Column() for _ in range(40))
    odd = OddlyMany(tuple(AtMost(j, 0.0) for j in range(40)))
    with pytest.raises(UnsupportedModelError, match=r"at most 2,000 splits .* in one node"):
        nested_splits(Fork([(odd, Leaf([1.0]))], Leaf([0.0])), wide)
    long = AnyOf(tuple(Not(AtMost(0, float(t))) for t in range(MAX_PARTS)))
    with pytest.raises(UnsupportedModelError, match="at most 500 comparisons, got a longer one"):
        nested_splits(Fork([(long, Leaf([1.0]))], Leaf([0.0])), wide)
    root: Any = Leaf([0.0])
    for j in range(25):  # each copies what follows
        root = Fork([(equals(j, 0.0, "float64"), Leaf([1.0]))], root)
    with pytest.raises(TreeFormatError, match="20,000 of them where conditions are written out"):
        nested_splits(root, wide)


def test_a_refusal_counts_only_where_it_is_reached() -> None:
    choices: Any = [(AtMost(0, 1.0), Leaf([1.0])), (Not(AtMost(0, 1.0)), Leaf([2.0]))]
    no = Refusal("expected a result, got none")
    assert built(Fork(choices, no, unknown=Leaf([3.0]))).n_leaves == 3
    with pytest.raises(UnsupportedModelError, match="expected a result, got none"):
        built(Fork(choices, no))
