"""An area with its digits tells which of two leaves a person is at."""

from __future__ import annotations

import numpy as np

from steadytree.report.summarise import summarise
from tests.attack.disclosure.areas import Area, Fitting
from tests.attack.disclosure.census import Census, View
from tests.report.samples import mixed_diff

RANKED = {3: (40, 8), 4: (10, 30), 7: (2, 9), 6: (5, 25)}
"""By leaf: rows without the outcome and with it."""


def test_an_area_pins_down_two_counts_whose_sum_is_known() -> None:
    census = View(Census([summarise(mixed_diff(), min_cell=1)], {}, 400), 0)
    tree = census.trees["old"]
    assert set(tree.boxes) == set(RANKED)
    for leaf, counts in RANKED.items():
        for outcome, count in enumerate(counts):
            of = census.count(atoms=census.at("old", leaf), outcome=outcome)
            # Of those with the outcome at leaves 4 and 7 only the sum is told.
            low, high = (count, count) if outcome == 0 or leaf not in (4, 7) else (0, 39)
            census.solver.add(of, low, high)
    both = census.at("old", 4) | census.at("old", 7)
    census.solver.add(census.count(atoms=both, outcome=1), 39, 39)
    share = {leaf: tree.values[leaf][1] for leaf in RANKED}
    assert len(set(share.values())) == len(share), "the leaves must differ to be ranked"
    wins = sum(
        ill * well * (0.5 if a == b else float(share[a] > share[b]))
        for a, (_, ill) in RANKED.items()
        for b, (well, _) in RANKED.items()
    )
    area = wins / (sum(ill for _, ill in RANKED.values()) * sum(w for w, _ in RANKED.values()))
    of = census.count(atoms=census.at("old", 7), outcome=1)
    values = census.solver.possible(of, 50)
    assert len(values) > 20
    told = Area("old", "", "", 1, (area - 0.0005, area + 0.0005))
    fitting = Fitting.of(census, told)
    assert fitting is not None
    left = fitting.strike_out(census, 7, 1, values)
    assert 9 in left
    assert len(left) < 4
    nothing = Area("old", "", "", 1, (0.0, 1.0))
    fitting = Fitting.of(census, nothing)
    assert fitting is not None
    assert fitting.strike_out(census, 7, 1, values) == values
    assert np.isclose(census.solver.range_of(of), (0, 39)).all()
