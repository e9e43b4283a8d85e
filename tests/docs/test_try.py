"""The try-it page without a browser: its files, and its Python run as the browser runs it.

There it has no numba, starts no thread and no process, and has no OpenSSL.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer

import steadytree as st
from tests.docs.fences import ROOT

TRY = ROOT / "docs" / "try"
FILES = ("app.html", "app.css", "app.js", "worker.js", "tryit.py")
TEMPLATES = ROOT / "src" / "steadytree" / "views" / "templates"
BUILT_IN = TRY / "breast-cancer.csv"

AS_IN_THE_BROWSER = """
import _thread, json, os, subprocess, sys

def refuse(*args, **kwargs):
    raise RuntimeError("can't start new thread or process")

sys.modules["numba"] = None
_thread.start_new_thread = _thread.start_joinable_thread = refuse
import threading
threading.Thread.start = refuse
os.fork = os.posix_spawn = subprocess.Popen.__init__ = refuse
os.cpu_count = os.process_cpu_count = lambda: 1

import tryit

told = []
calls = json.load(sys.stdin)
answers = [
    json.loads(tryit.answer(call, json.dumps(request), lambda *step: told.append(step)))
    for call, request in calls
]
print(json.dumps({"answers": answers, "told": told}))
"""


def as_in_the_browser(folder: Path, *calls: tuple[str, dict[str, Any]]) -> tuple[list[Any], Any]:
    """Answers to some requests, and what was told meanwhile."""
    environment = {**os.environ, "PYTHONPATH": str(TRY), "STEADYTREE_NO_NUMBA": "1"}
    done = subprocess.run(
        [sys.executable, "-B", "-c", AS_IN_THE_BROWSER],
        input=json.dumps(calls),
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    return found["answers"], found["told"]


@pytest.fixture(scope="module")
def tryit() -> ModuleType:
    spec = importlib.util.spec_from_file_location("tryit", TRY / "tryit.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def tumours() -> pd.DataFrame:
    """The built-in table, from where it comes."""
    data = load_breast_cancer(as_frame=True)
    table: pd.DataFrame = data.data.assign(diagnosis=data.target_names[data.target])
    return table


def mixed_table(n: int = 160) -> pd.DataFrame:
    """A table of days, numbers, categories and gaps; a class and a response to learn."""
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=n).round(3), rng.choice(["red", "green", "blue"], n)
    seen = a + (b == "red")
    table = pd.DataFrame(
        {
            "day": pd.date_range("2024-03-01", periods=n).strftime("%Y-%m-%d"),
            "a": np.where(rng.random(n) < 0.1, np.nan, a),
            "b": b,
            "cost": (3 * seen + rng.normal(size=n)).round(2),
            "again": np.where(seen + rng.normal(size=n) / 2 > 0.3, "yes", "no"),
        }
    )
    return table.sample(frac=1, random_state=0, ignore_index=True)


# -- the files ---------------------------------------------------------------------------------


class Tags(HTMLParser):
    """Every tag of a page with its attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, {name: value or "" for name, value in attrs}))


def tags() -> list[tuple[str, dict[str, str]]]:
    return Tags((TRY / "app.html").read_text(encoding="utf-8")).found


def test_the_page_refers_only_to_files_that_exist() -> None:
    named = {a[k] for _, a in tags() for k in ("src", "href") if a.get(k)} - {"data:,"}
    assert {"app.css", "app.js", "../try.html"} <= named
    for name in FILES[2:4]:
        text = (TRY / name).read_text(encoding="utf-8")
        named |= set(re.findall(r'["`]\.?/?([\w-]+\.(?:js|py|csv|css))["`]', text))
    assert {"worker.js", "tryit.py", "breast-cancer.csv"} <= named
    for name in named:
        source = re.sub(r"\.html$", ".md", name) if name.startswith("../") else name
        assert (TRY / source).is_file(), name


