"""Files are written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from steadytree.core.atomic import write_atomic
from steadytree.exceptions import InputError


def test_the_file_holds_what_was_given_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    target = tmp_path / "tree.json"
    assert write_atomic(target, "é\n") == target
    assert target.read_bytes() == "é\n".encode()
    write_atomic(target, b"second")
    assert target.read_bytes() == b"second"
    assert os.listdir(tmp_path) == ["tree.json"]


def test_a_failed_write_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = write_atomic(tmp_path / "tree.json", "old")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match="got No space left on device; make room"):
        write_atomic(target, "new")
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["tree.json"]


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="create the folder or choose another path"):
        write_atomic(tmp_path / "none" / "tree.json", "x")
