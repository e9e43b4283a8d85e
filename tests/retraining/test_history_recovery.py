"""A damaged history is mended: what can be read is kept, the rest lies beside it."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from steadytree.exceptions import HistoryError
from steadytree.retraining.history import History
from steadytree.retraining.history_chain import seal
from steadytree.retraining.history_verification import verify_history
from tests.retraining.histories import (
    V1,
    A,
    B,
    C,
    as_first_format,
    contents,
    meaning,
    six_lines,
    write,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return six_lines(tmp_path / "history.jsonl")


def mended(path: Path) -> History:
    """Recover a damaged file, and check what holds whatever the damage."""
    damaged = path.read_bytes()
    with pytest.raises(HistoryError):
        History.open(path)
    history = History.recover(path)
    done = history.recovered
    assert done
    assert done.copy is not None
    assert path.with_name(done.copy).read_bytes() == damaged
    assert verify_history(path).ok
    assert meaning(History.open(path)) == meaning(history)
    stories = [line for line in contents(path) if line["event"] == "recovery"]
    assert hashlib.sha256(damaged).hexdigest() in {story["sha256"] for story in stories}
    assert not History.recover(path).recovered  # nothing is left to mend
    return history


# -- what a race of two writers left, in files of the first format ------------------------------


def first_format(path: Path) -> list[dict[str, Any]]:
    return [as_first_format(line) for line in contents(path)]


def test_two_versions_with_one_number(path: Path) -> None:
    lines = first_format(path)
    twin = lines[4] | {"number": 2, "note": "the other writer's"}
    write(path, [*lines[:3], twin])
    history = mended(path)
    assert history.versions.index.tolist() == [1, 2, 3]
    assert [history.tree(n) for n in (1, 2, 3)] == [A, B, C]
    assert history.versions.loc[3, "note"] == "the other writer's"
    assert history.recovered is not None
    assert history.recovered.renumbered == ("line 4: version 2 is version 3 now",)
    assert "renumbered: line 4: version 2 is version 3 now" in str(history.recovered)
    assert history.recovered.set_aside == ()
    assert history.append(A) == 4


def test_an_approval_that_was_written_with_the_second_of_two_is_about_that_one(path: Path) -> None:
    lines = first_format(path)
    twin = lines[4] | {"number": 2}
    approval = lines[3] | {"date": twin["date"], "by": "the other"}
    write(path, [*lines[:3], twin, approval])
    history = mended(path)
    assert history.current == 3
    assert history.tree() == C
    assert history.status(2) == "proposed"


def test_an_approval_that_may_be_about_either_puts_none_in_force(path: Path) -> None:
    lines = first_format(path)
    twin = lines[4] | {"number": 2}
    write(path, [*lines[:3], twin, lines[3]])  # decided a day later
    history = mended(path)
    assert history.current == 1
    assert [history.status(n) for n in (2, 3)] == ["proposed", "proposed"]
    assert history.recovered is not None
    (aside,) = history.recovered.set_aside
    assert "line 5 (a decision about version 2)" in aside
    assert "of which there are 2; decide again about 2 or 3" in aside


def test_later_versions_keep_their_numbers(path: Path) -> None:
    lines = first_format(path)
    write(path, [*lines[:3], lines[2] | {"note": "twin"}, *lines[4:]])
    history = mended(path)
    assert history.tree(3) == C
    assert history.versions.loc[4, "note"] == "twin"
    assert history.status(3) == "rejected"
    assert history.append(A) == 5


def test_a_decision_about_a_version_that_is_not_there(path: Path) -> None:
    lines = first_format(path)
    write(path, [*lines[:2], lines[3], *lines[4:]])
    history = mended(path)
    assert history.versions.index.tolist() == [1, 3]
    assert history.current == 1
    assert history.recovered is not None
    (aside,) = history.recovered.set_aside
    assert aside.startswith(
        "line 3 (a decision about version 2): a decision about version 2, which"
    )
    assert history.append(A) == 4


def test_the_first_format_with_a_damaged_line_in_the_middle(tmp_path: Path) -> None:
    path = tmp_path / "old.jsonl"
    lines = V1.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([lines[0], lines[1][:40] + b"\n", *lines[2:]]))
    history = mended(path)
    assert path.read_bytes().startswith(lines[0])
    assert history.versions.index.tolist() == [1, 2]
    assert history.status(1) == "proposed"  # its approval is the damaged line
    assert history.status(2) == "rejected"


# -- files with digests ------------------------------------------------------------------------


def test_a_cut_last_line(path: Path) -> None:
    whole = path.read_bytes()
    head = contents(path)[4]["digest"]
    path.write_bytes(whole[:-40])
    history = mended(path)
    assert path.read_bytes().startswith(b"".join(whole.splitlines(keepends=True)[:5]))
    assert history.status(3) == "proposed"
    assert history.verify(head=head).grown_by == 1  # the line that tells of the recovery
    assert history.recovered is not None
    assert "line 6: one cut off after" in history.recovered.set_aside[0]
    date = contents(path)[5]["date"]
    assert history.verify().message == (
        f"6 lines, all chained; recovered on {date!r}, the file before it is "
        "'history.jsonl.damaged'"
    )


@pytest.mark.parametrize("at", range(6))
def test_a_damaged_line_anywhere(path: Path, at: int) -> None:
    before, lines = History.open(path), path.read_bytes().splitlines(keepends=True)
    lost = contents(path)[at]
    path.write_bytes(b"".join([*lines[:at], b'{"half a line\n', *lines[at + 1 :]]))
    history = mended(path)
    gone = {lost["number"]} if lost["event"] == "version" else set()
    kept = [n for n in (1, 2, 3) if n not in gone]
    assert history.versions.index.tolist() == kept
    assert [history.tree(n) for n in kept] == [before.tree(n) for n in kept]
    assert history.append(A) == (4 if kept[-1] == 3 else 3)


def test_an_edited_line_does_not_count_after_a_recovery(path: Path) -> None:
    lines = contents(path)
    write(path, [*lines[:5], lines[5] | {"status": "approved"}])
    history = mended(path)
    assert history.current == 2
    assert history.status(3) == "proposed"
    assert history.recovered is not None
    assert history.recovered.set_aside == (
        "line 6 (a decision about version 3): one that was changed after it was written",
    )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"event": "dance"}, "expected the event version or decision or recovery, got 'dance'"),
        ({"event": None}, "expected the event version or decision or recovery, got None"),
        ({"event": "recovery"}, "expected entries ['copy', 'set_aside', 'sha256', 'versions']"),
        ({"status": "maybe"}, "expected the status approved or rejected, got 'maybe'"),
        ({"number": "3"}, "expected a whole number from 1 as the version, got '3'"),
        (
            {"event": "version", **dict.fromkeys(("note", "scores", "previous", "space", "tree"))},
            "",
        ),
    ],
)
def test_an_entry_that_makes_no_sense_is_set_aside(
    path: Path, change: dict[str, Any], words: str
) -> None:
    before, lines = History.open(path), contents(path)
    nonsense = seal(lines[5] | change, lines[4]["digest"])
    write(path, [*lines[:5], nonsense, seal(lines[5], nonsense["digest"])])
    history = mended(path)
    assert meaning(history) == meaning(before)
    assert history.recovered is not None
    (aside,) = history.recovered.set_aside
    assert aside.startswith("line 6")
    assert words in aside


def test_what_was_done_is_told_in_words_and_in_the_file(path: Path) -> None:
    lines = first_format(path)
    twin = lines[2] | {"note": "twin"}
    write(path, [lines[0], lines[2], twin, lines[4] | {"tree": {}}])
    history = mended(path)
    told = str(history.recovered).splitlines()
    assert told[0] == "2 lines stayed, 1 line sealed again"
    assert told[1].startswith("set aside: line 4 (version 3): ")
    assert told[2:] == [
        "renumbered: line 3: version 2 is version 4 now",
        "the file as it was: history.jsonl.damaged",
    ]
    story = contents(path)[2]
    assert story["renumbered"] == ["line 3: version 2 is version 4 now"]
    assert [f"set aside: {words}" for words in story["set_aside"]] == told[1:2]
    assert story["versions"] == [4]
    assert str(History.recover(path).recovered) == "nothing to mend: 4 lines intact"


def test_the_number_of_a_line_that_was_changed_is_nobodys(path: Path) -> None:
    """A forger's version 900 does not make the next ones 901 and 902."""
    lines = contents(path)
    twin = as_first_format(lines[2]) | {"note": "twin"}
    write(path, [*lines[:4], lines[4] | {"number": 900}, twin])
    history = mended(path)
    assert history.versions.index.tolist() == [1, 2, 3]
    assert history.versions.loc[3, "note"] == "twin"


