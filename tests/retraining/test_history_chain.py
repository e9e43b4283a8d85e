"""What was changed, moved, inserted or taken out of a history is noticed, and the line is named."""

from __future__ import annotations

import hashlib
import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from steadytree.exceptions import HistoryError, InputError
from steadytree.retraining.history import History
from steadytree.retraining.history_chain import FORMAT, digest_of, seal, to_bytes
from tests.retraining.histories import (
    A,
    C,
    PlanCheck,
    contents,
    result_of,
    seal_again,
    six_lines,
    without_digests,
    write,
)
from tests.tree.test_tree_file import tree_json_schema


@pytest.fixture
def six(tmp_path: Path) -> Path:
    return six_lines(tmp_path / "history.jsonl")


def wrong_line(path: Path, words: str) -> int | None:
    """Return the line that verification names; whoever opens the file is refused with it."""
    before, check = path.read_bytes(), History(path).verify()
    assert not check.ok
    assert words in check.message
    assert check.head is None
    with pytest.raises(HistoryError, match=f"line {check.line}: ") as caught:
        len(History(path))
    assert "put a copy of the file back" in str(caught.value)
    assert caught.value.exit_code == 2
    with pytest.raises(HistoryError):
        History(path).append(C)
    assert path.read_bytes() == before
    return check.line


# -- sealing and the schema --------------------------------------------------------------------


def test_an_auditor_needs_ten_lines(six: Path) -> None:
    head = None
    for line in six.read_bytes().splitlines():
        content = json.loads(line)
        digest = content.pop("digest")
        assert content["before"] == head
        text = json.dumps(content, sort_keys=True, separators=(",", ":"))
        head = hashlib.sha256(text.encode()).hexdigest()
        assert digest == head
    assert head == History(six).head
    assert "Dr Ünal".encode() in six.read_bytes()


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), VALUES, max_size=4), st.none() | st.just("0" * 64))
def test_what_is_sealed_is_read_as_it_was(extra: dict[str, Any], before: str | None) -> None:
    try:
        content = seal({**extra, "event": "x"}, before)
    except InputError:
        return  # infinite numbers and halves of characters are not written
    raw = to_bytes(content)
    assert json.loads(raw) == content
    assert digest_of(json.loads(raw)) == content["digest"]
    # Spaces and the order of keys carry no meaning.
    other = json.dumps(dict(reversed(content.items())), separators=(" , ", " : "))
    assert digest_of(json.loads(other)) == content["digest"]


def test_infinite_numbers_and_halves_of_characters_are_not_written() -> None:
    deep: list[Any] = []
    for _ in range(5000):
        deep = [deep]
    for value in (float("nan"), float("inf"), "\ud800", object(), {1, 2}, deep):
        with pytest.raises(InputError, match=r"expected|nested too deeply"):
            seal({"event": "x", "value": value}, None)


def test_every_line_fits_the_schema(full: Path) -> None:
    history = History(full)
    history.append(C, check=PlanCheck(False), scores={"auc": 0.8}, note="refused")
    history.append(result_of(A, None, "keep"))
    history.reject(2, by="Dr Baker", reason="too many flips")
    schema = json.loads(
        files("steadytree.retraining").joinpath("history.schema.json").read_text(encoding="utf-8")
    )
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["properties"]["version"]["const"] == FORMAT["version"]
    checker = jsonschema.Draft202012Validator(schema)
    lines = contents(full)
    assert {line["status"] for line in lines} == {
        *("proposed", "kept", "refused", "approved", "rejected")
    }
    for line in lines:
        checker.validate(line)
        if line["event"] == "version":
            jsonschema.validate(line["tree"], tree_json_schema())
        for name in line:
            assert not checker.is_valid({k: v for k, v in line.items() if k != name}), name
        for changed in (
            {"version": 1},
            {"digest": None},
            {"status": "recovered"},
            {"extra": 1},
            {"number": 0},
        ):
            assert not checker.is_valid(line | changed), changed


# Two lines as version 2 writes them: what is read today must be read by every later version.
STORED = Path(__file__).with_name("version_2.history.jsonl")


