"""What a retraining is given: tables coded once, spaces that widen, bad input named."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from steadytree.diff.comparison import compare
from steadytree.estimators import DistilledTreeClassifier
from steadytree.exceptions import FeatureAlignmentError, InputError, SteadyTreeWarning
from steadytree.retraining import Rows, SearchOptions, retrain
from steadytree.retraining.problem import prepare_problem
from steadytree.tree import space as space_module
from steadytree.tree import tree as tree_module
from steadytree.tree.json import load_tree, save_tree
from steadytree.tree.space import FeatureSpace
from tests.retraining.conftest import QUICK


@pytest.mark.parametrize("stored_space", [True, False])
def test_each_table_is_coded_once(mixed, tmp_path, monkeypatch, stored_space):
    """Counts, per table, calls that code rows of it (in a space or for a tree).

    Besides that the space looks once at the raw columns of a table: the new rows may hold
    categories that the stored space lacks. The first version coded the new rows six times.
    """
    X, y, first = mixed
    new, old = X[300:500], X[:300]
    coded, looked_at = [], []
    for module in (space_module, tree_module):
        usual = module.encode_table

        def counting(table, *, usual=usual, **options):
            coded.append(tuple(table.index))
            return usual(table, **options)

        monkeypatch.setattr(module, "encode_table", counting)
    usual_look = FeatureSpace.of_known_features

    def looking(table, *args, **options):
        looked_at.append(tuple(table.index))
        return usual_look(table, *args, **options)

    monkeypatch.setattr(FeatureSpace, "of_known_features", looking)
    deployed = first.to_tree() if stored_space else first.to_tree().replace(space=None)
    result = retrain(deployed, new, y[300:500], old=(old, y[:300]), **QUICK)
    result.explain()
    result.flips("colour")
    result.performance("colour")
    assert result.diff.n_rows == 200
    result.report(tmp_path / "report.html")
    result._repr_html_()
    assert sorted(coded) == [tuple(old.index), tuple(new.index)]
    assert looked_at == [tuple(part.index) for part in ([new] if stored_space else [new, old])]


def test_a_new_category_can_be_learned(mixed):
    X, y, first = mixed
    new = X[300:].copy()
    outcome = y[300:].copy()
    odd = np.arange(len(new)) % 3 == 0
    new.loc[odd, "colour"] = "violet"
    outcome[odd] = 1
    with pytest.warns(SteadyTreeWarning, match="new categories of 'colour': 'violet'"):
        result = retrain(first, new, outcome, price=0.01, **{**QUICK, "n_folds": 0})
    assert "violet" in result.space.categories[2]
    np.testing.assert_array_equal(result.deployed.predict(new), first.to_tree().predict(new))
    row = pd.DataFrame({"age": [30.0], "dose": [0.1], "colour": ["violet"], "noise": [0.0]})
    assert result.tree.predict_proba(row)[0, 1] > first.predict_proba(row)[0, 1]


def test_bad_input_is_named(cancer, mixed):
    X, y, first, _ = cancer
    new = (X[250:], y[250:])
    regression = DecisionTreeRegressor(max_depth=2).fit(X[:250], y[:250])
    names = np.array(["no", "yes"])
    used = X.columns[min(first.to_tree().used_features)]
    cases = [
        ((first, X[250:].drop(columns=used), y[250:]), {}, f"without ['{used}']"),
        ((first, [*X[250:255].to_numpy().tolist(), [1.0]], y[250:256]), {}, "of equal length"),
        ((first, X[250:], y[250:] + 1), {}, "got unseen 2"),
        ((first, X[250:], y[250:] + 0.5), {}, "a new class needs a new tree"),
        (
            (first, X[250:], X["mean radius"][250:]),
            {},
            "these look like responses: they need a regression tree",
        ),
        ((regression, X[250:], names[y[250:]]), {}, "is a regression tree"),
        ((regression, X[250:], np.ones(319)), {}, "outcomes that vary"),
        ((first, X[250:], np.ones(319, dtype=int)), {}, "at least two classes in y,"),
        ((first, X[250:], y[250:-1]), {}, "expected 319 outcomes in y,"),
        ((first, X[:0], y[:0]), {}, "expected rows in X,"),
        (
            (first, *new),
            {"old": X[:250]},
            "expected old=(X, y) or old=Rows(X, y, ...), got DataFrame",
        ),
        (
            (first, *new),
            {"old": (X[:250], None)},
            "expected 250 outcomes in old y, one per row",
        ),
        ((first, *new), {"price": -1}, "number >= 0 as price, got -1; the default is 0.25"),
        ((first, *new), {"price": "x"}, "number >= 0 as price, got 'x'; the default is 0.25"),
        ((first, *new), {"price": float("nan")}, "as price, got nan"),
        ((first, *new), {"search": {"n_estimators": 5}}, "SearchOptions(...) as search, got dict"),
        ((first, *new), {"n_folds": "x"}, "whole number >= 2 as n_folds, got 'x'; the default is"),
        ((first, *new), {"plan": {"max_flips": "x"}}, "as max_flips, got 'x'; 0.03 is 3 %"),
        ((first, *new), {"plan": 3}, "a list of these as plan, got int"),
        ((first, *new), {"n_folds": 1}, "whole number >= 2 as n_folds, got 1; the default"),
        ((first, *new), {"plan": {"locked": "no such rule"}}, "got 'no such rule'"),
        ((first, *new), {"plan": {"locked": 3.5}}, "texts or whole numbers as locked, got 3.5"),
        ((first, *new), {"plan": {"forbid": 3.5}}, "texts or whole numbers as forbid, got 3.5"),
        ((first, *new), {"space": "x"}, "expected space to be a FeatureSpace, got str"),
        ((first, *new), {"sample_weight": "x"}, "finite weights >= 0 in sample_weight"),
        ((first, None, y[250:]), {}, "expected a table in X "),
        ((first, X[250:], np.where(y[250:] == 1, np.nan, 0)), {}, "an outcome in every row"),
        ((first, X[250:], y[250:].astype(str)), {}, "got the same as str; convert the outcomes to"),
        ((first, *new), {"groups": [1, 2]}, "expected 319 entries in groups"),
        ((first, *new), {"sample_weight": -np.ones(319)}, "finite weights >= 0"),
        ((regression, *new), {"decision": 0.3}, "two classes for a decision_threshold"),
    ]
    for args, options, words in cases:
        with pytest.raises(InputError) as error:
            retrain(*args, **{**QUICK, **options})
        assert words in str(error.value), words
    with pytest.raises(FeatureAlignmentError):
        retrain(first, X[250:].to_numpy()[:, :5], y[250:], **QUICK)
    table, outcome, own = mixed
    used = next(own.to_tree().feature_labels[j] for j in own.to_tree().used_features)
    with pytest.raises(InputError, match=f"finite numbers in '{used}', got an infinity"):
        retrain(own, table.assign(noise=np.inf, **{used: np.inf}), outcome, **QUICK)


def test_a_class_that_is_gone_is_said():
    X, y = load_iris(return_X_y=True)
    first = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    with pytest.warns(SteadyTreeWarning, match="no new row has class 0"):
        result = retrain(first, X[y > 0], y[y > 0], **{**QUICK, "n_folds": 0})
    assert result.tree.classes == (0, 1, 2)


# -- columns as people have them ------------------------------------------------------------

NO_FOLDS = {**QUICK, "n_folds": 0}
FAST = {**QUICK, "search": SearchOptions(n_estimators=5)}


@pytest.mark.parametrize(
    ("column", "with_old"), [("age", True), ("colour", False), ("noise", True)]
)
def test_a_column_may_be_missing_throughout_in_the_new_rows(mixed, column, with_old):
    X, y, first = mixed
    old = {"old": (X[:300], y[:300])} if with_old else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SteadyTreeWarning)
        result = retrain(first, X[300:].assign(**{column: np.nan}), y[300:], **old, **FAST)
    assert np.isfinite(result.frontier["score"]).all()


def test_columns_the_tree_does_not_use_may_be_lacking(mixed, tmp_path):
    X, y, first = mixed
    tree = first.to_tree().truncate(1)
    (used,) = (X.columns[j] for j in tree.used_features)
    new = X[[used]][300:]
    np.testing.assert_array_equal(tree.predict(new), tree.predict(X[300:]))
    for deployed in (tree, tree.replace(space=None)):
        for old in ({}, {"old": (X[:300], y[:300])}):
            with pytest.warns(
                SteadyTreeWarning, match="the new rows lack .*: the deployed tree has no rule"
            ):
                result = retrain(deployed, new, y[300:], price=0.01, **old, **FAST)
            for candidate in result.trees.values():
                assert candidate.used_features <= tree.used_features
            assert any("new rows lack" in note for note in result.notes)
    result.report(tmp_path / "report.html")
    with pytest.warns(SteadyTreeWarning, match="the old rows lack"):
        problem = prepare_problem(tree, Rows(X[300:], y[300:]), Rows(X[[used]][:300], y[:300]))
    assert problem.left_out == frozenset(range(4)) - tree.used_features


def test_columns_the_tree_does_not_use_never_stop_a_retraining(mixed):
    X, y, first = mixed
    tree = first.to_tree().truncate(1)
    (used,) = (X.columns[j] for j in tree.used_features)
    odd = {name: np.inf if tree.categories[j] is None else "?" for j, name in enumerate(X.columns)}
    del odd[used]
    new = X[300:].assign(**odd)
    says = f"columns that cannot be read: {', '.join(map(repr, odd))} (the first: expected "
    with pytest.warns(SteadyTreeWarning) as said:
        result = retrain(tree, new, y[300:], price=0.01, **FAST)
    assert [str(w.message).startswith(says) for w in said] == [True]
    assert [note.startswith(says) for note in result.notes] == [True]
    for candidate in result.trees.values():
        assert candidate.used_features <= tree.used_features
    lacking = X[300:].drop(columns=list(odd))
    with pytest.warns(SteadyTreeWarning, match="the new rows lack"):
        same = retrain(tree, lacking, y[300:], price=0.01, **FAST)
    assert same.tree == result.tree
    # A category that only old rows have is missing to everybody: there is nothing to learn.
    with pytest.warns(SteadyTreeWarning, match="cannot be read: 'dose', 'noise'"):
        problem = prepare_problem(
            tree, Rows(X[300:], y[300:]), Rows(X[:300].assign(**odd), y[:300])
        )
    assert {tree.feature_labels[j] for j in problem.left_out} == {"dose", "noise"}


def test_added_columns_are_named_and_can_be_considered(mixed):
    X, y, first = mixed
    rng = np.random.default_rng(0)
    wide = X.assign(marker=y + rng.normal(0, 0.1, len(y)), other=1.0)
    with pytest.warns(SteadyTreeWarning, match="ignored: 'marker', 'other'. .*space="):
        retrain(first, wide[300:], y[300:], **NO_FOLDS)
    space = FeatureSpace.from_data(wide)
    for old in ({}, {"old": (wide[:300], y[:300])}):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            result = retrain(
                first,
                wide[300:],
                y[300:],
                space=space,
                price=0.05,
                **old,
                **{**QUICK, "n_folds": 0},
            )
        assert "marker" in {result.space.names[j] for j in result.tree.used_features}
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # the old rows lack it: nothing was added
        prepare_problem(first, Rows(X[300:], y[300:]), Rows(wide[:300], y[:300]))


def test_lists_of_rows_and_nullable_outcomes(mixed, tmp_path):
    X, y, first = mixed
    rows = X[300:].to_numpy().tolist()
    outcome = pd.Series(y[300:]).astype("Int64")
    result = retrain(first, rows, outcome, **FAST)
    assert result.tree.classes == (0, 1)
    assert type(result.tree.classes[0]) is int
    result.report(tmp_path / "report.html")
    frame = retrain(first, X[300:], y[300:], **FAST)
    np.testing.assert_array_equal(frame.tree.value, result.tree.value)
    with pytest.raises(InputError, match="an outcome in every row of y, got 1 missing"):
        retrain(first, rows, outcome.where(np.arange(400) > 0), **QUICK)


_YES = np.array([False, True, True, False] * 40)


@pytest.mark.parametrize(
    ("outcomes", "classes"),
    [
        (pd.Series(_YES * 1).astype("Int64"), (0, 1)),
        (pd.Series(_YES).astype("boolean"), (False, True)),
        (pd.Series(_YES * 1).astype("category"), (0, 1)),
        (pl.Series(np.where(_YES, "yes", "no").tolist()), ("no", "yes")),
    ],
)
def test_classes_keep_their_type(tmp_path, outcomes, classes):
    """Through the first tree, the retraining, the file and predictions, nullable columns too."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "x": _YES + rng.normal(0, 0.4, 160),
            "count": pd.array(rng.integers(0, 5, 160), dtype="Int64"),
            "smokes": pd.array(rng.random(160) < 0.5, dtype="boolean"),
            "site": pd.array(rng.choice(["a", "b"], 160), dtype="string"),
        }
    )
    X.loc[::9, ["count", "smokes", "site"]] = pd.NA
    if isinstance(outcomes, pl.Series):
        X = pl.from_pandas(X)
    first = DistilledTreeClassifier(n_estimators=4, max_leaf_nodes=3, random_state=0)
    first.fit(X[:80], outcomes[:80])
    result = retrain(
        first,
        X[80:],
        outcomes[80:],
        search=SearchOptions(n_estimators=4),
        n_folds=0,
        random_state=0,
    )
    loaded = load_tree(save_tree(result.tree, tmp_path / "tree.json"))
    assert loaded.space.categories == (None, None, (False, True), ("a", "b"))
    for found in (
        first.classes_.tolist(),
        loaded.classes,
        sorted(set(first.predict(X).tolist())),
        sorted(set(loaded.predict(X).tolist())),
    ):
        assert tuple(found) == classes
        assert {type(label) for label in found} == {type(classes[0])}


