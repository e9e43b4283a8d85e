"""The reference names everything that is public, and says of it what is true."""

from __future__ import annotations

import ast
import inspect
import json
import re
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from numpydoc.docscrape import NumpyDocString

import steadytree as st
from steadytree import exceptions
from steadytree.cli.app import run
from steadytree.cli.output import EXIT_CODES
from tests.docs.fences import DOCS, fences
from tests.report.samples import SCHEMA

PAGES = DOCS / "reference"
SETTLED = ("__version__",)
"""Public, and nothing to call."""


@pytest.fixture(scope="module")
def extension() -> Iterator[Any]:
    """Our part of Sphinx, which Sphinx finds by its path."""
    sys.path.insert(0, str(DOCS / "_ext"))
    yield import_module("reference")
    sys.path.remove(str(DOCS / "_ext"))


# -- names ---------------------------------------------------------------------------------


def listed_names() -> list[str]:
    """Every name in a list of the reference, in full."""
    names = []
    for page in sorted(PAGES.glob("*.md")):
        for block in fences(page.read_text(encoding="utf-8")):
            if block.language == "{eval-rst}":
                names += re.findall(r"^   ~?([A-Za-z][\w.]*)$", block.text, re.MULTILINE)
    return [name if name.startswith("steadytree.") else f"steadytree.{name}" for name in names]


def named(full: str) -> Any:
    module, _, name = full.rpartition(".")
    return getattr(import_module(module), name)


NAMES = listed_names()
DESCRIBED = [name for name in NAMES if not isinstance(named(name), dict)]
CLASSES = [name for name in DESCRIBED if inspect.isclass(named(name))]


def methods_of(cls: type) -> dict[str, Callable[..., Any]]:
    """Return the public methods that the package itself wrote, inherited ones too."""
    found = {}
    for name in dir(cls):
        given = inspect.getattr_static(cls, name)
        given = getattr(given, "__func__", given)
        ours = inspect.isfunction(given) and given.__module__.startswith("steadytree.")
        if ours and not name.startswith("_"):
            found[name] = given
    return found


METHODS = {
    f"{name}.{method}": function
    for name in CLASSES
    for method, function in methods_of(named(name)).items()
}


def parameters_of(subject: Any) -> list[str]:
    given = inspect.signature(subject).parameters
    return [name for name in given if name not in ("self", "cls")]


def described(subject: Any, *sections: str) -> list[str]:
    """Names that a docstring describes in some of its sections."""
    text = NumpyDocString(inspect.cleandoc(subject.__doc__ or ""))
    entries = [entry.name for section in sections for entry in text[section]]
    return [name.strip().lstrip("*") for entry in entries for name in entry.split(",")]


def test_every_public_name_is_in_the_reference_once() -> None:
    assert {f"steadytree.{name}" for name in st.__all__ if name not in SETTLED} <= set(NAMES)
    assert len(set(NAMES)) == len(NAMES)


@pytest.mark.parametrize("name", DESCRIBED)
def test_every_name_has_an_example(name: str) -> None:
    text = NumpyDocString(inspect.cleandoc(named(name).__doc__))
    assert ">>> " in "\n".join(text["Examples"])


@pytest.mark.parametrize("name", DESCRIBED)
def test_parameters_are_those_that_are_described(name: str) -> None:
    subject = named(name)
    taken = parameters_of(subject)
    assert [p for p in described(subject, "Parameters") if p not in taken] == []
    # Fields of results, which nobody passes, are described as attributes.
    known = described(subject, "Parameters", "Attributes")
    assert [p for p in taken if p not in known] == []


@pytest.mark.parametrize("name", METHODS)
def test_parameters_of_methods_are_those_that_are_described(name: str) -> None:
    method = METHODS[name]
    assert sorted(described(method, "Parameters")) == sorted(parameters_of(method))
    if inspect.signature(method).return_annotation != "None":
        assert described(method, "Returns")


def test_what_is_described_as_an_attribute_is_one() -> None:
    """Of classes that are not estimators, whose attributes come with ``fit``, or figures."""
    for name in CLASSES:
        cls = named(name)
        if hasattr(cls, "fit") or hasattr(cls, "plot"):
            continue
        fields = {*dir(cls), *inspect.get_annotations(cls)}
        assert [a for a in described(cls, "Attributes") if a not in fields] == [], name


