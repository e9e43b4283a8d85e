"""Errors in a tree in words name line and column, and mark the place."""

from __future__ import annotations

from typing import Any

import pytest

from steadytree.exceptions import TreeFormatError
from steadytree.formats.rules.read_rules import parse_lines
from steadytree.formats.rules.rule_words import Item, Line, LineReader

REFUSED = {
    "age =< 5: no": "line 1, column 5: expected <= or >=, got '=< 5: no'",
    "age <= 30,000: no": "column 8: expected a number with a decimal point, such as 30000.5",
    "age <= 3.0.1: no": "column 8: expected a number with a decimal point",
    "age <= 5kg: no": "column 8: expected a number with a decimal point",
    "age <= : no": "column 8: expected a number with a decimal point, .*got ': no'",
    "age <=": "column 7: expected a number .*got the end of the line",
    "<= 5: no": "column 1: expected a feature before this, got '<= 5: no'",
    "age <= 5 income: no": "column 10: expected ':' or 'and' after the condition",
    "age <= 5 and no": "column 14: expected a condition such as age <= 50",
    "if no": "column 4: expected a condition such as age <= 50",
    "colour in": "column 10: expected a name or a number, got the end",
    "colour in red,": "column 15: expected a name or a number, got the end",
    "colour in red, red: no": "column 16: expected each category once, got 'red: no'",
    "colour in (red, blue: no": "column 21: expected '\\)' after the categories",
    "colour in missing: no": "column 18: expected a category; write 'is missing'",
    'colour in "red: no': "column 11: expected a name or a number; if it is unusual, in quotes",
    '"col\\x" = 1: no': "column 1: expected text with escapes as JSON has them",
    '"a" b <= 1: no': "column 5: expected <=, <, >, >=, =, in, not in or is after the feature",
    "age <= 5: no yes (": "column 19: expected '\\)' after what is said",
    "age <= 5: no (many)": "expected a share such as 20 % or 0.2",
    "age <= 5: no (80 %, no 20 %)": "column 20: expected one share for each class",
    "age <= 5: no (180 %)": "column 15: expected a share from 0 to 1, or from 0 % to 100 %",
    "age <= 5: no 80 %, yes": "column 20: expected another class and its share",
    "age <= 5: no (80 %) or so": "column 21: expected the end of the line after an outcome",
    "age <= 5: value: [1, 2]": "expected '\\]' after one number",
    "age <= 5: weights: [1, 2]": "expected class: after the weights",
    "age <= 5: weights: [1, 2": "expected '\\]' after the weights",
    "age <= 5: weights: [0, 0] class: a": "expected weights above 0",
    "decision: yes\na <= 1: no": "line 1, column 14: expected a class and from which share on",
    "decision: yes from 20 % up\na <= 1: no": "column 25: expected the end of the line",
    "classes: a; 'b' c": "expected",
    "features: 'b' c": "column 15: expected a comma or the end of the line",
    "has_car: yes": "column 1: expected a condition such as age <= 50 or has_car = true before",
    "age <= 5 or b > 5: no": "column 10: expected ':' or 'and' after .*line of its own",
    "30 < age > 50: no": "column 6: expected an upper bound, as in 30 < age <= 50",
    "age <= 5: p = 0.8": "column 11: expected an outcome such as no, or no .80 %.; if it is unus",
}


@pytest.mark.parametrize("text", REFUSED)
def test_errors_point_at_the_place(text: str) -> None:
    with pytest.raises(TreeFormatError, match=REFUSED[text]) as caught:
        parse_lines(text)
    message = str(caught.value)
    if "column" not in message:
        return
    _, shown, mark = message.split("\n")
    assert mark.strip() == "^"
    number, column = (
        int(word) for word in message.replace(":", " ").replace(",", " ").split()[1:4:2]
    )
    line = text.split("\n")[number - 1].replace("\t", " ")
    assert shown.strip() == line.strip()
    assert mark.index("^") == column - 1 + 4


def test_long_lines_are_shown_around_the_place() -> None:
    text = "age <= 5 and " * 30 + "age =< 1: no"
    with pytest.raises(TreeFormatError, match="column 395: expected <= or >=") as caught:
        parse_lines(text)
    _, shown, mark = str(caught.value).split("\n")
    assert len(shown) <= 124
    assert shown[mark.index("^") :].startswith("=< 1")


def said(text: str) -> Item:
    return LineReader(Line(1, text, 0, len(text))).branch()


@pytest.mark.parametrize("then", [": ", " then ", " -> ", " → ", " => ", ":"])
@pytest.mark.parametrize(
    "condition", ["age <= 5", "if colour in red, blue", "x is missing", "y in (1, 2)", "any z"]
)
def test_what_may_stand_before_an_outcome(condition: str, then: str) -> None:
    item = said(f"{condition}{then}no")
    assert len(item.conditions) == 1
    assert item.outcome is not None
    assert item.outcome.label == "no"


@pytest.mark.parametrize("word", ["else", "otherwise:", "else ->", "ELSE", "always:"])
def test_others(word: str) -> None:
    item = said(f"{word} no")
    assert item.conditions == ()
    assert item.outcome is not None
    assert item.outcome.label == "no"


def test_ranges_are_two_conditions() -> None:
    one, two = said("30 <= age at visit < 50.5 or missing: no").conditions
    assert (one.name, one.operator, one.bound, one.missing) == ("age at visit", ">=", 30, True)
    assert (two.name, two.operator, two.bound, two.missing) == ("age at visit", "<", 50.5, True)
    assert len(said("3 < a ≤ 5 and 1 < b <= 2: no").conditions) == 4


def test_shares_on_either_side_of_a_class() -> None:
    expected: dict[Any, float] = {"no": 0.8, "yes": 0.2}
    for text in ("no 80 %, yes 20 %", "80 % no, 20 % yes", '"no" 80%; yes 20%'):
        outcome = said(text).outcome
        assert outcome is not None
        assert (outcome.label, outcome.shares) == (None, expected)
