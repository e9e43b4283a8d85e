"""The long benchmarks can be stopped and taken up again, and notice that the code changed."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import steadytree as st
from research.benchmarks import actions, coverage, exporters, retraining, unit_cache
from research.benchmarks.unit_cache import UnitCache
from research.paper.retraining_methods import OF_DECISIONS

ROOT = Path(__file__).resolve().parents[2]


def test_a_finished_unit_is_not_done_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unit_cache, "CACHE", tmp_path)
    key = {"name": "wdbc", "seed": 0}
    assert UnitCache("some").get(key, lambda: {"rows": [1]}) == {**key, "rows": [1]}
    again = UnitCache("some")
    assert again.get(key, lambda: pytest.fail("it was done again"))["rows"] == [1]
    assert again.get({**key, "seed": 1}, lambda: {"rows": [2]})["rows"] == [2]


def test_the_version_follows_every_source_of_the_learner(tmp_path: Path) -> None:
    for name in retraining.LEARNER_SOURCES:
        target = tmp_path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, target)
        else:
            shutil.copy(ROOT / name, target)
    first = retraining.learner_version(tmp_path)
    assert first == retraining.learner_version(ROOT)
    for name in retraining.LEARNER_SOURCES:
        path = tmp_path / name
        file = sorted(path.rglob("*.py"))[0] if path.is_dir() else path
        text = file.read_bytes()
        file.write_bytes(text + b"# changed\n")
        assert retraining.learner_version(tmp_path) != first
        file.write_bytes(text)


def test_a_source_that_is_gone_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        retraining.learner_version(tmp_path)


def row(start: str, method: str, distance: float, auc: float) -> dict[str, object]:
    numbers = {"distance": distance, "dissimilarity": distance / 10, "auc": auc, "leaves": 7}
    flips = {"flips_half": 0.01, "flips_base": 0.1, "identical": False, "seconds": 1.0}
    decisions = dict.fromkeys(OF_DECISIONS, 0.25) | {"balanced_accuracy": auc - 0.1}
    return {"name": "wdbc", "seed": 0, "start": start, "method": method, **numbers, **flips} | (
        decisions
    )


def test_the_table_puts_every_method_beside_cart_and_a_coin() -> None:
    frame = pd.DataFrame(
        [
            row("cart", "CART retrained", 4.0, 0.80),
            row("cart", "keep", 0.0, 0.76),
            row("cart", "price 0.2", 1.0, 0.81),
            row("cart", "from scratch", 5.0, 0.82),
        ]
    )
    sets = retraining.per_set(frame).set_index("method")
    assert sets.loc["price 0.2", "less_distance"] == pytest.approx(75)
    assert sets.loc["price 0.2", "auc_vs_cart"] == pytest.approx(1)
    # A coin that moves a fifth as far as training anew gains a fifth of its six points.
    assert sets.loc["price 0.2", "vs_coin"] == pytest.approx(5 - 6 / 5)
    lines = retraining.table(sets.reset_index()).splitlines()
    assert [line.split(" | ")[1] for line in lines[2:]] == [
        "CART retrained",
        "keep",
        "price 0.2",
        "from scratch",
    ]
    decisions = retraining.decision_table(sets.reset_index()).splitlines()
    assert decisions[4].split(" | ")[1:5] == ["price 0.2", "71.0", "1.00", "25.0"]


def test_an_earlier_engine_is_compared_set_by_set() -> None:
    rows = [
        *(row("cart", "CART retrained", 4.0, 0.80), row("cart", "keep", 0.0, 0.76)),
        *(row("cart", "price 0.2", 1.0, 0.81), row("cart", "from scratch", 5.0, 0.82)),
    ]
    sets = retraining.per_set(pd.DataFrame(rows))
    before = sets.assign(auc=sets["auc"] - 0.01, distance=2 * sets["distance"], brier=0.26)
    line = next(
        text for text in retraining.paired_table(sets, before).splitlines() if " price 0.2 " in text
    )
    # One point better; 20 % of the way to scratch instead of 40 %.
    assert line == "| deployed CART | price 0.2 | 1.00 | -10.00 | -20.0 | 0.0 |"


def test_chance_changes_a_label_as_rarely_as_stated() -> None:
    """Whole retrainings where every leaf's truth lies on the threshold: 31 of 100 at most."""
    shares = {}
    for steady in (0.5, 0.0):
        changed = [coverage.label_changes(200, 0.3, False, steady, seed) for seed in range(10)]
        every = [one for leaves in changed for one in leaves]
        assert len(every) > 60
        shares[steady] = sum(every) / len(every)
    assert shares[0.5] < 0.31
    assert shares[0.5] < shares[0.0] < 0.5


