"""Another tree in the place of the one in a pipeline: raw rows are decided as the new tree says."""

from __future__ import annotations

import pickle
import time
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    TunedThresholdClassifierCV,
)
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import steadytree as st
from steadytree.exceptions import FeatureAlignmentError, UnsupportedModelError
from steadytree.formats.sklearn.pipeline_columns import pipeline_columns
from steadytree.formats.sklearn.pipeline_numbers import (
    Ask,
    NumberQuestions,
    Question,
    Reached,
    equal_points,
    tell_apart,
)
from steadytree.formats.sklearn.pipeline_steps import compared_cells
from steadytree.plugins import rows_predicted_otherwise, write_like
from steadytree.tree.nested import Branch, Leaf, build_tree
from steadytree.tree.recoded import StandIn, with_stand_ins
from tests.formats.random_pipelines import accepted_rows, random_pipeline

NUMBERS, CATEGORIES = ["age", "income", "debts"], ["colour", "town", "grade"]
FILLED_AND_CODED = [
    ("n", make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), NUMBERS),
    ("c", OneHotEncoder(handle_unknown="ignore"), CATEGORIES),
]


def raw_rows(seed: int, n: int = 600, *, unseen: bool = False) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": rng.normal(40, 12, n),
            "income": rng.lognormal(10, 1, n),
            "debts": rng.poisson(3, n).astype(float),
            "colour": rng.choice(["red", "green", "it's blue", ""], n).astype(object),
            "town": rng.choice([f"t{i}" for i in range(8)], n).astype(object),
            "grade": rng.choice([1.0, 2.0, 3.0, 10.0], n),
        }
    )
    if unseen:
        X.loc[rng.random(n) < 0.1, "colour"] = "never met"
        X.loc[rng.random(n) < 0.1, "town"] = "elsewhere"
        X.loc[rng.random(n) < 0.1, "grade"] = 77.0
    return X.mask(rng.random(X.shape) < 0.12)


def outcome(X: pd.DataFrame, seed: int) -> Any:
    rng = np.random.default_rng(seed + 1000)
    score = (
        (X["age"].fillna(50) > 42) + (X["income"].fillna(0) > 25_000) + (X["colour"] == "red")
    ) + X["town"].isin(["t1", "t4"])
    return score + rng.normal(size=len(X))


def pipeline(seed: int) -> tuple[Any, pd.DataFrame]:
    """Fit a pipeline whose steps can tell every category, missing values and unseen ones."""
    rng = np.random.default_rng(seed)
    scale = (
        *(StandardScaler(), MinMaxScaler(), RobustScaler(), FunctionTransformer(np.negative)),
        "passthrough",
    )[rng.integers(5)]
    fill = (
        *(SimpleImputer(strategy="median"), SimpleImputer(add_indicator=True), "passthrough"),
        SimpleImputer(strategy="constant", fill_value=-1.0),
    )[rng.integers(4)]
    encode = (
        OneHotEncoder(handle_unknown="ignore"),
        OneHotEncoder(handle_unknown="ignore", sparse_output=False),
        OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
        OrdinalEncoder(
            handle_unknown="use_encoded_value", unknown_value=99, encoded_missing_value=-2
        ),
    )[rng.integers(4)]
    columns = ColumnTransformer(
        [("numbers", make_pipeline(fill, scale), NUMBERS), ("codes", encode, CATEGORIES)]
    )
    X = raw_rows(seed)
    y = outcome(X, seed)
    kind = rng.integers(3)
    labels = np.digitize(y, np.quantile(y, [0.5] if kind == 0 else [0.3, 0.7]))
    tree: Any = DecisionTreeClassifier if kind < 2 else DecisionTreeRegressor
    model = make_pipeline(columns, tree(max_depth=int(rng.integers(2, 7)), random_state=seed))
    return model.fit(X, y if kind == 2 else np.array(["no", "yes", "perhaps"])[labels]), X


