"""When a leaf keeps its label, and when the evidence pays for another."""

from __future__ import annotations

import numpy as np

from steadytree.growing.teacher import TaughtRows
from tests.growing.mixed import mixed_table, space_of
from tests.retraining.edits.samples import search, stump


def test_labels_stay_until_the_evidence_pays():
    X, _ = mixed_table(400, 0)
    space = space_of(X, np.array([0, 1]), "binary")
    deployed = stump(55.0, space, shares=(0.4, 0.6))
    below = (X["age"] <= 55).to_numpy()
    soft = np.where(below, 0.55, 0.75)[:, None]  # the left leaf is now just above one half
    taught = TaughtRows(space.encode(X), soft, np.ones(400), 400, 2)
    dear, cheap = search(deployed, taught, space).path((0.5, 1e-6))
    left = dear.tree.children_left[0]
    assert dear.tree.value[left, 1] > 0.5  # the share is never altered
    assert dear.tree.label[left] == 0
    assert dear.tree.kept_against_share[left]
    assert cheap.tree.label[cheap.tree.children_left[0]] == 1
    assert cheap.edits[-1] == "relabel a leaf from 0 to 1"


def test_a_decision_threshold_is_inherited():
    X, _ = mixed_table(400, 0)
    space = space_of(X, np.array([0, 1]), "binary")
    deployed = stump(55.0, space, shares=(0.05, 0.3), decision_threshold=0.1)
    soft = np.where(X["age"] <= 55, 0.05, 0.3)[:, None]
    taught = TaughtRows(space.encode(X), soft, np.ones(400), 400, 2)
    (edited,) = search(deployed, taught, space).path((0.0,))
    assert edited.tree.decision_threshold == 0.1
    assert set(edited.tree.label[edited.tree.leaves]) == {0, 1}
