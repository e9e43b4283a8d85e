"""What databases make of the SQL that is written decides as the tree: SQLite and DuckDB run it."""

from __future__ import annotations

import math
import sqlite3
import sys
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
import sqlglot

import steadytree as st
from steadytree.exceptions import InputError, MissingDependencyError
from steadytree.formats.code.parts import is_plain_decimal
from steadytree.formats.code.sql import write
from steadytree.tree.nested import Branch, Leaf, build_tree
from tests.foreign import probe_rows, random_tree
from tests.formats.odd_trees import NASTY, nasty_tree

DIALECTS = (
    *("athena", "bigquery", "clickhouse", "databricks", "doris", "duckdb", "hive", "mysql"),
    *("oracle", "postgres", "presto", "redshift", "snowflake", "spark", "sqlite", "trino", "tsql"),
)


def in_sqlite(tree: st.Tree, rows: pd.DataFrame, query: str) -> pd.DataFrame:
    """Run a query over a table "rows", whose columns have no type: SQLite keeps each value's."""
    database = sqlite3.connect(":memory:")
    names = ", ".join('"' + str(name).replace('"', '""') + '"' for name in rows.columns)
    database.execute(f"CREATE TABLE rows ({names})")
    places = ", ".join("?" * rows.shape[1])
    plain = rows.astype(object).where(rows.notna(), None)
    database.executemany(f"INSERT INTO rows VALUES ({places})", plain.to_numpy().tolist())
    done = database.execute(query)
    columns = [column[0] for column in done.description]
    out = pd.DataFrame(done.fetchall(), columns=columns)
    database.close()
    return out


def in_duckdb(tree: st.Tree, rows: pd.DataFrame, query: str) -> pd.DataFrame:
    database = duckdb.connect()
    given = rows.copy()
    for name, categories in zip(rows.columns, tree.categories, strict=True):
        if categories and isinstance(categories[0], bool):
            given[name] = rows[name].astype("boolean")
        elif categories and not isinstance(categories[0], str):
            given[name] = rows[name].astype("Int64")
    kinds = ", ".join(
        f'"{name.replace(chr(34), chr(34) * 2)}" {_kind(c)}'
        for name, c in zip(rows.columns, tree.categories, strict=True)
    )
    database.execute(f"CREATE TABLE rows ({kinds})")
    # A double that is NaN stays one here: no NULL.
    database.execute("INSERT INTO rows SELECT * FROM given")
    out = database.execute(query).df()
    database.close()
    return out


def _kind(categories: Any) -> str:
    if categories is None:
        return "DOUBLE"
    first = categories[0]
    return "VARCHAR" if isinstance(first, str) else "BOOLEAN" if first is False else "BIGINT"


def run(tree: st.Tree, rows: pd.DataFrame, folder: Path) -> tuple[Any, Any]:
    path = st.export_tree(tree, path=folder / "tree.sql", dialect="sqlite", table="rows")
    out = in_sqlite(tree, rows, path.read_text())
    np.testing.assert_array_equal(out["leaf"], tree.apply(rows))
    in_duck = probe_rows(tree, len(rows), 1, fresh={"has_car": None})
    # NaN and NULL by turns.
    for name in in_duck.columns[::2]:
        if in_duck[name].dtype.kind == "f":
            in_duck[name] = in_duck[name].astype("Float64")
    found = in_duckdb(tree, in_duck, write(tree, dialect="duckdb", table="rows"))
    np.testing.assert_array_equal(found["leaf"], tree.apply(in_duck))
    if tree.classes is None:
        np.testing.assert_array_equal(found["value"], tree.predict(in_duck))
        return out["value"], None
    np.testing.assert_array_equal(found["label"], tree.predict(in_duck))
    shares = [f"share_{label}" for label in tree.classes]
    np.testing.assert_array_equal(found[shares], tree.predict_proba(in_duck))
    return out["label"], out[shares].to_numpy()


