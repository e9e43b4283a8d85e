"""The site as people see it: desktop and phone, light and dark, without the network."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.docs.serving import served
from tests.docs.site import build, built_pages

pytestmark = pytest.mark.browser

WIDTHS = {"desktop": 1360, "phone": 390}
LOOKS = [(width, scheme) for width in WIDTHS for scheme in ("light", "dark")]
OFTEN = [("desktop", "light"), ("phone", "dark")]
"""Looked at each time; the other two by ``make test-slow``, at every page."""
KINDS = [
    "index",
    "start",
    "guide/distance",
    "guide/plan",
    "gallery/index",
    "reference/generated/steadytree.retrain",
    "reference/command-line",
    "background/claims",
    "faq",
]
"""One page of each kind; every other page waits for ``make test-slow``."""
MOST_BYTES = 1_000_000
"""Of the front page and all that it loads, compressed as web servers send it."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.getbasetemp(), gallery=False)


class Look:
    """A window on the site, and everything that must not happen in it."""

    def __init__(self, browser: Any, address: str, width: str, scheme: str) -> None:
        self.context = browser.new_context(
            viewport={"width": WIDTHS[width], "height": 900}, color_scheme=scheme
        )
        self.context.set_default_timeout(120_000)
        self.page = self.context.new_page()
        self.address = address
        self.problems: list[str] = []
        self.requests: list[str] = []
        self.page.on("request", self._on_request)
        if address.startswith("http"):
            # A file may not read its neighbours: then search shows titles without sentences.
            self.page.on("console", self._on_console)
            self.page.on("pageerror", lambda error: self.problems.append(f"error: {error}"))

    def _on_console(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.problems.append(f"console: {message.text} {message.location.get('url', '')}")

    def _on_request(self, request: Any) -> None:
        self.requests.append(request.url)
        if not request.url.startswith((self.address, "data:", "blob:")):
            self.problems.append(f"request: {request.url}")

    def open(self, name: str) -> Any:
        """Open a page of the site by its name."""
        self.page.goto(f"{self.address}/{name}")
        return self.page


@pytest.fixture
def look(browser: Any) -> Iterator[Any]:
    looks: list[Look] = []

    def at(address: str, width: str = "desktop", scheme: str = "light") -> Look:
        looks.append(Look(browser, address, width, scheme))
        return looks[-1]

    yield at
    for one in looks:
        one.context.close()
    assert [problem for one in looks for problem in one.problems] == []


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    with served(site) as (at, _):
        yield at


def faults_of(page: Any) -> list[str]:
    """What axe calls serious or critical, and whether the page is wider than its window."""
    # Preloading would look for style sheets where there are none.
    found = Axe().run(page, options={"preload": False}).response["violations"]
    faults = [
        f"{one['id']}: {one['nodes'][0]['html'][:200]}"
        for one in found
        if one["impact"] in ("serious", "critical")
    ]
    over = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    return faults + ([f"{over} pixels wider than the window"] if over > 0 else [])


@pytest.mark.parametrize(("width", "scheme"), OFTEN)
def test_one_page_of_each_kind_can_be_read(
    look: Any, address: str, width: str, scheme: str
) -> None:
    window = look(address, width, scheme)
    faults = {name: faults_of(window.open(f"{name}.html")) for name in KINDS}
    assert {name: found for name, found in faults.items() if found} == {}


@pytest.mark.slow
@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_every_page_can_be_read(
    look: Any, width: str, scheme: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """With the gallery run, as it is published."""
    whole = build(tmp_path_factory.getbasetemp(), gallery=True)
    faults: dict[str, list[str]] = {}
    with served(whole) as (at, _):
        window = look(at, width, scheme)
        for path in built_pages(whole):
            name = str(path.relative_to(whole))
            if found := faults_of(window.open(name)):
                faults[name] = found
    assert faults == {}


def test_the_front_page_is_light(look: Any, address: str, site: Path) -> None:
    window = look(address)
    window.open("index.html").wait_for_load_state("networkidle")
    files = {
        site / url.removeprefix(f"{address}/").partition("?")[0]
        for url in window.requests
        if url.startswith(address)
    }
    assert len(files) > 10
    assert sum(len(gzip.compress(file.read_bytes())) for file in files) < MOST_BYTES


def test_search_finds_without_a_server(look: Any, site: Path) -> None:
    page = look(site.resolve().as_uri()).open("search.html?q=dissimilarity")
    found = page.locator("ul.search li a", has_text="How far apart are two trees?")
    found.first.wait_for()
    assert found.first.get_attribute("href").startswith("guide/distance.html")


def test_the_way_from_the_front_page_to_a_report(look: Any, address: str) -> None:
    """Who decides in five minutes finds the start in one click."""
    page = look(address, "phone").open("index.html")
    page.locator("article a", has_text="five-minute start").click()
    page.wait_for_url("**/start.html")
    assert "report" in page.locator("article").inner_text()
