"""Tables on disk: what is one, and its rows in batches."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from steadytree.exceptions import InputError, MissingDependencyError
from steadytree.retraining import on_disk as disk_tables
from steadytree.retraining.on_disk import is_on_disk, open_table, parquet_rows

N = 250


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "number": np.where(np.arange(N) % 7 == 0, np.nan, rng.normal(size=N)),
            "whole": pd.array(np.where(np.arange(N) < 100, 1, 2), dtype="Int64"),
            "word": np.where(np.arange(N) < 130, "a", "b"),
            "flag": np.arange(N) % 3 == 0,
            "level": pd.Categorical(
                np.where(np.arange(N) < 200, "low", "high"), ["low", "high"], ordered=True
            ),
        }
    )


@pytest.fixture(params=["file", "folder", "pattern", "hive", "dataset", "lazy"])
def source(request, table, tmp_path, monkeypatch):
    """The table in every form that it can have on disk, in small odd batches."""
    monkeypatch.setattr(disk_tables, "BATCH_ROWS", 33)
    one = tmp_path / "one.parquet"
    table.to_parquet(one, row_group_size=41)
    if request.param == "file":
        return one
    if request.param == "dataset":
        return ds.dataset(one)
    if request.param == "lazy":
        return pl.scan_parquet(one)
    rows = tmp_path / "rows"
    for i, part in enumerate((table[:90], table[90:91], table[91:])):
        folder = rows / f"part={i}" if request.param == "hive" else rows
        folder.mkdir(parents=True, exist_ok=True)
        part.to_parquet(folder / f"{i}.parquet", row_group_size=29)
    return str(rows / "*.parquet") if request.param == "pattern" else rows


def as_pandas(frame):
    return frame.to_pandas() if isinstance(frame, pl.DataFrame) else frame


def test_all_rows_come_in_their_order(source, table):
    assert is_on_disk(source)
    opened = open_table(source, "X_new")
    assert opened.names[:5] == tuple(table.columns)
    parts = [as_pandas(part) for part in opened.parts(["number", "word"])]
    assert max(map(len, parts)) <= 33
    every = pd.concat(parts, ignore_index=True)
    assert list(every.columns) == ["number", "word"]
    np.testing.assert_array_equal(every["number"], table["number"])
    assert every["word"].tolist() == table["word"].tolist()


def test_chosen_rows_are_those_of_the_whole_table(source, table):
    seen = []

    def choose(part):
        assert list(part.columns) == ["whole"]
        seen.append(len(part))
        return np.flatnonzero(np.arange(sum(seen) - len(part), sum(seen)) % 5 == 0)

    opened = open_table(source, "X_new")
    kept = as_pandas(opened.gather(["number", "level", "flag"], ["whole"], choose))
    wanted = table[::5].reset_index(drop=True)
    assert sum(seen) == N
    np.testing.assert_array_equal(kept["number"], wanted["number"])
    assert kept["flag"].tolist() == wanted["flag"].tolist()
    assert kept["level"].astype(str).tolist() == wanted["level"].astype(str).tolist()


def test_it_can_be_sent_to_workers_between_two_passes(source):
    opened = open_table(source, "X_new")
    next(opened.parts(["number"]))
    again = pickle.loads(pickle.dumps(opened))
    assert sum(len(part) for part in again.parts(["number"])) == N


def test_a_file_read_in_batches_is_what_pandas_reads(table, tmp_path):
    path = tmp_path / "rows.parquet"
    table.set_index("whole").to_parquet(path, row_group_size=17)
    whole = pd.read_parquet(path)
    opened = open_table(path, "X_new")
    assert opened.names == tuple(whole.columns)  # what pandas keeps as its index is no column
    kept = opened.gather(opened.names, ["flag"], lambda part: np.arange(len(part)))
    pd.testing.assert_frame_equal(kept, whole.reset_index(drop=True))


def test_files_that_disagree_on_a_type_are_joined(tmp_path):
    pq.write_table(pa.table({"x": [1, 2]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"x": [0.5]}), tmp_path / "b.parquet")
    (tmp_path / "_old.parquet").write_bytes(b"not ours")
    opened = open_table(tmp_path, "X_new")
    kept = opened.gather(["x"], ["x"], lambda part: np.arange(len(part)))
    assert kept["x"].tolist() == [1.0, 2.0, 0.5]


def test_a_lazy_frame_keeps_its_filter(table, tmp_path):
    table.to_parquet(tmp_path / "rows.parquet")
    lazy = pl.scan_parquet(tmp_path / "rows.parquet").filter(pl.col("word") == "b")
    assert sum(len(part) for part in open_table(lazy, "X_new").parts(["flag"])) == 120


def test_a_dataset_keeps_its_filter(table, tmp_path):
    table.to_parquet(tmp_path / "rows.parquet")
    some = ds.dataset(tmp_path / "rows.parquet").filter(ds.field("word") == "b")
    assert sum(len(part) for part in open_table(some, "X_new").parts(["flag"])) == 120


@pytest.mark.parametrize("X", [None, [[1]], np.zeros((2, 2)), pl.DataFrame({"a": [1]})])
def test_what_is_in_memory_is_not_on_disk(X):
    assert not is_on_disk(X)
    assert not is_on_disk(pa.table({"a": [1]}))


def test_rows_are_counted_without_reading(table, tmp_path):
    table.to_parquet(tmp_path / "rows.parquet", row_group_size=60)
    assert parquet_rows(tmp_path / "rows.parquet") == N


def test_errors_say_what_was_expected(table, tmp_path):
    with pytest.raises(InputError, match=r"expected Parquet files .* got 'no\.parquet', which"):
        open_table("no.parquet", "X_new")
    with pytest.raises(InputError, match=r"got a folder without any; pass a file"):
        open_table(tmp_path, "X_old")
    (tmp_path / "rows.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match=r"as X_new, got .*rows\.csv; .* polars\.scan_csv"):
        open_table(tmp_path / "rows.csv", "X_new")
    (tmp_path / "bad.parquet").write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match=r"expected Parquet in .*bad\.parquet, got: "):
        open_table(tmp_path / "bad.parquet", "X_new")
    with pytest.raises(InputError, match=r"expected Parquet in .*bad\.parquet, got: "):
        parquet_rows(tmp_path / "bad.parquet")
    table.to_parquet(tmp_path / "rows.parquet")
    opened = open_table(tmp_path / "rows.parquet", "X_new")
    with pytest.raises(InputError, match=r"name of a column as y_new, .* got ndarray; put it"):
        opened.require([("y_new", np.zeros(2))])
    with pytest.raises(InputError, match=r"rows\.parquet as groups, got 'patient'; it has 'numb"):
        opened.require([("y_new", "flag"), ("groups", "patient")])
    folder = tmp_path / "two"
    folder.mkdir()
    table.to_parquet(folder / "a.parquet")
    table.drop(columns="flag").to_parquet(folder / "b.parquet")
    with pytest.raises(InputError, match=r"got .*b\.parquet without \['flag'\]"):
        open_table(folder, "X_new")
    pq.write_table(pa.table([[1], [2]], names=["a", "a"]), tmp_path / "twice.parquet")
    with pytest.raises(InputError, match=r"distinct column names, got \['a'\]"):
        open_table(tmp_path / "twice.parquet", "X_new")


def test_an_old_polars_is_refused(monkeypatch):
    lazy = pl.LazyFrame({"a": [1]})
    monkeypatch.delattr(pl.LazyFrame, "collect_batches")
    with pytest.raises(InputError, match=r"can be read in batches, got .* upgrade it"):
        open_table(lazy, "X_new")


def test_without_pyarrow_the_extra_is_named(monkeypatch, tmp_path):
    def absent(module, **about):
        raise MissingDependencyError(f"{about['purpose']} needs steadytree[{about['extra']}]")

    monkeypatch.setattr(disk_tables, "import_optional", absent)
    with pytest.raises(MissingDependencyError, match=r"rows\.parquet needs steadytree\[parquet\]"):
        open_table(tmp_path / "rows.parquet", "X_new")
