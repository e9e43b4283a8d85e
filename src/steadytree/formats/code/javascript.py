"""Write a tree as JavaScript, for a web page or a service, without any package.

A row is an object by feature names; null, undefined and NaN are missing. As an ES module it
exports ``predict(row)``, ``predictShares(row)`` and ``leaf(row)``; as a plain script it defines
one constant with these functions.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from steadytree.formats.code.parts import (
    MAX_WHOLE,
    Layout,
    Side,
    branch_lines,
    check_classes,
    check_name,
    feature_identifiers,
    head_words,
    json_text,
    number,
)
from steadytree.plugins import InputError, Tree

SUFFIXES = (".js", ".mjs")

_LAYOUT = Layout(
    opening="if ({condition}) {{ // {words}",
    otherwise="} else {",
    end="}",
    leaf="return {leaf}; // {words}",
    guard="if ({condition}) {leaf}",
    both=" && ",
    indent="  ",
)

_HELPERS = """
function isMissing(value) {
  return value === null || value === undefined || Number.isNaN(value);
}

function numberOf(row, name) {
  const value = row[name];
  if (isMissing(value)) return null;
  if (typeof value !== "number" && typeof value !== "boolean") {
    throw new TypeError(`expected a number in ${name}, got ${typeof value}`);
  }
  return Number(value);
}

function among(value, categories) {
  const plain = typeof value === "boolean" ? Number(value) : value;
  return categories.includes(plain);
}
"""


def write(tree: Tree, *, module: bool = True, name: str = "tree") -> str:
    """Write the source of a JavaScript file.

    Parameters
    ----------
    tree : Tree
    module : bool, default True
        An ES module; else a script for a page, which defines one constant.
    name : str, default "tree"
        Of that constant: ``tree.predict(row)``.

    Returns
    -------
    str
    """
    check_name(name, "name of the constant")
    check_classes(tree)
    body = "\n".join(_body(tree))
    head = "\n".join(f"// {_comment(line)}" for line in head_words(tree, "A decision tree"))
    offered = ["classes", "predict", "predictShares", "leaf"]
    if tree.classes is None:
        offered = ["predict", "leaf"]
    if module:
        return f"{head}\n{body}\nexport {{ {', '.join(offered)} }};\n"
    return (
        f'{head}\nconst {name} = (() => {{\n"use strict";\n{body}\n'
        f"return {{ {', '.join(offered)} }};\n}})();\n"
    )


def _body(tree: Tree) -> Iterator[str]:
    leaves = tree.leaves.tolist()
    yield "// What each leaf says, by its number."
    if tree.classes is None:
        yield "const values = new Map(["
        yield from (f"  [{leaf}, {number(tree.value[leaf, 0])}]," for leaf in leaves)
        yield "]);"
    else:
        yield f"const classes = [{', '.join(map(_literal, tree.classes))}];"
        yield "const labels = new Map(["
        yield from (f"  [{leaf}, {_literal(tree.classes[tree.label[leaf]])}]," for leaf in leaves)
        yield "]);"
        yield "const shares = new Map(["
        for leaf in leaves:
            yield f"  [{leaf}, [{', '.join(map(number, tree.value[leaf]))}]],"
        yield "]);"
    yield ""
    if tree.classes is None:
        yield "// Response predicted for a row."
        yield "function predict(row) {\n  return values.get(leaf(row));\n}"
    else:
        yield "// Class decided for a row."
        yield "function predict(row) {\n  return labels.get(leaf(row));\n}"
        yield ""
        yield "// Share of each class at the leaf of a row, in the order of the classes."
        yield "function predictShares(row) {\n  return [...shares.get(leaf(row))];\n}"
    yield ""
    yield "// Number of the leaf that a row reaches."
    yield "function leaf(row) {"
    names = feature_identifiers(tree, _RESERVED)
    for j, name in names.items():
        key = json_text(tree.feature_labels[j])
        yield f"  const {name} = " + (
            f"row[{key}];" if tree.categories[j] else f"numberOf(row, {key});"
        )
    by_category = {j for j in names if tree.categories[j]}
    yield from branch_lines(
        tree, _LAYOUT, lambda side: _condition(side, names, by_category), comment=_comment
    )
    yield "}"
    yield _HELPERS.rstrip("\n")


_RESERVED = (
    *("row", "leaf", "predict", "predictShares", "classes", "labels", "shares", "values"),
    *("isMissing", "numberOf", "among", "Number", "Map", "TypeError", "NaN", "Infinity"),
    # Words of JavaScript that are none of Python.
    *("arguments", "case", "catch", "const", "debugger", "default", "delete", "do", "enum"),
    *("eval", "export", "extends", "function", "implements", "instanceof", "interface", "let"),
    *("new", "null", "package", "private", "protected", "public", "static", "super", "switch"),
    *("this", "throw", "typeof", "undefined", "var", "void"),
)


def _condition(side: Side, names: dict[int, str], by_category: set[int]) -> str:
    """Write who takes a side; numbers are null where missing, categories as they come."""
    name = names[side.feature]
    by_set = side.feature in by_category
    missing = f"isMissing({name})" if by_set else f"{name} === null"
    present = f"!isMissing({name})" if by_set else f"{name} !== null"
    if side.operator == "all":
        return "true" if side.missing else present
    if side.operator == "none":
        return missing if side.missing else "false"
    if side.values:
        # Booleans are compared as 0 and 1, as in Python.
        values = (_literal(int(v) if isinstance(v, bool) else v) for v in side.values)
        test = f"among({name}, [{', '.join(values)}])"
        test = f"!{test}" if side.operator == "not in" else test
    else:
        test = f"{name} {side.operator} {number(side.bound)}"
    return f"{missing} || {test}" if side.missing else f"{present} && {test}"


def _literal(value: Any) -> str:
    if isinstance(value, str):
        return json_text(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        if abs(value) > MAX_WHOLE:
            raise InputError(
                "expected classes and categories up to 2**53, beyond which JavaScript tells no "
                f"whole numbers apart, got {value}; write them as text"
            )
        return str(value)
    return number(value)


def _comment(text: str) -> str:
    """Write words so that they end no script element of a page around them."""
    return text.replace("</", "< /").replace("<!", "< !")
