"""Do some finished work again and see whether the very same numbers come out."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from research.paper.jobs import Job
from research.paper.registry import config_of
from research.paper.runs import Progress, run_jobs
from research.paper.store import UnitStore, canonical_json
from steadytree.exceptions import InputError

__all__ = ["Recheck", "recheck"]


@dataclass(frozen=True)
class Recheck:
    """What was done again.

    Attributes
    ----------
    checked, differing : list of str
        Names of the units as their files have them, and of those that came out otherwise.
    """

    checked: list[str]
    differing: list[str]

    @property
    def summary(self) -> str:
        """What came out, with the names."""
        lines = [f"{len(self.checked)} units done again: {len(self.differing)} differ."]
        marks = ("differs" if name in self.differing else "same" for name in self.checked)
        lines += [f"  {mark}: {name}" for mark, name in zip(marks, self.checked, strict=True)]
        return "\n".join(lines)


def recheck(
    jobs: Sequence[Job],
    store: UnitStore,
    count: int,
    *,
    n_jobs: int = 1,
    rng: np.random.Generator | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Recheck:
    """Compute finished units anew in a folder of their own, and compare byte for byte.

    Parameters
    ----------
    jobs : sequence of Job
        The run's work; units are drawn at random from those of it that are stored.
    store : UnitStore
    count : int
        How many to draw; all where there are fewer.
    n_jobs : int, default 1
    rng : Generator, optional
        By default another draw each time: which units were drawn is told.
    progress : callable, optional
    """
    stored = [job for job in jobs if store.load(config_of(job)) is not None]
    if not stored:
        raise InputError(
            f"expected finished units of this run in {str(store.folder)!r}, got none that this "
            "code made under these settings; run it first without --recheck"
        )
    order = (rng or np.random.default_rng()).permutation(len(stored))[:count]
    drawn = [stored[i] for i in np.sort(order)]
    with tempfile.TemporaryDirectory() as folder:
        scratch = UnitStore(folder)
        run_jobs(drawn, scratch, n_jobs=n_jobs, progress=progress)
        checked, differing = [], []
        for job in drawn:
            config = config_of(job)
            name = _name(store, store.path(config))
            checked.append(name)
            if canonical_json(store.load(config)) != canonical_json(scratch.load(config)):
                differing.append(name)
    return Recheck(checked, differing)


def _name(store: UnitStore, path: Path) -> str:
    return path.relative_to(store.folder).as_posix()
