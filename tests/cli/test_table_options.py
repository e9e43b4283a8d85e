"""Options of how tables are read."""

from __future__ import annotations

from pathlib import Path

import pytest

from steadytree.cli.tables import types_of
from steadytree.exceptions import InputError
from tests.cli.conftest import Files, Run


def test_types_are_read_from_the_right() -> None:
    assert types_of(("a=b=number", "c=category")) == {"a=b": "number", "c": "category"}


@pytest.mark.parametrize("given", ["age", "age=", "=number", "age=text"])
def test_bad_types(given: str) -> None:
    with pytest.raises(InputError, match="expected COLUMN=TYPE as --types"):
        types_of((given,))


def test_a_column_has_one_type() -> None:
    with pytest.raises(InputError, match="expected 'a' once in --types, got it twice"):
        types_of(("a=number", "a=category"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--separator", "ab"], "expected one sign as --separator, got 'ab'"),
        (["--separator", '"'], "expected one sign as --separator"),
        (["--thousands", "1"], "expected one sign as --thousands"),
        (["--decimal", ",", "--thousands", ","], "expected --decimal and --thousands to differ"),
        (["--types", "nix=number"], "as --types, got 'nix', which it does not have"),
        (["--types", "outcome=ignore"], "got 'outcome', which is named as --target"),
        (["--time", "year", "--types", "year=number"], "got 'year', which is named as --time"),
    ],
)
def test_bad_options(run: Run, files: Files, options: list[str], message: str) -> None:
    result = run("fit", files.old, "--target", "outcome", *options)
    assert result.code == 2
    assert message in result.err


def test_the_word_tab(run: Run, files: Files, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(files.old.read_text().replace(",", "\t"))
    options = ("fit", path, "--target", "outcome", "--learner", "cart", "--separator", "tab")
    assert run(*options).code == 0
