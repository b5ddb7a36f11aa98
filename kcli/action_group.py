"""A group that also takes the syntax of Kafka's tools: `topics --list` for `topics list`, and options before the
action, as in `features --bootstrap-server HOST:PORT describe`.
"""

from __future__ import annotations

import click

from kcli.command import Group


class ActionGroup(Group):
    """The action is the first argument that is an action's name after two hyphens. If there is none, and the first
    argument is an option, the action is the first argument that is an action's name."""

    def parse_args(self, context: click.Context, arguments: list[str]) -> list[str]:
        for position, argument in enumerate(arguments):
            if argument.startswith("--") and argument[2:] in self.commands:
                return super().parse_args(context, _with_first(arguments, position, argument[2:]))
        if arguments and arguments[0].startswith("-") and arguments[0] not in self.get_help_option_names(context):
            for position, argument in enumerate(arguments):
                if argument in self.commands:
                    return super().parse_args(context, _with_first(arguments, position, argument))
        return super().parse_args(context, arguments)


def _with_first(arguments: list[str], position: int, action: str) -> list[str]:
    return [action, *arguments[:position], *arguments[position + 1 :]]
