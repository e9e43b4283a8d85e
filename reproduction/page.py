"""One page that puts the paper's number, ours and a sentence side by side, as Markdown and HTML.

The Markdown needs nothing but Python; the HTML is rendered by a template that escapes all text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reproduction.figures.drawing import Caption
from reproduction.findings import VERDICTS, Finding
from reproduction.registry import EXPERIMENTS
from reproduction.settings import Settings
from reproduction.tables import Table
from steadytree._optional import import_optional

__all__ = [
    "Section",
    "build_sections",
    "facts_of",
    "render_html",
    "render_markdown",
    "summary_text",
]

TITLE = "The paper, regenerated"
INTRODUCTION = (
    "Every table and figure of “Improving Stability in Decision Tree Models” (Bertsimas and "
    "Digalakis Jr), computed again: on breast cancer, the paper's one public data set, and on five "
    "public stand-ins for its hospital data, which are similar in size and prevalence but are not "
    "the paper's data. “Paper's protocol”: 67 % train, the other 33 % both choose the tree and "
    "are reported on. “Honest protocol”: the same 33 % stay untouched until the end; a quarter "
    "of the 67 % chooses the tree and the rest trains. Verdicts and sentences are chosen by rules "
    "from the numbers."
)


@dataclass(frozen=True)
class Section:
    """One experiment on the page."""

    name: str
    title: str
    where: str
    findings: tuple[Finding, ...]
    tables: tuple[Table, ...]
    figures: tuple[Caption, ...]


def build_sections(
    tables: Mapping[str, Table], findings: Sequence[Finding], figures: Sequence[Caption]
) -> list[Section]:
    """Group everything by experiment, in the order of the page; empty ones are left out."""
    sections = []
    for experiment in EXPERIMENTS.values():
        section = Section(
            experiment.name,
            experiment.title,
            experiment.where or "beyond the paper",
            tuple(f for f in findings if f.experiment == experiment.name),
            tuple(t for t in tables.values() if t.experiment == experiment.name),
            tuple(c for c in figures if c.experiment == experiment.name),
        )
        if section.findings or section.tables or section.figures:
            sections.append(section)
    return sections


def summary_text(findings: Sequence[Finding]) -> str:
    """Count the verdicts in one sentence."""
    counts = Counter(f.verdict for f in findings)
    judged = sum(counts[v] for v in VERDICTS[:3])
    if not judged:
        return "No claim of the paper was examined in this run."
    return (
        f"Of {judged} comparisons with the paper's claims, {counts['holds']} hold, "
        f"{counts['holds in part']} hold in part and {counts['does not hold']} do not."
    )


def facts_of(settings: Settings, seed: int, names: Sequence[str], command: str) -> list[str]:
    """Say what a reader must know to judge or repeat the run."""
    facts = [
        f"Command: `{command}`.",
        f"{settings.n_splits} splits, {settings.n_bootstraps} bootstraps × "
        f"{len(settings.depths) * len(settings.min_leaves)} settings = "
        f"{settings.trees_per_collection} trees per collection, λ = 1, seed {seed}.",
        "Bootstraps are grown once to the largest depth and cut to the others; a forest has "
        f"{settings.forest_size} trees; cross-validation has five folds and scores by AUC.",
        "Splits keep the prevalence; in nasscds all occupants of a crash stay on one side.",
        "The paper leaves open B, λ, the tolerance of its selection rule and the size of its "
        "forest; the values here are ours.",
        f"Data sets: {', '.join(names)}.",
    ]
    if settings.max_rows is not None:
        facts.append(
            f"**Row limit**: at most {settings.max_rows:,} random rows of each data set were "
            "used. This is a quick run, not the full one."
        )
    else:
        facts.append("All rows of every data set were used.")
    return facts


def render_markdown(sections: Sequence[Section], facts: Sequence[str], notes: Sequence[str]) -> str:
    """Write the page as Markdown."""
    findings = [f for section in sections for f in section.findings]
    lines = [f"# {TITLE}", "", INTRODUCTION, "", *(f"- {fact}" for fact in facts)]
    lines += [f"- {note}" for note in notes]
    lines += ["", "## In short", "", summary_text(findings), ""]
    lines += _markdown_table(
        ["Experiment", "Protocol", "Claim", "Paper", "Ours", "Verdict"],
        [[f.experiment, f.protocol, f.claim, f.paper, f.ours, f.verdict] for f in findings],
    )
    for section in sections:
        lines += ["", f"## {section.title}", "", f"*{section.where}*", ""]
        for f in section.findings:
            lines += [_finding_line(f)]
        for caption in section.figures:
            lines += ["", f"![{caption.text}](figures/{caption.name}.png)", "", f"*{caption.text}*"]
        for table in section.tables:
            if not table.on_page:
                lines += ["", f"{table.title}: [`{table.name}.csv`](tables/{table.name}.csv)."]
                continue
            lines += ["", f"**{table.title}** ([CSV](tables/{table.name}.csv))", ""]
            lines += _markdown_table([c.heading for c in table.columns], table.shown())
            if table.note:
                lines += ["", table.note]
    return "\n".join(lines).rstrip() + "\n"


def _finding_line(finding: Finding) -> str:
    protocol = f" ({finding.protocol} protocol)" if finding.protocol else ""
    return (
        f"- **{finding.claim}**{protocol} Paper: {finding.paper}. Ours: {finding.ours}. "
        f"*{finding.verdict.capitalize()}.* {finding.sentence}"
    )


def _markdown_table(heading: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[str]:
    if not rows:
        return []

    def line(cells: Sequence[Any]) -> str:
        # A bar or a line break inside a cell would break the table.
        return (
            "| " + " | ".join(str(c).replace("|", "\\|").replace("\n", " ") for c in cells) + " |"
        )

    return [line(heading), "|" + " --- |" * len(heading), *(line(row) for row in rows)]


def render_html(sections: Sequence[Section], facts: Sequence[str], notes: Sequence[str]) -> str:
    """Write the page as one HTML file; figures lie beside it."""
    jinja2 = import_optional("jinja2", extra="report", purpose="the HTML page of the paper")
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("reproduction", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    findings = [f for section in sections for f in section.findings]
    page: str = environment.get_template("page.html.jinja").render(
        title=TITLE,
        introduction=INTRODUCTION,
        facts=[fact.replace("`", "").replace("**", "") for fact in facts],
        notes=list(notes),
        summary=summary_text(findings),
        sections=sections,
        classes={
            "holds": "yes",
            "holds in part": "part",
            "does not hold": "no",
            "ours alone": "ours",
        },
    )
    return page
