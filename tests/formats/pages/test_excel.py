"""Formulas and workbooks, computed by LibreOffice: every row as the tree says."""

from __future__ import annotations

import csv
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pandas as pd
import pytest

import steadytree as st
from steadytree.exceptions import InputError, MissingDependencyError
from steadytree.formats.pages.excel import path_words
from steadytree.tree.branches import build_tree
from steadytree.tree.nested import Branch, Leaf, Node
from tests.foreign import probe_rows, random_tree
from tests.formats.odd_trees import MARKED_CATEGORIES, MARKED_CLASSES, chain, marked_tree
from tests.programs import require_program

FILTER = "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,false"
SEEDS = (0, 1)  # LibreOffice takes seconds for a tree of 10,000 rows
HEAD = 3  # line of the names in a workbook of ours
Table = list[list[str]]


# -- the consumer ----------------------------------------------------------------------


@cache
def profile() -> str:
    """A profile of its own, so that several runs do not wait for one another."""
    return f"file://{tempfile.mkdtemp(prefix='steadytree-office-')}"


def computed(paths: Sequence[Path], folder: Path) -> list[Table]:
    """Let LibreOffice compute workbooks, all in one start, and return their cells."""
    office = require_program("soffice", package="libreoffice-calc-nogui")
    command = [office, "--headless", f"-env:UserInstallation={profile()}"]
    command += ["--convert-to", FILTER, "--outdir", str(folder), *map(str, paths)]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    out = []
    for path in paths:
        with (folder / f"{path.stem}.csv").open(encoding="utf-8", newline="") as file:
            out.append(list(csv.reader(file)))
    return out


def outcomes(tree: st.Tree, table: Table, n: int) -> tuple[Any, Any]:
    """Labels or responses, and shares, of the rows of a workbook of ours."""
    first = 1 + len(tree.used_features)
    lines = table[HEAD + 1 : HEAD + 1 + n]
    if tree.classes is None:
        return np.array([float(line[first]) for line in lines]), None
    shares = [[float(v) for v in line[first + 1 :][: len(tree.classes)]] for line in lines]
    return np.array([line[first] for line in lines]), np.array(shares)


def run_all(cases: Sequence[tuple[st.Tree, pd.DataFrame]], folder: Path) -> list[tuple[Any, Any]]:
    paths = [
        st.export_tree(tree, path=folder / f"book{i}.xlsx", cases=rows)
        for i, (tree, rows) in enumerate(cases)
    ]
    tables = computed(paths, folder)
    return [
        outcomes(tree, table, len(rows)) for (tree, rows), table in zip(cases, tables, strict=True)
    ]


# -- workbooks that are made and computed once, for all tests below -----------------------


def filled(tree: st.Tree, rows: pd.DataFrame, formulas: dict[str, str], path: Path) -> Path:
    """Make a plain sheet: the features from A2 on as the formula expects them, formulas after."""
    book = openpyxl.Workbook()
    sheet: Any = book.active
    for j in range(tree.n_features):
        for row, value in enumerate(rows.iloc[:, j].tolist(), 2):
            if value is None or value != value:
                continue
            cell = sheet.cell(row, j + 1)
            if isinstance(value, str):
                cell.value, cell.data_type = (value, "s") if value else ('=""', "f")
            elif isinstance(value, bool):
                cell.value = value
            else:  # as many digits as it has; openpyxl itself would write 16
                cell.value, cell.data_type = repr(value), "n"
    for column, (name, formula) in enumerate(formulas.items(), tree.n_features + 1):
        sheet.cell(1, column).value = name
        for row in range(2, len(rows) + 2):
            sheet.cell(row, column).value = re.sub(r"\b([A-F])2\b", rf"\g<1>{row}", formula)
    book.save(path)
    return path


def many_categories() -> st.Tree:
    texts = tuple(f"category {i}" for i in range(3000))
    numbers = tuple([float(i) for i in range(500)] + [i + 0.1 for i in range(100)])
    root = Branch(
        feature=0,
        left=Leaf([1.0]),
        right=Branch(
            feature=1,
            left=Leaf([2.0]),
            right=Leaf([3.0]),
            left_categories=tuple(range(0, 600, 2)),
            missing_left=True,
            unseen_left=False,
        ),
        left_categories=tuple(range(0, 3000, 3)),
        missing_left=False,
        unseen_left=True,
    )
    return build_tree(
        root, n_features=2, feature_names=("text", "number"), categories=(texts, numbers)
    )


