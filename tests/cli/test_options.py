"""Options: defaults and choices of the Python calls, and what a command gets."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import pytest
from click.testing import CliRunner

import steadytree as st
from steadytree.cli import fit_command
from steadytree.cli.app import group
from steadytree.cli.compare_command import plan_of
from steadytree.cli.fit_command import policy_of
from steadytree.cli.tables import TYPES
from steadytree.diff.comparison import TRAINED_ON
from steadytree.evaluation.plan import ChangePlan
from steadytree.exceptions import InputError
from steadytree.plugins import WRITERS
from steadytree.retraining import SearchOptions
from steadytree.tree.decision import Decision


def policy(threshold: str | None, positive: str | None, *rest: Any) -> Decision | None:
    return policy_of(SimpleNamespace(decision_threshold=threshold, positive=positive), *rest)


def option(command: str, flag: str) -> click.Option:
    (found,) = (p for p in group.commands[command].params if flag in p.opts)
    assert isinstance(found, click.Option)
    return found


@pytest.mark.parametrize(
    ("command", "flag", "call", "parameter"),
    [
        ("retrain", "--price", st.retrain, "price"),
        ("retrain", "--folds", st.retrain, "n_folds"),
        ("retrain", "--trees", SearchOptions, "n_estimators"),
        ("fit", "--bootstraps", st.StableTreeClassifier, "n_bootstraps"),
        ("assess", "--resamples", st.assess_stability, "n_resamples"),
    ],
)
def test_an_option_has_the_default_of_the_python_call(
    command: str, flag: str, call: Any, parameter: str
) -> None:
    found = option(command, flag)
    assert found.default == inspect.signature(call).parameters[parameter].default
    page = CliRunner().invoke(group, [command, "--help"]).output
    assert f"[default: {found.default}" in page


@pytest.mark.parametrize(
    ("command", "flag", "choices"),
    [
        ("compare", "--trained-on", [name for name in TRAINED_ON if name]),
    ],
)
def test_an_option_has_the_choices_of_the_python_call(
    command: str, flag: str, choices: Sequence[str]
) -> None:
    kind = option(command, flag).type
    assert isinstance(kind, click.Choice)
    assert list(kind.choices) == list(choices)


def test_help_tells_what_the_package_does() -> None:
    types = option("fit", "--types").help or ""
    assert f"{', '.join(TYPES)}." in types
    formats = option("export", "--to").help or ""
    assert re.findall(r"\w+", formats.partition(";")[0].replace(" or ", " "))[2:] == list(WRITERS)


@pytest.mark.parametrize(("given", "verbosity"), [([], 0), (["-q"], -1), (["-v"], 1)])
def test_a_command_gets_output_and_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: list[str], verbosity: int
) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(fit_command, "fit", lambda *got: seen.extend(got))
    out = tmp_path / "out"
    arguments = ["fit", "x.csv", "--target", "y", *given, "--json", "--seed", "7"]
    result = CliRunner().invoke(group, [*arguments, "--out", str(out)])
    assert result.exit_code == 0, result.output
    options, output, folder = seen
    assert (output.command, output.as_json, output.verbosity) == ("fit", True, verbosity)
    assert (options.target, options.seed) == ("y", 7)
    assert folder.folder == out
    assert out.is_dir()  # checked before the work


@pytest.mark.parametrize(
    ("text", "classes", "named"),
    [
        ("leaves", ("leaves", "stays"), "leaves"),
        ("1", (0.0, 1.0), 1.0),
        ("true", (False, True), True),
        ("2", ("1", "2"), "2"),
    ],
)
def test_the_positive_class_is_one_of_the_classes(text: str, classes: Any, named: Any) -> None:
    found = policy("0.2", text, classes)
    assert found is not None
    assert (found.threshold, found.positive) == (0.2, named)
    assert type(found.positive) is type(named)
    assert classes[found.resolve(classes).position] == named


def test_a_positive_class_is_asked_for_by_name() -> None:
    classes = ("leaves early", "stays")
    with pytest.raises(
        InputError,
        match=r"which outcome .* detected: --positive 'leaves early' or --positive stays",
    ):
        policy("prevalence", None, classes)
    known = Decision(0.5, positive="stays", steady=0)
    assert policy("0.2", None, classes, known) == Decision(0.2, steady=0)
    with pytest.raises(InputError, match=r"the classes 'leaves early', 'stays' as --pos.*'leaves'"):
        policy(None, "leaves", classes)
    with pytest.raises(InputError, match="expected no --positive with 3 classes, got one"):
        policy(None, "a", ("a", "b", "c"))


def test_plans_are_files_and_single_settings_joined(tmp_path: Path) -> None:
    file = tmp_path / "plan=a.toml"
    file.write_text('schema = "steadytree-plan"\nversion = 1\nmax_leaves = 8\nlocked = ["age"]\n')
    given = (str(file), "max_flips=0.03", "locked=root", "per_group.sex.max_flips=0.05")
    expected = ChangePlan(
        max_leaves=8, max_flips=0.03, locked=["age", "root"], per_group={"sex": {"max_flips": 0.05}}
    )
    assert plan_of(given) == expected
    assert plan_of(()) == ChangePlan()
