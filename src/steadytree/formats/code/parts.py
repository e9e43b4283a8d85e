"""What the writers of program code share: conditions, their order, names and comments.

Whatever the language, a side of a split says which present values take it and whether missing
ones do (:class:`Side`). Trees up to ``MAX_NESTING`` levels become nested conditions; deeper ones,
for which compilers and people have limits, become a list of rules in which the first that holds
decides (:func:`decision_list`).
"""

from __future__ import annotations

import json
import keyword
import math
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from steadytree.formats.split_tests import SplitTest, split_test
from steadytree.plugins import (
    InputError,
    LeafNumbers,
    Tree,
    __version__,
    clean,
    kept_words,
    shorten,
    tree_digest,
)

MAX_NESTING = 30
"""Levels of nested conditions that are written; C asks compilers for 127, Python for 100."""

MAX_WHOLE = 2**53
"""Whole numbers up to here are doubles, which is what most languages count with."""

# What has a meaning of its own in rules.
_RULE_WORDS = {
    *("always", "and", "categories", "classes", "decision", "elif", "else", "false", "features"),
    *("from", "if", "in", "is", "missing", "not", "or", "otherwise", "row", "rows", "true"),
}
_COMMENT_COLUMNS = 100
_DIGITS = 15
_EXPONENTS = range(-12, 16)


# -- conditions ------------------------------------------------------------------------


@dataclass(frozen=True)
class Side:
    """Who takes one side of a split.

    Attributes
    ----------
    feature, name
        Which feature, and what it is called.
    operator : str
        Of present values: "<=", ">", "<", ">=" with a ``bound``, "in", "not in" with
        ``values``, "all" or "none" of them.
    bound : float
        A finite double.
    values : tuple
        Categories.
    missing : bool
        Whether missing values take it.
    """

    feature: int
    name: str
    operator: str
    missing: bool
    bound: float = math.nan
    values: tuple[Any, ...] = ()


def split_sides(test: SplitTest) -> tuple[Side, Side]:
    """Return who goes left and who goes right."""
    left, right = _numeric(test) if test.threshold is not None else _categorical(test)
    return (
        Side(test.feature, test.name, missing=test.missing_left, **left),
        Side(test.feature, test.name, missing=not test.missing_left, **right),
    )


def _numeric(test: SplitTest) -> tuple[dict[str, Any], dict[str, Any]]:
    bound = float(test.threshold)  # type: ignore[arg-type]
    if bound == math.inf:
        return {"operator": "all"}, {"operator": "none"}
    if bound == -math.inf:
        # Only an infinite value is below the smallest double, and few languages write infinity.
        least = -sys.float_info.max
        return {"operator": "<", "bound": least}, {"operator": ">=", "bound": least}
    return {"operator": "<=", "bound": bound}, {"operator": ">", "bound": bound}


def _categorical(test: SplitTest) -> tuple[dict[str, Any], dict[str, Any]]:
    named, means_left = test.listed
    values = tuple(v for v in named if v is not None and v == v)
    for value in values:
        if value in (math.inf, -math.inf):
            raise InputError(
                f"expected finite categories, which every language can write, got {value!r} "
                f"in feature {test.name!r}; recode the feature"
            )
    inside = {"operator": "in", "values": values} if values else {"operator": "none"}
    outside = {"operator": "not in", "values": values} if values else {"operator": "all"}
    return (inside, outside) if means_left else (outside, inside)


@dataclass(frozen=True)
class Rule:
    """One of the rules of which the first that holds decides: its conditions and its leaf."""

    sides: tuple[Side, ...]
    leaf: int


def decision_list(tree: Tree) -> list[Rule]:
    """Return the tree as rules of which the first that holds decides.

    At each split the side with fewer leaves comes first. Whoever does not take it comes to the
    other side, which need not say so: no rule has more conditions than the binary logarithm of
    the number of leaves, and the last has none.
    """
    leaves = np.where(tree.is_leaf, 1, 0)
    for node in tree.preorder[::-1].tolist():
        if not tree.is_leaf[node]:
            leaves[node] = leaves[tree.children_left[node]] + leaves[tree.children_right[node]]
    rules: list[Rule] = []
    waiting: list[tuple[int, tuple[Side, ...]]] = [(0, ())]
    while waiting:
        node, sides = waiting.pop()
        if tree.is_leaf[node]:
            rules.append(Rule(sides, node))
            continue
        children = int(tree.children_left[node]), int(tree.children_right[node])
        first = 0 if leaves[children[0]] <= leaves[children[1]] else 1
        side = split_sides(split_test(tree, node))[first]
        waiting += ((children[1 - first], sides), (children[first], (*sides, side)))
    return rules


