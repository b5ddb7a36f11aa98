"""Commands and groups with examples, which end their help and their man page.

The examples are one text next to the command: a comment line that says what the next line does, then that line.
`tests/cli/test_examples.py` parses every example with the command's own parser.
"""

from __future__ import annotations

import click

from kcli.failures import name_command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Command(click.Command):
    """A command whose help ends with `examples`."""

    def __init__(self, *arguments: Any, examples: str = "", **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self._examples = examples

    def parse_args(self, context: click.Context, arguments: list[str]) -> list[str]:
        """Names the command in all messages. Click omits it when the value of an option is missing."""
        name_command(context.command_path)
        try:
            return super().parse_args(context, arguments)
        except click.UsageError as error:
            error.ctx = error.ctx or context
            raise

    def examples(self) -> list[tuple[str, str]]:
        """Pairs of a description and a command line."""
        lines = [line.strip() for line in self._examples.splitlines() if line.strip()]
        return [(comment.removeprefix("# "), line) for comment, line in zip(lines[::2], lines[1::2], strict=True)]

    def format_epilog(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_epilog(context, formatter)
        if self._examples:
            with formatter.section("Examples"):
                # Written as they are: Click would wrap command lines.
                formatter.write("\n".join(f"  # {comment}\n  {line}\n" for comment, line in self.examples()))


class Group(Command, click.Group):
    """A group whose commands have examples too."""

    command_class = Command
