"""Write a tree as one C99 file without a header, for devices and for whatever calls C.

A row is an array of doubles, one per feature in the tree's order: NaN is missing, a category is
its position in the tree's list, any other number there a category never met. The file has
functions that look these positions up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from steadytree.formats.code.parts import (
    Layout,
    Side,
    branch_lines,
    check_name,
    check_tree,
    feature_identifiers,
    head_words,
    number,
    wrapped,
)
from steadytree.plugins import Tree, clean

SUFFIXES = (".c",)

_LAYOUT = Layout(
    opening="if ({condition}) {{ /* {words} */",
    otherwise="} else {",
    end="}",
    leaf="return {leaf}; /* {words} */",
    guard="if ({condition}) {leaf}",
    both=" && ",
)


def write(tree: Tree, *, name: str = "tree") -> str:
    """Write the source of a C file.

    Parameters
    ----------
    tree : Tree
    name : str, default "tree"
        How its functions begin: ``tree_predict``, ``tree_shares`` or ``tree_value``,
        ``tree_leaf`` (the number that :meth:`Tree.apply` gives), ``tree_category``.

    Returns
    -------
    str
    """
    check_name(name, "name of the functions")
    check_tree(tree, "C")
    return "\n".join(_lines(tree, name)) + "\n"


def _lines(tree: Tree, name: str) -> Iterator[str]:
    upper = name.upper()
    yield "/*"
    yield from (f" * {_comment(line)}" for line in head_words(tree, "A decision tree"))
    yield " *"
    yield " * A row is an array of doubles, in this order; NaN is missing:"
    for j, feature in enumerate(tree.feature_labels):
        unit = f" (a category: {name}_category gives its number)" if tree.categories[j] else ""
        yield f" *   [{j}] {_comment(feature)}{unit}"
    yield " * Compile without -ffast-math, which forgets what NaN is."
    yield " */"
    if any(tree.categories):
        yield "#include <string.h>"
    yield ""
    yield "enum {"
    yield f"    {upper}_N_FEATURES = {tree.n_features},"
    features = {j: f"{upper}_IN_{x.upper()}" for j, x in feature_identifiers(tree).items()}
    yield from (f"    {feature} = {j}," for j, feature in features.items())
    if tree.classes is not None:
        yield f"    {upper}_N_CLASSES = {len(tree.classes)},"
    yield f"    {upper}_N_LEAVES = {tree.n_leaves}"
    yield "};"
    yield ""
    yield f"#define {upper}_MISSING(value) ((value) != (value))"
    yield ""
    yield from _tables(tree, name)
    yield ""
    yield "/* Position of the leaf that a row reaches. */"
    yield f"static int {name}_find(const double *x)"
    yield "{"
    if not features:
        yield "    (void)x;"
    positions = {leaf: k for k, leaf in enumerate(tree.leaves.tolist())}
    condition = _Conditions(tree, features, upper)
    yield from branch_lines(
        tree, _LAYOUT, condition, comment=_comment, position=positions.__getitem__
    )
    yield "}"
    yield from _functions(tree, name)
    if any(tree.categories):
        yield from _lookups(tree, name)


class _Conditions:
    """Who takes a side, in C."""

    def __init__(self, tree: Tree, features: dict[int, str], upper: str) -> None:
        self.codes = [
            {value: code for code, value in enumerate(categories or ())}
            for categories in tree.categories
        ]
        self.features = features
        self.missing = f"{upper}_MISSING"

    def __call__(self, side: Side) -> str:
        value = f"x[{self.features[side.feature]}]"
        missing = f"{self.missing}({value})"
        if side.operator == "all":
            return "1" if side.missing else f"!{missing}"
        if side.operator == "none":
            return missing if side.missing else "0"
        if side.values:
            codes = [self.codes[side.feature][v] for v in side.values]
            test = " || ".join(f"{value} == {code}" for code in codes)
            if side.operator == "not in":
                # NaN equals no number.
                return f"!({test})" if side.missing else f"!({missing} || {test})"
            return f"{missing} || {test}" if side.missing else test
        test = f"{value} {side.operator} {number(side.bound)}"
        # NaN is in no order to any number.
        return f"{missing} || {test}" if side.missing else test


def _tables(tree: Tree, name: str) -> Iterator[str]:
    yield "/* What each leaf says, from left to right; its number as Tree.apply gives it. */"
    leaves = tree.leaves.tolist()
    yield from _table(f"static const int {name}_nodes[]", map(str, leaves))
    if tree.classes is None:
        yield from _table(
            f"static const double {name}_values[]", (number(tree.value[k, 0]) for k in leaves)
        )
        return
    yield from _table(f"const char *const {name}_classes[]", (_text(str(c)) for c in tree.classes))
    yield from _table(
        f"static const int {name}_labels[]", (str(int(tree.label[k])) for k in leaves)
    )
    yield f"static const double {name}_leaf_shares[][{len(tree.classes)}] = {{"
    for leaf in leaves:
        yield f"    {{{', '.join(map(number, tree.value[leaf]))}}},"
    yield "};"


def _table(declaration: str, items: Iterable[str]) -> Iterator[str]:
    yield f"{declaration} = {{"
    yield from wrapped(items, "    ")
    yield "};"


def _functions(tree: Tree, name: str) -> Iterator[str]:
    yield ""
    yield "/* Number of the leaf that a row reaches. */"
    yield f"int {name}_leaf(const double *x)"
    yield f"{{\n    return {name}_nodes[{name}_find(x)];\n}}"
    yield ""
    if tree.classes is None:
        yield "/* Response predicted for a row. */"
        yield f"double {name}_value(const double *x)"
        yield f"{{\n    return {name}_values[{name}_find(x)];\n}}"
        return
    yield f"/* Class decided for a row: its position in {name}_classes. */"
    yield f"int {name}_predict(const double *x)"
    yield f"{{\n    return {name}_labels[{name}_find(x)];\n}}"
    yield ""
    yield "/* Share of each class at the leaf of a row. */"
    yield f"void {name}_shares(const double *x, double *shares)"
    yield f"{{\n    int leaf = {name}_find(x), k;"
    yield f"    for (k = 0; k < {name.upper()}_N_CLASSES; k++)"
    yield f"        shares[k] = {name}_leaf_shares[leaf][k];\n}}"


def _lookups(tree: Tree, name: str) -> Iterator[str]:
    """Write the functions that give the number of a category, by text and by number."""
    by_kind: dict[bool, list[int]] = {True: [], False: []}
    for j, categories in enumerate(tree.categories):
        if categories:
            by_kind[any(isinstance(c, str) for c in categories)].append(j)
    for is_text, ending, argument, equal in (
        (True, "", "const char *text", "strcmp(text, {}) == 0"),
        (False, "_of_number", "double number", "number == {}"),
    ):
        what = "a text" if is_text else "a number, or 0 and 1 for false and true"
        given = argument.rpartition(" ")[2].lstrip("*")
        yield ""
        yield f"/* Number of the category that is {what}; -1 if the tree never met it. */"
        yield f"double {name}_category{ending}(int feature, {argument})"
        yield "{"
        if not by_kind[is_text]:
            yield f"    (void)feature;\n    (void){given};"
        else:
            yield "    switch (feature) {"
            for j in by_kind[is_text]:
                yield f"    case {j}: /* {_comment(tree.feature_labels[j])} */"
                for code, value in enumerate(tree.categories[j] or ()):
                    if value is None or value != value:
                        continue
                    literal = _text(value) if is_text else number(float(value))
                    yield f"        if ({equal.format(literal)}) return {code};"
                yield "        break;"
            yield "    default:\n        break;\n    }"
        yield "    return -1;\n}"


def _text(value: str) -> str:
    """Write a string literal, UTF-8 and in ASCII only, without trigraphs."""
    out = []
    for byte in value.encode("utf-8"):
        character = chr(byte)
        if character in '"\\?':
            out.append("\\" + character)
        else:
            out.append(character if 32 <= byte < 127 else f"\\{byte:03o}")
    return f'"{"".join(out)}"'


def _comment(text: Any) -> str:
    """Write words so that they neither end nor open a comment."""
    words = clean(text)
    for mark in ("*/", "/*", "??"):
        while mark in words:
            words = words.replace(mark, " ".join(mark))
    return words.rstrip("\\")
