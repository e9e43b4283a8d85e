"""Read the user's tables, and say what is wrong with them before anything takes time."""

from __future__ import annotations

import difflib
import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from steadytree._text import plain_spelling, quoted, some_of
from steadytree.cli.column_types import (
    CATEGORY,
    IGNORE,
    NUMBER,
    UNKNOWN,
    SettledColumn,
    settle_column,
)
from steadytree.cli.delimited import TableFile, TableReading, read_table
from steadytree.exceptions import InputError, SteadyTreeWarning
from steadytree.tree.columns import near_unique, outcome_values
from steadytree.tree.space import has_fractions
from steadytree.tree.tree import Tree
from steadytree.tree.words import PLAIN, clean, display_width, shorten

# -- How the user wants tables read --------------------------------------------------------------

TYPES = (NUMBER, CATEGORY, IGNORE)
NAMED = {"tab": "\t", "\\t": "\t", "space": " "}


def reading_of(options: SimpleNamespace) -> TableReading:
    """Read the options of how tables are read."""
    reading = TableReading(
        separator=_sign("--separator", options.separator),
        decimal=options.decimal,
        thousands=_sign("--thousands", options.thousands),
        encoding=options.encoding,
        types=types_of(options.types),
        drop_missing_target=options.drop_missing_target,
    )
    if reading.decimal == reading.thousands:
        raise InputError(
            f"expected --decimal and --thousands to differ, got {reading.decimal!r} for both; "
            "change one of them"
        )
    return reading


def types_of(given: tuple[str, ...]) -> dict[str, str]:
    """Read ``--types age=number``; a name may hold the sign itself."""
    types: dict[str, str] = {}
    for text in given:
        name, _, kind = text.rpartition("=")
        if not name or kind not in TYPES:
            raise InputError(
                f"expected COLUMN=TYPE as --types, with a type of {', '.join(TYPES)}, got "
                f"{text!r}; write for example --types age=number"
            )
        if name in types:
            raise InputError(f"expected {name!r} once in --types, got it twice; leave one out")
        types[name] = kind
    return types


def _sign(option: str, text: str | None) -> str | None:
    if text is None:
        return None
    sign = NAMED.get(text.lower(), text)
    if (
        len(sign) != 1
        or sign.isalnum()
        or sign in '"\n\r\0'
        or (option == "--separator" and not sign.isascii())
    ):
        raise InputError(
            f"expected one sign as {option}, got {text!r}; write for example {option} ';', "
            "or the word tab"
        )
    return sign


# -- What the target of a table is: classes or a response, or nothing that a tree can learn --
# A column of 200 identifiers named as the target is a slip; it must not become 200 classes.

MOST_CLASSES = 20
"""More classes than this are asked about."""


def counted(y: NDArray[Any]) -> dict[Any, int]:
    """Count the rows of each outcome."""
    codes, values = pd.factorize(y)
    return dict(zip(values.tolist(), np.bincount(codes).tolist(), strict=True))


def guess_task(y: NDArray[Any], task: str) -> str:
    """Classification or regression; asks where the values do not tell."""
    if task != "auto":
        return task
    if has_fractions(y):
        return "regression"
    n_values = len(counted(y))
    if n_values <= MOST_CLASSES:
        return "classification"
    if y.dtype.kind in "fiu":
        raise InputError(
            f"expected a target with at most {MOST_CLASSES} classes or with fractions, got "
            f"{n_values} different whole numbers; say --task classification or regression"
        )
    raise InputError(
        f"expected a target with at most {MOST_CLASSES} classes, got {n_values:,} different "
        "texts; name another column, or say --task classification if these are the classes"
    )


