"""Work grows in step with columns and categories, not with their square.

Each task is timed at one size and at eight times that size, in processor time: eight times the
work is what it should be, sixty-four times what a loop inside a loop would make of it.
"""

from __future__ import annotations

import gc
import time
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import steadytree as st
from steadytree.exceptions import InputError
from steadytree.plugins import WRITERS
from tests.formats.fuzz import assert_short

TIMES, MOST = 8, 24
NOT_COUNTED = 0.02  # seconds of what costs the same at any size
NAMES = ("no", "yes")
BY_CATEGORY = (0, 3, 5)

Case = tuple[st.Tree, st.Tree, st.FeatureSpace, pd.DataFrame]


def balanced(depth: int, feature: Callable[[int], int], seed: int, **fields: Any) -> st.Tree:
    inner = 2**depth - 1
    n = 2 * inner + 1
    rng = np.random.default_rng(seed)
    share = rng.random(n)
    return st.Tree(
        children_left=[2 * i + 1 if i < inner else -1 for i in range(n)],
        children_right=[2 * i + 2 if i < inner else -1 for i in range(n)],
        feature=[feature(i) if i < inner else -1 for i in range(n)],
        threshold=rng.random(n),
        value=np.c_[share, 1 - share],
        classes=NAMES,
        **fields,
    )


@cache
def many_columns(n: int) -> Case:
    names = tuple(f"column {j}" for j in range(n))
    X = pd.DataFrame(np.random.default_rng(0).random((12, n)), columns=names)
    space = st.FeatureSpace(lower=np.zeros(n), upper=np.ones(n), names=names, classes=NAMES)
    old, new = (
        balanced(
            3,
            lambda i, seed=seed: (i * 7919 + seed) % n,
            seed,
            feature_names=names,
            n_features=n,
            space=space,
        )
        for seed in (0, 1)
    )
    return old, new, space, X


@cache
def many_categories(n: int) -> Case:
    listed = tuple(f"category {k}" for k in range(n))
    rng = np.random.default_rng(0)
    met = pd.Categorical.from_codes(rng.integers(0, n, 12), categories=list(listed))
    X = pd.DataFrame({"c": met, "x": rng.random(12)})
    space = st.FeatureSpace(
        lower=[0.0, 0.0],
        upper=[1.0, 1.0],
        categories=(listed, None),
        names=("c", "x"),
        can_be_missing=[True, False],
        ordered=[True, False],
        classes=NAMES,
    )

    def tree(seed: int) -> st.Tree:
        rng = np.random.default_rng(seed)
        some = {i: np.flatnonzero(rng.random(n) < 0.5).tolist() for i in BY_CATEGORY}
        return balanced(
            3,
            lambda i: 0 if i in BY_CATEGORY else 1,
            seed,
            left_categories=[some.get(i) for i in range(15)],
            categories=(listed, None),
            feature_names=("c", "x"),
            n_features=2,
            space=space,
        )

    return tree(0), tree(1), space, X


def written(to: str) -> Callable[[Case, Path], Any]:
    def write(case: Case, folder: Path) -> None:
        try:
            st.export_tree(case[0], to)
        except InputError as error:  # what a format cannot hold is refused, in a few words
            assert_short(error)

    return write


TASKS: dict[str, Callable[[Case, Path], Any]] = {
    "print": lambda case, folder: str(case[0]),
    "save and load": lambda case, folder: st.load_tree(st.save_tree(case[0], folder / "tree.json")),
    "predict": lambda case, folder: case[0].predict(case[3]),
    "encode": lambda case, folder: case[2].encode(case[3]),
    "in a space": lambda case, folder: case[0].replace(space=None).in_space(case[2]),
    "distance": lambda case, folder: st.tree_distance(case[0], case[1]),
    "matching": lambda case, folder: st.match_paths(case[0], case[1]).to_frame(),
    "diff": lambda case, folder: st.diff_trees(case[0], case[1], case[3]).to_text(),
    "diff as data": lambda case, folder: st.diff_trees(case[0], case[1]).to_dict(),
    **{f"export {to}": written(to) for to in WRITERS},
}
OF_COLUMNS = {
    "space": lambda case, folder: st.FeatureSpace.from_data(case[3]),
    "position": lambda case, folder: case[2].positions_of(list(case[2].names or ()), "locked"),
}


def seconds(task: Callable[[], Any]) -> float:
    gc.collect()
    start = time.process_time()
    task()
    return max(time.process_time() - start, NOT_COUNTED)


def assert_grows_in_step(
    task: Callable[[Case, Path], Any], make: Callable[[int], Case], small: int, folder: Path
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        task(make(small), folder)  # imports are not counted
        ratios = []
        for _ in range(3):  # a machine that does other things at that moment is asked again
            before = seconds(lambda: task(make(small), folder))
            after = seconds(lambda: task(make(TIMES * small), folder))
            ratios.append(after / before)
            if ratios[-1] < MOST:
                break
    assert min(ratios) < MOST, ratios


@pytest.mark.parametrize("name", [*TASKS, *OF_COLUMNS])
def test_columns(name: str, tmp_path: Path) -> None:
    assert_grows_in_step({**TASKS, **OF_COLUMNS}[name], many_columns, 1_000, tmp_path)


@pytest.mark.parametrize("name", TASKS)
def test_categories(name: str, tmp_path: Path) -> None:
    assert_grows_in_step(TASKS[name], many_categories, 2_000, tmp_path)
