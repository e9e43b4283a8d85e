"""Lines of a tree in words nest as they are indented; what does not is refused at its place."""

from __future__ import annotations

import pytest

from steadytree.exceptions import TreeFormatError
from steadytree.formats.rules.read_rules import parse_lines

REFUSED = {
    "": "expected a tree in words such as 'age <= 50:', got an empty text",
    "# nothing\n\n": "got an empty text",
    "classes: a, b": "line 1, column 14: expected the branches of the tree below this line",
    "age <= 5:\nelse: yes": "line 1, column 10: expected an outcome here, or lines indented below",
    "age <= 5:": "line 1, column 10: expected an outcome here",
    "age <= 5: no\n  yes": "line 2, column 3: expected the next branch, got a line below",
    "age <= 5:\n  no\n  yes\nelse: no": "line 3, column 3: .*got a line beside an outcome",
    "age <= 5:\n   no\n  yes": "line 3, column 3: expected the indentation of a line above",
    "  age <= 5: no\nelse: yes": "line 2, column 1: expected the indentation of a line above",
    "age <= 5: no\nelse: yes\nelse: no": "line 3, column 1: expected nothing beside a branch for",
    "age <= 5: no\nyes": "line 2, column 1: expected a condition such as 'age <= 50:' or else:",
    "age <= 5:\n  no\nelse:\n\tyes": "line 4, column 1: expected lines indented by spaces or",
    "age <= 5:\n" * 3: "line 1, column 10: expected an outcome here",
}


@pytest.mark.parametrize("text", REFUSED)
def test_errors_name_the_line(text: str) -> None:
    with pytest.raises(TreeFormatError, match=REFUSED[text]):
        parse_lines(text)


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
