"""The file of words holds what the tests ask for, and nothing else."""

from __future__ import annotations

from tests.wording import FILE, names_in_tests, read


def test_every_text_in_the_file_is_asked_for_by_a_test() -> None:
    asked = names_in_tests()
    assert [name for name in read() if not any(p.fullmatch(name) for p in asked)] == []


def test_every_text_stands_once() -> None:
    names = [line.partition("\t")[0] for line in FILE.read_text(encoding="utf-8").splitlines()]
    assert len(names) == len(set(names)), "two branches wrote the same text: run make wording"
