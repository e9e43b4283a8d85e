"""The file of words holds what the tests ask for, and nothing else."""

from __future__ import annotations

from tests.wording import names_in_tests, read


def test_every_text_in_the_file_is_asked_for_by_a_test() -> None:
    asked = names_in_tests()
    assert [name for name in read() if not any(p.fullmatch(name) for p in asked)] == []