def unit(n_new: int, seed: int, *, held: bool, alike: bool) -> dict[str, object]:
    """A simulated retraining whose intervals all hold the truth, or none of them does."""
    design = {"n_new": n_new, "rate": 0.3, "world": "noise", "start": "CART", "old_rows": True}
    true = 0.5 if held else 0.9
    numbers: dict[str, object] = {
        f"{measure}: {column}": [0.0] * 4 if column == "change" and alike else [true, 0.5, 0.4, 0.6]
        for measure in coverage.MEASURES
        for column in coverage.COLUMNS
    }
    return {**design, "seed": seed, **numbers, "flips": 0.0, "dissimilarity": 0.0, "saving": 0.0}


def test_coverage_counts_what_could_have_missed() -> None:
    """A change between trees that cannot differ is 0 without fail, and proves nothing."""
    units = [
        unit(n_new, seed, held=seed > 0, alike=seed > 1)
        for n_new in coverage.SIZES
        for seed in range(20)
    ]
    frame = pd.DataFrame(units)
    rows = coverage.covered(frame)
    held = rows.groupby("column")["held"].agg(["mean", "size"])
    assert held.loc["deployed", "mean"] == pytest.approx(0.95)
    assert held.loc["change", "mean"] == 0.5
    assert held.loc["change", "size"] == 2 * len(coverage.SIZES) * len(coverage.MEASURES)
    words = coverage.by_column_and_size(rows)
    assert "| deployed | 60 | 95.0 ± 4.9 | yes | 20 |" in words[2]
    assert "| no |" not in " ".join(words[2:6])
    cells = coverage.cells_of(rows)
    assert (cells["beyond"] > 0).sum() == len(coverage.SIZES) * len(coverage.MEASURES)
    assert "0.000 | 0.000 | 0 %" in coverage.on_noise(frame)[2]


def test_the_page_shows_the_table_of_exporters() -> None:
    texts = [path.read_text(encoding="utf-8") for path in (exporters.TARGET, exporters.SHOWN)]
    measured, shown = (exporters.BETWEEN.findall(text) for text in texts)
    assert measured == shown
    assert len(measured) == 1


def test_a_row_that_is_decided_otherwise_is_counted() -> None:
    assert exporters.differing(["no", "yes"], np.array(["no", "no"])) == 1
    assert exporters.differing([1.0, np.nan, 3.0], np.array([1.0 + 1e-9, 2.0, 4.0])) == 2
    with pytest.raises(ValueError, match="1 answers for 2 rows"):
        exporters.differing(["no"], np.array(["no", "no"]))


def test_an_exporter_that_fails_says_how() -> None:
    notes: dict[str, int] = {}
    lines = [
        {"wrong": None, "error": "ValueError: no", "rows": 100},
        {"wrong": 5.0, "error": "", "rows": 100},
    ]
    assert exporters.cell(pd.DataFrame(lines), notes) == "5.0 % [1]"
    assert exporters.cell(pd.DataFrame(lines[:1]), notes) == "fails [2]"
    assert notes == {"1 of 2 trees: ValueError: no": 1, "ValueError: no": 2}
    wrong, said = exporters.attempt(
        lambda case, folder: 1 // 0, exporters.Case(None, pd.DataFrame(), np.zeros(0))
    )
    assert wrong is None
    assert said == "ZeroDivisionError: integer division or modulo by zero"


