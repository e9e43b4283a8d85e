"""Small files must not ask for long work, and whatever is wrong with one is said in a few words."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import time
import tracemalloc
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import pytest

import steadytree as st
from steadytree._io import MAX_MATCHING_BYTES, MAX_TEXT, MAX_UNLISTED_FEATURES, check_matching
from steadytree.exceptions import InputError, SteadyTreeError, TreeFormatError
from steadytree.plugins import WRITERS
from steadytree.tree.json import tree_to_dict
from steadytree.tree.space import listed_features
from tests.formats.fuzz import assert_short, use
from tests.formats.mutations import spoil_json
from tests.tree.test_tree_file import rich_tree

LONGEST_MESSAGE = 3_000


def stump() -> dict[str, Any]:
    """Return the content of a tree file with everything in it that a file can have."""
    tree = st.Tree(
        children_left=[1, -1, -1],
        children_right=[2, -1, -1],
        feature=[0, -1, -1],
        threshold=[0.5, 0, 0],
        value=[[0.5, 0.5], [0.9, 0.1], [0.2, 0.8]],
        classes=("no", "yes"),
        feature_names=("age", "colour"),
        categories=(None, ("red", "blue")),
        n_features=2,
        space=st.FeatureSpace(
            lower=[0.0, 0.0],
            upper=[1.0, 1.0],
            names=("age", "colour"),
            categories=(None, ("red", "blue")),
            classes=("no", "yes"),
        ),
        metadata={"note": "kept"},
    )
    return json.loads(json.dumps(tree_to_dict(tree)))


def without_lists(n_features: int) -> str:
    content = stump() | {"n_features": n_features, "feature_names": None, "categories": []}
    return json.dumps(content | {"space": None, "metadata": {}})


def test_a_few_bytes_that_declare_millions_of_features(tmp_path: Path) -> None:
    """What a file counts without listing it is kept in bounds, and everything done with it."""
    path = tmp_path / "tree.json"
    path.write_text(without_lists(2_000_000), encoding="utf-8")
    with pytest.raises(TreeFormatError, match=r"or 0 to 200,000 features, got 2000000"):
        st.as_tree(path)
    path.write_text(without_lists(MAX_UNLISTED_FEATURES), encoding="utf-8")
    st.as_tree(path)  # imports are not counted
    tracemalloc.start()
    try:
        tree = st.as_tree(path)
        assert "age" not in str(tree)
        assert tracemalloc.get_traced_memory()[1] < 64 * 2**20
    finally:
        tracemalloc.stop()


LONG = "x" * 2_000_000
CHANGES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "long name": lambda c: c["feature_names"].__setitem__(0, LONG),
    "long category": lambda c: c["categories"][1].__setitem__(0, LONG),
    "long class": lambda c: c["classes"].__setitem__(0, LONG),
    "long format": lambda c: c.update(format=LONG),
    "long task": lambda c: c.update(task=LONG),
    "long precision": lambda c: c.update(precision=LONG),
    "long threshold": lambda c: c["nodes"].update(threshold=[LONG, 0, 0]),
    "long group": lambda c: c["space"].update(one_hot={LONG: 1}),
    "long origin of none": lambda c: c["decision"].update(origin=LONG, positive=7),
    "same name a lot": lambda c: c.update(feature_names=["a"] * 100_000),
    "same category a lot": lambda c: c["categories"].__setitem__(1, ["a"] * 100_000),
    "too many classes": lambda c: c.update(classes=[f"class {k}" for k in range(50_000)]),
    "codes": lambda c: c["nodes"].update(left_categories=[[9] * 100_000, None, None]),
    "big version": lambda c: c.update(version=10**4000),
    "big count": lambda c: c.update(n_features=10**4000),
    "big threshold": lambda c: c["nodes"].update(threshold=[10**4000, 0, 0]),
    "big bound": lambda c: c["space"]["bounds"].__setitem__(0, [0, 10**400]),
    "big label": lambda c: c["nodes"].update(label=[10**4000, 0, 0]),
    "big share": lambda c: c["nodes"]["value"].__setitem__(0, [10**400, 0]),
    "big positive": lambda c: c["decision"].update(positive=10**4000),
    "infinite share": lambda c: c["nodes"]["value"].__setitem__(0, ["inf", 0]),
    "NaN threshold": lambda c: c["nodes"].update(threshold=["nan", 0, 0]),
    "infinite bound": lambda c: c["space"]["bounds"].__setitem__(0, [0, "inf"]),
    "one feature twice": lambda c: c.update(feature_names=["a", "a"]),
    "one class twice": lambda c: c.update(classes=["a", "a"]),
    "one class as two kinds": lambda c: c.update(classes=[1, True]),
    "one category twice": lambda c: c["categories"].__setitem__(1, ["red", "red"]),
    "names of the space twice": lambda c: c["space"].update(names=["a", "a"]),
}


@pytest.mark.parametrize("what", CHANGES)
def test_whatever_is_wrong_is_said_in_a_few_words(what: str, tmp_path: Path) -> None:
    content = stump()
    CHANGES[what](content)
    path = tmp_path / "tree.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(TreeFormatError, match="expected") as error:
        st.as_tree(path)
    assert len(str(error.value)) < LONGEST_MESSAGE


def deep(levels: int) -> dict[str, Any]:
    inner: dict[str, Any] = {}
    for _ in range(levels):
        inner = {"a": inner}
    return inner


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        (deep(100_000), "expected metadata of at most 500 levels"),
        ({"a": [10**5000]}, "expected metadata that JSON can hold"),
        ({"a": "\ud800"}, "expected metadata that JSON can hold"),
        ({"a": float("inf")}, "expected metadata that JSON can hold"),
        ({"a": object()}, "expected metadata that JSON can hold"),
        ({"a": {1: "x", "1": "y"}}, "every entry of a JSON object once"),
    ],
    ids=map(str, range(6)),
)
def test_what_could_not_be_read_again_is_not_written(
    metadata: dict[str, Any], message: str, tmp_path: Path
) -> None:
    tree = st.as_tree({"value": 1.0}).replace(metadata=metadata)
    with pytest.raises(InputError, match=message) as error:
        st.save_tree(tree, tmp_path / "tree.json")
    assert len(str(error.value)) < LONGEST_MESSAGE
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["\ud800", "y" * (MAX_TEXT + 1)])
def test_names_that_no_file_could_hold(name: str) -> None:
    with pytest.raises(InputError, match="expected feature names"):
        st.FeatureSpace(lower=[0.0], upper=[1.0], names=(name,))
    with pytest.raises(InputError, match="expected classes"):
        st.as_tree({"label": name})


def show(*arguments: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "steadytree", "show", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        **options,
    )


def test_the_command_line_opens_no_pipe_and_no_device(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in ("/dev/zero", "/dev/stdin", tmp_path / "pipe", tmp_path):
        done = show(path, stdin=subprocess.PIPE)
        assert done.returncode == 2
        assert "expected a readable tree file, got a" in done.stderr
        assert len(done.stderr) < LONGEST_MESSAGE


# -- large trees that are honest: what can be done with them is done, the rest refused at once --

LEVELS = 16


def full_tree(levels: int, shift: float = 0.0) -> st.Tree:
    """Return a tree of 2**levels rules, each of which some value reaches."""
    inner = 2**levels - 1
    n = 2 * inner + 1
    feature, threshold = np.full(n, -1), np.zeros(n)
    feature[:inner] = np.log2(np.arange(1, inner + 1)).astype(int)  # a level asks one feature
    threshold[:inner] = 0.5 + shift
    share = np.linspace(0, 1, n)
    return st.Tree(
        children_left=[2 * i + 1 if i < inner else -1 for i in range(n)],
        children_right=[2 * i + 2 if i < inner else -1 for i in range(n)],
        feature=feature,
        threshold=threshold,
        value=np.c_[share, 1 - share],
        classes=("no", "yes"),
        n_features=levels,
        space=st.FeatureSpace(lower=np.zeros(levels), upper=np.ones(levels)),
    )


@pytest.fixture(scope="module")
def pair() -> tuple[st.Tree, st.Tree]:
    return full_tree(LEVELS), full_tree(LEVELS, 0.1)


COMPARISONS: dict[str, Callable[[st.Tree, st.Tree], Any]] = {
    "distance": st.tree_distance,
    "cover": lambda a, b: st.tree_distance(a, b, variant="cover"),
    "matching": st.match_paths,
    "pairwise": lambda a, b: st.pairwise_tree_distances([a, b]),
    "diff": st.diff_trees,
}


@pytest.mark.parametrize("name", COMPARISONS)
def test_a_comparison_that_would_fill_the_memory(name: str, pair: tuple[st.Tree, st.Tree]) -> None:
    """Two trees of 65,536 rules have four thousand million pairs of rules."""
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match=r"65,536 rules against 65,536 rules.*96\.0 GiB; comp"):
            COMPARISONS[name](*pair)
        assert tracemalloc.get_traced_memory()[1] < 2**30
    finally:
        tracemalloc.stop()


def test_they_are_saved_read_printed_and_asked(
    pair: tuple[st.Tree, st.Tree], tmp_path: Path
) -> None:
    tree = pair[0]
    assert st.load_tree(st.save_tree(tree, tmp_path / "tree.json")) == tree
    rows = np.random.default_rng(0).random((1000, LEVELS))
    leaf = ((rows > 0.5) @ (2 ** np.arange(LEVELS)[::-1])) + 2**LEVELS - 1
    np.testing.assert_array_equal(tree.apply(rows), leaf)
    assert str(tree.truncate(3)).count("\n") == 13


def test_the_limit_leaves_room_for_thousands_of_rules() -> None:
    check_matching(16_384, 16_384)
    with pytest.raises(InputError, match=f"in {MAX_MATCHING_BYTES // 2**30} GiB of memory"):
        check_matching(16_385, 16_384)
    with pytest.raises(InputError, match="1,000 rules against 400,000 bounds and categories"):
        check_matching(1_000, 400_000, "bounds and categories")


# -- mutated files of our own format: refused by us, or a tree that does all that trees do --


def is_refused(path: Path) -> bool:
    """Whether a file is refused; else everything must work with the tree in it."""
    try:
        tree = st.load_tree(path)
    except TreeFormatError as error:
        assert_short(error)
        return True
    use(tree)
    again = st.load_tree(st.save_tree(tree, path.with_name("again.json")))
    assert again == tree
    assert str(again) == str(tree)
    count = tree.n_features
    own = st.FeatureSpace(
        lower=np.full(count, -1.0),
        upper=np.full(count, 1.0),
        categories=tree.categories,
        names=tree.feature_names,
        classes=tree.classes,
        response_range=None if tree.is_classifier else (-1.0, 1.0),
    )
    assert st.tree_distance(tree, again, space=own, variant="metric") == 0
    try:  # the space in the file may be one of other features
        assert st.match_paths(tree, again).distance == 0
        assert st.diff_trees(tree, again).unchanged
    except SteadyTreeError as error:
        assert_short(error)
    return False


def attack(path: Path, first: int, count: int) -> int:
    """Read mutants ``first`` to ``first + count``; return how many were refused."""
    texts = [
        json.dumps(tree_to_dict(rich_tree(seed, regression=bool(seed % 2)))) for seed in range(8)
    ]
    refused = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # thresholds beyond the range, and the like
        for number in range(first, first + count):
            rng = Random(f"mutant {number}")
            text = spoil_json(rng.choice(texts), rng)
            path.write_bytes(text.encode("utf-8", "surrogatepass"))
            try:
                refused += is_refused(path)
            except BaseException:
                print(f"mutant {number}")
                raise
    return refused


def test_a_few_mutants(tmp_path: Path) -> None:
    assert 50 < attack(tmp_path / "tree.json", 0, 200) < 200


@pytest.mark.slow
def test_twenty_thousand_mutants(tmp_path: Path) -> None:
    assert 5_000 < attack(tmp_path / "tree.json", 200, 20_000) < 20_000


# -- work grows in step with columns and categories, not with their square --

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
    "position": lambda case, folder: listed_features(case[2].names, case[2].names or (), "locked"),
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


QUICK = {"save and load", "predict", "distance", "diff", "space"}


def tasks(*names: str) -> list[Any]:
    return [pytest.param(n, marks=[] if n in QUICK else pytest.mark.slow) for n in names]


@pytest.mark.parametrize("name", tasks(*TASKS, *OF_COLUMNS))
def test_columns(name: str, tmp_path: Path) -> None:
    assert_grows_in_step({**TASKS, **OF_COLUMNS}[name], many_columns, 1_000, tmp_path)


@pytest.mark.parametrize("name", tasks(*TASKS))
def test_categories(name: str, tmp_path: Path) -> None:
    assert_grows_in_step(TASKS[name], many_categories, 2_000, tmp_path)
