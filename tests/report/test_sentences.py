"""Texts of a page: signs of print around cells that stay as they are."""

from __future__ import annotations

from steadytree.publish.cells import people, text
from steadytree.views.report_trees import sentence


def test_signs_are_those_of_print_and_blanks_join_the_parts() -> None:
    shown = sentence(
        text("Changes by -0.02 where x-ray <= 3: ", people(3), text(" of ", people(300)))
    )
    assert shown["words"] == "Changes by \u22120.02 where x-ray \u2264 3: 3 of 300"
    assert [part["count"] for part in shown["parts"] if isinstance(part, dict)] == [3, 300]


def test_a_plain_text_is_its_own_part() -> None:
    assert sentence("x >= 2") == {"parts": ["x \u2265 2"], "words": "x \u2265 2"}
    assert sentence("") == {"parts": [], "words": ""}