# -- other codes and other units -------------------------------------------------------

CODES = {"red": 0, "green": 1, "blue": 2, "grey": 3}


def test_other_codes_for_the_same_are_refused(mixed):
    X, y, first = mixed
    new = X[300:]
    coded = new.assign(colour=new["colour"].map(CODES))
    with pytest.raises(
        InputError,
        match=r"categories of 'colour' \('blue', 'green', 'grey', 'red'\), got 0, 1, 2, 3 in 100%",
    ):
        retrain(first, coded, y[300:], **QUICK)
    # Without a stored space the tree's own categories, and those of the old rows, are known.
    bare = first.to_tree().replace(space=None)
    for old in ({}, {"old": (X[:300], y[:300])}):
        with pytest.raises(InputError, match="got 0, 1, 2, 3 in 100%"):
            retrain(bare, coded, y[300:], **old, **QUICK)


def test_categories_that_are_truly_new_can_be_declared(mixed):
    X, y, first = mixed
    new = X[300:].assign(colour=np.where(np.arange(400) % 4 > 0, "violet", X["colour"][300:]))
    with pytest.raises(InputError, match=r"got 'violet' in 75%.*pass space="):
        retrain(first, new, y[300:], **QUICK)
    space = FeatureSpace.from_data(new).replace(names=first.feature_space_.names)
    problem = prepare_problem(first, Rows(new, y[300:]), space=space)
    assert "violet" in problem.space.categories[2]