def test_a_history_that_was_stored_is_still_read() -> None:
    history = History(STORED)
    assert history.versions["status"].tolist() == ["approved", "proposed"]
    assert history.versions["decided_by"][1] == "Dr Adams"
    assert history.tree(1) == A
    assert history.head == "49d472dd9dfdd3b5b72a053835622ca5b8f338327c888b18d4ae541f8722c4ee"


# -- what does not fit -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("at", "change"),
    [
        (1, {"by": "Dr Evil"}),
        (3, {"reason": "worse"}),
        (5, {"status": "approved"}),
        (2, {"date": "2020-01-31"}),
        (2, {"scores": {"auc": 0.99}}),
        (4, {"previous": 1}),
        (0, {"extra": 1}),
    ],
)
def test_an_edited_entry_is_noticed(six: Path, at: int, change: dict[str, Any]) -> None:
    lines = contents(six)
    write(six, [*lines[:at], lines[at] | change, *lines[at + 1 :]])
    assert wrong_line(six, "got one that was changed since") == at + 1


def test_an_edited_threshold_is_noticed(six: Path) -> None:
    lines = contents(six)
    lines[2]["tree"]["nodes"]["threshold"][0] += 1.0
    write(six, lines)
    assert wrong_line(six, "got one that was changed since") == 3


@pytest.mark.parametrize(
    ("order", "line"),
    [
        ([0, 2, 3, 4, 5], 2),
        ([1, 2, 3, 4, 5], 1),
        ([0, 1, 3, 2, 4, 5], 3),
        ([0, 1, 2, 2, 3, 4, 5], 4),
        ([0, 1, 2, 3, 4, 5, 1], 7),
        ([0, 1, 2, 0], 4),
    ],
)
def test_lines_removed_moved_or_repeated_are_noticed(
    six: Path, order: list[int], line: int
) -> None:
    lines = contents(six)
    write(six, [lines[i] for i in order])
    assert wrong_line(six, "lines were removed, inserted or moved") == line


@pytest.mark.parametrize(("version", "words"), [(1, "expected version 2"), (2, "its digests")])
def test_a_history_stripped_of_its_digests_is_no_history(
    six: Path, version: int, words: str
) -> None:
    """It passed when lines of an earlier format without digests were read."""
    lines = contents(six)
    write(six, [without_digests(line, version=version) for line in lines])
    assert wrong_line(six, words) == 1
    write(six, [*lines, without_digests(lines[5], status="approved")])
    assert wrong_line(six, "its digests") == 7


@pytest.mark.parametrize(
    ("at", "change", "words"),
    [
        (1, {"event": "dance"}, "expected the event version or decision, got 'dance'"),
        (1, {"status": "maybe"}, "expected the status approved or rejected, got 'maybe'"),
        (1, {"number": 2}, "expected a decision about an earlier version, got 2"),
        (1, {"number": True}, "expected another kind of number, got True"),
        (1, {"by": 7}, "expected another kind of by, got 7"),
        (2, {"number": 7}, "expected version 2, got 7"),
        (2, {"previous": 2}, "expected an earlier version as previous, got 2"),
        (2, {"status": "approved"}, "expected the status proposed or refused or kept"),
        (2, {"status": "refused"}, "expected the check that refused the version, got none"),
        (0, {"scores": {"auc": "high"}}, "expected another kind of auc, got 'high'"),
        (0, {"dissimilarity_to_first": False}, "another kind of dissimilarity_to_first"),
        (0, {"tree": {}}, "format: expected an entry, got none"),
    ],
)
def test_a_chain_around_nonsense_is_no_history(
    six: Path, at: int, change: dict[str, Any], words: str
) -> None:
    """A forger who gives edited lines digests that fit, or a fault of ours."""
    lines = contents(six)
    write(six, seal_again([*lines[:at], lines[at] | change, *lines[at + 1 :]]))
    assert wrong_line(six, words) == at + 1


@pytest.mark.parametrize("name", ["number", "status", "date", "by", "note", "check", "space"])
def test_every_entry_that_lacks_is_named(six: Path, name: str) -> None:
    lines = contents(six)
    at = next(i for i, line in enumerate(lines) if name in line)
    lines[at].pop(name)
    write(six, seal_again(lines))
    assert wrong_line(six, f"expected an entry {name!r}, got none") == at + 1