def check_outcomes(y: NDArray[Any], task: str, path: Path, target: str) -> None:
    """Refuse a target that nothing can be learned about; warn of classes of a single row."""
    counts = counted(y)
    if len(counts) < 2:
        raise InputError(
            f"expected a target with two or more different values, got only {quoted(y[0])}; "
            "nothing can be learned from it"
        )
    if task == "regression":
        if y.dtype.kind not in "fiu":
            raise InputError(
                f"expected numbers in the target {target!r} of {path} with --task regression, got "
                f"{quoted(y[0])}; say --task classification, or name another column"
            )
        return
    if near_unique(len(counts), len(y)):
        raise InputError(
            f"expected classes that rows share in the target {target!r} of {path}, got "
            f"{len(counts):,} different values in {len(y):,} rows, as in an identifier; name "
            "another column" + (", or say --task regression" if y.dtype.kind in "fiu" else "")
        )
    alone = [value for value, count in counts.items() if count == 1]
    if alone:
        classes = "classes" if len(alone) > 1 else "class"
        warnings.warn(
            f"{classes} {some_of(alone)} of the target {target!r} "
            f"{'have' if len(alone) > 1 else 'has'} too few rows to learn from; leave them out, "
            "or put rare classes together",
            SteadyTreeWarning,
            stacklevel=2,
        )


# -- Say what was read of a table before anything is trained on it --
# Whoever sees "age: category, 61 categories" in time does not deploy a tree that was grown on it.

IGNORED = "ignored"
MOST_LINES = 30
NAME_WIDTH = 40


@dataclass(frozen=True)
class ReadColumn:
    """One column: what it is, and how much of it is there (``missing`` is a share)."""

    name: str
    type: str
    categories: int | None = None
    missing: float | None = None
    note: str = ""

    @classmethod
    def of(cls, name: str, column: SettledColumn, note: str = "") -> ReadColumn:
        """Describe a settled column, with its own note unless there is another."""
        values = column.values
        missing = float(values.isna().mean()) if len(values) else 0.0
        categories = int(values.nunique()) if column.type == CATEGORY else None
        return cls(name, column.type, categories, missing, note or column.note)

    @property
    def missing_words(self) -> str:
        """How much of it is missing: "11 %"; empty where nothing is."""
        return PLAIN.percent(self.missing) if self.missing else ""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {**asdict(self), "note": self.note or None}

    def cells(self) -> tuple[str, ...]:
        """Return the cells of its line."""
        kind = self.type
        if self.categories is not None:
            kind += f" ({self.categories})"
        missing = f"{self.missing_words} missing" if self.missing else ""
        note = clean(self.note) if self.note else ""
        return (shorten(clean(self.name), NAME_WIDTH), kind, missing, note)


