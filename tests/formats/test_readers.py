"""Every reader in ``READERS``: fifty random models each, every row as the library itself says.

The tests of a reader offer ``make_case(seed, folder)``, and ``MODELS`` where it reads several
libraries.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

from steadytree.plugins import READERS
from tests.modules import mirror_of

MODELS = 50


@pytest.mark.parametrize("name", READERS)
def test_fifty_models_predict_as_their_library_does(name: str, tmp_path: Path) -> None:
    tests = mirror_of(READERS[name])
    for seed in range(getattr(tests, "MODELS", MODELS)):
        tests.make_case(seed, tmp_path).check()


@pytest.mark.parametrize("name", READERS)
def test_a_reader_offers_what_it_should(name: str) -> None:
    reader = import_module(READERS[name])
    assert callable(getattr(reader, "read", None)) or callable(getattr(reader, "read_file", None))
    assert hasattr(reader, "read") == hasattr(reader, "reads")
    assert hasattr(reader, "read_file") == hasattr(reader, "reads_file") == hasattr(reader, "FILES")
