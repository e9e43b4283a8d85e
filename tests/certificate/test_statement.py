"""What a certificate says: in words that fit the case, and as data."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from steadytree.certificate.certify import (
    Certificate,
    CertificateOptions,
    count_trees,
)
from steadytree.exceptions import InputError
from steadytree.formats.rules.read_rules import tree_from_rules

SAID = Certificate(
    price=0.2,
    depth=2,
    cut_points=64,
    features=("age", "dose"),
    n_trees=count_trees(2, 64),
    min_samples_leaf=8,
    objective=0.415,
    best_objective=0.415,
    lower_bound=0.415,
    edit_cost=0.001,
)


def test_a_closed_gap_says_that_none_is_better():
    words = SAID.words()
    assert "2 conditions in a rule on 64 cut points of 2 features (270,401 trees)" in words
    assert "None has a lower objective than that tree (0.4150)" in words
    assert "It says nothing of larger changes" in words
    assert SAID.proved
    assert SAID.gap == 0


def test_an_open_gap_says_what_could_still_be_gained():
    said = replace(SAID, lower_bound=0.412)
    assert not said.proved
    assert "None has an objective below 0.4120" in said.words()
    assert "At most 0.0030 of what the teacher sees could still be gained." in said.words()


def test_a_gap_smaller_than_an_edit_is_called_so():
    said = replace(SAID, lower_bound=0.4145, best_objective=0.4145)
    assert said.proved
    assert "less than one edit must save (0.001)" in said.words()


def test_a_better_tree_is_named():
    said = replace(
        SAID, lower_bound=0.40, best_objective=0.40, tree=tree_from_rules("x <= 1: no\nelse: yes")
    )
    assert "an objective of 0.4000 against 0.4150." in said.words()
    said = replace(said, lower_bound=0.39)
    assert "None is below 0.3900" in said.words()


def test_large_families_are_counted_in_powers_of_ten():
    said = replace(SAID, depth=3, n_trees=count_trees(3, 96))
    assert "(about 10^14 trees)" in said.words()
    assert "at most one condition in" in replace(SAID, depth=1).words()


def test_trees_are_counted_level_by_level():
    assert count_trees(0, 5) == 1
    assert count_trees(1, 5) == 6
    assert count_trees(2, 5) == 1 + 5 * 36


def test_as_data_it_holds_everything():
    data = json.loads(json.dumps(SAID.to_dict()))
    assert data["gap"] == 0
    assert data["proved"] is True
    assert data["features"] == ["age", "dose"]
    assert data["words"] == SAID.words()


def test_options_that_make_no_sense_are_refused():
    with pytest.raises(InputError, match="depth of at most 3"):
        CertificateOptions(depth=4)
    with pytest.raises(InputError, match="cut_points"):
        CertificateOptions(cut_points=0)
    with pytest.raises(InputError, match="work"):
        CertificateOptions(work=-1)
