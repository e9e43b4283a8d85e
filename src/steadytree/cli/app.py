"""The group of commands, and what every one of them does on errors and interrupts.

To add a command, write ``cli/<name>_command.py`` with a click command called ``command`` and list
the name in ``COMMANDS``; it is imported only when it is asked for.
"""

from __future__ import annotations

import importlib
import importlib.util
import io
import sys
import traceback
import warnings
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import click

from steadytree._progress import is_interrupt, remember_interrupt
from steadytree.cli.terminal import (
    EXIT_CODES,
    begin,
    interrupted,
    let_go,
    print_error_document,
    show,
    tell,
)
from steadytree.exceptions import SteadyTreeError, SteadyTreeWarning, WriteError

COMMANDS = (
    *("fit", "compare", "retrain", "assess", "export", "show"),
    *("verify", "history", "completion"),
)
"""Names of the commands, in the order of the help page; those without a file are left out."""

MOVED = {
    "paper": "run `python -m research.paper` (or `make paper`) in a checkout of the repository",
}
"""Commands of earlier versions, and what to do instead."""


class _LazyGroup(click.Group):
    """Import a command's module when the command is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [
            name
            for name in COMMANDS
            if importlib.util.find_spec(f"steadytree.cli.{name}_command") is not None
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
        command = importlib.import_module(f"steadytree.cli.{cmd_name}_command").command
        assert isinstance(command, click.Command)
        return command


@click.group(
    "steadytree",
    cls=_LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=(
        f"Exit codes: {', '.join(f'{code} {words}' for code, words in EXIT_CODES.items())}. "
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
    begin()
    with warnings.catch_warnings(), remember_interrupt():
        if not sys.warnoptions:
            warnings.simplefilter("default", SteadyTreeWarning)
        warnings.showwarning = _show_warning
        try:
            code = command.main(args=given, prog_name=prog_name, standalone_mode=False)
        except SteadyTreeError as error:
            return _fail(error, error.exit_code, as_json=as_json)
        except click.ClickException as error:
            usage = io.StringIO()
            error.show(usage)
            show(usage.getvalue().rstrip("\n"), err=True)
            message = error.format_message()
            return _fail(error, error.exit_code, as_json=as_json, message=message, said=True)
        except (KeyboardInterrupt, click.Abort):
            return interrupted(as_json=as_json)
        except (BrokenPipeError, SystemExit):
            return 1  # the reader of a pipe (head, less) has seen enough; click tells it by an exit
        except Exception as error:
            if is_interrupt(error):
                return interrupted(as_json=as_json)
            if verbose:
                show(traceback.format_exc().rstrip("\n"), err=True)
            hint = "" if verbose else "; run again with -v for the details"
            return _fail(error, 1, as_json=as_json, kind="Unexpected error", hint=hint)
        finally:
            let_go()
    return int(code or 0)


def _fail(
    error: Exception,
    code: int,
    *,
    as_json: bool,
    kind: str = "Error",
    hint: str = "",
    message: str = "",
    said: bool = False,
) -> int:
    """Say what went wrong, as a document too where one was asked for."""
    ours = isinstance(error, SteadyTreeError)
    text = message or (str(error) if ours else f"{type(error).__name__}: {error}")
    if not said:
        tell(f"{kind}: {text}{hint}")
    if as_json:
        with suppress(WriteError, BrokenPipeError):  # nobody reads it
            print_error_document(type(error).__name__, text, code)
    return code


def _show_warning(message: Any, category: type[Warning], *where: Any, **more: Any) -> None:
    """Print our own warnings as a sentence, without the file and line of our code."""
    if issubclass(category, SteadyTreeWarning):
        tell(f"Warning: {message}")
    else:
        file, line = where[:2]
        show(warnings.formatwarning(message, category, file, line).rstrip("\n"), err=True)
