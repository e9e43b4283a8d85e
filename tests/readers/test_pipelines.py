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
from sklearn.feature_selection import SelectFromModel, SelectKBest, VarianceThreshold
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV, KFold
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
    TargetEncoder,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import steadytree as st
from reproduction.data import load_case_study
from steadytree.core.thresholds import double_threshold
from steadytree.exceptions import NotFittedTreeError, UnsupportedModelError
from tests.foreign import probe_rows
from tests.readers.contract import Case

NUMBERS = ("age", "income", "visits", "score")
CATEGORIES = ("colour", "town", "grade", "member")


def table(rng: np.random.Generator, n: int = 200) -> tuple[pd.DataFrame, np.ndarray]:
    """Make raw rows of every kind, with holes, and a score that depends on them."""
    X = pd.DataFrame(
        {
            "age": rng.normal(40, 12, n),
            "income": rng.lognormal(10, 1, n),
            "visits": rng.poisson(3, n).astype(float),
            "score": rng.normal(size=n) * 1e-3,
            "colour": rng.choice(["red", "green", "it's blue", ""], n, p=[0.5, 0.3, 0.15, 0.05]),
            "town": rng.choice([f"t{i}" for i in range(9)], n),
            "grade": rng.choice([1, 2, 3, 10], n),
            "member": rng.choice([False, True], n),
            "id": [f"customer {i}" for i in range(n)],
        }
    )
    y = (
        (X["age"] - 40) / 12
        + np.log(X["income"])
        - 10
        + (X["colour"] == "red")
        + (X["grade"] > 2)
        + X["town"].isin(["t1", "t4"])
        + 500 * X["score"]
        + rng.normal(size=n) / 3
    ).to_numpy()
    for name in (*NUMBERS, "colour", "town"):
        X.loc[rng.random(n) < 0.12, name] = np.nan
    y = y + np.where(X["age"].isna(), 1.5, 0)
    return X, y


def numeric_step(rng: np.random.Generator) -> Any:
    """Draw what is done with some numbers."""
    scale = (
        StandardScaler(),
        MinMaxScaler((-1, 3)),
        MinMaxScaler(clip=True),
        MaxAbsScaler(),
        RobustScaler(),
        FunctionTransformer(np.negative),
        "passthrough",
        FunctionTransformer(),
    )[rng.integers(8)]
    fill = (
        SimpleImputer(),
        SimpleImputer(strategy="median", add_indicator=True),
        SimpleImputer(strategy="most_frequent"),
        SimpleImputer(strategy="constant", fill_value=-1.0, keep_empty_features=True),
        "passthrough",
    )[rng.integers(5)]
    more = (
        "passthrough",
        StandardScaler(),
        SelectKBest(k=1) if fill != "passthrough" else VarianceThreshold(),
        make_pipeline(MaxAbsScaler(), "passthrough"),
    )[rng.integers(4)]
    kind = rng.integers(7)
    if kind == 0:
        return make_pipeline(SimpleImputer(), Binarizer(threshold=float(rng.normal(20, 20))))
    if kind == 1:
        encode = ("ordinal", "onehot", "onehot-dense")[rng.integers(3)]
        bins = KBinsDiscretizer(
            n_bins=4, encode=encode, quantile_method="averaged_inverted_cdf", subsample=None
        )
        return make_pipeline(SimpleImputer(strategy="median"), bins)
    if kind == 2:
        return make_pipeline(SimpleImputer(), SimpleImputer(missing_values=3.0), scale, more)
    if kind == 3:
        return FeatureUnion(
            [
                ("flag", MissingIndicator(error_on_new=False)),
                ("scaled", make_pipeline(fill, scale)),
            ],
            transformer_weights={"scaled": float(rng.normal())},
        )
    order = (fill, scale) if rng.random() < 0.7 else (scale, fill)
    return Pipeline([("first", order[0]), ("second", order[1]), ("more", more)])


