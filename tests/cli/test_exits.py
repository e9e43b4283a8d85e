"""Exit codes: the same in the help page, on the documentation's page and in the program."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from steadytree.cli.app import group
from steadytree.cli.output import EXIT_CODES, begin, interrupted


@pytest.mark.parametrize("place", ["help", "docs"])
def test_the_exit_codes_are_those_told(place: str) -> None:
    page = Path(__file__).parents[2] / "docs" / "guide" / "command-line.md"
    if place == "docs":
        table = dict(re.findall(r"^\| (\d+) \| ([^|;]+?)[;|]", page.read_text(), re.MULTILINE))
        assert {int(code): words.strip() for code, words in table.items()} == EXIT_CODES
        return
    told = " ".join(CliRunner().invoke(group, ["--help"]).output.split())
    for code, words in EXIT_CODES.items():
        assert f"{code} {words}" in told


def test_who_was_stopped_says_so_once(capsys: pytest.CaptureFixture[str]) -> None:
    begin()
    code = interrupted(as_json=True)
    shown = capsys.readouterr()
    assert EXIT_CODES[code].capitalize() in shown.err
    assert json.loads(shown.out)["exit_code"] == code
    assert interrupted(as_json=True) == code
    assert capsys.readouterr().out == ""
