"""A tree in a spreadsheet: one formula to paste, or a workbook of one sheet to type rows into.

The workbook keeps every number and text of the tree in cells, where all their digits count; a
formula per row finds the rule, and everything else is looked up in the table of rules beside it.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from steadytree.formats.pages.excel_formulas import (
    CELL_CHARACTERS,
    Terms,
    check_constant,
    decide,
    number_literal,
    value_literal,
)
from steadytree.plugins import (
    FORMULA,
    InputError,
    LeafNumbers,
    Tree,
    as_table,
    branch_texts,
    clean,
    column_values,
    display_space,
    find_columns,
    import_optional,
    n_rows,
    plain_scalar,
    quoted,
    shorten,
    shown_class,
    write_atomic,
)

SUFFIXES = (".xlsx",)
MOST_ROWS, MOST_COLUMNS = 1_048_576, 16_384
ROWS = 1000
HEAD, FIRST = 4, 5  # rows of the sheet: the names, and the first case
PIECE = 6000  # characters of a formula, well below what Excel takes
ROW = "\0" * 7  # stands for the number of the row, as long as the longest
_CELL = re.compile(r"(?:(?:'(?:[^']|'')+'|[A-Za-z_][\w.]*)!)?\$?[A-Za-z]{1,3}\$?[1-9]\d{0,6}")
_TABLE_COLUMN = re.compile(r"\[@(?:[^\[\]'#@]+|\[[^\[\]'#@]+\])\]")


def write(
    tree: Tree,
    *,
    workbook: bool = False,
    what: str | None = None,
    of: Any = None,
    cells: Mapping[str, str] | None = None,
    rows: int = ROWS,
    cases: Any = None,
) -> str | bytes:
    """Return the tree as one Excel formula, or as a workbook.

    Parameters
    ----------
    tree : Tree
    workbook : bool, default False
        Return the bytes of a workbook; files that end in ``.xlsx`` are workbooks anyway.
    what : {"label", "share", "value"}, optional
        What the formula returns: the decision, the share of a class or the response; by
        default the decision, or in regression the response.
    of : optional
        The class whose share it is; by default the positive one of two.
    cells : mapping, optional
        Where the formula finds each feature: ``{"age": "C2"}``, ``"Data!C2"`` or
        ``"[@age]"``. By default A2, B2, ... in the order of the features.
    rows : int, default 1000
        Rows of the workbook that are ready for cases.
    cases : table, optional
        Rows to fill into the workbook.

    Returns
    -------
    str or bytes
    """
    if workbook:
        return _workbook(tree, rows, cases)
    outcome = _outcome(tree, what, of)
    terms = Terms(tree, _cells(tree, cells))
    return "=" + decide(tree, terms, lambda leaf: outcome[leaf], most=10**9)


def write_file(tree: Tree, path: Path, **options: Any) -> Path:
    """Write a workbook, or the formula into a file of another suffix."""
    if path.suffix.lower() in SUFFIXES:
        options["workbook"] = True
    return write_atomic(path, write(tree, **options))


# -- one formula -----------------------------------------------------------------------


def _outcome(tree: Tree, what: str | None, of: Any) -> dict[int, str]:
    """Return what each leaf is to say, as a formula writes it."""
    what = what or ("label" if tree.is_classifier else "value")
    allowed = ("label", "share") if tree.is_classifier else ("value",)
    if what not in allowed:
        kind = "a classification tree" if tree.is_classifier else "a regression tree"
        raise InputError(
            f"expected what={' or '.join(map(repr, allowed))} for {kind}, got {what!r}"
        )
    leaves = tree.leaves.tolist()
    if tree.classes is None:
        return {leaf: number_literal(tree.value[leaf, 0]) for leaf in leaves}
    if what == "label":
        return {leaf: value_literal(tree.classes[int(tree.label[leaf])]) for leaf in leaves}
    if of is None and len(tree.classes) != 2:
        raise InputError(
            f"expected of= one of "
            f"the classes {quoted(list(tree.classes))} for their share, got none"
        )
    if of is not None and of not in tree.classes:
        raise InputError(
            f"expected of= one of the classes {quoted(list(tree.classes))}, got {of!r}"
        )
    at = shown_class(tree, 0) if of is None else tree.classes.index(of)
    return {leaf: number_literal(tree.value[leaf, at]) for leaf in leaves}


def _cells(tree: Tree, given: Mapping[str, str] | None) -> dict[int, str]:
    """Return where each feature stands."""
    names = tree.feature_labels
    given = dict(given or {})
    if unknown := [name for name in given if name not in names]:
        raise InputError(
            f"expected features in cells=, got {quoted(unknown)}; they are {quoted(list(names))}"
        )
    for name, cell in given.items():
        if not (_CELL.fullmatch(cell) or _TABLE_COLUMN.fullmatch(cell)):
            raise InputError(
                f"expected a cell such as 'C2', 'Data!C2' or '[@age]' for {name!r}, got {cell!r}"
            )
    return {j: given.get(name, f"{_letters(j + 1)}2") for j, name in enumerate(names)}


def _letters(column: int) -> str:
    """Return the letters of a column, counted from 1."""
    out = ""
    while column:
        column, rest = divmod(column - 1, 26)
        out = chr(65 + rest) + out
    return out


# -- a workbook ------------------------------------------------------------------------


class SheetTerms(Terms):
    """Constants in a column of their own, and columns that compute parts of a long formula."""

    def __init__(self, tree: Tree, cells: dict[int, str], constants: int) -> None:
        super().__init__(tree, cells)
        self.column = _letters(constants)
        self.constants: list[float | str] = []
        self.asides: list[str] = []

    def constant(self, value: float, *, of_category: bool = False) -> tuple[str, str]:
        """Put the number into its cell, where all its digits count."""
        self.constants.append(value)
        cell = self._cell(len(self.constants) - 1)
        return cell, f"-{cell}"

    def among_texts(self, cell: str, texts: Sequence[str]) -> str:
        """Compare with a range of cells, however many they are."""
        first = len(self.constants)
        self.constants += texts
        last = self._cell(len(self.constants) - 1)
        return f"SUMPRODUCT(--EXACT({cell},{self._cell(first)}:{last}))>0"

    def put_aside(self, formula: str) -> str | None:
        """Give the part a column right of the constants."""
        self.asides.append(formula)
        return f"{_letters(_number(self.column) + len(self.asides))}{ROW}"

    def _cell(self, at: int) -> str:
        return f"${self.column}${FIRST + at}"


def _number(letters: str) -> int:
    """Return the number of a column, the reverse of ``_letters``."""
    out = 0
    for letter in letters:
        out = 26 * out + ord(letter) - 64
    return out


def _workbook(tree: Tree, rows: int, cases: Any) -> bytes:
    """Return the bytes of the workbook."""
    openpyxl = import_optional("openpyxl", extra="excel", purpose="A workbook")
    if cases is not None:
        cases = as_table(cases, "cases")
        rows = max(rows, n_rows(cases))
    if not 1 <= rows <= MOST_ROWS - FIRST:
        raise InputError(f"expected rows from 1 to {MOST_ROWS - FIRST:,}, got {rows!r}")
    book = openpyxl.Workbook()
    _Sheet(tree, rows, book.active).fill(cases)
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def path_words(tree: Tree) -> dict[int, str]:
    """Return the way to each leaf in words; all values that go it are named."""
    sides = branch_texts(tree, display_space(tree, all_can_miss=True), all_unseen=True)
    out: dict[int, str] = {}
    ways: list[tuple[int, tuple[str, ...]]] = [(0, ())]
    while ways:
        node, way = ways.pop()
        if tree.is_leaf[node]:
            out[node] = shorten(clean(" and ".join(way) or "always"), CELL_CHARACTERS)
            continue
        for words, side in zip(sides[node], (tree.children_left, tree.children_right), strict=True):
            words = f"({words})" if " or " in words else words
            ways.append((int(side[node]), (*way, words)))
    return out


class _Sheet:
    """The one sheet: cases on the left, the rules beside them, hidden constants after both."""

    def __init__(self, tree: Tree, rows: int, sheet: Any) -> None:
        self.tree, self.sheet = tree, sheet
        self.last = FIRST + rows - 1
        self.leaves = tree.leaves.tolist()
        self.features = sorted(tree.used_features)
        self.outcomes = (
            ["Response"]
            if tree.classes is None
            else ["Decision", *(f"Share of {clean(c)}" for c in tree.classes)]
        )
        # Case, features, outcomes, rule, path | rule, path, outcomes, observed, weight | lists
        self.first_outcome = 2 + len(self.features)
        self.rule = self.first_outcome + len(self.outcomes)
        self.rules = self.rule + 3
        self.lists = self.rules + 4 + len(self.outcomes) + 1
        by_category = [j for j in self.features if tree.categories[j] is not None]
        self.list_of = {j: self.lists + i for i, j in enumerate(by_category)}
        self.constants = self.lists + len(by_category)
        for j in by_category:
            for category in tree.categories[j] or ():
                check_constant(category, f"categories of {tree.feature_labels[j]!r}")
        for label in tree.classes or ():
            check_constant(label, "classes")

    def fill(self, cases: Any) -> None:
        """Write everything."""
        self.sheet.title = "Tree"
        self._words()
        self._rule_table()
        self._lists()
        self._formulas()
        if cases is not None:
            self._cases(cases)
        self._look()

    def _words(self) -> None:
        tree = self.tree
        decides = ""
        if tree.is_classifier:
            decides = f" Policy: {clean(tree.decision.words(tree.classes))}."
        count = f"{tree.n_leaves} rule{'' if tree.n_leaves == 1 else 's'}"
        self._put(1, 1, f"Decision tree of {count}.{decides}")
        self._put(
            *(2, 1),
            f"One case per line from row {FIRST} on: type or paste values, and leave a cell empty "
            "where the value is missing. The case can have any name, or none.",
        )
        names = ["Case", *(clean(tree.feature_labels[j]) for j in self.features)]
        names += [*self.outcomes, "Rule", "Path"]
        for column, name in enumerate(names, 1):
            self._put(HEAD, column, name)

    def _rule_table(self) -> None:
        """Write one line per leaf: what leads there, and what it says."""
        tree = self.tree
        heads = ["Rule", "Path", *self.outcomes, "Observed", "Share of training weight"]
        for column, name in enumerate(heads, self.rules):
            self._put(HEAD, column, name)
        paths = path_words(tree)
        total = float(tree.weight[tree.leaves].sum()) or 1.0
        counted = (tree.weight[tree.leaves] != 1).any()
        for at, leaf in enumerate(self.leaves):
            says = [float(v) for v in tree.value[leaf]]
            if tree.classes is not None:
                says.insert(0, tree.classes[int(tree.label[leaf])])
            observed = LeafNumbers.of(tree, leaf).observed_words()
            share = float(tree.weight[leaf]) / total if counted else ""
            line = [at + 1, paths[leaf], *says, observed, share]
            for column, value in enumerate(line, self.rules):
                self._put(FIRST + at, column, value)

    def _cases(self, cases: Any) -> None:
        """Write the rows of a table where people would type them, numbered."""
        columns = find_columns(
            cases, self.tree.feature_names, self.tree.n_features, self.tree.used_features
        )
        for row in range(n_rows(cases)):
            self._put(FIRST + row, 1, row + 1)
        for at, j in enumerate(self.features, 2):
            values = column_values(cases, columns[j])  # type: ignore[arg-type]
            for row in np.flatnonzero(~pd.isna(values)).tolist():
                value = plain_scalar(values[row])
                check_constant(value, f"values of {self.tree.feature_labels[j]!r}")
                self._put(FIRST + row, at, value)
                if value == "":  # a cell that holds no text at all would be missing
                    self.sheet.cell(FIRST + row, at).value = '=""'

    def _lists(self) -> None:
        """Write the categories of each feature, and offer them as a drop-down list."""
        validation = import_optional(
            "openpyxl.worksheet.datavalidation", extra="excel", purpose="A workbook"
        )
        for j, column in self.list_of.items():
            categories = [c for c in self.tree.categories[j] or () if c != ""]
            for at, category in enumerate(categories):
                self._put(FIRST + at, column, category)
            if not categories:
                continue
            letters, last = _letters(column), FIRST + len(categories) - 1
            # Other values may be typed: the tree says where they go.
            offered = validation.DataValidation(
                type="list",
                formula1=f"${letters}${FIRST}:${letters}${last}",
                allow_blank=True,
                showErrorMessage=False,
            )
            mine = _letters(2 + self.features.index(j))
            offered.add(f"{mine}{FIRST}:{mine}{self.last}")
            self.sheet.add_data_validation(offered)

    def _formulas(self) -> None:
        """Write the formulas of each row, and what they refer to."""
        cells = {j: f"${_letters(2 + i)}{ROW}" for i, j in enumerate(self.features)}
        terms = SheetTerms(self.tree, cells, self.constants)
        number = {leaf: str(at + 1) for at, leaf in enumerate(self.leaves)}
        found = decide(self.tree, terms, lambda leaf: number[leaf], most=PIECE)
        if self.constants + len(terms.asides) > MOST_COLUMNS:
            raise InputError(
                f"expected a tree that fits the {MOST_COLUMNS:,} columns of a sheet, got "
                f"{self.constants + len(terms.asides):,} columns; prune it"
            )
        if len(terms.constants) > MOST_ROWS - FIRST:
            raise InputError(
                f"expected a tree of at most {MOST_ROWS - FIRST:,} thresholds and categories for "
                f"a sheet, got {len(terms.constants):,}; prune it"
            )
        for at, value in enumerate(terms.constants):
            self._put(FIRST + at, self.constants, value)
        inputs = f"$A{ROW}:${_letters(1 + len(self.features))}{ROW}"
        columns = {self.rule: f'IF(COUNTA({inputs})=0,"",{found})'}
        rule, last = f"${_letters(self.rule)}{ROW}", FIRST + len(self.leaves) - 1
        looked_up = [
            (self.first_outcome + i, self.rules + 2 + i) for i in range(len(self.outcomes))
        ]
        for column, source in (*looked_up, (self.rule + 1, self.rules + 1)):
            table = f"${_letters(source)}${FIRST}:${_letters(source)}${last}"
            columns[column] = f'IF({rule}="","",INDEX({table},{rule}))'
        for at, formula in enumerate(terms.asides):
            columns[self.constants + 1 + at] = formula
        for row in range(FIRST, self.last + 1):
            for column, formula in columns.items():
                cell = self.sheet.cell(row, column)
                cell.value = "=" + formula.replace(ROW, str(row))
        self.last_column = self.constants + len(terms.asides)

    def _put(self, row: int, column: int, value: Any) -> None:
        """Write a constant as what it is: no text becomes a formula, no number loses digits."""
        cell = self.sheet.cell(row, column)
        if isinstance(value, str):
            cell.value, cell.data_type = value, "s"
            cell.quotePrefix = value.startswith(FORMULA)
        elif isinstance(value, bool):
            cell.value = value
        else:
            cell.value, cell.data_type = repr(value), "n"

    def _look(self) -> None:
        """Make it readable: widths, bold heads, formats, hidden constants."""
        styles = import_optional("openpyxl.styles", extra="excel", purpose="A workbook")
        sheet = self.sheet
        sheet.freeze_panes = sheet.cell(FIRST, 2)
        sheet.cell(1, 1).font = styles.Font(bold=True, size=14)
        inputs = styles.PatternFill("solid", fgColor="FFF6DD")
        computed = styles.PatternFill("solid", fgColor="E4EDF5")
        for column in range(1, self.lists):
            cell = sheet.cell(HEAD, column)
            if cell.value is None:
                continue
            cell.font = styles.Font(bold=True)
            cell.alignment = styles.Alignment(wrap_text=True, vertical="top")
            cell.fill = inputs if column < self.first_outcome else computed
            wide = cell.value == "Path"
            sheet.column_dimensions[_letters(column)].width = 60 if wide else 16
        for i, j in enumerate(self.features):
            categories = self.tree.categories[j]
            if categories and all(isinstance(c, str) for c in categories):
                sheet.column_dimensions[_letters(2 + i)].number_format = "@"
        for column in range(self.lists, self.last_column + 1):
            sheet.column_dimensions[_letters(column)].hidden = True
