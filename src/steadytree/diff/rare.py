"""A diff in which categories that few of the rows have are not named."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from steadytree.core.rare import Names, space_without_names, tree_without_names

if TYPE_CHECKING:
    from steadytree.core.words import Condition
    from steadytree.diff.changes import ConditionChange, Rule
    from steadytree.diff.tree_diff import TreeDiff

__all__ = ["diff_without_names"]


def diff_without_names(diff: TreeDiff, names: Names) -> TreeDiff:
    """Return the diff with its rare categories called otherwise, everywhere."""

    def several(name: str | None, categories: tuple[Any, ...]) -> tuple[Any, ...]:
        other = names.get(name or "", {})
        return tuple(other.get(category, category) for category in categories)

    def condition(given: Condition | None) -> Any:
        if given is None or given.allowed is None:
            return given
        return replace(given, allowed=several(given.name, given.allowed))

    def rule(given: Rule | None) -> Rule | None:
        if given is None:
            return None
        return replace(given, conditions=tuple(map(condition, given.conditions)))

    def change(given: ConditionChange) -> ConditionChange:
        return replace(
            given,
            old=condition(given.old),
            new=condition(given.new),
            gained=several(given.name, given.gained),
            lost=several(given.name, given.lost),
        )

    return replace(
        diff,
        rules=tuple(
            replace(
                one, old=rule(one.old), new=rule(one.new), changes=tuple(map(change, one.changes))
            )
            for one in diff.rules
        ),
        splits=tuple(
            replace(
                split,
                categories=several(split.name, split.categories),
                new_categories=several(split.new_name, split.new_categories),
            )
            for split in diff.splits
        ),
        old=tree_without_names(diff.old, names),
        new=tree_without_names(diff.new, names),
        space=space_without_names(diff.space, names),
        category_counts={},
    )