def test_exporters_measured_anew_take_their_places() -> None:
    lines = [
        {"exporter": name, "condition": condition, "task": "regression", "seed": 0, "rows": 100}
        | {"wrong": None if name == "ours" else 3.0, "error": "no" if name == "ours" else ""}
        for name in ("theirs", "ours")
        for condition in exporters.CONDITIONS
    ]
    frame = pd.DataFrame(lines)
    old = exporters.page(frame)
    assert old.count("fails [1]") == len(exporters.CONDITIONS)
    assert exporters.merged(old, old) == old
    first, *others = exporters.CONDITIONS
    mended = frame[frame["exporter"] == "ours"].assign(wrong=0.0, error="")
    part = exporters.merged(old, exporters.page(mended[mended["condition"] == first]))
    assert "| ours | 0 | fails [1] |" in part
    new = exporters.merged(part, exporters.page(mended[mended["condition"].isin(others)]))
    assert "| ours | 0 | 0 |" in new
    assert "| theirs | 3.0 % |" in new
    assert "[1]" not in new


@pytest.mark.parametrize("condition", exporters.CONDITIONS)
def test_rows_are_as_their_column_says(condition: str) -> None:
    case = exporters.make_case(condition, "two classes", 0, 500)
    numbers = case.rows.select_dtypes("number")
    missing = condition in ("20 % missing", "asks if missing")
    assert numbers.isna().to_numpy().mean() == pytest.approx(0.2 * missing, abs=0.03)
    tree = st.as_tree(case.model)
    assert bool(np.isinf(tree.threshold).any()) == (condition == "asks if missing")
    assert ("colour" in case.rows) == (condition == "categories")
    np.testing.assert_array_equal(tree.predict(case.rows), case.expected)


def test_a_change_is_clear_beyond_two_errors_whichever_way_is_better() -> None:
    better, neither, worse = actions.TRUTHS
    assert actions.clearly(0.021, 0.01, lower_is_better=False) == better
    assert actions.clearly(0.021, 0.01, lower_is_better=True) == worse
    assert actions.clearly(-0.021, 0.01, lower_is_better=False) == worse
    assert actions.clearly(0.019, 0.01, lower_is_better=False) == neither
    assert actions.clearly(0.0, 0.0, lower_is_better=True) == neither


def test_a_tree_on_offer_must_lead_clearly_and_by_a_point() -> None:
    leads = {"keep": (0.0, 0.0), "few": (0.009, 0.001), "wide": (0.05, 0.03), "far": (0.02, 0.005)}
    found = actions.on_offer(leads, named="few")
    assert (found["best"], found["clear"], found["clear_lead"]) == ("wide", "far", 0.02)
    assert found["forgone_true_lead"] == 0.009
    none = actions.on_offer({"keep": (0.0, 0.0)}, named="")
    assert none["clear"] == ""
    assert np.isnan(none["clear_lead"])


def action_unit(name: str, action: str, auc: float, **numbers: object) -> dict[str, object]:
    """A run whose scratch gains ten points of AUC at a distance of 1."""
    unit: dict[str, object] = {"part": "sets", "name": name, "start": "own", "seed": 0}
    tree = {"auc": auc, "auc_se": 0.01, "brier": 0.0, "brier_se": 0.01, "cost": 0.0}
    tree |= {"cost_se": 0.01, "flips": 0.1, "dissimilarity": 0.2, "distance": 0.5}
    for prefix in ("", "proposal_"):
        unit |= {prefix + key: value for key, value in tree.items()}
    unit |= {"scratch_auc": 0.1, "scratch_dissimilarity": 1.0, "scratch_distance": 1.0}
    unit |= {"action": action, "rebuild_advised": False, "confidence": "likely", "seconds": 1.0}
    unit |= {"forgone": "", "forgone_true_lead": np.nan, "forgone_true_se": np.nan}
    unit |= {"clear": "", "clear_lead": np.nan, "leaves_keep": 7, "brier_keep": 0.2}
    return unit | numbers


