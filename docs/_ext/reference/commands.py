"""The commands as their own help tells of them."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import click

__all__ = ["commands", "every_command", "exit_codes"]

CODE = r"(?<![\w`-])(--[a-z][\w-]*+(?!\.\.\.)|[\w-]+\.(?:json|csv|md|html){})(?![\w-])"
"""Options and files; the names of arguments come to it. An option whose name goes on is none."""


def commands(where: str) -> str:
    """Describe every command of a group ("module:name"): usage, words, options, example."""
    return "\n\n".join(_command(context) for context in every_command(where))


def every_command(where: str) -> Iterator[click.Context]:
    """Go through the commands of a group, those within commands after them."""
    module, _, name = where.partition(":")
    top = click.Context(getattr(import_module(module), name), info_name="steadytree")
    yield from _below(top)


def _below(context: click.Context) -> Iterator[click.Context]:
    group: Any = context.command
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        inner = click.Context(command, info_name=name, parent=context)
        yield inner
        if isinstance(command, click.Group):
            yield from _below(inner)


def exit_codes() -> str:
    """List what a command may return, and which errors lead to it."""
    from steadytree import exceptions
    from steadytree.cli.output import EXIT_CODES

    raised: dict[int, list[str]] = {}
    for name in exceptions.__all__:
        error = getattr(exceptions, name)
        if issubclass(error, exceptions.SteadyTreeError):
            raised.setdefault(error.exit_code, []).append(f"[`{name}`](errors.md#{name.lower()})")
    rows = [
        f"| {code} | {words} | {', '.join(raised.get(code, []))} |"
        for code, words in EXIT_CODES.items()
    ]
    return "\n".join(["| exit code | meaning | errors |", "| --: | --- | --- |", *rows])


def _command(context: click.Context) -> str:
    command = context.command
    arguments = [p.make_metavar(context) for p in command.params if isinstance(p, click.Argument)]
    code = re.compile(CODE.format("".join(f"|{name}" for name in arguments if name.isupper())))
    deep = context.command_path.count(" ")
    parts = [f"{'#' * (deep + 1)} {context.command_path}"]
    parts += [_prose(part, code) for part in _paragraphs(command.help or "")]
    parts.append(f"```text\n{command.get_usage(context).removeprefix('Usage: ')}\n```")
    if example := _example(command.epilog or ""):
        parts += ["For example", f"```bash\n{example}\n```"]
    options = [option for option in command.params if isinstance(option, click.Option)]
    parts += [_option(option, context, code) for option in options]
    return "\n\n".join(parts)


def _paragraphs(text: str) -> list[str]:
    """Return the paragraphs of a help text; lines that the terminal leaves as they are stay so."""
    return inspect.cleandoc(text).split("\n\n") if text else []


def _prose(text: str, code: re.Pattern[str]) -> str:
    """Set options, arguments and files in the type of code; the rest is plain text."""
    if text.startswith("\b\n"):
        title, _, lines = text.removeprefix("\b\n").partition("\n")
        return f"{_plain(title)}\n\n```bash\n{textwrap.dedent(lines)}\n```"
    pieces = re.split(r"(`[^`]*`)", " ".join(text.split()))
    return "".join(
        piece if piece.startswith("`") else code.sub(r"`\1`", _plain(piece)) for piece in pieces
    )


def _plain(text: str) -> str:
    return re.sub(r"([*_<>\[\]$\\])", r"\\\1", text)


def _example(epilog: str) -> str:
    title, _, lines = epilog.replace("\b\n", "").strip().partition("\n")
    return textwrap.dedent(lines).strip("\n") if title == "Example:" else ""


def _option(option: click.Option, context: click.Context, code: re.Pattern[str]) -> str:
    """Return an option as the term and the text of a definition list."""
    names = ", ".join(f"`{name}`" for name in [*option.opts, *option.secondary_opts])
    extra = option.get_help_extra(context)
    words = [_prose(option.help or "", code)]
    value = option.make_metavar(context).removesuffix(" RANGE")
    if isinstance(option.type, click.Choice) and option.metavar is None:
        value = ""
        words.append(f"One of {', '.join(f'`{choice}`' for choice in option.type.choices)}.")
    if option.is_flag or option.count:
        value = ""
    if option.multiple:  # said below
        words[0] = words[0].replace(" Repeat.", "")
    if "range" in extra:
        words.append(f"At least {extra['range'].removeprefix('x>=')}.")
    if "default" in extra:
        words.append(f"Default: `{extra['default']}`.")
    words += ["Required."] * option.required + ["May be repeated."] * option.multiple
    return f"{names}{f' *{_plain(value)}*' if value else ''}\n: {' '.join(words)}"
