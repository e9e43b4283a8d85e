"""Shared options: defaults of the Python calls, the order of the help, what a command gets."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from steadytree.cli.options import (
    data_options,
    example,
    option_of,
    options_in_order,
    output_options,
    plan_of,
    plan_option,
    policy_of,
)
from steadytree.evaluation.plan import ChangePlan
from steadytree.exceptions import InputError
from steadytree.tree.decision import Decision


def flags(command: click.Command) -> list[str]:
    return [option.opts[-1] for option in command.params]


def test_an_option_has_the_default_of_the_python_call() -> None:
    def call(rows: object, price: float = 0.25) -> None: ...

    @click.command()
    @option_of("--price", call, "price", "What a change costs.")
    def command(price: float) -> None:
        click.echo(repr(price))

    assert CliRunner().invoke(command, []).output == "0.25\n"
    assert CliRunner().invoke(command, ["--price", "1"]).output == "1.0\n"
    assert "[default: 0.25]" in CliRunner().invoke(command, ["--help"]).output
    with pytest.raises(KeyError, match="cost"):
        option_of("--cost", call, "cost", "No such parameter.")


def test_options_stand_in_the_order_given() -> None:
    def command(**_: Any) -> None: ...

    both = options_in_order(data_options, plan_option)
    assert flags(click.command()(both(command))) == [
        *("--target", "--time", "--group"),
        "--plan",
    ]


@pytest.mark.parametrize(("given", "verbosity"), [([], 0), (["-q"], -1), (["-v"], 1)])
def test_a_command_gets_output_and_folder(tmp_path: Path, given: list[str], verbosity: int) -> None:
    seen: dict[str, Any] = {}

    @click.command()
    @output_options("test", "tree.json", note="the tree")
    def command(**got: Any) -> None:
        seen.update(got)

    out = tmp_path / "out"
    result = CliRunner().invoke(command, [*given, "--json", "--seed", "7", "--out", str(out)])
    assert result.exit_code == 0, result.output
    assert set(seen) == {"output", "folder", "seed"}
    assert (seen["output"].command, seen["output"].as_json) == ("test", True)
    assert seen["output"].verbosity == verbosity
    assert seen["folder"].folder == out
    assert seen["seed"] == 7
    assert out.is_dir()  # checked before the work
    assert (
        "Folder for tree.json and manifest.json (the"
        in CliRunner().invoke(command, ["--help"]).output
    )


def test_an_example_keeps_its_lines() -> None:
    @click.command(epilog=example("steadytree fit rows.csv", "--target y"))
    def command() -> None: ...

    page = CliRunner().invoke(command, ["--help"]).output
    lines = [line.strip() for line in page.splitlines()]
    at = lines.index("Example:")
    assert lines[at + 1 : at + 3] == ["steadytree fit rows.csv \\", "--target y"]


def test_a_decision_threshold_is_a_number_or_the_prevalence() -> None:
    assert policy_of(None, None, None) is None
    assert policy_of("0.25", None, (0, 1)) == Decision(0.25)
    assert policy_of("prevalence", None, ("no", "yes")) == Decision("prevalence")
    for text in ("a quarter", "1.5", "nan"):
        with pytest.raises(InputError, match=f"a number from 0 to 1 .*, got '{text}'"):
            policy_of(text, None, (0, 1))
    for text in ("prevalence", "0.25"):
        with pytest.raises(InputError, match="expected no --decision-threshold in regression"):
            policy_of(text, None, None)


@pytest.mark.parametrize(
    ("text", "classes", "named"),
    [
        ("leaves", ("leaves", "stays"), "leaves"),
        ("0", (0, 1), 0),
        ("1", (0.0, 1.0), 1.0),
        ("true", (False, True), True),
        ("2", ("1", "2"), "2"),
    ],
)
def test_the_positive_class_is_one_of_the_classes(text: str, classes: Any, named: Any) -> None:
    policy = policy_of("0.2", text, classes)
    assert policy is not None
    assert (policy.threshold, policy.positive) == (0.2, named)
    assert type(policy.positive) is type(named)
    assert classes[policy.resolve(classes).position] == named


def test_a_positive_class_is_asked_for_by_name() -> None:
    classes = ("leaves early", "stays")
    with pytest.raises(
        InputError,
        match=r"which outcome .* detected: --positive 'leaves early' or --positive stays",
    ):
        policy_of("prevalence", None, classes)
    known = Decision(0.5, positive="stays", steady=0)
    assert policy_of("0.2", None, classes, known) == Decision(0.2, steady=0)
    with pytest.raises(InputError, match=r"the classes 'leaves early', 'stays' as --pos.*'leaves'"):
        policy_of(None, "leaves", classes)
    with pytest.raises(InputError, match="expected no --positive with 3 classes, got one"):
        policy_of(None, "a", ("a", "b", "c"))


def test_plans_are_files_and_single_settings_joined(tmp_path: Path) -> None:
    file = tmp_path / "plan=a.toml"
    file.write_text('schema = "steadytree-plan"\nversion = 1\nmax_leaves = 8\nlocked = ["age"]\n')
    given = (str(file), "max_flips=0.03", "locked=root", "per_group.sex.max_flips=0.05")
    expected = ChangePlan(
        max_leaves=8,
        max_flips=0.03,
        locked=["age", "root"],
        per_group={"sex": {"max_flips": 0.05}},
    )
    assert plan_of(given) == expected
    assert plan_of(()) == ChangePlan()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("max_flips=few",), "expected a share from 0 to 1 as max_flips, got 'max_flips=few'"),
        (("flips=1",), "per_group.COLUMN.LIMIT, got 'flips=1'; write for example max_flips=0.03"),
        (("lost.toml",), "expected a readable plan file, got No such file"),
        (("max_flips=0.1", "max_flips=0.2"), "expected max_flips once in the plans"),
    ],
)
def test_a_plan_that_cannot_be_read_is_answered_with_an_example(
    given: tuple[str, ...], words: str
) -> None:
    with pytest.raises(InputError, match=re.escape(words)):
        plan_of(given)
