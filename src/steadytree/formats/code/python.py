"""Write a tree as a Python module that needs nothing but Python.

The module offers ``predict(row)`` and, for classes, ``predict_proba(row)``, where a row is a
dictionary by feature names; missing values are None, NaN or pandas' NA.
"""

from __future__ import annotations

from collections.abc import Iterator

from steadytree.formats.code.parts import (
    Layout,
    Side,
    branch_lines,
    check_classes,
    feature_identifiers,
    head_words,
    number,
)
from steadytree.plugins import Tree

SUFFIXES = (".py",)

_LAYOUT = Layout(
    opening="if {condition}:  # {words}",
    otherwise="else:",
    end="",
    leaf="return {leaf}  # {words}",
    guard="if {condition}:\n        {leaf}",
    both=" and ",
)

_NUMBER = '''

def _number(value):
    """Return a value as a float, None if it is missing."""
    if _is_missing(value):
        return None
    value = float(value)
    return None if value != value else value
'''

_MISSING = '''

def _is_missing(value):
    """Whether a value is None, NaN or NA."""
    try:
        return value is None or bool(value != value)
    except TypeError:  # pandas' NA is neither equal to itself nor different
        return True
'''


def write(tree: Tree) -> str:
    """Write the source of a module.

    ``leaf(row)`` there returns the number that :meth:`Tree.apply` gives.

    Parameters
    ----------
    tree : Tree

    Returns
    -------
    str
    """
    check_classes(tree)
    return "\n".join(_lines(tree)) + "\n"


def _lines(tree: Tree) -> Iterator[str]:
    # The first two lines are fixed: a comment there could declare another encoding.
    yield '"""A decision tree: predict(row) for a dictionary by feature names."""'
    yield ""
    yield from (f"# {line}" for line in head_words(tree, "A decision tree"))
    leaves = tree.leaves.tolist()
    yield ""
    yield "# What each leaf says, by its number."
    if tree.classes is None:
        yield "VALUES = {"
        yield from (f"    {leaf}: {number(tree.value[leaf, 0])}," for leaf in leaves)
    else:
        yield f"CLASSES = {_tuple(map(repr, tree.classes))}"
        yield "LABELS = {"
        yield from (f"    {leaf}: {tree.classes[tree.label[leaf]]!r}," for leaf in leaves)
        yield "}"
        yield "SHARES = {"
        yield from (f"    {leaf}: {_tuple(map(number, tree.value[leaf]))}," for leaf in leaves)
    yield "}"
    yield "\n\ndef predict(row):"
    if tree.classes is None:
        yield '    """Return the response predicted for a row."""'
        yield "    return VALUES[leaf(row)]"
    else:
        yield '    """Return the class decided for a row."""'
        yield "    return LABELS[leaf(row)]"
        yield "\n\ndef predict_proba(row):"
        yield '    """Return the share of each class at the leaf of a row."""'
        yield "    return dict(zip(CLASSES, SHARES[leaf(row)]))"
    yield "\n\ndef leaf(row):"
    yield '    """Return the number of the leaf that a row reaches."""'
    names = feature_identifiers(tree, reserved=("row", "leaf", "predict", "predict_proba"))
    for j, name in names.items():
        key = f"row[{tree.feature_labels[j]!r}]"
        yield f"    {name} = {key}" if tree.categories[j] else f"    {name} = _number({key})"
    by_category = [j for j in names if tree.categories[j]]
    yield from branch_lines(tree, _LAYOUT, lambda side: _condition(side, names, by_category))
    if names:
        yield _MISSING.rstrip("\n")
    if len(names) > len(by_category):
        yield _NUMBER.rstrip("\n")


def _condition(side: Side, names: dict[int, str], by_category: list[int]) -> str:
    """Write who takes a side; numbers are None where missing, categories as they come."""
    name = names[side.feature]
    if side.feature in by_category:
        missing, present = f"_is_missing({name})", f"not _is_missing({name})"
    else:
        missing, present = f"{name} is None", f"{name} is not None"
    if side.operator == "all":
        return "True" if side.missing else present
    if side.operator == "none":
        return missing if side.missing else "False"
    if side.operator in ("in", "not in"):
        test = f"{name} {side.operator} {_tuple(map(repr, side.values))}"
    else:
        test = f"{name} {side.operator} {number(side.bound)}"
    return f"{missing} or {test}" if side.missing else f"{present} and {test}"


def _tuple(items: Iterator[str]) -> str:
    listed = list(items)
    return f"({', '.join(listed)}{',' if len(listed) == 1 else ''})"