def test_the_page_uses_ids_that_it_has() -> None:
    ids = [a["id"] for _, a in tags() if "id" in a]
    assert len(ids) == len(set(ids))
    script = (TRY / "app.js").read_text(encoding="utf-8")
    used = set(re.findall(r'\bat\("([\w-]+)"\)', script))
    assert len(used) > 20
    assert used <= set(ids)
    for _, attributes in tags():
        for name in ("for", "aria-labelledby", "aria-describedby"):
            assert set(attributes.get(name, "").split()) <= set(ids)


def test_no_address_of_another_site() -> None:
    for name in FILES:
        assert "://" not in (TRY / name).read_text(encoding="utf-8"), name


def test_the_policy_allows_this_site_alone_and_the_script_of_the_report() -> None:
    policy = next(a["content"] for _, a in tags() if "http-equiv" in a)
    rules = {rule.split()[0]: rule.split()[1:] for rule in policy.split(";")}

    def digest(name: str) -> str:
        found = hashlib.sha256((TEMPLATES / name).read_bytes()).digest()
        return f"'sha256-{base64.b64encode(found).decode()}'"

    assert rules == {
        "default-src": ["'none'"],
        "script-src": ["'self'", "'wasm-unsafe-eval'", digest("report.js")],
        "style-src": ["'self'", digest("report.css")],
        "worker-src": ["'self'", "blob:"],
        "connect-src": ["'self'"],
        "img-src": ["data:", "blob:"],
        "base-uri": ["about:"],
        "form-action": ["'none'"],
    }, (
        "the report's script or style changed; write into the policy of docs/try/app.html: "
        f"script-src ... {digest('report.js')}, style-src ... {digest('report.css')}"
    )
    frame = next(a for tag, a in tags() if tag == "iframe")
    assert frame["sandbox"] == "allow-scripts"
    assert not any(name.startswith("on") or name == "style" for _, a in tags() for name in a)


def test_the_page_says_the_limits_that_hold(tryit: ModuleType) -> None:
    page = (TRY / "app.html").read_text(encoding="utf-8")
    assert f"up to {tryit.MOST_ROWS:,} of them" in page
    assert f"trees ({tryit.TREES})" in page
    assert f"folds ({tryit.SETTINGS['n_folds']})" in page


def test_the_built_in_table_is_scikit_learns() -> None:
    names, *rows = (line.split(",") for line in BUILT_IN.read_text().splitlines())
    expected = tumours()
    assert names == list(expected.columns)
    assert [[*map(float, row[:-1]), row[-1]] for row in rows] == expected.to_numpy().tolist()


# -- its Python --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def built_in(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any, list[Any]]:
    folder = tmp_path_factory.mktemp("built-in")
    (folder / BUILT_IN.name).write_bytes(BUILT_IN.read_bytes())
    request = {"table": BUILT_IN.name, "types": {}}
    (read, made), told = as_in_the_browser(
        folder, ("look", request), ("propose", {**request, "target": "diagnosis", "old": 284})
    )
    return read, made, told


