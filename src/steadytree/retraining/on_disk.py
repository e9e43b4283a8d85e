"""Rows of tables on disk: a sample of them in memory, values and counts from all.

Three things are read off a table that is larger than memory. Its outcomes, to draw a sample in
which each class has its share (groups are kept whole). The rows of that sample: rules are
searched on them, and scores, decisions that change and the report are about them. And later all
rows once more, a batch at a time, for what leaves predict and count. Before anything is searched
every row is looked at, so that what the sample does not show (a rare category, a value newly
missing, rows that are in both tables) is said rather than passed over.
"""

from __future__ import annotations

import glob
import os
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from steadytree._optional import import_optional
from steadytree._text import quoted
from steadytree.exceptions import InputError
from steadytree.plugins import read_model
from steadytree.retraining.given_rows import beyond_chance, draw_ordinals, name_of, share_sample
from steadytree.retraining.widening import refuse_infinities
from steadytree.tree.columns import as_table, column_values, n_rows, outcome_values
from steadytree.tree.decision import Decision, resolve_decision
from steadytree.tree.rows import CodedRows, code_outcomes, fingerprint_of, mixed_bits, row_hashes
from steadytree.tree.space import FeatureSpace
from steadytree.tree.tree import Tree

if TYPE_CHECKING:
    from steadytree.retraining.problem import Problem

# -- Tables that stay on disk, gone through a batch of rows at a time --
# A table larger than memory cannot be passed as a frame. Parquet files, a pyarrow dataset or a
# polars lazy frame can: only the columns asked for are read, and never more than a batch of rows
# (of a Parquet file: a page of each column) is held at once.

BATCH_ROWS = 65_536
PARQUET = (".parquet", ".pq")
BUFFER_BYTES = 1 << 20
_PURPOSE = "a table that stays on disk"

Choose = Callable[[Any], NDArray[np.intp]]
"""Which rows of a frame of some columns to keep: their positions, in order."""


class DiskTable(ABC):
    """A table on disk: the names of its columns, and its rows in batches, in a fixed order.

    It holds no open file, so that it can be sent to workers. ``source`` is what errors call it.
    """

    source: str
    names: tuple[str, ...]

    def parts(self, columns: Sequence[str]) -> Iterator[Any]:
        """Go through the rows anew, as frames of at most ``BATCH_ROWS`` rows."""
        for batch in self._batches(columns):
            yield self._frame([batch])

    def gather(self, columns: Sequence[str], keys: Sequence[str], choose: Choose) -> Any:
        """Return the rows that ``choose`` keeps of each batch, seeing its ``keys`` columns."""
        kept = []
        for batch in self._batches(list(dict.fromkeys([*columns, *keys]))):
            rows = choose(self._frame([self._select(batch, keys)]))
            kept.append(self._take(self._select(batch, columns), rows))
        return self._frame(kept)

    def require(self, named: Sequence[tuple[str, Any]]) -> None:
        """Refuse arguments that are not names of columns; pairs (argument, name)."""
        for argument, name in named:
            if not isinstance(name, str):
                raise InputError(
                    f"expected the name of a column as {argument}, as the rows stay on disk "
                    f"({self.source}), got {type(name).__name__}; put it into the table as a "
                    "column, and pass its name"
                )
            if name not in self.names:
                shown = ", ".join(map(repr, self.names[:8])) + (", ..." * (len(self.names) > 8))
                raise InputError(
                    f"expected a column of {self.source} as {argument}, got {name!r}; "
                    f"it has {shown}"
                )

    @abstractmethod
    def _batches(self, columns: Sequence[str]) -> Iterator[Any]: ...

    @abstractmethod
    def _select(self, batch: Any, columns: Sequence[str]) -> Any: ...

    @abstractmethod
    def _take(self, batch: Any, rows: NDArray[np.intp]) -> Any: ...

    @abstractmethod
    def _frame(self, batches: Sequence[Any]) -> Any: ...


