"""What tunes the search for a retrained tree; the defaults serve nearly everyone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from math import inf
from numbers import Integral, Real
from typing import Any

from steadytree.exceptions import InputError
from steadytree.growing.teacher import COPIES, half_the_trees


def check_number(
    value: Any, name: str, *, least: float = 0.0, most: float = inf, fix: str = ""
) -> None:
    """Refuse what is not a number between two bounds; ``fix`` says what to do."""
    number = isinstance(value, Real) and not isinstance(value, bool)
    if number and least <= float(value) <= most:
        return
    expected = f"a number >= {least:g}" if most == inf else f"a number from {least:g} to {most:g}"
    raise InputError(f"expected {expected} as {name}, got {value!r}; {fix}")


def check_whole(value: Any, name: str, *, least: int, fix: str) -> None:
    """Refuse what is not a whole number from ``least`` on; ``fix`` says what to do."""
    if type(value) is bool or not isinstance(value, Integral) or int(value) < least:
        raise InputError(f"expected a whole number >= {least} as {name}, got {value!r}; {fix}")


@dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """How :func:`retrain` searches for trees.

    Attributes
    ----------
    n_estimators : int, default 100
        Trees of the teacher's forest, and its rounds of boosting (at most 100).
    max_leaf_nodes : int, optional
        Size to aim for; by default by the number of minority cases (6 to 24). A tree that
        is already larger may stay so. The tree from scratch has by default as many leaves as a
        first tree (6 to 16) or as the deployed one, the larger.
    max_depth, min_samples_leaf : int, default 8
        Limits on new rules. A tree from scratch has at most 5 conditions in a rule, or as many
        as the deployed one.
    copies : int, default 3
        Augmented rows per real row that the teacher is asked about.
    edit_cost : float, optional
        What an edit must save beyond its price, as a share of what the teacher sees; by
        default 0.001 for classes and 0.005 for a response.
    spread_floor : float, default 0.1
        The teacher counts as seeing at least this share of the outcome, so that one who sees
        nothing earns no edit.
    label_weight : float, default 1.0
        λ of eq. (dist-paths) in the search's distance.

    Examples
    --------
    >>> import steadytree as st
    >>> options = st.SearchOptions(n_estimators=50, max_leaf_nodes=6)  # for retrain(search=...)
    >>> options.max_depth
    8
    """

    n_estimators: int = 100
    max_leaf_nodes: int | None = None
    max_depth: int = 8
    min_samples_leaf: int = 8
    copies: int = COPIES
    edit_cost: float | None = None
    spread_floor: float = 0.1
    label_weight: float = 1.0

    def __post_init__(self) -> None:
        for name, least in (
            ("n_estimators", 1),
            ("max_leaf_nodes", 1),
            ("max_depth", 0),
            ("min_samples_leaf", 1),
            ("copies", 0),
        ):
            value: Any = getattr(self, name)
            if value is None and name == "max_leaf_nodes":
                continue
            check_whole(value, name, least=least, fix=self._default_words(name))
        for name in ("edit_cost", "spread_floor", "label_weight"):
            if getattr(self, name) is not None or name != "edit_cost":
                check_number(getattr(self, name), name, fix=self._default_words(name))

    @classmethod
    def _default_words(cls, name: str) -> str:
        return f"the default is {getattr(cls, name)!r}"

    @classmethod
    def of_settings(cls, settings: Mapping[str, Any]) -> SearchOptions:
        """Return the options of a result from its settings, as :meth:`record` wrote them.

        Parameters
        ----------
        settings : mapping

        Returns
        -------
        SearchOptions
        """
        return cls(**{f.name: settings[f.name] for f in fields(cls) if f.name in settings})

    def in_folds(self) -> SearchOptions:
        """Options of the runs that only score: half the teacher's trees, at least 50.

        Returns
        -------
        SearchOptions
        """
        return replace(self, n_estimators=half_the_trees(self.n_estimators))

    def record(self) -> dict[str, Any]:
        """Entries for the settings of a result: the common ones, and what is not the default.

        Returns
        -------
        dict
        """
        common = ("max_leaf_nodes", "max_depth", "min_samples_leaf")
        return {
            "n_estimators": self.n_estimators,
            "n_estimators_in_folds": self.in_folds().n_estimators,
            **{
                f.name: getattr(self, f.name)
                for f in fields(self)[1:]
                if f.name in common or getattr(self, f.name) != f.default
            },
        }
