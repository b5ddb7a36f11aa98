"""`kcli completion`: the script that makes a shell complete commands, options and what the cluster has."""

from __future__ import annotations

import click

from kcli.completion import PROGRAM, VARIABLE

SHELLS = ("bash", "zsh", "fish")


@click.command("completion")
@click.argument("shell", type=click.Choice(SHELLS), metavar="bash|zsh|fish")
def command(shell: str) -> None:
    """Print the script that makes a shell complete command lines.

    In ~/.bashrc: eval "$(kcli completion bash)", in ~/.zshrc the same with zsh, in fish: kcli completion fish |
    source. Options, commands, configurations and contexts are completed, and topics, groups and brokers while the
    cluster answers within a second.
    """
    from click.shell_completion import get_completion_class

    from kcli.cli import kcli

    completion = get_completion_class(shell)
    assert completion is not None
    click.echo(completion(kcli, {}, PROGRAM, VARIABLE).source())
