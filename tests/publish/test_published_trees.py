"""A published tree decides as before, and knows nobody."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import steadytree as st
from steadytree.publish import publish_tree, published_values
from tests.report import samples


@pytest.mark.parametrize("kind", ["retraining", "multiclass_diff", "large_diff", "mixed_diff"])
def test_it_decides_as_before_and_labels_follow_from_its_shares_as_before(kind: str) -> None:
    result = getattr(samples, kind)()
    diff = getattr(result, "diff", result)
    for tree in (diff.old, diff.new):
        public = publish_tree(tree)
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
    public = publish_tree(tree)
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
    space = publish_tree(tree).space
    assert space is not None
    assert (space.lower.tolist(), space.upper.tolist()) == ([10.0], [90.0])


def test_categories_of_few_people_have_no_name() -> None:
    tree = samples.mixed_diff().new
    public = publish_tree(tree, {"colour": {"red": "rare category 1"}})
    assert "is red" not in str(public)
    assert "rare category 1" in str(public)
    unused = tree.truncate(0)
    assert not {"red", "green"} & {
        c for known in publish_tree(unused).categories for c in known or ()
    }


@pytest.mark.parametrize(
    ("hits", "rows", "threshold", "expected"),
    [
        (3, 43, None, 0.0),  # a step of 20 %: 10 % would stand for four people
        (12, 43, None, 0.2),
        (27, 900, None, 0.03),
        (304, 1000, 0.3, 0.3),
        (296, 1000, 0.3, 0.29),  # 30 % would be across the threshold
        (14, 43, 0.31, 0.4),  # so would 20 %, where 32.6 % is decided yes
        (13, 22, None, 0.75),  # a quarter of 22 are five; half would be decided no
        (1, 9, None, 0.0),
    ],
)
def test_a_share_is_rounded_in_steps_of_five_people_and_never_across_the_threshold(
    hits: int, rows: int, threshold: float | None, expected: float
) -> None:
    X = np.repeat([0.0, 1.0], [rows, 2000])[:, None]
    others = 100 if hits / rows >= (threshold or 0.5) else 1900
    y = np.r_[np.arange(rows) < hits, np.arange(2000) < others].astype(int)
    tree = st.as_tree(DecisionTreeClassifier(max_depth=1).fit(X, y), threshold)
    leaf = int(tree.apply(X[:1])[0])
    assert published_values(tree)[leaf, 1] == pytest.approx(expected)


def test_a_threshold_that_is_a_rate_of_the_rows_is_rounded() -> None:
    tree = st.as_tree(
        DecisionTreeClassifier(max_depth=1).fit([[0.0], [1.0], [1.0]], [0, 1, 0]), 65 / 238
    )
    assert publish_tree(tree).decision_threshold == 0.27
    assert publish_tree(tree).label[1:].tolist() == tree.label[1:].tolist()


def test_means_of_few_people_are_coarse() -> None:
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    model = DecisionTreeRegressor(max_leaf_nodes=40, random_state=0).fit(X, y)
    tree = st.as_tree(model)
    public = publish_tree(tree)
    few = [leaf for leaf in tree.leaves.tolist() if tree.weight[leaf] < 20]
    assert few
    # A twentieth of 25 to 346 is 16: the next round step is 20.
    assert all(public.value[leaf, 0] % 20 == 0 for leaf in few)
    for leaf in set(tree.leaves.tolist()) - set(few):
        assert public.value[leaf, 0] == float(f"{tree.value[leaf, 0]:.3g}")
