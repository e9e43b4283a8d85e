"""The choices that define a distance, checked once for every function that takes them.

The public functions spell the list out in their signatures, for help() and editors; what the
choices mean and which go together is said here only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from steadytree.core.alignment import align_classes, common_space
from steadytree.core.paths import Paths
from steadytree.core.space import FeatureSpace
from steadytree.distance.bound import check_label_weight, check_max_depth, distance_bound
from steadytree.distance.variants import VARIANTS
from steadytree.exceptions import InputError
from steadytree.readers import read_models

__all__ = ["DistanceOptions", "check_options", "paths_of"]

OUTCOMES = ("label", "distribution", "impurity")
NORMALISATIONS = (None, "bound", "relative")


@dataclass(frozen=True)
class DistanceOptions:
    """Checked options; ``label_weight`` is a number, "balanced" has been resolved."""

    variant: str
    label_weight: float
    outcome: str
    normalize: str | None
    max_depth: int | None
    merge_equal_siblings: bool


def check_options(
    variant: str = "paper",
    label_weight: float | str = 1.0,
    outcome: str = "label",
    normalize: str | None = None,
    max_depth: int | None = None,
    merge_equal_siblings: bool = False,
) -> DistanceOptions:
    """Check the options of a distance and resolve ``label_weight="balanced"``."""
    for name, value, allowed in (
        ("variant", variant, VARIANTS),
        ("outcome", outcome, OUTCOMES),
        ("normalize", normalize, NORMALISATIONS),
    ):
        if value not in allowed:
            raise InputError(f"expected {name} to be one of {list(allowed)}, got {value!r}")
    if max_depth is not None:
        max_depth = check_max_depth(max_depth)
    if isinstance(label_weight, str):
        if label_weight != "balanced":
            raise InputError(
                f'expected label_weight to be a number >= 0 or "balanced", got {label_weight!r}'
            )
        if max_depth is None:
            raise InputError(
                'expected max_depth with label_weight="balanced" (it is 2 * max_depth), got none; '
                "pass the largest depth your trees may have"
            )
        label_weight = 2 * max_depth
    weight = check_label_weight(label_weight)
    if normalize == "bound" and max_depth is None:
        raise InputError(
            'expected max_depth with normalize="bound", got none; pass the largest depth your '
            "trees may have (never the depth of the pair: that inverts rankings)"
        )
    if normalize == "bound" and max_depth is not None:
        distance_bound(max_depth, weight)  # refuses a depth without a bound
    if normalize == "relative" and not VARIANTS[variant].is_metric:
        metrics = [f'variant="{name}"' for name, entry in VARIANTS.items() if entry.is_metric]
        raise InputError(
            f'expected {" or ".join(metrics)} with normalize="relative", got variant={variant!r}; '
            "only the metric form has a mass to relate the distance to"
        )
    return DistanceOptions(variant, weight, outcome, normalize, max_depth, merge_equal_siblings)


def paths_of(
    models: Sequence[Any], space: FeatureSpace | None, options: DistanceOptions
) -> list[Paths]:
    """Read the models and write them as paths in one space with one list of classes."""
    given = read_models(models)
    # A tree that stands in a collection twice is looked at once.
    of_tree = {id(tree): tree for tree in given}
    trees = list(of_tree.values())
    common = common_space(trees, space)
    classes = align_classes(trees, common)
    if classes is None and options.outcome != "label":
        raise InputError(
            f'expected outcome="label" for regression trees, got {options.outcome!r}; '
            "their outcome term is the difference of the leaf values over the response range"
        )
    if options.normalize == "bound":
        assert options.max_depth is not None
        deepest = max(tree.depth for tree in trees)
        if deepest > options.max_depth:
            raise InputError(
                f"expected trees of depth at most max_depth={options.max_depth}, "
                f"got one of depth {deepest}; raise max_depth"
            )
    paths = Paths.from_trees(
        trees, common, classes=classes, merge_equal_siblings=options.merge_equal_siblings
    )
    paths_of_tree = dict(zip(of_tree, paths, strict=True))
    return [paths_of_tree[id(tree)] for tree in given]