def without_its_minute(report: str) -> str:
    """A report but for when it was made: two of the same result differ when a minute turns."""
    found, times = re.subn(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", "WHEN", report)
    assert times >= 1, "the report says when it was made"
    return found


def written(result: Any, folder: Path) -> dict[str, str]:
    """What the library writes of a result."""
    report = result.report(folder / "report.html").read_text(encoding="utf-8")
    return {
        "report": without_its_minute(report),
        "tree": st.save_tree(result.tree, folder / "tree.json").read_text(encoding="utf-8"),
        "explanation": result.explain(),
        "changes": result.diff.to_text(),
    }


def told_by(answer: dict[str, Any]) -> dict[str, str]:
    """The same of an answer."""
    found = {name: answer[name] for name in ("tree", "explanation", "changes")}
    return {"report": without_its_minute(answer["report"]), **found}


def test_the_built_in_table_is_read_as_it_is(built_in: Any) -> None:
    read, _, _ = built_in
    assert (read["file"], read["rows"], len(read["columns"])) == ("breast-cancer.csv", 569, 31)
    kinds = [column["type"] for column in read["columns"]]
    assert kinds == ["number"] * 30 + ["category"]
    assert read["columns"][-1]["categories"] == 2


def test_the_report_is_the_librarys(built_in: Any, tryit: ModuleType, tmp_path: Path) -> None:
    _, made, _ = built_in
    table = tumours()
    X, y = table.drop(columns="diagnosis"), table["diagnosis"].to_numpy()
    deployed = st.DistilledTreeClassifier(n_estimators=50, random_state=0).fit(X[:284], y[:284])
    result = st.retrain(deployed, X[284:], y[284:], old=(X[:284], y[:284]), **tryit.SETTINGS)
    assert told_by(made) == written(result, tmp_path)
    assert (made["old"], made["new"], made["task"]) == (284, 285, "classification")


def test_progress_is_told_in_words(built_in: Any) -> None:
    _, _, told = built_in
    words = [step[0] for step in told]
    assert words[:3] == [
        "Reading the table",
        "Reading the table",
        "Growing a first tree on 284 old rows",
    ]
    assert words[-2:] == ["Choosing a tree", "Writing the report"]
    assert "Scoring fold 3 of 3" in words
    assert all(0 <= done <= total for _, done, total in told)


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What becomes of tables of one's own, by a name for each."""
    folder = tmp_path_factory.mktemp("tables")
    table = mixed_table()
    table.to_csv(folder / "own.csv", index=False)
    table.sort_values("again").to_csv(folder / "sorted.csv", index=False)
    gaps = table.assign(again=table["again"].where(table.index % 20 > 0))
    gaps.to_csv(folder / "gaps.csv", index=False)
    table.to_csv(folder / "semicolons.csv", index=False, sep=";", decimal=",")
    mixed = table.assign(a=table["a"].astype(object).where(table.index != 7, "unknown"))
    mixed.to_csv(folder / "mixed.csv", index=False)
    many = pd.DataFrame({"x": range(20_001), "y": [0, 1, 1] * 6667})
    many.to_csv(folder / "many.csv", index=False)
    (folder / "ragged.csv").write_text("a,b\n1,2\n3\n")
    (folder / "empty.csv").write_text("")
    (folder / "latin.csv").write_bytes("a,größe\n1,2\n".encode("latin-1"))
    (folder / "book.xlsx").write_bytes(b"PK\3\4")
    (folder / "in-force.rules").write_text("a <= 0.3: no\nelse: yes\n")
    (folder / "cut.json").write_text('{"format": ')
    own: dict[str, Any] = {"table": "own.csv", "target": "again", "time": "day"}
    semicolons = {**own, "table": "semicolons.csv", "separator": ";", "decimal": ","}
    calls: dict[str, tuple[str, dict[str, Any]]] = {
        "look": ("look", {"table": "own.csv"}),
        "look with types": ("look", {"table": "own.csv", "types": {"day": "ignore"}}),
        "look at mixed": ("look", {"table": "mixed.csv"}),
        **{
            f"look at {name}": ("look", {"table": name})
            for name in ("ragged.csv", "empty.csv", "latin.csv", "book.xlsx", "many.csv")
        },
        "look at semicolons": ("look", {"table": "semicolons.csv"}),
        "class": ("propose", {**own, "types": {"cost": "ignore"}}),
        "response": ("propose", {**semicolons, "target": "cost", "types": {"again": "ignore"}}),
        "deployed": ("propose", {**own, "deployed": "in-force.rules", "old": 0}),
        "gaps": ("propose", {**own, "table": "gaps.csv"}),
        "gaps left out": (
            "propose",
            {**own, "table": "gaps.csv", "drop_missing_target": True, "old": 76},
        ),
        "sorted": (
            "propose",
            {"table": "sorted.csv", "target": "again", "old": 60, "types": {"day": "ignore"}},
        ),
        "no order": ("propose", {**own, "time": "b", "types": {"day": "ignore"}}),
        "order by outcome": ("propose", {**own, "time": "again"}),
        "too many old": ("propose", {**own, "old": 160}),
        "no old": ("propose", {**own, "old": 0}),
        "wrong task": ("propose", {**own, "task": "regression"}),
        "days": ("propose", {**own, "time": None}),
        "cut off": ("propose", {**own, "deployed": "cut.json"}),
        "unknown call": ("sing", {}),
    }
    found, _ = as_in_the_browser(folder, *calls.values())
    return dict(zip(calls, found, strict=True))


def test_columns_are_shown_one_by_one(answers: dict[str, Any]) -> None:
    columns = {column["name"]: column for column in answers["look"]["columns"]}
    assert list(columns) == ["day", "a", "b", "cost", "again"]
    assert columns["day"]["type"] is None
    assert "name it as --time" in columns["day"]["note"], "the others are shown all the same"
    assert (columns["a"]["type"], columns["b"]["type"]) == ("number", "category")
    assert columns["b"]["categories"] == 3
    assert "%" in columns["a"]["missing"]
    assert answers["look with types"]["columns"][0] == {"name": "day", "type": "ignored"}
    by_name = {column["name"]: column for column in answers["look at mixed"]["columns"]}
    assert by_name["a"]["type"] is None
    assert "--types a=" in by_name["a"]["note"]


def test_a_table_of_ones_own_gives_the_librarys_report(
    answers: dict[str, Any], tryit: ModuleType, tmp_path: Path
) -> None:
    table = mixed_table().sort_values("day", kind="stable", ignore_index=True)
    X, y = table[["a", "b"]].astype({"b": "category"}), table["again"].to_numpy(dtype=object)
    deployed = st.DistilledTreeClassifier(n_estimators=50, random_state=0).fit(X[:80], y[:80])
    result = st.retrain(
        deployed, *(X[80:], y[80:]), old=(X[:80], y[:80]), time=np.arange(80), **tryit.SETTINGS
    )
    assert told_by(answers["class"]) == written(result, tmp_path)
    assert result.settings["folds"] == "time"


def test_a_response_and_another_way_of_writing(answers: dict[str, Any]) -> None:
    made = answers["response"]
    assert (made["task"], made["old"], made["new"]) == ("regression", 80, 80)
    assert "R²" in made["explanation"]
    assert "4 columns" not in made["read"]
    assert "target cost: numbers" in made["read"]


def test_a_deployed_tree_is_retrained(answers: dict[str, Any], tmp_path: Path) -> None:
    made = answers["deployed"]
    assert (made["grown"], made["old"], made["new"]) == (False, 0, 160)
    (tmp_path / "tree.json").write_text(made["tree"], encoding="utf-8")
    tree = st.as_tree(tmp_path / "tree.json")
    assert {tree.feature_labels[j] for j in tree.used_features} == {"a"}
    assert any("'b'" in words for words in made["warnings"]), "what is not looked at is said"


def test_rows_without_an_outcome_are_left_out_only_if_asked(answers: dict[str, Any]) -> None:
    assert "--drop-missing-target" in answers["gaps"]["error"]
    made = answers["gaps left out"]
    assert (made["old"], made["new"]) == (76, 76)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("look at ragged.csv", "got 1 in line 3"),
        ("look at empty.csv", "rows and columns, got none"),
        ("look at latin.csv", "--encoding latin-1"),
        ("look at book.xlsx", "expected a CSV or Parquet file, got book.xlsx"),
        ("look at many.csv", "expected at most 20,000 rows on this page"),
        ("look at semicolons", "say --separator ';'"),
        ("sorted", "choose a column for the order of the rows"),
        ("no order", "expected numbers or dates"),
        ("order by outcome", "got 'again' for both"),
        ("too many old", "expected 1 to 159 old rows of 160"),
        ("no old", "got 0; half of them are 80"),
        ("wrong task", "with --task regression"),
        ("days", "got dates such as"),
        ("cut off", "the file may be cut off"),
    ],
)
def test_what_is_wrong_is_said_in_words(name: str, words: str, answers: dict[str, Any]) -> None:
    assert answers[name]["expected"] is True, answers[name]
    assert words in answers[name]["error"]


def test_an_error_that_nobody_expected_is_an_answer_too(answers: dict[str, Any]) -> None:
    assert answers["unknown call"] == {"error": "KeyError: 'sing'", "expected": False}
