"""Several writers, links, rights and full disks: one history, and nothing of it lost."""

from __future__ import annotations

import os
import resource
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from steadytree.exceptions import HistoryError, InputError, WriteError
from steadytree.retraining import history_chain as history_entries
from steadytree.retraining.history import History
from steadytree.tree.json import save_tree
from tests.retraining.histories import A, B, C


def test_two_open_histories_see_each_other(path: Path) -> None:
    one, two = History.open(path), History.open(path)
    assert one.append(A) == 1
    assert two.append(B) == 2
    one.approve(2, by="me")
    assert two.append(C) == 3
    assert History.open(path).versions["previous"].tolist()[1:] == [1, 2]


def test_what_another_appends_after_we_opened_is_not_taken_for_read(path: Path) -> None:
    History.open(path).append(A)
    ours = History.open(path)
    other = os.fork()
    if other == 0:
        History.open(path).append(B)
        os._exit(0)
    os.waitpid(other, 0)
    assert ours.append(C) == 3
    assert [History.open(path).tree(n) for n in (1, 2, 3)] == [A, B, C]


def test_what_changes_while_an_entry_is_made_is_taken_in(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a writer that does not know our lock, as an editor or an earlier version."""
    History.open(path).append(A)
    before = path.read_bytes()
    History.open(path).append(B)
    grown = path.read_bytes()
    path.write_bytes(before)
    ours = History.open(path)
    measured = history_entries.tree_distance

    def meanwhile(*trees: Any, **options: Any) -> Any:
        path.write_bytes(grown)
        return measured(*trees, **options)

    monkeypatch.setattr(history_entries, "tree_distance", meanwhile)
    assert ours.append(C) == 3
    assert [History.open(path).tree(n) for n in (1, 2, 3)] == [A, B, C]


def test_lines_that_we_knew_and_that_are_gone_are_not_written_over(path: Path) -> None:
    ours = History.open(path)
    ours.append(A)
    ours.append(B)
    path.write_bytes(path.read_bytes().splitlines(keepends=True)[0])
    with pytest.raises(HistoryError, match="expected the lines that were there when it was opened"):
        ours.append(C)
    path.unlink()
    with pytest.raises(HistoryError, match="open it again"):
        ours.approve(1, by="me")
    assert not path.exists()


def test_a_link_leads_to_the_same_history(path: Path, tmp_path: Path) -> None:
    History.open(path).append(A)
    path.chmod(0o600)
    link = tmp_path / "elsewhere" / "link.jsonl"
    link.parent.mkdir()
    link.symlink_to(path)
    direct, linked = History.open(path), History.open(link)
    assert linked.append(B) == 2
    assert direct.append(C) == 3
    assert linked.append(A) == 4
    assert link.is_symlink()
    assert History.open(path).head == linked.head == History.open(link).head
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(link.parent) == ["link.jsonl"]
    assert sorted(os.listdir(tmp_path)) == ["elsewhere", "history.jsonl"]


def test_a_file_with_two_names_is_refused(full: Path, tmp_path: Path) -> None:
    """An entry replaces the file under one name: two histories came of one."""
    opened, before = History.open(full), full.read_bytes()
    other = tmp_path / "other.jsonl"
    other.hardlink_to(full)
    for path in (full, other):
        words = r"expected a history with one name, got a file with 2 \(hard links\)"
        for refused in (
            lambda path=path: History.open(path),
            lambda path=path: History(path).append(C),
            lambda: opened.append(C),
            lambda: opened.approve(2, by="me"),
        ):
            with pytest.raises(HistoryError, match=words):
                refused()
        check = History(path).verify()
        assert (check.ok, check.kind, check.line, check.head) == (False, "linked", None, None)
        assert "use a symbolic link" in check.message
        assert History.open(path, verify=False).current == 1  # to look at it
        with pytest.raises(HistoryError, match=words):
            History.open(path, verify=False).append(C)
    assert full.read_bytes() == other.read_bytes() == before
    assert sorted(os.listdir(tmp_path)) == [full.name, other.name]
    other.unlink()
    assert opened.append(C) == 3
    assert opened.verify().ok


def test_a_new_history_behind_a_link(path: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.jsonl"
    link.symlink_to(path)
    assert History.open(link).append(A) == 1
    assert History.open(path).append(B) == 2
    loop = tmp_path / "loop.jsonl"
    loop.symlink_to(loop)
    with pytest.raises(HistoryError, match="got Too many levels of symbolic links"):
        History.open(loop)


def test_a_read_only_history_is_refused_before_the_work(full: Path) -> None:
    full.chmod(0o444)
    history, before = History.open(full), full.read_bytes()
    for write in (
        lambda: history.append(C),
        lambda: history.approve(2, by="me"),
    ):
        with pytest.raises(
            InputError, match="expected a file that may be written, got a read-only"
        ):
            write()
    assert full.read_bytes() == before
    assert os.listdir(full.parent) == [full.name]


def test_a_full_disk_leaves_the_history_as_it_was(full: Path) -> None:
    before = full.read_bytes()
    child = os.fork()
    if child == 0:
        code = 0
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (len(before), len(before)))
            History.open(full).append(C)
        except WriteError as error:
            code = 7 if "make room" in str(error) else 8
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert full.read_bytes() == before
    assert os.listdir(full.parent) == [full.name]


def test_what_is_refused_leaves_no_file(path: Path) -> None:
    history = History.open(path)
    with pytest.raises(InputError):
        history.append(A, scores={"auc": None})  # type: ignore[dict-item]
    with pytest.raises(HistoryError):
        history.approve(1, by="me")
    assert os.listdir(path.parent) == []


def test_processes_that_append_at_once_lose_nothing(path: Path, tmp_path: Path) -> None:
    save_tree(A, tmp_path / "a.json")
    code = (
        "import sys; from steadytree.retraining.history import History\n"
        "h = History.open(sys.argv[1])\n"
        "for _ in range(5): h.append(sys.argv[2], note=sys.argv[3])\n"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", code, str(path), str(tmp_path / "a.json"), who])
        for who in ("one", "two")
    ]
    assert [process.wait() for process in running] == [0, 0]
    notes = History.open(path).versions["note"].tolist()
    assert sorted(notes) == ["one"] * 5 + ["two"] * 5