def extreme() -> st.Tree:
    """Thresholds at the ends of what a cell holds, on one feature."""
    node: Node = Leaf([0.0])
    for at, threshold in enumerate((-5e-324, 0.0, 1.5e-35, 3e300, 1.7e308, np.inf), 1):
        node = Branch(
            feature=0, threshold=threshold, left=node, right=Leaf([float(at)]), missing_left=False
        )
    return build_tree(node, n_features=1, feature_names=("x",))


EXTREME = (-1.7e308, -1e-300, -2.3e-308, 0.0, 2.3e-308, 1e-35, 1.5e-35, 1.7e300, 3e300, 1.75e308)
EXTREME_ROWS = pd.DataFrame({"x": [*EXTREME, *np.nextafter(EXTREME[5:9], np.inf), np.nan]})


def chain_rows(tree: st.Tree) -> pd.DataFrame:
    """Rows that end at every depth of a chain."""
    rng = np.random.default_rng(0)
    values = rng.uniform(-1, 2 * tree.depth, size=(300, 2)).round(1)
    values[rng.random(values.shape) < 0.03] = np.nan
    return pd.DataFrame(values, columns=["a", "b"])


BOOKS: dict[str, Callable[[], tuple[st.Tree, pd.DataFrame]]] = {
    "deep": lambda: (tree := chain(200), chain_rows(tree)),
    "wide": lambda: (tree := random_tree(3, depth=9, kind="regression"), probe_rows(tree, 500)),
    "categories": lambda: (tree := many_categories(), probe_rows(tree, 200)),
    "marked": lambda: (tree := marked_tree(), probe_rows(tree, 200)),
    "extreme": lambda: (extreme(), EXTREME_ROWS),
    "leaf": lambda: (
        build_tree(Leaf([0.2, 0.8]), n_features=1, classes=(False, True)),
        pd.DataFrame({"x0": [1.0, 2.0]}),
    ),
}
FORMULAS = ("binary", "multiclass", "regression")
ODD = ("12", "twelve", "", "=NA()", True)  # where a number is expected


def formula_case(kind: str) -> tuple[st.Tree, pd.DataFrame, dict[str, str]]:
    tree = random_tree(11, kind=kind, precision=("float64", "float32")[kind == "binary"])
    options: dict[str, dict[str, Any]] = {
        "binary": {"label": {}, "share": {"what": "share"}},
        "multiclass": {"share": {"what": "share", "of": "a"}},
        "regression": {"value": {}},
    }
    formulas = {
        name: st.export_tree(tree, "excel", **given) for name, given in options[kind].items()
    }
    return tree, probe_rows(tree, 10_000, 11), formulas


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Table]:
    """Every workbook of this module, computed in one start of LibreOffice."""
    folder = tmp_path_factory.mktemp("books")
    paths = []
    for name, make in BOOKS.items():
        tree, rows = make()
        paths.append(st.export_tree(tree, path=folder / f"{name}.xlsx", cases=rows, rows=1))
    for kind in FORMULAS:
        paths.append(filled(*formula_case(kind), folder / f"formula-{kind}.xlsx"))
    odd = build_tree(
        Branch(feature=0, threshold=5.0, left=Leaf([1.0]), right=Leaf([2.0]), missing_left=True),
        n_features=1,
    )
    book = openpyxl.Workbook()
    sheet: Any = book.active
    for row, value in enumerate(ODD, 1):
        sheet.cell(row, 1).value = value if value != "" else '=""'
        formula = st.export_tree(odd, "excel", cells={"x0": f"A{row}"})
        sheet.cell(row, 2).value = formula
    book.save(folder / "odd.xlsx")
    paths.append(folder / "odd.xlsx")
    found = computed(paths, folder)
    return {path.stem: table for path, table in zip(paths, found, strict=True)}


# -- what they show ------------------------------------------------------------------------


@pytest.mark.parametrize("name", BOOKS)
def test_workbooks_of_every_shape_decide_as_the_tree(name: str, tables: dict[str, Table]) -> None:
    tree, rows = BOOKS[name]()
    found, shares = outcomes(tree, tables[name], len(rows))
    if tree.classes == (False, True):
        found = found == "TRUE"
    expected = tree.predict(rows)
    if tree.is_classifier:
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_allclose(shares, tree.predict_proba(rows), atol=1e-14)
    else:
        np.testing.assert_allclose(found, expected, rtol=1e-14)
    if name != "leaf":
        assert len(set(expected.tolist())) > 1


