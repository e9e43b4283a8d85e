"""The learners that ``--learner`` names, for ``fit`` and ``assess``."""

from __future__ import annotations

from typing import Any

from steadytree.estimators.distilled import DistilledTreeClassifier, DistilledTreeRegressor
from steadytree.estimators.stable import StableTreeClassifier, StableTreeRegressor
from steadytree.exceptions import InputError

__all__ = ["make_learner"]


def make_learner(
    learner: str,
    task: str,
    *,
    seed: int,
    jobs: int | None,
    max_leaves: int | None = None,
    **stable_options: Any,
) -> Any:
    """Make the estimator that a name stands for; what is not said is the estimator's default."""
    classify = task == "classification"
    if learner == "cart":
        from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

        kind = DecisionTreeClassifier if classify else DecisionTreeRegressor
        return kind(min_samples_leaf=8, max_leaf_nodes=max_leaves or 16, random_state=seed)
    if learner == "stable":
        if max_leaves is not None:
            raise InputError(
                "expected no --max-leaves with --learner stable, whose sizes come from its "
                "grid; use --learner distilled or cart"
            )
        stable = StableTreeClassifier if classify else StableTreeRegressor
        return stable(n_jobs=jobs, random_state=seed, **stable_options)
    distilled = DistilledTreeClassifier if classify else DistilledTreeRegressor
    return distilled(max_leaf_nodes=max_leaves, n_jobs=jobs, random_state=seed)
