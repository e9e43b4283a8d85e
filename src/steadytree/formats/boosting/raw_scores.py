"""From the raw score of a boosted tree to what its model predicts.

Leaves of boosted trees hold a score on the scale of a link: log odds, a logarithm, or the
response itself. A model of one tree is read as what it predicts; one tree of several as its
score, because no probability belongs to one tree alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from steadytree.plugins import UnsupportedModelError, quoted

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Outcome:
    """What the leaves of a tree predict.

    ``values`` makes class shares (one column per class) or responses (one column) of raw
    scores, one per leaf or one per leaf and class. ``classes`` is None for responses.
    """

    values: Callable[[FloatArray], FloatArray]
    classes: tuple[Any, ...] | None = None

    def of(self, raw: Sequence[float] | NDArray[Any]) -> FloatArray:
        """Values of the leaves, of shape (number of leaves, number of classes or 1)."""
        scores = np.asarray(raw, dtype=np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            # What is not finite is for the tree to refuse, with the node it stands at.
            return np.asarray(self.values(scores), dtype=np.float64).reshape(len(scores), -1)


def identity(raw: FloatArray) -> FloatArray:
    """Return the score as it is."""
    return raw


def logistic(raw: FloatArray, scale: float = 1.0) -> FloatArray:
    """Share of the second class from its log odds."""
    with np.errstate(over="ignore"):
        return np.asarray(1.0 / (1.0 + np.exp(-scale * raw)))


def two_shares(share: FloatArray) -> FloatArray:
    """Shares of both classes from that of the second."""
    return np.column_stack([1.0 - share, share])


def softmax(raw: FloatArray) -> FloatArray:
    """Shares of the classes from a score for each, one row per leaf."""
    powers = np.exp(raw - raw.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def refuse_objective(name: str, library: str, known: Iterable[str]) -> NoReturn:
    """Raise for an objective whose predictions are not known from its scores."""
    raise UnsupportedModelError(
        f"expected a {library} model with one of the objectives {', '.join(sorted(known))}, "
        f"got {quoted(name)}; fit it with one of them"
    )
