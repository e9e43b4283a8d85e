"""``steadytree history``: show and verify."""

from __future__ import annotations

from pathlib import Path

import pytest

from steadytree.retraining.history import History
from tests.cli.conftest import Run
from tests.retraining.histories import A, PlanCheck, contents, six_lines, write


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return six_lines(tmp_path / "history.jsonl")


# -- show --------------------------------------------------------------------------------------


def test_show(run: Run, path: Path) -> None:
    result = run("history", "show", path)
    assert result.code == 0
    assert "3 versions, version 2 in force" in result.out
    assert f"head: {History(path).head}" in result.out
    table = result.out.splitlines()[3:]
    assert table[0].split() == ["date", "status", "by", "leaves", "moved", "from", "the", "first"]
    assert table[1].split() == ["1", "2023-01-31", "approved", "Dr", "Adams", "2"]
    assert table[2].split()[:5] == ["2", "*", "2024-01-31", "approved", "Dr"]
    assert "rejected" in table[3]
    assert "too many flips" not in result.out
    more = run("history", "show", path, "-v").out
    assert "too many flips" in more
    assert "0.82" in more
    assert "auc" in more
    assert "head" not in run("history", "show", path, "-q").out


def test_show_as_json(run: Run, path: Path) -> None:
    document = run("history", "show", path, "--json").document
    assert document["command"] == "history show"
    assert document["current"] == 2
    assert [row["version"] for row in document["versions"]] == [1, 2, 3]
    assert document["versions"][2]["decided_by"] == "Dr Ünal"
    assert document["versions"][2]["score_auc"] is None
    assert document["head"] == History(path).head
    new = path.with_name("one.jsonl")
    new.touch()
    assert "0 versions, none in force" in run("history", "show", new).out
    History(new).append(A)
    assert "1 version, none in force" in run("history", "show", new).out


def test_show_tells_why_a_version_was_refused(run: Run, path: Path) -> None:
    History(path).append(A, check=PlanCheck(False))
    shown = run("history", "show", path, "-v").out
    assert "refused" in shown
    assert "changed decisions 9 %, at most 3 %: broken" in shown
    assert "version 2 in force" in shown


def test_a_broken_chain_is_not_shown(run: Run, path: Path) -> None:
    path.write_text(path.read_text().replace("Dr Baker", "Dr Evil"))
    result = run("history", "show", path)
    assert result.code == 2
    assert "line 4: " in result.err
    assert result.out == ""


# -- verify ------------------------------------------------------------------------------------


def test_verify(run: Run, path: Path) -> None:
    head = History(path).head
    result = run("history", "verify", path)
    assert result.code == 0
    assert result.out.splitlines() == ["intact: 6 lines, all chained", f"head: {head}"]
    History(path).append(A)
    result = run("history", "verify", path, "--head", head, "--json")
    assert result.code == 0
    assert (result.document["ok"], result.document["grown_by"]) == (True, 1)


def test_what_is_not_intact_is_code_3(run: Run, path: Path) -> None:
    head, lines = History(path).head, contents(path)
    write(path, lines[:-1])
    assert run("history", "verify", path).code == 0
    result = run("history", "verify", path, "--head", head)
    assert result.code == 3
    assert "not intact: the head" in result.out
    assert "lines were removed or rewritten" in result.out
    write(path, [*lines[:1], lines[1] | {"by": "Dr Evil"}, *lines[2:]])
    result = run("history", "verify", path, "--json")
    assert result.code == 3
    document = result.document
    assert (document["exit_code"], document["ok"]) == (3, False)
    assert (document["line"], document["lines"]) == (2, 1)


@pytest.mark.parametrize("name", ["show", "verify"])
def test_what_cannot_be_read_is_bad_input(run: Run, tmp_path: Path, name: str) -> None:
    result = run("history", name, tmp_path / "none.jsonl", "--json")
    assert result.code == 2
    assert "expected a history file, got none" in result.err
    assert result.document["error"]["exit_code"] == 2
    assert run("history", name, tmp_path).code == 2
    assert run("history", name, "/dev/zero").code == 2


def test_a_head_that_is_none_is_bad_input(run: Run, path: Path) -> None:
    result = run("history", "verify", path, "--head", "abc")
    assert result.code == 2
    assert "of 16 to 64 hexadecimal digits as the head, got 'abc'" in result.err