class _ArrowTable(DiskTable):
    """What Parquet files and datasets share: batches of pyarrow, frames of pandas."""

    def _select(self, batch: Any, columns: Sequence[str]) -> Any:
        return batch.select(list(columns))

    def _take(self, batch: Any, rows: NDArray[np.intp]) -> Any:
        return batch.take(import_optional("pyarrow", extra="parquet", purpose=_PURPOSE).array(rows))

    def _frame(self, batches: Sequence[Any]) -> Any:
        pa = import_optional("pyarrow", extra="parquet", purpose=_PURPOSE)
        tables = [pa.Table.from_batches([batch]) for batch in batches]
        # Files of one folder may disagree (whole numbers here, fractions there).
        table = pa.concat_tables(tables, promote_options="permissive")
        return table.unify_dictionaries().to_pandas().reset_index(drop=True)


class ParquetFiles(_ArrowTable):
    """One or several Parquet files, in the order of their names."""

    def __init__(self, files: Sequence[Path], source: str) -> None:
        self.files, self.source = tuple(files), source
        self.names = _column_names(_parquet_schema(self.files[0]))
        for file in self.files[1:]:
            lacking = sorted(set(self.names) - set(_column_names(_parquet_schema(file))))
            if lacking:
                raise InputError(
                    f"expected the columns of {self.files[0]} in every file, got {file} without "
                    f"{quoted(lacking)}; add them, or pass the files that have them"
                )

    def _batches(self, columns: Sequence[str]) -> Iterator[Any]:
        pq = import_optional("pyarrow.parquet", extra="parquet", purpose=_PURPOSE)
        for path in self.files:
            # Without these settings whole row groups are read ahead, however large they are.
            with pq.ParquetFile(path, pre_buffer=False, buffer_size=BUFFER_BYTES) as file:
                yield from file.iter_batches(BATCH_ROWS, columns=list(columns))


class ArrowDataset(_ArrowTable):
    """A ``pyarrow.dataset.Dataset``: files of any format it reads, with its partitions."""

    def __init__(self, dataset: Any, source: str) -> None:
        self.dataset, self.source = dataset, source
        self.names = _column_names(dataset.schema)

    def _batches(self, columns: Sequence[str]) -> Iterator[Any]:
        ds = import_optional("pyarrow.dataset", extra="parquet", purpose=_PURPOSE)
        reading: dict[str, Any] = {}
        if isinstance(getattr(self.dataset, "format", None), ds.ParquetFileFormat):
            reading["fragment_scan_options"] = ds.ParquetFragmentScanOptions(
                use_buffered_stream=True, buffer_size=BUFFER_BYTES, pre_buffer=False
            )
        batches = self.dataset.to_batches(
            columns=list(columns),
            batch_size=BATCH_ROWS,
            batch_readahead=1,
            fragment_readahead=1,
            use_threads=False,
            **reading,
        )
        return (batch for batch in batches if batch.num_rows)


class LazyTable(DiskTable):
    """A polars lazy frame, collected in streams."""

    def __init__(self, frame: Any, source: str) -> None:
        if not hasattr(frame, "collect_batches"):
            pl = import_optional("polars", extra="polars", purpose=_PURPOSE)
            raise InputError(
                f"expected a polars whose lazy frames can be read in batches, got {pl.__version__};"
                " upgrade it with: pip install -U polars"
            )
        self.frame, self.source = frame, source
        self.names = tuple(frame.collect_schema().names())

    def _batches(self, columns: Sequence[str]) -> Iterator[Any]:
        stream = self.frame.select(list(columns)).collect_batches(
            chunk_size=BATCH_ROWS, maintain_order=True, engine="streaming"
        )
        for batch in stream:
            for start in range(0, batch.height, BATCH_ROWS):
                yield batch.slice(start, BATCH_ROWS)

    def _select(self, batch: Any, columns: Sequence[str]) -> Any:
        return batch.select(list(columns))

    def _take(self, batch: Any, rows: NDArray[np.intp]) -> Any:
        return batch[rows]

    def _frame(self, batches: Sequence[Any]) -> Any:
        pl = import_optional("polars", extra="polars", purpose=_PURPOSE)
        return batches[0] if len(batches) == 1 else pl.concat(batches)


def is_on_disk(X: Any) -> bool:
    """Whether ``X`` is a path, a pyarrow dataset or a polars lazy frame."""
    if isinstance(X, (str, os.PathLike)):
        return True
    home = type(X).__module__
    lazy = home.startswith("polars.") and type(X).__name__ == "LazyFrame"
    return lazy or (home.startswith("pyarrow.") and hasattr(X, "get_fragments"))