@pytest.mark.parametrize(("factor", "with_old"), [(1000.0, False), (0.001, True)])
def test_other_units_are_noted(mixed, factor, with_old):
    X, y, first = mixed
    new = X[300:].assign(age=X["age"][300:] * factor)
    old = Rows(X[:300], y[:300]) if with_old else None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        problem = prepare_problem(first, Rows(new, y[300:]), old)
    (note,) = (note for note in problem.notes if "other units" in note)
    assert note.startswith("column 'age' lies outside the known range in ")
    assert any(note in str(warning.message) for warning in caught)


# -- ranges stay -----------------------------------------------------------------------

BROKEN = "ignore:column:steadytree.exceptions.SteadyTreeWarning"
BEYOND = "ignore:the new rows go beyond:steadytree.exceptions.SteadyTreeWarning"
CLIPPED = "ignore::steadytree.exceptions.ClippedThresholdWarning"
ONE_DECISION = "ignore::steadytree.exceptions.OneDecisionWarning"


def one_number(result, X_new, y_new) -> None:
    """Check that retraining and comparison give one number for every candidate."""
    for name, number in result.frontier["dissimilarity"].items():
        for X, y in ((X_new, y_new), (X_new, None), (None, None)):
            compared = compare(result.deployed, result.trees[name], X, y)
            assert compared.dissimilarity == pytest.approx(number, abs=1e-12), name
            if not compared.changed_columns:
                assert not compared.own_word


