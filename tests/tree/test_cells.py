"""A text knows which of its words are numbers about people."""

from __future__ import annotations

from steadytree.publish.cells import Text, cell_words, people, text


def test_a_text_reads_as_it_is_and_knows_its_cells() -> None:
    line = text("It happens for ", people(3), text(" of ", people(300)), ".")
    assert isinstance(line, Text)
    assert line == "It happens for 3 of 300."
    assert [cell_words(part) for part in line.parts if isinstance(part, dict)] == ["3", "300"]