def test_expressions() -> None:
    tree = random_tree(3, kind="multiclass", depth=4)
    rows = probe_rows(tree, 1000, fresh={"has_car": None})
    wanted = {"label": tree.predict(rows), "leaf": tree.apply(rows)}
    for what, expected in wanted.items():
        case = write(tree, dialect="duckdb", what=what)
        found = in_duckdb(tree, rows, f"SELECT {case} AS it FROM rows")["it"]
        np.testing.assert_array_equal(found, expected)
    case = write(tree, dialect="duckdb", what="share", of_class="b")
    found = in_duckdb(tree, rows, f"SELECT {case} AS it FROM rows")["it"]
    np.testing.assert_array_equal(found, tree.predict_proba(rows)[:, 1])
    binary = random_tree(3, depth=2)
    assert write(binary, what="share") == write(binary, what="share", of_class="yes")
    assert write(binary) == write(binary, what="label")


def test_columns_and_prefix() -> None:
    tree = random_tree(2, depth=3)
    rows = probe_rows(tree, 500)
    columns = {name: f"c {k}" for k, name in enumerate(tree.feature_labels)}
    query = write(
        tree,
        dialect="sqlite",
        table="main.rows",
        columns=columns,
        prefix="tree_",
    )
    out = in_sqlite(tree, rows.rename(columns=columns), query)
    new = ["tree_leaf", "tree_label", "tree_share_no", "tree_share_yes"]
    assert list(out.columns) == [*columns.values(), *new]
    np.testing.assert_array_equal(out["tree_label"], tree.predict(rows))


def test_a_table_name_stays_a_name() -> None:
    query = write(random_tree(0), dialect="duckdb", table="rows; DROP TABLE x")
    assert 'FROM "rows; DROP TABLE x" AS "source"' in query


def test_infinite_thresholds_and_values() -> None:
    tree = build_tree(
        Branch(
            feature=0,
            threshold=-np.inf,
            missing_left=False,
            left=Leaf([1.0]),
            right=Branch(
                feature=0, threshold=np.inf, missing_left=False, left=Leaf([2.0]), right=Leaf([3.0])
            ),
        ),
        n_features=1,
        feature_names=("a",),
    )
    rows = pd.DataFrame({"a": [-np.inf, -1e308, 0.0, np.inf, np.nan]})
    assert tree.predict(rows).tolist() == [1, 2, 2, 2, 3]
    for consume, dialect in ((in_sqlite, "sqlite"), (in_duckdb, "duckdb")):
        found = consume(tree, rows, write(tree, dialect=dialect, table="rows"))
        assert found["value"].tolist() == [1, 2, 2, 2, 3]


def test_sqlite_reads_every_threshold_exactly() -> None:
    rng = np.random.default_rng(0)
    values = np.concatenate(
        [
            rng.normal(size=300) * 10.0 ** rng.integers(-8, 9, 300),
            np.round(rng.normal(size=300) * 10.0 ** rng.integers(0, 6, 300), 3),
            rng.normal(size=300) * 10.0 ** rng.integers(-300, 300, 300),
            [5e-324, 1.7976931348623157e308, -2.2250738585072014e-308, 0.1, 50.5],
        ]
    )
    assert sum(map(is_plain_decimal, values)) > 300
    database = sqlite3.connect(":memory:")
    for value in values.tolist():
        tree = build_tree(
            Branch(
                feature=0, threshold=value, missing_left=True, left=Leaf([1.0]), right=Leaf([0.0])
            ),
            n_features=1,
        )
        case = write(tree, dialect="sqlite")
        near = [math.nextafter(value, -math.inf), value, math.nextafter(value, math.inf)]
        said = [database.execute(f"SELECT {case} FROM (SELECT ? AS x0)", (x,)) for x in near]
        found = [cursor.fetchone()[0] for cursor in said]
        assert found == [float(x <= value) for x in near], value
    database.close()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_reads_what_was_written(dialect: str) -> None:
    for tree in (
        nasty_tree(),
        random_tree(4, depth=6, kind="multiclass").replace(
            categories=(None, None, None, tuple("vwxyz"), (1, 2, 3, 10), (False, True))
        ),
    ):
        # BigQuery takes a dot in a name for two names.
        columns = {n: n.replace(".", "_") for n in tree.feature_labels}
        written = write(tree, dialect=dialect, table="rows", columns=columns)
        query = sqlglot.parse_one(written, read=dialect)
        names = {column.name for column in query.find_all(sqlglot.exp.Column)}
        assert {columns[tree.feature_labels[j]] for j in tree.used_features} <= names
        texts = {x.this for x in query.find_all(sqlglot.exp.Literal) if x.is_string}
        texts |= {x.this for x in query.find_all(sqlglot.exp.National)}
        assert texts <= {*NASTY, *"vwxyz", *"abc", "NaN"}
        if tree.classes == (NASTY[4], NASTY[8]):
            assert set(NASTY) <= texts
        assert len(list(query.find_all(sqlglot.exp.Case))) == 1 + 1 + len(tree.classes or ())