def categorical_step(rng: np.random.Generator) -> Any:
    """Draw what is done with some categories."""
    frequent = SimpleImputer(strategy="most_frequent")
    return (
        OneHotEncoder(handle_unknown="ignore"),
        OneHotEncoder(handle_unknown="ignore", drop="first", sparse_output=False),
        OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=0.1),
        OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=3, drop="if_binary"),
        OneHotEncoder(handle_unknown="warn", max_categories=3, dtype=np.float32),
        OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
        OrdinalEncoder(
            handle_unknown="use_encoded_value",
            unknown_value=np.nan,
            encoded_missing_value=-2,
            max_categories=4,
        ),
        TargetEncoder(cv=KFold(3)),
        make_pipeline(frequent, OneHotEncoder(handle_unknown="ignore")),
        make_pipeline(
            SimpleImputer(strategy="constant", fill_value="none given"),
            OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=99),
            StandardScaler(),
        ),
        make_pipeline(
            SimpleImputer(strategy="constant", fill_value="t2"),
            SimpleImputer(missing_values="t1", strategy="most_frequent"),
            OneHotEncoder(handle_unknown="ignore"),
        ),
    )[rng.integers(11)]


def random_pipeline(seed: int) -> tuple[Any, pd.DataFrame, Any]:
    """Fit a pipeline of random composition; returns it with its training rows."""
    rng = np.random.default_rng(seed)
    X, y = table(rng)
    classes = int(rng.integers(4))
    outcome: Any = y
    if classes:
        outcome = np.digitize(y, np.quantile(y, [0.5] if classes < 3 else [0.3, 0.7]))
        outcome = np.array(["no", "yes", "perhaps"])[outcome]
    numbers, texts = rng.permutation(NUMBERS).tolist(), rng.permutation(["colour", "town"]).tolist()
    parts = [
        ("n1", numeric_step(rng), numbers[:2]),
        ("n2", numeric_step(rng), numbers[2:]),
        ("c1", categorical_step(rng), texts[:1]),
        ("c2", categorical_step(rng), texts[1:]),
        ("grade", (OneHotEncoder(), OrdinalEncoder(), "passthrough")[rng.integers(3)], ["grade"]),
    ]
    parts = [parts[k] for k in sorted(rng.permutation(5)[:3])]
    rest = ColumnTransformer([("member", "passthrough", ["member"])])
    kind: Any = DecisionTreeClassifier if classes else DecisionTreeRegressor
    leaf = kind(max_depth=int(rng.integers(2, 8)), min_samples_leaf=4, random_state=seed)
    steps: list[Any] = [
        ("columns", ColumnTransformer(parts, remainder="drop" if rng.random() < 0.8 else rest)),
        ("same", "passthrough"),
        ("tree", leaf),
    ]
    if rng.random() < 0.3:
        selector = SelectFromModel(
            kind(max_depth=6, random_state=1), threshold=-np.inf, max_features=8
        )
        steps.insert(1, ("select", selector))
    if rng.random() < 0.2:
        steps = [("inside", Pipeline(steps[:-1])), steps[-1]]
    return Pipeline(steps).fit(X, outcome), X, outcome


