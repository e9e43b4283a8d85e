"""Retraining from tables on disk: a sample in memory, values and counts from all rows."""

from __future__ import annotations

import pickle
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from steadytree.exceptions import FeatureAlignmentError, InputError, SteadyTreeWarning
from steadytree.retraining import Rows, SearchOptions, retrain
from steadytree.retraining import on_disk as disk_rows
from steadytree.retraining import on_disk as disk_tables
from steadytree.retraining.given import draw_rows
from steadytree.retraining.on_disk import DiskRows, load_sample
from tests.growing.mixed import mixed_table

ROOT = Path(__file__).parents[2]

QUICK = {"search": SearchOptions(n_estimators=10), "n_folds": 2, "random_state": 0}
ONCE = {**QUICK, "n_folds": 0, "price": 0.05}
NEW, OLD = slice(300, 700), slice(0, 120)


def rows_of(mixed):
    """The new and the old rows with their outcome, a weight, a group and a time."""
    X, y, _ = mixed
    rng = np.random.default_rng(1)
    table = X.assign(
        died=y,
        weight=rng.integers(1, 4, len(y)),
        patient=rng.integers(0, 90, len(y)),
        day=np.arange(len(y)),
    )
    return table[NEW].reset_index(drop=True), table[OLD].reset_index(drop=True)


@pytest.fixture
def on_disk(mixed, tmp_path, monkeypatch):
    """The tables as Parquet files, read in small odd batches."""
    monkeypatch.setattr(disk_tables, "BATCH_ROWS", 33)
    new, old = rows_of(mixed)
    new.to_parquet(tmp_path / "new.parquet", row_group_size=37)
    old.to_parquet(tmp_path / "old.parquet", row_group_size=50)
    return new, old, tmp_path / "new.parquet", tmp_path / "old.parquet"


@pytest.fixture
def small_memory(monkeypatch):
    monkeypatch.setattr(disk_rows, "MEMORY_ROWS", 160)


def predictors(path, *more):
    """A lazy frame of what the deployed tree knows, the outcome and some more."""
    columns = ["age", "dose", "colour", "noise", "died", *more]
    return pl.scan_parquet(path).select(columns)


def assert_counts(tree, new, old=None):
    """Every leaf counts all rows of the tables, by hand."""
    for which, table in (("new", new), ("old", old)):
        if table is None:
            assert tree.observed.rows(which)[0] == 0
            continue
        leaf = tree.apply(table[list(tree.feature_names)])
        for node in np.flatnonzero(tree.is_leaf):
            inside = table["died"][leaf == node]
            assert tree.observed.rows(which)[node] == len(inside)
            assert tree.observed.outcomes(1, which)[node] == inside.sum()
    some = tree.observed.rows() > 0
    np.testing.assert_allclose(tree.observed.predicted()[some], tree.value[some], atol=1e-9)


# -- all rows fit into memory ---------------------------------------------------------------


@pytest.mark.parametrize("form", ["path", "dataset", "lazy"])
def test_a_small_table_on_disk_gives_what_it_gives_in_memory(mixed, on_disk, form):
    new, old, new_path, old_path = on_disk
    named = {"groups": "patient", "sample_weight": "weight", "time": "day"}
    arrays = {argument: new[column].to_numpy() for argument, column in named.items()}
    X_new, X_old = (t.drop(columns=["died", "weight", "patient", "day"]) for t in (new, old))
    wanted = retrain(mixed[2], X_new, new["died"], old=(X_old, old["died"]), **arrays, **QUICK)
    if form == "lazy":
        tables = predictors(new_path, "weight", "patient", "day"), predictors(old_path)
    else:
        small = pd.read_parquet(old_path).drop(columns=["weight", "patient", "day"])
        small.to_parquet(old_path, row_group_size=7)
        tables = new_path, old_path
        if form == "dataset":
            tables = tuple(ds.dataset(path) for path in tables)
    found = retrain(mixed[2], tables[0], "died", old=(tables[1], "died"), **named, **QUICK)
    assert found.chosen == wanted.chosen
    for name, tree in wanted.trees.items():
        assert found.trees[name] == tree
        assert found.trees[name].metadata == tree.metadata
    pd.testing.assert_frame_equal(found.frontier, wanted.frontier)
    assert found.settings == wanted.settings
    assert found.explain() == wanted.explain()


