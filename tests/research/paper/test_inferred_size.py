"""The number of trees behind the paper's Table 3, inferred from its percentages."""

from __future__ import annotations

from research.paper.inferred_size import fitting_denominators, percentages
from research.paper.published import TABLE_3
from research.paper.settings import INFERRED


def test_the_table_is_whole() -> None:
    assert sum(len(places) for places in TABLE_3.values()) == 18
    assert len(percentages()) == 34  # two features each, but for two dashes
    assert len(set(percentages())) == 32


def test_only_2100_and_its_double_fit_every_percentage() -> None:
    assert fitting_denominators(percentages(), 5_000) == [2_100, 4_200]
    # Ten repetitions of the inferred size.
    assert 10 * INFERRED.trees_per_collection == 2_100


def test_chance_does_not_fit() -> None:
    # One percentage a hundredth higher, and no number of trees is left.
    other = [value + 0.01 * (value == 24.10) for value in percentages()]
    assert fitting_denominators(other, 5_000) == []


def test_four_case_studies_say_so_each_by_itself() -> None:
    least = {name: fitting_denominators(percentages([name]), 2_100)[0] for name in TABLE_3}
    assert least == {
        "Thrombosis": 2_100,
        "Sarcoma tumor": 2_100,
        "REBOA": 2_100,
        "TAVR": 300,
        "Splenic injury": 10,
        "Breast cancer": 2_100,
    }
    assert all(2_100 % n == 0 for n in least.values())


def test_a_denominator_fits_what_it_can_give() -> None:
    assert fitting_denominators([12.5], 16) == [8, 16]
    assert fitting_denominators([33.33, 66.67], 6) == [3, 6]
