"""``steadytree completion``: the script that lets a shell complete commands and options."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

HELP = """Print the completion script of a shell.

\b
Examples:
  steadytree completion bash >> ~/.bashrc
  steadytree completion zsh >> ~/.zshrc
  steadytree completion fish > ~/.config/fish/completions/steadytree.fish
"""


@click.command("completion", help=HELP)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the completion script of a shell."""
    from steadytree.cli.app import group

    found = get_completion_class(shell)
    assert found is not None
    click.echo(found(group, {}, "steadytree", "_STEADYTREE_COMPLETE").source())
