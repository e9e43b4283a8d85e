"""The group of commands, and what every one of them does on errors and interrupts.

To add a command, write ``cli/<name>.py`` with a click command called ``command`` and list
the name in ``COMMANDS``; it is imported only when it is asked for.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import traceback
import warnings
from collections.abc import Sequence
from typing import Any

import click

from steadytree._progress import is_interrupt, remember_interrupt
from steadytree.cli.output import error_document
from steadytree.exceptions import SteadyTreeError, SteadyTreeWarning

__all__ = ["COMMANDS", "group", "run"]

COMMANDS = ("fit", "compare", "retrain", "assess", "export", "show", "completion")
"""Names of the commands, in the order of the help page; those without a file are left out."""

MOVED = {
    "paper": "run `python -m reproduction` (or `make paper`) in a checkout of the repository",
}
"""Commands of earlier versions, and what to do instead."""

INTERRUPTED = 130


class _LazyGroup(click.Group):
    """Import a command's module when the command is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [
            name
            for name in COMMANDS
            if importlib.util.find_spec(f"steadytree.cli.{name}") is not None
        ]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in MOVED:
            raise click.UsageError(
                f"expected one of {', '.join(self.list_commands(ctx))}, got {cmd_name!r}, "
                f"which is no longer a command: {MOVED[cmd_name]}",
                ctx,
            )
        if cmd_name not in self.list_commands(ctx):
            return None
        command = importlib.import_module(f"steadytree.cli.{cmd_name}").command
        assert isinstance(command, click.Command)
        return command


@click.group(
    "steadytree",
    cls=_LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=(
        "Exit codes: 0 done, 1 failed, 2 bad usage or input, 3 a gate did not hold. "
        "Results go to standard output, progress and messages to standard error."
    ),
)
@click.version_option(package_name="steadytree", prog_name="steadytree")
def group() -> None:
    """Decision trees that stay put: fit, retrain, compare and explain them."""


def run(
    arguments: Sequence[str] | None = None,
    *,
    command: click.Command = group,
    prog_name: str = "steadytree",
) -> int:
    """Run a command; turn every way to fail into a message and an exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    as_json, verbose = "--json" in given, any(flag in given for flag in ("-v", "--verbose"))
    with warnings.catch_warnings(), remember_interrupt():
        if not sys.warnoptions:
            warnings.simplefilter("default", SteadyTreeWarning)
        warnings.showwarning = _show_warning
        try:
            code = command.main(args=given, prog_name=prog_name, standalone_mode=False)
            sys.stdout.flush()
        except SteadyTreeError as error:
            return _fail(error, error.exit_code, as_json=as_json)
        except click.ClickException as error:
            error.show(sys.stderr)
            if as_json:
                click.echo(error_document(error, error.exit_code, error.format_message()))
            return error.exit_code
        except (KeyboardInterrupt, click.Abort):
            return _interrupted()
        except BrokenPipeError:
            # The reader of a pipe (head, less) has seen enough.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 1
        except Exception as error:
            if is_interrupt(error):
                return _interrupted()
            if verbose:
                traceback.print_exc()
            hint = "" if verbose else "; run again with -v for the details"
            return _fail(error, 1, as_json=as_json, kind="Unexpected error", hint=hint)
    return int(code or 0)


def _interrupted() -> int:
    click.echo("Interrupted; no file was left half written.", err=True)
    # Python ends as killed by the signal if an interrupt ever left code that was run from text, as
    # numba's is; running some forgets it.
    exec("")
    return INTERRUPTED


def _fail(
    error: Exception, code: int, *, as_json: bool, kind: str = "Error", hint: str = ""
) -> int:
    text = str(error) if isinstance(error, SteadyTreeError) else f"{type(error).__name__}: {error}"
    click.echo(f"{kind}: {text}{hint}", err=True)
    if as_json:
        click.echo(error_document(error, code, text))
    return code


_usual = warnings.showwarning


def _show_warning(message: Any, category: type[Warning], *where: Any, **more: Any) -> None:
    """Print our own warnings as a sentence, without the file and line of our code."""
    if issubclass(category, SteadyTreeWarning):
        click.echo(f"Warning: {message}", err=True)
    else:
        _usual(message, category, *where, **more)
