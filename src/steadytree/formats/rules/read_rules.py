"""Read a tree that a person wrote down, or the drawing of one.

``.rules`` and ``.txt`` files hold conditions and what follows from them, indented or drawn; also
the listings of ``print(tree)`` and of scikit-learn's ``export_text``, with the digits they show.
The grammar is on the page docs/guide/rules.md.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from steadytree.formats.rules.rule_words import (
    Item,
    Line,
    LineReader,
    Outcome,
    TypedCondition,
    after_quote,
)
from steadytree.plugins import (
    MAX_CATEGORY_CELLS,
    MAX_DEPTH,
    Branch,
    Decision,
    Leaf,
    Node,
    Tree,
    TreeFormatError,
    bit_set,
    build_tree,
    choose_tree,
    quoted,
    read_bytes,
)

# -- How the lines of a tree in words nest: which branch stands below which --
# The grammar is on the page docs/guide/rules.md. Here text becomes blocks of branches, indented or
# drawn; ``rule_words`` reads what a line says, ``rules`` makes a tree of it all.

MAX_BYTES = 4 * 2**20
"""What a person writes is far smaller."""

_MAX_LINE = 1_000_000
_MAX_GAP = 50

_DRAWING = re.compile(r"(?:[|│](?![-─])\s*)*(?:[|`+├└][-─]+\s?|[-*•]\s+)?")
_GAP = re.compile(rf"\s{{{_MAX_GAP + 1}}}")
_HEAD = re.compile(
    r"(classes|features|decision|categories\s+of\s+"
    r"(?P<of>\"(?:[^\"\\]|\\.)*+\"|'[^']*+'|[^:\"']++))\s*+:",
    re.I,
)


def parse_lines(text: str, where: str = "") -> tuple[dict[str, tuple[Any, Line]], list[Item]]:
    """Return the head of a text, by key, and its outermost branches."""
    head: dict[str, tuple[Any, Line]] = {}
    root: list[Item] = []
    # Blocks that are open, each with the column of its lines and the branch it belongs to.
    open_blocks: list[tuple[int, list[Item], Item | None]] = []
    last: Line | None = None
    for line in _lines(text, where):
        last = line
        if not open_blocks:
            if key := _HEAD.match(line.text, line.start, line.end):
                _read_head(head, line, key)
                continue
            open_blocks.append((line.start, root, None))
        above = open_blocks[-1][1][-1] if open_blocks[-1][1] else None
        if above is not None and line.start > open_blocks[-1][0]:
            if above.outcome is not None:
                line.fail(line.start, "expected the next branch, got a line below an outcome")
            if len(open_blocks) > MAX_DEPTH:
                line.fail(line.start, f"expected at most {MAX_DEPTH} levels, got more")
            open_blocks.append((line.start, above.block, above))
        else:
            if above is not None and above.outcome is None:
                _nothing_below(above.line)
            while open_blocks and line.start < open_blocks[-1][0]:
                open_blocks.pop()
            if not open_blocks or line.start != open_blocks[-1][0]:
                line.fail(line.start, "expected the indentation of a line above, got another")
        _add(line, open_blocks[-1][1], open_blocks[-1][2])
    if last is None:
        raise TreeFormatError(
            f"{where}expected a tree in words such as 'age <= 50:', got an empty text"
        )
    if not root:
        last.fail(last.end, "expected the branches of the tree below this line, got nothing")
    if open_blocks[-1][1] and open_blocks[-1][1][-1].outcome is None:
        _nothing_below(open_blocks[-1][1][-1].line)
    return head, root


def _nothing_below(line: Line) -> NoReturn:
    line.fail(line.end, "expected an outcome here, or lines indented below, got neither")


def _add(line: Line, block: list[Item], above: Item | None) -> None:
    """Read a line as a branch of a block, or as the outcome of the branch above."""
    if block and not block[-1].conditions:
        line.fail(line.start, "expected nothing beside a branch for all others, got a line")
    if above is not None and above.outcome is not None:
        line.fail(line.start, "expected the next branch, got a line beside an outcome")
    item = LineReader(line).branch()
    if item.is_outcome and block:
        line.fail(line.start, "expected a condition such as 'age <= 50:' or else:, got words")
    if item.is_outcome and above is not None:
        above.outcome = item.outcome
    else:
        block.append(item)


def _lines(text: str, where: str) -> Iterator[Line]:
    """Go through the lines that say something, drawings and comments left out."""
    indents: set[str] = set()
    for number, raw in enumerate(text.split("\n"), 1):
        raw = raw.removesuffix("\r")
        drawing = _DRAWING.match(raw, len(raw) - len(raw.lstrip()))
        start = drawing.end() if drawing else 0
        while start < len(raw) and raw[start].isspace():
            start += 1
        end = _comment(raw, start)
        if start >= end:
            continue
        line = Line(number, raw, start, end, where)
        if len(raw) > _MAX_LINE:
            line.fail(_MAX_LINE, f"expected lines of at most {_MAX_LINE:,} characters, got more")
        if gap := _GAP.search(raw, start, end):
            line.fail(gap.start(), f"expected gaps of at most {_MAX_GAP} spaces, got a wider one")
        indents |= set(raw[: len(raw) - len(raw.lstrip())]) & {" ", "\t"}
        if len(indents) > 1:
            line.fail(0, "expected lines indented by spaces or by tabs, got both in one text")
        yield line


def _comment(raw: str, start: int) -> int:
    """Return where a line ends, or a comment on it begins, without the space before."""
    at = start
    while at < len(raw) and raw[at] != "#":
        at = after_quote(raw, at, start) or at + 1
    return len(raw[:at].rstrip()) if at < len(raw) else len(raw.rstrip())


def _read_head(head: dict[str, tuple[Any, Line]], line: Line, match: re.Match[str]) -> None:
    """Read a line that says something of the whole tree."""
    key = match.group(1).split()[0].lower()
    reader = LineReader(line, match.end())
    value = reader.decision() if key == "decision" else reader.values(texts=key == "features")
    if match.group("of"):
        of = LineReader(line, match.start("of"), match.end("of"))
        key = f"categories of {of.text_here('a feature')}"
    if key in head:
        line.fail(line.start, f"expected one line {quoted(key)}, got a second")
    head[key] = value, line


# -- Read a tree that a person wrote down, or the drawing of one --

FILES = "trees in words (.rules, .txt)"

MAX_NODES = 100_000
"""Over all splits by category, the number of categories of their feature."""

_OPPOSITE = {"<=": ">", ">": "<=", "<": ">=", ">=": "<", "all": "none", "none": "all"}


def reads_file(path: Path, start: bytes) -> bool:
    """Whether a file holds a tree in words, by its name; LightGBM's begin with "tree"."""
    suffix = path.suffix.lower()
    return suffix == ".rules" or (suffix == ".txt" and start.split(b"\n")[0].strip() != b"tree")


