"""Single distances and whole matrices: normalised alike, and one number however computed."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as hs

import steadytree as st
from steadytree.distance import distances
from steadytree.distance._solver import kernels
from steadytree.distance._solver.pack import pack
from steadytree.distance.distances import normalised, weighted_means
from steadytree.distance.equations import (
    VARIANTS,
    DistanceOptions,
    Measure,
    check_options,
    paths_of,
)
from tests.golden import MID_1, MID_2, UNIT, build
from tests.strategies import examples, tree_collections


def test_a_bound_of_zero() -> None:
    """Single leaves whose labels do not count cannot differ."""
    options: dict[str, Any] = {
        "space": UNIT,
        "normalize": "bound",
        "max_depth": 0,
        "label_weight": 0.0,
    }
    assert st.tree_distance(build("no"), build("yes"), **options) == 0.0
    assert st.match_paths(build("no"), build("yes"), **options).distance == 0.0


# -- collections ------------------------------------------------------------------


def test_siblings_are_merged_only_where_that_is_asked() -> None:
    twins, leaf = build((0, 0.5, "no", "no")), build("no")
    for merged, expected in (({}, 0.75), ({"merge_equal_siblings": True}, 0.0)):
        options: dict[str, Any] = {"space": UNIT, **merged}
        assert st.tree_distance(twins, leaf, **options) == expected
        assert st.match_paths(twins, leaf, **options).distance == expected
        assert st.pairwise_tree_distances([twins], [leaf], **options).tolist() == [[expected]]


def test_trees_that_have_nothing_in_common_are_1_apart_however_small_they_are() -> None:
    """Without the labels a leaf has no mass and a stump half a unit, which is their distance."""
    options: dict[str, Any] = {"space": UNIT, "variant": "metric", "label_weight": 0.0}
    assert st.tree_distance(build("no"), MID_1, **options) == 0.5
    assert st.tree_distance(build("no"), MID_1, normalize="relative", **options) == 1.0


def test_means_are_those_of_the_matrix_in_each_unit(monkeypatch: pytest.MonkeyPatch) -> None:
    leaf, deep = build("no"), build((0, 0.5, "no", (1, 0.5, "no", "yes")))
    first, second = [leaf, MID_1, deep], [MID_2, deep]
    metric, relative = check_options("metric"), check_options("metric", normalize="relative")
    a, b = (paths_of(trees, UNIT, metric) for trees in (first, second))
    for band in (2**24, 1):
        monkeypatch.setattr(distances, "BAND_CELLS", band)
        # The second tree counts three times as much as the first.
        found = weighted_means(a, b, np.array([0.25, 0.75]), metric, [metric, relative])
        for mean, unit in zip(found, (None, "relative"), strict=True):
            options: dict[str, Any] = {"space": UNIT, "variant": "metric", "normalize": unit}
            matrix = st.pairwise_tree_distances(first, [MID_2, deep, deep, deep], **options)
            np.testing.assert_allclose(mean, matrix.mean(axis=1), rtol=1e-14)


# -- one number, however it is computed ------------------------------------------


def every_way(a: Any, b: Any, **options: Any) -> set[float]:
    """The same distance from every function, both ways round, alone and in company."""
    ways = {
        st.tree_distance(a, b, **options),
        st.tree_distance(b, a, **options),
        st.match_paths(a, b, **options).distance,
        st.match_paths(b, a, **options).distance,
        float(st.pairwise_tree_distances([a], [b], **options)[0, 0]),
        float(st.pairwise_tree_distances([a, b, a], **options)[1, 2]),
    }
    checked = measured(options)
    raw = paths_of([a, b], options["space"], checked)
    packed = [pack([p], Measure.of(checked)) for p in raw]
    compiled = kernels.pairwise(*packed)
    ways.add(float(normalised(compiled, [raw[0]], [raw[1]], checked)[0, 0]))
    return ways


def measured(options: dict[str, Any]) -> DistanceOptions:
    return check_options(**{name: value for name, value in options.items() if name != "space"})


choices = hs.fixed_dictionaries(
    {
        "variant": hs.sampled_from(list(VARIANTS)),
        "normalize": hs.sampled_from([None, "bound", "relative"]),
        "label_weight": hs.sampled_from([1.0, 0.0, 0.37, 24.0, "balanced", 3000.0]),
        "outcome": hs.sampled_from(["label", "distribution", "impurity"]),
        "merge_equal_siblings": hs.booleans(),
    }
)


@examples(150)
@given(tree_collections(2, max_leaves=12), choices)
def test_bit_for_bit_the_same_number(
    collection: tuple[st.FeatureSpace, list[st.Tree]], options: dict[str, Any]
) -> None:
    """Also numeric and categorical, missing, regression: whatever the strategies draw."""
    space, (a, b) = collection
    depth = max(a.depth, b.depth, 1)
    options = {**options, "space": space, "max_depth": depth}
    if space.classes is None:
        options["outcome"] = "label"
    if options["normalize"] == "relative":
        options["variant"] = "metric"
    assert len(every_way(a, b, **options)) == 1
    matching = st.match_paths(a, b, **options)
    relative = {**options, "variant": "metric", "normalize": "relative"}
    assert matching.relative == st.tree_distance(a, b, **relative)


SAME_NUMBERS = """
import sys
import numpy as np
import steadytree as st
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier
from steadytree.distance import _solver
X, y = load_breast_cancer(return_X_y=True)
space = st.FeatureSpace.from_data(X)
trees = [DecisionTreeClassifier(max_leaf_nodes=k + 2, random_state=k).fit(X[k::3], y[k::3])
         for k in range(8)]
