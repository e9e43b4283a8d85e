"""The layers of the package hold, and importing it stays light."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

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
    assert "1 kept, 0 broken" in result.stdout


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
