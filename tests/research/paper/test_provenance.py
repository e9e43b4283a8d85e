"""Keys of finished work follow the code, and a run says where it comes from."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from research.paper import provenance as module
from research.paper.provenance import code_digest, describe_checkout, provenance, source_modules
from research.paper.registry import KINDS


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package to follow imports in; nothing of it is known yet."""
    folder = tmp_path / "followed"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "start.py").write_text(
        '"""Words."""\n'
        "from typing import TYPE_CHECKING\n"
        "from followed.near import thing\n"
        "from . import beside\n"
        "if TYPE_CHECKING:\n    from followed.types_only import T\n"
        "def work():\n    from followed import late\n    return thing, beside, late\n"
    )
    for name in ("near", "beside", "late", "types_only", "far"):
        (folder / f"{name}.py").write_text("thing = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(module, "PACKAGES", ("followed",))
    forget()
    yield folder
    forget()
    for name in [name for name in sys.modules if name.partition(".")[0] == "followed"]:
        del sys.modules[name]


def forget() -> None:
    for known in (module.code_digest, module.source_modules, module._file, module._parsed):
        known.cache_clear()
    for known in (module._imports, module._module_digest):
        known.cache_clear()


def digest() -> str:
    forget()
    return code_digest("followed.start")


def test_imports_are_followed(package: Path) -> None:
    assert source_modules("followed.start") == (
        *("followed", "followed.beside", "followed.late", "followed.near", "followed.start"),
    )


@pytest.mark.parametrize("name", ["start", "near", "beside", "late", "__init__"])
def test_the_digest_follows_every_module_that_is_reached(package: Path, name: str) -> None:
    before = digest()
    with (package / f"{name}.py").open("a") as file:
        file.write("other = 2\n")
    assert digest() != before


@pytest.mark.parametrize("name", ["far", "types_only"])
def test_the_digest_leaves_the_others_alone(package: Path, name: str) -> None:
    before = digest()
    (package / f"{name}.py").write_text("thing = 2\n")
    assert digest() == before


def test_words_and_layout_do_not_count(package: Path) -> None:
    before = digest()
    start = package / "start.py"
    start.write_text(start.read_text().replace("Words", "Other words") + "\n# and a comment\n")
    assert digest() == before
    start.write_text(start.read_text().replace("return thing", "return [thing]"))
    assert digest() != before


def test_every_kind_reaches_the_code_it_computes_with() -> None:
    for kind in KINDS.values():
        found = source_modules(kind.compute.__module__)
        for name in (
            "research.paper.protocols",
            "research.paper.case_studies",
            "steadytree.tree.tree",
            "steadytree.growing.fitting",
            "steadytree.distance.distances",
        ):
            assert name in found, (kind.name, name)
        # What people see of the numbers does not change them.
        for name in ("findings", "figures", "page", "published", "summaries"):
            assert f"research.paper.{name}" not in found, (kind.name, name)
        assert not any(name.startswith("steadytree.plotting") for name in found)


def test_kinds_of_other_code_have_other_digests() -> None:
    assert KINDS["study"].code != KINDS["retraining"].code
    assert "steadytree.retraining" in source_modules("research.paper.experiments.retraining")


def git(folder: Path, *words: str) -> None:
    options = ["-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", *options, *words], cwd=folder, check=True, capture_output=True)


def test_the_commit_is_told_and_whether_files_changed(tmp_path: Path) -> None:
    assert describe_checkout(tmp_path) == {"commit": None, "dirty": None}
    git(tmp_path, "init", "-q")
    (tmp_path / "a.py").write_text("1")
    git(tmp_path, "add", "a.py")
    git(tmp_path, "commit", "-q", "-m", "one")
    found = describe_checkout(tmp_path)
    assert len(found["commit"]) == 40
    assert found["dirty"] is False
    (tmp_path / "a.py").write_text("2")
    assert describe_checkout(tmp_path)["dirty"] is True
    inside = tmp_path / "copy"
    inside.mkdir()
    assert describe_checkout(inside)["commit"] is None


def test_a_run_tells_its_date_in_utc() -> None:
    told = provenance({"run_wall": 1.0})
    assert told["date"].endswith("Z")
    assert told["packages"]["numpy"]
    assert told["seconds"] == {"run_wall": 1.0}
