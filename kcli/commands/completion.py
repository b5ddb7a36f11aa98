"""`kcli completion`: the completion script of a shell."""

from __future__ import annotations

import click

from kcli.command import Command
from kcli.completion import PROGRAM, VARIABLE

SHELLS = ("bash", "zsh", "fish")


@click.command(
    "completion",
    cls=Command,
    examples="""
    # Enable completion in bash (add this line to ~/.bashrc)
    eval "$(kcli completion bash)"
    # Enable completion in zsh (add this line to ~/.zshrc)
    eval "$(kcli completion zsh)"
    # Enable completion in fish (add this line to ~/.config/fish/config.fish)
    kcli completion fish | source
    """,
)
@click.argument("shell", type=click.Choice(SHELLS), metavar="bash|zsh|fish")
def command(shell: str) -> None:
    """Print the shell completion script.

    The shell completes commands, options, configuration names and contexts. It also completes topics, groups and
    brokers, if the cluster answers within one second (KCLI_COMPLETION_TIMEOUT_MS).
    """
    from click.shell_completion import get_completion_class

    from kcli.cli import kcli

    completion = get_completion_class(shell)
    assert completion is not None
    click.echo(completion(kcli, {}, PROGRAM, VARIABLE).source())
