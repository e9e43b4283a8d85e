"""The faults that are put in: the right ones, once each, found again by their names."""

from __future__ import annotations

from research.mutation.mutants import compiled, mutants_of, sample_of
from research.mutation.targets import ROOT, TARGETS

SOURCE = '''"""A module."""
__all__ = ["inside"]


def inside(value: int, low: int = 3) -> bool:
    """Say whether a value lies inside."""
    if value is None:
        raise ValueError(f"expected a value, got {value + 1}")
    return low <= value and not value > 9
'''


def names(source: str) -> list[str]:
    return [mutant.name for mutant in mutants_of(source)]


def test_what_is_changed_and_what_is_left_alone() -> None:
    whole = "return low <= value and (not value > 9)"
    assert names(SOURCE) == [
        "inside: 3 -> 4",
        "inside: 3 -> 2",
        "inside: value is None -> value is not None",
        "inside: raise ValueError(f'expected a value, got {value + 1}') -> pass",
        f"inside: {whole} -> return None",
        f"inside: {whole} -> return low <= value or not value > 9",
        f"inside: {whole} -> return low < value and (not value > 9)",
        f"inside: {whole} -> return low > value and (not value > 9)",
        f"inside: {whole} -> return low <= value and value > 9",
        f"inside: {whole} -> return low <= value and (not value >= 9)",
        f"inside: {whole} -> return low <= value and (not value <= 9)",
        f"inside: {whole} -> return low <= value and (not value > 10)",
        f"inside: {whole} -> return low <= value and (not value > 8)",
    ]


def test_each_mutant_is_another_program() -> None:
    codes = set()
    for mutant in mutants_of(SOURCE):
        scope: dict[str, object] = {}
        exec(compiled(SOURCE, mutant, "module.py"), scope)
        function = scope["inside"]
        code = function.__code__  # type: ignore[attr-defined]
        codes.add((code.co_code, code.co_consts, function.__defaults__))  # type: ignore[attr-defined]
    assert len(codes) == len(names(SOURCE))


def test_faults_in_defaults_and_constants_concern_every_test() -> None:
    everywhere = {mutant.name: mutant.everywhere for mutant in mutants_of(SOURCE)}
    assert everywhere["inside: 3 -> 4"]
    assert not everywhere["inside: value is None -> value is not None"]


def test_a_fault_lies_on_the_lines_of_its_statement() -> None:
    (raised,) = (m for m in mutants_of(SOURCE) if "raise" in m.name)
    assert list(raised.lines) == [8]
    (asked,) = (m for m in mutants_of(SOURCE) if "is not None" in m.name)
    assert list(asked.lines) == [7]


def test_an_edit_elsewhere_draws_the_same_sample() -> None:
    before = {m.name for m in sample_of(mutants_of(SOURCE), 6, "seed")}
    longer = SOURCE.replace(
        "if value is None", "if not low:\n        low = 1\n    if value is None"
    )
    after = {m.name for m in sample_of(mutants_of(longer), 6, "seed")}
    assert len(before) == len(after) == 6
    assert after - before <= set(names(longer)) - set(names(SOURCE))
    assert before != {m.name for m in sample_of(mutants_of(SOURCE), 6, "another")}


def test_names_are_unique_in_the_modules_that_are_tried() -> None:
    for target in TARGETS.values():
        found = names(target.path.read_text(encoding="utf-8"))
        assert len(found) == len(set(found)) > 0
        assert (ROOT / target.test_files()[0]).exists()
