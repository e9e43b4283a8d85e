"""Every result is what it was; ``python -m tests.frozen CASE`` freezes a change made on purpose."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

from tests.frozen.cases import CASES, RESULTS, make, needs, path_of, versions_of
from tests.frozen.plain import differences

SHOWN = 20


def frozen_parts(name: str) -> set[str]:
    return {path.name.split(".")[1] for path in RESULTS.glob(f"{name}.*.json")}


@pytest.mark.parametrize("name", CASES)
def test_results_are_what_they_were(name: str) -> None:
    made_with = json.loads((RESULTS / "made_with.json").read_text("utf-8"))
    here = versions_of(needs(name))
    if other := [f"{n} {made_with[n]}, here {v}" for n, v in here.items() if v != made_with[n]]:
        pytest.skip(f"frozen with {'; '.join(other)}: other libraries, other trees")
    now = make(name)
    assert set(now) == frozen_parts(name)
    complaints = []
    for part, text in now.items():
        path = path_of(name, part)
        found = differences(json.loads(path.read_text("utf-8")), json.loads(text))
        if found:
            complaints += [f"{path.name} differs in {len(found)} places:", *found[:SHOWN], ""]
    again = f"If that is meant: python -m tests.frozen {name}, and say why in the commit."
    assert not complaints, "\n".join([*complaints, again])


def test_every_frozen_file_belongs_to_a_case() -> None:
    names = {path.name.split(".")[0] for path in RESULTS.glob("*.*.json")}
    assert names == set(CASES)


@pytest.mark.parametrize(
    ("path", "frozen", "now", "differs"),
    [
        ("scores", 0.5, 0.5 + 1e-12, False),
        ("scores", 0.5, 0.5 + 1e-7, True),
        ("distances", 0.5, 0.5 + 1e-15, True),
        ("trees", [1.0, 2.0], [1.0, 2.0], False),
        ("trees", [1.0, 2.0], [1.0], True),
        ("scores", 1, True, True),
        ("scores", {"a": 1}, {"b": 1}, True),
        ("scores", "nan", None, True),
    ],
)
def test_a_difference_is_seen(path: str, frozen: object, now: object, differs: bool) -> None:
    assert bool(differences({path: frozen}, {path: now})) is differs


def test_only_public_names_are_asked() -> None:
    """What is frozen has to stay true while everything inside moves."""
    for path in Path(__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom):
                module = node.module or ""
                public = module == "steadytree.publish" or not module.startswith("steadytree")
                assert public, path.name
            if isinstance(node, ast.Import):
                assert all("steadytree." not in alias.name for alias in node.names), path.name
