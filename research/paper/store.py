"""Finished pieces of work on disk: one small file each, so that a killed run loses nothing.

A file holds the configuration it was computed under, the result and a checksum of both; beside
them the seconds it took, which nothing is compared by. What cannot be read, or was computed under
another configuration, counts as absent and is redone.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steadytree._io import write_atomic
from steadytree.tree.json import plain_json

__all__ = ["Finished", "Seconds", "UnitStore", "canonical_json"]

_LEFTOVER_AGE = 3600.0  # seconds after which a temporary file can belong to no running process


def canonical_json(value: Any, *, indent: int | None = None) -> str:
    """Write JSON whose bytes depend on the content alone: sorted keys, shortest floats."""
    separators = (",", ":") if indent is None else (",", ": ")
    return json.dumps(
        plain_json(value),
        sort_keys=True,
        allow_nan=False,
        ensure_ascii=False,
        indent=indent,
        separators=separators,
    )


@dataclass(frozen=True)
class Seconds:
    """How long a piece of work took: by the clock, and of one processor."""

    wall: float = 0.0
    processor: float = 0.0

    def __add__(self, other: Seconds) -> Seconds:
        return Seconds(self.wall + other.wall, self.processor + other.processor)


@dataclass(frozen=True)
class Finished:
    """A finished piece of work."""

    result: dict[str, Any]
    seconds: Seconds


class UnitStore:
    """A folder of finished results, each under the digest of its configuration.

    Parameters
    ----------
    folder : path
        Made when first needed.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def path(self, config: Mapping[str, Any]) -> Path:
        """Where the result of a configuration lies: readable name, then the digest."""
        digest = hashlib.sha256(canonical_json(config).encode()).hexdigest()[:16]
        words = [
            str(config[k]) for k in ("dataset", "protocol", "index") if config.get(k, "") != ""
        ]
        return self.folder / str(config.get("kind", "unit")) / f"{'-'.join([*words, digest])}.json"

    def load(self, config: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the stored result, or None if it is absent, damaged or of another making."""
        found = self.find(config)
        return None if found is None else found.result

    def find(self, config: Mapping[str, Any]) -> Finished | None:
        """Return the stored result with what it took, or None as above."""
        try:
            found = json.loads(self.path(config).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        if not isinstance(found, dict) or found.get("config") != plain_json(config):
            return None
        result = found.get("result")
        if not isinstance(result, dict) or found.get("checksum") != _checksum(config, result):
            return None
        return Finished(result, _seconds(found.get("seconds")))

    def save(
        self,
        config: Mapping[str, Any],
        result: Mapping[str, Any],
        seconds: Seconds = Seconds(),
    ) -> Path:
        """Store a result, whole or not at all."""
        path = self.path(config)
        path.parent.mkdir(parents=True, exist_ok=True)
        body = {
            "config": config,
            "result": result,
            "checksum": _checksum(config, result),
            "seconds": {"wall": round(seconds.wall, 3), "processor": round(seconds.processor, 3)},
        }
        return write_atomic(path, canonical_json(body) + "\n")

    def tidy(self) -> int:
        """Remove temporary files that killed runs left behind; return how many."""
        removed = 0
        oldest = time.time() - _LEFTOVER_AGE
        for path in self.folder.glob("*/.*.json.*"):
            try:
                if path.stat().st_mtime < oldest:
                    path.unlink()
                    removed += 1
            except OSError:  # another run may have finished with it meanwhile
                continue
        return removed


def _seconds(found: Any) -> Seconds:
    # Whoever tampers with them harms no number: what cannot be read counts as nothing.
    try:
        return Seconds(float(found["wall"]), float(found["processor"]))
    except (KeyError, TypeError, ValueError):
        return Seconds()


def _checksum(config: Mapping[str, Any], result: Mapping[str, Any]) -> str:
    return hashlib.sha256(canonical_json([config, result]).encode()).hexdigest()