def test_docstrings_refer_to_what_is_in_the_reference() -> None:
    """A reference to anything else would be no link."""
    there = {*NAMES, *METHODS}
    texts = {name: named(name).__doc__ for name in DESCRIBED}
    texts |= {name: method.__doc__ for name, method in METHODS.items()}
    found = [
        (name, role, target)
        for name, text in texts.items()
        for role, target in re.findall(r":(func|class|meth|data|mod|attr):`~?([\w.]+)`", text)
    ]
    assert len(found) > 30
    broken = []
    for name, role, target in found:
        # As Sphinx looks: by itself, within the class, within the module.
        around = [name.rsplit(".", n)[0] for n in range(3)]
        if not {target, *(f"{place}.{target}" for place in around)} & there:
            broken.append(f"{name}: {role} {target}")
    assert not broken


def test_a_missing_and_a_ghost_parameter_would_be_seen() -> None:
    def wrong(there: int, told: int) -> None:
        """Do nothing.

        Parameters
        ----------
        told, ghost : int
        """

    assert described(wrong, "Parameters") == ["told", "ghost"]
    assert parameters_of(wrong) == ["there", "told"]


# -- the command line ------------------------------------------------------------------------


def test_the_page_of_commands_holds_every_option(extension: Any) -> None:
    page = extension.write_out((PAGES / "command-line.md").read_text(encoding="utf-8"))
    contexts = list(extension.commands.__globals__["every_command"]("steadytree.cli.app:group"))
    paths = [context.command_path for context in contexts]
    assert {"steadytree retrain", "steadytree history", "steadytree history verify"} <= set(paths)
    for context in contexts:
        part = re.search(
            rf"^##+ {context.command_path}\n(.*?)(?=^##|\Z)", page, re.MULTILINE | re.DOTALL
        )
        assert part, context.command_path
        for parameter in context.command.params:
            if parameter.param_type_name == "option":
                assert f"`{parameter.opts[-1]}`" in part[1]
        if context.command.epilog:
            assert "```bash\nsteadytree " in part[1]


def test_the_page_of_commands_holds_every_exit_code(extension: Any) -> None:
    page = extension.write_out((PAGES / "command-line.md").read_text(encoding="utf-8"))
    for code, words in EXIT_CODES.items():
        assert f"| {code} | {words} |" in page


# -- file formats ----------------------------------------------------------------------------


def test_the_page_of_formats_holds_every_field_of_the_schemas(extension: Any) -> None:
    page = extension.write_out((PAGES / "formats.md").read_text(encoding="utf-8"))
    for schema in Path(st.__file__).parent.rglob("*.schema.json"):
        assert f"{schema.parent.name}/{schema.name}" in page
        fields = list(fields_of(json.loads(schema.read_text(encoding="utf-8"))))
        assert len(fields) > 20
        assert [
            name for name in fields if not re.search(rf"^\|.*`([^`]*\.)?{name}`.* \|", page, re.M)
        ] == []


def fields_of(schema: Any) -> Iterator[str]:
    """Every name of a field anywhere in a schema."""
    if isinstance(schema, dict):
        yield from schema.get("properties", {})
        for part in schema.values():
            yield from fields_of(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from fields_of(part)


def told_fields(heading: str) -> list[set[str]]:
    """Names of the fields in each table below a heading of the page of formats."""
    text = (PAGES / "formats.md").read_text(encoding="utf-8")
    part = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert part
    tables = re.findall(r"^\| field \| holds \|\n\| --- \| --- \|\n((?:\|.*\n)+)", part[1], re.M)
    return [set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) for table in tables]


