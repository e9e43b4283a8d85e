"""A tree in words is read back as the same tree, whatever its names hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import steadytree as st
from steadytree.exceptions import InputError
from steadytree.formats.rules.write_rules import write
from tests.foreign import probe_rows, random_tree
from tests.formats.odd_trees import bushy, chain, nasty_tree


def run(tree: st.Tree, rows: pd.DataFrame, folder: Path) -> tuple[Any, Any]:
    found = st.as_tree(st.export_tree(tree, path=folder / "tree.rules"))
    shares = found.predict_proba(rows) if found.is_classifier else None
    if shares is not None:
        np.testing.assert_array_equal(shares, tree.predict_proba(rows))
    return found.predict(rows), shares


@pytest.mark.parametrize(
    "tree", [chain(900), chain(900, leftwards=True), bushy(8), nasty_tree()], ids=repr
)
def test_large_trees_and_names_that_mean_something(tree: st.Tree, tmp_path: Path) -> None:
    tree = tree.replace(feature_names=tree.feature_labels)
    rows = probe_rows(tree, 2000)
    np.testing.assert_array_equal(run(tree, rows, tmp_path)[0], tree.predict(rows))


def test_names_that_are_words_of_the_grammar(tmp_path: Path) -> None:
    words = ("else", "is", "missing", "any x", "rows", "class", "true", "1", "# no", "a, b", " ")
    tree = random_tree(2, depth=6).replace(
        feature_names=("is in", "if x", "or", "not", "else: x", "any"),
        categories=(None, None, None, words[:5], words[5:9], (False, True)),
        classes=("missing", "2 rows"),
    )
    rows = probe_rows(tree, 2000)
    np.testing.assert_array_equal(run(tree, rows, tmp_path)[0], tree.predict(rows))


def test_a_class_with_a_character_that_nobody_prints_survives(tmp_path: Path) -> None:
    tree = random_tree(0).replace(classes=("a\ue000", "b\0"))
    rows = probe_rows(tree, 100)
    np.testing.assert_array_equal(run(tree, rows, tmp_path)[0], tree.predict(rows))


def test_weights_decision_and_categories_survive() -> None:
    tree = random_tree(4, depth=5, decision=0.3, kept_labels=True)
    found = st.tree_from_rules(write(tree))
    assert found.decision_threshold == 0.3
    assert (found.classes, found.categories) == (tree.classes, tree.categories)
    assert found.weight[0] == tree.weight[0]
    assert sorted(found.label[found.leaves]) == sorted(tree.label[tree.leaves])


def test_a_single_leaf_and_infinite_classes() -> None:
    tree = random_tree(0).prune_at([0])
    assert st.tree_from_rules(write(tree)).value.tolist() == tree.value.tolist()
    with pytest.raises(InputError, match="expected finite classes"):
        write(random_tree(5).replace(classes=(float("inf"), 1.0)))
