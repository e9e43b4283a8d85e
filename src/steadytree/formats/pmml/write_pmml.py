"""Write a tree as PMML 4.4, so that a scoring engine decides as it does.

Each left child carries a condition that is true or false for every row, missing values and
categories never met included, and its sibling takes the rest: no strategy for missing values has
to be agreed on. Thresholds are written so that the same doubles are read back. The label of a leaf
is its score, whatever its shares would give.
"""

from __future__ import annotations

import re
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from steadytree.formats.split_tests import SplitTest, fits, split_test
from steadytree.plugins import InputError, Tree, UnsupportedModelError, __version__

SUFFIXES = (".pmml",)
NAMESPACE = "http://www.dmg.org/PMML-4_4"
LARGEST = float(np.finfo(np.float64).max)
# What XML 1.0 cannot hold, however it is written.
FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# What can stand in an array of texts without being quoted away.
PLAIN = re.compile(r"[^\s\"\\]+")


def write(tree: Tree, *, target: str = "prediction", model_name: str | None = None) -> str:
    """Write a tree as a PMML document.

    Parameters
    ----------
    tree : Tree
    target : str, default "prediction"
        Name of the field that is predicted. Shares come out as "probability(class)".
    model_name : str, optional
        Name of the model.

    Returns
    -------
    str
        The document. Numbers are doubles; a tree that rounds to single precision is written with
        the thresholds that decide the same of doubles. Categories are text, integer (within 32
        bits), double or boolean, as the tree has them; a value that its type cannot hold, such as
        1.5 among whole numbers, is an error of the engine.
    """
    if target in tree.feature_labels:
        raise InputError(
            f"expected a target that is no feature, got {target!r}; pass another: target='outcome'"
        )
    kind = "classification" if tree.is_classifier else "regression"
    version = __version__
    name = "" if model_name is None else f" modelName={_quoted(model_name)}"
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<PMML xmlns="{NAMESPACE}" version="4.4">',
        f'<Header><Application name="steadytree" version={_quoted(version)}/></Header>',
        *_dictionary(tree, target),
        f'<TreeModel{name} functionName="{kind}" missingValueStrategy="none" '
        'noTrueChildStrategy="returnNullPrediction" splitCharacteristic="binarySplit">',
        "<MiningSchema>",
        f'<MiningField name={_quoted(target)} usageType="target"/>',
        *(
            f'<MiningField name={_quoted(f)} invalidValueTreatment="asIs"/>'
            for f in tree.feature_labels
        ),
        "</MiningSchema>",
        *_output(tree, target),
        *_nodes(tree),
        "</TreeModel>",
        "</PMML>",
    ]
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """Return a text as the value of an attribute."""
    found = FORBIDDEN.search(text)
    if found:
        raise UnsupportedModelError(
            f"expected text that XML can hold, got {found.group()!r} in {text!r}; rename it"
        )
    return quoteattr(text, {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})


def _type_of(values: tuple[Any, ...], what: str) -> str:
    """Return the data type of categories or classes, or refuse a mixture."""
    kinds = {bool: "boolean", int: "integer", float: "double", str: "string"}
    found = {type(v) for v in values}
    if len(found) == 1 and found <= set(kinds):
        kind = kinds[found.pop()]
        if kind == "integer" and any(not -(2**31) <= v < 2**31 for v in values):
            kind = "double"
        if kind != "double" or all(fits(v, np.float64) for v in values):
            return kind
    raise UnsupportedModelError(
        f"expected {what} of one type for PMML (all text, whole numbers, doubles or bool), got "
        f"{list(values)[:5]}"
    )


