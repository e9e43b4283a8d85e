"""The learner and the settings that stable trees are chosen from."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any

from sklearn.base import is_classifier, is_regressor
from sklearn.model_selection import ParameterGrid
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from steadytree.core.tree import Tree
from steadytree.exceptions import InputError, SteadyTreeWarning
from steadytree.growing.cart import PAPER_GRID

__all__ = ["Grid", "base_and_grid", "largest_depth", "warn_of_large_leaves"]

Grid = Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]]


def base_and_grid(
    estimator: Any, param_grid: Grid | None, *, task: str
) -> tuple[Any, list[dict[str, Any]]]:
    """Return the learner and the settings to try: by default CART and the paper's grid."""
    classifies = task == "classification"
    base = estimator
    if base is None:
        base = DecisionTreeClassifier() if classifies else DecisionTreeRegressor()
    if isinstance(base, type) or not (hasattr(base, "fit") and hasattr(base, "get_params")):
        raise InputError(
            f"expected estimator to be a scikit-learn tree, got {base!r}; "
            "pass an instance such as DecisionTreeClassifier()"
        )
    if is_regressor(base) if classifies else is_classifier(base):
        raise InputError(f"expected a base estimator for {task}, got {type(base).__name__}")
    grid: Any = param_grid
    if grid is None:
        known = base.get_params(deep=False)
        grid = {name: values for name, values in PAPER_GRID.items() if name in known}
    settings = [dict(one) for one in ParameterGrid(grid)]
    if not settings:
        raise InputError(f"expected param_grid to hold at least one setting, got {grid!r}")
    return base, settings


def largest_depth(base: Any, grid: Sequence[Mapping[str, Any]], trees: Sequence[Tree]) -> int:
    """D: the largest depth the grid allows, or the deepest tree where it sets no limit."""
    default = base.get_params(deep=False).get("max_depth")
    limits = [one.get("max_depth", default) for one in grid]
    # Settings that gave the same tree share an object.
    deepest = max(tree.depth for tree in {id(tree): tree for tree in trees}.values())
    if any(limit is None for limit in limits):
        return deepest
    return max(deepest, *(int(limit) for limit in limits))


def warn_of_large_leaves(base: Any, grid: Sequence[Mapping[str, Any]], n_rows: int) -> None:
    """Warn of settings whose leaves are too large for the first batch to be split."""
    default = base.get_params(deep=False).get("min_samples_leaf")
    sizes = {one.get("min_samples_leaf", default) for one in grid}
    large = sorted(m for m in sizes if isinstance(m, Integral) and 2 * int(m) > n_rows)
    if large:
        warnings.warn(
            f"expected a first batch of at least {2 * int(large[-1])} rows, two of the grid's "
            f"largest leaves, got {n_rows}: min_samples_leaf {', '.join(map(str, large))} "
            "cannot split it; leave these out of param_grid or use more rows",
            SteadyTreeWarning,
            stacklevel=3,
        )
