"""The page written as Markdown and as one HTML file.

The Markdown needs nothing but Python; the HTML is rendered by a template that escapes all text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from research.paper.findings import VERDICTS, Finding
from research.paper.overview import JOIN, PROTOCOL_NAMES
from research.paper.page import BEYOND_TITLE, Page, Section
from research.paper.tables import Table, format_value

__all__ = ["render_html", "render_markdown"]

VERDICT_CLASSES = dict(zip(VERDICTS, ("yes", "part", "no", "open"), strict=True))


@dataclass(frozen=True)
class Cell:
    """A cell: pieces of text with the place each leads to, or none, and its style."""

    parts: tuple[tuple[str, str], ...]
    style: str = ""


def _cells(page: Page, table: Table) -> list[tuple[str, list[Cell]]]:
    """Lay out a table with its links; each row with the name that links to it use."""
    sections = {section.name for section in page.sections}
    claims = {row["name"] for row in page.overview["claims"].rows} if _has_claims(page) else set()
    anchors: set[str] = set()
    rows = []
    for row in table.rows:
        cells = []
        for column in table.columns:
            text = format_value(row.get(column.key), column.style)
            style = "" if column.style == "text" else "number"
            parts: tuple[tuple[str, str], ...] = ((text, ""),)
            if table.name == "catalogue" and column.key in ("experiments", "claims"):
                known, prefix = (
                    (sections, "") if column.key == "experiments" else (claims, "claim-")
                )
                parts = tuple((t, f"#{prefix}{t}" if t in known else "") for t in text.split(JOIN))
            elif table.name in ("claims", "ours_alone") and column.key == "claim":
                parts = ((text, f"#{row['experiment']}" if row["experiment"] in sections else ""),)
            elif column.key == "verdict":
                style = VERDICT_CLASSES.get(text, "")
            cells.append(Cell(parts, style))
        # A claim of two protocols has two rows; links lead to the first.
        anchor = f"claim-{row['name']}" if table.name == "claims" else ""
        rows.append(("" if anchor in anchors else anchor, cells))
        anchors.add(anchor)
    return rows


def _has_claims(page: Page) -> bool:
    return "claims" in page.overview


# -- Markdown -------------------------------------------------------------------------------------


def render_markdown(page: Page) -> str:
    """Write the page as Markdown."""
    lines = [f"# {page.title}", "", page.introduction, "", f"**{page.summary}**", ""]
    lines += _overview(page, "verdicts")
    for title, facts in (
        ("How claims are judged", page.judging),
        ("How it was run", page.facts),
        ("Where the numbers come from", page.provenance),
    ):
        lines += ["", f"## {title}", "", *(f"- {fact}" for fact in facts)]
    if _has_claims(page):
        lines += ["", "## All claims", "", *_overview(page, "claims")]
    lines += ["", "## The paper, item by item", "", *_overview(page, "catalogue")]
    for section in page.paper:
        lines += _markdown_section(section)
    if page.beyond:
        lines += ["", f"## {BEYOND_TITLE}", "", *_overview(page, "ours_alone")]
        for section in page.beyond:
            lines += _markdown_section(section)
    return "\n".join(lines).rstrip() + "\n"


def _overview(page: Page, name: str) -> list[str]:
    if name not in page.overview:
        return []
    table = page.overview[name]
    rows = [
        [
            (f'<a id="{anchor}"></a>' if anchor and at == 0 else "") + _linked(cell)
            for at, cell in enumerate(cells)
        ]
        for anchor, cells in _cells(page, table)
    ]
    return _markdown_table(table, rows)


def _linked(cell: Cell) -> str:
    return JOIN.join(f"[{text}]({to})" if to else text for text, to in cell.parts)


def _markdown_section(section: Section) -> list[str]:
    # Headings get a name of their own: those that hosts make differ from one host to another.
    lines = ["", f'<a id="{section.name}"></a>', "", f"## {section.title}", ""]
    lines += [f"*{section.where}*", "", *(_finding_line(f) for f in section.claims)]
    if section.ours:
        lines += ["", "Ours alone:", "", *(_finding_line(f) for f in section.ours)]
    for caption in section.figures:
        lines += ["", f"![{caption.text}](figures/{caption.name}.png)", "", f"*{caption.text}*"]
    for table in section.tables:
        if table.on_page:
            lines += ["", *_markdown_table(table, table.shown())]
        else:
            lines += ["", f"{table.title}: [`{table.name}.csv`](tables/{table.name}.csv)."]
    return lines


def _finding_line(finding: Finding) -> str:
    protocol = f" ({PROTOCOL_NAMES[finding.protocol]} protocol)" if finding.protocol else ""
    judged = f" *{finding.verdict.capitalize()}.*" if finding.verdict in VERDICTS else ""
    return (
        f"- **{finding.claim}**{protocol} Paper: {finding.paper}. Ours: {finding.ours}."
        f"{judged} {finding.sentence}"
    )


def _markdown_table(table: Table, rows: Sequence[Sequence[str]]) -> list[str]:
    def line(cells: Sequence[str]) -> str:
        # A bar or a line break inside a cell would break the table.
        return "| " + " | ".join(c.replace("|", "\\|").replace("\n", " ") for c in cells) + " |"

    files = f"[CSV](tables/{table.name}.csv), [LaTeX](tables/{table.name}.tex)"
    heading = [column.heading for column in table.columns]
    lines = [f"**{table.title}** ({files})", "", line(heading), "|" + " --- |" * len(heading)]
    return [*lines, *(line(row) for row in rows), *(["", table.note] if table.note else [])]


# -- HTML -----------------------------------------------------------------------------------------


def render_html(page: Page) -> str:
    """Write the page as one HTML file; figures lie beside it."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("research.paper", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    written: str = environment.get_template("page.html.jinja").render(
        page=page,
        beyond_title=BEYOND_TITLE,
        cells=lambda table: _cells(page, table),
        pieces=_pieces,
        join=JOIN,
        protocols=PROTOCOL_NAMES,
        verdict_classes=VERDICT_CLASSES,
    )
    return written


_MARKED = re.compile(
    r"`(?P<code>[^`]+)`|\*\*(?P<strong>.+?)\*\*|\[(?P<text>[^]]+)\]\((?P<to>[^)]+)\)"
)


def _pieces(fact: str) -> list[dict[str, Any]]:
    """Take a sentence apart into plain text, code, strong words and links."""
    found: list[dict[str, Any]] = []
    end = 0
    for match in _MARKED.finditer(fact):
        found += [{"plain": fact[end : match.start()]}, match.groupdict()]
        end = match.end()
    return [*found, {"plain": fact[end:]}]