def test_a_row_says_its_rule_and_its_path(tables: dict[str, Table]) -> None:
    tree, rows = BOOKS["wide"]()
    head, *lines = tables["wide"][HEAD : HEAD + 1 + len(rows)]
    rule, path = head.index("Rule"), head.index("Path")
    words = path_words(tree)
    for line, leaf in zip(lines, tree.apply(rows).tolist(), strict=True):
        assert tree.leaves[int(line[rule]) - 1] == leaf
        assert line[path] == words[leaf]


@pytest.mark.parametrize("kind", FORMULAS)
def test_one_formula_decides_as_the_tree(kind: str, tables: dict[str, Table]) -> None:
    tree, rows, formulas = formula_case(kind)
    assert all(len(formula) < 8192 for formula in formulas.values())
    head, *lines = tables[f"formula-{kind}"]
    found = {name: [line[head.index(name)] for line in lines] for name in formulas}
    assert len(lines) == 10_000
    if kind == "regression":
        numbers = [float(v) for v in found["value"]]
        np.testing.assert_allclose(numbers, tree.predict(rows), rtol=1e-14)
        return
    if "label" in found:
        np.testing.assert_array_equal(found["label"], tree.predict(rows))
    # Of the positive class, or of the one asked for.
    shares = tree.predict_proba(rows)[:, 1 if kind == "binary" else 0]
    np.testing.assert_allclose([float(v) for v in found["share"]], shares, rtol=1e-14)


def test_text_and_errors_are_no_numbers(tables: dict[str, Table]) -> None:
    number, text, empty, error, flag = (line[1] for line in tables["odd"])
    assert number == "2"
    assert text == "#VALUE!"
    assert empty == "1"  # missing
    assert error == "#N/A"
    assert flag == "1"


def test_long_trees_are_divided_and_short_ones_are_not(tmp_path: Path) -> None:
    for tree, several in ((chain(200), True), (random_tree(1), False)):
        sheet = openpyxl.load_workbook(
            st.export_tree(tree, path=tmp_path / "t.xlsx", rows=1)
        ).active
        assert sheet is not None
        formulas = [c.value for c in sheet[5] if c.data_type == "f"]
        assert max(len(text) for text in formulas) < 8192
        levels = [text.count("IF(IF(") for text in formulas]
        assert (sum(level > 0 for level in levels) > 1) == several
        # A question is two levels more, what is around it one.
        assert max(levels) + 6 <= 64


def test_the_sheet_is_for_people(tmp_path: Path) -> None:
    book = openpyxl.load_workbook(st.export_tree(marked_tree(), path=tmp_path / "t.xlsx", rows=10))
    assert book.sheetnames == ["Tree"]
    sheet: Any = book.active
    names = [cell.value for cell in sheet[4]]
    assert names[:3] == ["Case", 'a"b\\N|c <b>&amp;</b> `x` #quot; %% [*_$]; =1+1', "@sum"]
    assert "3 rules" in sheet["A1"].value
    [offered] = sheet.data_validations.dataValidation
    assert str(offered.sqref) == "B5:B14"
    # Values that the tree never met may be typed.
    assert not offered.showErrorMessage
    first, last = re.findall(r"\$([A-Z]+)\$(\d+)", offered.formula1)
    listed = [sheet[f"{first[0]}{row}"] for row in range(int(first[1]), int(last[1]) + 1)]
    assert tuple(cell.value for cell in listed) == MARKED_CATEGORIES
    assert sheet.column_dimensions[first[0]].hidden
    # Whatever it begins with, it is text.
    assert {cell.data_type for cell in listed} == {"s"}
    assert listed[0].quotePrefix
    assert sheet["B5"].parent.column_dimensions["B"].number_format == "@"


def test_a_path_names_all_values_that_go_it() -> None:
    def by_colour(codes: tuple[int, ...], left: Node, right: Node, **where: bool) -> Branch:
        return Branch(feature=0, left=left, right=right, left_categories=codes, **where)

    number = Branch(
        feature=1, threshold=2.5, left=Leaf([3.0]), right=Leaf([4.0]), missing_left=True
    )
    inner = by_colour((0,), Leaf([1.0]), Leaf([2.0]), missing_left=True, unseen_left=True)
    outer = by_colour((0, 1), inner, number, missing_left=True, unseen_left=False)
    tree = build_tree(
        outer,
        n_features=2,
        feature_names=("colour", "size"),
        categories=(("red", "blue", "green"), None),
    )
    # What has gone another way before is not named again.
    assert [path_words(tree)[leaf] for leaf in tree.leaves.tolist()] == [
        "(colour is red or blue or missing) and (colour is red or missing)",
        "(colour is red or blue or missing) and colour is blue",
        "(colour is green or never met) and (size <= 2.5 or missing)",
        "(colour is green or never met) and size > 2.5",
    ]


