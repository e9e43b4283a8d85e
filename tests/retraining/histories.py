"""Small histories to check and to damage."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd

from steadytree.retraining import Retraining
from steadytree.retraining.history import History
from steadytree.retraining.history_chain import seal
from steadytree.tree.tree import Tree
from tests.diff.trees import Leaf, Split, build

STUMP = Split(0, 0.5, Leaf(0, 0.1), Leaf(1, 0.9))
A, B, C = (build(replace(STUMP, at=t)) for t in (0.5, 0.6, 0.9))


def three_lines(path: Path) -> Path:
    """An approved version and a proposed one."""
    history = History(path)
    history.approve(history.append(A), by="me")
    history.append(B)
    return path


def six_lines(path: Path) -> Path:
    """Two approved versions, a rejected one: versions 1 to 3 in lines 1, 3 and 5."""
    history = History(path)
    history.append(A, scores={"auc": 0.8}, note="first", on="2023-01-31")
    history.approve(1, by="Dr Adams", on="2023-01-31")
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


def without_digests(line: dict[str, Any] | bytes, **changes: Any) -> dict[str, Any]:
    """Return a line stripped of what chains it, as a forger would."""
    content = json.loads(line) if isinstance(line, bytes) else line
    return {k: v for k, v in content.items() if k not in ("before", "digest")} | changes


def meaning(history: History) -> tuple[Any, ...]:
    """Return all that a history says, to be compared."""
    trees = tuple(history.tree(number) for number in history.versions.index)
    return history.versions.to_json(), history.current, trees


def seal_again(lines: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Give edited lines digests that fit: a forger who rewrites the whole file."""
    sealed: list[dict[str, Any]] = []
    for line in lines:
        sealed.append(seal(line, sealed[-1]["digest"] if sealed else None))
    return sealed


@dataclass(frozen=True)
class PlanCheck:
    """A check as the history takes it."""

    held: bool
    clauses: tuple[str, ...] = ("max_flips", "max_leaves")

    def to_dict(self) -> dict[str, Any]:
        flips = {"name": "max_flips", "text": "changed decisions 9 %, at most 3 %: broken"}
        return {
            "held": self.held,
            "clauses": [
                {**flips, "limit": 0.03, "verdict": "held" if self.held else "broken"},
                {"name": "max_leaves", "text": "leaves 2, at most 8: held", "verdict": "held"},
            ],
        }


def result_of(
    tree: Tree,
    check: PlanCheck | None,
    action: str = "change",
    *,
    refused: Tree | None = None,
    clauses: tuple[str, ...] | None = None,
) -> Retraining:
    """Return a retraining as the history sees it, without all that made it."""
    if check is not None and clauses is not None:
        check = replace(check, clauses=clauses)
    row = {"score": 0.8, "score_se": 0.01, "score_change": 0.02, "flips": 0.05}
    answer = SimpleNamespace(refused="refused one", action=action)
    result = object.__new__(Retraining)
    result.__dict__.update(
        {"tree": tree, "refused": refused, "chosen": "proposal", "answer": answer},
        frontier=pd.DataFrame([row, row | {"score": 0.9}], ["proposal", "refused one"]),
        plan_check=check,
    )
    return result
