r"""What a variant of the tree distance means: the cost of a path without a partner.

All variants are one problem,

.. math:: d(T_1, T_2) = \sum_p c(p) + \min_{\text{injective } \sigma}
          \sum_q \bigl[d(\sigma(q), q) - c(\sigma(q))\bigr],

with p over the larger tree, q over the smaller, and c(p) the cost of leaving p unmatched.
They differ in c(p) alone, so a new one is an entry of ``VARIANTS``; every function that takes
``variant=`` and every solver then knows it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

__all__ = ["VARIANTS", "LonePaths", "Variant"]

# Whole quanta, or plain numbers.
Amounts = NDArray[Any]


@dataclass(frozen=True, slots=True)
class LonePaths:
    r"""What a variant may ask about paths without a partner.

    All in one unit: whole quanta where distances are solved, plain numbers elsewhere.

    Attributes
    ----------
    feature_cost : array (n_paths,)
        Feature part of the distance to the path without conditions.
    paper_weight : array (n_paths,)
        w(p) of eq. (weight-path).
    half_label_weight : number
        :math:`\lambda/2`.

    Examples
    --------
    >>> import numpy as np
    >>> from steadytree.distance import VARIANTS, LonePaths
    >>> lone = LonePaths(np.array([0.2, 1.0]), np.array([0.1, 0.5]), 0.5)
    >>> VARIANTS["metric"].unmatched(lone).tolist()
    [0.7, 1.5]
    """

    feature_cost: Amounts
    paper_weight: Amounts
    half_label_weight: float


@dataclass(frozen=True, slots=True)
class Variant:
    r"""One meaning of the tree distance.

    Parameters
    ----------
    description : str
        What an unmatched path costs, in a few words.
    unmatched : callable or None
        From :class:`LonePaths` to c(p) >= 0 of every path, in their unit. None: the other
        tree decides, c(p) is the distance to the nearest of its paths.
    is_metric : bool, default False
        Whether :math:`|c(p) - c(q)| \le d(p, q) \le c(p) + c(q)`. The distance is then a
        metric whatever the sizes of the trees, the sum of c is a tree's distance to the empty
        tree, and ``normalize="relative"`` makes sense.

    Examples
    --------
    >>> from steadytree.distance import VARIANTS
    >>> VARIANTS["metric"].is_metric
    True
    >>> VARIANTS["cover"].description
    'its distance to the nearest path of the other tree'
    """

    description: str
    unmatched: Callable[[LonePaths], Amounts] | None
    is_metric: bool = False


VARIANTS: dict[str, Variant] = {
    "paper": Variant("its weight w(p), eq. (weight-path)", lambda lone: lone.paper_weight),
    "metric": Variant(
        "its distance to the path without conditions, and half the label weight",
        lambda lone: lone.feature_cost + lone.half_label_weight,
        is_metric=True,
    ),
    "cover": Variant("its distance to the nearest path of the other tree", None),
}
"""The variants by name: what a rule without a partner costs."""