def accepted_rows(pipeline: Any, tree: st.Tree, X: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Rows for a pipeline: what it refuses (unseen or missing values) is not asked."""
    rng = np.random.default_rng(seed)
    drawn = probe_rows(tree, seed=seed)
    rows = X.iloc[np.zeros(len(drawn), dtype=int)].reset_index(drop=True)
    usual = X[X.notna().all(axis=1)].iloc[:1]
    for j in sorted(tree.used_features):
        name, met = tree.feature_labels[j], tree.categories[j]
        values = drawn[name]
        if met is None:
            special = rng.random(len(values)) < 0.1
            values = values.mask(special, rng.choice([3.0, -1.0, 0.0], len(values)))
        values = values.where(values.notna(), np.nan)
        missing = values.isna()
        unseen = ~missing & ~values.isin(met) if met else missing
        for odd in (missing, unseen):
            if odd.any() and not takes(pipeline, usual, name, values[odd].iloc[0]):
                values = values.mask(odd, usual[name].iloc[0])
        numeric = met is None or all(type(c) in (int, float) for c in met)
        rows[name] = values.astype(float) if numeric else values.astype(object)
    return rows


def takes(pipeline: Any, usual: pd.DataFrame, name: str, value: Any) -> bool:
    """Whether a pipeline predicts a row with this value."""
    kind = object if name in ("colour", "town", "member") else float
    row = usual.assign(**{name: pd.Series([value], index=usual.index, dtype=kind)})
    try:
        pipeline.predict(row)
    except ValueError:
        return False
    return True


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
    other = st.as_tree(pipeline[-1], one_hot=groups)
    tree = same_everywhere(pipeline, known)
    assert tree.precision == other.precision == "float32"
    np.testing.assert_array_equal(tree.threshold, other.threshold)
    space = st.FeatureSpace.from_data(X[["age", "colour", "town"]])
    for variant in ("paper", "metric"):
        assert st.tree_distance(tree, other, space=space, variant=variant) == 0


def test_a_scaler_by_a_power_of_two_gives_the_tree_of_the_raw_numbers() -> None:
    X, y = sample()
    numbers = X[["age", "income", "visits"]].fillna(0)
    numbers.iloc[0] = [128.0, 2.0**22, 64.0]  # the largest of each
    assert (numbers.abs().max() == numbers.iloc[0]).all()
    pipeline = make_pipeline(MaxAbsScaler(), small(6)).fit(numbers, y)
    raw = st.as_tree(small(6).fit(numbers, y))
    doubles = raw.replace(
        threshold=[double_threshold(t, "float32") for t in raw.threshold], precision="float64"
    )
    tree = st.as_tree(pipeline)
    assert st.tree_distance(tree, doubles, space=st.FeatureSpace.from_data(numbers)) == 0
    np.testing.assert_array_equal(tree.threshold, doubles.threshold)
    assert tree.observed == raw.observed


def test_columns_that_pass_as_they_are_keep_thresholds_and_counts() -> None:
    X, y = sample()
    numbers = X[list(NUMBERS)]
    bare = st.as_tree(small().fit(numbers, y))
    for same in (FunctionTransformer(), VarianceThreshold(), make_pipeline("passthrough")):
        tree = st.as_tree(make_pipeline(same, small()).fit(numbers, y))
        assert tree.replace(metadata=bare.metadata) == bare
    assert st.as_tree(Pipeline([("no", None), ("tree", small())]).fit(numbers, y)) == bare


def test_a_falling_column_swaps_the_sides() -> None:
    X, y = sample()
    numbers = X[list(NUMBERS)]
    pipeline = make_pipeline(FunctionTransformer(np.negative), StandardScaler(), small())
    tree = same_everywhere(pipeline.fit(numbers, y), numbers)
    inner = pipeline[-1].tree_
    assert (
        tree.weight[tree.children_left[0]] == inner.weighted_n_node_samples[inner.children_right[0]]
    )


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


def test_a_number_that_stands_for_missing_is_asked_about() -> None:
    X, y = sample()
    ages = X[["age"]].fillna(-999.0)
    imputer = SimpleImputer(missing_values=-999, strategy="mean")
    pipeline = make_pipeline(imputer, StandardScaler(), small(3)).fit(ages, y)
    tree = same_everywhere(pipeline, ages)
    near = np.nextafter(-999.0, [-np.inf, np.inf])
    rows = pd.DataFrame({"age": [-999.0, *near, imputer.statistics_[0], -1e6]})
    np.testing.assert_array_equal(tree.predict_proba(rows), pipeline.predict_proba(rows))
    # What stands in two places shares the rows that were counted, and is not counted twice.
    if tree.n_nodes > pipeline[-1].tree_.node_count:
        assert tree.observed is None
        assert tree.weight[tree.leaves].sum() == pytest.approx(len(y))


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


def test_splits_that_send_everything_one_way_vanish() -> None:
    X, y = sample()
    numbers = X[["age"]].to_numpy()
    pipeline = make_pipeline(SimpleImputer(add_indicator=True), small(5)).fit(numbers, y)
    always = make_pipeline(SimpleImputer(), pipeline)  # nothing is missing any more
    always.steps[0][1].fit(numbers)
    tree = st.as_tree(always)
    assert tree.n_nodes < pipeline[-1].tree_.node_count
    np.testing.assert_array_equal(tree.predict(numbers), always.predict(numbers))


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
    forest = make_pipeline(StandardScaler(), RandomForestClassifier(3, max_depth=3)).fit(numbers, y)
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
    columns = ColumnTransformer(
        [("text", encode, ["colour", "town"]), ("number", numbers, ["age", "income"])],
        sparse_threshold=sparse,
    )
    pipeline = Pipeline([("columns", columns), ("model", OTHERS[name]())])
    pipeline.fit(X, (y == "yes").astype(int))
    if name == "XGBoost" and sparse:
        with pytest.raises(UnsupportedModelError, match="takes zeros for missing; make the matrix"):
            st.as_tree(pipeline)
        return
    tree = st.as_tree(pipeline)
    assert tree.n_leaves > 6
    rows = accepted_rows(pipeline, tree, X, 0)
    np.testing.assert_array_equal(tree.predict(rows), pipeline.predict(rows))
    np.testing.assert_allclose(tree.predict_proba(rows), pipeline.predict_proba(rows), atol=1e-7)


def test_xgboost_takes_what_a_sparse_matrix_leaves_out_for_missing() -> None:
    X, y = sample()
    pipeline = make_pipeline(OneHotEncoder(handle_unknown="ignore"), OTHERS["XGBoost"]())
    texts = X[["colour", "town"]]
    pipeline.fit(texts, (y == "yes").astype(int))
    tree = st.as_tree(pipeline)
    assert tree.n_leaves > 6
    rows = accepted_rows(pipeline, tree, texts, 0)
    np.testing.assert_array_equal(tree.predict(rows), pipeline.predict(rows))


# -- the raw columns ---------------------------------------------------------------------------


def test_columns_that_the_pipeline_throws_away_are_none_of_the_tree() -> None:
    X, y = sample()
    encode = ColumnTransformer([("a", StandardScaler(), ["age", "income"])], remainder="drop")
    tree = st.as_tree(Pipeline([("columns", encode), ("tree", small())]).fit(X, y))
    assert tree.feature_names == ("age", "income")
    assert tree.predict(X).shape == (len(X),)  # texts in other columns do no harm


def test_arrays_keep_all_their_columns() -> None:
    X, y = sample()
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


def test_numbers_beyond_which_the_steps_overflow() -> None:
    X, y = sample()
    tiny = X[["age", "income"]].fillna(0) * 1e-300
    pipeline = make_pipeline(MaxAbsScaler(), MinMaxScaler(), small()).fit(tiny, y)
    tree = st.as_tree(pipeline)
    near = probe_rows(tree, missing=False)
    near = near[(near.abs() < 1e-290).all(axis=1)]
    assert len(near) > 1000
    np.testing.assert_array_equal(tree.predict_proba(near), pipeline.predict_proba(near))


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


def hospital() -> tuple[Any, pd.DataFrame, np.ndarray]:
    """Fit a pipeline as people have it on patients of five hospitals, a third kept for later."""
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
    return pipeline.fit(X[:6000], y[:6000]), X[6000:], y[6000:]


def test_real_patients_in_their_own_units() -> None:
    pipeline, X, _ = hospital()
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


def test_a_deployed_pipeline_is_retrained_on_raw_rows() -> None:
    pipeline, X, y = hospital()
    result = st.retrain(pipeline, X[:300], y[:300], random_state=0, n_jobs=1)
    assert set(result.tree.feature_labels) == set(X.columns)
    text = result.diff.to_text()
    names = [X.columns[j] for j in st.as_tree(pipeline).used_features]
    assert all(name in text for name in names)