def _value(value: Any, kind: str) -> str:
    """Return a category or class as it stands in an attribute."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if kind in ("string", "integer") else repr(float(value))


def _dictionary(tree: Tree, target: str) -> list[str]:
    lines = [f'<DataDictionary numberOfFields="{tree.n_features + 1}">']
    for name, listed in zip(tree.feature_labels, tree.categories, strict=True):
        lines += _field(name, listed, f"categories of {name!r}")
    lines += _field(target, tree.classes, "classes")
    return [*lines, "</DataDictionary>"]


def _field(name: str, values: tuple[Any, ...] | None, what: str) -> list[str]:
    if values is None:
        return [f'<DataField name={_quoted(name)} optype="continuous" dataType="double"/>']
    kind = _type_of(values, what)
    return [
        f'<DataField name={_quoted(name)} optype="categorical" dataType="{kind}">',
        *(f"<Value value={_quoted(_value(v, kind))}/>" for v in values),
        "</DataField>",
    ]


def _output(tree: Tree, target: str) -> list[str]:
    """Ask for the shares, which engines give only when asked."""
    if tree.classes is None:
        return []
    kind = _type_of(tree.classes, "classes")
    texts = [_value(c, kind) for c in tree.classes]
    return [
        "<Output>",
        *(
            f'<OutputField name={_quoted(f"probability({text})")} optype="continuous" '
            f'dataType="double" feature="probability" value={_quoted(text)}/>'
            for text in texts
        ),
        "</Output>",
    ]


def _nodes(tree: Tree) -> list[str]:
    """Write the nodes, each parent around its two children."""
    texts: tuple[str, ...] = ()
    if tree.classes is not None:
        kind = _type_of(tree.classes, "classes")
        texts = tuple(_quoted(_value(c, kind)) for c in tree.classes)
    kinds = [
        "" if c is None else _type_of(c, f"categories of {name!r}")
        for name, c in zip(tree.feature_labels, tree.categories, strict=True)
    ]
    lines: list[str] = []
    waiting: list[tuple[int, str] | None] = [(0, "<True/>")]
    while waiting:
        here = waiting.pop()
        if here is None:
            lines.append("</Node>")
            continue
        node, condition = here
        weight = float(tree.weight[node])
        score = texts[int(tree.label[node])] if texts else f'"{float(tree.value[node, 0])!r}"'
        lines += [f'<Node id="{node}" score={score} recordCount="{weight!r}">', condition]
        lines += [
            f'<ScoreDistribution value={text} recordCount="{weight * share!r}" '
            f'probability="{share!r}"/>'
            for text, share in zip(texts, tree.value[node].tolist(), strict=False)
        ]
        waiting.append(None)
        if not tree.is_leaf[node]:
            test = split_test(tree, node)
            left = _condition(test, kinds[test.feature])
            waiting += [
                (int(tree.children_right[node]), "<True/>"),
                (int(tree.children_left[node]), left),
            ]
    return lines


def _condition(test: SplitTest, kind: str) -> str:
    """Return the condition for going left: true or false of every row, never unknown."""
    name = _quoted(test.name)
    is_there = f'<SimplePredicate field={name} operator="isNotMissing"/>'
    is_missing = f'<SimplePredicate field={name} operator="isMissing"/>'
    present = _threshold(test) if test.threshold is not None else _categories(test, kind)
    if isinstance(present, bool):  # all present values go one way
        if present == test.missing_left:
            return "<True/>" if present else "<False/>"
        return is_missing if test.missing_left else is_there
    joint, first = ("or", is_missing) if test.missing_left else ("and", is_there)
    return f'<CompoundPredicate booleanOperator="{joint}">{first}{present}</CompoundPredicate>'


def _threshold(test: SplitTest) -> str | bool:
    assert test.threshold is not None
    if test.threshold == np.inf:
        return True
    operator, at = "lessOrEqual", test.threshold
    if at == -np.inf:  # only minus infinity itself, for which engines have no common name
        operator, at = "lessThan", -LARGEST
    return f'<SimplePredicate field={_quoted(test.name)} operator="{operator}" value="{at!r}"/>'


def _categories(test: SplitTest, kind: str) -> str | bool:
    values, means_left = test.listed
    if not values:
        return not means_left
    texts = [_value(v, kind) for v in values]
    name = _quoted(test.name)
    if len(texts) > 1 and all(PLAIN.fullmatch(text) for text in texts):
        operator = "isIn" if means_left else "isNotIn"
        array = f'"{kind}"' if kind == "string" else '"int"' if kind == "integer" else '"real"'
        if kind != "boolean":
            for text in texts:
                _quoted(text)
            inside = escape(" ".join(texts))
            return (
                f'<SimpleSetPredicate field={name} booleanOperator="{operator}">'
                f'<Array n="{len(texts)}" type={array}>{inside}</Array></SimpleSetPredicate>'
            )
    operator, joint = ("equal", "or") if means_left else ("notEqual", "and")
    parts = [
        f'<SimplePredicate field={name} operator="{operator}" value={_quoted(text)}/>'
        for text in texts
    ]
    if len(parts) == 1:
        return parts[0]
    inside = "".join(parts)
    return f'<CompoundPredicate booleanOperator="{joint}">{inside}</CompoundPredicate>'