def test_actions_are_counted_by_what_they_truly_change() -> None:
    frame = pd.DataFrame(
        [action_unit("a", "change", 0.03), action_unit("b", "change", -0.03)]
        + [action_unit(name, "keep", 0.0) for name in "cd"]
    )
    table = actions.action_table(frame)
    assert "| change | 2 | 0 | AUC | 1 | 0 | 1 | 50.0 | no |" in table
    assert "| keep | 2 | 0 | AUC | 0 | 2 | 0 | 0.0 | yes |" in table


def test_naming_a_lesser_tree_does_not_count() -> None:
    offer = {"clear": "from scratch", "clear_lead": 0.05}
    named = [("from scratch", 0.05), ("price 0.1", 0.03), ("price 0.5", 0.005), ("", np.nan)]
    frame = pd.DataFrame(
        [
            action_unit("a", "keep", 0.0, **offer, forgone=word, forgone_true_lead=lead)
            | {"forgone_true_se": 0.01}
            for word, lead in named
        ]
        + [action_unit("b", "keep", 0.0, forgone="price 0.1")]
    )
    assert "| all | 5 | 4 | 3 | 2 | 1 | 50 | no | 1 of 1 |" in actions.named_table(frame)


def test_the_default_is_compared_with_the_earlier_one_set_by_set() -> None:
    before = pd.DataFrame([action_unit(name, "keep", 0.05) for name in "abc"])
    now = pd.DataFrame([action_unit(name, "change", 0.07, flips=0.08) for name in "ab"])
    lines = actions.paired_table(now, before).splitlines()
    cells = [text.strip("| ").split(" | ") for text in lines[2:]]
    assert [row[1] for row in cells] == [
        "before, proposal",
        "before, what the verdict said",
        "now",
        "now minus proposal before",
    ]
    assert [row[3] for row in cells] == ["50 ± 0", "50 ± 0", "70 ± 0", "20 ± 0"]
    assert cells[-1][6:8] == ["-2.0 ± 0.0", "2.00 ± 0.00"]
    assert actions.same_start(now, before).startswith("our first tree 2 of 2")


def test_the_answer_of_a_retraining_is_read_with_what_one_would_give_up() -> None:
    said = {"action": "change", "confidence": "likely", "rebuild_advised": True, "tree": "the tree"}
    named = SimpleNamespace(name="from scratch", lead=0.03, error=0.01, flips=0.2)
    answer = actions.answer_of(SimpleNamespace(**said, forgone=named))
    assert (answer.action, answer.confidence, answer.tree) == ("change", "likely", "the tree")
    assert answer.rebuild_advised
    assert (answer.forgone, answer.forgone_lead, answer.forgone_flips) == (
        "from scratch",
        0.03,
        0.2,
    )
    assert actions.answer_of(SimpleNamespace(**said, forgone=None)).forgone == ""


def test_units_stored_in_a_file_are_read_as_they_were(tmp_path: Path) -> None:
    frame = actions.flat(pd.DataFrame([action_unit("200", "keep", 0.0, confidence="", best="")]))
    frame.to_csv(tmp_path / "units.csv", index=False)
    again = actions.read_before(tmp_path / "units.csv")
    assert again is not None
    assert again.loc[0, ["name", "confidence", "forgone", "clear"]].tolist() == ["200", "", "", ""]
    assert actions.read_before(tmp_path / "none.csv") is None


def test_the_sources_of_the_actions_are_there_and_count(tmp_path: Path) -> None:
    package = tmp_path / "steadytree"
    shutil.copytree(actions.PACKAGE, package)
    first = actions.learner_version()
    assert first == actions.learner_version(package)
    with (package / "tree" / "decision.py").open("a", encoding="utf-8") as source:
        source.write("# changed\n")
    assert actions.learner_version(package) != first
