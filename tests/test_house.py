"""The house stays small enough to carry: these ceilings only fall.

The plan: at most 22,000 lines of code in 110 modules, the formats apart, and 9,000 in the formats.
"""

from __future__ import annotations

import inspect
import sys
import tomllib
from collections import Counter
from pathlib import Path

import pytest

import steadytree as st

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "steadytree"
sys.path.insert(0, str(ROOT / "scripts"))
from count_code import count, lines_of_code, totals  # noqa: E402

CEILINGS = {"formats": (8_922, 56), "all else": (21_890, 109)}
"""Lines of code and modules."""
MOST_IN_A_FOLDER = 20
MOST_PUBLIC_NAMES = 36
MOST_EXCEPTIONS = 1


def test_lines_and_modules_stay_below_their_ceilings() -> None:
    for name, (lines, modules) in totals(count()).items():
        assert lines <= CEILINGS[name][0], f"{name}: {lines:,} lines of code"
        assert modules <= CEILINGS[name][1], f"{name}: {modules} modules"


def test_the_count_leaves_out_what_is_no_code() -> None:
    source = """'Docs.'

# why
X = 1  # one
'About X.'


def f() -> str:
    'Say.'
    return (
        "a"
    )
"""
    assert lines_of_code(source) == 5


def test_no_folder_is_crowded_and_no_two_modules_have_one_name() -> None:
    modules = [p for p in SOURCE.rglob("*.py") if p.stem not in ("__init__", "__main__")]
    folders = Counter(path.parent for path in modules)
    assert max(folders.values()) <= MOST_IN_A_FOLDER
    assert [name for name, n in Counter(p.stem for p in modules).items() if n > 1] == []


def test_few_exceptions_from_the_way_down() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    for contract in settings["tool"]["importlinter"]["contracts"]:
        assert len(contract.get("ignore_imports", ())) <= MOST_EXCEPTIONS


def test_few_public_names_and_few_parameters() -> None:
    assert len(st.__all__) <= MOST_PUBLIC_NAMES
    assert len(inspect.signature(st.retrain).parameters) == 18


@pytest.mark.parametrize("name", sorted(set(st.__all__) - {"__version__"}))
def test_every_public_name_is_documented(name: str) -> None:
    assert (inspect.getdoc(getattr(st, name)) or "").strip()
