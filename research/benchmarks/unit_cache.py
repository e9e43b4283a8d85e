"""Finished units of a long benchmark, so that a run can be stopped and taken up again."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

CACHE = Path(__file__).parent / ".cache"


class UnitCache:
    """One file of finished units, a line each, found again by their key."""

    def __init__(self, name: str) -> None:
        self.name, self.path = name, CACHE / f"{name}.jsonl"
        lines = self.path.read_text().splitlines() if self.path.exists() else []
        self.units: list[dict[str, Any]] = [json.loads(line) for line in lines]

    def get(self, key: dict[str, Any], compute: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Return the unit of this key, computed and stored where it is not there."""
        for unit in self.units:
            if all(unit.get(name) == value for name, value in key.items()):
                return unit
        start = time.perf_counter()
        unit = {**key, **compute()}
        self.units.append(unit)
        CACHE.mkdir(exist_ok=True)
        with self.path.open("a") as file:
            file.write(json.dumps(unit) + "\n")
        words = " ".join(str(value) for value in (self.name, *key.values()))
        print(f"{words}: {time.perf_counter() - start:.1f} s", file=sys.stderr, flush=True)
        return unit
