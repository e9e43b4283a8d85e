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
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from steadytree._optional import import_optional
from steadytree._text import quoted
from steadytree.exceptions import InputError
from steadytree.retraining.given import Rows, beyond_chance, draw_ordinals, name_of, share_sample
from steadytree.retraining.widening import refuse_infinities
from steadytree.tree.columns import as_table, column_values, n_rows, outcome_values
from steadytree.tree.decision import Decision, resolve_decision
from steadytree.tree.rows import CodedRows, code_outcomes, fingerprint_of, mixed_bits, row_hashes
from steadytree.tree.space import FeatureSpace
from steadytree.tree.tree import Tree

if TYPE_CHECKING:
    from steadytree.retraining.problem import Problem

BATCH_ROWS = 65_536
PARQUET = (".parquet", ".pq")
BUFFER_BYTES = 1 << 20
MEMORY_ROWS = 200_000
"""Most rows of tables on disk, old and new together, that are held in memory."""
GROUP_BINS = 1 << 16
SHOWN = 5
_PURPOSE = "a table that stays on disk"

Choose = Callable[[Any], NDArray[np.intp]]
"""Which rows of a frame of some columns to keep: their positions, in order."""

# A table larger than memory cannot be passed as a frame. Parquet files, a pyarrow dataset or a
# polars lazy frame can: only the columns asked for are read, and never more than a batch of rows
# (of a Parquet file: a page of each column) is held at once.


@dataclass(frozen=True, eq=False)
class DiskTable:
    """A table on disk: the names of its columns, and its rows in batches, in a fixed order.

    It holds no open file, so that it can be sent to workers. ``source`` is what errors call it;
    ``batches`` yields some columns anew, as batches of pyarrow or frames of polars.
    """

    source: str
    names: tuple[str, ...]
    batches: Callable[[list[str]], Iterator[Any]]

    def parts(self, columns: Sequence[str]) -> Iterator[Any]:
        """Go through the rows anew, as frames of at most ``BATCH_ROWS`` rows."""
        for batch in self.batches(list(dict.fromkeys(columns))):
            yield _frame([batch])

    def gather(self, columns: Sequence[str], keys: Sequence[str], choose: Choose) -> Any:
        """Return the rows that ``choose`` keeps of each batch, seeing its ``keys`` columns."""
        kept = []
        for batch in self.batches(list(dict.fromkeys([*columns, *keys]))):
            rows = choose(_frame([batch.select(list(keys))]))
            part = batch.select(list(columns))
            kept.append(part.take(_arrow().array(rows)) if _of_arrow(part) else part[rows])
        return _frame(kept)

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


def _arrow(module: str = "pyarrow") -> Any:
    return import_optional(module, extra="parquet", purpose=_PURPOSE)


def _of_arrow(batch: Any) -> bool:
    return type(batch).__module__.startswith("pyarrow")


def _frame(batches: Sequence[Any]) -> Any:
    """Join batches into one frame: of pandas if they are of pyarrow, else of polars."""
    if not _of_arrow(batches[0]):
        return import_optional("polars", extra="polars", purpose=_PURPOSE).concat(batches)
    pa = _arrow()
    tables = [pa.Table.from_batches([batch]) for batch in batches]
    # Files of one folder may disagree (whole numbers here, fractions there).
    table = pa.concat_tables(tables, promote_options="permissive")
    return table.unify_dictionaries().to_pandas().reset_index(drop=True)


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
    if not hasattr(X, "collect_schema"):
        return _open_dataset(X, f"the dataset in {name}")
    if not hasattr(X, "collect_batches"):
        pl = import_optional("polars", extra="polars", purpose=_PURPOSE)
        raise InputError(
            f"expected a polars whose lazy frames can be read in batches, got {pl.__version__};"
            " upgrade it with: pip install -U polars"
        )
    names = tuple(X.collect_schema().names())
    return DiskTable(f"the lazy frame in {name}", names, partial(_batches_of_polars, X))


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
        return _open_files([place], str(place))
    if place.is_dir():
        found = [file for file in sorted(place.rglob("*")) if _is_parquet(file, place)]
        if any("=" in part for file in found for part in file.relative_to(place).parts[:-1]):
            ds = _arrow("pyarrow.dataset")
            return _open_dataset(ds.dataset(path, format="parquet", partitioning="hive"), path)
    else:
        found = [Path(file) for file in sorted(glob.glob(path, recursive=True))]
        found = [file for file in found if _is_parquet(file, file.parent)]
    if not found:
        what = "a folder without any" if place.is_dir() else f"{path!r}, which matches none"
        raise InputError(
            f"expected Parquet files (.parquet) as {name}, got {what}; pass a file, a folder of "
            "files or a pattern such as 'rows/*.parquet', or the table itself"
        )
    return _open_files(found, path)