@dataclass(frozen=True)
class ReadSummary:
    """What was read of a file.

    ``dropped`` are rows that were left out because their outcome is missing; ``classes`` counts the
    rows of each class of the ``target``, if it has classes.
    """

    path: Path
    rows: int
    dropped: int = 0
    target: str | None = None
    classes: Mapping[str, int] = field(default_factory=dict)
    columns: Sequence[ReadColumn] = ()

    def with_target(self, name: str, y: NDArray[Any], *, regression: bool) -> ReadSummary:
        """Return the summary with what was read of the outcome."""
        classes = {} if regression else {str(value): n for value, n in counted(y).items()}
        return replace(self, target=name, classes=dict(sorted(classes.items())))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for ``--json``."""
        target = {"name": self.target, "classes": dict(self.classes) or None}
        return {
            "file": str(self.path),
            "rows": self.rows,
            "dropped_rows": self.dropped,
            "target": None if self.target is None else target,
            "columns": [column.to_dict() for column in self.columns],
        }

    def to_text(self, *, everything: bool = False) -> str:
        """Return a short table; of many columns those with a note first, or ``everything``."""
        kinds = Counter(column.type for column in self.columns)
        shares = [f"{kinds[kind]} {kind}" for kind in (NUMBER, CATEGORY, IGNORED) if kinds[kind]]
        lines = [f"read {self.path.name}: {self.rows:,} rows; columns: {', '.join(shares)}"]
        if self.dropped:
            lines.append(f"{self.dropped:,} rows without an outcome were left out")
        if self.target is not None:
            lines.append(f"target {clean(self.target)}: {self._classes_text()}")
        shown = list(self.columns)
        if not everything and len(shown) > MOST_LINES:
            shown = sorted(shown, key=lambda column: (not column.note, column.type))[:MOST_LINES]
            shown.sort(key=self.columns.index)
        cells = [column.cells() for column in shown]
        widths = [max((display_width(row[i]) for row in cells), default=0) for i in range(3)]
        for *padded, note in cells:
            pairs = zip(padded, widths, strict=True)
            row = [cell + " " * (width - display_width(cell)) for cell, width in pairs]
            lines.append("  ".join([*row, note]).rstrip())
        more = len(self.columns) - len(shown)
        return "\n".join([*lines, *[f"and {more} more columns (-v shows them)"] * (more > 0)])

    def _classes_text(self) -> str:
        if not self.classes:
            return "numbers"
        shown = [f"{clean(label)} {n:,}" for label, n in list(self.classes.items())[:MOST_LINES]]
        more = len(self.classes) - len(shown)
        return ", ".join(shown) + (f" and {more} more classes" if more else "")


# -- Read the user's tables, and say what is wrong with them before anything takes time --


def check_columns(columns: Collection[Any], path: Path, named: Iterable[tuple[str, str]]) -> None:
    """Check that columns exist; ``named`` holds pairs (option, column)."""
    for option, column in named:
        if column not in columns:
            close = difflib.get_close_matches(column, map(str, columns), n=1)
            hint = f"did you mean {close[0]!r}?" if close else "see its first line"
            raise InputError(
                f"expected a column of {path} as {option}, got {column!r}, which it does not "
                f"have; {hint}"
            )


@dataclass(frozen=True)
class RowTable:
    """A table in its parts: predictors, outcomes, and columns that are neither.

    ``X`` keeps every column that may be a predictor; ``table`` is the whole, as it was read. ``y``
    is empty where no outcomes were asked for; ``read`` says what was read.
    """

    table: pd.DataFrame
    X: Any
    y: Any
    time: Any
    groups: Any
    read: ReadSummary

    def column(self, name: str) -> NDArray[Any]:
        """Return one column, for subgroups."""
        values = self.table[name]
        if isinstance(values.dtype, pd.CategoricalDtype):
            values = values.astype(object)
        return np.asarray(values.to_numpy())


def read_rows(
    path: Path,
    target: str | None,
    *,
    time: str | None = None,
    group: str | None = None,
    drop: Sequence[str] = (),
    subgroups: Sequence[str] = (),
    tree: Tree | None = None,
    to_retrain: bool = False,
    reading: TableReading | None = None,
    is_old: bool = False,
) -> RowTable:
    """Read a table, with outcomes if a ``target`` is named.

    With a ``tree`` its own columns are the predictors (by name, if it has names), of which the
    table must have those that the tree uses. ``to_retrain`` the others cannot be wrong: columns
    that the tree does not know and no option names, and those that do not hold what it knows,
    are left as they are, for the retraining to speak of. Without a tree every column but
    the target, the time, the group and those to drop. Old rows (``is_old``) need not have the
    columns whose types are named.
    """
    reading = reading or TableReading()
    file = read_table(path, reading)
    single = (("--target", target), ("--time", time), ("--group", group))
    roles = {name: option for option, name in single if name}
    roles |= dict.fromkeys(drop, "--drop")
    named = [(option, name) for name, option in roles.items()]
    named += [("--subgroup", name) for name in subgroups]
    named += [] if is_old else [("--types", name) for name in reading.types]
    check_columns(file.frame.columns, path, named)
    _check_types(reading.types, roles, tree)
    roles |= {name: "--types" for name, kind in reading.types.items() if kind == IGNORE}
    outcome = None
    if target is not None:
        known = UNKNOWN if tree is None else tree.classes
        outcome = settle_column(file, target, reading.types.get(target), known, outcome=True)
    kept = _predictors(file, roles, subgroups, tree, to_retrain)
    lenient = set()
    if tree is not None and to_retrain:
        lenient = {*tree.feature_labels} - _used(tree) - set(reading.types)
    columns = {
        name: _settled(file, name, reading.types.get(name), known, lenient=name in lenient)
        for name, known in kept.items()
    }
    table = file.frame
    rows = _rows_with_outcome(file, target, outcome, drop=reading.drop_missing_target)
    if outcome is not None and not rows.all():
        table = table[rows].reset_index(drop=True)
        columns = {name: column.take(rows) for name, column in columns.items()}
        outcome = outcome.take(rows)
    y = np.zeros(0) if outcome is None else outcome_values(outcome.values)
    described = _described(table, columns, roles)
    read = ReadSummary(path, len(table), dropped=int((~rows).sum()), columns=described)
    if target is not None and tree is not None and (tree.classes or y.dtype.kind in "fiu"):
        read = read.with_target(target, y, regression=tree.classes is None)
    return RowTable(
        table=table,
        X=pd.DataFrame({name: column.values for name, column in columns.items()}, copy=False),
        y=y,
        time=None if time is None else _sortable(table[time]),
        groups=None if group is None else np.asarray(table[group].astype(str).to_numpy()),
        read=read,
    )


def with_columns(rows: RowTable, names: Iterable[str]) -> Any:
    """Return the predictors with other columns of the file, such as those of a plan's groups."""
    lacking = [name for name in names if name not in rows.X.columns]
    check_columns(
        rows.table.columns, rows.read.path, [("--plan per_group", name) for name in lacking]
    )
    return rows.X.assign(**{name: rows.column(name) for name in lacking})


