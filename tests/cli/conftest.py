"""Real data in files, and a first tree, made once for all tests of the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes

from steadytree.cli import main


@dataclass(frozen=True)
class Result:
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        content: dict[str, Any] = json.loads(self.out)
        return content


Run = Callable[..., Result]


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Run:
    def call(*arguments: object) -> Result:
        capfd.readouterr()
        code = main([str(a) for a in arguments])
        captured = capfd.readouterr()
        return Result(code, captured.out, captured.err)

    return call


@dataclass(frozen=True)
class Files:
    """Files that the commands read."""

    old: Path
    new: Path
    new_parquet: Path
    tree: Path
    regression: Path


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    folder = tmp_path_factory.mktemp("data")
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    table = X.iloc[:, [0, 1, 4, 6, 7]].copy()
    table.columns = ["radius", "texture", "smoothness", "concavity", "points"]
    table["size"] = pd.cut(X["mean area"], [0, 450, 700, 9999], labels=["s", "m", "l"]).astype(str)
    table.loc[table.index % 9 == 0, "texture"] = None
    table["clinic"] = [f"clinic {i % 4}" for i in range(len(table))]
    table["year"] = [2015 + i // 60 for i in range(len(table))]
    table["patient"] = [i // 2 for i in range(len(table))]
    table["outcome"] = y.map({0: "malignant", 1: "benign"})
    half = 280
    table[:half].to_csv(folder / "old.csv", index=False)
    table[half:].to_csv(folder / "new.csv", index=False)
    table[half:].to_parquet(folder / "new.parquet")
    D, r = load_diabetes(return_X_y=True, as_frame=True)
    D.assign(progress=r + 0.5)[:250].to_csv(folder / "diabetes.csv", index=False)
    arguments = [
        *("fit", str(folder / "old.csv"), "--target", "outcome", "--learner", "cart", "-q"),
        *("--time", "year", "--group", "patient", "--drop", "clinic", "--max-leaves", "6"),
        *("--out", str(folder / "model")),
    ]
    assert main(arguments) == 0
    return Files(
        folder / "old.csv",
        folder / "new.csv",
        folder / "new.parquet",
        folder / "model" / "tree.json",
        folder / "diabetes.csv",
    )
