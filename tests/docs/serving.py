"""A server for pages that do not run from a file, on this machine alone."""

from __future__ import annotations

import functools
import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

__all__ = ["served"]


class Server(http.server.ThreadingHTTPServer):
    """A server that remembers what it was asked for."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.asked: list[str] = []

    def handle_error(self, *_: Any) -> None:
        """Say nothing: who cancels hangs up in the middle of a file."""


class Files(http.server.SimpleHTTPRequestHandler):
    """Files as any server gives them."""

    def log_message(self, *words: Any) -> None:
        self.server.asked.append(self.path)  # type: ignore[attr-defined]


@contextmanager
def served(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """Serve a folder on this machine; yields its address and what was asked of it."""
    handler = functools.partial(Files, directory=str(folder))
    with Server(("127.0.0.1", 0), handler) as server:
        running = threading.Thread(target=server.serve_forever, daemon=True)
        running.start()
        yield f"http://127.0.0.1:{server.server_port}", server.asked
        server.shutdown()
        running.join()