def _is_parquet(file: Path, inside: Path) -> bool:
    """Whether a file of a folder is one of its tables: hidden ones are not."""
    hidden = any(part.startswith((".", "_")) for part in file.relative_to(inside).parts)
    return file.is_file() and file.name.lower().endswith(PARQUET) and not hidden


def _open_files(files: Sequence[Path], source: str) -> DiskTable:
    """Open one or several Parquet files, in the order of their names."""
    pq = _arrow("pyarrow.parquet")
    names: tuple[str, ...] = ()
    for file in files:
        with _readable(file):
            schema = pq.read_schema(file)
        names = names or _column_names(schema)
        lacking = sorted(set(names) - set(_column_names(schema)))
        if lacking:
            raise InputError(
                f"expected the columns of {files[0]} in every file, got {file} without "
                f"{quoted(lacking)}; add them, or pass the files that have them"
            )
    return DiskTable(source, names, partial(_batches_of_files, tuple(files)))


def _open_dataset(dataset: Any, source: str) -> DiskTable:
    """Open a ``pyarrow.dataset.Dataset``: files of any format it reads, with its partitions."""
    return DiskTable(source, _column_names(dataset.schema), partial(_batches_of_dataset, dataset))


def _batches_of_files(files: Sequence[Path], columns: list[str]) -> Iterator[Any]:
    pq = _arrow("pyarrow.parquet")
    for path in files:
        # Without these settings whole row groups are read ahead, however large they are.
        with pq.ParquetFile(path, pre_buffer=False, buffer_size=BUFFER_BYTES) as file:
            yield from file.iter_batches(BATCH_ROWS, columns=columns)


def _batches_of_dataset(dataset: Any, columns: list[str]) -> Iterator[Any]:
    ds = _arrow("pyarrow.dataset")
    reading: dict[str, Any] = {}
    if isinstance(getattr(dataset, "format", None), ds.ParquetFileFormat):
        reading["fragment_scan_options"] = ds.ParquetFragmentScanOptions(
            use_buffered_stream=True, buffer_size=BUFFER_BYTES, pre_buffer=False
        )
    batches = dataset.to_batches(
        columns=columns,
        batch_size=BATCH_ROWS,
        batch_readahead=1,
        fragment_readahead=1,
        use_threads=False,
        **reading,
    )
    return (batch for batch in batches if batch.num_rows)


def _batches_of_polars(frame: Any, columns: list[str]) -> Iterator[Any]:
    """Collect a lazy frame in streams."""
    stream = frame.select(columns).collect_batches(
        chunk_size=BATCH_ROWS, maintain_order=True, engine="streaming"
    )
    for batch in stream:
        for start in range(0, batch.height, BATCH_ROWS):
            yield batch.slice(start, BATCH_ROWS)


def parquet_rows(file: Path) -> int:
    """Count the rows of a Parquet file, as its metadata have them: no row is read."""
    pq = import_optional("pyarrow.parquet", extra="parquet", purpose=f"reading {file}")
    with _readable(file), pq.ParquetFile(file) as opened:
        return int(opened.metadata.num_rows)


