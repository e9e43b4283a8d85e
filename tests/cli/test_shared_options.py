"""Shared options: defaults of the Python calls, the order of the help, what a command gets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from steadytree.cli.shared_options import (
    data_options,
    example,
    gate_options,
    limits_of,
    option_of,
    options_in_order,
    output_options,
    policy_of,
)
from steadytree.core.decision import Decision
from steadytree.exceptions import InputError


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

    both = options_in_order(data_options, gate_options)
    assert flags(click.command()(both(command))) == [
        *("--target", "--time", "--group"),
        *("--max-dissimilarity", "--max-flips", "--max-moved-5", "--max-moved-10"),
        *("--min-score-change", "--max-leaves", "--accept-column"),
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


def test_limits_to_choose_by_are_read_as_arguments() -> None:
    assert limits_of(("max-flips=0.03", "min-gain=.01")) == {"max_flips": 0.03, "min_gain": 0.01}
    assert limits_of(()) == {}


@pytest.mark.parametrize("text", ["max-flips", "max-flips=", "max-flips=few", "flips=1", "=1"])
def test_a_limit_that_cannot_be_read_is_answered_with_an_example(text: str) -> None:
    with pytest.raises(InputError, match=r"got .*; write for example --choose max-flips=0\.03"):
        limits_of((text,))


def test_a_limit_given_twice_is_refused() -> None:
    with pytest.raises(InputError, match="expected max-flips once"):
        limits_of(("max-flips=0.1", "max-flips=0.2"))
