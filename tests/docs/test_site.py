"""The site builds without a warning, and every link and anchor on it leads somewhere."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.docs.site import Page, build, built_pages, links_out, read_page, targets

KNOWN_HOSTS = {
    "arxiv.org": "the paper",
    "keepachangelog.com": "how the changelog is written",
    "mlflow.org": "what the page on MLflow is about",
    "modeldata.tidymodels.org": "where a table of the churn page is described",
    "semver.org": "how versions are counted",
    "sphinx-gallery.github.io": "the gallery's own footer",
}
"""Every other site that ours may lead to, and why."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.getbasetemp(), gallery=False)


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    return {path.resolve(): read_page(path) for path in built_pages(site)}


def test_the_pages_are_there(site: Path, pages: dict[Path, Page]) -> None:
    for name in ("index", "start", "guide/retraining", "reference/index", "gallery/index", "faq"):
        assert (site / f"{name}.html").resolve() in pages
    assert len(pages) > 100


def test_no_link_is_broken(pages: dict[Path, Page]) -> None:
    broken = Counter[str]()
    for page in pages.values():
        for address, file, place in targets(page, page.links):
            if not file.exists() or file.is_dir():
                broken[f"{page.path.name}: {address} is not there"] += 1
            elif place and file in pages and place not in pages[file].places:
                broken[f"{page.path.name}: no {place} on {file.name}"] += 1
    assert not broken


def test_pages_load_nothing_from_elsewhere(pages: dict[Path, Page]) -> None:
    for page in pages.values():
        assert [a for a in page.loaded if links_out(a) and not a.startswith("data:")] == []
        lacking = [a for a, file, _ in targets(page, page.loaded) if not file.exists()]
        assert lacking == []


def test_links_out_go_to_known_places(pages: dict[Path, Page]) -> None:
    hosts = {
        urlsplit(address).hostname
        for page in pages.values()
        for address in page.links
        if links_out(address)
    }
    assert hosts - {None} <= set(KNOWN_HOSTS)
