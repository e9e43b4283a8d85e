"""Random tables and rows for the tests of boosted models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import steadytree as st
from steadytree.exceptions import SteadyTreeError

COLOURS = ("red", "green", "it's blue", "n/a", "grey")
N = 10_000


def table(seed: int, *, categories: bool = True, n: int = 400, zeros: bool = False) -> pd.DataFrame:
    """Numbers of several sizes with holes, and categories as pandas columns."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.normal(size=n) * 100,
            "income": rng.lognormal(size=n),
            "balance": rng.normal(size=n) * 1e-3,
            "visits": np.round(rng.normal(size=n) * 2),
        }
    )
    if zeros:
        frame = frame.mask(rng.random(frame.shape) < 0.2, 0.0)
    frame = frame.mask(rng.random(frame.shape) < 0.1)
    if categories:
        frame["colour"] = pd.Categorical(rng.choice(COLOURS, n), categories=COLOURS)
        frame["size"] = pd.Categorical(rng.choice([1, 2, 3, 10], n))
        frame.loc[rng.random(n) < 0.1, "colour"] = np.nan
    return frame


def outcome(frame: pd.DataFrame, kind: str, seed: int) -> np.ndarray:
    """What the columns tell: "binary", "multiclass" or "regression" (above 0)."""
    rng = np.random.default_rng(seed + 1)
    score = np.nan_to_num(frame["age"].to_numpy() / 100 + 1000 * frame["balance"].to_numpy())
    score = score + np.nan_to_num(frame["visits"].to_numpy()) / 4 + rng.normal(size=len(frame)) / 4
    if "colour" in frame:
        score = score + frame["colour"].isin(["green", "grey"]).to_numpy() - 0.5
        score = score + frame["size"].isin([2, 10]).to_numpy() - 0.5
    if kind == "regression":
        return np.asarray(np.exp(score / 3))
    return np.asarray(np.digitize(score, [-0.7, 0.7] if kind == "multiclass" else [0.0]))


def near(values: Any) -> np.ndarray:
    """Return values and their neighbours in double and in single precision."""
    t = np.asarray(values, dtype=np.float64)
    single = t.astype(np.float32)
    steps = [np.nextafter(single, np.float32(s * np.inf)).astype(np.float64) for s in (-1, 1)]
    tiny = [0.0, -0.0, 1e-36, -1e-36, 2e-35, -2e-35, 1e-35, -1e-35]
    tiny += [float(np.float32(1e-35)), -float(np.float32(1e-35))]
    beside = [t, np.nextafter(t, np.inf), np.nextafter(t, -np.inf), single.astype(np.float64)]
    return np.concatenate([*beside, *steps, tiny])


def probes(
    tree: st.Tree, frame: pd.DataFrame, seed: int, *, unseen: bool = True, huge: bool = True
) -> pd.DataFrame:
    """Rows of the columns of a frame, among them values at and next to the tree's thresholds."""
    rng = np.random.default_rng(seed + 2)
    rows: dict[str, Any] = {}
    for j, name in enumerate(frame.columns):
        if isinstance(frame[name].dtype, pd.CategoricalDtype):
            known = [*frame[name].cat.categories]
            drawn = np.array([*known, None], dtype=object)[rng.integers(len(known), size=N)]
            if unseen:
                drawn[rng.random(N) < 0.1] = 77 if isinstance(known[0], int) else "never met"
            drawn[rng.random(N) < 0.1] = None
            extra = [77 if isinstance(known[0], int) else "never met"] if unseen else []
            rows[name] = pd.Categorical(drawn, categories=[*known, *extra])
            continue
        at = tree.threshold[(tree.feature == j) & np.isfinite(tree.threshold)]
        at = at[np.abs(at) < 1e38] if huge else at
        special = np.concatenate([near(at), [1e30, -1e30] if huge else []])
        spread = rng.normal(size=N) * 3 * (1 + np.nanstd(frame[name]))
        values = np.where(rng.random(N) < 0.6, rng.choice(special, N), spread)
        rows[name] = np.where(rng.random(N) < 0.12, np.nan, values)
    return pd.DataFrame(rows)


def assert_refused(path: Path, content: bytes | str, match: str = "", **options: Any) -> None:
    """Hold a hostile file to the promise: our error, nothing else."""
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(SteadyTreeError, match=match):
        st.as_tree(path, **options)
