"""A group whose actions may be named as options too, as with Kafka's tools: `topics --list` does as `topics list`."""

from __future__ import annotations

import click


class ActionGroup(click.Group):
    """The first argument that is one of the actions behind two hyphens is the action."""

    def parse_args(self, context: click.Context, arguments: list[str]) -> list[str]:
        for position, argument in enumerate(arguments):
            if argument.startswith("--") and argument[2:] in self.commands:
                rest = arguments[:position] + arguments[position + 1 :]
                return super().parse_args(context, [argument[2:], *rest])
        return super().parse_args(context, arguments)