def test_lines_that_were_moved_go_back(path: Path) -> None:
    before, lines = meaning(History.open(path)), contents(path)
    write(path, [lines[0], lines[4], lines[3], lines[2], lines[5], lines[1]])
    assert meaning(mended(path)) == before


def test_a_copy_of_a_line_is_set_aside(path: Path) -> None:
    before, lines = meaning(History.open(path)), contents(path)
    write(path, [*lines, lines[3], lines[0]])
    history = mended(path)
    assert meaning(history) == before
    assert history.recovered is not None
    assert [words.split(": ", 1)[1] for words in history.recovered.set_aside] == [
        "a copy of line 4",
        "a copy of line 1",
    ]


def test_a_copy_of_a_line_after_the_damage_is_set_aside(path: Path) -> None:
    lines = contents(path)
    write(path, [lines[0], {"half": "a line"}, *lines[2:], lines[4], lines[5]])
    history = mended(path)
    assert history.versions.index.tolist() == [1, 2, 3]
    assert history.recovered is not None
    assert [words.split(": ", 1)[1] for words in history.recovered.set_aside[1:]] == [
        "a copy of line 5",
        "a copy of line 6",
    ]


def test_two_branches_of_one_history_are_both_kept(path: Path) -> None:
    """As after a merge by hand of two copies that both went on."""
    other = path.with_name("other.jsonl")
    other.write_bytes(path.read_bytes())
    ours, theirs = History.open(path), History.open(other)
    ours.append(A, note="ours", on="2026-01-31", approved_by="us")
    theirs.append(B, note="theirs", on="2026-02-28", approved_by="them")
    lines = path.read_bytes() + b"".join(other.read_bytes().splitlines(keepends=True)[6:])
    path.write_bytes(lines)
    history = mended(path)
    assert history.versions["note"].tolist()[3:] == ["ours", "theirs"]
    assert history.versions["decided_by"].tolist()[3:] == ["us", "them"]
    assert history.current == 5


