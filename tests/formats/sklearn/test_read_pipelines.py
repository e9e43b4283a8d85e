"""Trees in pipelines, told in raw columns: every row as the pipeline itself decides."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import catboost
import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier

import steadytree as st
from research.paper.data import load_case_study
from steadytree.exceptions import NotFittedTreeError, UnsupportedModelError
from tests.formats.contract import Case
from tests.formats.random_pipelines import NUMBERS, accepted_rows, random_pipeline, table


def make_case(seed: int, folder: Path) -> Case:
    """Make a pipeline of random composition with rows in raw columns."""
    with warnings.catch_warnings():
        # What encoders say of categories they never met, and selectors of equal columns.
        warnings.simplefilter("ignore")
        pipeline, X, outcome = random_pipeline(seed)
        rows = accepted_rows(pipeline, st.as_tree(pipeline), X, seed)
        shares = pipeline.predict_proba(rows) if outcome.dtype.kind != "f" else None
        return Case(pipeline, rows, pipeline.predict(rows), shares)


# -- the same tree by two routes ---------------------------------------------------------------


def small(depth: int = 4) -> DecisionTreeClassifier:
    return DecisionTreeClassifier(max_depth=depth, min_samples_leaf=5, random_state=0)


def sample(n: int = 600) -> tuple[pd.DataFrame, np.ndarray]:
    X, y = table(np.random.default_rng(1), n)
    return X, np.where(y > np.median(y), "yes", "no")


def same_everywhere(pipeline: Any, X: pd.DataFrame, seed: int = 0) -> st.Tree:
    """Hold a pipeline against its tree on rows of every kind."""
    tree = st.as_tree(pipeline)
    rows = accepted_rows(pipeline, tree, X, seed)
    np.testing.assert_array_equal(tree.predict(rows), pipeline.predict(rows))
    np.testing.assert_array_equal(tree.predict_proba(rows), pipeline.predict_proba(rows))
    np.testing.assert_array_equal(tree.predict_proba(X), pipeline.predict_proba(X))
    return tree


def test_one_hot_columns_are_the_tree_recombined() -> None:
    X, y = sample()
    known = X[["age", "colour", "town"]].dropna()
    encode = ColumnTransformer(
        [("hot", OneHotEncoder(handle_unknown="ignore", sparse_output=False), ["colour", "town"])],
        remainder="passthrough",
        verbose_feature_names_out=False,
    ).set_output(transform="pandas")
    pipeline = Pipeline([("encode", encode), ("tree", small())]).fit(known, y[known.index])
    groups: dict[str, Any] = {
        name: {f"{name}_{c}": c for c in categories}
        for name, categories in zip(
            ("colour", "town"), encode.named_transformers_["hot"].categories_, strict=True
        )
    }
    space = st.FeatureSpace.from_data(X[["age", "colour", "town"]], one_hot=groups)
    other = st.as_tree(pipeline[-1], space=space)
    tree = same_everywhere(pipeline, known)
    assert tree.precision == other.precision == "float32"
    np.testing.assert_array_equal(tree.threshold, other.threshold)
    for variant in ("paper", "metric"):
        assert st.tree_distance(tree, other, space=space, variant=variant) == 0


def test_columns_that_pass_as_they_are_keep_thresholds_and_counts() -> None:
    X, y = sample()
    numbers = X[list(NUMBERS)]
    bare = st.as_tree(small().fit(numbers, y))
    for same in (FunctionTransformer(), VarianceThreshold(), make_pipeline("passthrough")):
        tree = st.as_tree(make_pipeline(same, small()).fit(numbers, y))
        assert tree.replace(metadata=bare.metadata) == bare
    assert st.as_tree(Pipeline([("no", None), ("tree", small())]).fit(numbers, y)) == bare


# -- missing values ----------------------------------------------------------------------------


def test_missing_follows_the_imputed_value() -> None:
    X, y = sample()
    numbers = X[list(NUMBERS)]
    pipeline = make_pipeline(SimpleImputer(strategy="median"), StandardScaler(), small())
    tree = same_everywhere(pipeline.fit(numbers, y), numbers)
    medians = numbers.median()
    assert tree.metadata["imputed"] == medians.to_dict()
    for node in np.flatnonzero(tree.feature >= 0):
        at = medians.iloc[tree.feature[node]] <= tree.threshold[node]
        assert tree.missing_left[node] == at
    filled = pipeline.predict(numbers.fillna(medians))
    np.testing.assert_array_equal(tree.predict(numbers), filled)


def test_an_indicator_becomes_a_question_about_missing() -> None:
    X, y = sample()
    y = np.where(X["age"].isna(), "yes", y)
    pipeline = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler(), small(6))
    tree = same_everywhere(pipeline.fit(X[list(NUMBERS)], y), X[list(NUMBERS)])
    assert np.isposinf(tree.threshold[tree.feature == 0]).any()
    assert "age is missing" in str(tree)
    assert "imputed" not in tree.metadata or "age" not in tree.metadata["imputed"]


@pytest.mark.parametrize("nothing", [None, pd.NA, np.nan], ids=["None", "NA", "NaN"])
def test_however_missing_is_written(nothing: Any) -> None:
    X, y = sample()
    texts = X[["colour", "town"]].astype(object)
    texts = texts.where(texts.notna(), nothing)
    imputer = SimpleImputer(missing_values=nothing, strategy="constant", fill_value="t3")
    pipeline = make_pipeline(imputer, OneHotEncoder(handle_unknown="ignore"), small(6))
    pipeline.fit(texts, y)
    tree = st.as_tree(pipeline)
    assert tree.metadata["imputed"] == {"colour": "t3", "town": "t3"}
    np.testing.assert_array_equal(tree.predict_proba(texts), pipeline.predict_proba(texts))
    if nothing is not pd.NA:
        listed = make_pipeline(OneHotEncoder(handle_unknown="ignore"), small(6)).fit(texts, y)
        tree = st.as_tree(listed)
        np.testing.assert_array_equal(tree.predict_proba(texts), listed.predict_proba(texts))


# -- what may stand at the end -----------------------------------------------------------------


def test_searches_thresholds_forests_and_pipelines_at_the_end() -> None:
    X, y = sample()
    numbers = X[list(NUMBERS)]
    last: dict[str, Any] = {
        "search": GridSearchCV(small(), {"max_depth": [2, 3]}, cv=2),
        "threshold": FixedThresholdClassifier(small(), threshold=0.2, pos_label="yes"),
        "pipeline": make_pipeline(MinMaxScaler(), "passthrough", small()),
    }
    for model in last.values():
        same_everywhere(make_pipeline(StandardScaler(), model).fit(numbers, y), numbers)
    around = FixedThresholdClassifier(make_pipeline(StandardScaler(), small()), threshold=0.2)
    same_everywhere(around.fit(numbers, y == "yes"), numbers)
    forest = make_pipeline(
        StandardScaler(), RandomForestClassifier(3, max_depth=3, random_state=0)
    ).fit(numbers, y)
    tree = st.as_tree(forest, tree_index=1)
    scaled = forest[0].transform(numbers)
    expected = forest[-1].estimators_[1].predict_proba(scaled)
    np.testing.assert_array_equal(tree.predict_proba(numbers), expected)


OTHERS: dict[str, Any] = {
    "LightGBM": lambda: lightgbm.LGBMClassifier(n_estimators=1, num_leaves=12, verbose=-1),
    "XGBoost": lambda: xgboost.XGBClassifier(n_estimators=1, max_depth=4),
    "CatBoost": lambda: catboost.CatBoostClassifier(
        iterations=1, depth=4, verbose=0, allow_writing_files=False
    ),
    "HistGradientBoosting": lambda: HistGradientBoostingClassifier(max_iter=1),
    "HistGradientBoosting by codes": lambda: HistGradientBoostingClassifier(
        max_iter=1, categorical_features=[0, 1]
    ),
}


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("sparse", [0.0, 1.0])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_models_of_other_libraries_at_the_end(name: str, sparse: float) -> None:
    X, y = sample()
    encode: Any = OneHotEncoder(handle_unknown="ignore")
    if name.startswith("Hist"):
        encode = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    parts = [("text", encode, ["colour", "town"]), ("number", numbers, ["age", "income"])]
    columns = ColumnTransformer(parts, sparse_threshold=sparse)
    pipeline = make_pipeline(columns, OTHERS[name]()).fit(X, (y == "yes").astype(int))
    if name == "XGBoost" and sparse:
        with pytest.raises(UnsupportedModelError, match="takes zeros for missing; make the matrix"):
            st.as_tree(pipeline)
        # It takes what a sparse matrix leaves out for missing.
        X = X[["colour", "town"]]
        pipeline = make_pipeline(encode, OTHERS[name]()).fit(X, (y == "yes").astype(int))
    tree = st.as_tree(pipeline)
    assert tree.n_leaves > 6
    rows = accepted_rows(pipeline, tree, X, 0)
    np.testing.assert_array_equal(tree.predict(rows), pipeline.predict(rows))
    np.testing.assert_allclose(tree.predict_proba(rows), pipeline.predict_proba(rows), atol=1e-7)


# -- the raw columns ---------------------------------------------------------------------------


def test_arrays_keep_all_their_columns() -> None:
    X, y = sample()
    kept = ColumnTransformer([("a", StandardScaler(), ["age", "income"])], remainder="drop")
    tree = st.as_tree(Pipeline([("columns", kept), ("tree", small())]).fit(X, y))
    # Of named ones those that the pipeline throws away are none; texts in them do no harm.
    assert tree.feature_names == ("age", "income")
    assert tree.predict(X).shape == (len(X),)
    values = X[["age", "income", "visits"]].fillna(0).to_numpy()
    encode = ColumnTransformer([("a", StandardScaler(), [2, 0])])
    pipeline = Pipeline([("columns", encode), ("tree", small())]).fit(values, y)
    tree = st.as_tree(pipeline)
    assert tree.n_features == 3
    assert tree.feature_names is None
    np.testing.assert_array_equal(tree.predict_proba(values), pipeline.predict_proba(values))
    mixed = X[["colour", "age"]].astype(object).to_numpy()
    hot = ColumnTransformer([("c", OneHotEncoder(), [0])], remainder="passthrough")
    pipeline = Pipeline([("columns", hot), ("tree", small())]).fit(mixed, y)
    tree = st.as_tree(pipeline)
    assert tree.categories[0] == ("", "green", "it's blue", "red")
    np.testing.assert_array_equal(tree.predict_proba(mixed), pipeline.predict_proba(mixed))


# -- what is refused ---------------------------------------------------------------------------


def test_refusals_name_the_step() -> None:
    X, y = sample()
    numbers = X[list(NUMBERS)].fillna(0)
    with pytest.raises(UnsupportedModelError, match="step 'pca', a PCA, which makes each of"):
        st.as_tree(make_pipeline(StandardScaler(), PCA(2), small()).fit(numbers, y))
    inside = ColumnTransformer([("poly", make_pipeline(PolynomialFeatures()), ["age"])])
    pipeline = Pipeline([("columns", inside), ("tree", small())]).fit(numbers, y)
    with pytest.raises(UnsupportedModelError, match=r"'columns\.poly\.polynomialfeatures', a Poly"):
        st.as_tree(pipeline)
    with pytest.raises(UnsupportedModelError, match="ends with 'passthrough'; add the tree"):
        st.as_tree(make_pipeline(StandardScaler(), "passthrough").fit(numbers))
    with pytest.raises(UnsupportedModelError, match="got LogisticRegression"):
        st.as_tree(make_pipeline(StandardScaler(), LogisticRegression()).fit(numbers, y))
    with pytest.raises(NotFittedTreeError, match="before fit"):
        st.as_tree(make_pipeline(StandardScaler(), small()))
    with pytest.raises(NotFittedTreeError, match="before fit"):
        st.as_tree(make_pipeline(StandardScaler(), small().fit(numbers, y)))
    other = make_pipeline(StandardScaler(), small()).fit(numbers, y)
    other.steps[-1] = ("tree", small().fit(numbers[["age"]], y))
    with pytest.raises(UnsupportedModelError, match="over the 4 columns that the steps make, got"):
        st.as_tree(other)


def test_a_column_as_a_number_in_the_tree_and_as_categories() -> None:
    X, y = sample()
    y = np.where(X["grade"] > 2, "yes", "no")
    both = ColumnTransformer([("c", OneHotEncoder(), ["grade"]), ("n", "passthrough", ["grade"])])
    for seed in range(20):  # until the tree asks for the number
        tree = DecisionTreeClassifier(max_depth=2, max_features=1, random_state=seed)
        pipeline = Pipeline([("columns", both), ("tree", tree)]).fit(X, y)
        if tree.tree_.feature[0] == 4:
            break
    with pytest.raises(UnsupportedModelError, match=r"'grade' .* a number in the tree, categories"):
        st.as_tree(pipeline)


# -- real rows ---------------------------------------------------------------------------------


def test_real_patients_in_their_own_units() -> None:
    study = load_case_study("support2")
    X, y = study.X, np.asarray(study.y)
    texts = X.columns[[isinstance(d, pd.CategoricalDtype) for d in X.dtypes]]
    numbers = X.columns.difference(texts, sort=False)
    encode = ColumnTransformer(
        [
            ("number", make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), numbers),
            (
                "text",
                make_pipeline(
                    SimpleImputer(strategy="most_frequent"),
                    OneHotEncoder(handle_unknown="ignore", min_frequency=50),
                ),
                texts,
            ),
        ]
    )
    pipeline = Pipeline([("columns", encode), ("tree", small(5).set_params(min_samples_leaf=50))])
    pipeline.fit(X[:6000], y[:6000])
    X = X[6000:]
    tree = st.as_tree(pipeline)
    np.testing.assert_array_equal(tree.predict_proba(X), pipeline.predict_proba(X))
    np.testing.assert_array_equal(tree.predict(X), pipeline.predict(X))
    assert tree.n_nodes == pipeline[-1].tree_.node_count
    for node in np.flatnonzero(tree.feature >= 0):
        if np.isfinite(tree.threshold[node]):
            column = X.iloc[:, tree.feature[node]]
            assert column.min() <= tree.threshold[node] <= column.max()
    assert tree.metadata["imputed"]["meanbp"] > 50
    assert tree.observed is not None
