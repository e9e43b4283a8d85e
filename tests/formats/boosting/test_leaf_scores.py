"""Leaves of boosted trees: scores as shares and responses, and back as the tree's labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from steadytree.exceptions import UnsupportedModelError
from steadytree.formats.boosting.leaf_scores import LINKS, Outcome, link_of
from steadytree.formats.boosting.like_boosting import leaf_scores
from steadytree.tree.nested import Leaf, build_tree
from tests.foreign import random_tree


def test_scores_become_shares_and_responses() -> None:
    raw = np.array([-1e308, -800.0, 0.0, np.log(3), 800.0])
    for name in ("logistic", "single logistic"):
        shares = Outcome(LINKS[name], ("no", "yes")).of(raw)
        np.testing.assert_allclose(shares[:, 1], [0, 0, 0.5, 0.75, 1], rtol=1e-6)
        np.testing.assert_array_equal(shares.sum(axis=1), 1)
    several = Outcome(LINKS["softmax"], (0, 1, 2)).of(
        [[0.0, np.log(3), 0.0], [900.0, -900.0, 900.0]]
    )
    np.testing.assert_allclose(several, [[0.2, 0.6, 0.2], [0.5, 0, 0.5]])
    assert Outcome().of([1.0, 2.0]).tolist() == [[1.0], [2.0]]
    # For the tree to refuse, without a warning.
    assert np.isinf(Outcome(LINKS["exponential"]).of([1e9])).all()
    with pytest.raises(UnsupportedModelError, match="objectives a, b, got 'c'; fit it with one"):
        link_of("c", {"b": "identity", "a": "identity"}, "LightGBM")


@pytest.mark.parametrize("library", ["LightGBM", "XGBoost"])
@pytest.mark.parametrize("share", [0.0, 1e-20, 0.3, 0.5, 0.5 + 1e-16, 0.75, 1.0])
def test_the_label_survives_the_link(share: float, library: str) -> None:
    single = library == "XGBoost"
    for decided, policy in ((True, None), (False, share if 0 < share < 1 else 0.4)):
        fields: dict[str, Any] = {} if policy is None else {"decision": policy}
        tree = build_tree(Leaf([1 - share, share]), n_features=1, classes=("no", "yes"), **fields)
        score = leaf_scores(tree, None, library, link="logistic", decided=decided)
        back = 1 / (1 + np.exp(-score.astype(np.float32 if single else np.float64)))
        assert back[0] == pytest.approx(share, abs=1.1e-6 if single else 1.1e-9)
        label = tree.decision.labels(np.column_stack([1 - back, back]))
        assert label.tolist() == tree.label.tolist()


def test_responses() -> None:
    tree = random_tree(0, kind="regression")

    def scores(of: Any, link: str) -> Any:
        return leaf_scores(of, None, "LightGBM", link=link, decided=False)

    np.testing.assert_array_equal(scores(tree, "identity"), tree.value[:, 0])
    above = tree.replace(value=np.abs(tree.value) + 1)
    np.testing.assert_allclose(np.exp(scores(above, "exponential")), above.value[:, 0])
    with pytest.raises(UnsupportedModelError, match="expected responses above 0"):
        scores(tree, "exponential")
    with pytest.raises(UnsupportedModelError, match="expected a tree of classes"):
        scores(tree, "logistic")
    with pytest.raises(UnsupportedModelError, match="expected a tree of a response"):
        scores(random_tree(0), "identity")
    with pytest.raises(UnsupportedModelError, match="expected two classes"):
        scores(random_tree(0, kind="multiclass"), "logistic")
