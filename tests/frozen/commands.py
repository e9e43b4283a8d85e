"""What is frozen of the command line: documents, texts, exit codes and the files it writes."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import tempfile
import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pandas as pd

import steadytree as st
from tests.frozen.data import load
from tests.frozen.plain import digest, outlined, plain, strip
from tests.frozen.retraining import summary_of

__all__ = ["by_command"]

_PROGRESS = re.compile(r"[\w ]+: \d+(/| of )\d+")
ROOT = Path(__file__).parents[2]

# How each is fitted, and what is asked of its retraining besides.
RUNS: dict[str, tuple[list[str], list[str]]] = {
    "credit": (
        ["--positive", "bad", "--decision-threshold", "prevalence", "--time", "row"],
        ["--subgroup", "Home", "--plan", "max_flips=0.9", "--price", "0.05"],
    ),
    "penguins": (
        ["--learner", "cart", "--max-leaves", "5"],
        ["--price", "0.05", "--plan", "plan.toml"],
    ),
    "wages": (
        ["--learner", "stable", "--bootstraps", "2", "--drop", "race"],
        ["--time", "row", "--group", "clinic", "--plan", "forbid=maritl"],
    ),
}

PLAN = """
schema = "steadytree-plan"
version = 1
max_flips = 0.5
max_leaves = 9
accept = ["island"]
"""


class _Terminal:
    """The command in a folder of its own, and what it said."""

    def __init__(self) -> None:
        with (ROOT / "pyproject.toml").open("rb") as file:
            module, name = tomllib.load(file)["project"]["scripts"]["steadytree"].split(":")
        self._main = getattr(import_module(module), name)
        self.facts: dict[str, Any] = {}
        self.words: dict[str, Any] = {}

    def run(self, name: str, *arguments: str, whole: bool = False) -> None:
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = self._main(list(arguments))
        said = {"exit code": code, "messages": _lines(err.getvalue())}
        if "--json" in arguments:
            document = json.loads(out.getvalue())
            self.facts[name] = outlined(document, 10_000 if whole else 600)
        else:
            said["text"] = _lines(out.getvalue())
        self.words[name] = said


def _lines(text: str) -> list[str]:
    # How far it is depends on the clock.
    lines = [line.rstrip() for line in strip(text).splitlines()]
    return [line for line in lines if not _PROGRESS.match(line)]


def by_command(name: str) -> dict[str, Any]:
    """Run every command on one data set, in a folder that is thrown away."""
    terminal = {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.chdir(folder),
        patch.dict(os.environ, terminal),
    ):
        return _by_command(name)


def _by_command(name: str) -> dict[str, Any]:
    data = load(name)
    for part in ("old", "new", "test"):
        rows = data.part(part)
        table = rows.X.assign(row=range(len(rows.y)), clinic=[i // 3 for i in range(len(rows.y))])
        table.assign(outcome=rows.y).to_csv(f"{part}.csv", index=False)
    Path("plan.toml").write_text(PLAN, encoding="utf-8")
    of_fit, of_retrain = RUNS[name]
    target = ("--target", "outcome")
    aside = ("--types", "clinic=ignore", "--types", "row=ignore")
    fit = ("fit", "old.csv", *target, *of_fit, "--types", "clinic=ignore", "--seed", "3")
    fit = fit if "--time" in of_fit else (*fit, "--types", "row=ignore")
    retrain = ("retrain", "new.csv", "--deployed", "model/tree.json", *target, "--old", "old.csv")
    retrain = (*retrain, "--folds", "2", "--trees", "10", *of_retrain)
    compare = ("compare", "model/tree.json", "proposal/tree.json")
    say = _Terminal()
    say.run("fit", *fit, "--json", "--out", "model")
    say.run("fit, as text", *fit)
    say.run(
        *("retrain", *retrain, "--json", "--out", "proposal", "--history", "tree.history.jsonl"),
        *("--test", "test.csv"),
        whole=name == "credit",
    )
    say.run("retrain, as text", *retrain)
    say.run("retrain, refused", *retrain, "--plan", "max_dissimilarity=0", "--plan", "min_gain=0.9")
    say.run("retrain, published", *retrain, "--publish", "--json", "--out", "published")
    say.run("compare", *compare, "--data", "new.csv", *target, "--json", "--out", "compared")
    say.run("compare, as text", *compare)
    say.run("compare, published", *compare, "--data", "new.csv", *target, "--publish")
    say.run(
        "compare, refused",
        *compare,
        "--data",
        "new.csv",
        *target,
        "--plan",
        "min_gain=0.9",
        "--json",
    )
    assess = ("assess", "old.csv", *target, *aside, "--learner", "cart", "--resamples", "3")
    say.run("assess", *assess, "--json", "--out", "assessed")
    say.run("assess, as text", *assess, "-q")
    for form in ("text", "rules", "markdown"):
        say.run(f"show as {form}", "show", "model/tree.json", "--format", form)
    say.run("show", "show", "proposal/tree.json", "--json")
    say.run("show, published", "show", "proposal/tree.json", "--publish", "-v")
    for form in ("sql", "rules", "mermaid"):
        say.run(f"export to {form}", "export", "model/tree.json", "--to", form)
    say.run("export", "export", "model/tree.json", "--out", "tree.pmml", "--json")
    history = st.History("tree.history.jsonl")
    history.approve(1, by="Dr Who", reason="agreed")
    history.append(st.load_tree("model/tree.json"), note="back to the first")
    say.run("history show", "history", "show", "tree.history.jsonl", "--json")
    say.run("history verify", "history", "verify", "tree.history.jsonl", "--json")
    say.run("verify", "verify", "proposal", "--json")
    for at, arguments in enumerate(_refused(target)):
        say.run(f"refused {at}", *arguments)
        say.run(f"refused {at}, as JSON", *arguments, "--json")
    page = summary_of(Path("proposal/report.html").read_text("utf-8"))
    public = summary_of(Path("published/report.html").read_text("utf-8"))
    return {
        "facts": {"documents": say.facts, "files": _files()},
        "words": say.words,
        "pages": {
            "report": outlined(page)
            if name == "credit"
            else {k: digest(v) for k, v in page.items()},
            "published": {k: digest(v) for k, v in public.items()},
            "compared": {
                k: digest(v)
                for k, v in summary_of(Path("compared/report.html").read_text("utf-8")).items()
            },
        },
    }


def _refused(target: tuple[str, ...]) -> list[tuple[str, ...]]:
    deployed = ("--deployed", "model/tree.json", *target)
    return [
        ("fit", "old.csv", "--target", "nothing"),
        ("fit", "absent.csv", *target),
        ("retrain", "new.csv", "--deployed", "absent.json", *target),
        ("retrain", "new.csv", *deployed, "--plan", "max_flip=0.1"),
        ("retrain", "new.csv", *deployed, "--price", "-1"),
        ("compare", "model/tree.json", "new.csv"),
        ("export", "model/tree.json", "--to", "cobol"),
        ("show", "new.csv"),
        ("history", "verify", "absent.jsonl"),
        ("assess", "old.csv", *target, "--resamples", "1"),
    ]


def _files() -> dict[str, Any]:
    """Digests of the files that were written, but for pages, and of lists of files."""
    answers: dict[str, Any] = {}
    for path in sorted(Path().glob("*/*")):
        name = path.as_posix()
        if path.suffix == ".json":
            content = json.loads(path.read_text("utf-8"))
            answers[name] = outlined(content) if path.stem == "manifest" else digest(content)
        elif path.suffix == ".csv":
            answers[name] = digest(pd.read_csv(path))
        elif path.suffix == ".md":
            answers[name] = digest(path.read_text("utf-8"))
        else:
            answers[name] = "written"
    answers["tree.pmml"] = digest(Path("tree.pmml").read_text("utf-8"))
    events = [
        json.loads(line) for line in Path("tree.history.jsonl").read_text("utf-8").splitlines()
    ]
    answers["history"] = [
        {key: digest(value) for key, value in plain(event).items()} for event in events
    ]
    return answers