def test_a_forged_approval_of_a_refused_version_is_noticed(full: Path) -> None:
    History(full).append(C, check=PlanCheck(False))
    lines = contents(full)
    write(full, seal_again([*lines, {**lines[1], "number": 3}]))
    assert wrong_line(full, "expected no decision about version 3, which was refused") == 5


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b'{"format": "steadytree-history", "version": 2, "version": 2}', "'version' twice"),
        (b'{"format": "steadytree-history", "version": 2, "x": NaN}', "NaN"),
        (b'{"format": "steadytree-history", "version": 2, "x": "\xff"}', "UTF-8"),
        (b'{"format": "steadytree-history", "version": 9}', "expected version 2, got 9: the file"),
        (b'{"format": "steadytree-history", "version": true}', "expected version 2, got True"),
        (b'{"format": "other"}', "expected format 'steadytree-history'"),
        (b"[" * 100_000, "nested too deeply"),
        (b'"text"', "expected an object"),
        (bytes(range(256)), "line 1: "),
    ],
)
def test_lines_of_strangers(path: Path, raw: bytes, words: str) -> None:
    path.write_bytes(b"\n\n" + raw.replace(b"\n", b"") + b"\n")
    assert wrong_line(path, words.replace("line 1", "line 3")) == 3  # as an editor shows it


@given(cut=st.data())
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_wherever_it_is_cut_whole_lines_are_read_or_the_line_is_named(
    full: Path, cut: st.DataObject
) -> None:
    kept = full.with_name("kept")
    if not kept.exists():
        kept.write_bytes(full.read_bytes())
    whole = kept.read_bytes()
    ends = [at for at, byte in enumerate(whole) if byte == ord("\n")]
    at = cut.draw(st.integers(0, len(whole)) | st.sampled_from(ends))
    full.write_bytes(whole[:at])
    lines = sum(end <= at for end in ends)  # without its end a line is whole as well
    if (lines and at - ends[lines - 1] > 1) or (not lines and at):
        assert wrong_line(full, "") == lines + 1
        # As the message says.
        full.write_bytes(b"".join(whole.splitlines(keepends=True)[:lines]))
    versions = lines - (lines >= 2)  # the second line is a decision
    history = History(full)
    assert history.current == (1 if lines >= 2 else None)
    assert history.append(C) == versions + 1
    assert History(full).verify().ok


def test_blank_lines_and_other_line_ends_are_no_damage(full: Path) -> None:
    head = History(full).head
    full.write_bytes(full.read_bytes().replace(b"\n", b"\r\n\r\n"))
    history = History(full)
    assert history.head == head
    assert history.append(C) == 3
    assert History(full).verify().ok


# -- the head ----------------------------------------------------------------------------------


def test_a_history_that_grew_since_the_head(six: Path) -> None:
    history = History(six)
    head = history.head
    assert head is not None
    assert str(history.verify()) == "6 lines, all chained"
    assert history.verify(head=head).message == "6 lines, all chained; as the head says"
    history.append(C)
    words = "7 lines, all chained; grown by 1 line since the head"
    assert history.verify(head=head).message == words
    history.approve(4, by="me")
    for given_as in (head, head[:16], head.upper(), f" {head}\n"):
        check = history.verify(head=given_as)
        assert check
        assert (check.grown_by, check.lines, check.line) == (2, 8, None)
        assert check.head == history.head
    assert history.verify(head=contents(six)[0]["digest"]).grown_by == 7


def test_a_removed_last_line_shows_against_the_head_alone(six: Path) -> None:
    history = History(six)
    head, lines = history.head, contents(six)
    write(six, lines[:-1])
    assert history.verify().ok
    check = history.verify(head=head)
    assert not check.ok
    assert f"the head {head} is not in the chain: lines were removed or rewritten" in check.message
    # So does a file that was rewritten with a sound chain, and an empty one.
    lines[1]["by"] = "Dr Evil"
    write(six, seal_again(lines))
    assert history.verify().ok
    assert not history.verify(head).ok
    six.write_bytes(b"")
    assert str(history.verify()) == "no line yet"
    assert not history.verify(head).ok


@pytest.mark.parametrize("head", ["", "abc", "f" * 15, "x" * 64, "f" * 65, 7])
def test_a_head_that_is_none(six: Path, head: Any) -> None:
    with pytest.raises(InputError, match="expected a digest of 16 to 64 hexadecimal digits as"):
        History(six).verify(head)
