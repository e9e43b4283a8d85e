"""Many rules that changed alike are read as one change of a split."""

from __future__ import annotations

from dataclasses import replace

from steadytree.diff.pairing import group_changes
from steadytree.tree.paths import Paths
from tests.diff.trees import NEW, OLD, Leaf, Split, compare


def test_a_swapped_split_reads_as_replaced() -> None:
    def tree(feature: int, at: float) -> Split:
        inner = Split(feature, at, Leaf(0, 0.1), Leaf(1, 0.9))
        return Split(2, 0.5, inner, Split(4, frozenset({0}), Leaf(0, 0.2), Leaf(1, 0.8)))

    diff = compare(tree(0, 0.5), tree(1, 0.25))
    (split,) = diff.splits
    assert split.kind == "replaced"
    assert split.text == "the split on age at 50 replaced by weight at 50: 2 rules"


def test_a_split_that_is_still_there_is_not_called_removed() -> None:
    """The split on age stays, but for other rules."""
    age = Split(0, 0.5, Leaf(0, 0.1), Leaf(1, 0.9))
    old = Split(2, 0.5, age, Split(1, 0.5, Leaf(0, 0.3), Leaf(1, 0.8)))
    new = Split(2, 0.5, Leaf(0, 0.1), Split(1, 0.5, Leaf(0, 0.3), age))
    diff = compare(old, new)
    assert {split.kind for split in diff.splits} == {"removed", "added"}
    assert all(split.only_conditions for split in diff.splits)
    assert "a condition on age at 50 removed: 1 rule" in [s.text for s in diff.splits]
    assert not any(split.first for split in diff.splits)


def test_changes_nearest_the_root_come_first() -> None:
    """The first split moved, and one below it: two changes, not six."""
    deep = replace(NEW, left=replace(NEW.left, at=0.35))
    diff = compare(OLD, deep)
    assert [(split.name, split.first, split.rules) for split in diff.splits] == [
        ("age", True, (1, 2, 3, 4)),
        ("weight", False, (1, 2)),
    ]
    paths = (Paths.from_tree(tree, diff.space) for tree in (diff.old, diff.new))
    assert group_changes(diff.rules, *paths) == diff.splits
    assert group_changes((), *(Paths.from_tree(diff.old, diff.space) for _ in range(2))) == ()


def test_of_changes_at_the_same_depth_the_one_of_more_rules_comes_first() -> None:
    small = Split(1, 0.25, Leaf(0, 0.1), Leaf(1, 0.9))
    large = Split(2, 0.5, Leaf(0, 0.1), Split(4, frozenset({0}), Leaf(1, 0.9), Leaf(0, 0.2)))
    old = Split(0, 0.5, small, large)
    new = Split(0, 0.5, replace(small, at=0.3), replace(large, at=0.6))
    assert [(split.name, split.rules) for split in compare(old, new).splits] == [
        ("dose", (3, 4, 5)),
        ("weight", (1, 2)),
    ]


def test_a_bound_that_moves_to_where_a_split_was_already_is_a_matter_of_conditions() -> None:
    """Weight is split at 100 once before and once after; only the rules below it are others."""
    low, high = (Split(1, at, Leaf(0, 0.1), Leaf(1, 0.9)) for at in (0.25, 0.5))
    site = Split(4, frozenset({0}), Leaf(0, 0.2), Leaf(1, 0.8))
    diff = compare(Split(2, 0.5, low, high), Split(2, 0.5, high, site))
    (moved,) = (split for split in diff.splits if split.kind == "moved")
    assert (moved.name, moved.old_bound, moved.new_bound) == ("weight", 50.0, 100.0)
    assert moved.only_conditions
    (real,) = compare(Split(2, 0.5, low, site), Split(2, 0.5, high, site)).splits
    assert (real.kind, real.only_conditions, real.first) == ("moved", False, False)


def test_categories_that_change_sides_at_the_root_are_the_first_split() -> None:
    old = Split(4, frozenset({0, 1}), OLD.left, Leaf(1, 0.9))
    (split,) = compare(old, replace(old, at=frozenset({0}))).splits
    assert (split.kind, split.first, split.only_conditions) == ("categories_changed", True, False)
    assert (split.name, split.categories, split.rules) == ("site", ("leg",), (1, 2, 3))
    deeper = Split(2, 0.5, old, Leaf(0, 0.2))
    (below,) = compare(deeper, replace(deeper, left=replace(old, at=frozenset({0})))).splits
    assert (below.kind, below.first) == ("categories_changed", False)


def test_changes_of_two_features_stay_two() -> None:
    """Categories, or missing values, of one feature have nothing to do with another's."""
    site = Split(4, frozenset({0, 1}), Leaf(0, 0.1), Leaf(1, 0.9))
    colour = Split(3, frozenset({0, 1}), site, Leaf(1, 0.8))
    other = replace(colour, at=frozenset({0}), left=replace(site, at=frozenset({0})))
    found = {split.name: split for split in compare(colour, other).splits}
    assert {name: split.categories for name, split in found.items()} == {
        "colour": ("green",),
        "site": ("leg",),
    }
    age = Split(0, 0.5, Leaf(0, 0.1), Leaf(1, 0.9))
    nested = Split(3, frozenset({0, 1}), age, Leaf(1, 0.8))
    turned = replace(nested, missing_left=False, left=replace(age, missing_left=False))
    found = {split.name: split for split in compare(nested, turned).splits}
    assert {name: (s.kind, s.rules) for name, s in found.items()} == {
        "colour": ("missing_changed", (1, 2, 3)),
        "age": ("missing_changed", (1, 2)),
    }
    assert found["colour"].first
    assert not found["age"].first
