"""Ordered categories, from the first tree through retrainings: rules follow the order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as hs
from numpy.typing import NDArray

import steadytree as st
from steadytree.exceptions import InputError, SteadyTreeWarning
from steadytree.retraining import retrain
from tests.strategies import examples
from tests.wording import refuses

QUICK: dict[str, Any] = {
    "search": st.SearchOptions(n_estimators=10),
    "n_folds": 0,
    "random_state": 0,
}
LEVELS = ("none", "low", "middle", "high", "extreme")


def graded_rows(
    n: int, seed: int, *, levels: tuple[str, ...] = LEVELS, peak: bool = False
) -> tuple[pd.DataFrame, NDArray[np.int64]]:
    """Rows whose risk rises with a grade (or has a peak inside it), some grades missing."""
    rng = np.random.default_rng(seed)
    grade = rng.integers(0, len(levels), n)
    x = rng.normal(size=n)
    risk = np.isin(grade, [1, 3]) if peak else grade >= 2
    y = (rng.random(n) < 1 / (1 + np.exp(2 - 3 * risk - x))).astype(np.int64)
    codes = np.where(rng.random(n) < 0.08, -1, grade)
    column = pd.Categorical.from_codes(codes, list(levels), ordered=True)
    return pd.DataFrame({"grade": column, "x": x}), y


def first_tree(X: Any, y: Any, **options: Any) -> st.DistilledTreeClassifier:
    return st.DistilledTreeClassifier(
        n_estimators=10,
        max_leaf_nodes=6,
        decision_threshold="prevalence",
        random_state=0,
        **options,
    ).fit(X, y)


def sets_of(tree: st.Tree) -> list[tuple[int, ...]]:
    return [left for left in tree.left_categories if left is not None]


def along_the_order(left: tuple[int, ...], count: int) -> bool:
    return left in (tuple(range(len(left))), tuple(range(count - len(left), count)))


@pytest.mark.parametrize("peak", [False, True])
def test_every_set_of_every_tree_follows_the_order(peak: bool) -> None:
    X, y = graded_rows(250, 0, peak=peak)
    X_new, y_new = graded_rows(250, 1, peak=not peak)
    first = first_tree(X, y)
    assert sets_of(first.to_tree())
    nominal = first_tree(X.astype({"grade": pd.CategoricalDtype(LEVELS)}), y)
    if peak:
        assert any(not along_the_order(s, 5) for s in sets_of(nominal.to_tree()))
    result = retrain(first, X_new, y_new, old=(X, y), **QUICK)
    found = [left for tree in result.trees.values() for left in sets_of(tree)]
    assert len(set(found)) > 2
    assert all(along_the_order(left, 5) for left in found)
    assert result.tree.space is not None
    assert result.tree.space.ordered.tolist() == [True, False]


@examples(5)
@given(hs.integers(0, 1000), hs.permutations("vwxyz"), hs.booleans())
def test_the_names_of_ordered_categories_change_nothing(
    seed: int, names: list[str], peak: bool
) -> None:
    X, y = graded_rows(240, seed, peak=peak)
    others = dict(zip(LEVELS, names, strict=True))
    renamed = X.assign(grade=X["grade"].cat.rename_categories(others))
    trees = [first_tree(table, y).to_tree() for table in (X, renamed)]
    assert trees[0].left_categories == trees[1].left_categories
    for name in ("feature", "threshold", "value", "missing_left", "label"):
        np.testing.assert_array_equal(getattr(trees[0], name), getattr(trees[1], name))


def test_missing_grades_go_where_the_split_says() -> None:
    X, y = graded_rows(400, 4)
    X["grade"] = X["grade"].where(np.arange(400) % 3 > 0)
    y = np.where(X["grade"].isna(), np.arange(400) % 2, (X["grade"].cat.codes >= 2) * 1)
    tree = first_tree(X[["grade"]].assign(z=0.0), y).to_tree()
    rows = pd.DataFrame({"grade": [*LEVELS, None, "never seen"], "z": 0.0})
    shares = tree.predict_proba(rows)[:, 1]
    assert (shares[:2] < 0.2).all()
    assert (shares[2:5] > 0.8).all()
    assert shares[5] == shares[6] == pytest.approx(0.5, abs=0.15)


def test_polars_enums_are_read_in_order() -> None:
    X, y = graded_rows(300, 0, peak=True)
    enum = pl.DataFrame(
        {"grade": pl.Series(X["grade"].astype(object).where(X["grade"].notna(), None).tolist(),
                            dtype=pl.Enum(LEVELS)), "x": X["x"].to_numpy()}
    )  # fmt: skip
    assert first_tree(enum, y).to_tree() == first_tree(X, y).to_tree()


# -- between batches ----------------------------------------------------------------------


def test_rows_without_an_order_follow_the_deployed_one() -> None:
    X, y = graded_rows(300, 0)
    X_new, y_new = graded_rows(200, 1, peak=True)
    first = first_tree(X, y)
    plain = retrain(first, X_new.astype({"grade": object}), y_new, **QUICK)
    assert plain.tree == retrain(first, X_new, y_new, **QUICK).tree


def test_another_order_of_the_same_categories_is_refused() -> None:
    X, y = graded_rows(200, 0)
    X_new, y_new = graded_rows(200, 1)
    first = first_tree(X, y)
    alphabet = X_new.assign(grade=X_new["grade"].cat.reorder_categories(sorted(LEVELS)))
    with refuses(InputError, "retraining: another order of the categories"):
        retrain(first, alphabet, y_new, **QUICK)


def test_new_grades_take_their_declared_place() -> None:
    X, y = graded_rows(300, 0, levels=("none", "low", "high", "extreme"))
    X_new, y_new = graded_rows(300, 1)
    first = first_tree(X, y)
    with pytest.warns(SteadyTreeWarning, match="new categories of 'grade': 'middle'"):
        result = retrain(first, X_new, y_new, price=0.0, **QUICK)
    assert result.space.categories[0] == LEVELS
    assert all(along_the_order(left, 5) for left in sets_of(result.tree))
    as_text = X_new.astype({"grade": object})
    with refuses(InputError, "retraining: a category without a place in the order"):
        retrain(first, as_text, y_new, **QUICK)
    spelt = as_text.assign(grade=as_text["grade"].str.upper())
    with pytest.raises(InputError, match="if these are other names for the same, map them first"):
        retrain(first, spelt, y_new, **QUICK)


def test_a_deployed_tree_without_an_order_keeps_working() -> None:
    X, y = graded_rows(300, 0, peak=True)
    X_new, y_new = graded_rows(200, 1, peak=True)
    nominal = first_tree(X.astype({"grade": object}), y)
    result = retrain(nominal, X_new, y_new, **QUICK)
    text = retrain(nominal, X_new.astype({"grade": object}), y_new, **QUICK)
    assert result.tree == text.tree
    # With the order in the space, new rules follow it; those that stay need not.
    space = st.FeatureSpace.from_data(pd.concat([X, X_new]), y=None)
    result = retrain(nominal, X_new, y_new, space=space, price=0.0, **QUICK)
    fresh = sets_of(result.trees["from scratch"])
    assert fresh
    assert all(along_the_order(left, 5) for left in fresh)


def test_a_tree_without_a_space_takes_the_order_of_the_rows() -> None:
    X, y = graded_rows(300, 0)
    X_new, y_new = graded_rows(200, 1)
    bare = first_tree(X.astype({"grade": object}), y).to_tree().replace(space=None)
    assert bare.categories[0] == tuple(sorted(LEVELS))
    for old in ({}, {"old": (X, y)}):
        result = retrain(bare, X_new, y_new, **old, **QUICK)
        assert result.space.categories[0] == LEVELS
        assert result.space.ordered.tolist() == [True, False]
