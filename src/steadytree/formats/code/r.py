"""Write a tree as a function of base R that takes a data frame and answers for all its rows.

NA and NaN are missing; text may come as characters or as a factor. R reads decimals with a
rounding error now and then, so numbers that could suffer are written in hexadecimal, with the
decimal beside them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from steadytree.formats.code.parts import (
    Side,
    category_kind,
    check_name,
    check_tree,
    head_words,
    is_plain_decimal,
    leaf_words,
    number,
    side_words,
    split_sides,
    wrapped,
)
from steadytree.formats.split_tests import split_test
from steadytree.plugins import Tree, shorten

SUFFIXES = (".R", ".r")

_HELPERS = """
  numbers <- function(x, rows) {
    if (!is.numeric(x) && !is.logical(x)) stop("expected numbers, got ", class(x)[1])
    as.double(x[rows])
  }
  at_most <- function(x, rows, threshold, missing) {
    left <- numbers(x, rows) <= threshold
    left[is.na(left)] <- missing
    left
  }
  below <- function(x, rows, threshold, missing) {
    left <- numbers(x, rows) < threshold
    left[is.na(left)] <- missing
    left
  }
  among <- function(x, rows, values, inside, missing) {
    x <- x[rows]
    unknown <- is.na(x)
    if (is.factor(x)) {
      x <- as.character(x)
      if (is.numeric(values)) x <- suppressWarnings(as.double(x))
      if (is.logical(values)) x <- as.logical(x)
    }
    alike <- is.character(x) == is.character(values)
    left <- if (alike) (!is.na(x) & x %in% values) == inside else rep(!inside, length(x))
    left[unknown] <- missing
    left
  }
"""


def write(tree: Tree, *, name: str = "predict_tree") -> str:
    """Write the source of an R function.

    Called with a data frame it returns labels or responses; with ``type = "shares"`` a matrix of
    class shares, with ``type = "leaf"`` the numbers that :meth:`Tree.apply` gives.

    Parameters
    ----------
    tree : Tree
    name : str, default "predict_tree"
        Of the function.

    Returns
    -------
    str
    """
    check_name(name, "name of the function")
    check_tree(tree, "R")
    category_kind(tree.classes or (), "the classes", "R")
    return "\n".join(_lines(tree, name)) + "\n"


def _lines(tree: Tree, name: str) -> Iterator[str]:
    yield from (f"# {_comment(line)}" for line in head_words(tree, "A decision tree"))
    kinds = '"value", "leaf"' if tree.classes is None else '"label", "shares", "leaf"'
    yield f"{name} <- function(data, type = c({kinds})) {{"
    yield "  type <- match.arg(type)"
    used = sorted(tree.used_features)
    if used:
        yield "  needed <- c("
        yield from _items(_text(tree.feature_labels[j]) for j in used)
        yield "  )"
        yield "  lacking <- setdiff(needed, names(data))"
        yield '  if (length(lacking)) stop("expected columns: ", paste(lacking, collapse = ", "))'
        yield _HELPERS.strip("\n")
    yield "  leaf <- integer(nrow(data))"
    yield "  # The rows that come to each node, from the root down."
    yield "  at_0 <- seq_len(nrow(data))"
    for node in tree.preorder.tolist():
        here = f"at_{node}"
        if tree.is_leaf[node]:
            yield f"  leaf[{here}] <- {node}L # {_comment(leaf_words(tree, node))}"
            continue
        side = split_sides(split_test(tree, node))[0]
        left, right = int(tree.children_left[node]), int(tree.children_right[node])
        words = _comment(shorten(side_words(side), 100))
        yield f"  left <- {_condition(side, here)} # {words}"
        yield f"  at_{left} <- {here}[left]"
        yield f"  at_{right} <- {here}[!left]"
    yield '  if (type == "leaf") return(leaf)'
    yield from _answers(tree)
    yield "}"


def _condition(side: Side, rows: str) -> str:
    column = f"data[[{_text(side.name)}]]"
    missing = _literal(side.missing)
    if side.values:
        inside = _literal(side.operator == "in")
        values = ", ".join(_literal(v) for v in side.values)
        return f"among({column}, {rows}, c({values}), {inside}, {missing})"
    if side.operator in ("all", "none"):
        everybody = side.operator == "all"
        if everybody == side.missing:
            return f"rep({missing}, length({rows}))"
        return f"{'!' if everybody else ''}is.na({column}[{rows}])"
    test = {"<=": "at_most", "<": "below"}[side.operator]
    return f"{test}({column}, {rows}, {_number(side.bound)}, {missing})"


def _answers(tree: Tree) -> Iterator[str]:
    leaves = tree.leaves[tree.leaves.argsort()].tolist()
    yield "  # What each leaf says, in the order of these numbers."
    yield "  at <- match(leaf, c("
    yield from _items(f"{leaf}L" for leaf in leaves)
    yield "  ))"
    if tree.classes is None:
        yield "  c("
        yield from _items(_number(tree.value[leaf, 0]) for leaf in leaves)
        yield "  )[at]"
        return
    yield '  if (type == "label") {'
    yield "    return(c("
    yield from _items(_literal(tree.classes[tree.label[leaf]]) for leaf in leaves)
    yield "    )[at])"
    yield "  }"
    yield "  shares <- rbind("
    rows = [f"c({', '.join(map(_number, tree.value[leaf]))})" for leaf in leaves]
    yield from (f"    {row}{',' if k < len(rows) - 1 else ''}" for k, row in enumerate(rows))
    yield "  )"
    yield "  colnames(shares) <- c("
    yield from _items(_text(str(c)) for c in tree.classes)
    yield "  )"
    yield "  shares[at, , drop = FALSE]"


def _items(items: Iterable[str]) -> list[str]:
    lines = wrapped(items, "    ")
    # R takes a comma after the last item for one more.
    return [*lines[:-1], lines[-1].removesuffix(",")]


def _number(value: float) -> str:
    return number(value) if is_plain_decimal(value) else float(value).hex()


def _literal(value: Any) -> str:
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    return _text(value) if isinstance(value, str) else _number(float(value))


def _text(value: str) -> str:
    """Write a string literal in ASCII only, so that no locale reads it otherwise."""
    out = []
    for character in value:
        point = ord(character)
        if character in '"\\':
            out.append("\\" + character)
        elif 32 <= point < 127:
            out.append(character)
        else:
            out.append(f"\\u{{{point:x}}}" if point < 0x10000 else f"\\U{{{point:x}}}")
    return f'"{"".join(out)}"'


def _comment(text: str) -> str:
    """Write words in ASCII, too, or reading them in another locale warns."""
    return text.encode("ascii", "backslashreplace").decode("ascii")
