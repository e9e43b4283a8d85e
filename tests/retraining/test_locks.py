"""Whatever condition a listing of the deployed tree prints can be locked by its words."""

from __future__ import annotations

import numpy as np
import pytest

from steadytree.estimators import TreeClassifier
from steadytree.exceptions import InputError
from steadytree.retraining.locks import resolve_locks
from tests.report.samples import mixed_diff


def test_every_condition_of_the_listing_is_found() -> None:
    tree = mixed_diff().old
    space = tree.space
    assert space is not None
    lines = TreeClassifier(tree).rules().splitlines()
    conditions = [line.lstrip("| -").partition(": ")[0] for line in lines]
    assert sum("or missing" in text for text in conditions) >= 2
    inner = set(np.flatnonzero(~tree.is_leaf).tolist())
    found = [resolve_locks(text, tree, space) for text in conditions]
    assert set().union(*found) == inner


def test_a_condition_may_leave_out_where_missing_values_go() -> None:
    tree = mixed_diff().old
    assert tree.space is not None
    assert resolve_locks("age <= 40", tree, tree.space) == {1}
    assert resolve_locks("age <= 40 or missing", tree, tree.space) == {1}
    with pytest.raises(InputError, match="got 'age <= 41'"):
        resolve_locks("age <= 41", tree, tree.space)