def test_what_some_dialects_write() -> None:
    tree = random_tree(4, depth=6).replace(
        categories=(None, None, None, tuple("vwxyz"), (1, 2, 3, 10), (False, True))
    )
    assert 'ISNAN("age")' in write(tree, dialect="duckdb")
    assert "IS_NAN(`age`)" in write(tree, dialect="bigquery")
    postgres = write(tree, dialect="postgres")
    assert "\"age\" = CAST('NaN' AS DOUBLE PRECISION)" in postgres
    assert "e0 AS DOUBLE PRECISION)" in postgres
    assert "NaN" not in write(tree, dialect="mysql")
    assert "N'größe 漢字 😀'" in write(nasty_tree(), dialect="tsql")
    for dialect, car in (("tsql", "[has_car] IN (1)"), ("postgres", '"has_car" IN (TRUE)')):
        boolean = build_tree(
            Branch(
                feature=0,
                left_categories=(1,),
                missing_left=False,
                left=Leaf([0.2, 0.8]),
                right=Leaf([0.9, 0.1]),
            ),
            n_features=1,
            feature_names=("has_car",),
            categories=((False, True),),
            classes=(False, True),
        )
        assert car in write(boolean, dialect=dialect)
    assert "THEN 1" in write(boolean, dialect="tsql")


def test_what_cannot_be_asked_for() -> None:
    tree = random_tree(3, kind="multiclass", depth=4)
    for options, said in (
        ({"dialect": "klingon"}, "expected a dialect of athena"),
        ({"what": "value"}, "expected what= of label, share, leaf"),
        ({"what": "share"}, "expected of_class=, whose share"),
        ({"what": "share", "of_class": "z"}, "expected of_class= of"),
        ({"of_class": "a"}, 'with what="share"'),
        ({"table": "rows", "what": "label"}, "for an expression, got a table"),
        ({"table": "read_csv('x')"}, "expected the name of a table"),
        ({"table": 'a"b'}, "expected the name of a table"),
        ({"table": ""}, "expected the name of a table"),
        ({"table": "rows", "columns": {"age": "label"}}, "expected new column names, got"),
        ({"columns": {"nobody": "x"}}, "expected features of the tree in columns"),
        ({"columns": {"age": "a\0"}}, "that SQL can hold"),
    ):
        with pytest.raises(InputError, match=said.replace("(", r"\(")):
            write(tree, **options)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="one kind in the classes"):
        write(random_tree(5).replace(classes=("a", 1)))
    with pytest.raises(InputError, match=r"that bigquery can hold, got .*columns="):
        write(nasty_tree(), dialect="bigquery")
    with pytest.raises(InputError, match="that Oracle can hold"):
        write(random_tree(1, depth=6), dialect="oracle")


def test_without_sqlglot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sqlglot", None)
    with pytest.raises(MissingDependencyError, match=r"writing SQL.*steadytree\[sql\]"):
        write(random_tree(0))
