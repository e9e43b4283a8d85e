"""The page's tables of everything: verdicts counted, all claims, what is ours alone, the catalogue.

They are made from findings and from the catalogue alone, and lie as files beside the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from research.paper.catalogue import CATALOGUE
from research.paper.findings import OURS, VERDICTS, Finding
from research.paper.tables import Column, Table, with_rows

__all__ = ["JOIN", "PROTOCOL_NAMES", "is_judged", "overview_tables", "summary_text"]

PROTOCOL_NAMES = {"paper": "the paper's", "honest": "honest", "": "neither"}

_PLURAL = dict(
    zip(VERDICTS, ("hold", "hold in part", "do not hold", "cannot be told"), strict=True)
)

JOIN = ", "
"""Between the names in one cell of the catalogue."""


def is_judged(findings: Sequence[Finding]) -> bool:
    """Whether any claim has a verdict."""
    return any(f.verdict in VERDICTS for f in findings)


def summary_text(findings: Sequence[Finding]) -> str:
    """Count the verdicts by protocol, a sentence each."""
    if not any(f.name for f in findings):
        return "No claim of the paper was examined in this run."
    if not is_judged(findings):
        return "Numbers only: a run of this size decides nothing, so no claim was judged."
    told = []
    for protocol, name in PROTOCOL_NAMES.items():
        counts = _counts(findings, protocol)
        if not counts.total():
            continue
        where = f"Under {'the ' if protocol == 'honest' else ''}{name} protocol"
        words = [f"{counts[verdict]} {_PLURAL[verdict]}" for verdict in VERDICTS]
        told.append(
            f"{where if protocol else 'Where no protocol matters'}, of {counts.total()} claims "
            f"{', '.join(words[:-1])} and {words[-1]}; excluded as the paper states them: "
            f"{_excluded(findings, protocol)}."
        )
    return " ".join(told)


def _excluded(findings: Sequence[Finding], protocol: str) -> int:
    """Count the claims of one protocol whose interval lies wholly outside what the paper says."""
    return len({f.name for f in findings if f.protocol == protocol and f.stated == "excluded"})


def _counts(findings: Sequence[Finding], protocol: str) -> Counter[str]:
    """Verdicts of the claims of one protocol; each claim is judged once in it."""
    by_name = {f.name: f.verdict for f in findings if f.name and f.protocol == protocol}
    return Counter(verdict for verdict in by_name.values() if verdict in VERDICTS)


def overview_tables(findings: Sequence[Finding], shown: Collection[str]) -> list[Table]:
    """Make the tables that there is something for.

    Parameters
    ----------
    findings : sequence of Finding
    shown : collection of str
        Experiments that have a section on the page.
    """
    return with_rows(
        _verdicts(findings),
        _claims(findings),
        _catalogue(shown),
        _ours_alone(findings),
    )


def _verdicts(findings: Sequence[Finding]) -> Table:
    rows = []
    for protocol, name in PROTOCOL_NAMES.items():
        counts = _counts(findings, protocol)
        if counts.total():
            verdicts = {verdict: counts[verdict] for verdict in VERDICTS}
            excluded = _excluded(findings, protocol)
            row = {"protocol": name, "claims": counts.total(), **verdicts, "excluded": excluded}
            rows.append(row)
    return Table(
        "verdicts",
        "",
        "Verdicts by protocol, each claim counted once in each",
        (
            Column("protocol", "Protocol"),
            Column("claims", "Claims", "int"),
            *(Column(verdict, verdict.capitalize(), "int") for verdict in VERDICTS),
            Column("excluded", "As stated: excluded", "int"),
        ),
        rows,
        "A claim judged under both protocols is in both rows, so the rows are not to be added.",
    )


def _claims(findings: Sequence[Finding]) -> Table:
    judged = is_judged(findings)
    columns = [
        Column("name", "Name"),
        Column("protocol", "Protocol"),
        Column("claim", "Claim"),
        Column("paper", "Paper"),
        Column("ours", "Ours, with its interval"),
        Column("rule", "Rule"),
    ]
    judgements = [
        Column("stated", "As stated"),
        Column("alone", "On its own"),
        Column("verdict", "Verdict"),
    ]
    rows = [
        {
            "name": f.name,
            "protocol": PROTOCOL_NAMES[f.protocol],
            "claim": f.claim,
            "paper": f.paper,
            "ours": f.ours,
            "rule": f.sentence.removeprefix("Rule: "),
            "experiment": f.experiment,
            **{key: getattr(f, key) for key in ("value", "low", "high", "level")},
            **{key: getattr(f, key) for key in ("stated", "alone", "verdict")},
        }
        for f in findings
        if f.name
    ]
    return Table(
        "claims",
        "",
        "All claims of the paper" + ("" if judged else " (numbers only, nothing is judged)"),
        tuple(columns + (judgements if judged else [])),
        rows,
        "Names are those of research/paper/rules.toml. As stated: what the interval does to the "
        "claim itself, whatever becomes of a weaker form of it. On its own: the verdict if this "
        "were the only claim judged, by an interval of 95 %. Neither is counted.",
    )


def _ours_alone(findings: Sequence[Finding]) -> Table:
    return Table(
        "ours_alone",
        "",
        "What we measured beyond the paper",
        (
            Column("claim", "Question"),
            Column("protocol", "Protocol"),
            Column("paper", "Paper"),
            Column("ours", "Ours"),
            Column("sentence", "In words"),
        ),
        [
            {
                "claim": f.claim,
                "protocol": PROTOCOL_NAMES[f.protocol],
                "paper": f.paper,
                "ours": f.ours,
                "sentence": f.sentence,
                "experiment": f.experiment,
            }
            for f in findings
            if f.verdict == OURS
        ],
    )


def _catalogue(shown: Collection[str]) -> Table:
    rows = []
    for item in CATALOGUE:
        here = [name for name in item.experiments if name in shown]
        elsewhere = [item.elsewhere] if item.elsewhere else []
        rows.append(
            {
                "title": item.title,
                "says": item.says,
                "experiments": JOIN.join([*here, *elsewhere]) or "not in this run",
                "claims": JOIN.join(item.claims) or "–",
                "label": item.label,
            }
        )
    return Table(
        "catalogue",
        "",
        "Everything the paper states or shows, and where it is regenerated",
        (
            Column("title", "In the paper"),
            Column("says", "What it is"),
            Column("experiments", "Where it is here"),
            Column("claims", "Claims it is judged by"),
        ),
        rows,
        "Definitions and proofs are checked by tests of the library, named by their files.",
    )