def read_file(path: Path, tree_index: int | None = None) -> Tree:
    """Read a file as :func:`tree_from_rules` does its text."""
    choose_tree(1, tree_index, "a tree in words")
    try:
        text = read_bytes(path, MAX_BYTES, what="file of words").decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise TreeFormatError(f"{path}: expected UTF-8 text, got {error.reason}") from None
    return _Builder(text, f"{path}: ").tree()


def tree_from_rules(text: str) -> Tree:
    """Read a tree that is written in words.

    Parameters
    ----------
    text : str
        Conditions, and indented below or after a colon what follows from them.

    Returns
    -------
    Tree

    Examples
    --------
    >>> tree = tree_from_rules('''
    ... age <= 50 or missing:
    ...     no
    ... else:
    ...     income > 30000: yes (80 %, 40 rows)
    ...     else: no
    ... ''')
    >>> print(tree)
    |-- age <= 50: no (predicts yes 0.0 %)
    |-- age > 50
    |   |-- income <= 30000: no (predicts yes 0.0 %)
    |   |-- income > 30000: yes (predicts yes 80.0 %)
    """
    if len(text) > MAX_BYTES:
        raise TreeFormatError(
            f"expected at most {MAX_BYTES:,} characters of words, got {len(text):,}"
        )
    return _Builder(text).tree()