# -- nested conditions -----------------------------------------------------------------


@dataclass(frozen=True)
class Layout:
    """How a language lays conditions out, with places in braces: condition, words, leaf.

    ``guard`` joins the conditions of one rule by ``both``; ``end`` is empty where indentation
    says it.
    """

    opening: str
    otherwise: str
    end: str
    leaf: str
    guard: str
    both: str
    indent: str = "    "


def branch_lines(
    tree: Tree,
    layout: Layout,
    condition: Callable[[Side], str],
    *,
    comment: Callable[[str], str] = str,
    position: Callable[[int], int] = int,
) -> Iterator[str]:
    """Write the conditions of a tree down to its leaves, line by line.

    ``comment`` makes words harmless in a comment of the language; ``position`` is what is
    returned for a leaf, by default its number.
    """

    def leaf(node: int) -> str:
        return layout.leaf.format(leaf=position(node), words=comment(leaf_words(tree, node)))

    if tree.depth > MAX_NESTING:
        for rule in decision_list(tree):
            joined = layout.both.join(f"({condition(side)})" for side in rule.sides)
            end = leaf(rule.leaf)
            yield layout.indent + (
                layout.guard.format(condition=joined, leaf=end) if joined else end
            )
        return
    waiting: list[tuple[int, int, str]] = [(1, 0, "")]
    while waiting:
        at, node, text = waiting.pop()
        margin = layout.indent * at
        if text:
            yield margin + text
        elif tree.is_leaf[node]:
            yield margin + leaf(node)
        else:
            side = split_sides(split_test(tree, node))[0]
            words = comment(shorten(side_words(side), _COMMENT_COLUMNS))
            yield margin + layout.opening.format(condition=condition(side), words=words)
            if layout.end:
                waiting.append((at, -1, layout.end))
            waiting += (
                (at + 1, int(tree.children_right[node]), ""),
                (at, -1, layout.otherwise),
                (at + 1, int(tree.children_left[node]), ""),
            )


# -- words -----------------------------------------------------------------------------


def head_words(tree: Tree, what: str) -> list[str]:
    """Say what stands below: which tree it is, of which features, and how it decides."""
    kind = "regression" if tree.classes is None else f"{len(tree.classes)} classes"
    lines = [
        f"{what}, written by steadytree {__version__}.",
        f"{tree.n_leaves} leaves, depth {tree.depth}, {kind}; fingerprint {tree_digest(tree)}.",
    ]
    if tree.classes is not None:
        lines.append("Classes: " + ", ".join(clean(c) for c in tree.classes))
        lines.append(f"Policy: {clean(tree.decision.words(tree.classes))}")
        kept = int(tree.kept_against_share[tree.leaves].sum())
        if kept:
            lines.append(f"Labels kept against their shares, marked below: {kept}")
    if source := tree.metadata.get("source"):
        lines.append(f"Source: {clean(source)}")
    return [shorten(line, 4 * _COMMENT_COLUMNS) for line in lines]


def side_words(side: Side) -> str:
    """Say who takes a side, as a person would type it and ``tree_from_rules`` reads it."""
    name = plain_word(side.name)
    if side.operator == "all":
        return f"{name} is {'anything' if side.missing else 'not missing'}"
    if side.operator == "none":
        return f"{name} is {'missing' if side.missing else 'nothing'}"
    values = ", ".join(map(plain_word, side.values)) if side.values else number(side.bound)
    return f"{name} {side.operator} {values}{' or missing' if side.missing else ''}"