def rows_of_documents() -> dict[str, set[str]]:
    text = (PAGES / "formats.md").read_text(encoding="utf-8").partition("further entries")[2]
    rows = re.findall(r"^\| `([a-z ]+)` \| (.*) \|$", text, re.MULTILINE)
    return {command: set(re.findall(r"`(\w+)`", entries)) for command, entries in rows}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two tables, a first tree, a retraining of it and its history."""
    from sklearn.datasets import load_breast_cancer

    folder = tmp_path_factory.mktemp("formats")
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    rows = X.iloc[:, :4].assign(sick=(y == 0).map({True: "yes", False: "no"}))
    rows[:250].to_csv(folder / "old.csv", index=False)
    rows[250:].to_csv(folder / "new.csv", index=False)
    fit = ["fit", f"{folder}/old.csv", "--target", "sick", "--max-leaves", "4", "-q"]
    assert run([*fit, "--out", f"{folder}/model"]) == 0
    tree = f"{folder}/model/tree.json"
    more = ["--deployed", tree, "--old", f"{folder}/old.csv", "--history", f"{folder}/h.jsonl"]
    more += ["--folds", "2", "--trees", "10", "--out", f"{folder}/proposal", "-q"]
    assert run(["retrain", f"{folder}/new.csv", "--target", "sick", *more]) == 0
    st.History(folder / "h.jsonl").approve(1, by="Dr Adams")
    return folder


def commands_in(folder: Path) -> dict[str, list[str]]:
    old, new = f"{folder}/old.csv", f"{folder}/new.csv"
    tree, proposal = f"{folder}/model/tree.json", f"{folder}/proposal"
    few = ["--folds", "0", "--trees", "10"]
    return {
        "fit": [old, "--target", "sick", "--learner", "cart", "--max-leaves", "3"],
        "compare": [tree, f"{proposal}/tree.json", "--data", new, "--target", "sick"],
        "retrain": [new, "--deployed", tree, "--target", "sick", *few],
        "assess": [old, "--target", "sick", "--learner", "cart", "--resamples", "2"],
        "export": [tree, "--to", "sql"],
        "show": [tree],
        "verify": [proposal],
        "history show": [f"{folder}/h.jsonl"],
        "history verify": [f"{folder}/h.jsonl"],
    }


def test_every_document_holds_what_the_page_says(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told, everywhere = rows_of_documents(), told_fields("Documents of `--json`")[0]
    commands = commands_in(folder)
    assert set(told) == set(commands)
    summaries = {"compare": "comparison", "retrain": "retraining", "assess": "assessment"}
    for command, kind in summaries.items():
        told[command] |= set(SCHEMA["$defs"][kind]["properties"])
    # Entries that the page says are there only with an option.
    at_times = {"fit": {"score_estimate", "score_estimate_se"}, "export": {"like"}}
    for command, arguments in commands.items():
        capsys.readouterr()
        assert run([*command.split(), *arguments, "--json", "-q"]) == 0, command
        document = json.loads(capsys.readouterr().out)
        expected = everywhere | told[command] - at_times.get(command, set())
        assert set(document) == expected, command


def test_entries_that_are_there_at_times(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fit = ["fit", f"{folder}/old.csv", "--target", "sick", "--json", "-q"]
    told = rows_of_documents()["fit"] | told_fields("Documents of `--json`")[0]
    capsys.readouterr()
    assert run([*fit, "--learner", "stable", "--bootstraps", "1"]) == 0
    assert set(json.loads(capsys.readouterr().out)) <= told


def test_the_manifest_holds_what_the_page_says(folder: Path) -> None:
    manifest = json.loads((folder / "proposal" / "manifest.json").read_text(encoding="utf-8"))
    assert [set(manifest)] == told_fields("The manifest of a run")


# -- errors ----------------------------------------------------------------------------------


def sections() -> dict[str, str]:
    text = (PAGES / "errors.md").read_text(encoding="utf-8")
    return dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL))


def test_every_error_has_its_section(extension: Any) -> None:
    assert set(sections()) == set(exceptions.__all__)
    for name, text in sections().items():
        error = getattr(exceptions, name)
        told = extension.write_out(text)
        assert f"{{error-facts}} {name}" in text
        assert " ".join(error.__doc__.split()) in told
        if issubclass(error, exceptions.SteadyTreeError):
            assert f"Exit code {error.exit_code}." in told
        assert "**What to do.**" in text


def keeping(code: str) -> tuple[str, ast.Module]:
    """Return what the one ``try`` of a block catches, and the block keeping it as ``caught``."""
    module = ast.parse(code)
    (attempt,) = (node for node in ast.walk(module) if isinstance(node, ast.Try))
    (handler,) = attempt.handlers
    assert handler.type is not None
    handler.body[:0] = ast.parse(f"caught = {handler.name}").body
    return ast.unparse(handler.type), ast.fix_missing_locations(module)


def test_examples_raise_exactly_what_they_are_examples_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {}
    exec(fences((PAGES / "errors.md").read_text(encoding="utf-8"))[0].text, namespace)
    for name, part in sections().items():
        blocks = {block.language: block.text for block in fences(part)}
        awaited, module = keeping(blocks["python"])
        assert awaited == name
        capsys.readouterr()
        exec(compile(module, name, "exec"), namespace)
        error, caught = getattr(exceptions, name), namespace.pop("caught")
        # The base of all errors is never raised itself.
        assert isinstance(caught, error) if name == "SteadyTreeError" else type(caught) is error
        said = capsys.readouterr().out.replace(str(tmp_path), "/home/you")
        assert said.split() == blocks["text"].split()


def test_no_other_error_is_raised_by_the_base() -> None:
    """Nobody raises the base of all errors, as the page says."""
    source = Path(st.__file__).parent
    raised = [p for p in source.rglob("*.py") if "raise SteadyTreeError(" in p.read_text("utf-8")]
    assert raised == []
