"""Every example in a docstring runs and prints what it says."""

from __future__ import annotations

import doctest
import pkgutil
from importlib import import_module

import pytest

import steadytree

MODULES = sorted(
    info.name
    for info in pkgutil.walk_packages(steadytree.__path__, "steadytree.")
    if not info.name.endswith("__main__")
)
FINDER = doctest.DocTestFinder(exclude_empty=True)


def examples_of(name: str) -> list[doctest.DocTest]:
    return [test for test in FINDER.find(import_module(name)) if test.examples]


EXAMPLES = {name: found for name in MODULES if (found := examples_of(name))}


def test_examples_are_found() -> None:
    documented = {test.name.rpartition(".")[2] for found in EXAMPLES.values() for test in found}
    assert {"tree_distance", "retrain", "as_tree", "StableTreeClassifier"} <= documented


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_run(name: str) -> None:
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for test in EXAMPLES[name]:
        problems: list[str] = []
        runner.run(test, out=problems.append)
        assert not problems, "".join(problems)
