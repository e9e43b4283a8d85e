"""Bytes of a table: unpacked and decoded where they say how, refused where they do not."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zipfile
from pathlib import Path

import pytest

from steadytree.cli import delimited as text_files
from steadytree.cli.delimited import read_text_bytes
from steadytree.exceptions import InputError

TEXT = "a,b\n1,é\n"


@pytest.mark.parametrize("kind", ["", ".gz", ".bz2", ".xz", ".zip"])
def test_packed_files(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"t.csv{kind}"
    content = TEXT.encode()
    if kind == ".zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("inside.csv", content)
    else:
        pack = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
        path.write_bytes(pack[kind](content) if kind else content)
    assert read_text_bytes(path, None) == content
    if kind:
        path.write_bytes(b"no such file")
        with pytest.raises(InputError, match=f"expected a file packed as {kind} in"):
            read_text_bytes(path, None)
        path.write_bytes(pack[kind](content * 99)[:-9] if kind != ".zip" else b"PK")
        with pytest.raises(InputError, match=f"expected a file packed as {kind} in"):
            read_text_bytes(path, None)


def test_an_archive_of_two_files(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "t.csv.zip", "w") as archive:
        archive.writestr("a.csv", TEXT)
        archive.writestr("b.csv", TEXT)
    with pytest.raises(InputError, match=r"expected one file inside .* got 2"):
        read_text_bytes(tmp_path / "t.csv.zip", None)


def test_a_file_that_unpacks_beyond_measure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_files, "SMALL_UNPACKED", 1000)
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"0" * 1_000_000))
    with pytest.raises(InputError, match="unpacks to more than 100 times its size"):
        read_text_bytes(path, None)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_marks_tell_the_encoding(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(TEXT.encode(encoding))
    assert read_text_bytes(path, None) == TEXT.encode()
    assert read_text_bytes(path, encoding) == TEXT.encode()


def test_an_encoding_that_it_is_not(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(TEXT.encode("latin-1"))
    for encoding in ("ascii", "no-such-encoding"):
        with pytest.raises(InputError, match=f"expected {encoding} in .* with --encoding"):
            read_text_bytes(path, encoding)


def test_ends_of_lines(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    for given in (b"a\r1\r2", b"a\r1\r2\r", b"a\n1\n2", b"a\n1\n2\n"):
        path.write_bytes(given)
        assert read_text_bytes(path, None) == b"a\n1\n2\n"
