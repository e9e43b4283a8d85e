"""What the writers of code share: rules in order, names, numbers and words."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import steadytree as st
from steadytree.formats.code.parts import (
    Side,
    decision_list,
    feature_identifiers,
    head_words,
    is_plain_decimal,
    leaf_words,
    side_words,
    split_sides,
)
from steadytree.formats.split_tests import split_test
from steadytree.tree.nested import Branch, Leaf, build_tree
from tests.foreign import probe_rows, random_tree
from tests.formats.odd_trees import NASTY, bushy, chain, nasty_tree
from tests.modules import mirror_of


def left_words(tree: st.Tree, node: int) -> str:
    return side_words(split_sides(split_test(tree, node))[0])


def takes(side: Side, value: Any) -> bool:
    if value is None or value != value:
        return side.missing
    if side.operator in ("all", "none"):
        return side.operator == "all"
    if side.values:
        return (value in side.values) == (side.operator == "in")
    return bool(
        {
            "<=": value <= side.bound,
            "<": value < side.bound,
            ">": value > side.bound,
            ">=": value >= side.bound,
        }[side.operator]
    )


@pytest.mark.parametrize(
    "tree",
    [*(random_tree(seed, depth=6) for seed in range(4)), chain(40), bushy(5), nasty_tree()],
    ids=repr,
)
def test_the_first_rule_that_holds_names_the_leaf(tree: st.Tree) -> None:
    tree = tree.replace(feature_names=tree.feature_labels)
    rows = probe_rows(tree, 300)
    rules = decision_list(tree)
    assert sorted(rule.leaf for rule in rules) == sorted(tree.leaves.tolist())
    assert max(len(rule.sides) for rule in rules) <= math.log2(tree.n_leaves)
    assert rules[-1].sides == ()
    found = [
        next(rule.leaf for rule in rules if all(takes(s, row[s.name]) for s in rule.sides))
        for row in rows.to_dict("records")
    ]
    np.testing.assert_array_equal(found, tree.apply(rows))


ODD = {
    "deep": chain(900),
    "deep to the left": chain(900, leftwards=True),
    "bushy": bushy(8),
    "names that would do harm": nasty_tree(),
    "a single leaf": random_tree(0, categorical=False).prune_at([0]),
    "shares to the last digit": random_tree(1, kind="multiclass", depth=6, kept_labels=True),
}


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("language", ["c", "javascript", "python", "r", "sql"])
def test_odd_trees_in_every_language(language: str, name: str, tmp_path: Path) -> None:
    tree = ODD[name].replace(feature_names=ODD[name].feature_labels)
    rows = probe_rows(tree, 2000)
    run = mirror_of(f"steadytree.formats.code.{language}").run
    found, shares = run(tree, rows, tmp_path)
    np.testing.assert_array_equal(np.asarray(found), tree.predict(rows))
    if shares is not None:
        np.testing.assert_array_equal(shares, tree.predict_proba(rows))


def test_names_are_valid_and_distinct() -> None:
    names = ("a b", "a-b", "A_B", "class", "2nd", "größe", "漢字", "row", "x" * 80)
    root: Any = Leaf([0.0])
    for j in range(len(names)):
        root = Branch(feature=j, threshold=0.0, missing_left=True, left=Leaf([1.0]), right=root)
    tree = build_tree(root, n_features=len(names), feature_names=names)
    found = feature_identifiers(tree, reserved=("row",))
    assert all(name.isidentifier() and name.isascii() for name in found.values())
    assert len({name.lower() for name in found.values()}) == len(names)
    assert list(found.values())[:8] == [
        *("a_b", "a_b_2", "A_B_3", "class_2", "x_2nd", "gr_e", "x6", "row_2"),
    ]


def test_plain_decimals_survive_rounding_twice() -> None:
    assert all(is_plain_decimal(x) for x in (0.0, -0.0, 0.1, 50.5, -30000.0, 1e15, 0.001))
    assert not any(is_plain_decimal(x) for x in (0.1 + 0.2, 1e-300, 1e22, 5e-324))
    rng = np.random.default_rng(0)
    for x in np.round(rng.normal(size=3000) * 10.0 ** rng.integers(0, 6, 3000), 3).tolist():
        exact = Fraction(repr(abs(x)))
        twice = float(np.longdouble(exact.numerator) / np.longdouble(exact.denominator))
        assert not is_plain_decimal(x) or twice == abs(x)


def test_words_are_one_harmless_line() -> None:
    tree = nasty_tree()
    words = [
        *head_words(tree, "A tree"),
        *(leaf_words(tree, leaf) for leaf in tree.leaves.tolist()),
        *(left_words(tree, node) for node in np.flatnonzero(~tree.is_leaf).tolist()),
    ]
    assert all(len(line.splitlines()) == 1 and line.isprintable() for line in words)
    assert any(json.dumps(NASTY[0])[1:-1] in line for line in words)


def test_words_say_where_missing_and_unseen_go() -> None:
    def said(**split: Any) -> str:
        tree = build_tree(
            Branch(feature=0, left=Leaf([1.0]), right=Leaf([2.0]), **split),
            n_features=1,
            feature_names=("a",),
            categories=(("x", "y", "z"),) if "left_categories" in split else (),
        )
        return left_words(tree, 0)

    assert said(threshold=2.5, missing_left=True) == "a <= 2.5 or missing"
    assert said(threshold=np.inf, missing_left=False) == "a is not missing"
    assert said(threshold=np.inf, missing_left=True) == "a is anything"
    assert said(left_categories=(0, 1), missing_left=False) == "a in x, y"
    assert said(left_categories=(0, 1), missing_left=False, unseen_left=True) == "a not in z"
    assert said(left_categories=(), missing_left=True, unseen_left=False) == "a is missing"
    assert said(left_categories=(), missing_left=False) == "a is nothing"


def test_the_head_says_which_tree_it_is() -> None:
    tree = random_tree(1, decision=0.2, kept_labels=True)
    words = "\n".join(head_words(tree, "A tree"))
    assert "Classes: no, yes" in words
    assert "Policy: flags yes from a risk of 20 % on" in words
    assert f"marked below: {int(tree.kept_against_share[tree.leaves].sum())}" in words
    other = head_words(tree.replace(value=tree.value * 0.5 + 0.25), "A tree")
    assert other[1] != head_words(tree, "A tree")[1]


def test_rows_as_series_are_rows_too() -> None:
    tree = random_tree(1)
    space: dict[str, Any] = {}
    exec(st.export_tree(tree, "python"), space)
    rows = probe_rows(tree, 20)
    found = [space["leaf"](row) for _, row in rows.iterrows()]
    assert isinstance(rows, pd.DataFrame)
    np.testing.assert_array_equal(found, tree.apply(rows))
