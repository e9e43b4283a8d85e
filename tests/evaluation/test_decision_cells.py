from __future__ import annotations

import numpy as np

from steadytree.evaluation.decision_cells import count_decisions, tell_decisions


def test_rows_are_counted_by_outcome_and_both_decisions() -> None:
    y = np.array([0, 0, 1, 1, 1])
    cells = count_decisions(y, np.array([0, 1, 1, 1, 0]), np.array([0, 0, 1, 1, 1]), 2)
    assert cells.sum() == 5
    assert cells[0, 1, 0] == 1
    assert cells[1, 1, 1] == 2
    assert cells[1, 0, 1] == 1


def test_decisions_that_nobody_gets_are_counted_as_none() -> None:
    cells = count_decisions(np.array([0, 1, 1]), np.zeros(3), np.array([0, 1, 0]), 3)
    assert cells.shape == (3, 3, 3)
    assert {tuple(at): int(cells[*at]) for at in np.argwhere(cells)} == {
        (0, 0, 0): 1,
        (1, 0, 0): 1,
        (1, 0, 1): 1,
    }


def test_one_small_cell_is_enough() -> None:
    cells = np.array([[[40, 0], [0, 12]], [[5, 0], [0, 30]]])
    assert tell_decisions(cells, 5)
    assert not tell_decisions(cells, 6)
    cells[0, 1, 0] = 1
    assert not tell_decisions(cells, 5)
    assert tell_decisions(cells, 1)
