"""The page: verdicts counted by protocol, each claim once, and none in a quick run."""

from __future__ import annotations

import csv
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from research.paper.catalogue import CATALOGUE
from research.paper.content import Content
from research.paper.findings import (
    OURS,
    VERDICTS,
    Finding,
    beyond_findings,
    judge_claims,
    load_rules,
)
from research.paper.overview import overview_tables, summary_text
from research.paper.page import build_page
from research.paper.regenerate import Regenerated, regenerate
from research.paper.rendering import VERDICT_CLASSES, render_html, render_markdown
from research.paper.settings import QUICK
from tests.research.paper.tiny import TINY

TEMPLATE = Path(__file__).parents[3] / "research" / "paper" / "templates" / "page.html.jinja"


def finding(name: str, protocol: str, verdict: str) -> Finding:
    return Finding("accuracy", protocol, f"{name}?", "6", "5", verdict, "Rule: …", name)


FINDINGS = [
    finding("a", "paper", "holds"),
    replace(finding("b", "paper", "cannot be told"), stated="excluded"),
    finding("a", "honest", "does not hold"),
    finding("c", "", "holds in part"),
    finding("", "paper", OURS),
]


@pytest.fixture(scope="module")
def content(whole: Regenerated) -> Content:
    return Content.read(whole.out)


def rows_of(done: Regenerated, name: str) -> list[dict[str, str]]:
    text = (done.out / "tables" / f"{name}.csv").read_text()
    return list(csv.DictReader(text.splitlines()))


def text_of(content: Content) -> str:
    return render_markdown(build_page(content, []))


def test_verdicts_are_counted_by_protocol_and_what_is_ours_is_not() -> None:
    assert summary_text(FINDINGS) == (
        "Under the paper's protocol, of 2 claims 1 hold, 0 hold in part, 0 do not hold and 1 "
        "cannot be told; excluded as the paper states them: 1. Under the honest protocol, of 1 "
        "claims 0 hold, 0 hold in part, 1 do not hold and 0 cannot be told; excluded as the paper "
        "states them: 0. Where no protocol matters, of 1 claims 0 hold, 1 hold in part, 0 do not "
        "hold and 0 cannot be told; excluded as the paper states them: 0."
    )
    tables = {t.name: t for t in overview_tables(FINDINGS, ["accuracy"])}
    assert [row["claims"] for row in tables["verdicts"].rows] == [2, 1, 1]
    assert [row["excluded"] for row in tables["verdicts"].rows] == [1, 0, 0]
    assert [row["name"] for row in tables["claims"].rows] == ["a", "b", "a", "c"]
    assert len(tables["ours_alone"].rows) == 1


def test_nothing_examined_and_nothing_judged_are_told_apart() -> None:
    assert "No claim of the paper was examined" in summary_text(FINDINGS[-1:])
    numbers = [replace(f, verdict="") for f in FINDINGS[:4]]
    assert "no claim was judged" in summary_text(numbers)
    tables = {t.name: t for t in overview_tables(numbers, [])}
    assert "verdicts" not in tables
    assert "Verdict" not in [c.heading for c in tables["claims"].columns]


def test_every_claim_of_the_run_is_in_the_table_once_in_each_protocol(whole: Regenerated) -> None:
    rows = rows_of(whole, "claims")
    told = [(row["name"], row["protocol"]) for row in rows]
    assert len(told) == len(set(told)) == sum(bool(f.name) for f in whole.findings)
    assert {row["verdict"] for row in rows} <= set(VERDICTS)
    counts = rows_of(whole, "verdicts")
    assert sum(int(row["claims"]) for row in counts) == len(rows)


def test_the_page_puts_the_papers_number_beside_ours(whole: Regenerated) -> None:
    for page in ("index.md", "index.html"):
        text = (whole.out / page).read_text()
        for words in (
            "38 % (4.056 to 2.511)",
            "22.2 %",
            "worst perimeter",
            "stand-in",
            "not the paper&#39;s data" if page.endswith("html") else "not the paper's data",
            "Row limit",
            "at most 400 random rows",
            load_rules().digest,
            load_rules().frozen,
            "hold together with 95 %",
        ):
            assert words in text, words
    assert whole.summary in (whole.out / "index.md").read_text()


def test_what_is_ours_alone_stands_under_a_heading_of_its_own(content: Content) -> None:
    text = text_of(content)
    paper, beyond = text.split("\n## Beyond the paper\n")
    (question,) = (f.claim for f in content.findings if f.experiment == "optimism")
    assert question not in paper
    assert question in beyond
    claims = paper.split("\n## All claims\n")[1]
    assert content.findings[0].claim in claims


