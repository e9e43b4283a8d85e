"""The types that a .skops file may name: each exists, and none is more than it should be."""

from __future__ import annotations

from importlib import import_module
from types import FunctionType

import numpy as np
import pytest

from steadytree.formats.files.read_skops import TRUSTED


@pytest.mark.parametrize("loader", TRUSTED)
def test_every_type_exists(loader: str) -> None:
    for name in TRUSTED[loader]:
        module, _, attribute = name.rpartition(".")
        if attribute == "NoneType" or name in ("numpy.ma.core.MaskedArray", "numpy.bool"):
            continue  # as older versions of numpy and skops write them
        if "successive_halving" in name:
            import_module("sklearn.experimental.enable_halving_search_cv")
        found = getattr(import_module(module), attribute)
        is_function = isinstance(found, (FunctionType, np.ufunc))
        assert is_function == (loader == "FunctionNode"), name


def test_nothing_that_runs_what_it_is_given() -> None:
    assert not {"MethodNode", "OperatorFuncNode", "ConstructorFromReduceNode"} & set(TRUSTED)
    names = {name for group in TRUSTED.values() for name in group}
    assert {name.partition(".")[0] for name in names} == {
        *("builtins", "collections", "functools", "numpy", "sklearn")
    }
    assert not names & {"builtins.eval", "builtins.exec", "builtins.getattr", "builtins.type"}