def test_categories_booleans_and_missing_values(tmp_path, monkeypatch):
    monkeypatch.setattr(disk_tables, "BATCH_ROWS", 31)
    X, y = mixed_table(500, 3)
    X = X.assign(
        colour=X["colour"].astype("category"),
        smoker=np.arange(500) % 3 == 0,
        rank=pd.Categorical.from_codes(np.arange(500) % 3, ["low", "mid", "high"], ordered=True),
        visits=pd.array([None if i % 11 == 0 else i % 5 for i in range(500)], dtype="Int64"),
    )
    from steadytree.estimators.distilled import DistilledTreeClassifier

    first = DistilledTreeClassifier(n_estimators=10, random_state=0).fit(X[:200], y[:200])
    X[200:].assign(y=y[200:]).to_parquet(tmp_path / "new.parquet", row_group_size=47)
    wanted = retrain(first, X[200:], y[200:], **ONCE)
    assert retrain(first, tmp_path / "new.parquet", "y", **ONCE).trees == wanted.trees
    monkeypatch.setattr(disk_rows, "MEMORY_ROWS", 120)
    found = retrain(first, tmp_path / "new.parquet", "y", **ONCE)
    for name in ("re-estimate", "price 0.05", "from scratch"):
        assert_counts(found.trees[name], X[200:].assign(died=y[200:]).reset_index(drop=True))


def test_dates_are_refused_as_in_memory(mixed, on_disk, tmp_path):
    new = on_disk[0].assign(age=pd.Timestamp("2024-01-01"))
    new.to_parquet(tmp_path / "dates.parquet")
    with pytest.raises(InputError, match="got dates, such as 2024"):
        retrain(mixed[2], predictors(tmp_path / "dates.parquet"), "died", **ONCE)


# -- a sample of them does ------------------------------------------------------------------


@pytest.mark.parametrize("with_old", [False, True])
def test_leaves_count_all_rows_and_rules_come_from_the_sample(
    mixed, on_disk, small_memory, with_old
):
    new, old, new_path, old_path = on_disk
    before = {"old": (predictors(old_path), "died")} if with_old else {}
    result = retrain(mixed[2], predictors(new_path), "died", **before, **ONCE)
    n_all = 520 if with_old else 400
    assert result.settings["n_new"] == 400
    assert result.settings["n_old"] == (120 if with_old else None)
    assert result.settings["n_rows_values"] == n_all
    assert result.settings["n_rows_structure"] <= 162
    assert result.settings["n_rows_scores"] == len(result.rows) < 162
    for name in ("re-estimate", "price 0.05", "from scratch"):
        assert_counts(result.trees[name], new, old if with_old else None)
    # The sample is the one that is drawn in memory, row for row.
    n_new = 123 if with_old else 160
    seed = result.settings["seed"]
    rows = draw_rows(new["died"].to_numpy(), n_new, classifier=True, seed=seed)
    np.testing.assert_array_equal(result.X_new["age"].to_numpy(), new["age"][rows])
    again = retrain(mixed[2], predictors(new_path), "died", **before, **ONCE)
    assert again.trees == result.trees


def test_what_is_said_of_rows_says_of_which(mixed, on_disk, small_memory, tmp_path):
    result = retrain(mixed[2], predictors(on_disk[2]), "died", **{**QUICK})
    n = len(result.rows)
    text = result.explain()
    assert f"Rules and scores are from a sample of {n} of the 400 new rows." in text
    assert f"of the {n} rows of a sample" in text
    assert f"the {n} new rows" not in text
    assert len(result.performance()) > 0
    page = result.report(tmp_path / "report.html").read_text()
    assert "rows of a sample" in page
    assert f"{n} new rows" not in page
    assert "New data, a sample" in page
    assert "of the 400 new rows" in page
    copy = pickle.loads(pickle.dumps(result))  # no file is held open
    assert copy.explain() == text
    assert "rows of a sample" in result._repr_html_()


def test_a_response_has_its_means_from_all_rows(tmp_path, small_memory):
    X, y = mixed_table(500, 1, task="regression")
    X = X[["age", "noise"]]
    deployed = DecisionTreeRegressor(max_depth=2, random_state=0).fit(X[:100], y[:100])
    X[100:].assign(y=y[100:]).to_parquet(tmp_path / "new.parquet")
    tree = retrain(deployed, tmp_path / "new.parquet", "y", **ONCE).trees["re-estimate"]
    leaf = tree.apply(X[100:])
    for node in np.flatnonzero(tree.is_leaf):
        inside = y[100:][leaf == node]
        assert tree.observed.rows()[node] == len(inside)
        assert tree.observed.rate()[node, 0] == pytest.approx(inside.mean())


