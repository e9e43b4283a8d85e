"""Every Python block in the documentation runs, in the order it is read."""

from __future__ import annotations

import os
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from steadytree.distance.variants import VARIANTS
from steadytree.readers import READERS
from steadytree.selection import RULES
from steadytree.writers import WRITERS

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
REGISTRIES: tuple[dict[str, Any], ...] = (READERS, WRITERS, VARIANTS, RULES)
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = page.read_text(encoding="utf-8")
    blocks = list(BLOCK.finditer(text))
    if not blocks:
        assert "```python" not in text
        return
    monkeypatch.chdir(tmp_path)
    known = [set(registry) for registry in REGISTRIES]
    namespace: dict[str, object] = {"__name__": "__docs__"}
    for block in blocks:
        line = text[: block.start()].count("\n") + 1
        code = compile("\n" * line + block.group(1), str(page), "exec")
        exec(code, namespace)
    # What a page registers is gone after it.
    for registry, names in zip(REGISTRIES, known, strict=True):
        for name in set(registry) - names:
            del registry[name]
    assert os.getcwd() == str(tmp_path)


def test_links_lead_somewhere() -> None:
    broken = [
        f"{page.name}: {target}"
        for page in PAGES
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text(encoding="utf-8"))
        if not (page.parent / target).exists()
    ]
    assert not broken


def test_the_walk_names_code_that_exists() -> None:
    """Every dotted name on the architecture page is a module of the package or lives in one."""
    text = (ROOT / "docs" / "background" / "architecture.md").read_text(encoding="utf-8")
    names = re.findall(r"`((?:[a-z_]+\.)+\w+)`", text)
    names = [name for name in names if not name.endswith((".csv", ".json", ".py", ".md"))]
    assert len(names) > 20
    for name in names:
        module, _, attribute = name.rpartition(".")
        home = import_module(f"steadytree.{module}")
        if not hasattr(home, attribute):
            import_module(f"steadytree.{name}")
    steps = re.findall(r"^\d+\. ", text, re.MULTILINE)
    assert 1 <= len(steps) <= 15


@pytest.mark.parametrize("registry", [READERS, WRITERS], ids=["READERS", "WRITERS"])
def test_the_page_of_models_lists_every_reader_and_writer(registry: dict[str, Any]) -> None:
    page = (ROOT / "docs" / "guide" / "models.md").read_text(encoding="utf-8")
    assert [name for name in registry if f"`{name}`" not in page] == []
