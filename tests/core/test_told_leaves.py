from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from steadytree.core.told_leaves import ToldLeaves
from steadytree.core.tree import Tree
from steadytree.core.words import PAGE
from steadytree.readers import as_tree


def told(tree: Tree, min_cell: int = 5) -> ToldLeaves:
    return ToldLeaves(tree, min_cell, positive=1, style=PAGE)


def test_predictions_that_would_tell_a_count_are_coarse() -> None:
    """A plain share of known rows is a count; one that a model steadies is not."""
    X = np.arange(100.0)[:, None]
    y = np.where(np.arange(100) < 40, "no", "yes")
    y[3] = "yes"  # 1 of 40
    y[[50, 60, 70]] = "no"  # 57 of 60
    model = DecisionTreeClassifier(max_depth=1).fit(X, y)
    tree = as_tree(model)
    plain = told(tree)
    ends = tree.leaves.tolist()
    assert [plain.observed[leaf] for leaf in ends] == ["<\u202f10 of 40", ">\u202f50 of 60"]
    assert [plain.predicted[leaf] for leaf in ends] == ["≤\u202f23\u202f%", "≥\u202f85\u202f%"]
    seen = tree.observed
    assert seen is not None
    steadied = replace(seen, steadied_by=np.full((3, 2), 0.5), strength=np.full(3, 40.0))
    steady = tree.replace(observed=steadied, value=steadied.predicted())
    texts = told(steady)
    assert [texts.predicted[leaf] for leaf in ends] == ["26.2\u202f%", "77.0\u202f%"]
    hardly = replace(seen, steadied_by=np.full((3, 2), 0.5), strength=np.full(3, 4.0))
    texts = told(tree.replace(observed=hardly, value=hardly.predicted()))
    assert [texts.predicted[leaf] for leaf in ends] == ["≤\u202f30\u202f%", "≥\u202f79\u202f%"]
    assert told(tree, 1).predicted[ends[0]] == "2.5\u202f%"


@pytest.mark.parametrize(("outcomes", "rows"), [(1, 10), (1, 21), (2, 31)])
def test_a_rate_that_is_a_count_is_not_told_where_no_counts_are_stored(
    outcomes: int, rows: int
) -> None:
    X = np.arange(100.0)[:, None]
    y = np.array(["no"] * 50 + ["yes"] * 50)
    y[:rows] = "no"
    y[:outcomes] = "yes"
    y[rows:] = np.where(np.arange(100 - rows) % 3, "yes", "no")
    tree = as_tree(DecisionTreeClassifier(max_leaf_nodes=4, min_samples_leaf=5).fit(X, y))
    for bare in (tree, tree.replace(observed=None)):
        leaves = told(bare)
        for leaf in bare.leaves.tolist():
            count = bare.value[leaf, 1] * bare.weight[leaf]
            if 0 < round(min(count, bare.weight[leaf] - count)) < 5:
                assert leaves.value[leaf] is None
                words = leaves.predicted[leaf]
                assert words is None or words[0] in "<≤≥" or "–" in words


def test_the_words_of_a_leaf_are_those_of_the_tree_where_nothing_is_masked() -> None:
    X = np.arange(60.0)[:, None]
    y = np.where(X[:, 0] < 30, "no", "yes")
    tree = as_tree(DecisionTreeClassifier(max_depth=1).fit(X, y))
    assert ToldLeaves(tree, 1).words(1) == "no (predicts yes 0.0 %; observed 0 of 30)"
    assert ToldLeaves(tree, 5).words(1) == "no (predicts yes 0.0 %; observed 0 of 30)"
    y[3] = "yes"
    tree = as_tree(DecisionTreeClassifier(max_depth=1).fit(X, y))
    masked = ToldLeaves(tree, 5).words(1)
    assert "1 of 30" not in masked
    assert "3.3 %" not in masked
    assert "1 of 30" in ToldLeaves(tree, 1).words(1)


def test_means_of_few_people_are_rounded() -> None:
    X, y = np.arange(40.0)[:, None], np.arange(40.0) ** 1.5
    tree = as_tree(DecisionTreeRegressor(max_leaf_nodes=20, random_state=0).fit(X, y))
    leaves = told(tree)
    assert leaves.few
    step = (tree.value.max() - tree.value.min()) / 20
    for leaf in leaves.few:
        value = leaves.value[leaf]
        assert value is not None
        steps = (value[0] - tree.value.min()) / step
        assert steps == pytest.approx(round(steps), abs=0.02)