def test_every_verdict_follows_from_the_rules_and_the_long_table(whole: Regenerated) -> None:
    again = judge_claims(rows_of(whole, "observations"), load_rules())
    assert again
    assert again == [f for f in Content.read(whole.out).findings if f.name]


def test_a_quick_run_prints_numbers_and_no_verdict(whole: Regenerated) -> None:
    rows = rows_of(whole, "observations")
    numbers = judge_claims(rows, load_rules(), verdicts=False)
    content = Content.read(whole.out)
    quick = replace(content, findings=[*numbers, *beyond_findings(content.tables)])
    page = build_page(quick, [])
    for text in (render_markdown(page), render_html(page)):
        assert "No verdicts" in text
        assert "38 % (4.056 to 2.511)" in text
        assert 'class="verdict' not in text
        for verdict in VERDICTS:
            assert f"| {verdict} |" not in text
            assert f"*{verdict.capitalize()}.*" not in text


def test_the_quick_settings_judge_nothing(tmp_path: Path) -> None:
    settings = replace(TINY, name=QUICK.name)
    found = regenerate(tmp_path, settings=settings, only=["indirect"], draw=False)
    assert {f.verdict for f in found.findings} == {""}
    assert "no claim was judged" in found.summary


def test_fewer_than_six_case_studies_are_not_held_against_claims_about_six(tmp_path: Path) -> None:
    found = regenerate(tmp_path, settings=TINY, only=["indirect"], data=["wdbc"], draw=False)
    assert found.findings == []
    assert "The claims are about all six case studies" in (tmp_path / "index.md").read_text()


def test_a_changed_file_of_rules_and_a_run_older_than_it_show(content: Content) -> None:
    text = text_of(content)
    assert "`research/paper/rules.toml` is still that file" in text
    changed = {**content.run["rules"], "digest": "0" * 64}
    run = {**content.run, "rules": changed, "provenance": {"date": "2020-01-01T00:00:00Z"}}
    text = text_of(replace(content, run=run))
    assert "has changed since" in text
    assert "The run is older than they are" in text


def test_where_the_numbers_come_from_is_told_as_far_as_it_is_known(content: Content) -> None:
    told = {
        "commit": "c0ffee",
        "dirty": True,
        "date": "2099-01-01T10:00:00Z",
        "python": "3.12.1",
        "platform": "Linux-6",
        "packages": {"numpy": "2.1.0"},
        "seconds": {"run_wall": 7200.0, "units_processor": 600.0},
    }
    text = text_of(replace(content, run={**content.run, "provenance": told}))
    for words in (
        "Command: `python -m research.paper`, seed 0.",
        "commit `c0ffee` with changes that were not committed",
        "2099-01-01T10:00:00Z after 2.0 h by the clock and 10 min of processor time",
        "With Python 3.12.1, numpy 2.1.0, on Linux-6.",
    ):
        assert words in text
    bare = text_of(replace(content, run={**content.run, "provenance": {}}))
    assert "commit `" not in bare


def test_every_item_of_the_paper_has_its_place(whole: Regenerated) -> None:
    text = (whole.out / "index.md").read_text()
    table = text.split("\n## The paper, item by item\n")[1].split("\n## ")[0]
    for item in CATALOGUE:
        assert f"| {item.title} |" in table
    assert "[frontier-sizes](#frontier-sizes)" in table
    assert "[frontier-mean](#claim-frontier-mean)" in table
    # What this run has not done leads nowhere, and says so.
    links = set(re.findall(r"\]\(#([^)]+)\)", text))
    assert links <= set(re.findall(r'<a id="([^"]+)">', text))


def contrast(one: str, other: str) -> float:
    """Contrast ratio of two colours, as WCAG defines it."""

    def luminance(colour: str) -> float:
        full = colour if len(colour) == 6 else "".join(2 * letter for letter in colour)
        parts = [int(full[i : i + 2], 16) / 255 for i in (0, 2, 4)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("name", VERDICT_CLASSES.values())
def test_every_verdict_has_a_style_that_can_be_read(name: str) -> None:
    found = re.search(rf"\.{name} {{ color: #(\w+); background: #(\w+)", TEMPLATE.read_text())
    assert found is not None
    assert contrast(*found.groups()) >= 7


class _Text(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def test_text_with_signs_of_its_own_is_shown_as_it_stands(content: Content) -> None:
    odd = replace(content.findings[0], ours="<b>1 & 2</b> | 3")
    page = build_page(replace(content, findings=[odd]), [])
    reader = _Text()
    reader.feed(render_html(page))
    assert "<b>1 & 2</b> | 3" in " ".join(reader.words)
    assert "<b>1 & 2</b> \\| 3 |" in render_markdown(page)
