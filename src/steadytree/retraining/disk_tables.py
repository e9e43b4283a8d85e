"""Tables that stay on disk, gone through a batch of rows at a time.

A table larger than memory cannot be passed as a frame. Parquet files, a pyarrow dataset or a
polars lazy frame can: only the columns asked for are read, and never more than a batch of rows
(of a Parquet file: a page of each column) is held at once.
"""

from __future__ import annotations

import glob
import os
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadytree._optional import import_optional
from steadytree.core.quoting import quoted
from steadytree.exceptions import InputError

__all__ = ["PARQUET", "DiskTable", "is_on_disk", "open_table", "parquet_rows"]

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
