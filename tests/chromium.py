"""A real Chromium: pages must load without an error and without the network."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.programs import require_program

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-sync",
    "--no-first-run",
]


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    program = require_program("chromium", "chromium-browser", "google-chrome", package="chromium")
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield running
        running.close()


class Visit:
    """One page, and everything that must not happen on it."""

    def __init__(self, page: Any, path: Path) -> None:
        self.page = page
        self.path = path
        self.problems: list[str] = []
        page.on("console", self._on_console)
        page.on("pageerror", lambda error: self.problems.append(f"error: {error}"))
        page.on("dialog", self._on_dialog)
        page.on("request", self._on_request)
        page.goto(path.as_uri())

    def _on_console(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.problems.append(f"console: {message.text}")

    def _on_dialog(self, dialog: Any) -> None:
        self.problems.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _on_request(self, request: Any) -> None:
        if request.url != self.path.as_uri() and not request.url.startswith(
            self.path.as_uri() + "#"
        ):
            self.problems.append(f"request: {request.url}")


@pytest.fixture
def visit(browser: Any) -> Iterator[Any]:
    """Open a file in a fresh context; at the end nothing forbidden may have happened."""
    contexts: list[Any] = []
    visits: list[Visit] = []

    def open_page(path: Path, **options: Any) -> Any:
        options.setdefault("viewport", {"width": 1360, "height": 900})
        context = browser.new_context(**options)
        context.set_default_timeout(120_000)  # a busy machine is no fault of the page
        contexts.append(context)
        visits.append(Visit(context.new_page(), path))
        return visits[-1].page

    yield open_page
    for context in contexts:
        context.close()
    assert [problem for one in visits for problem in one.problems] == []