def edited(tree: st.Tree, X: pd.DataFrame, seed: int) -> st.Tree:
    """Move thresholds to midpoints of data, draw other categories and other ways for missing."""
    rng = np.random.default_rng(seed)
    threshold, sets = tree.threshold.copy(), list(tree.left_categories)
    for node in np.flatnonzero(~tree.is_leaf).tolist():
        name, cats = (t[tree.feature[node]] for t in (tree.feature_labels, tree.categories))
        if cats is not None:
            sets[node] = tuple(np.flatnonzero(rng.random(len(cats)) < 0.5).tolist())
            continue
        values = np.unique(X[name].dropna())
        at = rng.integers(len(values) - 1)
        threshold[node] = (values[at] + values[at + 1]) / 2
    new = tree.replace(
        threshold=threshold,
        left_categories=tuple(sets),
        missing_left=rng.random(tree.n_nodes) < 0.5,
        unseen_left=rng.random(tree.n_nodes) < 0.5,
        precision="float64",
    )
    fills = tree.metadata.get("imputed", {})
    return with_stand_ins(
        new,
        {
            j: StandIn(float(fills[name]) if tree.categories[j] is None else 0.0)
            for j, name in enumerate(tree.feature_labels)
            if name in fills
        },
    )


@pytest.mark.parametrize("seed", range(12))
def test_an_edited_tree_in_the_pipeline(seed: int) -> None:
    model, X = pipeline(seed)
    before = pickle.dumps(model)
    new = edited(st.as_tree(model), X, seed)
    rows = pd.concat([X, raw_rows(seed + 500, 4_000, unseen=True)], ignore_index=True)
    written = write_like(new, model)
    np.testing.assert_array_equal(written.predict(rows), new.predict(rows))
    if new.is_classifier:
        np.testing.assert_array_equal(written.predict_proba(rows), new.predict_proba(rows))
    assert type(written) is Pipeline
    assert [name for name, _ in written.steps] == [name for name, _ in model.steps]
    assert written[-1].get_params() == model[-1].get_params()
    assert pickle.dumps(model) == before
    for one in written[-1].moved_thresholds_:
        assert one["written"] == pytest.approx(one["wanted"], rel=1e-6)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(12))
def test_the_tree_that_was_there_comes_back(seed: int) -> None:
    model, X, _ = random_pipeline(seed)
    tree = st.as_tree(model)
    try:
        written = write_like(tree, model)
    except UnsupportedModelError:
        # Steps that make jumps, as bins do: a part of what one split said may be impossible alone.
        assert any(breaks.size for breaks in pipeline_columns(model).breaks)
        return
    rows = accepted_rows(model, tree, X, seed)
    np.testing.assert_array_equal(written.predict(rows), model.predict(rows))
    assert written[-1].moved_thresholds_ == []
    again = st.as_tree(written)
    np.testing.assert_array_equal(again.predict(rows), model.predict(rows))


@pytest.mark.parametrize("around", ["search", "tuned", "inside"])
def test_wrappers_around_and_inside(around: str) -> None:
    X = raw_rows(0)
    y = outcome(X, 0) > 1.5
    tree = DecisionTreeClassifier(max_depth=4, random_state=0)
    columns = ColumnTransformer(FILLED_AND_CODED)
    plain = make_pipeline(columns, tree)
    model = {
        "search": GridSearchCV(plain, {"decisiontreeclassifier__max_depth": [2, 3]}, cv=2),
        "tuned": TunedThresholdClassifierCV(plain, cv=2, random_state=0),
        "inside": make_pipeline(columns, FixedThresholdClassifier(tree, threshold=0.2)),
    }[around].fit(X, y)
    new = edited(st.as_tree(model), X, 7)
    written = write_like(new, model)
    rows = raw_rows(1, 3000, unseen=True)
    np.testing.assert_array_equal(written.predict(rows), new.predict(rows))
    np.testing.assert_array_equal(written.predict_proba(rows), new.predict_proba(rows))
    assert type(written) is (Pipeline if around == "search" else type(model))


def test_a_pipeline_of_arrays_and_one_that_does_nothing() -> None:
    X = raw_rows(0)[NUMBERS]
    y = outcome(raw_rows(0), 0) > 1.5
    for step in (StandardScaler(), "passthrough"):
        model = make_pipeline(step, DecisionTreeClassifier(max_depth=4)).fit(X.to_numpy(), y)
        tree = st.as_tree(model)
        named = tree.replace(feature_names=tuple(NUMBERS))
        new = edited(named, X, 3).replace(feature_names=None)
        assert rows_predicted_otherwise(new, write_like(new, model), X.to_numpy()) == 0


# -- refusals -----------------------------------------------------------------------------


