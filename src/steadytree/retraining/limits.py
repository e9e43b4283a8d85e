"""A price of change in words people use: at most so many decisions, at least so much gain.

Nobody knows what a price of 0.25 means before seeing what it buys. "At most 3 % of the
decisions", "at most 10 % dissimilar", "only for a gain of 0.01" can be said beforehand, and
choose on the frontier directly.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from steadytree.exceptions import InputError
from steadytree.retraining.search_options import check_number

__all__ = ["Limits"]

# Limits are decimal numbers that people type: 0.03 must not fail on the last bit.
ROUNDING = 1e-12


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What a proposal may change at most, and must gain at least.

    Attributes
    ----------
    max_flips : float, optional
        Largest share of the new rows whose decision changes.
    max_dissimilarity : float, optional
        Largest dissimilarity to the deployed tree.
    min_gain : float, optional
        Smallest honest gain in score (AUC or R²) over keeping the deployed tree.
    """

    max_flips: float | None = None
    max_dissimilarity: float | None = None
    min_gain: float | None = None

    def __post_init__(self) -> None:
        for name in ("max_flips", "max_dissimilarity"):
            if getattr(self, name) is not None:
                check_number(getattr(self, name), name, most=1.0, fix="0.03 is 3 %")
        if self.min_gain is not None:
            check_number(self.min_gain, "min_gain", fix="0.01 is one point of AUC or R²")
            if self.min_gain == 0:
                raise InputError(
                    "expected a min_gain above 0, got 0; keeping the tree gains that already"
                )

    @classmethod
    def read(cls, select: Any, **given: Any) -> Limits | None:
        """Limits as given to ``retrain``, None where there is none.

        ``select`` is another rule that was asked for, which limits would contradict.
        """
        limits = cls(**given)
        if not limits.to_dict():
            return None
        if select is not None:
            raise InputError(
                f"expected either select or limits ({limits.words()}), got both: "
                f"select={select!r}; leave one of them out"
            )
        return limits

    def to_dict(self) -> dict[str, float]:
        """Limits that were set, by name."""
        return {name: float(limit) for name, limit in asdict(self).items() if limit is not None}

    def words(self) -> str:
        """Return the limits as they are typed: "max_flips=0.03, min_gain=0.01"."""
        return ", ".join(f"{name}={limit:g}" for name, limit in self.to_dict().items())

    # -- on the frontier ----------------------------------------------------------

    def held(self, frontier: pd.DataFrame) -> NDArray[np.bool_]:
        """Candidates with a score that change no more than is allowed; "keep" is one."""
        inside = frontier["score"].notna().to_numpy()
        for column in ("flips", "dissimilarity"):
            limit = getattr(self, f"max_{column}")
            if limit is not None:
                inside = inside & (frontier[column].to_numpy() <= limit + ROUNDING)
        return np.asarray(inside)

    def reached(self, frontier: pd.DataFrame) -> NDArray[np.bool_]:
        """Candidates whose gain over keeping is as large as was asked for, or any."""
        least = -np.inf if self.min_gain is None else self.min_gain - ROUNDING
        return np.asarray(frontier["score_change"].to_numpy() >= least)

    def unmet(self, frontier: pd.DataFrame, score: str) -> str:
        """Say why only keeping the tree is left; empty where another candidate holds them.

        ``score`` is what the score is called: "AUC" or "R²".
        """
        others = frontier[(frontier["kind"] != "keep") & frontier["score"].notna()]
        held, reached = self.held(others), self.reached(others)
        if (held & reached).any():
            return ""
        if self.min_gain is None:
            return f"every other candidate changes more than {self.words()} allows"
        if not reached.any():
            gains, best = others["score_change"], ""
            if len(gains):
                best = f": the largest gain is {gains.max():.3f} ({gains.idxmax()})"
            return f"no candidate gains {self.min_gain:g} in {score}{best}"
        near = others[reached]
        return (
            f"every candidate that gains {self.min_gain:g} in {score} "
            f"(the closest: {near['dissimilarity'].idxmin()}) changes more than "
            f"{Limits(max_flips=self.max_flips, max_dissimilarity=self.max_dissimilarity).words()} "
            "allows"
        )
