"""Tables of the user: read as they were meant, or refused with the line and what settles it."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from steadytree.cli.tables import (
    MISSING,
    UNKNOWN,
    ReadColumn,
    ReadSummary,
    TableFile,
    TableReading,
    as_known,
    check_outcomes,
    guess_task,
    read_column,
    read_rows,
    read_table,
    read_training,
    types_of,
)
from steadytree.exceptions import InputError, SteadyTreeWarning
from steadytree.tree.json import load_tree
from tests.cli.conftest import Files, Run
from tests.cli.table_cases import CASES, REFUSED, Case
from tests.wording import said

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "tables.md"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_becomes_of_a_table(run: Run, tmp_path: Path, case: Case) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(case.content)
    options = ("fit", path, "--target", "y", "--learner", "cart", "--max-leaves", 4)
    result = run(*options)
    assert result.code == (2 if case.outcome == REFUSED else 0), result.err
    said(result.err, f"table: {case.name}")
    if case.fix:
        settled = run(*options, *case.fix)
        assert settled.code == 0, settled.err


def test_the_page_lists_every_case() -> None:
    page = PAGE.read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \| (.*)", page, re.MULTILINE)
    listed = {name: (outcome, rest) for name, outcome, rest in rows if "---" not in name}
    listed.pop("table")
    assert list(listed) == [case.name for case in CASES]
    for case in CASES:
        outcome, rest = listed[case.name]
        assert outcome == case.outcome
        assert not case.fix or case.fix[0] in rest


# -- files -----------------------------------------------------------------------------------------


def parse(text: str, separator: str = ",", folder: Path | None = None) -> TableFile:
    path = (folder or FOLDER) / "t.csv"
    path.write_bytes(text.encode())
    return read_table(path, TableReading(separator=separator))


FOLDER = Path()


@pytest.fixture(autouse=True, scope="module")
def _folder(tmp_path_factory: pytest.TempPathFactory) -> None:
    global FOLDER
    FOLDER = tmp_path_factory.mktemp("tables")


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6)
numbers = st.one_of(
    st.integers(-(2**53), 2**53), st.floats(allow_nan=False, allow_infinity=False, width=64)
)


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[str], list[list[Any]]]:
    width, height = draw(st.integers(2, 5)), draw(st.integers(1, 8))
    names = draw(
        st.lists(texts, min_size=width, max_size=width, unique=True).filter(
            lambda found: all(name.strip() for name in found)
        )
    )
    columns = [
        draw(st.lists(draw(st.sampled_from([texts, numbers])), min_size=height, max_size=height))
        for _ in range(width)
    ]
    return names, [list(row) for row in zip(*columns, strict=True)]


def written(rows: list[list[Any]], separator: str, quoting: Any, ends: str) -> str:
    out = io.StringIO()
    csv.writer(out, delimiter=separator, quoting=quoting, lineterminator=ends).writerows(rows)
    return out.getvalue()


def same(found: Any, cell: Any) -> bool:
    """Whether a cell was read as it was written: text as text, a number as that number."""
    text = cell.strip() if isinstance(cell, str) else repr(cell)
    if text in MISSING:
        return found is None or found != found
    if isinstance(found, str):
        return found == text
    if isinstance(found, (bool, np.bool_)):
        return text.lower() == str(bool(found)).lower()
    return float(found) == float(text)


@given(
    tables(),
    st.sampled_from([",", ";", "\t", "|"]),
    st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL, csv.QUOTE_NONNUMERIC]),
    st.sampled_from(["\n", "\r\n"]),
)
@example((["a", "b"], [["", ""], [1, 2]]), "\t", csv.QUOTE_MINIMAL, "\n")
@example((["a", "1" * 5000], [["x", 1]]), ",", csv.QUOTE_MINIMAL, "\n")
def test_what_is_written_is_read_or_refused(
    table: tuple[list[str], list[list[Any]]], separator: str, quoting: Any, ends: str
) -> None:
    names, rows = table
    if quoting == csv.QUOTE_MINIMAL:  # else its end is that of a line, to anybody
        assume(not any("\r" in str(cell) for row in [names, *rows] for cell in row))
    assume(not names[0].startswith("\ufeff"))
    text = written([names, *rows], separator, quoting, ends)
    try:
        found = parse(text, separator)
    except InputError:
        return
    assert list(found.frame.columns) == names
    assert len(found.frame) == len(rows)
    for j, name in enumerate(names):
        read = found.frame[name].tolist()
        assert all(same(read[i], row[j]) for i, row in enumerate(rows)), (read, rows)


@given(tables(), st.sampled_from([",", ";"]), st.data())
def test_a_row_of_another_length_is_refused(
    table: tuple[list[str], list[list[Any]]], separator: str, data: st.DataObject
) -> None:
    names, rows = table
    at = data.draw(st.integers(0, len(rows) - 1))
    rows[at] = [*rows[at], "more"] if data.draw(st.booleans()) else rows[at][:-1]
    with pytest.raises(InputError):
        parse(written([names, *rows], separator, csv.QUOTE_ALL, "\n"), separator)


def test_rows_know_their_lines() -> None:
    text = 'a,b,c\n1,"x, ""y""\n07",007\n\n2,z,1\r\n"3","",010\n'
    whole = parse(text)
    assert whole.frame.to_dict("list") == {
        "a": [1, 2, 3],
        "b": ['x, "y"\n07', "z", None],
        "c": ["007", "1", "010"],
    }
    assert list(whole.lines) == [2, 5, 6]
    assert whole.places([1]) == "line 5"
    many = parse("a\n" + "1\n" * 9)
    assert many.places(range(1, 9)) == "lines 3, 4, 5 and 5 more"
    stored = FOLDER / "t.parquet"
    whole.frame.to_parquet(stored, index=False)
    assert read_table(stored).places([0, 2]) == "rows 1, 3"
    with pytest.raises(InputError, match="got 2 in line 5"):
        parse(text.replace("2,z,1", "2,z"))


def test_values_take_the_type_that_all_of_them_have() -> None:
    table = parse(
        "a,b,c,d,e,f,g\n1,0.5,07,0,TRUE,,1_0\n10, 2e1 ,1,x,false,,2\n-3,NA,1,1,true,,3\n"
    ).frame
    assert [table[name].dtype.kind for name in "abcdefg"] == ["i", "f", "O", "O", "b", "f", "O"]
    assert table["b"].tolist()[:2] == [0.5, 20.0]
    assert table["c"].tolist() == ["07", "1", "1"]
    assert parse("a,b\n1,true\n2,\n").frame["b"].tolist() == [True, None]
    values = np.random.default_rng(0).normal(size=400) * 10.0 ** np.arange(-100, 100).repeat(2)
    found = parse("x\n" + "\n".join(map(repr, values.tolist())) + "\n").frame["x"]
    assert found.tolist() == values.tolist()


def test_the_user_says_how_text_is_written(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes("größe;n\r1,5;1.5\r2;y\r".encode("latin-1"))
    form = TableReading(separator=";", decimal=",", encoding="latin-1")
    assert read_table(path, form).frame.to_dict("list") == {"größe": [1.5, 2.0], "n": ["1.5", "y"]}
    for encoding in ("ascii", "no-such-encoding"):
        with pytest.raises(InputError, match=f"expected {encoding} in .* --encoding"):
            read_table(path, TableReading(encoding=encoding))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,x\ry\n", "got 1 in line 3"),
        ('"a,b\n1,2\n', "every quote to be closed"),
        ('a,b\n1,"x"y\n', "begins in line 2"),
        ("a,b\n", "rows and columns, got none"),
        ("\n\n", "rows and columns, got none"),
        ("a\tb\n1\t3\n", "say --separator 'tab'"),
        ("a,,b\n1,2,3\n", "got none for column 2; name it"),
    ],
)
def test_what_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse(text)


@pytest.mark.parametrize("name", ["T.CSV", "t.tsv", "t.txt", "t.pq"])
def test_the_name_tells_how_a_table_is_read(tmp_path: Path, name: str) -> None:
    table = pd.DataFrame({"a, b": [1, 2], "3": ["x", "y"]}, index=[7, 8])
    path = tmp_path / name
    if name.endswith("pq"):
        table.to_parquet(path)
    else:
        table.to_csv(path, index=False, sep="\t" if name.endswith(("tsv", "txt")) else ",")
    assert read_table(path).frame.to_dict("list") == table.to_dict("list")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("none.csv", None, "expected a readable table, got No such file or directory"),
        ("folder.csv", b"folder", "expected a readable table, got Is a directory"),
        ("table.xlsx", b"x", "expected a CSV or Parquet file"),
        ("packed.csv.gz", b"x", "unpack it if it is packed"),
        ("broken.parquet", b"PAR1 no", "expected Parquet in"),
        ("only.csv", b"y\n1\n2\n", "got no column besides the target"),
        ("one.csv", b"x,y\n1,no\n2,no\n", "two or more different values, got only 'no'"),
    ],
)
def test_unreadable_tables(
    run: Run, tmp_path: Path, name: str, content: bytes | None, message: str
) -> None:
    path = tmp_path / name
    if content == b"folder":
        path.mkdir()
    elif content is not None:
        path.write_bytes(content)
    result = run("fit", path, "--target", "y")
    assert result.code == 2, result.err
    assert message in result.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--separator", "ab"], "expected one sign as --separator, got 'ab'"),
        (["--separator", '"'], "expected one sign as --separator"),
        (["--types", "age=text"], "expected COLUMN=TYPE as --types"),
        (["--types", "=number"], "expected COLUMN=TYPE as --types"),
        (["--types", "nix=number"], "expected 'nix' (--types) among the columns of"),
        (["--types", "outcome=ignore"], "what 'outcome' can be, which is the outcome, got ignore"),
    ],
)
def test_bad_options(run: Run, files: Files, options: list[str], message: str) -> None:
    result = run("fit", files.old, "--target", "outcome", *options)
    assert result.code == 2
    assert message in result.err
    assert types_of(("a=b=number", "c=category")) == {"a=b": "number", "c": "category"}


# -- columns ---------------------------------------------------------------------------------------


@pytest.fixture
def settle(tmp_path: Path) -> Any:
    def call(
        values: list[Any],
        asked: str | None = None,
        known: Any = UNKNOWN,
        *,
        stored: bool = False,
        outcome: bool = False,
    ) -> ReadColumn:
        frame = pd.DataFrame({"v": values, "w": range(len(values))})
        path = tmp_path / ("t.parquet" if stored else "t.csv")
        frame.to_parquet(path) if stored else frame.to_csv(path, index=False)
        return read_column(read_table(path), "v", asked, known, outcome=outcome)

    return call


def test_the_user_settles_it(settle: Any) -> None:
    values = ["1", "2.0", "x", None, "3"]
    as_number = settle(values, "number")
    assert as_number.values.tolist()[:3] == pytest.approx([1, 2, np.nan], nan_ok=True)
    assert as_number.note == "missing where it says 'x'"
    assert settle(values, "category").values.tolist()[:3] == ["1", "2.0", "x"]
    assert settle([1.0, 2.5, None], "category").values.tolist()[:2] == ["1", "2.5"]
    assert settle(["007", "7", "7"], "category").values.tolist() == ["007", "7", "7"]
    assert settle(["007", "7", "7"], "number").values.tolist() == [7, 7, 7]
    assert settle([True, False], "number").values.tolist() == [1, 0]
    assert settle([2**60, 2], "number").type == "number"
    with pytest.raises(InputError, match=r"expected numbers .* got 'a' \(line 2\), 'b'"):
        settle(["a", "b"], "number")


def test_numbers_stored_as_text_stay_categories(settle: Any) -> None:
    found = settle(["1", "2", "1"], stored=True)
    assert (found.type, found.note) == ("category", "numbers stored as text")
    with pytest.raises(InputError, match=r"numbers but for '\?' \(row 2\)"):
        settle(["1", "?", "3"], stored=True)


def test_a_number_of_the_tree(settle: Any) -> None:
    assert settle(["1", " ", "3"], known=None).values.tolist()[::2] == [1, 3]
    assert settle(["007", "8"], known=None).values.tolist() == [7, 8]
    assert settle([True, False], known=None).values.tolist() == [1, 0]
    with pytest.raises(InputError, match=r"got 'n/a\?' \(line 3\); correct them, or say --types"):
        settle(["1", "n/a?", "3"], known=None)
    found = settle(["1", "n/a?", "3"], "number", None)
    assert found.values.isna().tolist() == [False, True, False]
    with pytest.raises(InputError, match="which is a number to the tree, got category"):
        settle(["1", "2"], "category", None)
    with pytest.raises(InputError, match=r"finite numbers .* 'v' .* got inf \(line 3\)"):
        settle(["1", "inf"], known=None)
    assert settle([1, 1e300], known=None).values.max() == 1e300
    with pytest.raises(InputError, match=r"finite numbers .* got inf \(line 3\)"):
        settle(["1", "1" * 400], "number")
    with pytest.raises(InputError, match=r"numbers up to 3.4e\+38 in column 'v'"):
        settle([1, 1e300], known=None, outcome=True)


@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize(
    ("values", "known"),
    [([1, 2, 1], ("1", "2")), ([1.0, 2.0, None], ("1", "2")), (["1", "2", "1"], (1, 2))],
)
def test_a_category_of_the_tree(
    settle: Any, stored: bool, values: list[Any], known: tuple[Any, ...]
) -> None:
    found = settle(values, known=known, stored=stored).values.dropna().tolist()
    assert set(found) == set(known)
    assert {type(v) for v in found} == {type(known[0])}


def test_other_numbers_are_no_categories_of_the_tree(settle: Any) -> None:
    with pytest.raises(InputError, match=r"categories such as 'a', 'b' .* got numbers such as 1.5"):
        settle([1.5, 2.5], known=("a", "b"))
    assert settle([" a", "b ", "c"], known=("a", " b")).values.tolist() == ["a", " b", "c"]


@pytest.mark.parametrize(
    ("values", "known", "expected"),
    [
        ([1, 2.0, 3], ("1", "2"), ["1", "2", "3"]),
        (["1", "2.0", "x"], (1, 2), [1, 2, "x"]),
        (["01", "1"], ("01", "1"), ["01", "1"]),
        (["TRUE", "no"], (False, True), [True, "no"]),
        ([True, False], ("False", "True"), ["True", "False"]),
        ([1.5], ("a",), ["1.5"]),
    ],
)
def test_values_take_the_form_of_those_known(
    values: list[Any], known: tuple[Any, ...], expected: list[Any]
) -> None:
    found = as_known(values, known)
    assert found == expected
    assert [type(v) for v in found] == [type(v) for v in expected]


# -- rows, and what a tree knows of them -----------------------------------------------------------


def test_columns_with_a_role_are_no_predictors(files: Files) -> None:
    rows = read_rows(files.old, "outcome", time="year", group="patient", drop=["clinic"])
    assert list(rows.X) == ["radius", "texture", "smoothness", "concavity", "points", "size"]
    assert set(rows.y) == {"benign", "malignant"}
    assert rows.time[[0, -1]].tolist() == [2015, 2019]
    assert rows.groups[:4].tolist() == ["0", "0", "1", "1"]
    assert rows.column("clinic")[1] == "clinic 1"  # for subgroups every column remains


def test_a_tree_names_its_own_predictors(files: Files, tmp_path: Path) -> None:
    tree = load_tree(files.tree)
    rows = read_rows(files.new, None, tree=tree)
    assert tuple(rows.X) == tree.feature_names
    more = read_rows(files.new, "outcome", tree=tree, group="patient", to_retrain=True)
    assert (*(tree.feature_names or ()), "clinic", "year") == tuple(more.X)
    assert (rows.y.size, rows.time, rows.groups) == (0, None, None)
    # Only the columns that its rules use are required.
    tree = tree.truncate(1)
    (used,) = (tree.feature_labels[j] for j in tree.used_features)
    path = tmp_path / "few.csv"
    pd.read_csv(files.new)[[used, "outcome"]].to_csv(path, index=False)
    few = read_rows(path, "outcome", tree=tree)
    assert list(few.X) == [used]
    assert tree.predict(few.X).tolist() == tree.predict(rows.X).tolist()
    pd.read_csv(files.new)[["outcome", "clinic"]].to_csv(path, index=False)
    with pytest.raises(InputError, match=f"'{used}' .which the tree uses. among the columns"):
        read_rows(path, "outcome", tree=tree)


def test_dates_are_times(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("x,y,day\n1,0,2024-05-31\n2,1,2023-12-01\n3,1,2024-06-01\n")
    assert np.argsort(read_rows(path, "y", time="day").time).tolist() == [1, 0, 2]
    path.write_text("x,y,day\n1,0,2024-05-31\n2,1,\n")
    with pytest.raises(InputError, match="in every row of 'day', got: 1 missing"):
        read_rows(path, "y", time="day")
    path.write_text("x,y,day\n1,0,soon\n2,1,later\n")
    with pytest.raises(InputError, match="dates such as 2024-05-31 in every row of 'day', got: "):
        read_rows(path, "y", time="day")


@pytest.mark.parametrize(("kind", "expected"), [("Int64", np.int64), ("boolean", np.bool_)])
def test_outcomes_keep_their_type(run: Run, tmp_path: Path, kind: str, expected: type) -> None:
    x = np.linspace(0, 1, 40)
    table = pd.DataFrame({"x": x, "y": pd.array((x > 0.5).astype(int), dtype="Int64").astype(kind)})
    path = tmp_path / "t.parquet"
    table.to_parquet(path)
    assert read_rows(path, "y").y.dtype == expected
    result = run("fit", path, "--target", "y", "--learner", "cart", "--out", tmp_path, "-q")
    assert result.code == 0, result.err
    classes = load_tree(tmp_path / "tree.json").classes
    assert [type(c) for c in classes or ()] == [type(expected(1).item())] * 2


def test_old_and_new_rows_are_read_alike(run: Run, files: Files, tmp_path: Path) -> None:
    for name in ("old", "new"):
        table = pd.read_csv(getattr(files, name)).astype({"texture": object})
        table.loc[3, "texture"] = "n/a?"
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    rest = ("--target", "outcome", "--learner", "cart", "--drop", "clinic", "--drop", "patient")
    settled = ("--types", "texture=number")
    first = run("fit", tmp_path / "old.csv", *rest, *settled, "--out", tmp_path / "m", "-q")
    assert first.code == 0, first.err
    tree = load_tree(tmp_path / "m" / "tree.json")
    assert tree.categories[1] is None
    retrain = ("retrain", tmp_path / "new.csv", "--deployed", tmp_path / "m" / "tree.json")
    retrain = (*retrain, "--target", "outcome", "--old", tmp_path / "old.csv")
    refused = run(*retrain)
    assert refused.code == 2
    assert "expected numbers in column 'texture'" in refused.err
    assert "got 'n/a?' (line 5)" in refused.err
    assert run(*retrain, *settled, "--trees", 5, "--folds", 0).code == 0
    used = min(tree.feature_labels[j] for j in tree.used_features)
    ignored = run(*retrain, *settled, "--types", f"{used}=ignore")
    assert "which is a number to the tree, got ignore" in ignored.err


@pytest.mark.parametrize(
    "present", [1, *(pytest.param(count, marks=pytest.mark.slow) for count in (0, 2))]
)
@pytest.mark.parametrize("kind", ["number", "category"])
def test_a_column_that_is_almost_empty(
    run: Run, files: Files, tmp_path: Path, kind: str, present: int
) -> None:
    """No value, or one or two, may be left in a fold, a bootstrap or a file: nothing fails."""
    paths = []
    for name in ("old", "new"):
        table = pd.read_csv(getattr(files, name))[["radius", "texture", "outcome"]][:120]
        values = np.full(len(table), None, dtype=object)
        values[[30, 90][:present]] = [1.5, 2.5][:present] if kind == "number" else "a"
        paths.append(tmp_path / f"{name}.csv")
        table.assign(rare=values).to_csv(paths[-1], index=False)
    target = ("--target", "outcome")
    for learner in (("cart",), ("distilled",), ("stable", "--bootstraps", 2)):
        options = ("--learner", *learner, *target, "--out", tmp_path / learner[0])
        assert run("fit", paths[0], *options).code == 0
    deployed = ("--deployed", tmp_path / "distilled" / "tree.json", *target, "--old", paths[0])
    assert run("retrain", paths[1], *deployed, "--trees", 5, "--folds", 3).code == 0
    assert run("assess", paths[1], *target, "--learner", "cart", "--resamples", 3).code == 0


# -- outcomes --------------------------------------------------------------------------------------


def test_the_task_is_told_from_the_target(files: Files) -> None:
    assert read_training(files.old, "outcome", "auto")[1] == "classification"
    assert read_training(files.regression, "progress", "auto")[1] == "regression"
    assert guess_task(np.array([0.0, 1.0]), "auto") == "classification"
    assert guess_task(np.array([0.0, 1.0]), "regression") == "regression"
    many = np.array([f"c{i % 21}" for i in range(500)], dtype=object)
    for y, got in ((np.arange(21), "21 different whole numbers"), (many, "21 different texts")):
        with pytest.raises(InputError, match=f"at most 20 classes.* got {got}"):
            guess_task(y, "auto")
    check_outcomes(many, "classification", files.old, "y")


def test_outcomes_that_nothing_can_be_learned_about() -> None:
    file = Path("t.csv")
    for y in (np.array([f"p{i}" for i in range(40)], dtype=object), np.arange(40)):
        with pytest.raises(InputError, match=r"'y' of t\.csv, got 40 different values in 40"):
            check_outcomes(y, "classification", file, "y")
    check_outcomes(np.arange(40), "regression", file, "y")
    with pytest.raises(InputError, match=r"numbers in the target 'y' of t\.csv with --task"):
        check_outcomes(np.array(["a", "b"] * 9, dtype=object), "regression", file, "y")
    y = np.array(["a"] * 9 + ["b"] * 9 + ["c", "d"], dtype=object)
    with pytest.warns(SteadyTreeWarning, match="one row only of 'c', 'd' in the target 'y'"):
        check_outcomes(y, "classification", file, "y")


# -- what was read ---------------------------------------------------------------------------------


def test_every_command_says_what_it_read(run: Run, files: Files) -> None:
    options = ("fit", files.old, "--target", "outcome", "--learner", "cart", "--drop", "clinic")
    result = run(*options, "--time", "year", "--types", "patient=ignore", "--json")
    assert result.code == 0, result.err
    for line in (
        "read old.csv: 280 rows; columns: 5 number, 1 category, 3 ignored",
        "  target outcome: benign 138, malignant 142",
        "  texture: number, 11 % missing",
        "  size: category (3)",
        "  clinic: ignored, --drop",
        "  patient: ignored, --types",
    ):
        assert line in result.err.splitlines()
    read = result.document["read"]
    assert read["rows"] == 280
    assert read["target"] == {"name": "outcome", "classes": {"benign": 138, "malignant": 142}}
    texture = {"name": "texture", "type": "number", "categories": None, "note": None}
    assert read["columns"][1] == {**texture, "missing": 32 / 280}
    assert run(*options, "-q").err == ""
    old = ("--deployed", files.tree, "--old", files.old, "--trees", 5, "--folds", 0)
    again = run("retrain", files.new, "--target", "outcome", *old, "--json")
    assert [Path(part["file"]).name for part in again.document["read"]] == ["new.csv", "old.csv"]
    assert "  clinic: ignored, not in the tree\n" in again.err


def test_the_summary_of_what_was_read() -> None:
    y = np.array(["no"] * 90 + ["yes"] * 7 + ["perhaps"] * 3)
    values = pd.Series([None, *[1.0] * 99])
    column = ReadColumn("x", "number", values)
    assert column.to_text() == "x: number, 1.0 % missing"
    odd = ReadColumn("a\n::error::x\x1b[2J", "number", values, note="say \x1b[0m")
    columns = [odd, column, *(ReadColumn(f"x{i}", "number", values) for i in range(97))]
    summary = ReadSummary(Path("t.csv"), 100, columns, dropped=3)
    summary = summary.with_target("y", y, regression=False)
    short, whole = summary.to_text().splitlines(), summary.to_text(everything=True).splitlines()
    assert "target y: no 90, perhaps 3, yes 7" in short
    assert "3 rows without an outcome were left out" in short
    assert short[-1] == "and 69 more columns (-v shows them)"
    assert len(whole) == 3 + 99
    assert "\x1b" not in summary.to_text()
