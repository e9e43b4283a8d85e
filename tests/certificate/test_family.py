"""A family in tables: the distances and rows of its leaves are those of the search."""

from __future__ import annotations

import numpy as np
import pytest

from steadytree.certificate.family import choose_cuts, make_family, row_sums
from tests.certificate.samples import TASKS, small_search


@pytest.mark.parametrize("task", TASKS)
def test_states_add_up_to_the_distances_of_the_search(task):
    run = small_search(task, 1, n=150, leaves=5)
    cuts = choose_cuts(run.make, [run.start], 25, 6)
    family = make_family(run, cuts, 3)
    unit = run.anchor.measure.quantum / run.anchor.mass
    rng, checked = np.random.default_rng(0), 0
    for _ in range(200):
        chosen = [(int(rng.integers(len(cuts))), int(rng.integers(2))) for _ in range(3)]
        box, states = {}, family.layout.full.copy()
        for cut, side in chosen:
            j = cuts[cut].feature
            part = run.anchor.sides(cuts[cut], box)[side]
            states[family.layout.feature[cut]] = now = family.layout.after[
                states[family.layout.feature[cut]], cut, side
            ]
            assert (part is None) == (now < 0)
            if part is None:
                break
            box = {**box, j: part}
        else:
            x = run.anchor.amounts([box])[0]
            away = family.layout.base + family.layout.added[states].sum(axis=0)
            exact = np.abs(run.anchor.rules - x).sum(axis=1) * unit
            np.testing.assert_allclose(away[:-1], exact, atol=1e-12)
            half = run.anchor.measure.label_weight // 2
            assert away[-1] == pytest.approx((x.sum() + half) * unit, abs=1e-12)
            np.testing.assert_array_equal(family.states(box), states)
            checked += 1
    assert checked > 50


def test_atoms_go_the_way_of_their_rows():
    run = small_search("binary", 3, n=150)
    cuts = choose_cuts(run.make, [run.start], 30, 6)
    family = make_family(run, cuts, 2)
    assert family.layout.left.shape[1] == family.layout.first_atom[-1]
    for c, cut in enumerate(cuts):
        atoms = family.atoms[:, family.layout.feature[c]]
        goes = cut.goes_left(run.make.table.coded[:, cut.feature])
        np.testing.assert_array_equal(family.layout.left[c, atoms], goes)


@pytest.mark.parametrize("task", TASKS)
def test_sums_of_rows_are_those_of_a_leaf(task):
    run = small_search(task, 0)
    leaf = run.make.leaf(run.start.rows)
    sums = row_sums(run).sum(axis=0)
    assert sums[0] == leaf.n_real
    k = run.make.k
    np.testing.assert_allclose(sums[2 + k], leaf.real_weight)
    np.testing.assert_allclose(sums[3 + k : 3 + 2 * k], leaf.sums[2 : 2 + k])
    if task == "regression":
        np.testing.assert_allclose(sums[6] - sums[7] ** 2 / sums[5], leaf.loss)
