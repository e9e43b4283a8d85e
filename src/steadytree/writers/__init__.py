"""One door out: a tree goes back to where the old one ran, and decides the same there.

Each format has one small module here, named in ``WRITERS`` and imported when it is asked for.
It offers ``write(tree, *, option=...)``, which returns text, bytes or a model, or refuses by name
what the format cannot say; ``SUFFIXES``, how its files end, the usual one first; where it returns
a model, ``save(model, path)``; and, where a file holds more than what is returned,
``write_file(tree, path, *, option=...)``.
"""

from __future__ import annotations

import inspect
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from steadytree._io import write_atomic
from steadytree.exceptions import InputError
from steadytree.publish import publish_tree
from steadytree.readers import read_model

__all__ = ["WRITERS", "export_tree", "format_of", "options_of"]

WRITERS: dict[str, Any] = {
    "sklearn": "steadytree.writers.sklearn",
    "onnx": "steadytree.writers.onnx",
    "pmml": "steadytree.writers.pmml",
    "excel": "steadytree.writers.excel",
    "dict": "steadytree.writers.nested",
    "markdown": "steadytree.writers.markdown",
    "dot": "steadytree.writers.dot",
    "mermaid": "steadytree.writers.mermaid",
    "sql": "steadytree.writers.code.sql",
    "python": "steadytree.writers.code.python",
    "c": "steadytree.writers.code.c",
    "javascript": "steadytree.writers.code.javascript",
    "r": "steadytree.writers.code.r",
    "rules": "steadytree.writers.rules",
}
"""The formats: a module to import, or anything that offers the same."""


def export_tree(
    tree: Any,
    to: str | None = None,
    path: str | os.PathLike[str] | None = None,
    *,
    publish: bool = False,
    **options: Any,
) -> Any:
    """Write a tree so that another system decides exactly as it does.

    Parameters
    ----------
    tree : Tree, fitted model or path
        Whatever :func:`as_tree` reads.
    to : str, optional
        A format of ``steadytree.writers.WRITERS``, such as "sql", "onnx" or "sklearn". By
        default the one that files with the suffix of ``path`` are in.
    path : path, optional
        Where to write; the file is written whole or not at all.
    publish : bool, default False
        Write the tree as it may leave the house: :func:`steadytree.publish_tree`.
    **options
        Of the format, see its writer: ``dialect="postgres"`` for SQL.

    Returns
    -------
    str, bytes or a model
        What was written; with ``path`` the path.

    Examples
    --------
    >>> import steadytree as st
    >>> tree = st.tree_from_rules('''
    ... age <= 50: no
    ... else: yes
    ... ''')
    >>> print(st.export_tree(tree, "sql").splitlines()[-1])
    CASE WHEN "age" <= 50.0e0 THEN 'no' ELSE 'yes' END
    """
    if to is None:
        if path is None:
            raise InputError(
                f"expected a format or a path, got neither; the formats are {', '.join(WRITERS)}"
            )
        to = format_of(path)
    writer = _writer(to)
    known = options_of(to)
    if unknown := sorted(set(options) - set(known)):
        raise InputError(
            f"expected options of {to!r} ({', '.join(known) or 'there are none'}), "
            f"got {', '.join(unknown)}"
        )
    model = read_model(tree)
    if publish:
        model = publish_tree(model)
    if path is not None and hasattr(writer, "write_file"):
        return Path(writer.write_file(model, Path(path), **options))
    written = writer.write(model, **options)
    if path is None:
        return written
    if hasattr(writer, "save"):
        return Path(writer.save(written, Path(path)))
    return write_atomic(path, written)


def options_of(to: str) -> dict[str, Any]:
    """Return the options of a format, each with its default.

    Parameters
    ----------
    to : str
        A format of ``WRITERS``.

    Returns
    -------
    dict of str to object

    Examples
    --------
    >>> from steadytree.writers import options_of
    >>> sorted(options_of("sql"))[:3]
    ['columns', 'dialect', 'keep']
    """
    return {
        name: parameter.default
        for name, parameter in inspect.signature(_writer(to).write).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY
    }


def format_of(path: str | os.PathLike[str]) -> str:
    """Return the format that files with this suffix are in."""
    suffix = Path(path).suffix.lower()
    known = {end: name for name in reversed(WRITERS) for end in _writer(name).SUFFIXES}
    if suffix not in known:
        raise InputError(
            f"expected a path that ends in one of {', '.join(sorted(known))}, got "
            f"{str(path)!r}; name the format: to={next(iter(WRITERS))!r}"
        )
    return known[suffix]


def _writer(name: str) -> Any:
    if name not in WRITERS:
        raise InputError(f"expected a format of {', '.join(WRITERS)}, got {name!r}")
    entry = WRITERS[name]
    return (sys.modules.get(entry) or import_module(entry)) if isinstance(entry, str) else entry
