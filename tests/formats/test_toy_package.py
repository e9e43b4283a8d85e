"""A package outside ours adds a reader and a writer by entry points, knowing the contract alone."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOY = Path(__file__).parent / "toy_package"


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """The folder of an installed package: its module, and what installers note about it."""
    project = tomllib.loads((TOY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (tmp_path / "toy_stumps.py").write_bytes((TOY / "toy_stumps.py").read_bytes())
    about = tmp_path / "toy_stumps-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    lines: list[str] = []
    for group, entries in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{name} = {module}" for name, module in entries.items())]
    (about / "entry_points.txt").write_text("\n".join(lines))
    return tmp_path


def run(folder: Path, *arguments: str) -> str:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(folder)])}
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_its_reader_and_its_writer_are_found(installed: Path) -> None:
    code = """
import steadytree as st
from steadytree.plugins import format_of, options_of
from toy_stumps import Stump

tree = st.as_tree(Stump("age", 50.5))
assert tree.predict([[50.5], [50.6]]).tolist() == ["no", "yes"]
assert st.export_tree(tree, "stump", digits=2) == "age <= 50\\n"
assert st.as_tree(st.export_tree(tree, path="tree.stump")) == tree
assert format_of("a.stump") == "stump" and options_of("stump") == {"digits": 17}
try:
    st.export_tree(tree, "oak")
except ValueError as error:
    assert "rules, stump, got 'oak'" in str(error), error
"""
    run(installed, "-c", code)


def test_the_command_line_knows_it(installed: Path) -> None:
    (installed / "old.stump").write_text("age <= 50.5\n")
    arguments = ("-m", "steadytree", "export", "old.stump", "--to", "stump", "--set", "digits=3")
    assert run(installed, *arguments) == "age <= 50.5\n"
    assert "CASE" in run(installed, *arguments[:4], "--to", "sql")


def test_it_imports_the_contract_alone() -> None:
    code = (TOY / "toy_stumps.py").read_text(encoding="utf-8")
    assert code.count("steadytree") == code.count("from steadytree.plugins import") == 1