def open_table(X: Any, name: str) -> DiskTable:
    """Open what :func:`is_on_disk` knows; ``name`` is the argument it came as."""
    if isinstance(X, (str, os.PathLike)):
        return _open_path(os.fspath(X), name)
    source = f"the {'lazy frame' if hasattr(X, 'collect_schema') else 'dataset'} in {name}"
    return LazyTable(X, source) if hasattr(X, "collect_schema") else ArrowDataset(X, source)


def _open_path(path: str, name: str) -> DiskTable:
    """Open a Parquet file, a folder of such files, or all that match a pattern."""
    import_optional("pyarrow", extra="parquet", purpose=f"reading {path}")
    place = Path(path)
    if place.is_file():
        if not place.name.lower().endswith(PARQUET):
            raise InputError(
                f"expected a Parquet file (.parquet) as {name}, got {path}; read it first, for "
                "example with pandas.read_csv, or lazily with polars.scan_csv"
            )
        return ParquetFiles([place], str(place))
    if place.is_dir():
        found = [file for file in sorted(place.rglob("*")) if _is_parquet(file, place)]
        if any("=" in part for file in found for part in file.relative_to(place).parts[:-1]):
            ds = import_optional("pyarrow.dataset", extra="parquet", purpose=_PURPOSE)
            return ArrowDataset(ds.dataset(path, format="parquet", partitioning="hive"), path)
    else:
        found = [Path(file) for file in sorted(glob.glob(path, recursive=True))]
        found = [file for file in found if _is_parquet(file, file.parent)]
    if not found:
        what = "a folder without any" if place.is_dir() else f"{path!r}, which matches none"
        raise InputError(
            f"expected Parquet files (.parquet) as {name}, got {what}; pass a file, a folder of "
            "files or a pattern such as 'rows/*.parquet', or the table itself"
        )
    return ParquetFiles(found, path)


def _is_parquet(file: Path, inside: Path) -> bool:
    """Whether a file of a folder is one of its tables: hidden ones are not."""
    hidden = any(part.startswith((".", "_")) for part in file.relative_to(inside).parts)
    return file.is_file() and file.name.lower().endswith(PARQUET) and not hidden


def parquet_rows(file: Path) -> int:
    """Count the rows of a Parquet file, as its metadata have them: no row is read."""
    pq = import_optional("pyarrow.parquet", extra="parquet", purpose=f"reading {file}")
    with _readable(file), pq.ParquetFile(file) as opened:
        return int(opened.metadata.num_rows)


def _parquet_schema(file: Path) -> Any:
    pq = import_optional("pyarrow.parquet", extra="parquet", purpose=f"reading {file}")
    with _readable(file):
        return pq.read_schema(file)


