"""Count lines of code in src/steadytree: no docstrings, comments or blank lines.

``python scripts/count_code.py`` prints a line for each folder and the totals that the plan of the
house speaks of (formats apart); ``--files`` prints every module, the longest first.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections import Counter
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent / "src" / "steadytree"
NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


def lines_of_code(source: str) -> int:
    """Number of lines that hold code; a text that stands alone is documentation."""
    texts: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        alone = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if alone and isinstance(node.value.value, str):  # type: ignore[attr-defined]
            texts.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))  # type: ignore[attr-defined]
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - texts)


def count(source: Path = SOURCE) -> dict[str, int]:
    """Lines of code of every module, by its path."""
    return {
        str(path.relative_to(source)): lines_of_code(path.read_text(encoding="utf-8"))
        for path in sorted(source.rglob("*.py"))
    }


def totals(counted: dict[str, int]) -> dict[str, tuple[int, int]]:
    """Lines and modules, of the formats and of all the rest."""
    found: dict[str, tuple[int, int]] = {}
    for name, inside in (("formats", True), ("all else", False)):
        lines = [n for path, n in counted.items() if path.startswith("formats/") is inside]
        found[name] = (sum(lines), len(lines))
    return found


def main() -> None:
    counted = count()
    if "--files" in sys.argv:
        for path, lines in sorted(counted.items(), key=lambda entry: -entry[1]):
            print(f"{lines:6,} {path}")
    folders: Counter[str] = Counter()
    modules: Counter[str] = Counter()
    for path, lines in counted.items():
        folder = str(Path(path).parent)
        folders[folder] += lines
        modules[folder] += 1
    for folder in sorted(folders):
        print(f"{folders[folder]:6,} lines {modules[folder]:4} modules  {folder}")
    for name, (lines, several) in totals(counted).items():
        print(f"{lines:6,} lines {several:4} modules  {name}, together")


if __name__ == "__main__":
    main()
