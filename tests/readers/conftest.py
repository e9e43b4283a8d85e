"""Tests of readers whose library this version of Python lacks are left out."""

from __future__ import annotations

from importlib.util import find_spec

from tests.modules import WITHOUT_WHEELS

collect_ignore_glob = [f"*/test_{name}.py" for name in WITHOUT_WHEELS if find_spec(name) is None]
