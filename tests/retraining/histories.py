"""Small histories to check, damage and mend."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from steadytree.retraining.history import History
from tests.diff.trees import Leaf, Split, build

STUMP = Split(0, 0.5, Leaf(0, 0.1), Leaf(1, 0.9))
A, B, C = (build(replace(STUMP, at=t)) for t in (0.5, 0.6, 0.9))
V1 = Path(__file__).parent / "data" / "history_v1.jsonl"
"""Written by the first version of the format: a version, its approval, a version, its rejection."""


def three_lines(path: Path) -> Path:
    """An approved version and a proposed one."""
    history = History.open(path)
    history.append(A, approved_by="me")
    history.append(B)
    return path


def six_lines(path: Path) -> Path:
    """Two approved versions, a rejected one: versions 1 to 3 in lines 1, 3 and 5."""
    history = History.open(path)
    history.append(A, scores={"auc": 0.8}, note="first", on="2023-01-31", approved_by="Dr Adams")
    history.append(B, scores={"auc": 0.82}, on="2024-01-31")
    history.approve(2, by="Dr Baker", reason="better", on="2024-02-01")
    history.append(C, on="2025-01-31")
    history.reject(3, by="Dr Ünal", reason="too many flips", on="2025-02-01")
    return path


def contents(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def write(path: Path, lines: Iterable[Any]) -> Path:
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    return path


def to_line(content: dict[str, Any]) -> bytes:
    return json.dumps(content).encode()


def as_first_format(line: dict[str, Any] | bytes) -> dict[str, Any]:
    """Return a line as the first version of the format had it."""
    content = json.loads(line) if isinstance(line, bytes) else line
    plain = {k: v for k, v in content.items() if k not in ("before", "digest")}
    return plain | {"version": 1}


def meaning(history: History) -> tuple[Any, ...]:
    """Return all that a history says, to be compared."""
    trees = tuple(history.tree(number) for number in history.versions.index)
    return history.versions.to_json(), history.current, trees
