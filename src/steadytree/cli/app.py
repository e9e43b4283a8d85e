"""The group of commands, and what every one of them does on errors and interrupts.

To add a command, declare it and its options in :mod:`steadytree.cli.options`.
"""

from __future__ import annotations

import io
import sys
import traceback
import warnings
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import click

from steadytree._progress import is_interrupt, remember_interrupt
from steadytree.cli import output
from steadytree.cli.options import COMMANDS
from steadytree.exceptions import SteadyTreeError, SteadyTreeWarning, WriteError


class _Group(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name the commands in the order of the help page."""
        return list(self.commands)


@click.group(
    "steadytree",
    cls=_Group,
    commands=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=(
        f"Exit codes: {', '.join(f'{code} {words}' for code, words in output.EXIT_CODES.items())}. "
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
    output.begin()
    with warnings.catch_warnings(), remember_interrupt():
        if not sys.warnoptions:
            warnings.simplefilter("default", SteadyTreeWarning)
        warnings.showwarning = _show_warning
        try:
            code = command.main(args=given, prog_name=prog_name, standalone_mode=False)
        except SteadyTreeError as error:
            output.tell(f"Error: {error}")
            return _failed(error, str(error), error.exit_code, as_json=as_json)
        except click.ClickException as error:
            usage = io.StringIO()
            error.show(usage)
            output.show(usage.getvalue().rstrip("\n"), err=True)
            return _failed(error, error.format_message(), error.exit_code, as_json=as_json)
        except (KeyboardInterrupt, click.Abort):
            return output.interrupted(as_json=as_json)
        except (BrokenPipeError, SystemExit):
            return 1  # the reader of a pipe (head, less) has seen enough; click tells it by an exit
        except Exception as error:
            if is_interrupt(error):
                return output.interrupted(as_json=as_json)
            if verbose:
                output.show(traceback.format_exc().rstrip("\n"), err=True)
            message = f"{type(error).__name__}: {error}"
            hint = "" if verbose else "; run again with -v for the details"
            output.tell(f"Unexpected error: {message}{hint}")
            return _failed(error, message, 1, as_json=as_json)
        finally:
            output.let_go()
    return int(code or 0)


def _failed(error: Exception, message: str, code: int, *, as_json: bool) -> int:
    """Print what went wrong as a document, where one was asked for."""
    if as_json:
        with suppress(WriteError, BrokenPipeError):  # nobody reads it
            output.print_error_document(type(error).__name__, message, code)
    return code


def _show_warning(message: Any, category: type[Warning], *where: Any, **more: Any) -> None:
    """Print our own warnings as a sentence, without the file and line of our code."""
    if issubclass(category, SteadyTreeWarning):
        output.tell(f"Warning: {message}")
    else:
        file, line = where[:2]
        output.show(warnings.formatwarning(message, category, file, line).rstrip("\n"), err=True)