@pytest.mark.filterwarnings(BROKEN, BEYOND, CLIPPED, ONE_DECISION)
def test_a_stored_range_never_widens(mixed):
    """Else new rows could make any change look small, and two calls would give two numbers."""
    X, y, first = mixed
    new = X[300:].copy()
    new.iloc[0, 0] = 95.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = retrain(first, new, y[300:], **{**QUICK, "n_folds": 0})
    assert result.space == first.feature_space_
    assert result.notes == ()
    for shift, columns in ((15, {}), (100, {"age"})):
        later = new.assign(age=new["age"] + shift)
        with pytest.warns(SteadyTreeWarning, match=r"of 'age' out of range.* ranges stay"):
            result = retrain(first, later, y[300:], **{**QUICK, "n_folds": 0, "price": 0.02})
        assert result.space == first.feature_space_
        assert set(result.changed_columns) == set(columns)
        one_number(result, later, y[300:])
        for given in (first, result.deployed):
            found = compare(given, result.model, later, y[300:])
            assert found.dissimilarity == pytest.approx(result.dissimilarity, abs=1e-12)
            assert found.space_note == ""


@pytest.mark.filterwarnings(BEYOND, CLIPPED)
def test_new_categories_and_missing_values_are_measured_alike(mixed):
    """Whatever rows a comparison has, and one without a value does not thin out the change."""
    X, y, first = mixed
    new = X[300:].copy()
    new["colour"] = new["colour"].astype(object)
    new.iloc[::9, list(new.columns).index("colour")] = "violet"
    new.iloc[1::3, 0] = np.nan
    with pytest.warns(SteadyTreeWarning, match="missing values in 'age'; .*'violet'"):
        result = retrain(first, new, y[300:], **{**QUICK, "n_folds": 0, "price": 0.02})
    assert result.tree.space.can_be_missing[0]
    one_number(result, new, y[300:])
    for rows in ((new, y[300:]), (X[300:],), ()):
        for name, tree in result.trees.items():
            number = result.frontier["dissimilarity"][name]
            compared = compare(first, tree, *rows)
            assert compared.dissimilarity == pytest.approx(number, abs=1e-12)
            assert compared.own_word == ()


