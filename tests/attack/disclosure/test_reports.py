"""Nothing that a real report publishes can be solved for a count of few people."""

from __future__ import annotations

import atexit
import shutil
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import pytest

from tests.attack.disclosure.cases import CASES, OUTCOME, Report, make_report, proposal
from tests.attack.disclosure.names import confirmed_guesses, hidden_values, named_values
from tests.attack.disclosure.publish import Published, publish

QUICK = ("icu", "penguins")
FULL = ("colon", "credit", "churn", "births", "nafld")
REPORTS = [*QUICK, *(pytest.param(name, marks=pytest.mark.slow) for name in FULL)]
FEW = 5


@cache
def report(name: str) -> Report:
    """Make each report once; its folder is kept, until the tests end, for what is made from it."""
    folder = Path(mkdtemp(prefix=f"steadytree-{name}-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return make_report(CASES[name], folder)


def solve(
    made: Report, *more: Published, events: dict[str, object] | None = None, **options
) -> None:
    """Assert that the truth fits what was read, and that no small count follows from it."""
    attack = made.attack(*more, **options)
    truth = made.truth(attack.census.groups)
    truth.events.update(events or {})
    assert attack.misread(truth) == []
    assert [str(found) for found in attack.exposed(truth)] == []


@pytest.mark.parametrize("name", REPORTS)
def test_no_count_of_few_people_follows_from_everything_published(name: str) -> None:
    solve(report(name))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["colon", "icu"])
def test_nor_from_what_was_printed_when_the_tree_was_made(name: str) -> None:
    made = report(name)
    solve(made, fitted=made.fitted)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["colon", "icu"])
def test_nor_from_a_comparison_of_the_same_proposal(name: str) -> None:
    made = report(name)
    groups = [option for column in made.case.subgroups for option in ("--subgroup", column)]
    trees = (made.folder / "model" / "tree.json", proposal(made.folder / "out"))
    rows = ("--data", made.folder / "new.csv", "--target", OUTCOME)
    compared = publish(["compare", *trees, *rows, *groups], made.folder / "compared")
    solve(made, compared, events={f"{k} of report 2": v for k, v in made.events.items()})


@pytest.mark.slow
def test_nor_from_two_reports_at_two_thresholds() -> None:
    made = report("colon")
    other = make_report(made.case, made.folder, "--decision-threshold", "0.3")
    events = {f"{k} of report 2": v for k, v in other.events.items()}
    solve(made, other.published, events=events)


def secret_names(made: Report) -> dict[str, list[str]]:
    """Names of people and wards that no output may hold: unused ones, and those of few people.

    Only invented names: real ones ("other", "single") are words of the page as well.
    """
    trees = (made.deployed, made.proposed)
    used = {tree.feature_labels[j] for tree in trees for j in tree.used_features}
    # Rare is what few of the new rows have.
    rows = {"new": made.tables["new"]}
    hidden = hidden_values(rows, used, FEW)
    return {column: names for column, names in hidden.items() if column in ("person", "ward")}


@pytest.mark.parametrize("name", ["icu", pytest.param("credit", marks=pytest.mark.slow)])
def test_no_name_that_nobody_needs_is_published(name: str) -> None:
    made = report(name)
    assert secret_names(made)["person"]
    assert list(named_values(made.published, secret_names(made))) == []


@pytest.mark.parametrize("name", REPORTS)
def test_no_digest_confirms_a_guess(name: str) -> None:
    made = report(name)
    trees = {"deployed": made.deployed, "proposed": made.proposed}
    files = [proposal(made.folder / part) for part in ("model", "out", "out-json")]
    assert list(confirmed_guesses(made.published, made.tables, trees, files)) == []


@pytest.mark.slow
def test_rows_that_differ_by_two_people_tell_of_these_two() -> None:
    # What no mask prevents, and the documentation says: totals are exact, and differ.
    made = report("icu")
    fewer = made.tables["new"].iloc[2:]
    fewer.to_csv(made.folder / "fewer.csv", index=False)
    arguments = ["retrain", made.folder / "fewer.csv", *made.arguments[2:]]
    later = publish(arguments, made.folder / "fewer")
    counts = [run.document["read"][0]["target"]["classes"] for run in (made.published, later)]
    told = {outcome: counts[0][outcome] - counts[1][outcome] for outcome in counts[0]}
    true = made.tables["new"][OUTCOME].iloc[:2].astype(str).value_counts()
    assert told == {outcome: int(true.get(outcome, 0)) for outcome in counts[0]}


# -- the adversary is able -----------------------------------------------------------------


@pytest.mark.parametrize("name", ["icu", pytest.param("penguins", marks=pytest.mark.slow)])
def test_without_a_mask_the_adversary_finds_the_people(name: str, tmp_path: Path) -> None:
    made = make_report(CASES[name], tmp_path, "--no-masking")
    attack = made.attack(few=FEW, page_only=True)
    truth = made.truth(attack.census.groups)
    assert attack.misread(truth) == []
    found = attack.exposed(truth, most=8)
    assert len(found) == 8
    assert all(one.true in one.possible for one in found)
    assert any(one.possible == (one.true,) for one in found)


def test_names_and_digests_are_found_where_they_are() -> None:
    made = report("icu")
    texts = {
        "a note": f"seen: {made.tables['new']['person'].iloc[0]}",
        "space": made.deployed.space.digest(),
    }
    leaky = Published(made.published.files, "", "", {}, "", texts)
    hidden = hidden_values(made.tables, set(), FEW)
    assert any("Quentin" in found for found in named_values(leaky, {"person": hidden["person"]}))
    trees = {"deployed": made.deployed}
    assert any("extremes" in found for found in confirmed_guesses(leaky, made.tables, trees))
