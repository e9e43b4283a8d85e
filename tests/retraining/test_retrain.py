"""``retrain`` end to end: real data, every kind of tree, choosing, locks and bad input."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import is_classifier
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.metrics import roc_auc_score
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from steadytree.core import space as space_module
from steadytree.core import tree as tree_module
from steadytree.core.space import FeatureSpace
from steadytree.distance import tree_distance
from steadytree.estimators.distilled import DistilledTreeClassifier
from steadytree.exceptions import FeatureAlignmentError, InputError, SteadyTreeWarning
from steadytree.growing.nodes import split_of
from steadytree.retraining import retrain
from tests.growing.mixed import mixed_table

QUICK = {"n_estimators": 20, "n_folds": 2, "random_state": 0}


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    rows = np.random.default_rng(0).permutation(len(y))
    X, y = X.iloc[rows].reset_index(drop=True), y.iloc[rows].to_numpy()
    first = DistilledTreeClassifier(
        n_estimators=20, max_leaf_nodes=8, decision_threshold="prevalence", random_state=0
    ).fit(X[:250], y[:250])
    made = retrain(first, X[250:], y[250:], X_old=X[:250], y_old=y[:250], compare=True, **QUICK)
    return X, y, first, made


@pytest.fixture(scope="module")
def mixed():
    X, y = mixed_table(700, 0)
    first = DistilledTreeClassifier(n_estimators=20, max_leaf_nodes=6, random_state=0)
    return X, y, first.fit(X[:300], y[:300])


def test_the_frontier_has_every_candidate_and_right_numbers(cancer):
    X, _, first, made = cancer
    table = made.frontier
    assert table.index[0] == "keep"
    assert {"leaf values", "price 0.2", "from scratch", "CART"} <= set(table.index)
    assert list(table["chosen"][table["chosen"]].index) == ["price 0.2"] == [made.chosen]
    for name, tree in made.trees.items():
        apart = tree_distance(
            made.deployed, tree, space=made.space, variant="metric", normalize="relative"
        )
        assert table.loc[name, "dissimilarity"] == pytest.approx(apart)
        assert table.loc[name, "distance"] == pytest.approx(
            tree_distance(made.deployed, tree, space=made.space)
        )
        moved = (tree.predict(X[250:]) != first.predict(X[250:])).mean()
        assert table.loc[name, "flips"] == pytest.approx(moved)
        assert table.loc[name, "n_leaves"] == tree.n_leaves
    assert table.loc["keep", "dissimilarity"] == 0
    assert table.loc["keep", "score_change"] == 0
    assert table.loc["leaf values", "dissimilarity"] == 0
    assert table["on_frontier"].any()
    assert made.selection_cost == 0


def test_scores_are_those_of_rows_left_out(cancer):
    X, y, first, made = cancer
    new = made.new_predictions
    assert not np.isnan(new.value).any()
    keep = made.frontier.loc["keep", "score"]
    # Within folds the deployed tree's score is that of its own predictions.
    assert keep == pytest.approx(
        roc_auc_score(y[250:], first.predict_proba(X[250:])[:, 1]), abs=0.02
    )
    assert 0 < made.frontier.loc["from scratch", "score_change_se"] < 0.1


def test_the_model_predicts_and_inherits_the_threshold(cancer):
    X, _, first, made = cancer
    assert is_classifier(made.model)
    assert made.tree.decision_threshold == first.to_tree().decision_threshold
    np.testing.assert_array_equal(made.model.predict(X[:20]), made.tree.predict(X[:20]))
    assert made.dissimilarity == made.frontier.loc["price 0.2", "dissimilarity"]
    assert made.diff.dissimilarity == pytest.approx(made.dissimilarity)


def test_flips_are_a_direct_count_by_any_column(cancer):
    X, _, first, made = cancer
    changed = first.predict(X[250:]) != made.model.predict(X[250:])
    assert made.flips() == changed.mean()
    table = made.flips(by="mean radius")
    assert table["n"].sum() == len(changed)
    shares = (table["flips"] * table["n"]).sum()
    assert shares == pytest.approx(changed.sum())
    side = np.where(X[250:]["mean radius"] > 14, "large", "small")
    assert set(made.flips(by=side).index) == {"large", "small"}
    assert made.flips(by=lambda rows: np.zeros(len(rows), dtype=int)).shape == (1, 5)
    with pytest.raises(InputError, match="got by='colour'"):
        made.flips(by="colour")


def test_small_cells_are_masked(cancer):
    _, _, _, made = cancer
    few = np.r_[np.zeros(5, dtype=int), np.ones(len(made.y_new) - 5, dtype=int)]
    assert made.flips(by=few).loc[0, "masked"]
    assert np.isnan(made.flips(by=few).loc[0, "flips"])
    table = made.performance(by=few)
    assert table.loc[0, "masked"].all()
    assert table.loc[0]["new"].isna().all()
    assert not table.loc[1, "masked"].any()


def test_performance_counts_decisions(cancer):
    X, y, first, made = cancer
    table = made.performance().loc["all"]
    said = first.predict(X[250:])
    truth = y[250:]
    assert table.loc["sensitivity", "old"] == pytest.approx(said[truth == 1].mean())
    assert table.loc["specificity", "old"] == pytest.approx(1 - said[truth == 0].mean())
    assert table.loc["positive predictive value", "old"] == pytest.approx(truth[said == 1].mean())
    assert table.loc["accuracy", "n"] == len(truth)
    shares = first.predict_proba(X[250:])[:, 1]
    assert table.loc["AUC", "old"] == pytest.approx(roc_auc_score(truth, shares))
    assert table.loc["calibration: mean predicted minus observed", "old"] == pytest.approx(
        shares.mean() - truth.mean()
    )
    inside = (table["old_low"] <= table["old"]) & (table["old"] <= table["old_high"])
    assert inside.all()
    assert set(table["interval"]) == {"DeLong", "Wilson", "normal"}


def test_three_sentences(cancer):
    _, _, _, made = cancer
    text = made.explain()
    assert text.count(". ") == 2
    assert "AUC" in text
    assert f"of the {len(made.y_new):,} new rows" in text
    assert text == str(made)
    assert made.chosen in repr(made)
    assert "price 0.2" in made._repr_html_()


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
    usual_look = FeatureSpace.from_data

    def looking(table, *args, **options):
        looked_at.append(tuple(table.index))
        return usual_look(table, *args, **options)

    monkeypatch.setattr(FeatureSpace, "from_data", looking)
    deployed = first.to_tree() if stored_space else first.to_tree().replace(space=None)
    result = retrain(deployed, new, y[300:500], X_old=old, y_old=y[:300], compare=True, **QUICK)
    result.explain()
    result.flips("colour")
    result.performance("colour")
    assert result.diff.n_rows == 200
    result.report(tmp_path / "report.html")
    result._repr_html_()
    assert sorted(coded) == [tuple(old.index), tuple(new.index)]
    assert looked_at == [tuple(part.index) for part in ([new] if stored_space else [new, old])]


def test_results_do_not_depend_on_the_number_of_jobs(mixed):
    X, y, first = mixed
    args = (first, X[300:500], y[300:500])
    one = retrain(*args, **QUICK)
    two = retrain(*args, n_jobs=2, **QUICK)
    assert one.tree == two.tree
    pd.testing.assert_frame_equal(one.frontier, two.frontier)


def test_mixed_data_without_old_rows(mixed):
    X, y, first = mixed
    made = retrain(first, X[300:], y[300:], **QUICK)
    assert made.drift is None
    assert 0 <= made.settings["share_of_deployed_in_teacher"] <= 1
    assert made.settings["n_old"] is None
    assert made.space == first.feature_space_
    assert made.frontier.loc["price 0.02", "n_leaves"] >= 2


def test_drift_is_seen_and_said(mixed):
    X, y, first = mixed
    made = retrain(first, X[300:], 1 - y[300:], X_old=X[:300], y_old=y[:300], price=0.05, **QUICK)
    assert made.drift is not None
    assert made.drift.detected
    assert "no longer follow" in made.explain()
    row = made.frontier.loc["price 0.05"]
    assert row["score"] > made.frontier.loc["keep", "score"] + 0.1
    assert row["n_edits"] > 0


def test_several_classes():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    rows = np.random.default_rng(0).permutation(150)
    X, names = X[rows], names[rows]
    first = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X[:75], names[:75])
    made = retrain(first, X[75:], names[75:], X_old=X[:75], y_old=names[:75], **QUICK)
    assert made.tree.classes == ("setosa", "versicolor", "virginica")
    assert (made.model.predict(X[75:]) == names[75:]).mean() > 0.9
    assert {"AUC", "accuracy", "Brier score"} == set(made.performance().loc["all"].index)


def test_polars_frames_and_pickle(mixed):
    polars = pytest.importorskip("polars")
    X, y, first = mixed
    frames = [polars.from_pandas(part) for part in (X[:300], X[300:500])]
    quick = {**QUICK, "n_folds": 0}
    plain = retrain(first, X[300:500], y[300:500], X_old=X[:300], y_old=y[:300], **quick)
    made = retrain(first, frames[1], y[300:500], X_old=frames[0], y_old=y[:300], **quick)
    assert made.tree == plain.tree
    assert made.flips(by="colour")["n"].sum() == 200
    again = pickle.loads(pickle.dumps(made))
    assert again.tree == made.tree
    assert again.explain() == made.explain()


def test_regression():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    first = DecisionTreeRegressor(max_leaf_nodes=6, min_samples_leaf=10, random_state=0)
    first.fit(X[:200], y[:200])
    made = retrain(first, X[200:], y[200:], X_old=X[:200], y_old=y[:200], **QUICK)
    assert not made.tree.is_classifier
    assert made.frontier.loc["leaf values", "n_edits"] == 0
    assert "R²" in made.explain()
    assert "of its range" in made.explain()
    assert "R2" in made.performance().loc["all"].index
    span = made.space.response_range[1] - made.space.response_range[0]
    moved = np.abs(made.model.predict(X[200:]) - first.predict(X[200:])) > 0.05 * span
    assert made.flips() == pytest.approx(moved.mean())


@pytest.mark.parametrize("select", ["tolerance", "one_se"])
def test_rules_choose_the_least_change_near_the_best(mixed, select):
    X, y, first = mixed
    quick = {**QUICK, "n_folds": 3}
    made = retrain(first, X[300:], 1 - y[300:], select=select, **quick)
    table = made.frontier
    chosen = table.loc[made.chosen]
    closer = table[table["dissimilarity"] < chosen["dissimilarity"] - 1e-12]
    best = table["score"].max()
    if select == "tolerance":
        assert chosen["score"] >= 0.98 * best
        assert (closer["score"] < 0.98 * best).all()
    else:
        assert (closer["score"] < best).all()
    assert np.isfinite(made.selection_cost)


def test_a_function_chooses_and_is_checked(mixed):
    X, y, first = mixed
    args = (first, X[300:450], y[300:450])
    made = retrain(*args, select=lambda table: "from scratch", **QUICK)
    assert made.chosen == "from scratch"
    assert "another tree" in made.explain()
    first_row = retrain(*args, select=lambda table: 0, **{**QUICK, "n_folds": 0})
    assert first_row.chosen == "keep"
    assert "kept as it is" in first_row.explain()
    with pytest.raises(InputError, match="row number below"):
        retrain(*args, select=lambda table: 99, **{**QUICK, "n_folds": 0})
    with pytest.raises(InputError, match="expected scores to choose"):
        retrain(*args, select="tolerance", **{**QUICK, "n_folds": 0})


def test_own_candidates_fitted_and_not(cancer):
    X, y, first, _ = cancer
    small = DecisionTreeClassifier(max_depth=1, random_state=0)
    made = retrain(
        first,
        X[250:],
        y[250:],
        candidates={
            "stump": small.fit(X[:250], y[:250]),
            "fresh": DecisionTreeClassifier(max_depth=2),
        },
        **QUICK,
    )
    table = made.frontier
    assert not table.loc["stump", "cross_fitted"]
    assert table.loc["fresh", "cross_fitted"]
    assert made.trees["stump"].n_leaves == 2
    assert made.trees["stump"].decision_threshold == made.deployed.decision_threshold
    with pytest.raises(InputError, match="rename"):
        retrain(first, X[250:], y[250:], candidates={"keep": small}, **QUICK)


@pytest.mark.parametrize("kind", ["root", "node", "feature", "condition", "rule"])
def test_locks(mixed, kind):
    X, y, first = mixed
    tree = first.to_tree()
    root = first.rules().splitlines()[0].removeprefix("|-- ")
    rule = first.rules(style="list").splitlines()[0]
    feature = tree.feature_labels[tree.feature[0]]
    locked = {"root": "root", "node": 0, "feature": [feature], "condition": root, "rule": rule}
    made = retrain(
        first, X[300:], 1 - y[300:], locked=locked[kind], price=0.0, **{**QUICK, "n_folds": 0}
    )
    assert split_of(made.tree, 0) == split_of(made.deployed, 0)
    assert made.edits
    assert 0 in made.settings["locked_nodes"] or kind == "rule"


def test_groups_and_time_make_the_folds(mixed):
    X, y, first = mixed
    new = slice(300, 600)
    groups = np.repeat(np.arange(100), 3)
    made = retrain(first, X[new], y[new], groups=groups, **QUICK)
    assert made.settings["folds"] == "groups"
    assert set(made.performance()["interval"]) == {"clustered DeLong", "clustered normal"}
    time = np.arange(300) // 50
    made = retrain(first, X[new], y[new], time=time, **QUICK)
    assert made.settings["folds"] == "time"
    unscored = np.isnan(made.new_predictions.value[:, 0])
    assert unscored.any()
    assert unscored[:50].all()  # the first block is never predicted from the future
    assert made.performance().loc[("all", "accuracy"), "n"] == (~unscored).sum()


def test_sample_weights_and_progress(mixed, capsys):
    X, y, first = mixed
    seen = []
    weight = np.where(y[300:] == 1, 3.0, 1.0)
    plain = retrain(first, X[300:], y[300:], **{**QUICK, "n_folds": 0})
    made = retrain(
        first,
        X[300:],
        y[300:],
        sample_weight=weight,
        progress=lambda *step: seen.append(step),
        verbose=1,
        **QUICK,
    )
    assert made.tree.predict_proba(X)[:, 1].mean() > plain.tree.predict_proba(X)[:, 1].mean()
    assert [done for _, done, _ in seen] == [0, 1, 2, 3]
    assert "retrain: 3/3 done" in capsys.readouterr().err


def test_a_new_category_can_be_learned(mixed):
    X, y, first = mixed
    new = X[300:].copy()
    outcome = y[300:].copy()
    odd = np.arange(len(new)) % 3 == 0
    new.loc[odd, "colour"] = "violet"
    outcome[odd] = 1
    with pytest.warns(SteadyTreeWarning, match="new categories of 'colour': 'violet'"):
        made = retrain(first, new, outcome, price=0.01, **{**QUICK, "n_folds": 0})
    assert "violet" in made.space.categories[2]
    np.testing.assert_array_equal(made.deployed.predict(new), first.to_tree().predict(new))
    row = pd.DataFrame({"age": [30.0], "dose": [0.1], "colour": ["violet"], "noise": [0.0]})
    assert made.tree.predict_proba(row)[0, 1] > first.predict_proba(row)[0, 1]


def test_the_space_is_widened_only_where_it_must_be(mixed):
    X, y, first = mixed
    new = X[300:].copy()
    new.iloc[0, 0] = 95.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = retrain(first, new, y[300:], **{**QUICK, "n_folds": 0})
    assert made.space == first.feature_space_
    new["age"] += 100
    with pytest.warns(SteadyTreeWarning, match="of 'age' out of range"):
        made = retrain(first, new, y[300:], **{**QUICK, "n_folds": 0})
    assert made.space.upper[0] > 150


def test_the_space_is_made_from_the_rows_where_the_tree_has_none(cancer):
    X, y, _, _ = cancer
    plain = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X[:250], y[:250])
    quick = {**QUICK, "n_folds": 0}
    made = retrain(plain, X[250:], y[250:], X_old=X[:250], y_old=y[:250], **quick)
    expected = FeatureSpace.from_data(X, y)
    np.testing.assert_array_equal(made.space.lower, expected.lower)
    np.testing.assert_array_equal(made.space.upper, expected.upper)


def test_bad_input_is_named(cancer, mixed):
    X, y, first, _ = cancer
    new = (X[250:], y[250:])
    regression = DecisionTreeRegressor(max_depth=2).fit(X[:250], y[:250])
    names = np.array(["no", "yes"])
    cases = [
        ((first, X[250:].drop(columns="mean radius"), y[250:]), {}, "without ['mean radius']"),
        ((first, X[250:], y[250:] + 1), {}, "got unseen 2"),
        ((first, X[250:], y[250:] + 0.5), {}, "a new class needs a new tree"),
        (
            (first, X[250:], X["mean radius"][250:]),
            {},
            "these look like responses: they need a regression tree",
        ),
        ((regression, X[250:], names[y[250:]]), {}, "is a regression tree"),
        ((regression, X[250:], np.ones(319)), {}, "outcomes that vary"),
        ((first, X[250:], np.ones(319, dtype=int)), {}, "at least two classes in y_new"),
        ((first, X[250:], y[250:-1]), {}, "expected 319 outcomes in y_new"),
        ((first, X[:0], y[:0]), {}, "expected rows in X_new"),
        ((first, *new), {"X_old": X[:250]}, "both X_old and y_old"),
        ((first, *new), {"price": -1}, "price >= 0"),
        ((first, *new), {"select": "best"}, 'select None, "tolerance"'),
        ((first, *new), {"n_folds": 1}, "n_folds 0 or at least 2"),
        ((first, *new), {"locked": "no such rule"}, "got 'no such rule'"),
        ((first, *new), {"groups": [1, 2]}, "expected 319 entries in groups"),
        ((first, *new), {"sample_weight": -np.ones(319)}, "finite weights >= 0"),
        ((regression, *new), {"decision_threshold": 0.3}, "two classes for a decision_threshold"),
    ]
    for args, options, words in cases:
        with pytest.raises(InputError) as error:
            retrain(*args, **{**QUICK, **options})
        assert words in str(error.value), words
    with pytest.raises(FeatureAlignmentError):
        retrain(first, X[250:].to_numpy()[:, :5], y[250:], **QUICK)
    table, outcome, own = mixed
    with pytest.raises(InputError, match="finite numbers in 'noise', got an infinity"):
        retrain(own, table.assign(noise=np.inf), outcome, **QUICK)


def test_a_class_that_is_gone_is_said():
    X, y = load_iris(return_X_y=True)
    first = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    with pytest.warns(SteadyTreeWarning, match="no new row has class 0"):
        made = retrain(first, X[y > 0], y[y > 0], **{**QUICK, "n_folds": 0})
    assert made.tree.classes == (0, 1, 2)


def test_without_drift_nothing_changes():
    edits, apart = [], []
    for seed in range(3):
        X, y = mixed_table(1500, seed)
        first = DistilledTreeClassifier(random_state=seed, n_estimators=50)
        made = retrain(
            first.fit(X[:900], y[:900]),
            X[900:],
            y[900:],
            X_old=X[:900],
            y_old=y[:900],
            n_estimators=50,
            n_folds=0,
            random_state=seed,
        )
        edits.append(len(made.edits))
        apart.append(made.dissimilarity)
    assert np.median(edits) <= 1
    assert np.mean(apart) < 0.05