def small(columns: Any) -> tuple[Any, st.Tree]:
    X = raw_rows(0)
    model = make_pipeline(columns, DecisionTreeClassifier(max_depth=3, random_state=0))
    model.fit(X, outcome(X, 0) > 1.5)
    return model, st.as_tree(model)


def stump(tree: st.Tree, name: str, **split: Any) -> st.Tree:
    """Return a tree with one split on a column."""
    split = {"missing_left": True, **split}
    pruned = tree.truncate(1)
    changes: dict[str, Any] = {
        "feature": [tree.feature_labels.index(name), -1, -1],
        "threshold": [split.get("threshold", np.nan), np.nan, np.nan],
        "left_categories": (split.get("left"), None, None),
        "missing_left": [split["missing_left"], False, False],
        "unseen_left": [split.get("unseen_left", split["missing_left"]), False, False],
        "value": [[0.5, 0.5], [1.0, 0.0], [0.0, 1.0]],
        "label": None,
        "observed": None,
        "impurity": None,
    }
    return pruned.replace(**changes)


ALL_NUMBERS = ("n", StandardScaler(), NUMBERS)


def test_missing_values_go_where_the_imputer_sends_them() -> None:
    model, tree = small(ColumnTransformer([("n", SimpleImputer(strategy="median"), NUMBERS)]))
    right = stump(tree, "age", threshold=30.0, missing_left=False)
    assert rows_predicted_otherwise(right, write_like(right, model), raw_rows(3)) == 0
    left = stump(tree, "age", threshold=30.0, missing_left=True)
    with pytest.raises(UnsupportedModelError, match="sends missing values left: it fills in"):
        write_like(left, model)
    only_missing = stump(tree, "age", threshold=np.inf, missing_left=False)
    with pytest.raises(UnsupportedModelError, match="whether 'age' is missing"):
        write_like(only_missing, model)


@pytest.mark.parametrize("step", [SimpleImputer(add_indicator=True), "passthrough"])
def test_missing_values_go_anywhere_where_they_can_be_told(step: Any) -> None:
    model, tree = small(ColumnTransformer([("n", step, NUMBERS)]))
    for threshold in (30.0, np.inf, -np.inf):
        for missing_left in (True, False):
            new = stump(tree, "age", threshold=threshold, missing_left=missing_left)
            assert rows_predicted_otherwise(new, write_like(new, model), raw_rows(3)) == 0


def test_categories_that_the_pipeline_lumps_together() -> None:
    encode = OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=3)
    model, tree = small(ColumnTransformer([ALL_NUMBERS, ("c", encode, CATEGORIES)]))
    towns = tree.categories[tree.feature_labels.index("town")] or ()
    infrequent = model[0].named_transformers_["c"].infrequent_categories_[1]
    one = towns.index(infrequent[0])
    with pytest.raises(
        UnsupportedModelError, match=r"on 'town' that parts 't\d' from 't\d': after"
    ):
        write_like(stump(tree, "town", left=(one,)), model)
    together = tuple(towns.index(t) for t in infrequent)
    new = stump(tree, "town", left=together, missing_left=False, unseen_left=True)
    assert rows_predicted_otherwise(new, write_like(new, model), raw_rows(3, unseen=True)) == 0


def test_a_category_that_the_pipeline_never_met() -> None:
    encode = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    model, tree = small(ColumnTransformer([ALL_NUMBERS, ("c", encode, CATEGORIES)]))
    at = tree.feature_labels.index("town")
    more = list(tree.categories)
    more[at] = (*(more[at] or ()), "t99")
    tree = tree.replace(categories=tuple(more))
    new = stump(tree, "town", left=(0, 8), missing_left=False)
    with pytest.raises(UnsupportedModelError, match="parts 't99' from other categories never met"):
        write_like(new, model)
    new = stump(tree, "town", left=(0, 8), missing_left=False, unseen_left=True)
    assert rows_predicted_otherwise(new, write_like(new, model), raw_rows(3, unseen=True)) == 0


