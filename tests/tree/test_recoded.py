"""Missing values that a deployed pipeline fills in go where what stands for them goes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

import steadytree as st
from steadytree.tree.recoded import (
    StandIn,
    fill_in,
    may_be_missing,
    never_missing,
    recoded_entries,
    stand_ins,
    with_stand_ins,
)
from tests.foreign import probe_rows, random_tree

STANDS_FOR = {"age": 3.5, "colour": "green", "size": 10, "never heard of": 1}


def tree_and_space(seed: int = 0) -> tuple[st.Tree, st.FeatureSpace]:
    tree = random_tree(seed).replace(metadata={"imputed": STANDS_FOR})
    return tree, st.FeatureSpace.from_data(probe_rows(tree, 500, unseen=False))


def test_what_stands_for_missing_is_found_by_name() -> None:
    tree, space = tree_and_space()
    found = stand_ins(tree, space)
    labels, categories = space.feature_labels, space.categories
    assert found[labels.index("age")].missing == 3.5
    colours = categories[labels.index("colour")]
    assert colours is not None
    assert colours[int(found[labels.index("colour")].missing)] == "green"
    assert stand_ins(tree.replace(metadata={}), space) == {}
    assert stand_ins(tree.replace(metadata={"imputed": {"colour": "pink"}}), space) == {}
    assert recoded_entries(tree) == {"imputed": STANDS_FOR}
    assert recoded_entries(tree.replace(metadata={})) == {}


def test_the_space_and_the_rows_know_no_missing_value() -> None:
    tree, space = tree_and_space()
    codes = stand_ins(tree, space)
    fixed = never_missing(space, tree)
    assert not fixed.can_be_missing[list(codes)].any()
    others = [j for j in range(space.n_features) if j not in codes]
    np.testing.assert_array_equal(fixed.can_be_missing[others], space.can_be_missing[others])
    assert never_missing(fixed, tree) is fixed
    coded = np.full((2, space.n_features), np.nan)
    filled = fill_in(coded, codes)
    assert np.isnan(coded).all()
    assert np.isnan(filled[:, others]).all()
    for feature, one in codes.items():
        assert (filled[:, feature] == one.missing).all()
    assert fill_in(coded, {}) is coded


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("seed", range(10))
def test_rows_go_as_if_filled_in(seed: int, precision: str) -> None:
    tree = random_tree(seed, precision=precision).replace(metadata={"imputed": STANDS_FOR})
    rows = probe_rows(tree, 1000, seed)
    codes = {
        feature: StandIn(STANDS_FOR[name] if cats is None else cats.index(STANDS_FOR[name]))
        for feature, (name, cats) in enumerate(
            zip(tree.feature_labels, tree.categories, strict=True)
        )
        if name in STANDS_FOR
    }
    changed = with_stand_ins(tree, codes)
    filled = rows.copy()
    for name in ("age", "colour", "size"):
        filled[name] = filled[name].where(rows[name].notna(), STANDS_FOR[name])
    np.testing.assert_array_equal(changed.apply(rows), tree.apply(filled))
    assert with_stand_ins(changed, codes) is changed
    assert with_stand_ins(tree, {}) is tree


def test_every_tree_of_a_retraining_treats_missing_values_as_imputed() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.normal(50, 15, 1500), "income": rng.normal(30, 9, 1500)})
    risk = (X["age"] > 55) | (X["income"] < 25)
    y = (rng.random(1500) < np.where(risk, 0.8, 0.15)).astype(int)
    X = X.mask(rng.random(X.shape) < 0.15)
    fills: dict[str, Any] = {"age": 50.0}
    model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X[:500].fillna(fills), y[:500])
    deployed = st.as_tree(model)
    deployed = deployed.replace(metadata={**deployed.metadata, "imputed": fills})
    result = st.retrain(
        *(deployed, X[500:], y[500:]),
        n_folds=2,
        search=st.SearchOptions(n_estimators=20),
        random_state=0,
    )
    assert not result.space.can_be_missing[0]
    assert result.space.can_be_missing[1]
    for name, tree in result.trees.items():
        assert tree.metadata.get("imputed") == fills, name
        np.testing.assert_array_equal(tree.predict(X), tree.predict(X.fillna(fills)))
    again = st.retrain(result.tree, X[500:900], y[500:900], n_folds=0, random_state=0)
    np.testing.assert_array_equal(again.tree.apply(X), again.tree.apply(X.fillna(fills)))


# -- categories that a pipeline lumps together go together in every new tree ------


KNOWN = ["red", "green", "it's blue"]


def told(unseen: Any, same: Any = ()) -> dict[str, Any]:
    entry = {"categories": KNOWN, "same": list(same), "unseen": unseen}
    return {"pipeline_categories": {"colour": entry, "never heard of": entry}}


def codes_of(metadata: dict[str, Any]) -> StandIn:
    """Of a space with the categories red, green, it's blue, n/a and nothing."""
    tree = random_tree(0).replace(metadata=metadata)
    space = st.FeatureSpace.from_data(probe_rows(tree, 200, unseen=False, missing=False))
    feature = space.feature_labels.index("colour")
    space = space.replace(
        categories=tuple(
            tree.categories[feature] if j == feature else c for j, c in enumerate(space.categories)
        )
    )
    found = stand_ins(tree, space)
    assert set(found) == {feature}
    assert bool(may_be_missing(space, found).can_be_missing[feature]) == bool(
        np.isnan(found[feature].codes).any()
    )
    return found[feature]


def test_what_stands_for_each_category() -> None:
    own = codes_of(told("own"))
    np.testing.assert_array_equal(own.codes, [0, 1, 2, 3, 3])
    assert own.unseen == 3
    as_missing = codes_of(told("missing"))
    np.testing.assert_array_equal(as_missing.codes, [0, 1, 2, np.nan, np.nan])
    assert np.isnan(as_missing.unseen)
    lumped = codes_of(told(["it's blue"], [["green", "it's blue"]]))
    np.testing.assert_array_equal(lumped.codes, [0, 1, 1, 1, 1])
    assert lumped.unseen == 1


def test_nothing_told_nothing_lumped() -> None:
    tree = random_tree(0)
    space = st.FeatureSpace.from_data(probe_rows(tree, 200))
    assert stand_ins(tree, space) == {}
    coded = np.zeros((2, 6))
    assert fill_in(coded, {}) is coded
    assert with_stand_ins(tree, {}) is tree
    assert recoded_entries(tree) == {}
    assert recoded_entries(tree.replace(metadata=told("own"))) == told("own")


@pytest.mark.parametrize("stands_for", [[0, 1, 1, 3, 3], [0, 0, np.nan, 3, np.nan]])
@pytest.mark.parametrize("seed", range(8))
def test_rows_go_as_what_stands_for_them(seed: int, stands_for: list[float]) -> None:
    tree = random_tree(seed)
    feature = tree.feature_labels.index("colour")
    lumps = {feature: StandIn(codes=np.array(stands_for), unseen=stands_for[4])}
    changed = with_stand_ins(tree, lumps)
    rows = probe_rows(tree, 1000, seed, unseen=False)
    coded = tree.encode(rows)
    np.testing.assert_array_equal(
        changed.apply_coded(coded), tree.apply_coded(fill_in(coded, lumps))
    )
    assert with_stand_ins(changed, lumps) is changed
    unseen = rows.assign(colour="never met")
    like_last = rows.assign(colour="")
    np.testing.assert_array_equal(changed.apply(unseen), changed.apply(like_last))
