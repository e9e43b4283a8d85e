"""Read a tree that a person wrote down, or that ``export_tree(tree, "rules")`` did.

``.rules`` and ``.txt`` files hold conditions and, indented below them, what follows. The grammar is
on the page docs/guide/rules.md; ``rule_lines`` reads the lines, and here they become a tree.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from steadytree.formats.rules.rule_lines import Item, Outcome, TypedCondition, parse_lines
from steadytree.formats.stored_nodes import check_category_sizes
from steadytree.plugins import (
    Branch,
    Decision,
    Leaf,
    Node,
    Tree,
    TreeFormatError,
    build_tree,
    choose_tree,
    quoted,
    read_bytes,
)

FILES = "trees in words (.rules, .txt)"

MAX_BYTES = 4 * 2**20
"""What a person writes is far smaller."""

MAX_NODES = 100_000
"""When branches joined by "and" are written out."""

ROUNDED, EXACT = 0.02, 1e-9
"""Shares may miss their sum by rounding: by how much they are scaled, and by how much not."""

_OPPOSITE = {
    **{"<=": ">", ">": "<=", "<": ">=", ">=": "<"},
    **{"in": "not in", "not in": "in", "all": "none", "none": "all"},
}


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
        self.blocks = list(_blocks(self.root))
        items = sorted((i for block in self.blocks for i in block), key=lambda i: i.line.number)
        self.conditions = [c for item in items for c in item.conditions]
        self.outcomes = [item.outcome for item in items if item.outcome is not None]
        for block in self.blocks:
            _check_last(block)
        self.names = self._features()
        self.position = {name: j for j, name in enumerate(self.names)}
        self.codes = self._categories()
        self.classes = self._classes()

    def tree(self) -> Tree:
        """Return the tree."""
        sizes = [len(self.codes[self.position[c.name]] or ()) for c in self.conditions]
        check_category_sizes(sizes)
        fields: dict[str, Any] = {}
        if (decision := self._decision()) is not None:
            fields["decision"] = decision
        return build_tree(
            self._nodes(),
            n_features=len(self.names),
            feature_names=self.names,
            categories=tuple(None if codes is None else tuple(codes) for codes in self.codes),
            classes=self.classes,
            metadata={"source": "rules in words"},
            **fields,
        )

    # -- columns -----------------------------------------------------------------------

    def _features(self) -> tuple[str, ...]:
        of = [key.removeprefix("categories of ") for key in self.head if key.startswith("cat")]
        if "features" not in self.head:
            return tuple(dict.fromkeys([*(c.name for c in self.conditions), *of]))
        listed, line = self.head["features"]
        for condition in self.conditions:
            if condition.name not in listed:
                condition.at.fail(f"a feature of line {line.number}")
        return tuple(dict.fromkeys([*listed, *of]))

    def _categories(self) -> list[dict[Any, int] | None]:
        """Return the codes of each feature's categories: those listed at the head, then others."""
        out: list[dict[Any, int] | None] = []
        by_name: dict[str, list[TypedCondition]] = {name: [] for name in self.names}
        for condition in self.conditions:
            by_name[condition.name].append(condition)
        for name, conditions in by_name.items():
            listed = self.head.get(f"categories of {name}", (None,))[0]
            codes = {value: code for code, value in enumerate(listed or ())}
            by_set = [c for c in conditions if c.values]
            if by_set or listed is not None:
                for condition in conditions:
                    if not math.isnan(condition.bound):
                        condition.at.fail(
                            f"categories of {quoted(name)}, as in another line (a feature is "
                            "compared either way, not both)"
                        )
            for condition in by_set:
                for value in condition.values:
                    if listed is not None and value not in codes:
                        condition.at.fail(f"categories of {quoted(name)} as listed at the head")
                    codes.setdefault(value, len(codes))
            out.append(codes if by_set or listed is not None else None)
        return out

    # -- outcomes ----------------------------------------------------------------------

    def _classes(self) -> tuple[Any, ...] | None:
        """Return the classes as listed, else as met, sorted; None where responses are said."""
        if "classes" in self.head:
            return tuple(self.head["classes"][0])
        if all(_is_number(o.label) and not o.shares for o in self.outcomes):
            return None
        seen: dict[Any, None] = {}
        for outcome in self.outcomes:
            seen |= dict.fromkeys(
                [*([] if outcome.label is None else [outcome.label]), *outcome.shares]
            )
            if len({isinstance(c, str) for c in seen}) > 1:
                outcome.at.fail(
                    "outcomes of one kind, not words and numbers (if they are classes, list them "
                    "at the head: classes: 1, other)"
                )
        if len(seen) < 2:
            self.outcomes[0].at.fail(
                "two classes or more in all lines (list them at the head: classes: no, yes)"
            )
        return tuple(sorted(seen))

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
        classes = self.classes
        if classes is None:
            try:
                value = float(outcome.label)
            except OverflowError:  # a whole number beyond all doubles
                value = math.inf
            if not math.isfinite(value):
                outcome.at.fail("a finite response")
            return Leaf([value], outcome.rows)
        for name in [*([] if outcome.label is None else [outcome.label]), *outcome.shares]:
            if name not in classes:
                outcome.at.fail(f"a class of {quoted(list(classes))}")
        label = None if outcome.label is None else classes.index(outcome.label)
        given = outcome.shares or {outcome.label: 1.0}
        shares = np.array([given.get(name, 0.0) for name in classes])
        left = 1 - shares.sum()
        rest = [k for k, name in enumerate(classes) if name not in given]
        if rest and left >= 0:
            shares[rest] = left / len(rest)
        elif abs(left) > ROUNDED:
            outcome.at.fail(f"shares that sum to 100 %, not to {100 * shares.sum():.6g} %")
        elif abs(left) > EXACT:
            shares /= shares.sum()
        return Leaf(shares.tolist(), outcome.rows, label)

    # -- branches ----------------------------------------------------------------------

    def _nodes(self) -> Node:
        """Return the branches as nested conditions; a part may stand in several places."""
        built: dict[int, tuple[Node, int]] = {}
        for block in reversed(self.blocks):
            node: Node | None = None
            count = 0
            for item in reversed(block):
                inner, size = built[id(item.block)] if item.block else (self._outcome_of(item), 1)
                if node is not None:
                    for condition in reversed(item.conditions):
                        inner = self._split(condition, inner, node)
                        size += 1 + count
                node, count = inner, size
                if count > MAX_NODES:
                    item.line.fail(
                        item.line.start,
                        f"expected at most {MAX_NODES:,} nodes when it is written out, got more",
                    )
            assert node is not None
            built[id(block)] = node, count
        return built[id(self.root)][0]

    def _outcome_of(self, item: Item) -> Leaf:
        assert item.outcome is not None
        return self._leaf(item.outcome)

    def _split(self, condition: TypedCondition, then: Node, other: Node) -> Branch:
        j, operator, missing = self.position[condition.name], condition.operator, condition.missing
        codes = self.codes[j]
        # Categories never met take the side that is not listed.
        to_left = operator in ("<=", "<", "in", "all" if codes is None else "none")
        left, right = (then, other) if to_left else (other, then)
        asked: dict[str, Any]
        if codes is not None:
            listed = tuple(codes[value] for value in condition.values)
            asked = {"left_categories": listed, "unseen_left": False}
        else:
            bound = math.inf if operator in ("all", "none") else condition.bound
            strict = operator in ("<", ">=")
            asked = {"threshold": math.nextafter(bound, -math.inf) if strict else bound}
        return Branch(feature=j, left=left, right=right, missing_left=missing == to_left, **asked)


def _check_last(block: list[Item]) -> None:
    """Check that a list of branches leaves nobody without one."""
    last = block[-1]
    if not last.conditions:
        return
    before = block[-2].conditions if len(block) > 1 else []
    if len(before) == 1 and len(last.conditions) == 1:
        one, two = before[0], last.conditions[0]
        same = (one.name, set(one.values), repr(one.bound)) == (
            *(two.name, set(two.values), repr(two.bound)),
        )
        if same and two.operator == _OPPOSITE[one.operator] and not (one.missing and two.missing):
            return
    last.conditions[0].at.fail(
        "else: as the last branch, or the other side of the condition before it"
    )


def _blocks(root: list[Item]) -> Iterator[list[Item]]:
    """Go through all lists of branches, from the outermost in."""
    waiting = [root]
    while waiting:
        block = waiting.pop()
        yield block
        waiting += [item.block for item in block if item.block]


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
