"""The try-it page in a real Chromium: Python runs in it, and nothing leaves it.

The runtime is taken from ``.venv/pyodide``, or from the folder that ``STEADYTREE_PYODIDE`` names;
where it is missing it is assembled there first.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from axe_playwright_python.sync_playwright import Axe

import steadytree as st
from tests.docs.fences import ROOT
from tests.docs.serving import served

pytestmark = [pytest.mark.slow, pytest.mark.browser]

RUNTIME = Path(os.environ.get("STEADYTREE_PYODIDE") or ROOT / ".venv" / "pyodide")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page with its runtime, as the site has it."""
    page = tmp_path_factory.mktemp("site") / "try"
    script = ROOT / "scripts" / "assemble_pyodide.py"
    done = subprocess.run(
        [sys.executable, script, RUNTIME, "--page", page],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        reason = f"no runtime: {done.stderr.strip().splitlines()[-1]}"
        if os.environ.get("STEADYTREE_REQUIRE_PROGRAMS") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    return page


@pytest.fixture(scope="module")
def site(folder: Path) -> Iterator[str]:
    with served(folder.parent) as (address, _):
        yield f"{address}/try/app.html"


class Window:
    """A window on the page, what it asked of servers, and what went wrong in it."""

    def __init__(self, browser: Any, address: str, *, width: int = 1280, scheme: str = "light"):
        self.context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme
        )
        self.context.set_default_timeout(600_000)  # a busy machine is no fault of the page
        self.requests: list[str] = []
        self.problems: list[str] = []
        self.context.on("request", lambda request: self.requests.append(request.url))
        self.page = self.context.new_page()
        self.page.on("console", self._on_console)
        self.page.on("pageerror", lambda error: self.problems.append(f"error: {error}"))
        self.page.goto(address)
        self.report = self.page.frame_locator("#report")

    def _on_console(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.problems.append(f"console: {message.text}")

    def wait(self, *ids: str) -> None:
        """Wait until one of some parts is shown and nothing is under way."""
        self.page.wait_for_function(
            "ids => document.getElementById('work').hidden"
            " && ids.some(id => !document.getElementById(id).hidden)",
            arg=list(ids),
        )

    def drop(self, name: str, text: str) -> None:
        """Drop a file onto the page, as a visitor would."""
        self.page.evaluate(
            """([name, text]) => {
                const data = new DataTransfer();
                data.items.add(new File([text], name));
                const how = { dataTransfer: data, bubbles: true, cancelable: true };
                const place = document.getElementById("drop");
                for (const kind of ["dragenter", "dragover", "drop"])
                    place.dispatchEvent(new DragEvent(kind, how));
            }""",
            [name, text],
        )
        self.wait("read", "look-trouble")

    def saved(self, button: str, path: Path) -> Path:
        """Save one of the files of the result."""
        with self.page.expect_download() as download:
            self.page.click(f"#{button}")
        download.value.save_as(path)
        return path

    def faults(self) -> list[str]:
        """What axe calls serious or critical, and what is wider than the window."""
        found = Axe().run(self.page).response["violations"]
        faults = [
            f"{one['id']}: {one['nodes'][0]['html'][:200]}"
            for one in found
            if one["impact"] in ("serious", "critical")
        ]
        over = self.page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        return faults + ([f"{over} pixels wider than the window"] if over > 0 else [])


@pytest.fixture(scope="module")
def window(browser: Any) -> Iterator[Any]:
    opened: list[Window] = []

    def open_window(address: str, **options: Any) -> Window:
        opened.append(Window(browser, address, **options))
        return opened[-1]

    yield open_window
    for one in opened:
        one.context.close()


@pytest.fixture(scope="module")
def finished(window: Any, site: str) -> Any:
    """A window in which the built-in table has become a report."""
    made = window(site)
    made.page.click("#built-in")
    made.wait("read", "look-trouble")
    made.loaded = list(made.requests)
    made.focused = made.page.evaluate("document.activeElement.id")
    made.page.click("#go")
    made.wait("result", "ask-trouble")
    assert made.page.locator("#ask-trouble").is_hidden(), made.page.inner_text("#ask-trouble")
    return made


def table_of_visits(n: int = 240) -> str:
    rng = np.random.default_rng(5)
    age, ward = rng.integers(20, 90, n), rng.choice(["north", "south", "west"], n)
    days = (age / 12 + 3 * (ward == "west") + rng.normal(size=n)).round(2)
    dates = pd.date_range("2024-01-01", periods=n).strftime("%Y-%m-%d")
    table = pd.DataFrame({"admitted": dates, "age": age, "ward": ward, "days": days})
    return str(table.to_csv(index=False))


def test_the_built_in_table_becomes_a_report(finished: Any) -> None:
    assert finished.focused == "read-title", "who does not see it is told where to go on"
    assert finished.page.evaluate("document.activeElement.id") == "result-title"
    words = finished.page.inner_text("#read-words")
    assert words == "breast-cancer.csv: 569 rows, 31 columns."
    assert finished.report.locator("h1").inner_text() == (
        "Proposed update of a deployed decision tree"
    )
    assert "285 new rows" in finished.report.locator(".facts").inner_text()
    assert finished.report.locator("svg.tree").count() == 2
    # The report's own script ran: this is shown by it alone.
    assert finished.report.locator("#case-form").is_visible()
    assert finished.problems == []


def test_the_page_says_how_much_is_loaded(folder: Path) -> None:
    loaded = json.loads((folder / "runtime" / "runtime.json").read_text())["bytes"]
    words = (folder / "app.html").read_text(encoding="utf-8").replace("&nbsp;", " ")
    for text in (words, (ROOT / "docs" / "try.md").read_text(encoding="utf-8")):
        assert f": {loaded / 1e6:.0f} MB" in text


def test_links_inside_the_report_lead_to_its_parts(finished: Any) -> None:
    finished.report.locator("nav.contents a[href='#rules']").click()
    top = finished.report.locator("#rules").evaluate("e => e.getBoundingClientRect().top")
    assert abs(top) < 60
    assert finished.problems == []


def test_the_report_is_shut_off_from_the_page(finished: Any) -> None:
    reached = finished.report.locator("h1").evaluate(
        "() => { try { return parent.document.title } catch { return null } }"
    )
    assert reached is None


def test_what_is_saved_is_what_is_shown(finished: Any, tmp_path: Path) -> None:
    report = finished.saved("save-report", tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Proposed update of a deployed decision tree" in report
    assert "about:srcdoc" not in report
    tree = st.as_tree(finished.saved("save-tree", tmp_path / "tree.json"))
    assert tree.classes == ("benign", "malignant")
    words = finished.saved("save-words", tmp_path / "words.txt").read_text(encoding="utf-8")
    assert finished.report.locator(".lead").first.inner_text()[:30] in words
    # A tree made in the browser knows its rows again, by the digest that Python lacks there.
    table = pd.read_csv(ROOT / "docs" / "try" / "breast-cancer.csv")
    X, y = table.drop(columns="diagnosis"), table["diagnosis"]
    with pytest.warns(st.exceptions.SteadyTreeWarning, match="from these very rows"):
        st.retrain(tree, X[284:], y[284:], old=(X[:284], y[:284]), random_state=0)


def test_the_report_opens_in_a_tab_of_its_own(finished: Any) -> None:
    with finished.context.expect_page() as tab:
        finished.page.click("#open-report")
    assert tab.value.locator("#case-form").is_visible()
    tab.value.close()


def test_nothing_leaves_the_browser(finished: Any, site: str, tmp_path: Path) -> None:
    folder = site.removesuffix("app.html")
    sent = [url for url in finished.requests if url.startswith(("http:", "https:", "ws"))]
    assert [url for url in sent if not url.startswith(folder)] == []
    assert any(url.endswith(".wasm") for url in finished.loaded)
    loaded = [url for url in finished.loaded if url.startswith("http")]
    assert sent == loaded, "after the runtime is loaded, not even this server is asked"


def test_the_policy_holds_in_the_worker(finished: Any, tmp_path: Path) -> None:
    """Were there code that sends rows away, the browser would not let it."""
    with served(tmp_path) as (elsewhere, asked):
        (worker,) = finished.page.workers
        for run in (worker, finished.page):
            said = run.evaluate(
                "url => fetch(url, { mode: 'no-cors' }).then(() => 'sent', e => String(e))",
                f"{elsewhere}/rows",
            )
            assert "Failed to fetch" in said
    assert asked == []
    finished.problems.clear()  # the browser tells of what it refused


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_can_be_read(
    width: int, scheme: str, window: Any, site: str, tmp_path: Path
) -> None:
    one = window(site, width=width, scheme=scheme)
    faults = {"start": one.faults()}
    one.drop("visits.csv", "age;days\n1;2\n")
    faults["refused"] = one.faults()
    one.drop("visits.csv", table_of_visits())
    one.page.locator("#form summary").click()
    faults["read"] = one.faults()
    one.page.select_option("#time", "admitted")
    one.page.click("#go")
    one.page.wait_for_selector("#work:not([hidden])")
    faults["working"] = one.faults()
    one.wait("result", "ask-trouble")
    faults["report"] = one.faults()
    one.page.screenshot(path=tmp_path / f"try-{width}-{scheme}.png", full_page=True)
    assert {state: found for state, found in faults.items() if found} == {}
    assert one.report.locator("h1").is_visible()
    assert one.report.locator("body").evaluate(
        "() => document.documentElement.scrollWidth <= window.innerWidth"
    )
    assert one.problems == []


def test_a_table_is_dropped_and_a_response_is_learned(window: Any, site: str) -> None:
    one = window(site)
    one.drop("visits.csv", table_of_visits())
    assert one.page.inner_text("#read-words") == "visits.csv: 240 rows, 4 columns."
    rows = one.page.locator("#columns tr")
    assert "not read" in rows.nth(0).inner_text(), "days are no predictor"
    assert "category (3)" in rows.nth(2).inner_text()
    assert one.page.input_value("#target") == "days"
    assert one.page.input_value("#old") == "120"
    one.page.click("#go")
    one.wait("result", "ask-trouble")
    assert "name it as --time" in one.page.inner_text("#ask-trouble")
    one.page.select_option("#time", "admitted")
    one.page.fill("#old", "150")
    one.page.click("#go")
    one.wait("result", "ask-trouble")
    assert one.page.locator("#ask-trouble").is_hidden()
    assert one.page.inner_text("#result-words") == (
        "First tree grown on 150 rows, retrained on 90 rows."
    )
    assert "R²" in one.report.locator(".facts").inner_text()
    # A column is taken as something else, and a tree of one's own is retrained.
    one.page.locator("#columns tr", has_text="age").locator("select").select_option("ignore")
    one.wait("read", "look-trouble")
    assert "ignored" in rows.nth(1).inner_text()
    assert one.page.input_value("#time") == "admitted", "what was chosen stays"
    rules = b"categories of ward: north, south, west\nward in west: 8\nelse: 5\n"
    one.page.set_input_files(
        "#deployed", {"name": "in-force.rules", "mimeType": "text/plain", "buffer": rules}
    )
    one.page.fill("#old", "0")
    one.page.click("#go")
    one.wait("result", "ask-trouble")
    assert one.page.locator("#ask-trouble").is_hidden(), one.page.inner_text("#ask-trouble")
    assert one.page.inner_text("#result-words") == "Your tree, retrained on 240 rows."
    assert one.problems == []


def test_a_spoilt_table_is_refused_in_words_and_can_be_mended(window: Any, site: str) -> None:
    one = window(site)
    one.drop("visits.csv", "age,days\n41,2\n42\n")
    said = one.page.inner_text("#look-trouble")
    assert "expected 2 values in every row of visits.csv" in said
    assert "got 1 in line 3" in said
    assert one.page.evaluate("document.activeElement.id") == "look-trouble"
    assert one.page.locator("#ask").is_hidden()
    one.drop("visits.csv", table_of_visits().replace(",", ";"))
    assert "--separator ';'" in one.page.inner_text("#look-trouble")
    one.page.select_option("#separator", ";")
    one.wait("ask", "look-trouble")
    assert one.page.locator("#look-trouble").is_hidden()
    assert one.page.inner_text("#read-words") == "visits.csv: 240 rows, 4 columns."
    one.drop("<img src=x onerror=alert(1)>.csv", "<b>a</b>,y\n1,0\n2,1\n")
    assert one.page.locator("#columns b, #read img").count() == 0, "names are text"
    assert one.page.locator("#columns tr").first.locator("th").inner_text() == "<b>a</b>"
    assert one.problems == []


def test_work_can_be_cancelled_and_begun_again(window: Any, site: str) -> None:
    one = window(site)
    one.page.click("#built-in")
    one.page.click("#cancel")
    assert "Cancelled" in one.page.inner_text("#look-trouble")
    assert one.page.locator("#read").is_hidden()
    one.page.click("#built-in")
    one.wait("read", "look-trouble")
    one.page.click("#go")
    one.page.wait_for_function(
        "() => document.getElementById('work-words').textContent.includes('tree')"
    )
    assert one.page.locator("#go").is_disabled()
    one.page.click("#cancel")
    assert "Cancelled" in one.page.inner_text("#ask-trouble")
    assert one.page.locator("#work").is_hidden()
    assert one.page.locator("#result").is_hidden()
    while one.page.workers:  # the browser tells of its end a little later
        one.page.wait_for_timeout(50)
    one.page.fill("#old", "300")
    one.page.click("#go")
    one.wait("result", "ask-trouble")
    assert one.page.inner_text("#result-words") == (
        "First tree grown on 300 rows, retrained on 269 rows."
    )
    assert one.problems == []


def test_the_whole_way_by_keyboard(window: Any, site: str) -> None:
    one = window(site)
    keys = one.page.keyboard

    def tab_to(name: str) -> None:
        for _ in range(200):
            if one.page.evaluate("document.activeElement.id") == name:
                return
            keys.press("Tab")
        raise AssertionError(f"{name} is not reached by Tab")

    tab_to("built-in")
    keys.press("Enter")
    one.page.wait_for_selector("#work:not([hidden])")
    tab_to("cancel")
    one.wait("read", "look-trouble")
    tab_to("columns-scroll")
    tab_to("old")
    tab_to("go")
    keys.press("Enter")
    one.wait("result", "ask-trouble")
    tab_to("save-report")
    assert one.problems == []


def test_a_page_without_its_runtime_says_so(window: Any, folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "try", ignore=shutil.ignore_patterns("runtime"))
    with served(tmp_path) as (address, _):
        one = window(f"{address}/try/app.html")
        one.page.click("#built-in")
        one.wait("look-trouble")
        said = one.page.inner_text("#look-trouble")
    assert "expected the Python runtime beside this page, got none" in said


def test_a_file_of_the_runtime_that_was_changed_is_refused(
    window: Any, folder: Path, tmp_path: Path
) -> None:
    shutil.copytree(folder, tmp_path / "try")
    (wheel,) = (tmp_path / "try" / "runtime").glob("six-*.whl")
    wheel.write_bytes(wheel.read_bytes()[:-1] + b"\1")
    with served(tmp_path) as (address, _):
        one = window(f"{address}/try/app.html")
        one.page.click("#built-in")
        one.wait("look-trouble", "read")
        said = one.page.inner_text("#look-trouble")
    assert one.page.locator("#read").is_hidden()
    assert "six" in said


def test_opened_as_a_file_it_says_what_to_do(window: Any, folder: Path) -> None:
    one = window((folder / "app.html").as_uri())
    assert "python -m http.server" in one.page.inner_text("#not-started")
    assert one.page.locator("#choose").is_hidden()
    assert one.problems == []