def read_training(path: Path, target: str, task: str, **columns: Any) -> tuple[RowTable, str]:
    """Read a table to train on (``columns`` as in :func:`read_rows`), and what its task is."""
    table = read_rows(path, target, **columns)
    task = guess_task(table.y, task)
    check_outcomes(table.y, task, path, target)
    read = table.read.with_target(target, table.y, regression=task == "regression")
    return replace(table, read=read), task


def _check_types(types: Mapping[str, str], roles: Mapping[str, str], tree: Tree | None) -> None:
    """Refuse types that contradict another option or the tree."""
    used = set() if tree is None else _used(tree)
    for name, kind in types.items():
        option = roles.get(name)
        if option in ("--time", "--group") or (option == "--target" and kind == IGNORE):
            raise InputError(
                f"expected predictors in --types, got {name!r}, which is named as {option}; "
                "leave one of them out"
            )
        if name in used and kind == IGNORE:
            raise InputError(
                f"expected --types to ignore no column that the tree uses, got {name!r}; leave it "
                "out of --types"
            )


AS_IT_IS = object()
"""Nothing is known of a column, and nothing depends on it."""


def _predictors(
    file: TableFile,
    roles: Mapping[str, str],
    subgroups: Sequence[str],
    tree: Tree | None,
    to_retrain: bool,
) -> dict[str, Any]:
    """Columns that may be predictors, and what the tree knows each to be."""
    have = [str(name) for name in file.frame.columns]
    taken = set(roles) if "--target" in roles.values() else set()
    left = [name for name in have if name not in taken]
    if tree is None:
        kept = dict.fromkeys(left, UNKNOWN)
    elif tree.feature_names is None:
        fits = len(left) == tree.n_features
        kept = {name: _known(tree, j) if fits else AS_IT_IS for j, name in enumerate(left)}
    else:
        _check_used(tree, file, have)
        there = set(have)
        kept = {
            name: _known(tree, j)
            for j, name in enumerate(tree.feature_names)
            if name in there and roles.get(name) != "--types"
        }
        if to_retrain:
            others = {*roles, *subgroups, *tree.feature_names}
            kept |= dict.fromkeys((name for name in have if name not in others), AS_IT_IS)
    if not kept:
        raise InputError(f"expected predictors in {file.path}, got no column besides the target")
    return kept


