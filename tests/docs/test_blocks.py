"""Every block of code on the site and in the README runs, in the order it is read."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from steadytree.distance.equations import VARIANTS
from steadytree.estimators.selection import RULES
from steadytree.plugins import READERS, WRITERS
from tests.docs import hospital
from tests.docs.fences import DOCS, ROOT, Fence, fences, pages, written_pages

REGISTRIES: tuple[dict[str, Any], ...] = (READERS, WRITERS, VARIANTS, RULES)
RUN = ("python", "sh")
SHOWN = ("text", "json", "yaml", "toml", "bibtex", "html")
"""Languages that say what is seen, not what is done; {directives} are Sphinx's to check."""

NEEDED: dict[str, Callable[[Path], None]] = {
    "README.md": hospital.write_tables,
    "docs/guide/command-line.md": hospital.write_tables,
}
"""Files that a page takes for granted: those of its reader."""
LONG = ("docs/guide/command-line.md", "docs/guide/churn-pipeline.md")
"""Pages of many retrainings, left to ``make test-slow``."""


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=name_of(page), marks=[pytest.mark.slow] * (name_of(page) in LONG))
        for page in pages()
    ],
)
def test_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    NEEDED.get(name_of(page), lambda folder: None)(tmp_path)
    known = [set(registry) for registry in REGISTRIES]
    namespace: dict[str, object] = {"__name__": "__docs__"}
    try:
        for block in fences(page.read_text(encoding="utf-8")):
            if block.language == "python":
                code = compile("\n" * block.line + block.text, str(page), "exec")
                exec(code, namespace)
            elif block.language == "sh":
                run_commands(block, page)
    finally:  # what a page registers is gone after it
        for registry, names in zip(REGISTRIES, known, strict=True):
            for name in set(registry) - names:
                del registry[name]
    assert os.getcwd() == str(tmp_path)


def run_commands(block: Fence, page: Path) -> None:
    """Run the commands of a block where the page's other blocks ran; the first failure ends it.

    The targets of the Makefile run these very tests, or hours of work: of them it is asked that
    they exist. Installing was done before.
    """
    lines = block.text.splitlines()
    for line in lines:
        if line.startswith("make "):
            target = line.partition("#")[0].split()[1:]
            subprocess.run(["make", "-n", *target], cwd=ROOT, check=True, capture_output=True)
    script = "\n".join(line for line in lines if not line.startswith(("make ", "pip install ")))
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    environment.pop("STEADYTREE_NO_NUMBA", None)
    done = subprocess.run(
        ["bash", "-e", "-c", script], env=environment, capture_output=True, text=True, check=False
    )
    where = f"{name_of(page)}, line {block.line}"
    assert done.returncode == 0, f"{where}: exit code {done.returncode}\n{done.stderr[-2000:]}"


@pytest.mark.parametrize("page", written_pages(), ids=name_of)
def test_every_block_says_what_it_is(page: Path) -> None:
    unknown = [
        f"line {block.line}: {block.language or 'no language'}"
        for block in fences(page.read_text(encoding="utf-8"))
        if block.language not in (*RUN, *SHOWN) and not block.language.startswith("{")
    ]
    assert not unknown


def test_extras_that_pages_install_exist() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = set(project["optional-dependencies"])
    asked = {
        (name_of(page), extra.strip())
        for page in written_pages()
        for names in re.findall(r"steadytree\[([\w, -]+)\]", page.read_text(encoding="utf-8"))
        for extra in names.split(",")
    }
    assert len(asked) > 5
    assert {(page, extra) for page, extra in asked if extra not in extras} == set()


def test_links_of_pages_beside_the_readme_lead_somewhere() -> None:
    """Links within the site are Sphinx's and the browser's to check."""
    broken = [
        f"{page.name}: {target}"
        for page in ROOT.glob("*.md")
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text(encoding="utf-8"))
        if not (page.parent / target).exists()
    ]
    assert not broken


def test_the_walk_names_code_that_exists() -> None:
    """Every dotted name on the architecture page is a module of the package or lives in one."""
    text = (DOCS / "background" / "architecture.md").read_text(encoding="utf-8")
    names = re.findall(r"`((?:[a-z_]+\.)+\w+)`", text)
    names = [name for name in names if not name.endswith((".csv", ".json", ".py", ".md"))]
    assert len(names) > 20
    for name in names:
        module, _, attribute = name.rpartition(".")
        home = import_module(f"steadytree.{module}")
        if not hasattr(home, attribute):
            import_module(f"steadytree.{name}")
    steps = re.findall(r"^\d+\. ", text, re.MULTILINE)
    assert 1 <= len(steps) <= 12


@pytest.mark.parametrize("registry", [READERS, WRITERS], ids=["READERS", "WRITERS"])
def test_the_page_of_models_lists_every_reader_and_writer(registry: dict[str, Any]) -> None:
    page = (DOCS / "guide" / "models.md").read_text(encoding="utf-8")
    assert [name for name in registry if f"`{name}`" not in page] == []
