"""What may not be published as text: values of columns that no tree uses, and rare ones of others.

And what may not be published as a digest: whoever guesses a table could hash the guess, with
the open source, and see it confirmed.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pandas as pd

from steadytree import Tree
from steadytree.core.format import tree_digest
from steadytree.core.rows import CodedRows, fingerprint
from tests.attack.disclosure.publish import Published

__all__ = ["confirmed_guesses", "named_values"]

_HEX = re.compile(r"\b[0-9a-f]{8,64}\b")


def named_values(published: Published, values: Mapping[str, list[str]]) -> Iterator[str]:
    """Say which of some values appear in anything published, and where."""
    for where, text in published.texts.items():
        for column, names in values.items():
            for name in names:
                if name in text:
                    yield f"{where}: {name!r} of {column}"


def hidden_values(
    tables: Mapping[str, pd.DataFrame], used: set[str], few: int
) -> dict[str, list[str]]:
    """Values of text columns that nobody may read: all of unused columns, rare ones of used."""
    rows = pd.concat(tables.values())
    out = {}
    for column in rows.columns:
        if rows[column].dtype.kind in "ifb":
            continue
        counts = rows[column].dropna().map(str).value_counts()
        names = counts.index if column not in used else counts.index[counts < few]
        out[str(column)] = [str(name) for name in names]
    return out


def confirmed_guesses(
    published: Published,
    tables: Mapping[str, pd.DataFrame],
    trees: Mapping[str, Tree],
    files: Iterable[Path] = (),
) -> Iterator[str]:
    """Say which digests published are those of a table, of a tree, or of a file not published.

    The adversary guesses right here; a digest of anything with people in it would tell so.
    """
    guesses = dict(_guesses(tables, trees))
    for path in files:
        guesses[hashlib.sha256(path.read_bytes()).hexdigest()] = f"the whole of {path.name}"
    for where, text in published.texts.items():
        for found in set(_HEX.findall(text)):
            for digest, what in guesses.items():
                if digest.startswith(found) or found.startswith(digest):
                    yield f"{where}: {found} confirms {what}"


def _guesses(
    tables: Mapping[str, pd.DataFrame], trees: Mapping[str, Tree]
) -> Iterator[tuple[str, str]]:
    for name, table in tables.items():
        for form, text in (
            ("file", table.to_csv(index=False)),
            ("values", table.to_csv(index=False, header=False)),
        ):
            for algorithm in ("md5", "sha1", "sha256"):
                digest = hashlib.new(algorithm, text.encode()).hexdigest()
                yield digest, f"the {form} of the {name} rows ({algorithm})"
        for column in table.columns:
            text = "\n".join(map(str, table[column]))
            yield hashlib.sha256(text.encode()).hexdigest(), f"column {column} of the {name} rows"
        for side, tree in trees.items():
            if tree.space is not None and set(tree.feature_labels) <= set(table.columns):
                coded = tree.space.encode(table[list(tree.feature_labels)])
                outcome = table[table.columns[-1]]
                y = pd.factorize(outcome, sort=True)[0].astype(float)
                rows = CodedRows(tree.round_values(coded), y)
                yield fingerprint(rows), f"the {name} rows as the {side} tree codes them"
    for side, tree in trees.items():
        yield tree_digest(tree), f"every leaf value of the {side} tree"
        if tree.space is not None:
            yield tree.space.digest(), f"the extremes and categories of the {side} tree's rows"
