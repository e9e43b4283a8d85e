"""Leaves of boosted trees: scores that come back as the tree's labels and shares."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import steadytree as st
from steadytree.exceptions import UnsupportedModelError
from steadytree.formats.boosting.leaf_scores import category_codes, labels_or_responses, leaf_scores
from steadytree.tree.branches import build_tree
from steadytree.tree.nested import Leaf
from tests.foreign import random_tree


@pytest.mark.parametrize("single", [True, False])
@pytest.mark.parametrize("share", [0.0, 1e-20, 0.3, 0.5, 0.5 + 1e-16, 0.75, 1.0])
def test_the_label_survives_the_link(share: float, single: bool) -> None:
    for decided, policy in ((True, None), (False, share if 0 < share < 1 else 0.4)):
        leaf = Leaf([1 - share, share])
        fields: dict[str, Any] = {} if policy is None else {"decision": policy}
        tree = build_tree(leaf, n_features=1, classes=("no", "yes"), **fields)
        score = leaf_scores(tree, None, "it", link="logistic", decided=decided, single=single)
        back = 1 / (1 + np.exp(-score.astype(np.float32 if single else np.float64)))
        assert back[0] == pytest.approx(share, abs=1.1e-6 if single else 1.1e-9)
        found = labels_or_responses(object(), back, tree)
        assert found.tolist() == [tree.class_names(tree.label)[0]]


def test_responses() -> None:
    tree = random_tree(0, kind="regression")
    as_it_is = leaf_scores(tree, None, "it", link="identity", decided=False, single=False)
    np.testing.assert_array_equal(as_it_is, tree.value[:, 0])
    above = tree.replace(value=np.abs(tree.value) + 1)
    logs = leaf_scores(above, None, "it", link="exponential", decided=False, single=False)
    np.testing.assert_allclose(np.exp(logs), above.value[:, 0])
    with pytest.raises(UnsupportedModelError, match="expected responses above 0"):
        leaf_scores(tree, None, "it", link="exponential", decided=False, single=False)
    with pytest.raises(UnsupportedModelError, match="expected a tree of classes"):
        leaf_scores(tree, None, "it", link="logistic", decided=False, single=False)


def test_several_classes_are_refused() -> None:
    with pytest.raises(UnsupportedModelError, match="expected two classes"):
        leaf_scores(
            random_tree(0, kind="multiclass"),
            *(None, "it"),
            link="logistic",
            decided=True,
            single=False,
        )


def test_codes_of_categories() -> None:
    assert category_codes(("b", "a"), ("a", "z"), True) == {"b": 0, "a": 1}
    assert category_codes((0, 3), (5, "z", -1), False) == {0: 0, 3: 3, 5: 5}
    assert category_codes(None, None, False) == {}


def test_an_estimator_gives_labels_itself() -> None:
    class Estimator:
        classes_ = np.array(["no", "yes"])

    tree: st.Tree = random_tree(0)
    found = labels_or_responses(Estimator(), ["yes", "no"], tree)
    assert found.tolist() == ["yes", "no"]
