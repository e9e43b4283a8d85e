"""CatBoost's trees by levels and by nodes, and the columns they ask for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from steadytree.exceptions import TreeFormatError
from steadytree.formats.boosting.read_catboost import Features, Split, read_nested, read_oblivious
from steadytree.tree.nested import JsonObject


def above(border: float, index: int = 0) -> dict[str, Any]:
    return {"split_type": "FloatFeature", "border": border, "float_feature_index": index}


def equals(hash_value: int, index: int = 0) -> dict[str, Any]:
    return {"split_type": "OneHotFeature", "value": hash_value, "cat_feature_index": index}


def levels(*splits: dict[str, Any]) -> JsonObject:
    n = 2 ** len(splits)
    return JsonObject({"splits": list(splits), "leaf_values": list(range(n))}, "tree.")


@pytest.mark.parametrize(
    ("splits", "numbers"),
    [
        ((), [0]),
        ((above(1.0),), [0, 1]),
        # Above 1 is above 0 as well; not above 0 is not above 1.
        ((above(1.0), above(0.0)), [0, 2, 3]),
        ((above(0.0), above(1.0)), [0, 1, 3]),
        ((above(0.0), above(0.0)), [0, 3]),
        ((above(0.0), above(0.0, 1)), [0, 2, 1, 3]),
        # A category that is one value is none of the others.
        ((equals(5), equals(6)), [0, 2, 1]),
        ((equals(5), equals(5)), [0, 3]),
        ((equals(5), equals(6, 1)), [0, 2, 1, 3]),
    ],
)
def test_levels_are_written_out_but_for_what_is_settled(splits: Any, numbers: list[int]) -> None:
    table = read_oblivious(levels(*splits), 1)
    reached = [table.leaf[node] for node, sides in enumerate(table.children) if sides is None]
    assert reached == numbers
    np.testing.assert_array_equal(table.values[:, 0], np.arange(2 ** len(splits)))


def test_nested_objects_are_laid_flat() -> None:
    tree = {
        "split": above(0.0),
        "left": {"value": [1, 2], "weight": 3},
        "right": {"split": equals(-1), "left": {"value": [3, 4]}, "right": {"value": [5, 6]}},
    }
    table = read_nested(JsonObject(tree, "t."), 2)
    assert table.children[0] == [1, 2]
    # Signed in splits, unsigned beside the text.
    assert table.splits[2] == Split(0, hash=2**32 - 1)
    np.testing.assert_array_equal(table.values, [[1, 2], [3, 4], [5, 6]])
    np.testing.assert_array_equal(table.weights, [3, 1, 1])


def test_borders_are_single_precision() -> None:
    table = read_oblivious(levels(above(0.1)), 1)
    split = table.splits[0]
    assert split is not None
    assert split.border == float(np.float32(0.1)) != 0.1


def test_texts_with_one_hash_go_together() -> None:
    info = {
        "categorical_features": [{"feature_index": 0, "flat_feature_index": 0, "feature_id": "c"}],
        "cat_features_hash": [{"hash": 7, "value": "one"}, {"hash": 7, "value": "other"}],
    }
    features = Features(JsonObject(info, ""), [Split(0, hash=7)])
    assert features.categories == (("one", "other"),)


def test_a_split_on_a_column_that_is_not_there() -> None:
    with pytest.raises(TreeFormatError, match="expected feature 3 of the type FloatFeature"):
        Features(JsonObject({}, ""), [Split(3, border=0.0)])
