"""A group whose actions may be named as Kafka's tools have it: `topics --list` does as `topics list`, and options that
stand before the action, as in `features --bootstrap-server HOST:PORT describe`, are the action's."""

from __future__ import annotations

import click


class ActionGroup(click.Group):
    """The first argument that is one of the actions behind two hyphens is the action; without one, and with an option
    in front, the first that is an action's name."""

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