@contextmanager
def _readable(file: Path) -> Iterator[None]:
    """Say in our words that a file is no Parquet, or cannot be read."""
    try:
        yield
    except Exception as error:
        if not (isinstance(error, OSError) or type(error).__module__.startswith("pyarrow")):
            raise
        why = (str(error).splitlines() or ["no reason given"])[0]
        raise InputError(
            f"expected Parquet in {file}, got: {why}; write it again, or pass another file"
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


# -- the old or the new rows -----------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class DiskRows:
    """The old or the new rows on disk, and which columns of theirs are what.

    ``given`` names columns. ``counts`` holds the rows of each class (of a regression: all rows),
    ``in_bins`` those of groups by the bin that a group falls into.
    """

    table: DiskTable
    which: str
    classes: tuple[Any, ...] | None
    given: Rows
    time: str | None
    predictors: tuple[str, ...]
    seed: int
    counts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    in_bins: NDArray[np.int64] | None = None

    @classmethod
    def read(cls, tree: Tree, which: str, given: Rows, time: Any, seed: int) -> DiskRows:
        """Open a table, find its columns, and count its outcomes."""
        table = open_table(given.X, name_of("X", which))
        named = {"y": given.y, "weight": given.sample_weight, "groups": given.groups, "time": time}
        named = {
            part: column for part, column in named.items() if column is not None or part == "y"
        }
        table.require([(name_of(part, which), column) for part, column in named.items()])
        others = set(named.values()).difference(tree.feature_names or ()) | {given.y}
        predictors = tuple(name for name in table.names if name not in others)
        if not predictors:
            raise InputError(
                f"expected predictors in {table.source}, got no column besides {sorted(others)}"
            )
        return cls(table, which, tree.classes, given, time, predictors, seed)._counted()

    def __len__(self) -> int:
        return int(self.counts.sum())

    def _counted(self) -> DiskRows:
        """Go through the outcomes: rows of each class, and of each bin of groups."""
        given, outcome = self.given, self.given.y
        counts = np.zeros(1 if self.classes is None else len(self.classes), dtype=np.int64)
        bins = None if given.groups is None else np.zeros(GROUP_BINS, dtype=np.int64)
        n_missing = 0
        columns = [c for c in (outcome, given.sample_weight, given.groups) if c is not None]
        for part in self.table.parts(columns):
            y = outcome_values(part[outcome])
            missing = np.asarray(pd.isna(y), dtype=bool)
            n_missing += int(missing.sum())
            counts += np.bincount(self._strata(y[~missing]), minlength=len(counts))
            self._weights(part)
            if bins is not None:
                bins += np.bincount(self._bins(part), minlength=GROUP_BINS)
        if n_missing:
            raise InputError(
                f"expected an outcome in every row of {self.table.source}, got {n_missing:,} "
                f"missing in {outcome!r}; drop these rows first, for example with a polars lazy "
                f"frame: scan_parquet(...).drop_nulls({outcome!r})"
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
        column = self.given.sample_weight
        if column is None:
            return None
        values = pd.to_numeric(pd.Series(column_values(part, column)), errors="coerce")
        weights = values.to_numpy(dtype=np.float64)
        if not (np.isfinite(weights) & (weights >= 0)).all():
            raise InputError(
                f"expected finite weights >= 0 in column {column!r} of {self.table.source}, "
                "got others; replace them first"
            )
        return weights

    def _bins(self, part: Any) -> NDArray[np.intp]:
        """Bin of the group of each row: the same for a group wherever it occurs."""
        values = column_values(part, self.given.groups)
        if values.dtype.kind in "iufb":  # whole numbers become fractions beside missing ones
            values = values.astype(np.float64)
        hashes = pd.util.hash_array(values if values.dtype.kind == "f" else values.astype(object))
        spread = mixed_bits(hashes.astype(np.uint64) ^ np.uint64(self.seed))
        return (spread >> np.uint64(64 - 16)).astype(np.intp)

    def bins_within(self, wanted: int) -> int:
        """As many bins of groups as have at most ``wanted`` rows together."""
        assert self.in_bins is not None
        within = int(np.searchsorted(np.cumsum(self.in_bins), wanted, side="right"))
        if not self.in_bins[:within].any():
            raise InputError(
                f"expected groups of which many fit into {wanted:,} rows, got larger ones in "
                f"column {self.given.groups!r} of {self.table.source}; pass finer groups, or none"
            )
        return within

    def sample(self, wanted: int, bins: int | None) -> tuple[Rows, Any]:
        """Read some rows: those of the first ``bins`` of groups, or each class in its share.

        Returns them with their times.
        """
        given = self.given
        drawn: list[NDArray[np.int64]] = []
        if bins is None and wanted < len(self):
            seed = self.seed + (self.which == "old")
            drawn = draw_ordinals(self.counts.tolist(), wanted, seed)
        passed = np.zeros(len(self.counts), dtype=np.int64)

        def choose(part: Any) -> NDArray[np.intp]:
            if wanted >= len(self):
                return np.arange(n_rows(part))
            if bins is not None:
                return np.flatnonzero(self._bins(part) < bins)
            strata, kept = self._strata(outcome_values(part[given.y])), []
            for k, ordinals in enumerate(drawn):
                rows = np.flatnonzero(strata == k)
                first, last = np.searchsorted(ordinals, [passed[k], passed[k] + len(rows)])
                kept.append(rows[ordinals[first:last] - passed[k]])
                passed[k] += len(rows)
            return np.sort(np.concatenate(kept))

        beside = [c for c in (given.sample_weight, given.groups, self.time) if c is not None]
        columns = list(dict.fromkeys([*self.predictors, given.y, *beside]))
        keys = [given.y if given.groups is None else given.groups]
        frame = self.table.gather(columns, keys, choose)
        weight, groups, time = (
            None if column is None else column_values(frame, column)
            for column in (given.sample_weight, given.groups, self.time)
        )
        y = outcome_values(frame[given.y])
        return Rows(frame[list(self.predictors)], y, weight, groups), time

    def frames(self, space: FeatureSpace) -> Iterator[tuple[Any, NDArray[Any], Any]]:
        """Go through all rows: predictors that the space knows, outcomes and weights."""
        known = set(self.predictors if space.names is None else space.names)
        wanted = [name for name in self.predictors if name in known]
        weight = self.given.sample_weight
        n_read = 0
        for part in self.table.parts(
            [*wanted, self.given.y, *([] if weight is None else [weight])]
        ):
            n_read += n_rows(part)
            y = self._outcomes(outcome_values(part[self.given.y]))
            yield part[wanted], y, self._weights(part)
        if n_read != len(self):
            raise InputError(
                f"expected the same rows whenever {self.table.source} is read, got {len(self):,} "
                f"and then {n_read:,}; pass a table that nobody writes to and that draws nothing "
                "at random"
            )

    def coded(
        self, space: FeatureSpace, tree: Tree, look: Callable[[Any, Any], None] | None = None
    ) -> Iterator[CodedRows]:
        """Go through all rows as the space codes them; ``look`` is shown each frame so coded."""
        for frame, y, weight in self.frames(space):
            coded = space.encode(frame, tree.used_features)
            if look is not None:
                look(frame, coded)
            yield CodedRows(refuse_infinities(coded, space, name_of("X", self.which)), y, weight)


@dataclass(frozen=True, eq=False)
class RowsOnDisk:
    """The tables of which only a sample is in memory, for who needs all rows.

    ``rows`` holds the "old" and the "new" ones, those that are on disk; ``n_old`` and ``n_new``
    count all rows; ``fingerprints`` are those of all rows.
    """

    rows: Mapping[str, DiskRows]
    n_old: int
    n_new: int
    fingerprints: tuple[str, ...] = ()


# -- before the search ----------------------------------------------------------------------


class Loaded(NamedTuple):
    """What ``retrain`` is given once tables on disk were read, as much of them as may be held.

    ``left`` says where to find the rows that were left on disk; None: nowhere.
    """

    new: Rows
    old: Rows | None
    time: Any
    decision: Any
    left: RowsOnDisk | None = None


def load_sample(
    tree: Tree, new: Rows, old: Rows | None, time: Any, decision: Any, seed: int
) -> Loaded:
    """Read tables on disk into memory, as much of them as may be held."""
    given = {"new": new} if old is None else {"old": old, "new": new}
    which = [w for w in given if is_on_disk(given[w].X)]
    if not which:
        return Loaded(new, old, time, decision)
    rows = {w: DiskRows.read(tree, w, given[w], time if w == "new" else None, seed) for w in which}
    total = {"old": 0} | {
        w: len(rows[w]) if w in rows else n_rows(as_table(part.X, name_of("X", w)))
        for w, part in given.items()
    }
    if len(rows) == 2:
        n_old, n_new = share_sample(total["old"], total["new"], MEMORY_ROWS)
        wanted = {"old": n_old, "new": n_new}
    else:
        in_memory = sum(count for w, count in total.items() if w not in rows)
        room = max(MEMORY_ROWS - in_memory, MEMORY_ROWS // 2)
        wanted = {w: min(room, total[w]) for w in rows}
    sampled = {w: rows[w] for w in rows if wanted[w] < total[w]}
    bins = {w: r.bins_within(wanted[w]) for w, r in sampled.items() if r.in_bins is not None}
    if len(bins) == 2:  # all old rows of a group that is among the new ones
        bins = dict.fromkeys(bins, min(bins.values()))
    outcomes = {w: part.y for w, part in given.items()}
    for w in rows:
        given[w], times = rows[w].sample(wanted[w], bins.get(w))
        time = times if w == "new" else time
    loaded = Loaded(given["new"], given.get("old"), time, decision)
    if not sampled:
        return loaded
    if decision is not None and Decision.of(decision).asks_rate:

        def rate(at: int) -> float:
            counts = [
                rows[w].counts[at]
                if w in rows
                else (code_outcomes(y, tree.classes, len(y), name=name_of("y", w)) == at).sum()
                for w, y in outcomes.items()
            ]
            return float(sum(counts)) / sum(total.values())

        decision = resolve_decision(decision, tree.classes, rate, known=tree.decision)
    left = RowsOnDisk(sampled, total["old"], total["new"])
    return loaded._replace(decision=decision, left=left)


class _Look:
    """What goes beyond the space in one table: counts of rows by feature."""

    def __init__(self, rows: DiskRows, space: FeatureSpace) -> None:
        self.rows, self.space = rows, space
        self.unseen, self.missing, self.outside = np.zeros((3, space.n_features), dtype=np.int64)
        self.examples: list[list[Any]] = [[] for _ in range(space.n_features)]

    def at(self, frame: Any, coded: NDArray[np.float64]) -> None:
        """Look at a batch."""
        space = self.space
        missing = np.isnan(coded)
        with np.errstate(invalid="ignore"):
            self.outside += ((coded < space.lower) | (coded > space.upper)).sum(axis=0)
        for j, categories in enumerate(space.categories):
            lacking = space.names is not None and space.names[j] not in frame.columns
            if lacking or not missing[:, j].any():
                continue
            unseen = 0
            if categories is not None:
                column = j if space.names is None else space.names[j]
                values = column_values(frame, column)[missing[:, j]]
                fresh = values[~np.asarray(pd.isna(values), dtype=bool)]
                unseen = len(fresh)
                for value in pd.unique(fresh):
                    if len(self.examples[j]) < SHOWN and value not in self.examples[j]:
                        self.examples[j].append(value)
            self.unseen[j] += unseen
            if not space.can_be_missing[j]:
                self.missing[j] += int(missing[:, j].sum()) - unseen

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
        labels, beyond = self.space.feature_labels, np.flatnonzero(self.outside).tolist()
        if beyond:
            names = ", ".join(f"{labels[j]!r} in {self.outside[j]:,}" for j in beyond[:SHOWN])
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
    space = problem.space
    memory = {"old": problem.old, "new": problem.new}
    hashes = {w: row_hashes(problem.compared(r)) for w, r in memory.items() if r is not None}
    targets = np.unique(np.concatenate(list(hashes.values())))
    times = np.zeros(len(targets), dtype=np.int64)  # among the old rows on disk
    totals = {"old": 0, "new": 0}
    warned: list[str] = []
    remarks: list[str] = []
    for w, held in memory.items():
        every: Iterator[CodedRows] = iter([] if held is None else [held])
        look = _Look(left.rows[w], space) if w in left.rows else None
        if look is not None:
            every = look.rows.coded(space, problem.deployed, look.at)
        for part in every:
            compared = problem.compared(part)
            totals[w] += int(row_hashes(compared, weighted=True).sum(dtype=np.uint64))
            if look is not None and w == "old":
                at = _positions(targets, row_hashes(compared))
                times += np.bincount(at[at >= 0], minlength=len(targets))
        if look is not None:
            look.missing[list(problem.imputed)] = 0  # the deployed pipeline fills them in
            warned += look.warnings()
            remarks += look.remarks()
    n_memory = 0 if problem.old is None else len(problem.old)
    if "old" in left.rows:
        again = {w: times[_positions(targets, found)] for w, found in hashes.items()}
        share = float((again["new"] > 0).mean())
        by_chance = float((again["old"] > 1).mean()) if "old" in again else 0.0
        overlap = beyond_chance(share, len(problem.new), by_chance)
    else:  # found and left out, but only those of the sample
        share = (left.n_old - n_memory) / len(problem.new)
        overlap = left.n_old != n_memory
    if overlap:
        raise InputError(
            f"expected old rows that are not among the new rows too, got {share:.0%} of a sample "
            "of the new rows in both tables; on disk they cannot be told apart, so leave them out "
            "first, for example with a filter of a polars lazy frame"
        )
    found = [fingerprint_of(totals["new"], left.n_new, space.n_features)]
    if left.n_old:
        every_row = totals["old"] + totals["new"]
        found.insert(0, fingerprint_of(every_row, left.n_old + left.n_new, space.n_features))
    left = replace(left, fingerprints=tuple(found))
    return replace(problem, on_disk=left, notes=(*problem.notes, *warned, *remarks)), warned


def _positions(targets: NDArray[np.uint64], hashes: NDArray[np.uint64]) -> NDArray[np.intp]:
    """Position of each hash in sorted targets; -1 where it is none."""
    at = np.clip(np.searchsorted(targets, hashes), 0, len(targets) - 1)
    return np.where(targets[at] == hashes, at, -1)
