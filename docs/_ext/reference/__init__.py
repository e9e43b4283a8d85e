"""Parts of the reference that the package itself knows: written into pages when they are read.

A page holds an empty block such as ``{schema-fields} steadytree.tree tree.schema.json``. In its
place stands what the function of that name returns, in Markdown, so that headings, links and the
search see it like everything else on the page.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reference.commands import commands, exit_codes
from reference.errors import error_facts
from reference.registries import registry
from reference.schemas import schema_fields

if TYPE_CHECKING:
    from sphinx.application import Sphinx

__all__ = ["WRITERS", "setup", "write_out"]

WRITERS: dict[str, Callable[..., str]] = {
    "commands": commands,
    "error-facts": error_facts,
    "exit-codes": exit_codes,
    "registry": registry,
    "schema-fields": schema_fields,
}
"""What may stand in a page, and who writes it; words after the name are the arguments."""

_BLOCK = re.compile(rf"^```\{{({'|'.join(WRITERS)})\}} *(.*)\n```$", re.MULTILINE)


def write_out(text: str) -> str:
    """Return a page with everything in place that the package knows."""
    return _BLOCK.sub(lambda found: WRITERS[found[1]](*found[2].split()).strip(), text)


def _on_read(app: Sphinx, docname: str, source: list[str]) -> None:
    source[0] = write_out(source[0])


def _always_read(app: Sphinx, env: Any, *_: object) -> Iterable[str]:
    """Name the pages that may differ although their files are the same."""
    for name in env.found_docs:
        if name.startswith("reference/") and name.count("/") == 1:
            yield name


def _add_style(app: Sphinx) -> None:
    app.config.html_static_path.append(str(Path(__file__).parent / "static"))
    app.add_css_file("reference.css")


def setup(app: Sphinx) -> dict[str, bool]:
    """Let Sphinx call us whenever it reads a page."""
    app.connect("builder-inited", _add_style)
    app.connect("source-read", _on_read)
    app.connect("env-get-outdated", lambda *given: list(_always_read(*given)))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