def plain_word(value: Any) -> str:
    """Write a name, class or category: as it is where that is plain, else quoted."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", value) and value.lower() not in _RULE_WORDS:
        return str(value)
    # Quoted text may hold anything; what cannot be seen is escaped.
    return json.dumps(value, ensure_ascii=not value.isprintable())


def leaf_words(tree: Tree, node: int) -> str:
    """Say in words what a leaf predicts."""
    kept = kept_words(tree, node)
    words = LeafNumbers.of(tree, node).words() + (f"; {kept}" if kept else "")
    return shorten(clean(words), _COMMENT_COLUMNS)


def wrapped(items: Iterable[str], indent: str, width: int = 96, between: str = ", ") -> list[str]:
    """Lay items out on lines of a width, separated by commas."""
    lines: list[str] = []
    line = indent
    for item in items:
        piece = item + between.rstrip(" ")
        if line != indent and len(line) + len(piece) + 1 > width:
            lines.append(line)
            line = indent
        line += piece if line == indent else f" {piece}"
    return [*lines, line] if line != indent else lines


# -- names and literals ----------------------------------------------------------------


def feature_identifiers(tree: Tree, reserved: Collection[str] = ()) -> dict[int, str]:
    """Return a name in letters, digits and _ for each feature that a condition uses.

    None is a word of Python, or one of the ``reserved`` ones, whatever its case.
    """
    taken = {name.lower() for name in reserved}
    out = {}
    for j in sorted(tree.used_features):
        plain = re.sub(r"[^0-9A-Za-z]+", "_", tree.feature_labels[j]).strip("_")[:40]
        if not plain or plain[0].isdigit():
            plain = f"x{j}" if not plain else f"x_{plain}"
        name, count = plain, 2
        while name.lower() in taken or keyword.iskeyword(name):
            name, count = f"{plain}_{count}", count + 1
        taken.add(name.lower())
        out[j] = name
    return out


def check_name(name: str, what: str) -> str:
    """Refuse a name that is not one in every language."""
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,60}", str(name)):
        raise InputError(f"expected letters, digits and _ as {what}, got {name!r}")
    return name


def number(value: float) -> str:
    """Write a finite double so that whoever reads it gets the same one."""
    return repr(float(value))


def is_plain_decimal(value: float) -> bool:
    """Whether even a careless reader of decimals gets the same double.

    SQLite and R compute digits times a power of ten in extended precision and round twice,
    which is off in the last bit now and then.
    """
    value = float(value)
    if value == 0:
        return True
    # Digits and exponent of the shortest decimal that is this double.
    _, digits, exponent = Decimal(repr(abs(value))).normalize().as_tuple()
    if len(digits) > _DIGITS or exponent not in _EXPONENTS:
        return False
    exact = Fraction(int("".join(map(str, digits)))) * Fraction(10) ** int(exponent)
    # To 64 bits first, as extended precision does, ties to even.
    scale = Fraction(2) ** (63 - math.frexp(value)[1] + 1)
    extended = Fraction(round(exact * scale)) / scale
    return float(extended) == abs(value)


def refuse_text(texts: Iterable[Any], language: str) -> None:
    """Refuse text that a language cannot hold."""
    for text in texts:
        if isinstance(text, str) and "\0" in text:
            raise InputError(
                f"expected names and categories that {language} can hold, got {text!r} with a "
                "null character; rename it"
            )


def check_classes(tree: Tree) -> None:
    """Refuse classes that are infinite or no number."""
    for value in tree.classes or ():
        if isinstance(value, float) and not math.isfinite(value):
            raise InputError(
                f"expected finite classes, which every language can write, got {value!r}; "
                "rename the classes"
            )


def check_tree(tree: Tree, language: str) -> None:
    """Refuse a tree with names, categories or classes that a language cannot hold."""
    check_classes(tree)
    refuse_text([*tree.feature_labels, *(tree.classes or ())], language)
    for feature, categories in zip(tree.feature_labels, tree.categories, strict=True):
        refuse_text(categories or (), language)
        category_kind(categories or (), f"feature {feature!r}", language)


def category_kind(values: Sequence[Any], where: str, language: str) -> str:
    """Return what the values of a column are: "text", "boolean" or "number".

    A column of some languages holds one kind only.
    """
    present = [v for v in values if v is not None and v == v]
    kinds = {
        "text" if isinstance(v, str) else "boolean" if isinstance(v, bool) else "number"
        for v in present
    }
    if len(kinds) > 1:
        raise InputError(
            f"expected values of one kind in {where}, as a column of {language} has, "
            f"got {' and '.join(sorted(kinds))}; recode them"
        )
    large = [v for v in present if isinstance(v, int) and abs(v) > MAX_WHOLE]
    if large:
        raise InputError(
            f"expected whole numbers up to 2**53 in {where}, which {language} tells apart, "
            f"got {large[0]}; write them as text"
        )
    return kinds.pop() if kinds else "text"


def json_text(text: str) -> str:
    """Write text as JSON and JavaScript read it, harmless inside a web page too."""
    return json.dumps(text).replace("<", "\\u003c").replace(">", "\\u003e")
