"""A published tree decides as before, and knows nobody."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

import steadytree as st
from tests.report import samples


@pytest.mark.parametrize("kind", ["retraining", "multiclass_diff", "large_diff", "mixed_diff"])
def test_it_decides_as_before_and_labels_follow_from_its_shares_as_before(kind: str) -> None:
    result = getattr(samples, kind)()
    diff = getattr(result, "diff", result)
    for tree in (diff.old, diff.new):
        public = st.publish_tree(tree)
        leaf = tree.leaves
        assert public.label[leaf].tolist() == tree.label[leaf].tolist()
        assert public.kept_against_share[leaf].tolist() == tree.kept_against_share[leaf].tolist()
        assert public.threshold.tolist() == pytest.approx(tree.threshold.tolist(), nan_ok=True)
        assert public.value.sum(axis=1) == pytest.approx(1)
        hundredths = public.value[leaf] * 100
        assert hundredths == pytest.approx(np.round(hundredths), abs=1e-9)
        assert st.as_tree(public) == public


def test_nothing_that_counts_people_is_left(tmp_path) -> None:
    tree = samples.retraining().tree
    assert tree.observed is not None
    public = st.publish_tree(tree)
    assert public.observed is None
    assert set(public.weight.tolist()) == {1.0}
    assert set(public.metadata) <= {"source", "takes_missing"}
    st.save_tree(public, tmp_path / "tree.json")
    assert st.load_tree(tmp_path / "tree.json") == public
    assert tree.metadata["training_rows"]
    for fingerprint in tree.metadata["training_rows"]:
        assert fingerprint not in (tmp_path / "tree.json").read_text(encoding="utf-8")
    assert "observed" not in st.export_tree(public, "markdown")
    assert st.export_tree(tree, "sql", publish=True) == st.export_tree(public, "sql")
    assert st.diff_trees(public, public).unchanged


def test_bounds_are_no_single_persons_values() -> None:
    X = np.array([[17.3], [40.0], [89.2]] * 20)
    tree = st.as_tree(
        DecisionTreeClassifier(max_depth=1).fit(X, X[:, 0] > 50),
        space=st.FeatureSpace.from_data(X),
    )
    space = st.publish_tree(tree).space
    assert space is not None
    assert (space.lower.tolist(), space.upper.tolist()) == ([10.0], [90.0])
