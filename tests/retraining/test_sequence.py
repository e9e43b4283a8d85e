"""The sequence with the least total change: by enumeration, and on real batches."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

from steadytree.distance import tree_distance
from steadytree.exceptions import InputError
from steadytree.retraining.sequence import TreeSequence, least_change_path, retrain_sequence

numbers = st.integers(0, 6).map(float)


@given(st.data())
def test_the_path_is_the_cheapest_of_all(data: st.DataObject) -> None:
    sizes = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))

    def array(*shape: int) -> Any:
        size = int(np.prod(shape))
        return np.array(data.draw(st.lists(numbers, min_size=size, max_size=size))).reshape(shape)

    changes = [array(sizes[0]), *(array(a, b) for a, b in itertools.pairwise(sizes))]
    scores = [array(n) for n in sizes]
    allowed = [array(n) > 2 for n in sizes]
    for flags in allowed:
        flags[0] = True

    def merit(path: tuple[int, ...]) -> tuple[float, float]:
        change = changes[0][path[0]] + sum(
            changes[t][path[t - 1], path[t]] for t in range(1, len(path))
        )
        return float(change), -float(sum(s[i] for s, i in zip(scores, path, strict=True)))

    ways = itertools.product(*(np.flatnonzero(flags).tolist() for flags in allowed))
    path = least_change_path(changes, scores, allowed)
    assert all(flags[i] for flags, i in zip(allowed, path, strict=True))
    assert merit(tuple(path)) == min(merit(way) for way in ways)


FAST = {"n_estimators": 20, "n_folds": 2, "random_state": 0}


@pytest.fixture(scope="module")
def batches() -> list[tuple[Any, Any]]:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X = X.iloc[:, :8]
    return [(X[i : i + 140], y[i : i + 140]) for i in range(0, 560, 140)]


@pytest.fixture(scope="module")
def sequence(batches: list[tuple[Any, Any]]) -> TreeSequence:
    X, y = batches[0]
    deployed = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    return retrain_sequence(batches[1:], deployed=deployed, **FAST)


def test_a_tree_for_every_batch(sequence: TreeSequence) -> None:
    assert [step.batch for step in sequence.steps] == [0, 1, 2]
    assert len(sequence.models) == 3
    assert len(sequence.retrainings) == 3
    frame = sequence.to_frame()
    assert frame["dissimilarity"].sum() == pytest.approx(sequence.total_change)
    # Within tolerance of the best score of each batch.
    assert (frame["score"] >= 0.98 * frame["best_score"] - 1e-9).all()


def test_the_total_change_is_the_distance_along_the_way(sequence: TreeSequence) -> None:
    trees = [sequence.retrainings[0].deployed, *sequence.trees]
    space = sequence.retrainings[-1].space
    total = sum(
        tree_distance(a, b, space=space, variant="metric", normalize="relative")
        for a, b in itertools.pairwise(trees)
    )
    assert total == pytest.approx(sequence.total_change)


def test_no_allowed_sequence_changes_less(sequence: TreeSequence) -> None:
    """The greedy sequence and the best-scoring one are among those it was chosen from."""
    table = sequence.alternatives
    ours = table.loc["least total change", "total_change"]
    assert ours == pytest.approx(sequence.total_change)
    assert ours <= table.loc["best score of each batch", "total_change"] + 1e-12
    candidates = sequence.candidates
    assert (candidates.groupby("batch")["chosen"].sum() == 1).all()
    assert candidates.loc[candidates["chosen"], "allowed"].all()
    best = candidates.groupby("batch")["score"].transform("max")
    within = candidates["score"] >= best - 0.02 * best.abs()
    assert (candidates["allowed"] == within).all()


def test_everything_allowed_means_no_change(batches: list[tuple[Any, Any]]) -> None:
    X, y = batches[0]
    deployed = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    kept = retrain_sequence(batches[1:3], deployed=deployed, tolerance=1.0, **FAST)
    assert kept.total_change == 0
    assert all(step.tree.n_leaves == deployed.get_n_leaves() for step in kept.steps)


def test_without_a_deployed_tree_the_first_batch_gets_its_own(
    batches: list[tuple[Any, Any]],
) -> None:
    made = retrain_sequence(batches[:2], **FAST)
    assert [step.batch for step in made.steps] == [0, 1]
    assert np.isnan(made.steps[0].dissimilarity)
    assert made.steps[0].tree == made.retrainings[0].deployed


@pytest.mark.parametrize(
    ("batches", "options", "message"),
    [
        ([], {}, "expected at least one batch, got none"),
        ([np.zeros((3, 2))], {}, "expected each batch to be a pair .* got ndarray as batch 0"),
        ([(1, 2)], {"tolerance": -1}, "expected tolerance >= 0, got -1"),
    ],
)
def test_bad_input(batches: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        retrain_sequence(batches, **options)
