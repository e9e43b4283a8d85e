"""Rows of a table, coded once: what everything that reads data is given.

Reading a user's table (names, categories, missing values) costs more than most of what is
done with it, and two readings can disagree. So a table is coded once in a space, and the
coded rows travel with their outcomes, weights and groups.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from steadytree._text import quoted
from steadytree.exceptions import InputError
from steadytree.tree.columns import (
    column_names,
    column_values,
    encode_table,
    find_columns,
    n_rows,
    numeric_column,
    outcome_values,
)
from steadytree.tree.space import FeatureSpace

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CodedRows:
    """Coded rows with what belongs to each of them.

    Attributes
    ----------
    coded : float array (n, n_features)
        As coded by ``FeatureSpace.encode``: numbers, positions of categories, NaN = missing.
    y : array (n,)
        Positions in the classes, or responses.
    weight : float array (n,) or None
        Sample weights; None where all are equal.
    groups : array (n,) or None
        Rows of one group (a patient) belong together.
    table : array or frame, optional
        The rows as the user passed them, for whoever asks for a column by name.
    """

    coded: FloatArray
    y: NDArray[Any]
    weight: FloatArray | None = None
    groups: NDArray[Any] | None = None
    table: Any = None

    def __len__(self) -> int:
        return len(self.y)

    @property
    def weights(self) -> FloatArray:
        """Sample weights, 1 where none were given."""
        return np.ones(len(self)) if self.weight is None else self.weight

    def take(self, rows: NDArray[Any]) -> CodedRows:
        """Return some of the rows."""
        parts = {f.name: getattr(self, f.name) for f in fields(self)}
        return replace(
            self, **{k: _safe_indexing(v, rows) for k, v in parts.items() if v is not None}
        )

    def with_weight(self, weight: FloatArray | None) -> CodedRows:
        """Return the same rows with other weights; weights of 1 throughout are dropped."""
        equal = weight is not None and bool((weight == 1).all())
        return replace(self, weight=None if equal else weight)

    @classmethod
    def stack(cls, parts: Sequence[CodedRows]) -> CodedRows:
        """Put rows under each other; weights of 1 where only some parts have any."""
        if len(parts) == 1:
            return parts[0]
        weighted = any(part.weight is not None for part in parts)
        return cls(
            np.concatenate([part.coded for part in parts]),
            np.concatenate([part.y for part in parts]),
            np.concatenate([part.weights for part in parts]) if weighted else None,
        )


def row_hashes(rows: CodedRows, *, weighted: bool = False) -> NDArray[np.uint64]:
    """Return one 64-bit number per row, equal for rows of the same values and outcome.

    Missing equals missing, and -0.0 equals 0.0. With ``weighted`` the weights count too.
    """
    columns = [*rows.coded.T, rows.y, *([rows.weights] if weighted else [])]
    hashes = np.zeros(len(rows), dtype=np.uint64)
    for column in columns:
        values = np.asarray(column, dtype=np.float64) + 0.0  # -0.0 + 0.0 is 0.0
        values[np.isnan(values)] = np.nan  # one NaN for all
        hashes = _mixed_bits(hashes ^ _mixed_bits(values.view(np.uint64)))
    return hashes


_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def _mixed_bits(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Finish of splitmix64: every bit of the input changes about half of the output's."""
    bits = bits + _GOLDEN
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(bits ^ (bits >> np.uint64(31)))


TRAINING_ROWS = "training_rows"
"""Entry of a tree's metadata that lists the fingerprints of the tables it was made from."""


def fingerprint(rows: CodedRows) -> str:
    """Digest of coded rows, outcomes and weights, by which the same rows are known again.

    It does not depend on the order of the rows (how often a row occurs does count), and no
    weights are the same as weights of 1. It depends on the coding: the columns in their order,
    categories by position.
    """
    total = int(row_hashes(rows, weighted=True).sum(dtype=np.uint64))
    return f"{len(rows)}x{rows.coded.shape[1]}-{total:016x}"