def test_a_second_recovery_keeps_the_story_of_the_first(path: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([lines[0], *lines[2:]]))
    mended(path)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([b"xx\n", *lines[1:]]))
    history = mended(path)
    assert history.versions.index.tolist() == [2, 3]
    assert sorted(p.name for p in path.parent.iterdir()) == [
        "history.jsonl",
        "history.jsonl.damaged",
        "history.jsonl.damaged-2",
    ]
    assert [line["event"] for line in contents(path)].count("recovery") == 2
    assert history.append(A) == 4
    assert verify_history(path).ok


def test_an_approval_after_the_story_of_a_recovery_was_not_written_with_a_version(
    path: Path,
) -> None:
    """Which of two versions it is about nobody knows, though the dates agree."""
    lines = first_format(path)
    twin = lines[4] | {"number": 2}
    story = {"event": "recovery", "date": "2025-01-31", "copy": "x", "sha256": ""}
    story |= {"format": "steadytree-history", "version": 1, "versions": [], "set_aside": []}
    approval = lines[3] | {"date": twin["date"]}
    write(path, [*lines[:3], twin, story, approval])
    history = mended(path)
    assert [history.status(n) for n in (2, 3)] == ["proposed", "proposed"]
    assert history.recovered is not None
    (aside,) = history.recovered.set_aside
    assert aside.startswith("line 6 (a decision about version 2): ")