def _used(tree: Tree) -> set[str]:
    """Name the columns that some rule of a tree is about."""
    return {tree.feature_labels[j] for j in tree.used_features}


def _check_used(tree: Tree, file: TableFile, have: Sequence[str]) -> None:
    """Refuse a table without columns that a tree uses; names all of them."""
    used = _used(tree) - set(have)
    lacking = [name for name in tree.feature_labels if name in used]
    if lacking:
        close = {name: difflib.get_close_matches(name, have, n=1) for name in lacking}
        meant = [f"{found[0]!r} for {name!r}" for name, found in close.items() if found]
        raise InputError(
            f"expected the columns that the tree uses in {file.path}, got none called "
            f"{some_of(lacking)}; "
            + (f"did you mean {', '.join(meant)}?" if meant else "see its first line")
        )


def _known(tree: Tree, feature: int) -> Any:
    """Return what a tree knows of a feature: its categories, or None for a number."""
    if tree.space is None and feature not in tree.used_features:
        return AS_IT_IS  # no rule is about it, and nobody looked at its values
    return tree.categories[feature]


def _settled(
    file: TableFile, name: str, asked: str | None, known: Any, *, lenient: bool
) -> SettledColumn:
    """Settle a column; one that is not what is known, as it is if that is ``lenient``."""
    if known is not AS_IT_IS:
        try:
            return settle_column(file, name, asked, known)
        except InputError:
            if not lenient:
                raise
    return SettledColumn(file.frame[name], "")


def _rows_with_outcome(
    file: TableFile, target: str | None, outcome: SettledColumn | None, *, drop: bool
) -> NDArray[np.bool_]:
    """Which rows have an outcome; refuses those without, unless they are to be dropped."""
    if outcome is None:
        return np.ones(len(file.frame), dtype=bool)
    there = outcome.values.notna().to_numpy(dtype=bool)
    gone = np.flatnonzero(~there).tolist()
    if gone and not drop:
        raise InputError(
            f"expected an outcome in every row of {file.path}, got {len(gone):,} missing in "
            f"{target!r} ({file.places(gone)}); fill them in, or leave these rows out with "
            "--drop-missing-target"
        )
    if not there.any():
        raise InputError(f"expected outcomes in {target!r} of {file.path}, got none; name another")
    return there


def _described(
    table: pd.DataFrame, columns: Mapping[str, SettledColumn], roles: Mapping[str, str]
) -> list[ReadColumn]:
    """Describe every column but the target, in the order of the file."""
    out = []
    spelled: dict[str, str] = {}
    for name in map(str, table.columns):
        column = columns.get(name)
        first = spelled.setdefault(plain_spelling(name), name)
        if column is not None and column.type:
            alike = "" if first == name else f"differs from {quoted(first)} by capitals only"
            out.append(ReadColumn.of(name, column, alike))
        elif roles.get(name) != "--target":
            out.append(ReadColumn(name, IGNORED, note=roles.get(name, "not in the tree")))
    return out


def _sortable(values: pd.Series[Any]) -> NDArray[Any]:
    """Return times as numbers: as they are, or parsed as dates."""
    gone = int(values.isna().sum())
    if gone:
        raise InputError(
            f"expected a time in every row of {values.name!r}, got {gone:,} missing; fill them in, "
            "or leave --time out"
        )
    with suppress(ValueError, TypeError):
        if not pd.api.types.is_datetime64_any_dtype(values):
            return np.asarray(pd.to_numeric(values).to_numpy(dtype=np.float64))
    try:
        dates = pd.to_datetime(values, format="ISO8601")
    except (ValueError, TypeError) as error:
        raise InputError(
            f"expected numbers or dates such as 2024-05-31 in {values.name!r}, "
            f"got: {str(error).splitlines()[0]}"
        ) from None
    return np.asarray(dates.to_numpy().astype("datetime64[ns]").astype(np.float64))
