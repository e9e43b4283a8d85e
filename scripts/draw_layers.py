"""Draw docs/images/layers.svg: the layers that import-linter enforces, in their own words.

Layers come from pyproject.toml, what each is for from its docstring and its modules from its
folder, so the picture is true to the code; a test draws it again and compares.
"""

from __future__ import annotations

import ast
import sys
import tomllib
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "docs" / "images" / "layers.svg"
SOURCE = ROOT / "src" / "steadytree"
WIDTH, LEFT, GAP = 960, 60, 8
FONT = 'font-family="system-ui, sans-serif"'


def layers() -> list[list[str]]:
    """Modules of each layer, the highest first."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    listed = next(c["layers"] for c in contracts if c["type"] == "layers")
    return [[name.strip(" ()") for name in layer.replace(":", "|").split("|")] for layer in listed]


def purpose(name: str) -> str:
    """First line of a module's or package's docstring."""
    path = SOURCE / name / "__init__.py"
    tree = ast.parse((path if path.exists() else SOURCE / f"{name}.py").read_text(encoding="utf-8"))
    return (ast.get_docstring(tree) or "").split("\n")[0].replace("``", "")


def inside(name: str) -> list[str]:
    """Modules and folders of a package."""
    folder = SOURCE / name
    found = [p.stem for p in folder.glob("*.py") if p.stem != "__init__"]
    found += [f"{p.name}/" for p in folder.glob("*/") if (p / "__init__.py").exists()]
    return sorted(found)


def wrapped(words: list[str], most: int = 112) -> list[str]:
    lines = [""]
    for word in words:
        if len(lines[-1]) + len(word) + 2 > most:
            lines.append("")
        lines[-1] += ("  " if lines[-1] else "") + word
    return [line for line in lines if line]


def draw() -> str:
    parts: list[str] = []
    y = 12
    for names in layers():
        rows: list[tuple[str, str]] = []
        for name in names:
            rows.append((name, purpose(name)))
            rows += [("", line) for line in wrapped(inside(name))]
        height = 14 + 19 * len(rows)
        box = f'x="{LEFT}" y="{y}" width="{WIDTH - LEFT - 12}" height="{height}" rx="6"'
        parts.append(f'<rect {box} fill="#f4f6f8" stroke="#9aa5b1"/>')
        for i, (name, text) in enumerate(rows):
            at = y + 22 + 19 * i
            if name:
                parts.append(
                    f'<text x="{LEFT + 12}" y="{at}" {FONT} font-size="14" font-weight="600" '
                    f'fill="#1f2933">{escape(name)}</text>'
                    f'<text x="{LEFT + 132}" y="{at}" {FONT} font-size="13" fill="#3e4c59">'
                    f"{escape(text)}</text>"
                )
            else:
                parts.append(
                    f'<text x="{LEFT + 132}" y="{at}" font-family="ui-monospace, monospace" '
                    f'font-size="11" fill="#616e7c">{escape(text)}</text>'
                )
        y += height + GAP
    end = y - GAP
    arrow = (
        f'<path d="M30 20 V{end - 12}" stroke="#616e7c" stroke-width="2"/>'
        f'<path d="M24 {end - 16} L30 {end - 4} L36 {end - 16} Z" fill="#616e7c"/>'
        f'<text x="18" y="{end // 2}" {FONT} font-size="12" fill="#616e7c" text-anchor="middle" '
        f'transform="rotate(-90 18 {end // 2})">imports go only down</text>'
    )
    title = "<title>The layers of steadytree; imports go only downwards</title>"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y + 4}" role="img">'
        f"{title}\n"
        + '<rect width="100%" height="100%" fill="#ffffff"/>\n'
        + "\n".join([*parts, arrow])
        + "\n</svg>\n"
    )


if __name__ == "__main__":
    TARGET.write_text(draw(), encoding="utf-8")
    sys.stdout.write(f"{TARGET}\n")
