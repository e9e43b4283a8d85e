"""What all commands share: help, codes, streams, interrupts."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from steadytree.cli import app
from steadytree.cli.app import group
from steadytree.cli.output import EXIT_CODES
from tests.cli.conftest import Files, Run
from tests.processes import listen_to_signals

NAMES = list(group.commands)


def command(*arguments: object, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "steadytree", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        **options,  # type: ignore[call-overload]
    )


COMMANDS = [*(name for name in NAMES if name != "history"), "history show", "history verify"]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_an_example(name: str) -> None:
    result = CliRunner().invoke(group, [*name.split(), "--help"])
    assert result.exit_code == 0
    assert "Example" in result.output
    assert f"steadytree {name}" in result.output
    for option in ("--json", "--quiet", "--verbose"):
        assert option in result.output
    assert sum(line.startswith("  -") for line in result.output.splitlines()) <= 29  # and --help


def test_the_help_of_all_lists_the_commands_and_the_exit_codes() -> None:
    result = CliRunner().invoke(group, ["--help"])
    assert result.exit_code == 0
    for name in NAMES:
        assert re.search(rf"^  {name} ", result.output, re.MULTILINE)
    shown = " ".join(result.output.split())
    assert all(f"{code} {words}" in shown for code, words in EXIT_CODES.items())
    page = Path(__file__).parents[2] / "docs" / "guide" / "command-line.md"
    table = dict(re.findall(r"^\| (\d+) \| ([^|;]+?)[;|]", page.read_text(), re.MULTILINE))
    assert {int(code): words.strip() for code, words in table.items()} == EXIT_CODES


def test_a_shell_completes_the_commands() -> None:
    asked = {"_STEADYTREE_COMPLETE": "bash_complete", "COMP_WORDS": "steadytree re"}
    program = Path(sys.executable).with_name("steadytree")
    environment = {**os.environ, **asked, "COMP_CWORD": "1"}
    done = subprocess.run([program], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["plain,retrain"]


@pytest.mark.parametrize("name", ["", "retrain", "history show"])
def test_help_imports_nothing_that_takes_time(name: str) -> None:
    code = (
        "import sys; from steadytree.cli import main; main(sys.argv[1:]); "
        "print([m for m in ('numpy', 'sklearn', 'pandas', 'scipy', 'numba') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *name.split(), "--help"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "Usage: steadytree" in done.stdout
    assert done.stdout.splitlines()[-1] == "[]"


def test_as_a_module_and_as_a_program() -> None:
    by_module = command("--version")
    assert by_module.returncode == 0
    assert by_module.stdout.startswith("steadytree, version ")
    program = Path(sys.executable).with_name("steadytree")
    by_name = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    assert by_name.stdout == by_module.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ["dance"],
        ["fit"],
        ["fit", "x.csv"],
        ["show", "t.json", "--format", "prose"],
        ["fit", "x.csv", "--target", "y", "--seed", "-1"],
    ],
)
def test_bad_usage_is_code_2(run: Run, arguments: list[str]) -> None:
    result = run(*arguments)
    assert result.code == 2
    assert "Error" in result.err
    assert result.out == ""
    document = run(*arguments, "--json").document
    assert document["error"]["exit_code"] == 2
    assert document["error"]["message"] in result.err


def test_results_go_to_stdout_and_progress_to_stderr(files: Files, tmp_path: Path) -> None:
    """A real process: what is piped on is one JSON document and nothing else."""
    done = command(
        *("retrain", files.new, "--deployed", files.tree, "--target", "outcome"),
        *("--trees", 10, "--folds", 2, "--json", "--out", tmp_path / "out"),
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["command"] == "retrain"
    assert "retrain: 3/3 done" in done.stderr
    assert "\x1b[" not in done.stdout + done.stderr


def test_an_interrupt_within_a_compiled_loop_is_one(capsys: pytest.CaptureFixture[str]) -> None:
    """Compiled code tells Ctrl-C as a SystemError, which used to be an unexpected error."""

    @click.command()
    def command() -> None:
        raise SystemError("returned a result with an exception set") from KeyboardInterrupt()

    assert app.run([], command=command) == 130
    assert "Interrupted" in capsys.readouterr().err

    @click.command()
    def faulty() -> None:
        raise SystemError("a fault of its own")

    assert app.run([], command=faulty) == 1


def test_an_interrupt_within_text_that_is_run_ends_with_130() -> None:
    """Python would else end as killed by the signal: numba runs code that it wrote as text."""
    code = (
        "import click, sys\n"
        "from steadytree.cli.app import run\n"
        "@click.command()\n"
        "def command():\n"
        "    exec('raise KeyboardInterrupt')\n"
        "sys.exit(run([], command=command))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 130
    assert "Interrupted" in done.stderr


def assert_stopped(running: subprocess.Popen[str], number: signal.Signals) -> str:
    """Check that a run ended by a signal says so, in one document; return what it told."""
    printed, told = running.communicate()
    assert running.returncode == 128 + number, told
    content = json.loads(printed)
    assert content["exit_code"] == content["error"]["exit_code"] == 128 + number
    assert content["error"]["message"].endswith("no file was left half written.")
    assert content["error"]["message"] in told
    assert "Traceback" not in told
    return told


def start(*arguments: object, python: tuple[str, ...] = ()) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, *python, "-m", "steadytree", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=listen_to_signals,
    )


@pytest.mark.skipif(os.name != "posix", reason="signals as on Unix")
@pytest.mark.parametrize(
    ("step", "number"),
    [
        ("retraining on all rows", signal.SIGINT),
        ("scoring fold", signal.SIGINT),
        ("scoring fold", signal.SIGTERM),
        ("retraining on all rows", signal.SIGHUP),
    ],
)
def test_an_interrupt_writes_nothing_but_one_document(
    files: Files, tmp_path: Path, step: str, number: signal.Signals
) -> None:
    """Not the half of a file, nor (while the folds run) a proposal that no gate was asked about."""
    out = tmp_path / "out"
    running = start(
        *("retrain", files.new, "--deployed", files.tree, "--target", "outcome"),
        *("--trees", "5000", "--out", out, "--json"),
        *("--time", "year", "--group", "patient", "--subgroup", "clinic"),
    )
    assert running.stderr is not None
    assert any(f" {step}" in line for line in running.stderr)
    time.sleep(0.1)
    running.send_signal(number)
    assert_stopped(running, number)
    assert list(out.iterdir()) == []


@pytest.mark.skipif(os.name != "posix", reason="signals as on Unix")
@pytest.mark.parametrize("module", ["click", "numpy", "pandas"])
def test_an_interrupt_while_modules_are_imported(files: Files, module: str) -> None:
    """Python tells what it imports, and is interrupted at the first line about a package."""
    running = start("show", files.tree, "--json", python=("-X", "importtime"))
    assert running.stderr is not None
    assert any(re.search(rf"\b{module}\.", line) for line in running.stderr)
    running.send_signal(signal.SIGINT)
    assert_stopped(running, signal.SIGINT)


def test_a_closed_pipe_is_no_crash(files: Files) -> None:
    shell = f"{sys.executable} -m steadytree show {files.tree} | head -c 1"
    done = subprocess.run(["sh", "-c", shell], capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr


def test_unexpected_errors_are_short_and_verbose_on_demand(
    run: Run, monkeypatch: pytest.MonkeyPatch, files: Files
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("boom")

    monkeypatch.setattr("steadytree.cli.show_command.read_model", broken)
    result = run("show", files.tree)
    assert result.code == 1
    assert "Unexpected error: RuntimeError: boom; run again with -v" in result.err
    assert "Traceback" not in result.err
    assert "Traceback" in run("show", files.tree, "-v").err