def test_weights_of_all_rows_count(mixed, on_disk, small_memory):
    new, old, new_path, old_path = on_disk
    result = retrain(
        mixed[2],
        predictors(new_path, "weight"),
        "died",
        sample_weight="weight",
        old=Rows(predictors(old_path, "weight"), "died", sample_weight="weight"),
        **ONCE,
    )
    seen = result.trees["re-estimate"].observed
    for place, table in enumerate((old, new)):
        assert seen.weighted[0, place].sum() == table["weight"].sum()
        assert seen.counts[0, place].sum() == len(table)


def test_groups_stay_whole(mixed, on_disk, small_memory):
    new, old, new_path, old_path = on_disk
    with pytest.warns(SteadyTreeWarning, match="are of groups that are among the old rows too"):
        result = retrain(
            mixed[2],
            predictors(new_path, "patient"),
            "died",
            groups="patient",
            old=Rows(predictors(old_path, "patient"), "died", groups="patient"),
            **ONCE,
        )
    drawn, times = np.unique(result.groups, return_counts=True)
    assert 0 < len(drawn) < new["patient"].nunique()
    assert len(result.rows) <= 160
    counts = new["patient"].value_counts()
    assert times.tolist() == [counts[patient] for patient in drawn]
    # Whoever is among the old rows too is known, whatever was drawn: none of them is scored.
    known = np.isin(result.groups, old["patient"])
    np.testing.assert_array_equal(result.scores.scored, ~known)
    assert_counts(result.trees["re-estimate"], new, old)


def test_new_rows_in_memory_beside_old_rows_on_disk(mixed, on_disk, monkeypatch):
    new, old, _, old_path = on_disk
    monkeypatch.setattr(disk_rows, "MEMORY_ROWS", 100)
    X = new.drop(columns=["died", "weight", "patient", "day"])
    before = predictors(old_path)
    result = retrain(mixed[2], X[:60], new["died"][:60], old=(before, "died"), **ONCE)
    assert len(result.rows) == result.settings["n_rows_scores"] == 60
    assert result.settings["n_rows_structure"] == pytest.approx(110, abs=2)
    assert result.settings["n_rows_values"] == 180
    assert_counts(result.trees["re-estimate"], new[:60], old)
    assert "the 60 new rows" in result.explain()


def test_prevalence_is_that_of_all_rows(mixed, on_disk, small_memory):
    new, old, new_path, old_path = on_disk
    result = retrain(
        mixed[2],
        predictors(new_path),
        "died",
        old=(predictors(old_path), "died"),
        decision="prevalence",
        **ONCE,
    )
    rate = (new["died"].sum() + old["died"].sum()) / 520
    assert result.tree.decision.threshold == rate
    memory = new[["age", "dose", "colour", "noise"]], new["died"]
    result = retrain(
        mixed[2], *memory, old=(predictors(old_path), "died"), decision="prevalence", **ONCE
    )
    assert result.tree.decision.threshold == rate


def test_the_same_rows_again_are_nothing_new(mixed, on_disk, small_memory):
    new, old, new_path, old_path = on_disk
    X, before = predictors(new_path), {"old": (predictors(old_path), "died")}
    result = retrain(mixed[2], X, "died", **before, **ONCE)
    with pytest.warns(SteadyTreeWarning, match="made from these very rows"):
        again = retrain(result.tree, X, "died", **before, **{**ONCE, "random_state": 5})
    assert again.dissimilarity == 0
    # And in memory, where all rows are looked at, they are known too.
    names = ["age", "dose", "colour", "noise"]
    with pytest.warns(SteadyTreeWarning, match="made from these very rows"):
        retrain(result.tree, new[names], new["died"], old=(old[names], old["died"]), **ONCE)


# -- what the sample does not show ----------------------------------------------------------


def test_rare_values_of_the_rest_are_said_and_counted(mixed, on_disk, small_memory, tmp_path):
    new = on_disk[0].copy()
    rows = draw_rows(new["died"].to_numpy(), 160, classifier=True, seed=ONCE["random_state"])
    rest = np.setdiff1d(np.arange(400), rows)
    new.loc[rest[:3], "colour"] = "mauve"
    new.loc[rest[3:5], "colour"] = None
    new.loc[rest[5:6], "age"] = np.nan
    new.loc[rest[6:8], "noise"] = 99.0
    new.to_parquet(tmp_path / "rare.parquet", row_group_size=21)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = retrain(mixed[2], predictors(tmp_path / "rare.parquet"), "died", **ONCE)
    assert result.settings["seed"] == ONCE["random_state"]
    said = [str(w.message) for w in caught]
    assert (
        "3 of the 400 new rows have categories of 'colour' that no row of the sample has "
        "('mauve'); they follow missing values, and count where these go" in said
    )
    assert any(text.startswith("2 of the 400 new rows have no 'colour'") for text in said)
    assert any(text.startswith("1 of the 400 new rows have no 'age'") for text in said)
    assert not any("range" in text for text in said)
    assert any("beyond the range of the space" in n and "'noise' in" in n for n in result.notes)
    for name in ("re-estimate", "price 0.05", "from scratch"):
        assert_counts(result.trees[name], new)


