"""The site, built once for all tests from a copy of its sources, and its pages read as HTML."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from tests.docs.fences import ROOT

__all__ = ["Page", "build", "built_pages", "links_out", "read_page"]

SOURCES = ("docs", "examples", "research", "tests", "src", "CHANGELOG.md", "CONTRIBUTING.md")
OPTIONS = ("-W", "--keep-going", "-q", "-b", "html")
LEFT_OUT = (
    "_build",
    "gallery",
    "generated",
    "backreferences",
    "pyodide",
    "__pycache__",
)


def build(temporary: Path, *, gallery: bool) -> Path:
    """Build the site below pytest's folder, or find it built there; warnings are errors.

    Workers of pytest share the folder: the first to come builds, the others wait. The sources
    are copied, because the gallery writes among them.
    """
    shared = temporary.parent if "PYTEST_XDIST_WORKER" in os.environ else temporary
    folder = shared / ("site-with-gallery" if gallery else "site")
    folder.mkdir(parents=True, exist_ok=True)
    site = folder / "html"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "done").exists():
            for name in SOURCES:
                source, target = ROOT / name, folder / "source" / name
                target.parent.mkdir(parents=True, exist_ok=True)
                if name in ("docs", "examples"):
                    shutil.copytree(source, target, ignore=shutil.ignore_patterns(*LEFT_OUT))
                elif source.is_file():
                    shutil.copy(source, target)
                else:
                    target.symlink_to(source)
            sources = str(folder / "source" / "docs")
            done = subprocess.run(
                [sys.executable, "-m", "sphinx", *OPTIONS, sources, str(site)],
                env={**os.environ, "STEADYTREE_DOCS_QUICK": "" if gallery else "1"},
                capture_output=True,
                text=True,
                check=False,
            )
            (folder / "done").write_text(done.stderr if done.returncode else "")
    problems = (folder / "done").read_text()
    assert not problems, problems[-6000:]
    return site


@dataclass
class Page(HTMLParser):
    """What a page links to, what it loads, and which places on it can be linked to."""

    path: Path
    links: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)
    places: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        HTMLParser.__init__(self)
        self.feed(self.path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag refers to."""
        given = {name: value or "" for name, value in attrs}
        for name in ("id", "name"):
            if given.get(name):
                self.places.add(given[name])
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        if tag == "link" and "href" in given and given.get("rel") not in ("canonical",):
            self.loaded.append(given["href"])
        if given.get("src"):
            self.loaded.append(given["src"])


def read_page(path: Path) -> Page:
    """Parse one page."""
    return Page(path)


def built_pages(site: Path) -> list[Path]:
    """Return the pages of a built site; `_static` and downloads are not pages."""
    found = (p for p in site.rglob("*.html") if not set(p.parts) & {"_static", "_downloads"})
    return sorted(found)


def links_out(address: str) -> bool:
    """Whether an address leads out of the site."""
    return bool(urlsplit(address).scheme or address.startswith("//"))


def targets(page: Page, addresses: list[str]) -> Iterator[tuple[str, Path, str]]:
    """Yield each address within the site, the file it names and the place on it."""
    for address in addresses:
        if not links_out(address):
            parts = urlsplit(address)
            name = unquote(parts.path)
            yield (
                address,
                (page.path.parent / name).resolve() if name else page.path,
                unquote(parts.fragment),
            )