def test_columns_that_are_thrown_away_or_of_another_kind() -> None:
    encode = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    model, tree = small(ColumnTransformer([ALL_NUMBERS, ("c", encode, ["town"])]))
    other = tree.replace(feature_names=("age", "income", "grade", "town"))
    with pytest.raises(UnsupportedModelError, match=r"'grade', which it throws away.*forbid="):
        write_like(stump(other, "grade", threshold=1.0), model)
    other = tree.replace(feature_names=("age", "income", "salary", "town"))
    with pytest.raises(FeatureAlignmentError, match="got splits on 'salary'"):
        write_like(stump(other, "salary", threshold=1.0), model)
    other = stump(tree, "age", threshold=1.0).replace(categories=())
    with pytest.raises(UnsupportedModelError, match="expected 'town' to be a category"):
        write_like(stump(other, "town", threshold=1.0), model)


def test_bins_cannot_be_cut_within() -> None:
    bins = KBinsDiscretizer(
        4, encode="ordinal", quantile_method="averaged_inverted_cdf", subsample=None
    )
    model, tree = small(ColumnTransformer([("n", make_pipeline(SimpleImputer(), bins), NUMBERS)]))
    edge = float(np.nextafter(model[0].named_transformers_["n"][1].bin_edges_[0][2], -np.inf))
    new = stump(tree, "age", threshold=edge, missing_left=edge > 40)
    assert rows_predicted_otherwise(new, write_like(new, model), raw_rows(3)) == 0
    with pytest.raises(UnsupportedModelError, match="numbers on both sides are the same after"):
        write_like(stump(tree, "age", threshold=edge + 2, missing_left=edge > 40), model)


# -- the whole way ------------------------------------------------------------------------


def test_retrained_on_raw_rows_and_back_in_the_pipeline() -> None:
    X, X_new = raw_rows(0), raw_rows(50, 800)
    y, y_new = (outcome(rows, 0) > 1.5 for rows in (X, X_new))
    tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    model = make_pipeline(ColumnTransformer(FILLED_AND_CODED), tree).fit(X, y)
    y_new = y_new ^ (X_new["age"] > 55).to_numpy()
    search = st.SearchOptions(n_estimators=10)
    result = st.retrain(model, X_new, y_new, n_folds=0, search=search, random_state=0)
    written = result.to_like(model)
    for rows in (X_new, raw_rows(90, 5000, unseen=True)):
        np.testing.assert_array_equal(written.predict(rows), result.tree.predict(rows))
    assert not (written.predict(X_new) == model.predict(X_new)).all()


@pytest.mark.filterwarnings("ignore:the new rows go beyond")
@pytest.mark.parametrize(
    ("lumps", "holes"),
    [
        ("infrequent", True),
        ("infrequent", False),
        ("unknown to zeros", False),
        ("drop", True),
        ("filled in", True),
        ("codes", False),
    ],
)
def test_categories_that_arrived_since_the_pipeline_was_fitted(lumps: str, holes: bool) -> None:
    X, X_new = raw_rows(5), raw_rows(6, 1500, unseen=True)
    if not holes:
        X, X_new = (
            rows.fillna({"colour": "red", "town": "t1", "grade": 1.0}) for rows in (X, X_new)
        )
    y, y_new = (outcome(rows, 5) > 1.5 for rows in (X, X_new))
    y_new = y_new ^ X_new["town"].isin(["elsewhere", "t2", "t3"]).to_numpy()
    encode = {
        "infrequent": OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=4),
        "unknown to zeros": OneHotEncoder(handle_unknown="ignore"),
        "drop": OneHotEncoder(handle_unknown="ignore", drop="first"),
        "filled in": make_pipeline(
            SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore")
        ),
        "codes": OrdinalEncoder(
            handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-1
        ),
    }[lumps]
    columns = ColumnTransformer(
        [
            ("n", SimpleImputer(), NUMBERS),
            ("c", encode, ["colour", "town"]),
            ("g", encode, ["grade"]),
        ]
    )
    model = make_pipeline(columns, DecisionTreeClassifier(max_depth=4, random_state=0)).fit(X, y)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Found unknown categories")
        result = st.retrain(
            model, X_new, y_new, n_folds=0, search=st.SearchOptions(n_estimators=10), random_state=0
        )
        rows = raw_rows(7, 5000, unseen=True)
        rows.loc[::50, "town"] = "a third"
        for name in ("from scratch", result.chosen):
            tree = result.trees[name]
            written = write_like(tree, model, prefer="labels")
            for some in (X_new, rows):
                np.testing.assert_array_equal(written.predict(some), tree.predict(some))
    assert "town" in {tree.feature_labels[j] for j in result.trees["from scratch"].used_features}


# -- questions about a handful of values ---------------------------------------------------


