"""Errors in a tree in words name line and column, and mark the place."""

from __future__ import annotations

import pytest

from steadytree.exceptions import TreeFormatError
from steadytree.readers.rule_lines import parse_lines

REFUSED = {
    "": "expected a tree in words such as 'age <= 50:', got an empty text",
    "# nothing\n\n": "got an empty text",
    "classes: a, b": "line 1, column 14: expected the branches of the tree below this line",
    "age =< 5: no": "line 1, column 5: expected <= or >=, got '=< 5: no'",
    "age <= 30,000: no": "column 8: expected a number with a decimal point, such as 30000.5",
    "age <= 3.0.1: no": "column 8: expected a number with a decimal point",
    "age <= 5kg: no": "column 8: expected a number with a decimal point",
    "age <= : no": "column 8: expected a number with a decimal point, .*got ': no'",
    "age <=": "column 7: expected a number .*got the end of the line",
    "<= 5: no": "column 1: expected a feature before this, got '<= 5: no'",
    "age <= 5 income: no": "column 10: expected ':' or 'and' after the condition, got 'income",
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
    "age <= 5:\nelse: yes": "line 1, column 10: expected an outcome here, or lines indented below",
    "age <= 5:": "line 1, column 10: expected an outcome here",
    "age <= 5: no\n  yes": "line 2, column 3: expected the next branch, got a line below",
    "age <= 5:\n  no\n  yes\nelse: no": "line 3, column 3: .*got a line beside an outcome",
    "age <= 5:\n   no\n  yes": "line 3, column 3: expected the indentation of a line above",
    "  age <= 5: no\nelse: yes": "line 2, column 1: expected the indentation of a line above",
    "age <= 5: no\nelse: yes\nelse: no": "line 3, column 1: expected nothing beside a branch for",
    "age <= 5: no\nyes": "line 2, column 1: expected a condition such as 'age <= 50:' or else:",
    "age <= 5:\n  no\nelse:\n\tyes": "line 4, column 1: expected lines indented by spaces or",
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


def test_what_lines_say() -> None:
    head, (first, second) = parse_lines(
        "classes: a, 'b c'\ncategories of \"x: y\": 3, 2.5, true\n"
        "'x: y' in 3, 2.5 or missing: # a comment\n  |-- \"it # is\"\notherwise\n  a (5 rows)",
    )
    assert head["classes"][0] == ("a", "b c")
    assert head["categories of x: y"][0] == (3, 2.5, True)
    (condition,) = first.conditions
    assert (condition.name, condition.operator) == ("x: y", "in")
    assert (condition.values, condition.missing) == ((3, 2.5), True)
    assert first.outcome is not None
    assert first.outcome.label == "it # is"
    assert second.outcome is not None
    assert (second.conditions, second.outcome.rows) == ((), 5)
