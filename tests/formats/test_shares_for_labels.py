"""Where a label does not follow its shares, the user says which gives way."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import steadytree as st
from steadytree.exceptions import UnsupportedModelError
from steadytree.formats.shares_for_labels import leaf_shares
from tests.foreign import random_tree


@pytest.mark.parametrize("kind", ["binary", "multiclass"])
@pytest.mark.parametrize("seed", range(4))
def test_shares_move_no_further_than_they_must(kind: str, seed: int) -> None:
    policy: Any = 0.37 if kind == "binary" and seed % 2 else None
    tree = random_tree(seed, kind=kind, kept_labels=True, decision=policy)
    kept = tree.kept_against_share & tree.is_leaf
    assert kept.any()
    shares = leaf_shares(tree, "labels", "it")
    np.testing.assert_array_equal(
        tree.decision.labels(shares)[tree.leaves], tree.label[tree.leaves]
    )
    np.testing.assert_array_equal(shares[~kept], tree.value[~kept])
    np.testing.assert_allclose(shares.sum(axis=1), 1, atol=1e-12)
    if policy is not None:
        np.testing.assert_allclose(shares[kept, 1], policy, atol=1e-15)
    np.testing.assert_array_equal(leaf_shares(tree, "shares", "it"), tree.value)


def test_a_system_without_the_threshold() -> None:
    tree = random_tree(1, decision=0.2)
    np.testing.assert_array_equal(leaf_shares(tree, None, "it"), tree.value)
    with pytest.raises(UnsupportedModelError, match=r"that it can say.*threshold is 0\.2"):
        leaf_shares(tree, None, "it", st.Decision())
    moved = leaf_shares(tree, "labels", "it", st.Decision())
    np.testing.assert_array_equal(moved.argmax(axis=1)[tree.leaves], tree.label[tree.leaves])
