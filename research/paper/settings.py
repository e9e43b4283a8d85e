"""How large a run of the paper's experiments is: the full one, the inferred one, a quick one."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from steadytree.growing.collections import PAPER_GRID

__all__ = [
    "FULL",
    "INFERRED",
    "LARGEST_DEPTH",
    "PROTOCOLS",
    "QUICK",
    "Settings",
    "generator",
    "seed_of",
]

LARGEST_DEPTH = max(PAPER_GRID["max_depth"])
"""D of the paper's bound: the largest depth of its grid (Section 3.1)."""

PROTOCOLS = ("paper", "honest")


@dataclass(frozen=True)
class Settings:
    """Sizes of all experiments; part of the key under which each result is stored.

    Attributes
    ----------
    name : str
        What the page calls the run.
    n_splits : int
        Random splits of each case study (the paper: 10).
    n_bootstraps : int
        Bootstraps per collection; each grows the whole grid, so that the full run has
        6 x 50 = 300 trees per collection.
    n_settings : int or None
        Points of the grid that each split draws at random, without repetition, for all its
        bootstraps; None for the whole grid.
    depths, min_leaves : tuple of int
        The grid of Section 3.1.
    forest_size : int
        Trees of the random forest.
    n_detailed : int
        Splits on which the distances are computed again under other label weights and within
        the collection (the geometry experiments).
    label_weights : tuple of float
        Further values of lambda.
    perturbations : int
        Repetitions of the direct perturbation (the paper: 100).
    perturbation_sizes : tuple of float
        theta_max.
    replacements : int
        Repetitions of the indirect perturbation (the paper: 10).
    replaced_shares : tuple of float
        theta, the share of the training rows that is replaced.
    example_splits : int
        Repetitions of the retraining example (the paper shows one).
    example_depths : tuple of int
        Its grid of depths (Section 2.5: at most 4).
    batch_sizes : tuple of int
        Numbers of bootstraps compared in the experiment on B.
    batch_splits : int
        Splits of that experiment.
    retraining_repeats : int
        Repetitions of the retraining table on each time-ordered set.
    proposition_pairs : int
        Pairs of trees on which the linear program of eq. (distance) is solved, on each of
        ``n_detailed`` splits.
    max_rows : int or None
        Use at most this many rows of each data set. The full run has no such limit.
    """

    name: str
    n_splits: int = 10
    n_bootstraps: int = 6
    n_settings: int | None = None
    depths: tuple[int, ...] = tuple(PAPER_GRID["max_depth"])
    min_leaves: tuple[int, ...] = tuple(PAPER_GRID["min_samples_leaf"])
    forest_size: int = 100
    n_detailed: int = 3
    label_weights: tuple[float, ...] = (0.0, 0.5, 2.0, 6.0, 24.0)
    perturbations: int = 100
    perturbation_sizes: tuple[float, ...] = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
    replacements: int = 10
    replaced_shares: tuple[float, ...] = (0.2, 0.4, 0.6, 0.8, 1.0)
    example_splits: int = 10
    example_depths: tuple[int, ...] = (3, 4)
    batch_sizes: tuple[int, ...] = (1, 2, 4, 6, 10, 20)
    batch_splits: int = 5
    retraining_repeats: int = 5
    proposition_pairs: int = 30
    max_rows: int | None = None

    @property
    def grid_size(self) -> int:
        """Points of the grid that are grown on each bootstrap."""
        whole = len(self.depths) * len(self.min_leaves)
        return whole if self.n_settings is None else min(self.n_settings, whole)

    @property
    def trees_per_collection(self) -> int:
        """B: bootstraps times grid points."""
        return self.n_bootstraps * self.grid_size


FULL = Settings("full")

INFERRED = replace(FULL, name="paper-210", n_bootstraps=10, n_settings=21)
"""The size that the paper probably had. It is inferred, not stated: all percentages of its Table 3
fit 2,100 trees, and no number up to 5,000 but that and its double (`research.paper.inferred_size`).
Ten repetitions of 210 trees give 2,100; that 210 are 10 bootstraps of 21 settings is a guess."""

QUICK = Settings(
    "quick",
    n_splits=3,
    n_bootstraps=2,
    forest_size=50,
    n_detailed=1,
    label_weights=(0.0, 24.0),
    perturbations=10,
    perturbation_sizes=(0.1, 0.25, 0.5, 0.75, 1.0),
    replacements=3,
    replaced_shares=(0.2, 0.6, 1.0),
    example_splits=3,
    batch_sizes=(1, 2, 4, 8),
    batch_splits=2,
    retraining_repeats=1,
    proposition_pairs=10,
    max_rows=3000,
)


def _digest(seed: int, words: tuple[Any, ...]) -> bytes:
    text = "/".join([str(seed), *(str(word) for word in words)])
    return hashlib.sha256(text.encode()).digest()


def generator(seed: int, *words: Any) -> np.random.Generator:
    """Return a random generator of its own for each purpose, named by ``words``.

    Neither the order of the units nor the number of workers can then change a result.
    """
    return np.random.default_rng(np.frombuffer(_digest(seed, words), dtype=np.uint32).tolist())


def seed_of(seed: int, *words: Any) -> int:
    """Return a whole number for learners that take ``random_state``."""
    return int.from_bytes(_digest(seed, words)[:4], "big") >> 1
