"""How large a tree, a space or a model file may be, so that small files cannot ask for long work.

Far above what anybody could read and far below what would fill a machine. Each number is stated in
the documentation (docs/guide/limits.md), which a test holds against this module.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

import numpy as np

from steadytree._text import quoted
from steadytree.exceptions import InputError, TreeFormatError

# -- How much memory an object holds: whoever spreads objects over machines asks Python for it --


class HoldsArrays:
    """For objects whose arrays are most of them: ``sys.getsizeof`` counts these.

    Dask asks it where to send what and how full a worker is. It took a tree for 56 bytes, and
    sent it along with every task. What objects have in common, such as a space, is not followed.
    """

    def __sizeof__(self) -> int:
        held = object.__sizeof__(self)
        for value in vars(self).values():
            parts = value if isinstance(value, tuple) else (value,)
            held += sum(p.nbytes if isinstance(p, np.ndarray) else sys.getsizeof(p) for p in parts)
        return held


# -- How large a tree, a space or a model file may be: small files ask for no long work --

MAX_FILE_BYTES = 256 * 2**20
"""Size of the largest model file that is read."""
MAX_NODES = 1_000_000
"""Nodes of a tree in a file, leaves included."""
MAX_DEPTH = 1_000
"""Levels of a tree below its root."""
MAX_FEATURES = 1_000_000
"""Features of a tree or a space."""
MAX_UNLISTED_FEATURES = 200_000
"""Features that a file counts without listing them, so that a few bytes stay cheap."""
MAX_CATEGORIES = 250_000
"""Categories of one feature."""
MAX_CATEGORY_CELLS = 10_000_000
"""Categories summed over all splits by category: what deciding with them keeps in memory."""
MAX_CLASSES = 100_000
"""Classes of a tree."""
MAX_VALUE_CELLS = 50_000_000
"""Nodes times classes: the shares that a tree in a file keeps in memory, 8 bytes each."""
MAX_TEXT = 100_000
"""Characters of the name of a feature, of a class or of a category."""
MAX_JSON_DEPTH = 500
"""Lists and objects inside one another in a JSON file or in metadata."""
MAX_MATCHING_BYTES = 6 * 2**30
"""Memory that comparing one pair of trees may take: 24 bytes for each pair of their rules."""


def check_size(count: int, most: int, what: str) -> None:
    """Refuse more of something than a tree, a space or a file may have."""
    if count > most:
        raise TreeFormatError(f"expected at most {most:,} {what}, got {count:,}")


def check_feature_count(count: int, *, listed: bool) -> None:
    """Refuse more features than a tree may have; fewer where the file does not list them.

    A number costs nothing to write, and a feature for each of its units much to keep.
    """
    most = MAX_FEATURES if listed else MAX_UNLISTED_FEATURES
    if not 0 <= count <= most:
        raise TreeFormatError(
            f"expected {'' if listed else 'names of the features, or '}0 to {most:,} features, "
            f"got {quoted(count)}"
        )


def check_matching(rules: int, others: int, what: str = "rules") -> None:
    """Refuse to compare trees that would fill the memory, before anything is laid out."""
    need = 3 * 8 * rules * others
    if need > MAX_MATCHING_BYTES:
        raise InputError(
            f"expected trees that can be compared in {MAX_MATCHING_BYTES / 2**30:.0f} GiB of "
            f"memory, got {rules:,} rules against {others:,} {what}, which would take "
            f"{need / 2**30:.1f} GiB; compare smaller trees, for example tree.truncate(max_depth)"
        )


def check_texts(values: Iterable[Any], what: str) -> None:
    """Refuse names that nobody could read, or that no file could hold."""
    for value in values:
        if not isinstance(value, str):
            continue
        if len(value) > MAX_TEXT:
            raise TreeFormatError(
                f"expected {what} of at most {MAX_TEXT:,} characters, got {quoted(value)}"
            )
        if not value.isascii():
            try:
                value.encode()
            except UnicodeEncodeError:
                raise TreeFormatError(
                    f"expected {what} that can be written as UTF-8, got half a character in "
                    f"{quoted(value)}; rename it"
                ) from None


def check_value_cells(n_nodes: int, n_classes: int) -> None:
    """Refuse shares that would fill the memory, before they are laid out."""
    if n_nodes * n_classes > MAX_VALUE_CELLS:
        raise TreeFormatError(
            f"expected at most {MAX_VALUE_CELLS:,} shares in a tree, got {n_nodes:,} nodes with "
            f"{n_classes:,} classes, which would take {8 * n_nodes * n_classes / 2**30:.1f} GiB"
        )
