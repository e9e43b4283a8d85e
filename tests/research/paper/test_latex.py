"""Tables for papers: they compile where there is a LaTeX, and are well formed everywhere."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from research.paper.latex import LONGEST, escape, latex_table
from research.paper.regenerate import Regenerated
from research.paper.tables import Column, Table

ENGINE = next((p for p in ("pdflatex", "xelatex", "lualatex", "tectonic") if shutil.which(p)), None)


def small(rows: int = 1) -> Table:
    columns = (Column("a", "50 % & more"), Column("b", "Share", "share"))
    given = [{"a": "x_1 <= 3 {y}", "b": -0.25}] * rows
    return Table("small_table", "", "A title", columns, given, "Note: λ² ≤ 1.")


def unescaped(text: str, signs: str) -> list[str]:
    """Signs that LaTeX reads as its own, without those behind a backslash."""
    return re.findall(f"[{signs}]", re.sub(r"\\[\\{}&%$#_]", "", text))


def check(text: str) -> None:
    """Braces close, and every line of cells has as many as there are columns."""
    depth = 0
    for sign in unescaped(text, "{}"):
        depth += 1 if sign == "{" else -1
        assert depth >= 0
    assert depth == 0
    found = re.search(r"\\begin\{(?:tabular|longtable)\}\{(.*)\}\n", text)
    assert found is not None
    columns = len(re.findall(r"[lrp]", re.sub(r"\{[^}]*\}", "", found.group(1))))
    lines = [line for line in text.splitlines() if line.endswith(r"\\") and "caption" not in line]
    assert lines
    for line in lines:
        assert len(unescaped(line, "&")) == columns - 1, line


def test_a_small_table_is_written_like_this() -> None:
    assert latex_table(small()) == (
        "% Made by python -m research.paper; needs \\usepackage{booktabs}.\n"
        "\\begin{table}\n\\centering\\small\n"
        "\\caption{A title. Note: $\\lambda$\\textsuperscript{2} $\\leq$ 1.}"
        "\\label{tab:small_table}\n"
        "\\begin{tabular}{lr}\n\\toprule\n50 \\% \\& more & Share \\\\\n\\midrule\n"
        "x\\_1 \\textless{}= 3 \\{y\\} & $-$25.0 \\% \\\\\n\\bottomrule\n"
        "\\end{tabular}\n\\end{table}\n"
    )


def test_a_table_longer_than_a_page_goes_over_several() -> None:
    assert "longtable" not in latex_table(small(LONGEST))
    text = latex_table(small(LONGEST + 1))
    assert text.count(r"\begin{longtable}") == 1
    assert text.count("50 \\% \\& more") == 2, "the heading is repeated"
    check(text)


def test_signs_of_latex_are_text() -> None:
    assert escape("a\\b^c~d$e#") == (
        r"a\textbackslash{}b\textasciicircum{}c\textasciitilde{}d\$e\#"
    )


def test_every_table_of_the_page_is_well_formed_and_plain_ascii(whole: Regenerated) -> None:
    written = sorted((whole.out / "tables").glob("*.tex"))
    shown = {t.name for t in whole.tables.values() if t.on_page}
    assert {path.stem for path in written} == shown | {
        "verdicts",
        "claims",
        "catalogue",
        "ours_alone",
    }
    for path in written:
        text = path.read_text()
        # An engine of old reads nothing else without further packages.
        assert text.isascii(), re.findall(r"[^\x00-\x7f]", text)
        check(text)


@pytest.mark.skipif(ENGINE is None, reason="there is no LaTeX on this machine")
def test_every_table_compiles(whole: Regenerated, tmp_path: Path) -> None:
    inputs = "\n".join(
        f"\\input{{{path}}}\\clearpage" for path in sorted((whole.out / "tables").glob("*.tex"))
    )
    (tmp_path / "all.tex").write_text(
        "\\documentclass{article}\\usepackage[utf8]{inputenc}\\usepackage[T1]{fontenc}\n"
        f"\\usepackage{{booktabs,longtable}}\\begin{{document}}\n{inputs}\n\\end{{document}}\n"
    )
    assert ENGINE is not None
    options = [] if ENGINE == "tectonic" else ["-interaction=nonstopmode", "-halt-on-error"]
    done = subprocess.run(
        [ENGINE, *options, "all.tex"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:]
