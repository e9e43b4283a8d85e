"""From the raw score of a boosted tree to what its model predicts.

Leaves of boosted trees hold a score on the scale of a link: log odds, a logarithm, or the
response itself. A model of one tree is read as what it predicts; one tree of several as its
score, because no probability belongs to one tree alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadytree.plugins import UnsupportedModelError, quoted

FloatArray = NDArray[np.float64]


def identity(raw: FloatArray) -> FloatArray:
    """Return the score as it is."""
    return raw


def logistic(raw: FloatArray) -> FloatArray:
    """Share of the second class from its log odds."""
    return np.asarray(1.0 / (1.0 + np.exp(-raw)))


def single_logistic(raw: FloatArray) -> FloatArray:
    """Share of the second class in single precision, in which scores next to 0 are one half."""
    grown = np.exp(-raw).astype(np.float32)
    return np.asarray(np.float32(1) / (np.float32(1) + grown), dtype=np.float64)


def softmax(raw: FloatArray) -> FloatArray:
    """Shares of the classes from a score for each, one row per leaf."""
    powers = np.exp(raw - raw.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


LINKS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "identity": identity,
    "exponential": np.exp,
    "logistic": logistic,
    "single logistic": single_logistic,
    "softmax": softmax,
}


@dataclass(frozen=True)
class Outcome:
    """What the leaves of a tree predict.

    ``link`` makes shares or responses of raw scores, one per leaf or one per leaf and class; of
    two classes the share of the second. ``classes`` is None for responses.
    """

    link: Callable[[FloatArray], FloatArray] = identity
    classes: tuple[Any, ...] | None = None

    def of(self, raw: Sequence[float] | NDArray[Any]) -> FloatArray:
        """Values of the leaves, of shape (number of leaves, number of classes or 1)."""
        scores = np.asarray(raw, dtype=np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            # What is not finite is for the tree to refuse, with the node it stands at.
            values = np.asarray(self.link(scores), dtype=np.float64)
        if self.classes is not None and values.ndim == 1:
            values = np.column_stack([1.0 - values, values])
        return values.reshape(len(scores), -1)


def link_of(objective: str, known: Mapping[str, str], library: str) -> str:
    """Return the link of an objective; refuse one whose predictions its scores do not tell."""
    if objective not in known:
        raise UnsupportedModelError(
            f"expected a {library} model with one of the objectives {', '.join(sorted(known))}, "
            f"got {quoted(objective)}; fit it with one of them"
        )
    return known[objective]