used = []
scipy = _solver.pairwise_by_scipy
_solver.pairwise_by_scipy = lambda *given: used.append("scipy") or scipy(*given)
for normalize in (None, "relative"):
    options = dict(space=space, variant="metric", normalize=normalize)
    matrix = st.pairwise_tree_distances(trees, **options)
    print([[x.hex() for x in row] for row in matrix.tolist()])
    print([st.tree_distance(trees[0], t, **options).hex() for t in trees])
    print([st.match_paths(trees[0], t, **options).distance.hex() for t in trees])
print(len(used))
many = st.pairwise_tree_distances(trees * 3, space=space, variant="metric")
assert (many[:8, :8] == st.pairwise_tree_distances(trees, space=space, variant="metric")).all()
"""


def test_the_same_number_whatever_was_imported_before() -> None:
    """The solver is chosen by the sizes: neither other imports nor their absence count."""
    printed = {
        subprocess.run(
            [sys.executable, "-c", first + SAME_NUMBERS],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "STEADYTREE_NO_NUMBA": without},
        ).stdout
        for first, without in (
            ("", ""),
            ("import steadytree.distance._solver.kernels", ""),
            ("", "1"),
        )
    }
    assert len(printed) == 1


def test_nothing_to_tell_apart() -> None:
    """No range of a feature or of the response, and labels that do not count."""
    flat = st.FeatureSpace(lower=[0, 3], upper=[1, 3], classes=("no", "yes"))
    a, b = build((1, 3.0, "no", "yes")), build((0, 0.5, "no", "yes"))
    assert every_way(a, b, space=flat, variant="metric") == {0.5}
    assert every_way(a, a, space=flat) == {0.0}
    constant = st.FeatureSpace(lower=[0, 0], upper=[1, 1], response_range=(2.0, 2.0))
    grown = [build((0, 0.5, low, 2.0), classes=None) for low in (1.0, 9.0)]
    assert every_way(*grown, space=constant, label_weight=5.0) == {0.0}
    assert every_way(build("no"), build("yes"), space=UNIT, label_weight=0.0) == {0.0}


def test_paths_and_matchings_can_be_pickled() -> None:
    matching = st.match_paths(MID_1, MID_2, space=UNIT, variant="metric")
    again = pickle.loads(pickle.dumps(matching))
    assert str(again) == str(matching)
    assert again.distance == matching.distance
