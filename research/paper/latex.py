"""Tables as LaTeX, for papers: rules of booktabs, text escaped, the note in the caption."""

from __future__ import annotations

from research.paper.tables import Column, Table

__all__ = ["escape", "latex_table"]

LONGEST = 40
"""Rows of a table that fits on a page; a longer one goes over several."""

WIDE = 24
"""Letters from which on a column of text is set in lines of a fixed width."""

_TEXT_WIDTH = 0.92
"""Share of the page's width that columns of long text may fill together."""

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "−": r"$-$",
    "–": "--",
    "±": r"$\pm$",
    "×": r"$\times$",
    "·": r"$\cdot$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "²": r"\textsuperscript{2}",
    "λ": r"$\lambda$",
    "θ": r"$\theta$",
    "ε": r"$\varepsilon$",
    "“": "``",
    "”": "''",
    "’": "'",
    "…": r"\ldots{}",
    "\n": " ",
    "\u00a0": "~",
    "\u202f": r"\,",
}


def escape(text: str) -> str:
    """Write plain text so that LaTeX sets it as it stands."""
    return "".join(_SPECIAL.get(letter, letter) for letter in text)


def latex_table(table: Table) -> str:
    r"""Write a table that a paper can ``\input``.

    Parameters
    ----------
    table : Table
        Rounded as on the page; its title and note make the caption.

    Returns
    -------
    str
        A ``table``, or a ``longtable`` where it does not fit on one page.
    """
    shown = table.shown()
    wide = [_is_wide(column, [row[k] for row in shown]) for k, column in enumerate(table.columns)]
    columns = "".join(
        _column(column, is_wide, sum(wide))
        for column, is_wide in zip(table.columns, wide, strict=True)
    )
    long = len(shown) > LONGEST
    caption = f"\\caption{{{escape(_caption(table))}}}\\label{{tab:{table.name}}}"
    heading = f"{_line([column.heading for column in table.columns])}\n\\midrule"
    body = "\n".join(_line(row) for row in shown)
    packages = "booktabs" + (", longtable" if long else "")
    start = f"% Made by python -m research.paper; needs \\usepackage{{{packages}}}.\n"
    if long:
        return (
            f"{start}\\begingroup\\small\n\\begin{{longtable}}{{{columns}}}\n{caption} \\\\\n"
            f"\\toprule\n{heading}\n\\endfirsthead\n\\toprule\n{heading}\n\\endhead\n"
            f"\\bottomrule\n\\endfoot\n{body}\n\\end{{longtable}}\n\\endgroup\n"
        )
    return (
        f"{start}\\begin{{table}}\n\\centering\\small\n{caption}\n"
        f"\\begin{{tabular}}{{{columns}}}\n\\toprule\n{heading}\n{body}\n\\bottomrule\n"
        "\\end{tabular}\n\\end{table}\n"
    )


def _caption(table: Table) -> str:
    return f"{table.title}." + (f" {table.note}" if table.note else "")


def _is_wide(column: Column, cells: list[str]) -> bool:
    return column.style == "text" and max(map(len, cells), default=0) > WIDE


def _column(column: Column, is_wide: bool, count: int) -> str:
    if is_wide:
        return rf"p{{{_TEXT_WIDTH / count:.2f}\linewidth}}" if count > 1 else r"p{0.4\linewidth}"
    return "l" if column.style == "text" else "r"


def _line(cells: list[str]) -> str:
    return " & ".join(map(escape, cells)) + r" \\"
