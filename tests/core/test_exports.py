"""``tree.to_...()``: one method for every format that can be written."""

from __future__ import annotations

import inspect

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from steadytree.core.exports import TreeExports
from steadytree.core.space import FeatureSpace
from steadytree.readers import as_tree
from steadytree.writers import WRITERS


def test_every_format_has_its_method() -> None:
    methods = {name for name, _ in inspect.getmembers(TreeExports, inspect.isfunction)}
    assert {f"to_{name}" for name in WRITERS} == methods - {"without_counts"}


def test_a_tree_without_counts_predicts_the_same() -> None:
    X = np.arange(60.0)[:, None]
    y = np.where(X[:, 0] < 21, "no", "yes")
    y[3] = "yes"  # 1 of 21
    model = DecisionTreeClassifier(max_depth=1).fit(X, y)
    tree = as_tree(model, space=FeatureSpace.from_data(X, y))
    bare = tree.without_counts()
    assert bare.observed is None
    assert bare.space is None
    assert set(bare.weight.tolist()) == {1.0}
    assert (bare.value == tree.value).all()
    assert bare.predict(X).tolist() == tree.predict(X).tolist()
    for text in (bare.to_markdown(), bare.to_python(), str(bare)):
        assert "of 21" not in text
        assert "35" not in text