def test_thresholds_keep_every_digit(tmp_path: Path) -> None:
    tree = random_tree(5, categorical=False)
    path = st.export_tree(tree, path=tmp_path / "t.xlsx", rows=1)
    shutil.unpack_archive(path, tmp_path / "parts", "zip")
    text = (tmp_path / "parts" / "xl" / "worksheets" / "sheet1.xml").read_text(encoding="utf-8")
    numbers = {float(v) for v in re.findall(r"<v>([^<]+)</v>", text)}
    finite = tree.threshold[np.isfinite(tree.threshold)]
    assert set(finite.tolist()) <= numbers
    assert set(tree.value[tree.leaves].ravel().tolist()) <= numbers


def test_cells_can_be_named() -> None:
    tree = random_tree(1, depth=2, names=("age",), kind="regression")
    formula = st.export_tree(tree, "excel", cells={"age": "'My data'!$C$7"})
    assert "'My data'!$C$7" in formula
    assert "A2" not in formula
    assert "[@age]" in st.export_tree(tree, "excel", cells={"age": "[@age]"})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cells": {"agee": "A1"}}, "expected features in cells=, got ['agee']"),
        ({"cells": {"age": 'A1&CALL("x")'}}, "expected a cell such as 'C2'"),
        ({"what": "value"}, "expected what='label' or 'share' for a classification tree"),
        ({"what": "share", "of": "maybe"}, "expected of= one of the classes ['no', 'yes']"),
        ({"workbook": True, "rows": 0}, "expected rows from 1 to"),
        ({"size": 3}, "expected options of 'excel'"),
    ],
)
def test_options_are_checked(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        st.export_tree(random_tree(1), "excel", **options)


def test_what_does_not_fit_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"fits one formula of 8,192 characters.*tree\.xlsx"):
        st.export_tree(chain(100), "excel")
    tree = many_categories()
    tree = tree.replace(categories=(tree.categories[0], (0.1 + 0.2, *range(1, 600))))
    with pytest.raises(InputError, match="at most 15 digits in a formula"):
        st.export_tree(tree, "excel")
    with pytest.raises(InputError, match="expected what='value' for a regression tree"):
        st.export_tree(chain(2), "excel", what="label")
    with pytest.raises(InputError, match="expected of= one of the classes"):
        st.export_tree(random_tree(1, kind="multiclass"), "excel", what="share")
    tiny = Branch(
        feature=0, threshold=1e-300, left=Leaf([1.0]), right=Leaf([2.0]), missing_left=True
    )
    with pytest.raises(InputError, match="tell from zero, got 1e-300"):
        st.export_tree(build_tree(tiny, n_features=1), "excel")
    tree = random_tree(1)
    with pytest.raises(InputError, match="values of 'age' that a cell can hold, got inf"):
        st.export_tree(
            tree, "excel", tmp_path / "t.xlsx", cases=probe_rows(tree, 3).assign(age=np.inf)
        )
    assert not (tmp_path / "t.xlsx").exists()
    for label in ("a\x07", "_x0041_", 2**53 + 1):
        with pytest.raises(InputError, match="expected classes that a cell can hold"):
            st.export_tree(tree.replace(classes=("no", label)), "excel", workbook=True)


def test_a_formula_goes_to_a_file_of_another_name(tmp_path: Path) -> None:
    tree = marked_tree()
    path = st.export_tree(tree, "excel", tmp_path / "formula.txt")
    assert path.read_text(encoding="utf-8") == st.export_tree(tree, "excel")
    assert f'"{MARKED_CLASSES[0]}"'.replace('"]', '""]') in st.export_tree(tree, "excel")


def test_without_openpyxl_the_formula_is_there_and_the_workbook_says_what_it_needs() -> None:
    code = (
        "import sys; sys.modules['openpyxl'] = None\n"
        "from tests.foreign import random_tree\n"
        "from steadytree.exceptions import MissingDependencyError\n"
        "from steadytree import export_tree\n"
        "assert export_tree(random_tree(1), 'excel').startswith('=IF(')\n"
        "try:\n    export_tree(random_tree(1), 'excel', workbook=True)\n"
        "except MissingDependencyError as error:\n    print(error)\n"
    )
    root = Path(__file__).parents[3]
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=root,
        check=True,
        env={**os.environ},
    )
    assert "pip install 'steadytree[excel]'" in done.stdout
    assert issubclass(MissingDependencyError, ImportError)