def parted(cells: np.ndarray, left: np.ndarray) -> Question:
    return tell_apart(cells, left, list(range(cells.shape[1])), np.arange(len(left)))


def side_of(asked: Question, cells: np.ndarray) -> bool:
    while isinstance(asked, Ask):
        cell = cells[asked.column]
        low = asked.missing_left if np.isnan(cell) else cell <= asked.threshold
        asked = asked.low if low else asked.high
    return asked.left


def n_ends(asked: Question) -> int:
    return 1 if isinstance(asked, Reached) else n_ends(asked.low) + n_ends(asked.high)


@pytest.mark.parametrize("seed", range(18))
def test_every_point_gets_to_its_side(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 9))
    cells = {
        0: np.eye(n),
        1: rng.permutation(n)[:, None].astype(float),
        2: np.column_stack([rng.normal(size=n), rng.integers(0, 2, n)]),
    }[seed % 3]
    if seed % 2:
        cells = np.vstack([cells, np.full((1, cells.shape[1]), np.nan)])
    left = rng.random(len(cells)) < 0.5
    asked = parted(cells, left)
    assert [side_of(asked, row) for row in cells] == left.tolist()


def test_few_questions_are_asked() -> None:
    left = np.array([True, True, False, False, False, True])
    assert n_ends(parted(np.arange(6.0)[:, None], left)) == 3
    mixed = np.array([True, False, False, False, False, True])
    assert n_ends(parted(np.eye(6), mixed)) == 3
    assert parted(np.eye(3), np.ones(3, dtype=bool)) == Reached(True, (0, 1, 2))
    neighbours = np.array([[1.0], [np.nextafter(1.0, 2)]])
    asked = parted(neighbours, np.array([True, False]))
    assert isinstance(asked, Ask)
    assert neighbours[0, 0] <= asked.threshold < neighbours[1, 0]
    cells = np.array([[0.0, 1.0], [-0.0, 1.0], [np.nan, 1.0], [np.nan, 1.0]])
    assert equal_points(cells, np.array([True, True, False, False])) is None
    assert equal_points(cells, np.array([True, False, False, False])) == (0, 1)
    assert equal_points(cells, np.array([True, True, False, True])) == (2, 3)
    many = np.random.default_rng(0).random(600) < 0.3
    started = time.perf_counter()
    assert n_ends(parted(np.eye(600), many)) == many.sum() + 1
    assert time.perf_counter() - started < 10


# -- thresholds ---------------------------------------------------------------------------


def questions_of(step: Any, threshold: float, precision: str) -> tuple[Any, NumberQuestions]:
    rng = np.random.default_rng(0)
    X = rng.normal(50, 20, size=(200, 1))
    model = make_pipeline(step, DecisionTreeRegressor(max_depth=2)).fit(X, X[:, 0])
    root = Branch(
        feature=0, threshold=threshold, missing_left=True, left=Leaf([0.0]), right=Leaf([1.0])
    )
    tree: st.Tree = build_tree(root, n_features=1)
    return model, NumberQuestions(tree, [0], pipeline_columns(model), precision, {})


STEPS = [StandardScaler(), MinMaxScaler((-1, 3)), FunctionTransformer(np.negative)]


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("step", STEPS, ids=lambda s: type(s).__name__)
def test_a_threshold_is_met_or_moved_up_a_little(step: Any, precision: str) -> None:
    wanted = 47.123456789
    model, questions = questions_of(step, wanted, precision)
    asked = questions.question(0)
    assert isinstance(asked, Ask)
    written = questions.moved[0].written if questions.moved else wanted
    around = np.array([[written], [np.nextafter(written, np.inf)], [wanted - 1], [wanted + 1]])
    cells = compared_cells(model[:-1].transform(around)[:, 0], precision)
    low = (cells <= asked.threshold) == asked.low.left  # type: ignore[union-attr]
    assert low.tolist() == [True, False, True, False]
    assert wanted <= written < wanted + (1e-5 if precision == "float32" else 1e-13)


def test_cells_of_every_kind() -> None:
    cells = np.array([1, 2.5, None, np.nan, True], dtype=object)
    np.testing.assert_array_equal(compared_cells(cells, "float64"), [1, 2.5, np.nan, np.nan, 1])
    assert compared_cells(np.array([0.1]), "float32")[0] == np.float32(0.1)
