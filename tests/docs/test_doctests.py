"""Every example in a docstring runs and prints what it says."""

from __future__ import annotations

import doctest
import pkgutil
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

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


@pytest.fixture(autouse=True)
def _place_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let examples write files, draw without a screen and log to a store that is then forgotten."""
    import matplotlib as mpl
    from matplotlib import pyplot

    monkeypatch.chdir(tmp_path)
    mpl.use("agg")
    yield
    pyplot.close("all")
    if "mlflow" in sys.modules:
        sys.modules["mlflow"].set_tracking_uri(None)


def test_examples_are_found() -> None:
    documented = {test.name.rpartition(".")[2] for found in EXAMPLES.values() for test in found}
    assert {"tree_distance", "retrain", "as_tree", "StableTreeClassifier"} <= documented


def test_none_is_passed_over() -> None:
    skipped = [
        test.name
        for found in EXAMPLES.values()
        for test in found
        if any(doctest.SKIP in example.options for example in test.examples)
    ]
    assert not skipped


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_run(name: str) -> None:
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for test in EXAMPLES[name]:
        problems: list[str] = []
        runner.run(test, out=problems.append)
        assert not problems, "".join(problems)