class _Builder:
    """Makes a tree of the branches of a text."""

    def __init__(self, text: str, where: str = "") -> None:
        self.head, self.root = parse_lines(text, where)
        self.items = list(_all_items(self.root))
        self.conditions = [c for item in self.items for c in item.conditions]
        self.outcomes = [item.outcome for item in self.items if item.outcome is not None]
        self.names = self._features()
        self.position = {name: j for j, name in enumerate(self.names)}
        self.categories = self._categories()
        self.codes = [
            {value: code for code, value in enumerate(categories or ())}
            for categories in self.categories
        ]
        self._check_sides()
        self.classes = self._classes()

    def tree(self) -> Tree:
        """Return the tree."""
        by_set = sum(len(self.categories[self.position[c.name]] or ()) for c in self.conditions)
        if by_set > MAX_CATEGORY_CELLS:
            raise TreeFormatError(
                f"expected at most {MAX_CATEGORY_CELLS:,} categories in all conditions, "
                f"got {by_set:,}"
            )
        fields: dict[str, Any] = {}
        if (decision := self._decision()) is not None:
            fields["decision"] = decision
        return build_tree(
            self._nodes(),
            n_features=len(self.names),
            feature_names=self.names,
            categories=self.categories,
            classes=self.classes,
            metadata={"source": "rules in words"},
            **fields,
        )

    # -- columns -----------------------------------------------------------------------

    def _features(self) -> tuple[str, ...]:
        seen = list(dict.fromkeys(c.name for c in self.conditions))
        of = [key.removeprefix("categories of ") for key in self.head if key.startswith("cat")]
        given, line = self.head.get("features", ((), None))
        if line is None:
            return tuple(dict.fromkeys([*seen, *of]))
        for condition in self.conditions:
            if condition.name not in given:
                condition.fail(
                    f"expected a feature of line {line.number}, got {quoted(condition.name)}"
                )
        return tuple(dict.fromkeys([*given, *of]))

    def _categories(self) -> tuple[tuple[Any, ...] | None, ...]:
        """Return the categories of each feature: those listed at the head, then as met."""
        out: list[tuple[Any, ...] | None] = []
        by_name: dict[str, list[TypedCondition]] = {name: [] for name in self.names}
        for condition in self.conditions:
            by_name[condition.name].append(condition)
        for name, conditions in by_name.items():
            listed, line = self.head.get(f"categories of {name}", (None, None))
            known: dict[Any, None] = dict.fromkeys(listed or ())
            numeric = [c for c in conditions if c.operator in ("<=", "<", ">", ">=")]
            by_set = [c for c in conditions if c.values]
            if numeric and (by_set or line is not None):
                other = by_set[0].line.number if by_set else line.number  # type: ignore[union-attr]
                numeric[0].fail(
                    f"expected categories of {quoted(name)}, as in line {other}, got a number; "
                    "a feature is compared either way, not both"
                )
            for condition in by_set:
                for value in condition.values:
                    if listed is not None and value not in known:
                        condition.fail(
                            f"expected categories of {quoted(name)} as listed, got {quoted(value)}"
                        )
                    known[value] = None
            out.append(tuple(known) if by_set or line is not None else None)
        return tuple(out)

    # -- outcomes ----------------------------------------------------------------------

    def _classes(self) -> tuple[Any, ...] | None:
        """Return the classes as listed, else as met, sorted; None where responses are said."""
        if "classes" in self.head:
            classes, _ = self.head["classes"]
            return tuple(classes)
        numbers = [_is_number(outcome.label) for outcome in self.outcomes]
        says_class = [outcome.is_class or bool(outcome.shares) for outcome in self.outcomes]
        if all(numbers) and not any(says_class):
            return None
        seen: dict[Any, None] = {}
        for outcome in self.outcomes:
            if outcome.is_value:
                outcome.fail("expected a class, as in other lines, got a response")
            if isinstance(outcome.shares, tuple) and outcome.shares:
                outcome.fail(
                    "expected a line 'classes: ...' at the head that says whose weights these "
                    "are, got none"
                )
            named = [] if outcome.label is None else [outcome.label]
            seen |= dict.fromkeys([*named, *outcome.shares])
            if len({isinstance(c, str) for c in seen}) > 1:
                outcome.fail(
                    "expected outcomes of one kind, got words and numbers; if they are classes, "
                    "list them at the head: classes: 1, other"
                )
        classes = sorted(seen)
        if len(classes) < 2:
            self.outcomes[0].fail(
                f"expected two classes or more, got {quoted(classes[0])} alone; "
                "list them at the head: classes: no, yes"
            )
        return tuple(classes)

    def _decision(self) -> Decision | None:
        if "decision" not in self.head:
            return None
        (label, share), line = self.head["decision"]
        classes = self.classes or ()
        if len(classes) != 2 or label not in classes:
            line.fail(
                line.start,
                f"expected one of two classes in a decision, "
                f"got {quoted(label)} of {quoted(list(classes))}",
            )
        return Decision(threshold=share, positive=label)

    def _leaf(self, outcome: Outcome) -> Leaf:
        weight = 1.0 if outcome.rows is None else outcome.rows
        if not math.isfinite(weight):
            outcome.fail("expected a finite number of rows, got more")
        classes = self.classes
        if classes is None:
            try:
                value = float(outcome.label)
            except OverflowError:  # a whole number beyond all doubles
                value = math.inf
            if not math.isfinite(value):
                outcome.fail("expected a finite response, got an infinite one")
            return Leaf([value], weight)
        label = None if outcome.label is None else _at(classes, outcome, outcome.label)
        if isinstance(outcome.shares, tuple) and outcome.shares:
            if len(outcome.shares) != len(classes):
                outcome.fail(f"expected {len(classes)} weights, one per class, got another number")
            return Leaf(outcome.shares, weight, label)
        shares = np.zeros(len(classes))
        given = dict(outcome.shares) if isinstance(outcome.shares, dict) else {}
        if not given:
            shares[label or 0] = 1
            return Leaf(shares.tolist(), weight, label)
        for name, share in given.items():
            shares[_at(classes, outcome, name)] = share
        left = 1 - shares.sum()
        rest = [k for k, name in enumerate(classes) if name not in given]
        if rest and left >= 0:
            shares[rest] = left / len(rest)
        elif abs(left) > _ROUNDED:
            outcome.fail(f"expected shares that sum to 100 %, got {100 * shares.sum():.6g} %")
        elif abs(left) > _EXACT:
            shares /= shares.sum()
        return Leaf(shares.tolist(), weight, label)

    # -- branches ----------------------------------------------------------------------

    def _check_sides(self) -> None:
        """Check that each list of branches leaves nobody without one."""
        every = {j: (1 << len(c)) - 1 for j, c in enumerate(self.categories) if c is not None}
        waiting: list[tuple[list[Item], dict[int, int]]] = [(self.root, every)]
        while waiting:
            block, reach = waiting.pop()
            for k, item in enumerate(block):
                last = k == len(block) - 1
                if last and item.conditions:
                    self._check_last(block, reach)
                here, rest = self._narrowed(item, reach)
                if item.block:
                    waiting.append((item.block, here))
                if not last:
                    reach = rest if k < len(block) - 2 or not block[-1].conditions else reach

    def _narrowed(self, item: Item, reach: dict[int, int]) -> tuple[dict[int, int], dict[int, int]]:
        """Return the categories that pass an item's conditions, and those that do not."""
        here, rest = reach, reach
        for condition in item.conditions:
            if condition.values:
                j = self.position[condition.name]
                passing = self._passing(condition)
                here = {**here, j: here[j] & passing}
                if len(item.conditions) == 1:
                    rest = {**rest, j: rest[j] & ~passing}
        return here, rest

    def _passing(self, condition: TypedCondition) -> int:
        """Return the categories that pass a condition, as bits."""
        codes = self.codes[self.position[condition.name]]
        listed = bit_set([codes[value] for value in condition.values], len(codes))
        return listed if condition.operator == "in" else ~listed

    def _check_last(self, block: Sequence[Item], reach: dict[int, int]) -> None:
        """Check that the last branch with a condition is the other side of the one before."""
        last = block[-1]
        if len(block) == 1:
            last.line.fail(
                last.line.start,
                "expected else: or the other side of this condition at the same indentation, "
                "got neither",
            )
        before = block[-2]
        if len(last.conditions) > 1 or len(before.conditions) > 1:
            last.conditions[0].fail("expected else: after conditions joined by 'and', got another")
        one, two = before.conditions[0], last.conditions[0]
        if one.name != two.name:
            two.fail(
                f"expected else: or the other side of {quoted(one.name)}, got {quoted(two.name)}"
            )
        if one.missing and two.missing:
            two.fail("expected missing values on one side, got them on both")
        if one.values and two.values:
            j = self.position[one.name]
            self._check_partition(two, reach[j], self._passing(one), self._passing(two))
        elif two.operator != _OPPOSITE.get(one.operator) or one.bound != two.bound:
            other = _OPPOSITE.get(one.operator, "")
            bound = f" {one.bound:g}" if one.operator in ("<=", "<", ">", ">=") else ""
            two.fail(
                "expected else: or the other side of the condition before"
                + (f", {one.name} {other}{bound}" if bound else "")
                + ", got another"
            )

    def _check_partition(self, at: TypedCondition, reach: int, one: int, two: int) -> None:
        for bits, what in ((reach & one & two, "on both sides"), (reach & ~one & ~two, "on none")):
            if bits:
                code = (bits & -bits).bit_length() - 1
                value = (self.categories[self.position[at.name]] or ())[code]
                at.fail(f"expected each category on one side, got {quoted(value)} {what}")

    def _nodes(self) -> Node:
        """Return the branches as nested conditions; a part may stand in several places."""
        built: dict[int, Node] = {}
        size: dict[int, int] = {}
        for block in reversed(list(_all_blocks(self.root))):
            node: Node | None = None
            count = 0
            for item in reversed(block):
                if item.outcome is not None:
                    inner: Node = self._leaf(item.outcome)
                    inner_size = 1
                else:
                    inner, inner_size = built[id(item.block)], size[id(item.block)]
                if node is None:
                    node, count = inner, inner_size
                    continue
                for condition in reversed(item.conditions):
                    inner = self._branch(condition, inner, node)
                    inner_size += 1 + count
                node, count = inner, inner_size
                if count > MAX_NODES:
                    item.line.fail(
                        item.line.start,
                        f"expected at most {MAX_NODES:,} nodes when it is written out, got more",
                    )
            built[id(block)], size[id(block)] = node, count  # type: ignore[assignment]
        return built[id(self.root)]

    def _branch(self, condition: TypedCondition, then: Node, other: Node) -> Branch:
        j, operator = self.position[condition.name], condition.operator
        if self.categories[j] is not None:
            if operator in ("all", "not in"):
                # Categories never met pass: they take the side that is not listed.
                return Branch(
                    feature=j,
                    left=other,
                    right=then,
                    left_categories=tuple(self.codes[j][v] for v in condition.values),
                    missing_left=not condition.missing,
                    unseen_left=False,
                )
            return Branch(
                feature=j,
                left=then,
                right=other,
                left_categories=tuple(self.codes[j][v] for v in condition.values),
                missing_left=condition.missing,
                unseen_left=False,
            )
        bound = math.inf if operator in ("all", "none") else condition.bound
        if operator in ("<", ">="):
            bound = math.nextafter(bound, -math.inf)
        if operator in ("<=", "<", "all"):
            return Branch(
                feature=j, left=then, right=other, threshold=bound, missing_left=condition.missing
            )
        return Branch(
            feature=j, left=other, right=then, threshold=bound, missing_left=not condition.missing
        )


_ROUNDED = 0.02
"""Shares in per cent may miss their sum by so much, by rounding; they are scaled."""

_EXACT = 1e-9


def _all_blocks(root: list[Item]) -> Iterator[list[Item]]:
    """Go through all lists of branches, from the outermost in."""
    waiting = [root]
    while waiting:
        block = waiting.pop()
        yield block
        waiting += [item.block for item in block if item.block]


def _all_items(root: list[Item]) -> Iterator[Item]:
    """Go through all branches in the order of their lines."""
    waiting = [iter(root)]
    while waiting:
        for item in waiting[-1]:
            yield item
            if item.block:
                waiting.append(iter(item.block))
                break
        else:
            waiting.pop()


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _at(classes: Sequence[Any], outcome: Outcome, name: Any) -> int:
    """Return the position of a class, also of one said in other words for the same number."""
    if name not in classes:
        outcome.fail(f"expected a class of {quoted(list(classes))}, got {quoted(name)}")
    return classes.index(name)