@pytest.mark.filterwarnings(BROKEN, CLIPPED)
@pytest.mark.parametrize("with_old", [True, False])
def test_one_outlier_is_not_the_yardstick(cancer, with_old):
    """The middle 99 % of the rows is, where the tree has no space: 999 changes next to nothing."""
    X, y, _, _ = cancer
    names = ["mean radius", "mean texture", "worst smoothness"]
    X = X[names]
    plain = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X[:250], y[:250])
    quick = {**QUICK, "n_folds": 0, "price": 0.02}
    numbers = []
    for outlier in (None, 9_999.0):
        old, new = X[:250].copy(), X[250:].copy()
        if outlier is not None:
            for rows in (old, new):
                rows.iloc[3] = outlier
                rows.iloc[4] = np.nan
        given = {"old": (old, y[:250])} if with_old else {}
        result = retrain(plain, new, y[250:], **given, **quick)
        which = "old" if with_old else "new"
        assert result.notes[-1] == result.space_note
        assert result.space_note == (
            "No ranges are stored with the deployed tree: distances are over those of the "
            f"{which} rows, from the 0.5 to the 99.5 % point of each column."
        )
        assert (result.space.upper < 100).all()
        for j in np.flatnonzero(np.isfinite(result.deployed.threshold)):
            at = result.deployed.feature[j]
            low, high = result.space.lower[at], result.space.upper[at]
            assert low <= result.deployed.threshold[j] <= high
        one_number(result, new, y[250:])
        compared = compare(plain, later_tree(X, y), new)
        assert "of the rows given" in compared.space_note
        numbers.append(compared.dissimilarity)
    assert numbers[0] > 0.1
    assert numbers[1] == pytest.approx(numbers[0], rel=0.05)


def later_tree(X, y):
    return DecisionTreeClassifier(max_depth=2, random_state=0).fit(X[250:], y[250:])


@pytest.mark.filterwarnings(BROKEN, CLIPPED)
def test_nor_of_the_responses():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.uniform(0, 1, 600), "z": rng.uniform(0, 1, 600)})
    y = 10 * (X["x"] > 0.5) + rng.normal(0, 1, 600)
    plain, other = (
        DecisionTreeRegressor(max_depth=2, random_state=0).fit(X[rows], y[rows])
        for rows in (slice(0, 300), slice(300, 600))
    )
    moved = y.copy()
    moved.iloc[[5, 305]] = 1e6
    ranges = []
    for outcome in (y, moved):
        result = retrain(plain, X[300:], outcome[300:], **{**QUICK, "n_folds": 0})
        ranges.append(result.space.response_range)
        assert compare(plain, other, X[300:], outcome[300:]).diff.space.response_range == (
            result.space.response_range
        )
    np.testing.assert_allclose(*ranges, atol=1.0)
    # The stored one never widens.
    stored = result.deployed.replace(space=result.space)
    again = retrain(stored, X[300:], 3 * y[300:], **{**QUICK, "n_folds": 0})
    assert again.space.response_range == result.space.response_range
