"""Lists of categories find their features, or the model is refused."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from steadytree.exceptions import TreeFormatError, UnsupportedModelError
from steadytree.formats.boosting.read_lightgbm import category_columns, numbers_in

NAMES = tuple("abcdef")


def tail(lists: str, told: str | None = "") -> str:
    head = "" if told is None else f"\nparameters:\n[categorical_feature: {told}]\n"
    return f"{head}\npandas_categorical:{lists}\n"


def test_without_pandas_codes_are_all_there_is() -> None:
    for lists in ("null", "[]", ""):
        found = category_columns(["[0:1]", "-1:3:0", "none"], NAMES[:3], tail(lists, "1"))
        assert found.codes == {1: [3, 0]}
        assert found.values == {}
        assert not found.ordered


def test_lists_go_to_the_features_that_are_categorical() -> None:
    infos = ["[0:1]", "1:0", "none", "-1:2:0"]
    found = category_columns(infos, NAMES[:4], tail('[["x", "y"], ["k"], [1, 2, 3]]', "1,2,3"))
    assert found.values == {1: ["x", "y"], 2: ["k"], 3: [1, 2, 3]}
    assert not found.ordered
    by_name = tail('[["x", "y"], ["k"], [1, 2, 3]]', "name:b,c,d")
    assert category_columns(infos, NAMES[:4], by_name) == found
    # A text that does not say what it was told: by what it found.
    found = category_columns(infos, NAMES[:4], tail('[["x", "y"], [1, 2, 3]]', None))
    assert found.values == {1: ["x", "y"], 3: [1, 2, 3]}


def test_ordered_ones_go_where_only_they_fit() -> None:
    infos = ["[0.5:1]", "[0:2]", "1:0", "[-1:1]", "[0:7]"]
    found = category_columns(infos, NAMES[:5], tail('[["lo", "mid", "hi"], ["x", "y"]]', "2"))
    assert found.values == {1: ["lo", "mid", "hi"], 2: ["x", "y"]}
    assert found.ordered == {1}


@pytest.mark.parametrize(
    ("infos", "lists", "told"),
    [
        (["[0:1]", "[0:1]"], '[["x", "y"]]', ""),  # two places
        (["[0:1]", "none"], '[["x", "y"]]', ""),  # two places, one constant
        (["[0.5:1]", "[0:2]"], '[["x", "y"]]', ""),  # no place
        (["0:1", "0:1"], '[["x", "y"]]', "0,1"),  # one list too few
        (["0:1:5"], '[["x", "y"]]', "0"),  # codes beyond the list
        (["0:1"], '[["x", "y"], ["z"]]', "0"),  # more lists than features
        (["[a:b]", "[1:2:3]"], '[["x", "y"]]', ""),
    ],
)
def test_several_ways_or_none(infos: list[str], lists: str, told: str) -> None:
    with pytest.raises(UnsupportedModelError, match="several ways or none"):
        category_columns(infos, NAMES[: len(infos)], tail(lists, told))


@pytest.mark.parametrize("seed", range(40))
def test_one_way_is_found_where_trying_all_finds_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    infos = [str(rng.choice(["[0:1]", "[0:2]", "[0.5:1]", "none", "0:1"])) for _ in NAMES]
    told = {j for j, info in enumerate(infos) if info == "0:1"}
    sizes = rng.integers(1, 4, int(rng.integers(len(told), 5) if len(told) < 5 else len(told)))
    lists = [[f"v{k}" for k in range(size)] for size in sizes]
    largest = {"[0:1]": 1, "[0:2]": 2, "[0.5:1]": 9, "none": 0, "0:1": 1}
    ways = [
        columns
        for columns in combinations(range(6), len(lists))
        if told <= set(columns)
        and all(largest[infos[j]] < len(v) for j, v in zip(columns, lists, strict=True))
    ]
    text = tail(str(lists).replace("'", '"'), ",".join(map(str, sorted(told))))
    if not lists:
        assert category_columns(infos, NAMES, text).values == {}
    elif len(ways) == 1:
        found = category_columns(infos, NAMES, text)
        assert found.values == dict(zip(ways[0], lists, strict=True))
        assert found.ordered == set(ways[0]) - told
    else:
        with pytest.raises(UnsupportedModelError):
            category_columns(infos, NAMES, text)


def test_lists_that_are_none() -> None:
    for lists in ("3", '{"a": 1}', "[1]", "[[null]]", "[[[1]]]"):
        with pytest.raises(TreeFormatError, match="lists of categories in pandas_categorical"):
            category_columns(["0:1"], ["a"], tail(lists, "0"))
    with pytest.raises(TreeFormatError, match="expected numbers in categorical_feature"):
        category_columns(["0:1"], ["a"], tail('[["x"]]', "x"))
    with pytest.raises(TreeFormatError, match="expected numbers in feature_infos of a"):
        category_columns(["x"], ["a"], tail("null"))
    assert numbers_in("1 2", "here", int) == [1, 2]
