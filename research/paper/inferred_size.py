"""How many trees the percentages of the paper's Table 3 were counted over.

The paper does not say how many trees B a collection has. Its percentages do: a share counted over
n trees is a whole number over n, and rounded to two decimals few n can give all of them.
"""

from __future__ import annotations

from collections.abc import Iterable

from research.paper.published import TABLE_3

__all__ = ["fitting_denominators", "percentages"]


def percentages(case_studies: Iterable[str] = TABLE_3) -> list[float]:
    """List the percentages of some case studies, of all by default."""
    return [
        round(100 * share, 2)
        for name in case_studies
        for two in TABLE_3[name].values()
        for _, share in two
    ]


def fitting_denominators(values: Iterable[float], most: int) -> list[int]:
    """Find the numbers of trees up to ``most`` that could have given all the percentages.

    A percentage fits n if some whole number of n trees is it, rounded to two decimals; a half may
    have been rounded either way.
    """
    # In whole hundredths of a per cent, so that nothing is rounded here.
    wanted = [round(100 * value) for value in values]

    def fits(share: int, n: int) -> bool:
        nearest = (share * n + 5_000) // 10_000
        return 2 * abs(10_000 * nearest - share * n) <= n

    return [n for n in range(1, most + 1) if all(fits(share, n) for share in wanted)]
