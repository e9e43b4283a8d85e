"""Parameters checked before anything takes time, and tables of every kind read alike."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris

from research.paper.data import load_case_study
from steadytree.estimators import DistilledTreeRegressor, StableTreeClassifier
from steadytree.estimators.distilled import DistilledTreeClassifier
from steadytree.estimators.predictor import as_table, check_whole
from steadytree.exceptions import InputError, OneDecisionWarning, SteadyTreeWarning
from tests.estimators.samples import small, three_columns


def test_class_weights_count(cancer: tuple[pd.DataFrame, pd.Series]) -> None:
    X, y = cancer
    plain = small(scoring="accuracy").fit(X, y)
    balanced = small(scoring="accuracy", class_weight="balanced").fit(X, y)
    heavy = small(scoring="accuracy", class_weight={0: 50.0, 1: 1.0}).fit(X, y)
    assert np.allclose(balanced.candidates_[0].value[0], 0.5, atol=0.05)
    assert heavy.predict(X).mean() < plain.predict(X).mean()
    held = heavy.holdout_indices_
    rows = np.where(y.iloc[held] == 0, 50.0, 1.0)
    right = heavy.candidates_[0].predict(X.iloc[held]) == y.iloc[held]
    assert np.isclose(heavy.scores_[0], np.average(right, weights=rows))


def test_the_decision_threshold_labels_every_tree(cancer: tuple[pd.DataFrame, pd.Series]) -> None:
    X, y = cancer
    rare = y.where(np.arange(len(y)) % 4 == 0, 0)  # one in six
    model = small(decision_threshold="prevalence").fit(X, rare)
    assert np.isclose(model.decision_threshold_, rare.mean())
    for tree in (*model.candidates_, *model.reference_trees_):
        assert tree.decision_threshold == model.decision_threshold_
        np.testing.assert_array_equal(tree.label, tree.value[:, 1] >= rare.mean())
    shares = model.predict_proba(X)[:, 1]
    np.testing.assert_array_equal(model.predict(X), shares >= rare.mean())
    with pytest.warns(OneDecisionWarning, match='decides "0" .*: "1" needs a risk of 70 %'):
        assert small(decision_threshold=0.7).fit(X, rare).decision_threshold_ == 0.7
    with pytest.raises(InputError, match="expected two classes for a decision_threshold"):
        small(decision_threshold=0.5).fit(*load_iris(return_X_y=True))
    with pytest.raises(InputError, match=r"expected decision_threshold in \[0, 1\], got 2"):
        small(decision_threshold=2).fit(X, rare)


def test_polars_and_pandas_give_the_same_model() -> None:
    polars = pytest.importorskip("polars")
    study = load_case_study("support2")
    X, y = study.X[:1500].reset_index(drop=True), study.y[:1500].to_numpy()
    for column in study.categorical:
        X[column] = X[column].astype(object).where(X[column].notna(), None)
    one = small(param_grid={"max_depth": [4]}).fit(X, y)
    other = small(param_grid={"max_depth": [4]}).fit(polars.from_pandas(X), y)
    assert one.rules() == other.rules()
    np.testing.assert_array_equal(one.predict(X), other.predict(polars.from_pandas(X)))


def test_an_unseen_category_is_treated_as_missing() -> None:
    study = load_case_study("nasscds")
    X, y = study.X[:3000], study.y[:3000]
    model = small(param_grid={"max_depth": [4]}).fit(X, y)
    column = study.categorical[0]
    strange, gone = X.astype({column: object}), X.astype({column: object})
    strange[column], gone[column] = "never seen", None
    np.testing.assert_array_equal(model.apply(strange), model.apply(gone))


def test_a_listed_column_is_categorical(cancer: tuple[pd.DataFrame, pd.Series]) -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 4, 400), rng.normal(size=400)]).astype(float)
    y = np.isin(X[:, 0], [0, 3]).astype(int)
    model = small(categorical_features=[0]).fit(X, y)
    assert model.to_tree().categories[0] == (0.0, 1.0, 2.0, 3.0)
    assert model.score(X, y) == 1.0


def test_one_class_only() -> None:
    X, _ = three_columns()
    with pytest.raises(
        InputError, match=r"expected at least two classes in y, got 1 class \('a'\)"
    ):
        small().fit(X, ["a"] * 120)


def test_a_column_without_values() -> None:
    X, y = three_columns()
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(b=np.nan, d=None)
    for model in (small(), DistilledTreeClassifier(n_estimators=5, random_state=0)):
        with pytest.warns(SteadyTreeWarning, match=r"every value is missing in \['b', 'd'\]"):
            model.fit(frame, y)
        assert not model.to_tree().used_features & {1, 3}
        assert set(model.predict(frame)) <= set(y)


@pytest.mark.parametrize(
    ("dtype", "classes"),
    [("Int64", (0, 1)), ("boolean", (False, True)), ("UInt8", (0, 1)), ("Float64", (0.0, 1.0))],
)
def test_nullable_outcomes_keep_their_type(dtype: str, classes: tuple[object, ...]) -> None:
    X, y = three_columns()
    outcome = pd.Series(y).astype(dtype)
    model = small().fit(X, outcome)
    assert model.to_tree().classes == classes
    assert [type(c) for c in model.to_tree().classes] == [type(c) for c in classes]
    assert type(model.predict(X[:1]).tolist()[0]) is type(classes[0])
    with pytest.raises(InputError, match="expected an outcome in every row of y, got 1 missing"):
        small().fit(X, outcome.where(np.arange(len(y)) > 0))


def test_infinite_and_huge_numbers_are_refused() -> None:
    X, y = three_columns()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame.loc[3, "b"] = np.inf
    with pytest.raises(InputError, match="expected finite numbers in 'b'"):
        small().fit(frame, y)
    model = small().fit(X, y)
    X[0, 1] = 1e300
    with pytest.raises(InputError, match=r"got infinity or larger ones in \['x1'\]"):
        model.predict(X)


def test_weights_that_cannot_be() -> None:
    X, y = three_columns()
    # Newer releases of scikit-learn say so first.
    with pytest.raises(ValueError, match=r"(?i)sample weights.*(zero|non-zero)"):
        small().fit(X, y, np.zeros(120))
    with pytest.raises(InputError, match=r"two classes in y with a positive sample weight, got 1"):
        small().fit(X, y, (y == 1).astype(float))


def test_whole_numbers_and_nothing_else() -> None:
    check = check_whole(2)
    for fine in (2, 7, np.int64(3)):
        check(fine, "n_trees")
    for wrong in (1, 2.0, True, "3", None):
        with pytest.raises(
            InputError, match=f"expected n_trees to be a whole number >= 2, got {wrong!r}"
        ):
            check(wrong, "n_trees")
    with pytest.raises(InputError, match="got True"):
        check_whole(0)(True, "n_trees")


def test_lists_keep_their_numbers_beside_words() -> None:
    rows = [[1, "red"], [2.5, "blue"], [None, "red"]]
    table = as_table(small(), rows, y=[0, 1, 0], reset=True)
    assert table.dtype == object
    assert table.tolist() == rows
    numbers = as_table(small(), [[1, 2], [3, 4]], y=[0, 1], reset=True)
    assert numbers.dtype == np.float64


def test_frames_that_are_too_small() -> None:
    frame = pd.DataFrame({"a": [1.0]})
    model = small()
    with pytest.raises(InputError, match=r"1 sample\(s\) .* minimum of 2 .* StableTreeClassifier"):
        as_table(model, frame, y=[0], reset=True)
    with pytest.raises(InputError, match=r"0 feature\(s\) \(shape=\(2, 0\)\)"):
        as_table(small(), pd.DataFrame(index=[0, 1]), y=[0, 1], reset=True)


@pytest.mark.parametrize("learner", [StableTreeClassifier, DistilledTreeRegressor])
def test_a_subclass_may_add_a_parameter(learner: type) -> None:
    class Noted(learner):  # type: ignore[misc]
        def __init__(self, *, note: str = "", random_state: int | None = None) -> None:
            super().__init__(random_state=random_state)
            self.note = note

    model = clone(Noted(note="ours", random_state=3))
    assert model.get_params() == {"note": "ours", "random_state": 3}
    assert model.categorical_features == "from_dtype"
    assert set(vars(model)) - {"note"} == set(vars(learner()))