def test_a_private_history_has_private_copies(path: Path) -> None:
    path.chmod(0o600)
    path.write_bytes(path.read_bytes()[:-10])
    mended(path)
    assert {stat.S_IMODE(p.stat().st_mode) for p in path.parent.iterdir()} == {0o600}


def test_recovery_through_a_link_mends_the_file_it_leads_to(path: Path, tmp_path: Path) -> None:
    link = tmp_path / "elsewhere" / "link"
    link.parent.mkdir()
    link.symlink_to(path)
    path.write_bytes(path.read_bytes()[:-10])
    assert History.recover(link).recovered
    assert link.is_symlink()
    assert os.listdir(link.parent) == ["link"]
    assert verify_history(path).ok
    assert path.with_name("history.jsonl.damaged").exists()


# -- what is not to be mended ------------------------------------------------------------------


@pytest.mark.parametrize("content", [b"a,b\n1,2\n", b"\x89PNG", b'{"format": "steadytree-tree"}'])
def test_other_files_are_left_alone(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(HistoryError, match="got another kind of file; name the history"):
        History.recover(path)
    assert path.read_bytes() == content
    assert os.listdir(path.parent) == [path.name]


def test_a_history_of_a_newer_version_is_left_alone(path: Path) -> None:
    lines = contents(path)
    write(path, [*lines, seal(lines[5], lines[5]["digest"]) | {"version": 3}])
    before = path.read_bytes()
    with pytest.raises(HistoryError, match="got 3: the file comes from a newer steadytree"):
        History.recover(path)
    assert path.read_bytes() == before


def test_there_is_nothing_to_recover_of_a_file_that_is_not_there(tmp_path: Path) -> None:
    assert len(History.recover(tmp_path / "none.jsonl")) == 0
    assert os.listdir(tmp_path) == []


# -- whatever happens --------------------------------------------------------------------------

OPERATIONS = st.lists(
    st.tuples(
        st.sampled_from(["remove", "repeat", "move", "cut", "edit", "garbage", "strip"]),
        st.integers(0, 9),
        st.integers(0, 9),
    ),
    min_size=1,
    max_size=4,
)


def damage(lines: list[bytes], operation: str, at: int, to: int) -> list[bytes]:
    at, to = at % len(lines), to % len(lines)
    line = lines[at]
    if operation == "remove":
        return lines[:at] + lines[at + 1 :] or [line]
    if operation == "repeat":
        return [*lines[:to], line, *lines[to:]]
    if operation == "move":
        rest = lines[:at] + lines[at + 1 :]
        return [*rest[:to], line, *rest[to:]]
    if operation == "cut":
        return [*lines[:at], line[: len(line) // 2], *lines[at + 1 :]]
    if operation == "garbage":
        return [*lines[:to], b"\xff\x00 no line", *lines[to:]]
    try:
        content = json.loads(line)
    except ValueError:
        return lines
    changed = as_first_format(content) if operation == "strip" else content | {"number": 2}
    return [*lines[:at], json.dumps(changed).encode(), *lines[at + 1 :]]


@given(OPERATIONS)
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_happens_no_version_that_can_be_read_is_lost(
    path: Path, operations: list[tuple[str, int, int]]
) -> None:
    kept = path.with_name("kept")
    if not kept.exists():
        kept.write_bytes(path.read_bytes())
    lines = kept.read_bytes().splitlines()
    for operation in operations:
        lines = damage(lines, *operation)
    path.write_bytes(b"\n".join(lines) + b"\n")
    readable = set()
    for line in lines:
        try:
            content = json.loads(line)
        except ValueError:
            continue
        untouched = line in kept.read_bytes().splitlines() or content["version"] == 1
        if content["event"] == "version" and untouched:
            readable.add(json.dumps(content["tree"]["nodes"]))
    history = History.recover(path)
    found = {json.dumps(c["tree"]["nodes"]) for c in contents(path) if c["event"] == "version"}
    assert readable <= found
    assert verify_history(path).ok
    assert meaning(History.open(path)) == meaning(history)
    if history.recovered:
        assert history.append(C) == max(history.versions.index)
        assert verify_history(path).ok
    for copy in path.parent.glob("*.damaged*"):
        copy.unlink()