class _readable:
    """Say in our words that a file is no Parquet, or cannot be read."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __enter__(self) -> None: ...

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if error is None:
            return
        if isinstance(error, OSError) or type(error).__module__.startswith("pyarrow"):
            why = (str(error).splitlines() or ["no reason given"])[0]
            raise InputError(
                f"expected Parquet in {self.file}, got: {why}; write it again, or pass another file"
            ) from None


def _column_names(schema: Any) -> tuple[str, ...]:
    """Names of the columns; one that pandas stored its index in is none."""
    stored = (schema.pandas_metadata or {}).get("index_columns", ())
    index = {name for name in stored if isinstance(name, str)}
    names = tuple(name for name in schema.names if name not in index)
    twice = sorted(name for name, times in Counter(names).items() if times > 1)
    if twice:
        raise InputError(
            f"expected distinct column names, "
            f"got {quoted(twice)} more than once; rename the columns"
        )
    return names


# -- Rows of tables on disk: a sample of them in memory, values and counts from all --

MEMORY_ROWS = 200_000
"""Most rows of tables on disk, old and new together, that are held in memory."""
GROUP_BINS = 1 << 16
SHOWN = 5

NAMED = {
    "new": {"weight": "sample_weight", "groups": "groups", "time": "time"},
    "old": {"weight": "sample_weight_old", "groups": "groups_old"},
}
"""Arguments of ``retrain`` that have an entry per row, by the table they belong to."""


@dataclass(frozen=True, eq=False)
class DiskRows:
    """The old or the new rows on disk, and which columns of theirs are what.

    ``counts`` holds the rows of each class (of a regression: all rows), ``in_bins`` those of
    groups by the bin that a group falls into.
    """

    table: DiskTable
    which: str
    classes: tuple[Any, ...] | None
    outcome: str
    predictors: tuple[str, ...]
    weight: str | None = None
    groups: str | None = None
    time: str | None = None
    seed: int = 0
    counts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    in_bins: NDArray[np.int64] | None = None

    @classmethod
    def read(cls, tree: Tree, which: str, given: Mapping[str, Any], seed: int) -> DiskRows:
        """Open a table, find its columns, and count its outcomes."""
        table = open_table(given[f"X_{which}"], name_of("X", which))
        named: dict[str, Any] = {
            part: given.get(argument)
            for part, argument in NAMED[which].items()
            if given.get(argument) is not None
        }
        outcome = given[f"y_{which}"]
        arguments = [(name_of(part, which), name) for part, name in named.items()]
        table.require([(name_of("y", which), outcome), *arguments])
        known = set(tree.feature_names or ())
        others = {outcome, *(name for name in named.values() if name not in known)}
        predictors = tuple(name for name in table.names if name not in others)
        if not predictors:
            raise InputError(
                f"expected predictors in {table.source}, got no column besides {sorted(others)}"
            )
        rows = cls(table, which, tree.classes, outcome, predictors, **named, seed=seed)
        return rows._counted()

    def __len__(self) -> int:
        return int(self.counts.sum())

    def _counted(self) -> DiskRows:
        """Go through the outcomes: rows of each class, and of each bin of groups."""
        counts = np.zeros(1 if self.classes is None else len(self.classes), dtype=np.int64)
        bins = None if self.groups is None else np.zeros(GROUP_BINS, dtype=np.int64)
        missing, columns = 0, [c for c in (self.outcome, self.weight, self.groups) if c is not None]
        for part in self.table.parts(list(dict.fromkeys(columns))):
            y = outcome_values(part[self.outcome])
            gone = np.asarray(pd.isna(y), dtype=bool)
            missing += int(gone.sum())
            counts += np.bincount(self._strata(y[~gone]), minlength=len(counts))
            self._weights(part)
            if bins is not None:
                bins += np.bincount(self._bins(part), minlength=GROUP_BINS)
        if missing:
            raise InputError(
                f"expected an outcome in every row of {self.table.source}, got {missing:,} missing "
                f"in {self.outcome!r}; drop these rows first, for example with a polars lazy "
                f"frame: scan_parquet(...).drop_nulls({self.outcome!r})"
            )
        if not counts.sum():
            raise InputError(
                f"expected rows in {name_of('X', self.which)}, got none in {self.table.source}; "
                "pass the rows that arrived"
            )
        return replace(self, counts=counts, in_bins=bins)

    def _outcomes(self, y: NDArray[Any]) -> NDArray[Any]:
        return code_outcomes(y, self.classes, len(y), name=name_of("y", self.which))

    def _strata(self, y: NDArray[Any]) -> NDArray[Any]:
        """Position of the class of each row; a response has one stratum."""
        coded = self._outcomes(y)
        return coded if self.classes is not None else np.zeros(len(y), dtype=np.int64)

    def _weights(self, part: Any) -> NDArray[np.float64] | None:
        if self.weight is None:
            return None
        values = pd.to_numeric(pd.Series(column_values(part, self.weight)), errors="coerce")
        weights = values.to_numpy(dtype=np.float64)
        if not (np.isfinite(weights) & (weights >= 0)).all():
            raise InputError(
                f"expected finite weights >= 0 in column {self.weight!r} of {self.table.source}, "
                "got others; replace them first"
            )
        return weights

    def _bins(self, part: Any) -> NDArray[np.intp]:
        """Bin of the group of each row: the same for a group wherever it occurs."""
        values = column_values(part, self.groups or "")
        if values.dtype.kind in "iufb":  # whole numbers become fractions beside missing ones
            values = values.astype(np.float64)
        hashes = pd.util.hash_array(values if values.dtype.kind == "f" else values.astype(object))
        spread = mixed_bits(hashes.astype(np.uint64) ^ np.uint64(self.seed))
        return (spread >> np.uint64(64 - 16)).astype(np.intp)

    # -- a sample in memory -----------------------------------------------------------

    def bins_within(self, wanted: int) -> int:
        """As many bins of groups as have at most ``wanted`` rows together."""
        if self.in_bins is None:
            raise ValueError("expected groups")
        within = int(np.searchsorted(np.cumsum(self.in_bins), wanted, side="right"))
        if not self.in_bins[:within].any():
            raise InputError(
                f"expected groups of which many fit into {wanted:,} rows, got larger ones in "
                f"column {self.groups!r} of {self.table.source}; pass finer groups, or none"
            )
        return within

    def sample(self, wanted: int, bins: int | None) -> dict[str, Any]:
        """Read some rows: those of the first ``bins`` of groups, or each class in its share.

        Returns the arguments of ``retrain`` for them.
        """
        seed = self.seed + (self.which == "old")
        drawn: list[NDArray[np.int64]] = []
        if bins is None and wanted < len(self):
            drawn = draw_ordinals(self.counts.tolist(), wanted, seed)
        met = np.zeros(len(self.counts), dtype=np.int64)

        def choose(part: Any) -> NDArray[np.intp]:
            if wanted >= len(self):
                return np.arange(n_rows(part))
            if bins is not None:
                return np.flatnonzero(self._bins(part) < bins)
            strata, kept = self._strata(outcome_values(part[self.outcome])), []
            for k, ordinals in enumerate(drawn):
                rows = np.flatnonzero(strata == k)
                first, last = np.searchsorted(ordinals, [met[k], met[k] + len(rows)])
                kept.append(rows[ordinals[first:last] - met[k]])
                met[k] += len(rows)
            return np.sort(np.concatenate(kept))

        beside = {p: getattr(self, p) for p in NAMED[self.which] if getattr(self, p) is not None}
        columns = list(dict.fromkeys([*self.predictors, self.outcome, *beside.values()]))
        keys = [self.outcome if self.groups is None else self.groups]
        frame = self.table.gather(columns, keys, choose)
        out = {f"X_{self.which}": frame[list(self.predictors)], f"y_{self.which}": None}
        out[f"y_{self.which}"] = outcome_values(frame[self.outcome])
        for part, name in beside.items():
            out[NAMED[self.which][part]] = column_values(frame, name)
        return out

    # -- all rows ---------------------------------------------------------------------

    def frames(self, space: FeatureSpace) -> Iterator[tuple[Any, NDArray[Any], Any]]:
        """Go through all rows: predictors that the space knows, outcomes and weights."""
        wanted = self.predictors
        if space.names is not None:
            known = set(space.names)
            wanted = tuple(name for name in self.predictors if name in known)
        columns = [*wanted, self.outcome, *([] if self.weight is None else [self.weight])]
        met = 0
        for part in self.table.parts(list(dict.fromkeys(columns))):
            met += n_rows(part)
            yield (
                part[list(wanted)],
                self._outcomes(outcome_values(part[self.outcome])),
                self._weights(part),
            )
        if met != len(self):
            raise InputError(
                f"expected the same rows whenever {self.table.source} is read, got {len(self):,} "
                f"and then {met:,}; pass a table that nobody writes to and that draws nothing at "
                "random"
            )

    def coded(self, space: FeatureSpace, tree: Tree) -> Iterator[CodedRows]:
        """Go through all rows as the space codes them."""
        for frame, y, weight in self.frames(space):
            coded = space.encode(frame, tree.used_features)
            yield CodedRows(refuse_infinities(coded, space, name_of("X", self.which)), y, weight)


@dataclass(frozen=True, eq=False)
class RowsOnDisk:
    """The tables of which only a sample is in memory, for who needs all rows.

    ``n_old`` and ``n_new`` count all rows; ``fingerprints`` are those of all rows.
    """

    old: DiskRows | None
    new: DiskRows | None
    n_old: int
    n_new: int
    fingerprints: tuple[str, ...] = ()

    def part(self, *, old: bool) -> DiskRows | None:
        """Return the old or the new rows; None where all of them are in memory."""
        return self.old if old else self.new


# -- before the search ----------------------------------------------------------------------


def load_sample(
    deployed: Any, given: Mapping[str, Any], seed: int
) -> tuple[dict[str, Any], RowsOnDisk | None]:
    """Read tables on disk into memory, as much of them as may be held.

    ``given`` are arguments of ``retrain``; returned are the same with ordinary tables in place
    of those on disk, and where to find the rows that were left there (None: nowhere).
    """
    which = [w for w in ("old", "new") if is_on_disk(given[f"X_{w}"])]
    if not which:
        return dict(given), None
    tree = read_model(deployed)
    rows = {w: DiskRows.read(tree, w, given, seed) for w in which}
    in_memory = {
        w: 0 if given[f"X_{w}"] is None else n_rows(as_table(given[f"X_{w}"], name_of("X", w)))
        for w in ("old", "new")
        if w not in which
    }
    total = {w: len(rows[w]) if w in rows else in_memory[w] for w in ("old", "new")}
    if len(rows) == 2:
        n_old, n_new = share_sample(total["old"], total["new"], MEMORY_ROWS)
        wanted = {"old": n_old, "new": n_new}
    else:
        room = max(MEMORY_ROWS - sum(in_memory.values()), MEMORY_ROWS // 2)
        wanted = {w: min(room, total[w]) for w in which}
    sampled = {w: rows[w] for w in which if wanted[w] < total[w]}
    bins = {w: r.bins_within(wanted[w]) for w, r in sampled.items() if r.groups is not None}
    if len(bins) == 2:  # all old rows of a group that is among the new ones
        bins = dict.fromkeys(bins, min(bins.values()))
    out = dict(given)
    for w in which:
        out.update(rows[w].sample(wanted[w], bins.get(w)))
    if not sampled:
        return out, None
    policy = given.get("decision_threshold")
    if policy is not None and Decision.of(policy).asks_rate:

        def rate(at: int) -> float:
            of_class = sum(_of_class(rows.get(w), given, w, tree, at) for w in ("old", "new"))
            return of_class / sum(total.values())

        out["decision_threshold"] = resolve_decision(
            policy, tree.classes, rate, known=tree.decision
        )
    left = RowsOnDisk(sampled.get("old"), sampled.get("new"), total["old"], total["new"])
    return out, left


def _of_class(
    rows: DiskRows | None, given: Mapping[str, Any], which: str, tree: Tree, at: int
) -> int:
    """Count the rows of a class."""
    if rows is not None:
        return int(rows.counts[at]) if len(rows.counts) > at else 0
    y = given[f"y_{which}"]
    if y is None:
        return 0
    return int((code_outcomes(y, tree.classes, len(y), name=name_of("y", which)) == at).sum())


@dataclass(frozen=True, eq=False)
class _Look:
    """What goes beyond the space in one table, and hashes of its rows."""

    rows: DiskRows
    space: FeatureSpace
    unseen: list[int]
    examples: list[list[Any]]
    missing: list[int]
    outside: list[int]

    @classmethod
    def empty(cls, rows: DiskRows, space: FeatureSpace) -> _Look:
        n = space.n_features
        return cls(rows, space, [0] * n, [[] for _ in range(n)], [0] * n, [0] * n)

    def add(self, frame: Any, coded: NDArray[np.float64]) -> None:
        """Look at a batch."""
        space = self.space
        gone = np.isnan(coded)
        for j, categories in enumerate(space.categories):
            if categories is None:
                with np.errstate(invalid="ignore"):
                    beyond = (coded[:, j] < space.lower[j]) | (coded[:, j] > space.upper[j])
                self.outside[j] += int(beyond.sum())
            unknown = 0
            lacking = space.names is not None and space.names[j] not in frame.columns
            if lacking or not gone[:, j].any():
                continue
            if categories is not None:
                column = j if space.names is None else space.names[j]
                values = column_values(frame, column)[gone[:, j]]
                fresh = values[~np.asarray(pd.isna(values), dtype=bool)]
                unknown = len(fresh)
                for value in pd.unique(fresh):
                    if len(self.examples[j]) < SHOWN and value not in self.examples[j]:
                        self.examples[j].append(value)
            self.unseen[j] += unknown
            if not space.can_be_missing[j]:
                self.missing[j] += int(gone[:, j].sum()) - unknown

    def warnings(self) -> Iterator[str]:
        """Say what rows beyond the sample are treated as."""
        every = f"of the {len(self.rows):,} {self.rows.which} rows"
        for j, name in enumerate(self.space.feature_labels):
            if self.unseen[j]:
                shown = ", ".join(repr(value) for value in self.examples[j])
                yield (
                    f"{self.unseen[j]:,} {every} have categories of {name!r} that no row of the "
                    f"sample has ({shown}); they follow missing values, and count where these go"
                )
            if self.missing[j]:
                yield (
                    f"{self.missing[j]:,} {every} have no {name!r}, which every row of the sample "
                    "has; they count where missing values go"
                )

    def remarks(self) -> Iterator[str]:
        """Say what is no cause for alarm."""
        beyond = [j for j, count in enumerate(self.outside) if count]
        if beyond:
            names = ", ".join(
                f"{self.space.feature_labels[j]!r} in {self.outside[j]:,}" for j in beyond[:SHOWN]
            )
            yield (
                f"of the {len(self.rows):,} {self.rows.which} rows some have numbers beyond the "
                f"range of the space ({names}{', ...' if len(beyond) > SHOWN else ''}); they count "
                "in the outermost rules, and the range that dissimilarities are measured over "
                "stays as it is"
            )


def look_at_rows(problem: Problem, left: RowsOnDisk) -> tuple[Problem, list[str]]:
    """Look at every row before the search; return the problem that knows them, and warnings.

    ``problem`` is the one of the sample. Rows that are among the old as well as among the new
    ones would count twice: they are refused.
    """
    space, deployed = problem.space, problem.deployed
    totals = {True: 0, False: 0}
    warned: list[str] = []
    remarks: list[str] = []
    in_new = row_hashes(problem.compared(problem.new))
    wanted = in_new
    if problem.old is not None:
        wanted = np.concatenate([in_new, row_hashes(problem.compared(problem.old))])
    targets = np.unique(wanted)
    met = np.zeros(len(targets), dtype=np.int64)
    for old, memory in ((True, problem.old), (False, problem.new)):
        rows = left.part(old=old)
        if rows is None:
            if memory is not None:
                hashes = row_hashes(problem.compared(memory), weighted=True)
                totals[old] = int(hashes.sum(dtype=np.uint64))
            continue
        look = _Look.empty(rows, space)
        for frame, y, weight in rows.frames(space):
            coded = space.encode(frame, deployed.used_features)
            look.add(frame, refuse_infinities(coded, space, name_of("X", rows.which)))
            compared = problem.compared(CodedRows(coded, y, weight))
            totals[old] += int(row_hashes(compared, weighted=True).sum(dtype=np.uint64))
            if old:
                at = _positions(targets, row_hashes(compared))
                met += np.bincount(at[at >= 0], minlength=len(targets))
        for j in problem.imputed:
            look.missing[j] = 0  # the deployed pipeline fills them in
        warned += look.warnings()
        remarks += look.remarks()
    n_memory = 0 if problem.old is None else len(problem.old)
    if left.old is not None:
        of_new, of_old = met[_positions(targets, in_new)], met[_positions(targets, wanted)]
        _refuse_copies(float((of_new > 0).mean()), of_old[len(in_new) :], len(in_new))
    elif left.n_old != n_memory:  # found and left out, but only those of the sample
        _refuse_copies((left.n_old - n_memory) / len(in_new))
    width = space.n_features
    found = [fingerprint_of(totals[False], left.n_new, width)]
    if left.n_old:
        every = totals[True] + totals[False]
        found.insert(0, fingerprint_of(every, left.n_old + left.n_new, width))
    notes = (*problem.notes, *warned, *remarks)
    left = replace(left, fingerprints=tuple(found))
    return replace(problem, on_disk=left, notes=notes), warned


def _positions(targets: NDArray[np.uint64], hashes: NDArray[np.uint64]) -> NDArray[np.intp]:
    """Position of each hash in sorted targets; -1 where it is none."""
    at = np.clip(np.searchsorted(targets, hashes), 0, len(targets) - 1)
    return np.where(targets[at] == hashes, at, -1)


def _refuse_copies(share: float, times: NDArray[np.int64] | None = None, n: int = 0) -> None:
    """Refuse tables that overlap: a ``share`` of the sampled new rows is among the old ones.

    ``times``: how often each of some old rows occurs among all of them, which says how often
    rows are equal by chance.
    """
    if times is not None:
        by_chance = float((times > 1).mean()) if len(times) else 0.0
        if not beyond_chance(share, n, by_chance):
            return
    raise InputError(
        f"expected old rows that are not among the new rows too, got {share:.0%} of a sample of "
        "the new rows in both tables; on disk they cannot be told apart, so leave them out first, "
        "for example with a filter of a polars lazy frame"
    )
