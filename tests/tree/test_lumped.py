"""Categories that a pipeline lumps together go together in every new tree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import steadytree as st
from steadytree.tree.recoded import (
    Lumps,
    lump,
    lumped_codes,
    may_be_missing,
    recoded_entries,
    sides_as_lumped,
)
from tests.foreign import probe_rows, random_tree

KNOWN = ["red", "green", "it's blue"]


def told(unseen: Any, same: Any = ()) -> dict[str, Any]:
    entry = {"categories": KNOWN, "same": list(same), "unseen": unseen}
    return {"pipeline_categories": {"colour": entry, "never heard of": entry}}


def codes_of(metadata: dict[str, Any]) -> Lumps:
    """Of a space with the categories red, green, it's blue, n/a and nothing."""
    tree = random_tree(0).replace(metadata=metadata)
    space = st.FeatureSpace.from_data(probe_rows(tree, 200, unseen=False, missing=False))
    feature = space.feature_labels.index("colour")
    space = space.replace(
        categories=tuple(
            tree.categories[feature] if j == feature else c for j, c in enumerate(space.categories)
        )
    )
    found = lumped_codes(tree, space)
    assert set(found) == {feature}
    assert bool(may_be_missing(space, found).can_be_missing[feature]) == bool(
        np.isnan(found[feature].stands_for).any()
    )
    return found[feature]


def test_what_stands_for_each_category() -> None:
    own = codes_of(told("own"))
    np.testing.assert_array_equal(own.stands_for, [0, 1, 2, 3, 3])
    assert own.unseen == 3
    as_missing = codes_of(told("missing"))
    np.testing.assert_array_equal(as_missing.stands_for, [0, 1, 2, np.nan, np.nan])
    assert np.isnan(as_missing.unseen)
    lumped = codes_of(told(["it's blue"], [["green", "it's blue"]]))
    np.testing.assert_array_equal(lumped.stands_for, [0, 1, 1, 1, 1])
    assert lumped.unseen == 1


def test_nothing_told_nothing_lumped() -> None:
    tree = random_tree(0)
    space = st.FeatureSpace.from_data(probe_rows(tree, 200))
    assert lumped_codes(tree, space) == {}
    coded = np.zeros((2, 6))
    assert lump(coded, {}) is coded
    assert sides_as_lumped(tree, {}) is tree
    assert recoded_entries(tree) == {}
    assert recoded_entries(tree.replace(metadata=told("own"))) == told("own")


@pytest.mark.parametrize("stands_for", [[0, 1, 1, 3, 3], [0, 0, np.nan, 3, np.nan]])
@pytest.mark.parametrize("seed", range(8))
def test_rows_go_as_what_stands_for_them(seed: int, stands_for: list[float]) -> None:
    tree = random_tree(seed)
    feature = tree.feature_labels.index("colour")
    lumps = {feature: Lumps(np.array(stands_for), stands_for[4])}
    changed = sides_as_lumped(tree, lumps)
    rows = probe_rows(tree, 1000, seed, unseen=False)
    coded = tree.encode(rows)
    np.testing.assert_array_equal(changed.apply_coded(coded), tree.apply_coded(lump(coded, lumps)))
    assert sides_as_lumped(changed, lumps) is changed
    unseen = rows.assign(colour="never met")
    like_last = rows.assign(colour="")
    np.testing.assert_array_equal(changed.apply(unseen), changed.apply(like_last))