def test_an_infinity_anywhere_is_refused(mixed, on_disk, small_memory, tmp_path):
    new = on_disk[0].copy()
    rows = draw_rows(new["died"].to_numpy(), 160, classifier=True, seed=ONCE["random_state"])
    new.loc[np.setdiff1d(np.arange(400), rows)[0], "noise"] = np.inf
    new.to_parquet(tmp_path / "infinite.parquet")
    with pytest.raises(InputError, match=r"an infinity in \['noise'\]"):
        retrain(mixed[2], predictors(tmp_path / "infinite.parquet"), "died", **ONCE)


def test_tables_that_overlap_are_refused(mixed, on_disk, small_memory, tmp_path):
    """Of a sample of either, hardly a row is in both; of all new rows, an eighth is."""
    new, old, new_path, _ = on_disk
    both = pd.concat([old, new[:50]], ignore_index=True)
    both.to_parquet(tmp_path / "both.parquet")
    before = {"old": (predictors(tmp_path / "both.parquet"), "died")}
    with pytest.raises(InputError, match=r"got \d+% of a sample of the new rows in both tables"):
        retrain(mixed[2], predictors(new_path), "died", **before, **ONCE)
    X = both[["age", "dose", "colour", "noise"]]
    with (
        pytest.warns(SteadyTreeWarning, match="are also among the old rows"),
        pytest.raises(InputError, match="in both tables; on disk they cannot be told apart"),
    ):
        retrain(mixed[2], predictors(new_path), "died", old=(X, both["died"]), **ONCE)


# -- errors ---------------------------------------------------------------------------------


def test_errors_name_the_column(mixed, on_disk, tmp_path):
    new, _, new_path, _ = on_disk
    call = (mixed[2], new_path)
    with pytest.raises(InputError, match="name of a column as y, as the rows stay on disk"):
        retrain(*call, new["died"], **ONCE)
    with pytest.raises(InputError, match="as y, got 'dead'; it has 'age', 'dose'"):
        retrain(*call, "dead", **ONCE)
    with pytest.raises(InputError, match=r"name of a column as groups, .* got ndarray"):
        retrain(*call, "died", groups=np.zeros(400), **ONCE)
    with pytest.raises(InputError, match=r"as old y, as the rows stay on disk .* got NoneType"):
        retrain(*call, "died", old=(new_path, None), **ONCE)
    with pytest.raises(FeatureAlignmentError, match=r"without \['age'\]"):
        retrain(mixed[2], pl.scan_parquet(new_path).drop("age"), "died", **ONCE)
    with pytest.raises(InputError, match=r"expected predictors in .*, got no column besides"):
        retrain(mixed[2], pl.scan_parquet(new_path).select("died"), "died", **ONCE)
    with pytest.raises(InputError, match="expected rows in X, got none in the lazy frame"):
        retrain(mixed[2], predictors(new_path).filter(pl.col("age") > 1e9), "died", **ONCE)
    with pytest.raises(InputError, match="got unseen 2, 3; a new class needs a new tree"):
        retrain(mixed[2], predictors(new_path).with_columns(pl.col("died") + 2), "died", **ONCE)
    with pytest.raises(InputError, match="finite weights >= 0 in column 'noise'"):
        retrain(*call, "died", sample_weight="noise", **ONCE)
    new.assign(died=new["died"].where(new.index % 100 != 5)).to_parquet(tmp_path / "gaps.parquet")
    with pytest.raises(InputError, match=r"an outcome in every row of .*, got 4 missing in 'died'"):
        retrain(mixed[2], tmp_path / "gaps.parquet", "died", **ONCE)


def test_groups_larger_than_memory_are_refused(mixed, on_disk, small_memory):
    one = predictors(on_disk[2]).with_columns(pl.lit("all").alias("site"))
    with pytest.raises(InputError, match="expected groups of which many fit into 160 rows"):
        retrain(mixed[2], one, "died", groups="site", **ONCE)


