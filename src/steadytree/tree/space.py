"""The feature space a comparison is made in: ranges, categories, what can be missing.

A tree carries thresholds, not ranges. "Moved by 3 units" means nothing until one knows
that the feature runs from 0 to 5 or from 0 to 5,000, so every distance is taken in a
space fixed once from reference data (the paper, Section 2.1: the vectors u, l and c).
"""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steadytree._io import MAX_FEATURES, check_size
from steadytree._text import quoted, some_of
from steadytree.exceptions import InputError
from steadytree.tree.columns import (
    Categories,
    Column,
    as_table,
    check_columns,
    check_learnable,
    column_names,
    encode_table,
    find_columns,
    is_categorical_column,
    n_rows,
    observe_column,
    outcome_values,
    plain_scalar,
)

MOST_COMPARED = 10_000
"""Names among which one is looked for that is spelt nearly alike."""


@dataclass(frozen=True, eq=False, kw_only=True)
class FeatureSpace:
    """Ranges, categories and missingness of every feature, fixed from reference data.

    Usually made by :meth:`from_data`; the fields are for those who know the ranges.

    Parameters
    ----------
    lower, upper : arrays of shape (n_features,)
        Range of each numeric feature (ignored for categorical ones). Equal bounds make
        a constant feature, which contributes nothing to any distance.
    categories : tuple, default all numeric
        For each feature None (numeric) or the tuple of its categories.
    can_be_missing : array of bool, default none
        Which features may have missing values.
    ordered : array of bool, default none
        Categorical features whose categories are listed in order (low, medium, high): new
        rules divide them along the order. Distances are those of sets either way.
    names : tuple of str or None
        Feature names; None means that trees are aligned by position.
    classes : tuple or None
        Class labels of a classification problem, in the order of ``classes_``.
    response_range : (float, float) or None
        Lowest and highest response of a regression problem.
    one_hot : mapping, default none
        Groups of one-hot columns that trees may be trained on:
        ``{"colour": {"colour_red": "red", "colour_blue": "blue"}}``. A tree over such
        columns is rewritten as one over the categorical feature before it is compared.

    Examples
    --------
    >>> import numpy as np
    >>> from steadytree import FeatureSpace
    >>> FeatureSpace.from_data(np.array([[0.0, 5.0], [1.0, 9.0]]))
    FeatureSpace(2 features: 2 numeric)
    """

    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    categories: Categories = ()
    can_be_missing: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=bool))
    names: tuple[str, ...] | None = None
    classes: tuple[Any, ...] | None = None
    response_range: tuple[float, float] | None = None
    one_hot: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    ordered: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=bool))

    def __post_init__(self) -> None:
        lower = np.array(self.lower, dtype=np.float64).ravel()
        upper = np.array(self.upper, dtype=np.float64).ravel()
        count = lower.size
        if upper.size != count:
            raise InputError(
                f"expected as many upper bounds as lower bounds, got {upper.size} and {count}; "
                "give one of each per feature"
            )
        check_size(count, MAX_FEATURES, "features")
        cats, names = check_columns(count, self.categories, self.names, InputError)
        flags = (np.array(f, dtype=bool).ravel() for f in (self.can_be_missing, self.ordered))
        missing, ordered = (f if f.size else np.zeros(count, dtype=bool) for f in flags)
        for what, size in (
            ("can_be_missing flags", missing.size),
            ("ordered flags", ordered.size),
        ):
            if size != count:
                raise InputError(f"expected {count} {what}, one per feature, got {size}")
        label = names or tuple(f"x{j}" for j in range(count))
        for j in range(count):
            if cats[j] is not None:
                lower[j] = upper[j] = np.nan
                continue
            if ordered[j]:
                raise InputError(
                    f"expected ordered features to be categorical, got {label[j]!r}, which is "
                    "numeric and so in order already; leave its flag out"
                )
            if not (np.isfinite(lower[j]) and np.isfinite(upper[j])):
                raise InputError(
                    f"expected finite bounds for {label[j]!r}, got [{lower[j]}, {upper[j]}]; "
                    "take them from data without infinities: FeatureSpace.from_data(X)"
                )
            if lower[j] > upper[j]:
                raise InputError(
                    f"expected lower <= upper for {label[j]!r}, got [{lower[j]}, {upper[j]}]; "
                    "swap the bounds"
                )
        if self.response_range is not None:
            low, high = (float(v) for v in self.response_range)
            if not (np.isfinite(low) and np.isfinite(high) and low <= high):
                raise InputError(
                    f"expected a finite response range with low <= high, got ({low}, {high})"
                )
            object.__setattr__(self, "response_range", (low, high))
        classes = self.classes
        if classes is not None:
            classes = tuple(plain_scalar(c) for c in classes)
            if len(set(classes)) != len(classes):
                raise InputError(f"expected distinct classes, got {quoted(list(classes))}")
        for array in (lower, upper, missing, ordered):
            array.setflags(write=False)
        groups = {
            str(g): {str(k): plain_scalar(v) for k, v in cols.items()}
            for g, cols in self.one_hot.items()
        }
        listed = [[column for cols in groups.values() for column in cols]]
        listed += [list(cols.values()) for cols in groups.values()]
        if any(len(set(one)) < len(one) for one in listed):
            raise InputError(
                "expected one-hot groups of distinct columns and categories, "
                f"got {quoted(groups)}; write {{feature: {{column: category}}}}"
            )
        # Past the frozen dataclass, which would have each field set by a call of its own.
        self.__dict__.update(
            lower=lower,
            upper=upper,
            categories=cats,
            can_be_missing=missing,
            ordered=ordered,
            names=names,
            classes=classes,
            one_hot=groups,
        )

    # -- making one ---------------------------------------------------------------

    @classmethod
    def from_data(
        cls,
        X: Any,
        y: ArrayLike | None = None,
        *,
        categorical_features: str | Sequence[int | str] | None = "from_dtype",
        task: str | None = None,
        one_hot: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> FeatureSpace:
        """Fix the space from reference data.

        Parameters
        ----------
        X : array, pandas or polars frame of shape (n, n_features)
        y : array, optional
            Responses: their classes (classification) or range (regression) are kept.
        categorical_features : "from_dtype", None or list of names, positions or flags
            Which features are categorical; by default those whose column type says so
            (category, string, boolean). An ordered ``category`` of pandas and an ``Enum`` of
            polars keep their order.
        task : {"classification", "regression"}, optional
            What ``y`` is; guessed from ``y`` when omitted.
        one_hot : mapping, optional
            Groups of one-hot columns, see the class.

        Returns
        -------
        FeatureSpace
        """
        X = as_table(X)
        if len(X.shape) != 2 or X.shape[1] == 0 or n_rows(X) == 0:
            raise InputError(
                f"expected a table with rows and columns, got shape {tuple(X.shape)}; "
                "pass the reference data, one row per case"
            )
        names = column_names(X)
        flags = categorical_mask(X, categorical_features, names)
        columns = []
        for j, categorical in enumerate(flags):
            label = names[j] if names else f"x{j}"
            found = observe_column(X, j, label, categorical=bool(categorical))
            check_learnable(X, j, label, found)
            columns.append(found)
        classes: tuple[Any, ...] | None = None
        response: tuple[float, float] | None = None
        if y is not None:
            target = outcome_values(y)
            if task is None:
                task = "regression" if has_fractions(target) else "classification"
            if task == "regression":
                response = (float(np.min(target)), float(np.max(target)))
            else:
                classes = tuple(np.unique(target).tolist())
        return cls(
            **_observed(columns),
            names=names,
            classes=classes,
            response_range=response,
            one_hot=one_hot or {},
        )

    @classmethod
    def of_known_features(
        cls,
        X: Any,
        names: tuple[str, ...] | None,
        categories: Categories,
        *,
        needed: Collection[int] | None = None,
        tails: float = 0.0,
    ) -> FeatureSpace:
        """Read the ranges and categories of features whose names and kinds a tree has fixed.

        Nothing is refused as an identifier, as a later batch of a few rows may look like one. A
        feature that is not ``needed`` and whose column ``X`` lacks becomes a constant.

        Parameters
        ----------
        X : array, pandas or polars frame
        names : tuple of str or None
        categories : tuple
            For each feature None (numeric) or its categories.
        needed : collection of int, optional
            Features whose columns must be there; by default all.
        tails : float, default 0
            Share of the numbers of a column that lie beyond either end of its range; of
            missing values that do not count.

        Returns
        -------
        FeatureSpace
        """
        labels = names or tuple(f"x{j}" for j in range(len(categories)))
        columns = find_columns(X, names, len(categories), needed)
        found = [
            Column(0.0, 0.0, known, False, 0, 1, 1)
            if column is None
            else observe_column(X, column, label, categorical=known is not None, tails=tails)
            for label, known, column in zip(labels, categories, columns, strict=True)
        ]
        return cls(**_observed(found, tails), names=names)

    # -- reading it ---------------------------------------------------------------

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.lower.size)

    @cached_property
    def feature_labels(self) -> tuple[str, ...]:
        """Feature names, or x0, x1, ... where there are none."""
        return self.names or tuple(f"x{j}" for j in range(self.n_features))

    @cached_property
    def position(self) -> Mapping[str, int]:
        """Where each feature stands, by its label."""
        return {label: j for j, label in enumerate(self.feature_labels)}

    def n_categories(self, feature: int) -> int:
        """c_j of a categorical feature; a missing value counts as one more category.

        Parameters
        ----------
        feature : int

        Returns
        -------
        int
        """
        cats = self.categories[feature]
        return (len(cats) if cats is not None else 0) + bool(self.can_be_missing[feature])

    @cached_property
    def by_order(self) -> NDArray[np.bool_]:
        """Categorical features that rules divide along their order.

        Two categories can be divided in one way only, ordered or not.
        """
        several = np.array([len(c or ()) > 2 for c in self.categories], dtype=bool)
        return np.asarray(self.ordered & several)

    def encode(self, X: Any, needed: Collection[int] | None = None) -> NDArray[np.float64]:
        """Code a table: numbers as they are, categories as positions, missing as NaN.

        A frame may lack columns of features that are not ``needed`` (by default all are); they
        count as missing.

        Parameters
        ----------
        X : array, pandas or polars frame
        needed : collection of int, optional
            Features whose columns must be there; by default all.

        Returns
        -------
        float array of shape (n, n_features)
        """
        return encode_table(
            X,
            names=self.names,
            n_features=self.n_features,
            categories=self.categories,
            needed=needed,
        )

    def replace(self, **changes: Any) -> FeatureSpace:
        """Make a copy with some fields changed.

        Parameters
        ----------
        **changes
            Fields of the space by name.

        Returns
        -------
        FeatureSpace
        """
        if not self.ordered.any():
            changes.setdefault("ordered", ())  # for however many features there are then
        return replace(self, **changes)

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python values, as stored in a tree file.

        Returns
        -------
        dict
        """
        bounds = [
            None if c is not None else [float(lo), float(hi)]
            for c, lo, hi in zip(self.categories, self.lower, self.upper, strict=True)
        ]
        content = {
            "names": None if self.names is None else list(self.names),
            "bounds": bounds,
            "categories": [None if c is None else list(c) for c in self.categories],
            "can_be_missing": self.can_be_missing.tolist(),
            "classes": None if self.classes is None else list(self.classes),
            "response_range": None if self.response_range is None else list(self.response_range),
            "one_hot": {group: dict(columns) for group, columns in self.one_hot.items()},
        }
        if self.ordered.any():
            content["ordered"] = self.ordered.tolist()
        return content

    def digest(self) -> str:
        """Short fingerprint: equal spaces have equal digests.

        Returns
        -------
        str
            Sixteen hexadecimal digits.
        """
        text = json.dumps(self.to_dict(), sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FeatureSpace):
            return NotImplemented
        return self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(self.digest())

    def __repr__(self) -> str:
        categorical = sum(c is not None for c in self.categories)
        parts = [
            f"{count} {what}"
            for count, what in (
                (self.n_features - categorical, "numeric"),
                (categorical, "categorical"),
                (int(self.ordered.sum()), "ordered"),
                (int(self.can_be_missing.sum()), "can be missing"),
            )
            if count
        ]
        return f"FeatureSpace({self.n_features} features: {', '.join(parts)})"


def categorical_mask(
    X: Any,
    categorical_features: str | Sequence[int | str | bool] | None,
    names: tuple[str, ...] | None,
) -> NDArray[np.bool_]:
    """Flag the categorical features, from their types or as the user lists them."""
    count = int(X.shape[1])
    if isinstance(categorical_features, str):
        if categorical_features != "from_dtype":
            raise InputError(
                'expected categorical_features "from_dtype", None or a list, '
                f"got {categorical_features!r}"
            )
        return np.array([is_categorical_column(X, j) for j in range(count)], dtype=bool)
    flags = np.asarray([] if categorical_features is None else categorical_features)
    if flags.dtype == bool and flags.shape == (count,):
        return flags
    labels = names or tuple(f"x{j}" for j in range(count))
    chosen = listed_features(categorical_features, labels, "categorical_features")
    return np.isin(np.arange(count), [*chosen])


def listed_features(features: Any, labels: Sequence[str], option: str) -> frozenset[int]:
    """Return the positions of features that the user lists by name, or by number, in an option."""
    position = {label: j for j, label in enumerate(labels)}
    out: set[int] = set()
    several = isinstance(features, Iterable) and not isinstance(features, str)
    for item in features if several else () if features is None else [features]:
        whole = isinstance(item, (int, np.integer)) and not isinstance(item, bool)
        if isinstance(item, str) and item in position:
            out.add(position[item])
        elif whole and 0 <= item < len(labels):
            out.add(int(item))
        else:
            shown = quoted(item)
            close = difflib.get_close_matches(shown.strip("'"), labels[:MOST_COMPARED], n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"they are {some_of(labels)}"
            raise InputError(f"expected names of features in {option}, got {shown}; {hint}")
    return frozenset(out)


def _observed(columns: Sequence[Column], tails: float = 0.0) -> dict[str, Any]:
    """Write what was seen in the columns as fields of a space, but for rare missing values."""
    missing = [column.can_be_missing(tails) for column in columns]
    return {
        "lower": np.array([column.lower for column in columns]),
        "upper": np.array([column.upper for column in columns]),
        "categories": tuple(column.categories for column in columns),
        "can_be_missing": np.array(missing),
        "ordered": np.array([column.ordered for column in columns]),
    }


def has_fractions(y: NDArray[Any]) -> bool:
    """Whether an outcome is surely a response: numbers that are not all whole."""
    return bool(y.dtype.kind == "f" and np.any(y != np.floor(y)))
