"""Which categories a pipeline cannot tell apart is asked of the pipeline."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier

import steadytree as st
from steadytree.formats.sklearn.pipeline_columns import pipeline_columns
from steadytree.formats.sklearn.pipeline_cuts import category_lumps

TOWNS = ["a"] * 40 + ["b"] * 30 + ["c"] * 3 + ["d"] * 2


def lumps_of(encode: Any, towns: list[Any]) -> dict[str, Any]:
    X = pd.DataFrame({"town": pd.Series(towns, dtype=object), "n": np.arange(len(towns)) * 1.0})
    columns = ColumnTransformer([("c", encode, ["town"])], remainder="passthrough")
    model = make_pipeline(columns, DecisionTreeClassifier(max_depth=2)).fit(X, X["n"] > 30)
    found = category_lumps(pipeline_columns(model))
    assert st.as_tree(model).metadata["pipeline_categories"] == found
    assert set(found) == {"town"}
    assert set(found["town"]["categories"]) == {"a", "b", "c", "d"}
    return found["town"]  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("encode", "same", "unseen"),
    [
        (OneHotEncoder(handle_unknown="ignore"), [], "missing"),
        (OneHotEncoder(handle_unknown="ignore", drop="first"), [], ["a"]),
        (OneHotEncoder(handle_unknown="error"), [], "own"),
        (
            OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=5),
            [["c", "d"]],
            ["c"],
        ),
        (
            OrdinalEncoder(
                handle_unknown="use_encoded_value",
                unknown_value=-1,
                encoded_missing_value=-2,
                max_categories=3,
            ),
            [["c", "d"]],
            "missing",
        ),
    ],
    ids=["ignore", "drop", "error", "infrequent", "codes"],
)
def test_groups_and_categories_never_met(encode: Any, same: Any, unseen: Any) -> None:
    found = lumps_of(encode, TOWNS)
    assert found["same"] == same
    assert found["unseen"] == unseen


def test_a_missing_value_that_is_known() -> None:
    found = lumps_of(OneHotEncoder(handle_unknown="ignore"), [*TOWNS, np.nan, np.nan])
    assert found["unseen"] == "own"
