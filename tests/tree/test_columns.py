"""Columns as people have them: what is read, what is noted, and what is refused by name."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import steadytree as st
from steadytree.exceptions import InputError, SteadyTreeWarning
from steadytree.tree.columns import MOST_CATEGORIES, declared_categories, observe_column

N = 600


def table(**columns: Any) -> pd.DataFrame:
    return pd.DataFrame({"x": np.linspace(0, 1, N), **columns})


def test_what_is_seen_in_a_column() -> None:
    frame = pd.DataFrame(
        {"n": [3.0, np.nan, -1.0], "c": ["b", "a", None], "gone": [None, None, None]}
    )
    numbers = observe_column(frame, "n", "n", categorical=False)
    assert (numbers.lower, numbers.upper, numbers.categories) == (-1.0, 3.0, None)
    assert numbers.can_be_missing()
    assert (numbers.n_distinct, numbers.n_present, numbers.n_rows) == (2, 2, 3)
    names = observe_column(frame, 1, "c", categorical=True)
    assert names.categories == ("a", "b")
    assert names.can_be_missing()
    gone = observe_column(frame, "gone", "gone", categorical=True)
    assert gone.categories == ("(none)",)
    assert gone.n_present == 0


def test_declared_orders_are_seen() -> None:
    kind = pd.CategoricalDtype(["low", "medium", "high"], ordered=True)
    frame = pd.DataFrame({"grade": pd.Series(["high", "low"], dtype=kind)})
    seen = observe_column(frame, "grade", "grade", categorical=True)
    assert seen.ordered
    assert seen.categories == ("low", "medium", "high")
    plain = frame.astype(pd.CategoricalDtype(["low", "medium", "high"]))
    assert not observe_column(plain, 0, "grade", categorical=True).ordered
    for kind, ordered in ((pl.Enum(["low", "medium", "high"]), True), (pl.Categorical(), False)):
        column = pl.DataFrame({"grade": pl.Series(["high", "low"], dtype=kind)})
        assert observe_column(column, 0, "grade", categorical=True).ordered == ordered
    assert declared_categories(column, "grade") == (None, False)
    assert declared_categories(np.zeros((2, 1)), 0) == (None, False)


def test_identifiers_and_free_text_are_refused() -> None:
    for column in (
        [f"patient {i}" for i in range(N)],
        [f"patient {i}" if i % 4 == 0 else None for i in range(N)],
        pd.Series([f"p{i % 400}" for i in range(N)]).astype("category"),
    ):
        with pytest.raises(
            InputError, match=r"column 'who', got \d+ different ones in \d+ rows, .*leave the col"
        ):
            st.FeatureSpace.from_data(table(who=column))
    with pytest.raises(InputError, match="column 'who'"):
        st.FeatureSpace.from_data(table(who=range(N)), categorical_features=["who"])


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_a_few_names_are_refused_too(kind: Any) -> None:
    few = {"x": np.linspace(0, 1, 40), "who": [f"Jo {i % 21}" for i in range(40)]}
    with pytest.raises(InputError, match=r"'who', got 21 different ones in 40 .* type 'category'"):
        st.FeatureSpace.from_data(kind(few))
    shared = {**few, "who": [f"Jo {i % 20}" for i in range(40)]}
    assert st.FeatureSpace.from_data(kind(shared)).n_categories(1) == 20
    half = {"x": np.linspace(0, 1, 42), "who": [f"Jo {i % 21}" for i in range(42)]}
    assert st.FeatureSpace.from_data(kind(half)).n_categories(1) == 21


def test_names_that_are_insisted_on_are_noted() -> None:
    frame = table(who=[f"Jo {i}" if i < 200 else None for i in range(N)])
    insisted = frame.astype({"who": "category"})
    with pytest.warns(SteadyTreeWarning, match="column 'who' has 200 different ones in 200 rows"):
        assert st.FeatureSpace.from_data(insisted).n_categories(1) == 201
    model = st.DistilledTreeClassifier(n_estimators=5, random_state=0)
    with pytest.raises(
        InputError, match="leave the column out, or insist with the type 'category'"
    ):
        model.fit(frame, frame["x"] > 0.5)


def test_many_categories_that_rows_share_are_welcome_up_to_a_limit() -> None:
    frame = pd.concat([table()] * 2, ignore_index=True)
    codes = np.arange(2 * N)
    allowed = st.FeatureSpace.from_data(
        frame.assign(zip=[f"z{i:03}" for i in codes % MOST_CATEGORIES])
    )
    assert allowed.n_categories(1) == MOST_CATEGORIES
    with pytest.raises(
        InputError, match=r"at most 255 categories in column 'zip', got 256; group the rare ones"
    ):
        st.FeatureSpace.from_data(frame.assign(zip=[f"z{i}" for i in codes % 256]))
    # A few rows of a few categories each are no identifier.
    small = pd.DataFrame({"x": range(5), "city": list("abcde")})
    assert st.FeatureSpace.from_data(small).n_categories(1) == 5


def test_dates_written_as_text_are_refused_unless_declared_as_categories() -> None:
    for day in ("2021-03-04", "2021-03-04T10:30:00", "04.03.2021", "3/4/2021"):
        with pytest.raises(InputError, match="column 'when', got dates, written as text such as"):
            st.FeatureSpace.from_data(table(when=[day, None] * (N // 2)))
    releases = pd.Series(["2021-03-04", "2022-01-01"] * (N // 2)).astype("category")
    assert st.FeatureSpace.from_data(table(release=releases)).n_categories(1) == 2
    for text in ("3.4", "2021", "A-2021-03-04", "10-20"):
        assert st.FeatureSpace.from_data(table(code=[text] * N)).categories[1] == (text,)


@pytest.mark.parametrize("name", ["id", "patient_id", "patientID", "CustomerId", "Unnamed: 0"])
def test_row_numbers_are_noted(name: str) -> None:
    with pytest.warns(SteadyTreeWarning, match=f"column '{name}' has another whole number"):
        st.FeatureSpace.from_data(table(**{name: np.arange(N)[::-1]}))


def test_other_numbers_are_not_taken_for_identifiers() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        st.FeatureSpace.from_data(
            table(
                income=np.arange(N),
                humid=np.arange(N),
                id_share=np.linspace(0, 1, N),
                area_id=np.arange(N) // 2,
            )
        )


def test_intervals_are_read_as_text(tmp_path: Any) -> None:
    frame = table(age=pd.cut(np.linspace(0, 90, N), [0, 30, 60, 90], include_lowest=True))
    y = (frame["x"] > 0.6).astype(int)
    model = st.DistilledTreeClassifier(n_estimators=5, random_state=0)
    model.fit(frame[["age"]].assign(z=0.0), y)
    assert model.feature_space_.ordered.tolist() == [True, False]
    path = st.save_tree(model.to_tree(), tmp_path / "tree.json")
    loaded = st.load_tree(path or tmp_path / "tree.json")
    assert loaded.categories[0] == ("(-0.001, 30.0]", "(30.0, 60.0]", "(60.0, 90.0]")
    again = loaded.predict(frame[["age"]])
    np.testing.assert_array_equal(again, model.predict(frame[["age"]].assign(z=0.0)))
    assert 0 < again.mean() < 1
