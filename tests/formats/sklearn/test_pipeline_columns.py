"""What a pipeline makes of its raw columns: asked of the pipeline, column by column."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.decomposition import PCA
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.feature_selection import RFE
from sklearn.impute import IterativeImputer, KNNImputer, MissingIndicator, SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)
from sklearn.tree import DecisionTreeClassifier

import steadytree as st
from steadytree.exceptions import NotFittedTreeError, UnsupportedModelError
from steadytree.formats.sklearn.pipeline_columns import PipelineColumns, pipeline_columns
from steadytree.formats.sklearn.pipeline_steps import is_missing
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


def test_what_the_pipeline_makes_of_categories() -> None:
    pipeline, columns = fitted(
        ("c", OneHotEncoder(handle_unknown="ignore"), ["colour"]),
        ("s", OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), ["size"]),
        ("p", "passthrough", ["income"]),
    )
    assert columns.feature_names == ("age", "income", "colour", "size", "id")
    assert columns.categories == (None, None, ("blue", "green", "red"), (1, 2, 3), None)
    assert columns.columns_of(2) == [0, 1, 2, 3]
    X, _ = people()
    np.testing.assert_array_equal(columns.transform(X), pipeline[:-1].transform(X))
    colours, sizes = columns.points(2), columns.points(3)
    assert (colours.missing, colours.unseen) == (sizes.missing, sizes.unseen) == (3, 4)
    np.testing.assert_array_equal(colours.rows[:, :4], np.eye(5)[:, :4])
    assert sizes.rows[:, 4].tolist() == [0, 1, 2, -1, -1]
    assert [sizes.words(k) for k in (1, 3, 4)] == ["2", "a missing value", "a category never met"]
    strict = fitted(("s", OneHotEncoder(), ["size"]), ("a", StandardScaler(), ["age"]))[1]
    assert strict.points(3).missing is strict.points(3).unseen is None
    assert strict.missing[0] is not None


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


def test_what_cannot_be_told_apart_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UnsupportedModelError, match=r"'size' .*number in step 'columns\.a' \(Stan"):
        fitted(("a", StandardScaler(), ["size"]), ("b", OneHotEncoder(), ["size"]))
    X = pd.DataFrame({"c": pd.Series(["a", None, np.nan, "b"] * 5, dtype=object)})
    pipeline = make_pipeline(OneHotEncoder(), DecisionTreeClassifier()).fit(X, [0, 1, 0, 1] * 5)
    with pytest.raises(UnsupportedModelError, match="replace None by NaN"):
        _ = pipeline_columns(pipeline).missing
    _, columns = fitted(("c", OneHotEncoder(), ["colour", "id"]))
    monkeypatch.setattr("steadytree.formats.sklearn.pipeline_columns.MAX_CELLS", 1000)
    with pytest.raises(UnsupportedModelError, match="got 303 categories in 304 columns; group"):
        columns.points(2)


def test_arrays_have_no_names_and_may_be_sparse() -> None:
    X, y = people()
    pipeline = make_pipeline(OneHotEncoder(), DecisionTreeClassifier())
    pipeline.fit(X[["colour", "size"]].to_numpy(dtype=object), y)
    columns = pipeline_columns(pipeline)
    assert columns.feature_names is None
    assert columns.sparse
    assert columns.source.tolist() == [0, 0, 0, 0, 1, 1, 1]
    assert not fitted(("a", StandardScaler(), ["age"]))[1].sparse


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


# -- steps ----------------------------------------------------------------------------------------

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3))
Y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0.5)
CODES = RNG.integers(3, size=(80, 3)).astype(float)


def traced(step: Any, table: np.ndarray = X) -> tuple[list[tuple[int, str]], PipelineColumns]:
    columns = pipeline_columns(Pipeline([("it", step.fit(table, Y)), ("tree", None)]))
    assert columns.n_columns == step.transform(table).shape[1]
    return list(zip(columns.source.tolist(), columns.how, strict=True)), columns


@pytest.mark.filterwarnings("ignore:Skipping features without:UserWarning")
def test_what_steps_make_of_each_column() -> None:
    holes = X.copy()
    holes[:, 1] = holes[0, 2] = np.nan
    bins = KBinsDiscretizer(n_bins=3, quantile_method="averaged_inverted_cdf")
    union = FeatureUnion(
        [("same", "passthrough"), ("no", "drop"), ("scaled", StandardScaler())],
        transformer_weights={"same": -2.0},
    )
    codes = make_pipeline(OrdinalEncoder(), StandardScaler(), OneHotEncoder())
    rfe = RFE(DecisionTreeClassifier(random_state=0), n_features_to_select=1).fit(X, Y)
    chosen = int(rfe.get_support(indices=True)[0])
    for step, table, expected in (
        (RobustScaler(), X, "0n 1n 2n"),
        (FunctionTransformer(np.sqrt), np.abs(X), "0n 1n 2n"),
        (union, X, "0n 1n 2n 0n 1n 2n"),
        (bins, X, "0n 0n 0n 1n 1n 1n 2n 2n 2n"),
        (rfe, X, f"{chosen}s"),
        (OneHotEncoder(drop="first", max_categories=2), CODES, "0c 1c 2c"),
        (TargetEncoder(target_type="multiclass", cv=2), CODES, "0c 0c 0c 1c 1c 1c 2c 2c 2c"),
        (codes, CODES, "0c 0c 0c 1c 1c 1c 2c 2c 2c"),
        (SimpleImputer(add_indicator=True), holes, "0s 2s 1f 2f"),
        (SimpleImputer(keep_empty_features=True), holes, "0s 1s 2s"),
        (MissingIndicator(features="all"), holes, "0f 1f 2f"),
    ):
        assert " ".join(f"{raw}{how[0]}" for raw, how in traced(step, table)[0]) == expected
    edges = traced(bins)[1].breaks[0]
    np.testing.assert_array_equal(edges, np.nextafter(bins.bin_edges_[0][1:-1], -np.inf))
    stands_in = traced(SimpleImputer(missing_values=-9), np.where(X > 2, -9, X))[1]
    assert stands_in.breaks[0].tolist() == [np.nextafter(-9.0, -np.inf), -9.0]
    for function, pole in ((np.log, 0.0), (np.log2, 0.0), (np.log10, 0.0), (np.log1p, -1.0)):
        columns = traced(FunctionTransformer(function), np.abs(X))[1]
        assert columns.breaks[1].tolist() == [np.nextafter(pole, -np.inf), pole]
        assert columns.poles[1] == {pole}
        assert columns.rounded[1] == "step 'it', a FunctionTransformer"
    half = FeatureUnion([("a", RobustScaler().fit(X))])
    unfitted = Pipeline([("a", half), ("it", StandardScaler()), ("tree", None)])
    with pytest.raises(NotFittedTreeError, match="step 'it', a StandardScaler before fit"):
        pipeline_columns(unfitted)
    assert all(is_missing(v) for v in (None, np.nan, float("nan"), pd.NA, pd.NaT))
    assert not any(is_missing(v) for v in (0, "", False, "nan"))


class Own(TransformerMixin, BaseEstimator):
    """A step that nobody knows."""

    def fit(self, X: Any, y: Any = None) -> Own:
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X: Any) -> Any:
        return X * 2


@pytest.mark.parametrize(
    ("step", "why"),
    [
        (PCA(), "PCA, which makes each of its columns from several"),
        (PolynomialFeatures(), "PolynomialFeatures, which multiplies columns"),
        (SplineTransformer(), "SplineTransformer, which makes columns that rise and fall"),
        (KNNImputer(), "KNNImputer, which fills in missing values from other columns"),
        (IterativeImputer(), "IterativeImputer, which fills in missing values from other"),
        (Normalizer(), "Normalizer, which divides each row"),
        (PowerTransformer(), "PowerTransformer, which rounds in ways"),
        (QuantileTransformer(n_quantiles=10), "QuantileTransformer, which rounds in ways"),
        (Own(), "Own, which is not known to change one column at a time"),
        (FunctionTransformer(np.exp), "FunctionTransformer, which runs exp"),
        (FunctionTransformer(lambda x: x), "FunctionTransformer, which runs <lambda>"),
        (make_pipeline(StandardScaler(), OneHotEncoder()), "OneHotEncoder, which takes what an"),
        (make_pipeline(StandardScaler(), SimpleImputer(missing_values=0)), "takes 0 for missing"),
        (make_pipeline(StandardScaler(), FunctionTransformer(np.abs)), "runs absolute after"),
        (
            make_pipeline(
                StandardScaler(), KBinsDiscretizer(quantile_method="averaged_inverted_cdf")
            ),
            "one column per interval",
        ),
    ],
    ids=lambda s: s if isinstance(s, str) else type(s).__name__,
)
def test_steps_that_cannot_be_told_in_one_column_are_refused_by_name(step: Any, why: str) -> None:
    with pytest.raises(UnsupportedModelError, match="got step 'it") as refused:
        pipeline_columns(Pipeline([("it", step.fit(X, Y)), ("tree", None)]))
    assert why in str(refused.value)


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
    assert (found["same"], found["unseen"]) == (same, unseen)
    if unseen == "missing" and isinstance(encode, OneHotEncoder):
        # A missing value that is known.
        assert lumps_of(encode, [*TOWNS, np.nan, np.nan])["unseen"] == "own"
