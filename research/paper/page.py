"""What the page says: the paper's number, ours and a verdict side by side, from ``results.json``.

How it is written as Markdown and HTML is in `research.paper.rendering`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from research.paper.content import Content
from research.paper.figures.drawing import Caption
from research.paper.findings import OURS, Finding, load_rules
from research.paper.findings.rules import RULES
from research.paper.overview import is_judged, overview_tables, summary_text
from research.paper.registry import EXPERIMENTS
from research.paper.settings import INFERRED
from research.paper.tables import Table

__all__ = ["Page", "Section", "build_page", "rules_of_run"]

TITLE = "The paper, regenerated"
INTRODUCTION = (
    "Every table and figure of “Improving Stability in Decision Tree Models” (Bertsimas and "
    "Digalakis Jr), computed again: on breast cancer, the paper's one public data set, and on five "
    "public stand-ins for its hospital data, which are similar in size and prevalence but are not "
    "the paper's data. “Paper's protocol”: 67 % train, the other 33 % both choose the tree and "
    "are reported on; rows are drawn without regard to the outcome and every tree is fitted by "
    "itself. “Honest protocol”: 33 % stay untouched until the end; a quarter of the 67 % chooses "
    "the tree and the rest trains; all parts keep the prevalence."
)
FILES = (
    "Every number of every split is in [tables/observations.csv](tables/observations.csv); the "
    "notebook `research/paper/paper.ipynb` reads it and judges three claims by hand."
)
BEYOND_TITLE = "Beyond the paper"


@dataclass(frozen=True)
class Section:
    """One experiment on the page."""

    name: str
    title: str
    where: str
    claims: tuple[Finding, ...]
    ours: tuple[Finding, ...]
    tables: tuple[Table, ...]
    figures: tuple[Caption, ...]


@dataclass(frozen=True)
class Page:
    """All that the page says.

    Attributes
    ----------
    summary : str
        The verdicts counted.
    facts : tuple of str
        How it was run, and what was left out.
    judging : tuple of str
        How claims are judged.
    provenance : tuple of str
        Where the numbers come from.
    overview : dict
        Tables of the whole page by name: see `research.paper.overview`.
    paper, beyond : tuple of Section
        Experiments of the paper, and others.
    """

    title: str
    introduction: str
    summary: str
    facts: tuple[str, ...]
    judging: tuple[str, ...]
    provenance: tuple[str, ...]
    overview: dict[str, Table]
    paper: tuple[Section, ...]
    beyond: tuple[Section, ...]

    @property
    def sections(self) -> tuple[Section, ...]:
        """All sections in their order."""
        return (*self.paper, *self.beyond)


def build_page(content: Content, figures: Sequence[Caption], notes: Sequence[str] = ()) -> Page:
    """Lay out the page.

    Parameters
    ----------
    content : Content
    figures : sequence of Caption
        Those that were drawn.
    notes : sequence of str
        What could not be made, beside the content's own notes.
    """
    sections = _sections(content, figures)
    shown = {section.name for section in sections}
    return Page(
        title=TITLE,
        introduction=INTRODUCTION,
        summary=summary_text(content.findings),
        facts=(*_facts(content.run), *content.notes, *notes),
        judging=_judging(content),
        provenance=_provenance(content.run),
        overview={table.name: table for table in overview_tables(content.findings, shown)},
        paper=tuple(s for s in sections if EXPERIMENTS[s.name].where),
        beyond=tuple(s for s in sections if not EXPERIMENTS[s.name].where),
    )


def _sections(content: Content, figures: Sequence[Caption]) -> list[Section]:
    """Group everything by experiment, in the order of the page; empty ones are left out."""
    sections = []
    for experiment in EXPERIMENTS.values():
        findings = [f for f in content.findings if f.experiment == experiment.name]
        section = Section(
            experiment.name,
            experiment.title,
            experiment.where or "beyond the paper",
            tuple(f for f in findings if f.name),
            tuple(f for f in findings if f.verdict == OURS),
            tuple(t for t in content.tables.values() if t.experiment == experiment.name),
            tuple(c for c in figures if c.experiment == experiment.name),
        )
        if findings or section.tables or section.figures:
            sections.append(section)
    return sections


def _facts(run: Mapping[str, Any]) -> list[str]:
    """Say what a reader must know to judge or repeat the run."""
    settings = run["settings"]
    whole = len(settings["depths"]) * len(settings["min_leaves"])
    points = min(settings.get("n_settings") or whole, whole)
    bootstraps = settings["n_bootstraps"]
    facts = [
        f"{settings['n_splits']} splits, {bootstraps} bootstraps × {points} settings = "
        f"{bootstraps * points} trees per collection, λ = 1.",
        "Under the paper's protocol every tree is fitted by itself with a seed of its own; under "
        "the honest one bootstraps are grown once to the largest depth and cut to the others. A "
        f"forest has {settings['forest_size']} trees; cross-validation has five folds and scores "
        "by AUC.",
        "In nasscds all occupants of a crash stay on one side of every split.",
        "The paper leaves open B, λ, the tolerance of its selection rule and the size of its "
        "forest; the values here are ours.",
        f"Data sets: {', '.join(run['datasets'])}.",
    ]
    if settings["name"] == INFERRED.name:
        facts.append(
            f"B = {bootstraps * points} is inferred, not stated by the paper: see "
            "`research/paper/inferred_size.py`."
        )
    if settings["max_rows"] is not None:
        facts.append(
            f"**Row limit**: at most {settings['max_rows']:,} random rows of each data set were "
            "used. This is not the full run."
        )
    else:
        facts.append("All rows of every data set were used.")
    return facts


def rules_of_run() -> dict[str, Any]:
    """Say by which rules a run is judged; goes into ``results.json``."""
    rules = load_rules()
    protocols = sorted({protocol for claim in rules.claims for protocol in claim.protocols})
    return {
        "frozen": rules.frozen,
        "digest": rules.digest,
        "level": rules.level,
        "claims": {protocol: len(rules.under(protocol)) for protocol in protocols},
    }


def _judging(content: Content) -> tuple[str, ...]:
    rules = content.run["rules"]
    if not any(f.name for f in content.findings):
        return (
            "The claims are about all six case studies: in a run on fewer, or without the "
            "experiments that they are about, they are not examined.",
        )
    name = f"`research/paper/{RULES.name}`"
    now = load_rules().digest
    same = (
        f"{name} is still that file"
        if now == rules["digest"]
        else f"**{name} has changed since** (SHA-256 now `{now}`)"
    )
    finished = str(content.run.get("provenance", {}).get("date", ""))
    older = bool(finished) and finished[:10] < rules["frozen"]
    level = f"{100 * rules['level']:g} %"
    each = {p: 1 - (1 - rules["level"]) / max(n, 1) for p, n in rules["claims"].items()}
    counts = "; ".join(
        f"{words}: {rules['claims'][p]} claims, {100 * each[p]:.2f} % each"
        for p, words in (("paper", "the paper's"), ("honest", "honest"), ("", "neither"))
        if p in each
    )
    facts = [
        f"The rules were frozen on {rules['frozen']} (SHA-256 `{rules['digest']}`); {same}."
        + (f" **The run is older than they are**: it ended on {finished}." if older else ""),
        "Each claim is one number from the long table `tables/observations.csv` and one or two "
        "ranges. It holds where the whole interval of the number lies in the range, holds in part "
        "where it lies in the wider one, does not hold where it lies outside, and cannot be told "
        "otherwise. A count of data sets runs from those that are clearly so to those that may be.",
        "Intervals allow for the training rows that splits have in common, and all intervals of "
        f"one protocol hold together with {level} ({counts}).",
        "A claim counts once in each protocol that it is about; other readings of it are shown "
        "and not counted.",
        "Ten splits of the same rows say little: with that many claims at once, most intervals are "
        "wide. “Cannot be told” is no refutation; where the claim as the paper states it is "
        "excluded, the table says so.",
    ]
    if not is_judged(content.findings):
        facts.insert(
            0,
            "**No verdicts**: this is a quick run. It prints numbers; only a full run is judged.",
        )
    return tuple(facts)


def _provenance(run: Mapping[str, Any]) -> tuple[str, ...]:
    told = run.get("provenance", {})
    facts = [f"Command: `{run['command']}`, seed {run['seed']}."]
    if told.get("commit"):
        changed = " with changes that were not committed" if told.get("dirty") else ""
        facts.append(f"Code: commit `{told['commit']}`{changed}.")
    seconds = told.get("seconds")
    taken = _duration(seconds if isinstance(seconds, Mapping) else {"run_wall": seconds})
    if told.get("date"):
        facts.append(f"Finished on {told['date']}{taken}.")
    versions = {
        "Python": told.get("python"),
        **told.get("packages", {}),
    }
    known = [f"{name} {version}" for name, version in versions.items() if version]
    if known:
        machine = f", on {told['platform']}" if told.get("platform") else ""
        facts.append(f"With {', '.join(known)}{machine}.")
    if run["code"]:  # there was work, so there are numbers of it
        facts.append(FILES)
    return tuple(facts)


def _duration(seconds: Mapping[str, Any]) -> str:
    words = (("run_wall", "by the clock"), ("units_processor", "of processor time in all units"))
    told = [f"{_time_text(seconds[key])} {what}" for key, what in words if seconds.get(key)]
    return f" after {' and '.join(told)}" if told else ""


def _time_text(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
