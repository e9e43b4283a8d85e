"""One piece of work: an experiment on one data set, under one protocol, on one split."""

from __future__ import annotations

from dataclasses import dataclass

from research.paper.settings import Settings

__all__ = ["Job"]


@dataclass(frozen=True)
class Job:
    """What an experiment is given.

    Attributes
    ----------
    kind : str
        The experiment.
    dataset : str
        Name of the data set.
    protocol : str
        ``"paper"``, ``"honest"``, or empty where nothing is chosen on a holdout.
    index : int
        Number of the split or repetition.
    seed : int
        Seed of the whole run.
    settings : Settings
    """

    kind: str
    dataset: str
    protocol: str
    index: int
    seed: int
    settings: Settings