def test_a_table_that_changes_is_refused(mixed, on_disk):
    new, _, new_path, _ = on_disk
    rows = DiskRows.read(
        retrain(mixed[2], predictors(new_path), "died", **ONCE).tree,
        "new",
        Rows(new_path, "died"),
        None,
        0,
    )
    new[:300].to_parquet(new_path)
    with pytest.raises(
        InputError, match=r"expected the same rows whenever .*, got 400 and then 300"
    ):
        list(rows.frames(mixed[2].feature_space_))


def test_groups_of_one_name_fall_into_one_bin(mixed, on_disk):
    """Whole numbers are fractions in a batch with missing ones."""
    _, _, new_path, _ = on_disk
    given = Rows(new_path, "died", groups="patient")
    rows = DiskRows.read(mixed[2].tree_, "new", given, None, 7)
    whole = pd.DataFrame({"patient": np.arange(50)})
    np.testing.assert_array_equal(rows._bins(whole), rows._bins(whole.astype(float)))
    assert rows.in_bins.sum() == 400


def test_tables_in_memory_are_passed_on(mixed):
    given = Rows(mixed[0], mixed[1])
    assert load_sample(mixed[2].tree_, given, None, "day", 0.5, 0) == (
        given,
        None,
        "day",
        0.5,
        None,
    )


def test_a_tree_without_names_reads_columns_by_place(tmp_path, small_memory):
    rng = np.random.default_rng(0)
    X, n = rng.normal(size=(600, 3)), 400
    y = (X[:, 0] + rng.normal(size=600) > 0).astype(int)
    deployed = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X[:200], y[:200])
    table = pa.table({"a": X[200:, 0], "b": X[200:, 1], "c": X[200:, 2], "died": y[200:]})
    pq.write_table(table, tmp_path / "new.parquet")
    tree = retrain(deployed, tmp_path / "new.parquet", "died", **ONCE).trees["re-estimate"]
    assert tree.observed.rows()[0] == n
    leaf = tree.apply(X[200:])
    for node in np.flatnonzero(tree.is_leaf):
        assert tree.observed.rows()[node] == (leaf == node).sum()


PEAK = """
import sys
import numpy as np, pyarrow as pa, pyarrow.parquet as pq
from sklearn.tree import DecisionTreeClassifier
from research.benchmarks.memory import peak_mebibytes
from steadytree.retraining import SearchOptions, retrain
from steadytree.retraining import on_disk as disk_rows
from steadytree.retraining import on_disk as disk_tables

path, n_groups = sys.argv[1], int(sys.argv[2])
disk_rows.MEMORY_ROWS, disk_tables.BATCH_ROWS = 5_000, 20_000
rng, writer = np.random.default_rng(0), None
for _ in range(n_groups):
    X = rng.normal(size=(100_000, 20))
    y = (X[:, 0] + rng.normal(size=len(X)) > 0).astype(np.int64)
    names = [f"x{j}" for j in range(20)]
    table = pa.table({**dict(zip(names, X.T)), "y": y})
    writer = writer or pq.ParquetWriter(path, table.schema)
    writer.write_table(table, row_group_size=100_000)
writer.close()
deployed = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X[:1000], y[:1000])
options = {"search": SearchOptions(n_estimators=10), "n_folds": 0, "random_state": 0}
result = retrain(deployed, path, "y", **options)
assert result.trees["re-estimate"].observed.rows()[0] == 100_000 * n_groups
print(int(peak_mebibytes()))
"""


@pytest.mark.slow
def test_memory_does_not_grow_with_the_file(tmp_path):
    """The larger table alone has 384 MB more of numbers than the smaller one."""
    peaks = []
    for n_groups in (6, 30):
        path = str(tmp_path / f"{n_groups}.parquet")
        call = [sys.executable, "-c", PEAK, path, str(n_groups)]
        done = subprocess.run(call, cwd=ROOT, capture_output=True, text=True, check=True)
        peaks.append(int(done.stdout))
    assert peaks[1] < peaks[0] + 100, peaks


def test_passes_over_all_rows(mixed, on_disk, small_memory, monkeypatch):
    """Look at them, count the tree from scratch, count all edited trees: no more than that."""
    passes = []
    frames = DiskRows.frames
    monkeypatch.setattr(DiskRows, "frames", lambda *given: passes.append(1) or frames(*given))
    retrain(mixed[2], predictors(on_disk[2]), "died", **QUICK)
    assert len(passes) == 3
