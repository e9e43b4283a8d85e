"""PMML's predicates as conditions of three outcomes."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from steadytree.formats.conditions import (
    FALSE,
    TRUE,
    UNKNOWN,
    All,
    AnyOf,
    AtMost,
    Condition,
    Constant,
    FirstKnown,
    IsMissing,
    Not,
    OddlyMany,
    OneOf,
    below,
)
from steadytree.formats.pmml.pmml_fields import Field, Fields, first, read_value, tag
from steadytree.formats.thresholds import double_threshold
from steadytree.plugins import TreeFormatError, UnsupportedModelError, quoted

PREDICATES = ("SimplePredicate", "SimpleSetPredicate", "CompoundPredicate", "True", "False")
MAX_NESTING = 30
JOINED: dict[str, Any] = {"and": All, "or": AnyOf, "xor": OddlyMany, "surrogate": FirstKnown}
TOKEN = re.compile(r'"((?:\\"|[^"])*)"|(\S+)')


def read_predicate(element: Any, fields: Fields, wide: bool, level: int = 0) -> Condition:
    """Return what a predicate asks; ``wide``: thresholds of singles are written as doubles."""
    kind = tag(element)
    if kind == "True":
        return Constant(TRUE)
    if kind == "False":
        return Constant(FALSE)
    if level > MAX_NESTING:
        raise TreeFormatError(f"expected predicates nested at most {MAX_NESTING} deep, got more")
    if kind == "CompoundPredicate":
        joint = element.get("booleanOperator", "")
        if joint not in JOINED:
            raise TreeFormatError(
                f"expected a booleanOperator of {list(JOINED)}, got {quoted(joint)}"
            )
        parts = [
            read_predicate(part, fields, wide, level + 1)
            for part in element
            if tag(part) in PREDICATES
        ]
        if not parts:
            raise TreeFormatError("expected predicates in a CompoundPredicate, got none")
        parts = _merged(parts, joint)
        condition: Condition = parts[0] if len(parts) == 1 else JOINED[joint](tuple(parts))
        return condition
    field = fields.field(element.get("field", ""))
    operator = element.get("operator" if kind == "SimplePredicate" else "booleanOperator", "")
    if kind == "SimpleSetPredicate":
        array = first(element, "Array")
        if array is None or operator not in ("isIn", "isNotIn"):
            raise TreeFormatError(
                "expected isIn or isNotIn with an Array in a SimpleSetPredicate, got "
                f"{quoted(operator)}"
            )
        texts = array_texts(array.text or "")
        inside = _one_of(field, texts, fields, wide)
        return inside if operator == "isIn" else Not(inside)
    if operator in ("isMissing", "isNotMissing"):
        filled = field.imputed is not None
        missing: Condition = Constant(FALSE) if filled else IsMissing(field.feature)
        return missing if operator == "isMissing" else Not(missing)
    text = element.get("value")
    if text is None:
        raise TreeFormatError(f"expected a value for operator {quoted(operator)}, got none")
    if operator in ("equal", "notEqual"):
        inside = _one_of(field, [text], fields, wide)
        return inside if operator == "equal" else Not(inside)
    if operator not in ("lessThan", "lessOrEqual", "greaterThan", "greaterOrEqual"):
        raise TreeFormatError(f"expected an operator of PMML, got {operator[:40]!r}")
    if not field.numeric:
        return _in_order(field, operator, text, fields)
    value = read_value(text, field.data_type, f"field {quoted(field.name)}")
    strict = operator in ("lessThan", "greaterOrEqual")
    condition = _less(field, value, wide) if strict else _at_most(field, value, wide)
    return condition if operator.startswith("less") else Not(condition)


def _merged(parts: list[Condition], joint: str) -> list[Condition]:
    """Make one condition of neighbours on one category: "a" or "b"; not "a" and not "b"."""
    merged: list[Condition] = []
    for part in parts:
        last = merged[-1] if merged else None
        one, two = last, part
        if joint == "and" and isinstance(last, Not) and isinstance(part, Not):
            one, two = last.part, part.part
        elif joint != "or":
            one = None
        if (
            isinstance(one, OneOf)
            and isinstance(two, OneOf)
            and (one.feature, one.unseen, one.missing) == (two.feature, FALSE, UNKNOWN)
            and (two.unseen, two.missing) == (FALSE, UNKNOWN)
        ):
            both = OneOf(one.feature, one.codes | two.codes)
            merged[-1] = Not(both) if joint == "and" else both
        else:
            merged.append(part)
    return merged


def array_texts(text: str) -> list[str]:
    """Return the entries of an array: parted by blanks, those with blanks in them quoted."""
    return [
        quoted.replace('\\"', '"') if plain == "" else plain
        for quoted, plain in TOKEN.findall(text)
    ]


def _at_most(field: Field, value: float, wide: bool) -> Condition:
    """``x <= value``, of x as the field treats it."""
    j = field.feature
    missing = UNKNOWN
    if field.imputed is not None:
        missing = TRUE if field.imputed <= value else FALSE
    if value < field.low:  # never: what is lower was moved up
        contrary = {TRUE: FALSE, FALSE: TRUE, UNKNOWN: UNKNOWN}[missing]
        return Not(AtMost(j, np.inf, contrary))
    if value >= field.high:
        return AtMost(j, np.inf, missing)
    at = double_threshold(value, "float32") if wide and field.single else value
    return AtMost(j, at, missing)


def _less(field: Field, value: float, wide: bool) -> Condition:
    """``x < value``: at most the next number below."""
    lower = below(field.feature, value, "float32" if field.single else "float64")
    if isinstance(lower, AtMost):
        return _at_most(field, lower.threshold, wide)
    return lower


def _one_of(field: Field, texts: list[str], fields: Fields, wide: bool) -> Condition:
    """Whether a value is one of some."""
    if field.numeric:
        values = sorted(
            {read_value(t, field.data_type, f"field {quoted(field.name)}") for t in texts}
        )
        parts = [All((_at_most(field, v, wide), Not(_less(field, v, wide)))) for v in values]
        return parts[0] if len(parts) == 1 else AnyOf(tuple(parts))
    codes = {fields.code(field, text) for text in texts}
    named = {read_value(t, field.data_type, f"field {quoted(field.name)}") for t in texts}
    return OneOf(
        field.feature,
        frozenset(c for c in codes if c is not None),
        unseen=_outcome(field.replaced is not None and field.replaced in named),
        missing=UNKNOWN if field.imputed is None else _outcome(field.imputed in named),
    )


def _outcome(so: bool) -> int:
    return TRUE if so else FALSE


def _in_order(field: Field, operator: str, text: str, fields: Fields) -> Condition:
    """Compare categories that have an order: that in which they are listed."""
    own = fields.categories[field.feature]
    value = read_value(text, field.data_type, f"field {quoted(field.name)}")
    if not (field.ordered and field.listed and field.unseen_is_missing and value in own):
        raise UnsupportedModelError(
            "expected numbers or listed ordinal categories to compare, got "
            f"{operator} {text[:40]!r} on field {quoted(field.name)}"
        )
    at = own[value]

    def holds(k: int) -> bool:
        less = k < at if operator in ("lessThan", "greaterOrEqual") else k <= at
        return less == operator.startswith("less")

    missing = UNKNOWN
    if field.imputed is not None:
        missing = _outcome(field.imputed in own and holds(own[field.imputed]))
    return OneOf(field.feature, frozenset(k for k in own.values() if holds(k)), missing=missing)
