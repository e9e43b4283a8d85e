"""What a pipeline makes of its raw columns: asked of the pipeline, column by column."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import steadytree as st
from steadytree.exceptions import NotFittedTreeError, UnsupportedModelError
from steadytree.formats.sklearn.pipeline_columns import PipelineColumns, pipeline_columns
from steadytree.formats.sklearn.read_pipelines import category_lumps


def people(n: int = 300) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "age": rng.normal(40, 10, n),
            "income": rng.lognormal(10, 1, n),
            "colour": rng.choice(["red", "green", "blue"], n),
            "size": rng.choice([1, 2, 3], n),
            "id": [f"c{i}" for i in range(n)],
        }
    )
    y = (X["income"] > 20_000).to_numpy() ^ (X["colour"] == "red").to_numpy()
    X.loc[rng.random(n) < 0.1, "age"] = np.nan
    X.loc[rng.random(n) < 0.1, "colour"] = np.nan
    return X, y


def fitted(*parts: Any) -> tuple[Pipeline, PipelineColumns]:
    X, y = people()
    pipeline = Pipeline([("columns", ColumnTransformer(parts)), ("tree", DecisionTreeClassifier())])
    return pipeline.fit(X, y), pipeline_columns(pipeline)


def test_every_column_knows_the_raw_one_it_comes_from() -> None:
    pipeline, columns = fitted(
        (
            "n",
            make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()),
            ["age", "income"],
        ),
        ("c", OneHotEncoder(handle_unknown="ignore"), ["colour"]),
        ("s", OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), ["size"]),
        ("p", "passthrough", ["income"]),
    )
    assert columns.feature_names == ("age", "income", "colour", "size", "id")
    assert columns.source.tolist() == [0, 1, 0, 2, 2, 2, 2, 3, 1]
    assert columns.how == ("number", "number", "flag", *["category"] * 5, "same")
    assert columns.categories == (None, None, ("blue", "green", "red"), (1, 2, 3), None)
    assert columns.columns_of(0) == [0, 2]
    X, _ = people()
    np.testing.assert_array_equal(columns.transform(X), pipeline[:-1].transform(X))


def test_the_table_of_a_categorical_column() -> None:
    _, columns = fitted(
        ("c", OneHotEncoder(handle_unknown="ignore"), ["colour"]),
        ("s", OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), ["size"]),
    )
    colours, sizes = columns.points(2), columns.points(3)
    assert (colours.missing, colours.unseen) == (3, 4)
    np.testing.assert_array_equal(colours.rows[:, :4], np.eye(5)[:, :4])
    assert (sizes.missing, sizes.unseen) == (3, 4)
    assert sizes.rows[:, 4].tolist() == [0, 1, 2, -1, -1]
    assert [sizes.words(k) for k in (1, 3, 4)] == ["2", "a missing value", "a category never met"]


def test_what_the_pipeline_refuses_has_no_row() -> None:
    _, columns = fitted(("s", OneHotEncoder(), ["size"]), ("a", StandardScaler(), ["age"]))
    points = columns.points(3)
    assert points.missing is points.unseen is None
    assert columns.missing[0] is not None
    assert np.isnan(columns.missing[0][-1])


def test_values_come_from_the_fitted_steps() -> None:
    pipeline, columns = fitted(("a", StandardScaler(), ["age", "income"]))
    scaler = pipeline[0].named_transformers_["a"]
    made = columns.probe([0, 1, 0], [50.0, 10.0, -1e9])
    assert made[0, 0] == (50.0 - scaler.mean_[0]) / scaler.scale_[0]
    assert made[1, 1] == (10.0 - scaler.mean_[1]) / scaler.scale_[1]
    assert made[2, 0] == (-1e9 - scaler.mean_[0]) / scaler.scale_[0]


def test_what_missing_values_are_filled_with() -> None:
    X, _ = people()
    _, columns = fitted(
        ("a", make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), ["age"]),
        ("i", SimpleImputer(add_indicator=True), ["income"]),
        ("c", make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder()), ["colour"]),
        ("s", StandardScaler(), ["size"]),
    )
    assert columns.imputed == {
        0: X["age"].median(),
        1: X["income"].mean(),
        2: X["colour"].mode()[0],
    }
    _, columns = fitted(
        ("a", make_pipeline(SimpleImputer(), StandardScaler()), ["age"]),
        ("flag", SimpleImputer(add_indicator=True), ["age"]),
    )
    assert columns.imputed == {}


def test_a_column_cannot_be_both_number_and_category() -> None:
    with pytest.raises(UnsupportedModelError, match=r"'size' .*number in step 'columns\.a' \(Stan"):
        fitted(("a", StandardScaler(), ["size"]), ("b", OneHotEncoder(), ["size"]))


def test_none_and_nan_as_two_categories_are_refused() -> None:
    X = pd.DataFrame({"c": pd.Series(["a", None, np.nan, "b"] * 5, dtype=object)})
    pipeline = make_pipeline(OneHotEncoder(), DecisionTreeClassifier()).fit(X, [0, 1, 0, 1] * 5)
    with pytest.raises(UnsupportedModelError, match="replace None by NaN"):
        _ = pipeline_columns(pipeline).missing


def test_arrays_have_no_names_and_may_be_sparse() -> None:
    X, y = people()
    pipeline = make_pipeline(OneHotEncoder(), DecisionTreeClassifier())
    pipeline.fit(X[["colour", "size"]].to_numpy(dtype=object), y)
    columns = pipeline_columns(pipeline)
    assert columns.feature_names is None
    assert columns.sparse
    assert columns.source.tolist() == [0, 0, 0, 0, 1, 1, 1]
    assert not fitted(("a", StandardScaler(), ["age"]))[1].sparse


def test_a_pipeline_before_fit() -> None:
    with pytest.raises(NotFittedTreeError, match="before fit"):
        pipeline_columns(make_pipeline(StandardScaler(), DecisionTreeClassifier()))


def test_more_categories_than_memory_holds_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    _, columns = fitted(("c", OneHotEncoder(), ["colour", "id"]))
    monkeypatch.setattr("steadytree.formats.sklearn.pipeline_columns.MAX_CELLS", 1000)
    with pytest.raises(UnsupportedModelError, match="got 303 categories in 304 columns; group"):
        columns.points(2)


def test_columns_chosen_by_type_position_and_mask() -> None:
    X, y = people()
    chosen: list[tuple[Any, list[int]]] = [
        (make_column_selector(dtype_include="number"), [0, 1, 3]),
        (slice("age", "income"), [0, 1]),
        ([3, 0], [3, 0]),
        ([False, True, False, True, False], [1, 3]),
        ([-2], [3]),
    ]
    for columns, expected in chosen:
        part = ColumnTransformer([("n", StandardScaler(), columns)])
        pipeline = Pipeline([("c", part), ("tree", DecisionTreeClassifier())]).fit(X, y)
        assert pipeline_columns(pipeline).source.tolist() == expected


# -- categories that the pipeline cannot tell apart ---------------------------------------

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
