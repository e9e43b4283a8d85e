"""Columns of codes: a set of categories becomes one threshold, node for node."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import steadytree as st
from steadytree.formats.sklearn.write_sklearn import coded_columns
from tests.foreign import probe_rows, random_tree
from tests.formats.sklearn.test_write_sklearn import as_sklearn_takes


@pytest.mark.parametrize("seed", range(10))
def test_every_row_takes_the_same_way(seed: int) -> None:
    tree = random_tree(seed)
    columns, numeric = coded_columns(tree)
    assert numeric.n_nodes == tree.n_nodes
    assert not any(numeric.categories)
    rows = as_sklearn_takes(tree, probe_rows(tree, 2000, seed))
    coded = columns.transform(rows).astype(float)
    np.testing.assert_array_equal(numeric.apply(coded), tree.apply(rows))


def test_a_set_is_coded_once() -> None:
    tree = random_tree(3, depth=7)
    sets = {
        (int(tree.feature[n]), tree.left_categories[n], tree.missing_left[n], tree.unseen_left[n])
        for n in range(tree.n_nodes)
        if tree.left_categories[n] is not None
    }
    columns, _ = coded_columns(tree)
    assert len(columns.transformers) == 1 + len(sets)


def test_columns_of_every_pandas_type() -> None:
    tree = random_tree(11, names=("age", "colour", "size"))
    rows = as_sklearn_takes(tree, probe_rows(tree, 1000, singles=True))
    model, expected = st.export_tree(tree, "sklearn"), tree.predict(rows)
    colours = rows["colour"].astype("category")
    sizes = rows["size"].astype(float)
    for table in (
        rows.assign(colour=colours, size=sizes),
        rows.assign(size=sizes.astype("category")),
        rows.assign(colour=pd.Series(rows["colour"], dtype=object), size=sizes.astype("Int64")),
    ):
        np.testing.assert_array_equal(model.predict(table), expected)