def stack_tables(tables: Sequence[Any]) -> Any:
    """Put the rows of tables of one kind (pandas, polars, arrays) under each other."""
    first = tables[0]
    if isinstance(first, pd.DataFrame):
        return pd.concat(tables, ignore_index=True)
    if hasattr(first, "vstack"):  # polars
        for table in tables[1:]:
            first = first.vstack(table)
        return first
    return np.concatenate([np.asarray(table) for table in tables])


def code_table(X: Any, space: FeatureSpace, needed: Set[str] | None = None) -> FloatArray:
    """Code a table in a space; one-hot columns stand in for a feature that it lacks.

    A frame may lack columns of features that are not ``needed`` (by default all are).
    """
    have, names = column_names(X) or (), space.names or ()
    wanted = None if needed is None else {j for j, name in enumerate(names) if name in needed}
    groups = {name: space.one_hot[name] for name in space.one_hot if name not in have}
    if not have or not groups:
        return space.encode(X, wanted)
    plain = [j for j, name in enumerate(names) if name not in groups]
    out = np.full((n_rows(X), space.n_features), np.nan)
    out[:, plain] = encode_table(
        X,
        names=[names[j] for j in plain],
        n_features=len(plain),
        categories=tuple(space.categories[j] for j in plain),
        needed=None if wanted is None else {i for i, j in enumerate(plain) if j in wanted},
    )
    for name, category_of in groups.items():
        j = space.position[name]
        codes = {category: code for code, category in enumerate(space.categories[j] or ())}
        columns = list(category_of)
        if needed is None or needed & {name, *columns}:
            find_columns(X, columns, len(columns))
        for column, category in category_of.items():
            if column in have:
                holds = numeric_column(column_values(X, column), column) > 0.5
                out[holds, j] = codes[category]
    return out


def code_outcomes(
    y: Any,
    classes: Sequence[Any] | None,
    n_rows: int,
    *,
    name: str = "y",
    owner: str = "the deployed tree",
    fix: str = "a new class needs a new tree: train one with all classes and deploy it",
) -> NDArray[Any]:
    """Positions of outcomes in the classes, or (``classes=None``) responses as floats.

    The errors say what ``y`` is called, whose classes these are, and what to do about a class
    that is not among them (``name``, ``owner``, ``fix``).
    """
    values = outcome_values(y)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.shape != (n_rows,):
        raise InputError(
            f"expected {n_rows} outcomes in {name}, one per row, got shape {values.shape}; "
            "pass the outcomes of the same rows in the same order"
        )
    floats = values.dtype.kind == "f" and classes is not None
    lacking = int(pd.isna(values).sum()) if values.dtype.kind == "O" or floats else 0
    if lacking:
        raise InputError(
            f"expected an outcome in every row of {name}, got {lacking} missing; "
            "drop these rows first"
        )
    if classes is None:
        try:
            numbers = values.astype(np.float64)
        except (TypeError, ValueError):
            raise InputError(
                f"expected numbers in {name}: {owner} is a regression tree, got {values.dtype}; "
                "a class outcome needs a classification tree"
            ) from None
        if not np.isfinite(numbers).all():
            raise InputError(f"expected finite outcomes in {name}, got missing or infinite ones")
        return numbers
    position = {c: i for i, c in enumerate(classes)}
    plain = values.tolist()
    unseen = sorted({str(v) for v in plain if v not in position})
    if not unseen:
        return np.array([position[v] for v in plain], dtype=np.int64)
    if set(unseen) <= {str(c) for c in classes}:
        kinds = [type(next(iter(part))).__name__ for part in (classes, set(plain) - set(position))]
        got = f"the same as {kinds[1]}"
        fix = f"convert the outcomes to {kinds[0]} first"
    else:
        got = "unseen " + ", ".join(unseen[:5]) + (", ..." if len(unseen) > 5 else "")
        if values.dtype.kind == "f" and len(unseen) > 20:
            fix = "these look like responses: they need a regression tree"
    raise InputError(
        f"expected {owner}'s classes {quoted(list(classes))} in {name}, got {got}; {fix}"
    )
