"""Predicates of PMML as conditions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from steadytree.exceptions import TreeFormatError
from steadytree.formats.conditions import (
    FALSE,
    TRUE,
    AtMost,
    Constant,
    FirstKnown,
    Not,
    OneOf,
)
from steadytree.formats.pmml.pmml_fields import Fields, first, parse_xml
from steadytree.formats.pmml.pmml_predicates import array_texts, read_predicate


def fields(treatment: str = "") -> Fields:
    root = parse_xml(
        (
            '<PMML><DataDictionary><DataField name="x" optype="continuous" dataType="double"/>'
            '<DataField name="c" optype="categorical" dataType="string"/></DataDictionary>'
            f'<TreeModel><MiningSchema><MiningField name="x" {treatment}/><MiningField name="c"/>'
            "</MiningSchema></TreeModel></PMML>"
        ).encode()
    )
    return Fields(root, [first(root, "TreeModel")])


def predicate(text: str, treatment: str = "") -> Any:
    return read_predicate(parse_xml(text.encode()), fields(treatment), wide=True)


def simple(operator: str, value: str = "2") -> str:
    return f'<SimplePredicate field="x" operator="{operator}" value="{value}"/>'


@pytest.mark.parametrize(
    ("text", "entries"),
    [
        ("a b  c", ["a", "b", "c"]),
        ('"a b" c', ["a b", "c"]),
        (r'"say \"yes\"" ""', ['say "yes"', ""]),
        (r"C:\dir", ["C:\\dir"]),
        ("", []),
        ("\n 1 2.5\t-3 ", ["1", "2.5", "-3"]),
    ],
)
def test_arrays(text: str, entries: list[str]) -> None:
    assert array_texts(text) == entries


def test_comparisons_of_numbers() -> None:
    assert predicate(simple("lessOrEqual")) == AtMost(0, 2.0)
    assert predicate(simple("greaterThan")) == Not(AtMost(0, 2.0))
    assert predicate(simple("lessThan")) == AtMost(0, np.nextafter(2.0, 0))
    assert predicate(simple("greaterOrEqual")) == Not(AtMost(0, np.nextafter(2.0, 0)))
    assert predicate("<True/>") == Constant(TRUE)


def test_what_is_done_to_values_shows_in_the_outcome() -> None:
    imputed = 'missingValueReplacement="1"'
    assert predicate(simple("lessOrEqual"), imputed) == AtMost(0, 2.0, TRUE)
    assert predicate(simple("lessOrEqual", "0"), imputed) == AtMost(0, 0.0, FALSE)
    assert predicate(simple("isMissing"), imputed) == Constant(FALSE)
    clipped = 'outliers="asExtremeValues" lowValue="1" highValue="2"'
    assert predicate(simple("lessOrEqual", "2"), clipped) == AtMost(0, np.inf)
    assert predicate(simple("lessThan", "1"), clipped) == Not(AtMost(0, np.inf))
    assert predicate(simple("lessOrEqual", "1"), clipped) == AtMost(0, 1.0)


def test_categories_and_surrogates() -> None:
    text = (
        '<SimpleSetPredicate field="c" booleanOperator="isNotIn"><Array type="string">a "b c"'
        "</Array></SimpleSetPredicate>"
    )
    assert predicate(text) == Not(OneOf(1, frozenset({0, 1})))
    parts = simple("lessOrEqual") + text
    found = predicate(f'<CompoundPredicate booleanOperator="surrogate">{parts}</CompoundPredicate>')
    assert isinstance(found, FirstKnown)
    assert len(found.parts) == 2


@pytest.mark.parametrize(
    "text",
    [
        '<SimpleSetPredicate field="c" booleanOperator="isIn"/>',
        '<SimpleSetPredicate field="c" booleanOperator="no"><Array>a</Array></SimpleSetPredicate>',
        '<SimplePredicate field="x" operator="equal"/>',
        '<SimplePredicate operator="equal" value="1"/>',
    ],
)
def test_what_is_no_predicate(text: str) -> None:
    with pytest.raises(TreeFormatError, match="expected"):
        predicate(text)
