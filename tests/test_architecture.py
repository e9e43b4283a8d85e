"""The layers of the package hold, and importing it stays light."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import tomllib
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import steadytree

ROOT = Path(__file__).resolve().parent.parent
# Not pyarrow: pandas itself imports it where it is installed.
OPTIONAL = ["matplotlib", "jinja2", "click", "rich", "polars"]


def run_python(code: str) -> str:
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_imports_go_only_downwards() -> None:
    # A process of its own: import-linter changes sys.path and its reports go to the terminal.
    result = subprocess.run(
        [
            sys.executable,
            "-c",
            "from importlinter.cli import lint_imports; raise SystemExit(lint_imports())",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert "4 kept, 0 broken" in result.stdout


def test_the_wall_of_the_formats_has_no_gap() -> None:
    """Whatever is not the contract is forbidden to readers and writers, new modules too."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    forbidden = next(c for c in contracts if c["id"] == "formats")["forbidden_modules"]
    inside = {p.stem for p in Path(steadytree.__file__).parent.iterdir() if p.stem[:2] != "__"}
    expected = inside - {"formats", "plugins", "py"}
    assert {name.removeprefix("steadytree.") for name in forbidden} == expected


def test_only_the_door_to_the_views_closes_a_cycle() -> None:
    """Not even a package and a module inside it import each other."""
    code = (
        "import json, grimp; "
        "g = grimp.build_graph('steadytree', exclude_type_checking_imports=True, cache_dir=None); "
        "[g.remove_import(importer='steadytree._views', imported=f'steadytree.{n}') "
        "for n in ('views', 'plotting')]; "
        "print(json.dumps({m: sorted(g.find_modules_directly_imported_by(m)) for m in g.modules}))"
    )
    imports: dict[str, list[str]] = json.loads(run_python(code))
    assert len(list(TopologicalSorter(imports).static_order())) == len(imports)


@pytest.mark.parametrize("package", OPTIONAL)
def test_import_leaves_optional_packages_alone(package: str) -> None:
    code = f"import sys, steadytree; print({package!r} in sys.modules)"
    assert run_python(code).strip() == "False"


def test_every_public_name_exists() -> None:
    code = (
        "import json, steadytree as s; "
        "print(json.dumps([n for n in getattr(s, '__all__', []) if not hasattr(s, n)]))"
    )
    assert json.loads(run_python(code)) == []


def test_type_checkers_see_every_public_name_where_it_lives() -> None:
    source = Path(steadytree.__file__).read_text(encoding="utf-8")
    seen = {
        alias.name: node.module
        for block in ast.parse(source).body
        if isinstance(block, ast.If)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname == alias.name
    }
    assert seen == {
        name: f"steadytree.{module}" for module, names in steadytree._HOME.items() for name in names
    }


def test_import_is_light() -> None:
    """Nothing heavy is imported before it is used."""
    heavy = ["numpy", "pandas", "scipy", "sklearn", "numba"]
    code = f"import sys, steadytree; print([m for m in {heavy} if m in sys.modules])"
    assert run_python(code).strip() == "[]"


def test_the_picture_of_the_layers_is_true() -> None:
    """`python scripts/draw_layers.py` draws it again."""
    code = (
        "import sys; sys.path.insert(0, 'scripts'); import draw_layers; print(draw_layers.draw())"
    )
    stored = (ROOT / "docs" / "images" / "layers.svg").read_text(encoding="utf-8")
    assert run_python(code).strip() == stored.strip()
